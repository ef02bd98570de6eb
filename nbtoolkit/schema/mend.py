"""How a model's usual slips are mended.

`mend` only ever changes the JSON at a path that was found wrong, to a value that the validator then accepts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbtoolkit.schema.fault import Path, Problem, choices_of, nodes_at, path_text, shown, types_of
from nbtoolkit.schema.variables import as_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["mend", "put", "replace"]

# More problems than this are not mended one by one.
_MAX_MENDED = 1_000
_MAX_ROUNDS = 12
_DROP: Any = object()

_TRUE = frozenset({"true", "yes", "on", "y", "t", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "f", "0"})
_NULL = frozenset({"null", "none"})
_INTEGER = re.compile(r"[+-]?\d{1,4000}\Z")
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\Z")


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
                if path[:-1] in tries and tries[path[:-1]].is_wrapped(problem.value):
                    # One list of one is meant, not one in another.
                    this.left = [each for each in this.left if each != [problem.value]]
            if not this.left:
                restored |= this.applied and put(data, path, this.original)
                this.applied = False
                notes.pop(path, None)
                continue
            new = this.left.pop(0)
            if put(data, path, new):
                this.applied = True
                moved.append(path)
                said = "left out" if new is _DROP else shown(new)
                notes[path] = f"{path_text(path)}: {shown(this.original)} read as {said}"
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

    def is_wrapped(self, value: Any) -> bool:
        """Whether the original stands there in a list of one."""
        return self.applied and type(self.original) is not list and self.original == value


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
    return f"{path_text(path)}: {shown(old)} read as {shown(source)}"


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
        found.extend(_named(value, root, path))
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


def _named(value: dict[str, Any], root: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """An object with its discriminator written as the branches of the union write it."""
    for name, said in value.items():
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
