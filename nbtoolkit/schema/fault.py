"""What is wrong with an argument, in words.

Both validators (pydantic's for functions, jsonschema's for servers' tools) report `Problem`s; what was expected is read
from the JSON schema at the problem's path, so that both speak alike.
"""

from __future__ import annotations

import difflib
import json
import re
import reprlib
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.schema.variables import NAME_OF_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Path",
    "Problem",
    "choices_of",
    "describe",
    "fault_text",
    "faults",
    "nodes_at",
    "nodes_below",
    "path_text",
    "shown",
    "types_of",
]

Path = tuple[str | int, ...]

# A schema's references may run in circles or branch without end.
_MAX_NODES = 200
_MAX_FAULTS = 20
_MAX_SHOWN = 80

_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")


class Problem(NamedTuple):
    """One thing that a validator refused."""

    path: Path
    kind: str  # "wrong", "missing", "unexpected", or "key" (a wrong key of an object)
    value: Any = None
    reason: str = ""
    told: bool = False  # whether the schema says what the reason says


# ------------------------------------------------------------------------------------------------ reading a schema


def nodes_at(root: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """The schemas that rule the value at a path, references and unions unfolded."""
    nodes = _unfold(root, [root])
    for part in path:
        nodes = nodes_below(root, nodes, part)
    return nodes


def nodes_below(root: dict[str, Any], nodes: list[dict[str, Any]], part: str | int) -> list[dict[str, Any]]:
    """The schemas that rule one item of a value that ``nodes`` rule."""
    return _unfold(root, [child for node in nodes for child in _children(node, part)])


def _children(node: dict[str, Any], part: str | int) -> Iterator[Any]:
    if isinstance(part, str):
        properties = node.get("properties")
        if isinstance(properties, dict) and part in properties:
            yield properties[part]
        elif isinstance(more := node.get("additionalProperties"), dict):
            yield more
        return
    prefix = node.get("prefixItems")
    if isinstance(prefix, list) and part < len(prefix):
        yield prefix[part]
    elif isinstance(items := node.get("items"), dict):
        yield items


def _unfold(root: dict[str, Any], nodes: list[Any]) -> list[dict[str, Any]]:
    leaves: list[dict[str, Any]] = []
    seen: set[int] = set()
    todo = nodes[::-1]
    while todo and len(seen) < _MAX_NODES:
        node = todo.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(reference := node.get("$ref"), str):
            todo.append(_referred(root, reference))
        for key in ("allOf", "oneOf", "anyOf"):
            if isinstance(branches := node.get(key), list):
                todo.extend(branches[::-1])
        if any(key in node for key in ("type", "enum", "const", "properties", "items")):
            leaves.append(node)
    return leaves


def _referred(root: dict[str, Any], reference: str) -> Any:
    node: Any = root
    if not reference.startswith("#"):
        return None
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, dict) else None
    return node


def types_of(nodes: list[dict[str, Any]]) -> set[str]:
    """The types that schemas name."""
    types: set[str] = set()
    for node in nodes:
        kind = node.get("type", ())
        types.update((kind,) if isinstance(kind, str) else (k for k in kind if isinstance(k, str)))
    return types


def choices_of(nodes: list[dict[str, Any]]) -> list[Any]:
    """The values that schemas list."""
    choices: list[Any] = []
    for node in nodes:
        if isinstance(node.get("enum"), list):
            choices.extend(node["enum"])
        elif "const" in node:
            choices.append(node["const"])
    return choices


# What a schema can only call a string.
_VARIABLE = re.compile(rf"{NAME_OF_VARIABLE} holding (an? [\w.]+)")
_LIMITS = (
    ("minimum", "≥ {}"), ("exclusiveMinimum", "> {}"), ("maximum", "≤ {}"), ("exclusiveMaximum", "< {}"),
    ("multipleOf", "a multiple of {}"), ("minLength", "at least {} characters"), ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"), ("maxItems", "at most {} items"), ("pattern", "matching {}"), ("format", "{}"),
    ("contentEncoding", "{}"),
)  # fmt: skip


def _limit(form: str, value: Any) -> str:
    words = form.format(value)
    return words.removesuffix("s") if value == 1 and "{} " in form else words


def describe(root: dict[str, Any], nodes: list[dict[str, Any]], depth: int = 0) -> str:
    """What a value must be, for a reader."""
    words: list[str] = []
    if choices := choices_of(nodes):
        listed = ", ".join(shown(choice) for choice in choices[:20])
        words.append(f"one of {listed}{', …' if len(choices) > 20 else ''}" if len(choices) > 1 else listed)
    for node in nodes:
        kind = node.get("type", "object" if "properties" in node else "array" if "items" in node else None)
        if "enum" in node or "const" in node or kind is None:
            continue
        text = kind if isinstance(kind, str) else " or ".join(str(k) for k in kind)
        if kind == "string" and (held := _VARIABLE.search(str(node.get("description", "")))):
            text = f"the name of a variable that holds {held[1]}"
        if kind == "array" and depth < 2 and (inner := describe(root, _unfold(root, [node.get("items")]), depth + 1)):
            text += f" of {inner}"
        if limits := [_limit(form, node[key]) for key, form in _LIMITS if key in node]:
            text += f" ({', '.join(limits)})"
        if text not in words:
            words.append(text)
    if "null" in words:
        words.append(words.pop(words.index("null")))
    text = " or ".join(words)
    return text if len(text) <= 400 else text[:400] + "…"


# --------------------------------------------------------------------------------------------------- words


def path_text(path: Path) -> str:
    """``("a", 0, "b c")`` → ``a[0]["b c"]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _IDENTIFIER.match(part) and len(part) <= _MAX_SHOWN:
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]" if text else shown(part)
    return text or "the arguments"


def shown(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    try:
        # Only as much as is shown is worth writing out.
        text = json.dumps(
            value if not isinstance(value, str) else value[: _MAX_SHOWN * 2], ensure_ascii=False, default=repr
        )
    except (ValueError, RecursionError):
        # Nested as deeply as only an attack is.
        text = reprlib.repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def fault_text(root: dict[str, Any], problem: Problem) -> str:
    """One line: path, what was got, what was expected."""
    where = path_text(problem.path)
    if problem.kind == "unexpected":
        names = [str(name) for node in nodes_at(root, problem.path[:-1]) for name in node.get("properties", ())]
        near = difflib.get_close_matches(str(problem.path[-1]), names, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        known = ", ".join(repr(name) for name in names[:20])
        return f"{where}: unexpected, expected {f'only {known}' if names else 'no arguments'}{hint}"
    expected = describe(root, nodes_at(root, problem.path))
    expected = f", expected {expected}" if expected else ""
    if problem.kind == "missing":
        return f"{where}: missing{expected}"
    if problem.kind == "key":
        return f"{where}: wrong key {shown(problem.value)}: {problem.reason}"
    reason = f" ({problem.reason})" if problem.reason and not (problem.told and expected) else ""
    return f"{where}: got {shown(problem.value)}{expected}{reason}"


def faults(root: dict[str, Any], problems: list[Problem]) -> list[str]:
    """Every fault once, in the order of the arguments, bounded."""
    grouped: dict[Path, list[Problem]] = {}
    for problem in problems:
        grouped.setdefault(problem.path, []).append(problem)
    order = {name: number for number, name in enumerate(root.get("properties", ()))}
    ordered = sorted(grouped, key=lambda path: order.get(path[0], len(order)) if path else -1)
    texts = []
    for group in [grouped[path] for path in ordered[:_MAX_FAULTS]]:
        untold = dict.fromkeys(problem.reason for problem in group if problem.reason and not problem.told)
        first = group[0]._replace(reason="; ".join(list(untold)[:3]), told=False) if untold else group[0]
        texts.append(fault_text(root, first))
    if len(grouped) > _MAX_FAULTS:
        texts.append(f"… and {len(grouped) - _MAX_FAULTS} more")
    return texts
