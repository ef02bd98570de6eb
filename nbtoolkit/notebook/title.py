"""What a call will do, in one line: the tool, then a verb or its telling arguments.

The title of a card, a tray's item and a record are this one line, so that a reader meets the same words before and
after. A model's words never stand in it unquoted.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import count, one_line, safe, settled, to_json, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Title", "split_name", "title"]

# Two arguments tell the calls of one tool apart; a third makes the line wrap at 960 px.
TELLING = 2
# A value longer than this isn't read in a heading; the body has it whole.
VALUE_LIMIT = 40
# A command is the whole call, so it may fill the line.
COMMAND_LIMIT = 100
# One that isn't read at a glance is told by how many commands it is.
SHORT_COMMAND = 60
# Past these lines a count of changed lines costs more than it says: comparing is quadratic at worst.
DIFF_LINES = 400

_BUILT_IN = "Built-in tool"


@dataclass(frozen=True, slots=True)
class Title:
    """One line in pieces: plain words and code. ``complete`` where it says all of the call's arguments."""

    tool: str
    parts: tuple[tuple[str, str], ...]
    complete: bool

    @property
    def plain(self) -> str:
        """The line as text, safe to print."""
        return visible_text(self.tool + "".join(f" {text}" if kind != "glue" else text for kind, text in self.parts))

    def html(self, code: Callable[[str], str]) -> str:
        """What follows the tool's name, as HTML; ``code`` makes an inline code element of foreign text."""
        out = []
        for kind, text in self.parts:
            space = "" if kind == "glue" else " "
            out.append(space + (code(text) if kind == "code" else safe(text)))
        return "".join(out)


def split_name(name: str, origin: str) -> tuple[str, str | None]:
    """The tool's name as its server or function has it, and the server's name."""
    if name.startswith("mcp__") and origin.startswith("MCP server "):
        server = origin.removeprefix("MCP server ").split(" ", 1)[0]
        return name.removeprefix(f"mcp__{server}__"), server
    return name, None


def title(
    name: str,
    tool_input: Mapping[str, Any],
    variables: Mapping[str, str] | None = None,
    *,
    origin: str = "",
) -> Title:
    """The line for one call.

    ``variables`` maps an argument to what its notebook variable is; ``origin`` is ToolBase.origin. The order of the
    arguments is the call's own, which for a function is its signature's.
    """
    variables = variables or {}
    build = _BUILT_INS.get(name) if origin == _BUILT_IN else None
    made = build(tool_input) if build is not None else None
    if made is not None:
        parts, told = made
        return Title(name, parts, told >= set(tool_input))
    shown, server = split_name(name, origin)
    shown = one_line(shown, COMMAND_LIMIT)
    parts = (("text", "on"), ("code", server)) if server else ()
    more, complete = _with(tool_input, variables)
    return Title(shown, parts + more, complete)


Parts = tuple[tuple[str, str], ...]


def _with(tool_input: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[Parts, bool]:
    if not tool_input:
        return (("text", "without arguments"),), True
    told = sorted(tool_input, key=lambda key: _rank(key, tool_input[key], variables))[:TELLING]
    told = [key for key in told if _rank(key, tool_input[key], variables) < _UNTELLING]
    rest = len(tool_input) - len(told)
    if not told:
        return (("text", f"with {count(rest, 'argument')}"),), False
    parts: list[tuple[str, str]] = []
    complete = rest == 0
    for i, key in enumerate(told):
        last = i == len(told) - 1 and not rest
        lead = "with" if i == 0 else "and" if last else None
        if lead is None:
            parts.append(("glue", ","))
        else:
            parts.append(("text", lead))
        words, whole = _value(key, tool_input[key], variables)
        parts += words
        complete = complete and whole
    if rest:
        parts.append(("text", f"and {rest} more"))
    return tuple(parts), complete


_UNTELLING = 9


def _rank(key: str, value: Any, variables: Mapping[str, str]) -> int:
    """How little an argument tells of its call."""
    if key in variables:
        return 0
    if value is None or isinstance(value, dict | list):
        return _UNTELLING
    return 2 if isinstance(value, str) and (len(value) > VALUE_LIMIT or "\n" in value) else 1


def _value(key: str, value: Any, variables: Mapping[str, str]) -> tuple[list[tuple[str, str]], bool]:
    """An argument's pieces, and whether they say all of it."""
    if key in variables:
        shown = value if isinstance(value, str) else to_json(value)
        kind = variables[key]
        named = [("code", one_line(shown, VALUE_LIMIT)), ("text", f"({one_line(kind, VALUE_LIMIT)})")]
        return ([("text", one_line(key, VALUE_LIMIT))] if shown != key else []) + named, True
    name = ("text", one_line(key, VALUE_LIMIT))
    if not isinstance(value, str):
        return [name, ("code", one_line(to_json(value), VALUE_LIMIT))], len(to_json(value)) <= VALUE_LIMIT
    text = settled(value)
    whole = len(text) <= VALUE_LIMIT and "\n" not in text
    if text and whole and " " not in text and "\t" not in text:
        return [name, ("code", text)], True
    return [name, ("text", f"“{one_line(text, VALUE_LIMIT)}”")], whole


# --------------------------------------------------------------------------------------------------- built-in tools


def _text(tool_input: Mapping[str, Any], key: str) -> str:
    value = tool_input.get(key)
    return settled(value) if isinstance(value, str) else ""


def _path(tool_input: Mapping[str, Any], key: str) -> tuple[str, str]:
    return ("code", one_line(_text(tool_input, key), COMMAND_LIMIT))


def _lines(text: str) -> int:
    return len(text.splitlines())


def _bash(tool_input: Mapping[str, Any]) -> tuple[Parts, set[str]]:
    command = _text(tool_input, "command").strip()
    shown = one_line(command, COMMAND_LIMIT)
    several = _several(command) if len(shown) > SHORT_COMMAND else None
    if several is not None:
        return several, set()
    return (("text", "runs"), ("code", shown)), {"command"} if shown == command else set()


def _several(command: str) -> Parts | None:
    """How many commands, and where, for a line that is too long to be read as a title; None for a single one."""
    from nbtoolkit.permission.shell import read_line

    line = read_line(command)
    found = [each for each in line.commands if each.words]
    first = found[0] if found else None
    folder: str | None = None
    if first is not None and len(first.words) == 2 and first.words[0].static == "cd":
        folder, found = first.words[1].static, found[1:]
    if line.problems or len(found) < 2:
        return None
    parts = (("text", f"runs {count(len(found), 'command')}"),)
    return (*parts, ("text", "in"), ("code", one_line(folder, VALUE_LIMIT))) if folder else parts


def _read(tool_input: Mapping[str, Any]) -> tuple[Parts, set[str]]:
    parts: list[tuple[str, str]] = [("text", "reads"), _path(tool_input, "file_path")]
    offset, limit = tool_input.get("offset"), tool_input.get("limit")
    if isinstance(offset, int) and offset > 1:
        parts.append(("glue", f", from line {offset:,}"))
    if isinstance(limit, int):
        # The file may hold fewer.
        parts.append(("glue", f", up to {count(limit, 'line')}"))
    return tuple(parts), {"file_path", "offset", "limit"} | _empty(tool_input)


def _write(tool_input: Mapping[str, Any]) -> tuple[Parts, set[str]]:
    lines = count(_lines(_text(tool_input, "content")), "line")
    return (("text", "writes"), _path(tool_input, "file_path"), ("glue", f", {lines}")), {"file_path"}


def _edit(tool_input: Mapping[str, Any]) -> tuple[Parts, set[str]]:
    old, new = (_text(tool_input, key).splitlines() for key in ("old_string", "new_string"))
    if max(len(old), len(new)) > DIFF_LINES:
        become = f", {count(len(old), 'line')} become {len(new):,}"
        return (("text", "changes"), _path(tool_input, "file_path"), ("glue", become)), {"file_path"}
    added = removed = 0
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed, added = removed + j - i, added + m - k
    said = [f"{count(added, 'line')} added"] if added else []
    said += [f"{removed:,} removed" if added else f"{count(removed, 'line')} removed"] if removed else []
    change = " and ".join(said) or "nothing changed"
    return (("text", "changes"), _path(tool_input, "file_path"), ("glue", f", {change}")), {"file_path"}


def _search(verb: str) -> Callable[[Mapping[str, Any]], tuple[Parts, set[str]]]:
    def build(tool_input: Mapping[str, Any]) -> tuple[Parts, set[str]]:
        parts: list[tuple[str, str]] = [("text", verb), _path(tool_input, "pattern")]
        if _text(tool_input, "path"):
            parts += [("text", "in"), _path(tool_input, "path")]
        return tuple(parts), {"pattern", "path"} | _empty(tool_input)

    return build


def _empty(tool_input: Mapping[str, Any]) -> set[str]:
    return {key for key, value in tool_input.items() if value is None or value is False}


_BUILT_INS: dict[str, Callable[[Mapping[str, Any]], tuple[Parts, set[str]]]] = {
    "Bash": _bash,
    "Read": _read,
    "Write": _write,
    "Edit": _edit,
    "Glob": _search("finds"),
    "Grep": _search("searches for"),
}
