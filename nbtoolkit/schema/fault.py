"""What is wrong with an argument, in words, and how a model's usual slips are mended.

Both validators (pydantic's for functions, jsonschema's for servers' tools) report `Problem`s; what was expected is read
from the JSON schema at the problem's path, so that both speak alike. `mend` only ever changes the JSON at a path that
was found wrong, to a value that the validator then accepts.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.schema.variables import as_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Path",
    "Problem",
    "choices_of",
    "describe",
    "fault_text",
    "faults",
    "mend",
    "nodes_at",
    "nodes_below",
    "path_text",
    "put",
    "replace",
    "types_of",
]

Path = tuple[str | int, ...]

# A schema's references may run in circles or branch without end.
_MAX_NODES = 200
# More problems than this are not mended one by one.
_MAX_MENDED = 1_000
_MAX_ROUNDS = 12
_MAX_FAULTS = 20
_MAX_SHOWN = 80
_DROP: Any = object()

_TRUE = frozenset({"true", "yes", "on", "y", "t", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "f", "0"})
_NULL = frozenset({"null", "none"})
_INTEGER = re.compile(r"[+-]?\d{1,4000}\Z")
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\Z")
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


_LIMITS = (
    ("minimum", "≥ {}"), ("exclusiveMinimum", "> {}"), ("maximum", "≤ {}"), ("exclusiveMaximum", "< {}"),
    ("multipleOf", "a multiple of {}"), ("minLength", "at least {} characters"), ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"), ("maxItems", "at most {} items"), ("pattern", "matching {}"), ("format", "{}"),
    ("contentEncoding", "{}"),
)  # fmt: skip


def describe(root: dict[str, Any], nodes: list[dict[str, Any]], depth: int = 0) -> str:
    """What a value must be, for a reader."""
    words: list[str] = []
    if choices := choices_of(nodes):
        shown = ", ".join(_shown(choice) for choice in choices[:20])
        words.append(f"one of {shown}{', …' if len(choices) > 20 else ''}" if len(choices) > 1 else shown)
    for node in nodes:
        kind = node.get("type", "object" if "properties" in node else "array" if "items" in node else None)
        if "enum" in node or "const" in node or kind is None:
            continue
        text = kind if isinstance(kind, str) else " or ".join(str(k) for k in kind)
        if kind == "array" and depth < 2 and (inner := describe(root, _unfold(root, [node.get("items")]), depth + 1)):
            text += f" of {inner}"
        if limits := [form.format(node[key]) for key, form in _LIMITS if key in node]:
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
            text += f"[{_shown(part)}]" if text else _shown(part)
    return text or "the arguments"


def _shown(value: Any) -> str:
    try:
        # Only as much as is shown is worth writing out.
        text = json.dumps(
            value if not isinstance(value, str) else value[: _MAX_SHOWN * 2], ensure_ascii=False, default=repr
        )
    except (ValueError, RecursionError):
        text = repr(value)
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
        return f"{where}: wrong key {_shown(problem.value)}: {problem.reason}"
    reason = f" ({problem.reason})" if problem.reason and not (problem.told and expected) else ""
    return f"{where}: got {_shown(problem.value)}{expected}{reason}"


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


# ------------------------------------------------------------------------------------------------------- mending


def mend(
    root: dict[str, Any], data: Any, problems: list[Problem], check: Callable[[Any], list[Problem]]
) -> tuple[list[Problem], list[str]]:
    """Mend ``data`` in place; returns the problems that are left and what was mended, in words."""
    tries: dict[Path, _Try] = {}
    notes: dict[Path, str] = {}
    for _ in range(_MAX_ROUNDS):
        moved: list[Path] = []
        restored = False
        if len(problems) > _MAX_MENDED:
            break
        for problem in sorted(problems, key=lambda p: -len(p.path)):
            path = problem.path
            if problem.kind not in ("wrong", "missing") or any(p[: len(path)] == path for p in moved):
                continue
            if problem.kind == "missing" and path not in tries:
                continue
            this = tries.get(path)
            if this is None:
                this = tries[path] = _Try(problem.value, candidates(problem.value, root, path))
            if not this.left:
                restored |= this.applied and put(data, path, this.original)
                this.applied = False
                notes.pop(path, None)
                continue
            new = this.left.pop(0)
            if put(data, path, new):
                this.applied = True
                moved.append(path)
                said = "left out" if new is _DROP else _shown(new)
                notes[path] = f"{path_text(path)}: {_shown(this.original)} read as {said}"
        if not moved and not restored:
            break
        problems = check(data)
        if not problems:
            break
    return problems, list(notes.values())


class _Try:
    """The values that may be meant at one path."""

    __slots__ = ("applied", "left", "original")

    def __init__(self, original: Any, left: list[Any]) -> None:
        self.original = original
        self.left = left
        self.applied = False


def replace(data: Any, path: Path, source: Any) -> str:
    """Put what ``source`` has at a path there, and say so in words; nothing where it has nothing else."""
    old = data
    try:
        for part in path:
            old, source = old[part], source[part]
    except (KeyError, IndexError, TypeError):
        return ""
    if not path or (type(old) is type(source) and old == source) or not put(data, path, source):
        return ""
    return f"{path_text(path)}: {_shown(old)} read as {_shown(source)}"


def put(data: Any, path: Path, value: Any) -> bool:
    """Put a value at a path, in place; tells whether there is such a place."""
    if not path:
        return False
    node = data
    for part in path[:-1]:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            return False
    last: Any = path[-1]
    if isinstance(node, dict):
        if value is _DROP:
            node.pop(last, None)
        else:
            node[last] = value
        return True
    if isinstance(node, list) and isinstance(last, int) and last < len(node) and value is not _DROP:
        node[last] = value
        return True
    return False


def candidates(value: Any, root: dict[str, Any], path: Path) -> list[Any]:
    """What a wrong value may have meant, the likeliest first."""
    nodes = nodes_at(root, path)
    types = types_of(nodes)
    found: list[Any] = []
    if as_handle(value) is not None:
        # A result that doesn't fit; nothing else was meant.
        return []
    if value is None or (isinstance(value, str) and value.strip().lower() in _NULL):
        if value is not None and "null" in types:
            found.append(None)
        elif _may_be_left_out(root, path):
            found.append(_DROP)
        if value is None:
            return found
    found.extend(choice for choice in _choice(value, choices_of(nodes)) if choice != value)
    if isinstance(value, dict):
        found.extend(_named(value, root, path, nodes))
    if isinstance(value, str):
        found.extend(_from_text(value, types, nodes))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found.extend(_from_number(value, types, nodes))
    if "array" in types and not isinstance(value, list) and value != "":
        found.append([value])
    return found


def _may_be_left_out(root: dict[str, Any], path: Path) -> bool:
    return bool(path) and any(
        path[-1] in node.get("properties", ()) and path[-1] not in node.get("required", ())
        for node in nodes_at(root, path[:-1])
    )


def _choice(value: Any, choices: list[Any]) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        return
    written = str(value).strip().casefold()
    for choice in choices:
        if choice is not None and not isinstance(choice, (dict, list)) and str(choice).casefold() == written:
            yield choice


def _named(
    value: dict[str, Any], root: dict[str, Any], path: Path, nodes: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """An object with its discriminator written as the branches of the union write it."""
    for name in dict.fromkeys(name for node in nodes for name in node.get("properties", ())):
        said = value.get(name)
        choices = choices_of(nodes_at(root, (*path, name))) if isinstance(said, str) else []
        if choices and said not in choices:
            yield from ({**value, name: choice} for choice in _choice(said, choices))


def _from_number(value: Any, types: set[str], nodes: list[dict[str, Any]]) -> Iterator[Any]:
    if "integer" in types and isinstance(value, float) and value.is_integer():
        yield int(value)
    if "boolean" in types and value in (0, 1):
        yield bool(value)
    # A number isn't how a date or a path is written.
    if isinstance(value, int) and any("string" in types_of([node]) and "format" not in node for node in nodes):
        yield str(value)


def _from_text(value: str, types: set[str], nodes: list[dict[str, Any]]) -> Iterator[Any]:
    text = value.strip()
    if "integer" in types and _INTEGER.match(text):
        yield int(text)
    if "number" in types and text in ("NaN", "Infinity", "-Infinity"):
        yield float(text)
    if types & {"number", "integer"} and _NUMBER.match(text):
        number = float(text)
        if "number" in types:
            yield int(text) if _INTEGER.match(text) else number
        elif number.is_integer():
            yield int(number)
    if "boolean" in types and text.lower() in _TRUE | _FALSE:
        yield text.lower() in _TRUE
    wanted: tuple[type, ...] = tuple(kind for name, kind in (("array", list), ("object", dict)) if name in types)
    if wanted and text[:1] in ("{", "[", "`"):
        from nbtoolkit.schema.repair import read_json

        read: Any = read_json(text)
        if isinstance(read, wanted):
            yield read
    if any(node.get("contentEncoding") == "base64" for node in nodes):
        import base64

        yield base64.b64encode(value.encode()).decode()
