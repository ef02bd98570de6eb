"""The body of an approval card: all of what would run, each argument whole or folded, never hidden.

``body`` picks how a call is drawn by what it is made of: commands with the verdict of each part, the difference to a
file, else a table. A body says whether it had to cut anything, because what a person couldn't see they can't allow for
good.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.fields import resolve, type_words
from nbtoolkit.notebook.render import frame_html
from nbtoolkit.notebook.text import count, one_line, settled, to_json, visible
from nbtoolkit.notebook.widgets.diff import diff_markup
from nbtoolkit.notebook.widgets.highlight import coloured
from nbtoolkit.notebook.widgets.ledger import WHOLE_LIMIT, command_markup, parts_markup
from nbtoolkit.schema.variables import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.permission.approval import ApprovalRequest
    from nbtoolkit.tool.files import FileChange

__all__ = ["Body", "arguments_body", "body", "coloured"]

logger = logging.getLogger("nbtoolkit")

BUILT_IN = "Built-in tool"
FAULT_LIMIT = 400
# Two lines are taken in at a glance; the rest of a value is one click away.
OPEN_LINES = 2
OPEN_CHARACTERS = 200
FIRST_ROWS = 5
NAME_LIMIT = 200
# Markup of all values together, and what each may have when that is used up: a page takes a second for a few millions.
ROOM, LEAST = 1_000_000, 2_000
# A name breaks only where it would take the room of the values.
LONG_NAME = 28

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", dict: "object"}


@dataclass(frozen=True, slots=True)
class Body:
    """Markup, whether a part of the call is missing in it, and about how many lines it takes."""

    markup: str
    cut: bool = False
    lines: int = 0


def body(request: ApprovalRequest) -> Body:
    """All of what would run."""
    command = request.tool_input.get("command")
    built_in = getattr(request.tool, "origin", "") == BUILT_IN
    if built_in and request.tool.name == "Bash" and isinstance(command, str) and request.subjects:
        markup, whole, lines = command_markup(request, command)
        return Body(markup, not whole, lines)
    change = getattr(request.tool, "change", None)
    if built_in and change is not None:
        made = _change_body(request, change)
        if made is not None:
            return made
    table = arguments_body(request)
    if len(request.subjects) > 1:
        return Body(parts_markup(request.subjects) + table.markup, table.cut, table.lines + len(request.subjects))
    return table


def _change_body(request: ApprovalRequest, change: Callable[[dict[str, Any], Any], FileChange]) -> Body | None:
    """The difference that Write or Edit would make; None where the arguments themselves say more."""
    from nbtoolkit.tool.files import FileFault

    arguments, failing = dict(request.tool_input), ""
    try:
        try:
            made = change(arguments, request.state)
        except FileFault as fault:
            said = visible(settled(one_line(str(fault), FAULT_LIMIT)))
            failing = f'<p class="nbtk-note nbtk-bad nbtk-above">It would fail: {said}</p>'
            # A file that was not read yet: what would become of it can be shown all the same.
            made = change(arguments, None)
    except FileFault:
        table = arguments_body(request)
        return Body(failing + table.markup, table.cut, table.lines + 1)
    except Exception:
        # The difference is a help; without it the arguments are there.
        logger.warning("a difference could not be shown", exc_info=True)
        return None
    if made.before is not None and made.before == made.after:
        return None
    note = failing + ('<p class="nbtk-note nbtk-above">A new file.</p>' if made.before is None else "")
    if request.tool_input.get("replace_all"):
        note += '<p class="nbtk-note nbtk-above">Every place where the old text stands.</p>'
    markup, whole, lines = diff_markup(made.diff, made.path, made.left_out)
    return Body(note + markup, not whole, lines)


# ------------------------------------------------------------------------------------------------------------ a table


def arguments_body(request: ApprovalRequest) -> Body:
    """Argument, value, and its type and limits."""
    if not request.tool_input:
        return Body('<p class="nbtk-soft">It takes no arguments.</p>')
    schema = request.tool.input_schema
    properties = schema.get("properties")
    rows, cut, room = [], False, ROOM
    for key, value in request.tool_input.items():
        about = resolve(properties.get(key), schema) if isinstance(properties, dict) else {}
        if key in request.variables:
            shown, kind, whole = _variable(value, request.variables[key]), type(request.variables[key]).__name__, True
        else:
            shown, whole = _value(value, max(LEAST, min(WHOLE_LIMIT, room)))
            room -= len(shown)
            kind = _kind(about, schema, value)
        cut = cut or not whole or len(key) > NAME_LIMIT
        name = f"<code>{visible(one_line(key, NAME_LIMIT))}</code>"
        long = ' class="nbtk-long"' if len(key) > LONG_NAME else ""
        rows.append(f'<tr><th scope="row"{long}>{name}</th><td>{shown}</td><td>{visible(kind)}</td></tr>')
    head = "".join(f'<th scope="col">{cell}</th>' for cell in ("Argument", "Value", "Type and limits"))
    markup = f'<table class="nbtk-t"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return Body(markup, cut, 2 * len(rows) + 1)


def _kind(about: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> str:
    words = [type_words(about, schema)] if about else [_JSON_TYPES.get(type(value), "anything")]
    if "default" in about:
        words.append(
            "the default" if about["default"] == value else f"default {one_line(to_json(about['default']), 40)}"
        )
    if isinstance(value, str) and "\n" in value:
        words.append(count(value.count("\n") + (not value.endswith("\n")), "line"))
        if value.endswith("\n"):
            words.append("the last one ended")
    return ", ".join(words)


def _value(value: Any, limit: int) -> tuple[str, bool]:
    """A value's markup, and whether all of it can be looked at."""
    plain = isinstance(value, str) and _shows_itself(value)
    text = value if plain else to_json(value)
    if not isinstance(value, str) and len(text) > OPEN_CHARACTERS:
        text = to_json(value, indent=2)
    whole = len(text) <= limit
    if not whole:
        half = limit // 2
        text = f"{text[:half]}\n… {count(len(text) - limit, 'character')} not shown …\n{text[-half:]}"
    lines = text.split("\n")
    opened = "\n".join(lines[:OPEN_LINES])
    if len(opened) > OPEN_CHARACTERS:
        rest = text[OPEN_CHARACTERS:]
        return _open_and_rest(
            text[:OPEN_CHARACTERS], rest, count(len(rest), "more character", "more characters")
        ), whole
    if len(lines) > OPEN_LINES:
        more = len(lines) - OPEN_LINES
        return _open_and_rest(opened, "\n".join(lines[OPEN_LINES:]), count(more, "more line", "more lines")), whole
    return (f"<pre>{visible(text)}</pre>" if "\n" in text else f"<code>{visible(text)}</code>"), whole


def _shows_itself(text: str) -> bool:
    """Whether nothing of a text is lost to the eye: blanks at its ends are, but for the line end of several lines."""
    lines = text[:-1] if text.endswith("\n") and "\n" in text[:-1] else text
    return lines != "" and lines == lines.strip()


def _open_and_rest(opened: str, rest: str, label: str) -> str:
    return f"<pre>{visible(opened)}</pre><details><summary>{label}</summary><pre>{visible(rest)}</pre></details>"


def _variable(name: Any, value: object) -> str:
    shown = name if isinstance(name, str) else to_json(name)
    markup = f"variable <code>{visible(one_line(shown, 100))}</code>, {visible(describe(value))}"
    rows = _first_rows(value)
    return markup + (
        f'<details><summary>First rows</summary><div class="nbtk-wide">{rows}</div></details>' if rows else ""
    )


def _first_rows(value: object) -> str:
    import sys

    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.DataFrame):
        return ""
    return frame_html(value.head(FIRST_ROWS))
