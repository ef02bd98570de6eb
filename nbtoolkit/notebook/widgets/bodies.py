"""The body of an approval card: all of what would run, each argument whole or folded, never hidden.

``body`` picks how a call is drawn by what it is made of: commands with the verdict of each part, else a table. A body
says whether it had to cut anything, because what a person couldn't see they can't allow for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.fields import resolve, type_words
from nbtoolkit.notebook.render import frame_html
from nbtoolkit.notebook.text import boxed, count, one_line, to_json, visible
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.tool.run import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.permission.approval import ApprovalRequest
    from nbtoolkit.permission.subject import SubjectVerdict

__all__ = ["Body", "arguments_body", "body"]

# Two lines are taken in at a glance; the rest of a value is one click away.
OPEN_LINES = 2
OPEN_CHARACTERS = 200
# What a page can hold and a person could read, folded; past it the value is cut and "Always" isn't offered.
WHOLE_LIMIT = 100_000
FIRST_ROWS = 5
# A name breaks only where it would take the room of the values.
LONG_NAME = 28

_VERDICTS = {
    PermissionBehavior.ALLOW: ("✓ allowed", "nbtk-soft"),
    PermissionBehavior.ASK: ("? asks", "nbtk-ask"),
    PermissionBehavior.PASSTHROUGH: ("? asks", "nbtk-ask"),
    PermissionBehavior.DENY: ("✕ denied", "nbtk-deny"),
}


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", dict: "object"}


@dataclass(frozen=True, slots=True)
class Body:
    """Markup, and whether all of the call is in it."""

    markup: str
    cut: bool = False


def body(request: ApprovalRequest) -> Body:
    """All of what would run."""
    command = request.tool_input.get("command")
    if request.tool.name == "Bash" and isinstance(command, str) and request.subjects:
        return _command_body(request, command)
    table = arguments_body(request)
    if len(request.subjects) > 1:
        return Body(_parts(request.subjects) + table.markup, table.cut)
    return table


# ------------------------------------------------------------------------------------------------------------ a table


def arguments_body(request: ApprovalRequest) -> Body:
    """Argument, value, and its type and limits."""
    if not request.tool_input:
        return Body('<p class="nbtk-soft">It takes no arguments.</p>')
    schema = request.tool.input_schema
    properties = schema.get("properties")
    rows, cut = [], False
    for key, value in request.tool_input.items():
        about = resolve(properties.get(key), schema) if isinstance(properties, dict) else {}
        if key in request.variables:
            shown, kind, whole = _variable(value, request.variables[key]), type(request.variables[key]).__name__, True
        else:
            shown, whole = _value(value)
            kind = _kind(about, schema, value)
        cut = cut or not whole
        name = f"<code>{visible(one_line(key, 200))}</code>"
        long = ' class="nbtk-long"' if len(key) > LONG_NAME else ""
        rows.append(f'<tr><th scope="row"{long}>{name}</th><td>{shown}</td><td>{visible(kind)}</td></tr>')
    head = "".join(f'<th scope="col">{cell}</th>' for cell in ("Argument", "Value", "Type and limits"))
    markup = f'<table class="nbtk-t"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return Body(markup, cut)


def _kind(about: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> str:
    words = [type_words(about, schema)] if about else [_JSON_TYPES.get(type(value), "anything")]
    if "default" in about:
        words.append(
            "the default" if about["default"] == value else f"default {one_line(to_json(about['default']), 40)}"
        )
    if isinstance(value, str) and "\n" in value:
        words.append(count(len(value.splitlines()), "line"))
    return ", ".join(words)


def _value(value: Any) -> tuple[str, bool]:
    """A value's markup, and whether all of it can be looked at."""
    plain = isinstance(value, str) and value == value.strip() and value != ""
    text = value if plain else to_json(value)
    if not isinstance(value, str) and len(text) > OPEN_CHARACTERS:
        text = to_json(value, indent=2)
    whole = len(text) <= WHOLE_LIMIT
    if not whole:
        half = WHOLE_LIMIT // 2
        text = f"{text[:half]}\n… {count(len(text) - WHOLE_LIMIT, 'character')} not shown …\n{text[-half:]}"
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


# ---------------------------------------------------------------------------------------------------------- a command


def _command_body(request: ApprovalRequest, command: str) -> Body:
    whole = len(command) <= WHOLE_LIMIT
    shown = command if whole else command[:WHOLE_LIMIT]
    markup = f'<pre class="nbtk-code">{_shell(shown)}</pre>'
    if not whole:
        markup += f'<p class="nbtk-note">{count(len(command) - WHOLE_LIMIT, "character")} not shown</p>'
    if len(request.subjects) > 1 or request.subjects[0].subject.text.strip() != command.strip():
        markup += _parts(request.subjects)
    else:
        markup += f'<p class="nbtk-note">{_verdict(request.subjects[0])}</p>'
    sent = visible(to_json(request.tool_input, indent=2)[: WHOLE_LIMIT * 2])
    if len(request.tool_input) > 1:
        markup += f'<details><summary>Arguments as sent</summary><pre class="nbtk-code">{sent}</pre></details>'
    return Body(markup, not whole)


def _parts(subjects: tuple[SubjectVerdict, ...]) -> str:
    rows = "".join(
        f'<span class="nbtk-op"></span><pre>{_shell(one_line(each.subject.text, 2_000))}</pre>'
        f'<span class="nbtk-verdict">{_verdict(each)}</span>'
        for each in subjects
    )
    return f'<div class="nbtk-parts" role="group" aria-label="Parts of the call, each with its verdict">{rows}</div>'


def _verdict(each: SubjectVerdict) -> str:
    word, kind = (
        ("! asks", "nbtk-deny") if each.safety and each.behavior is PermissionBehavior.ASK else _VERDICTS[each.behavior]
    )
    return f'<span class="{kind}">{word}</span> · {visible(one_line(each.reason, 200))}'


def _shell(text: str) -> str:
    """A shell command with Pygments' classes; the lexer may only add markup, never change a character."""
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.shell import BashLexer

    if len(text) > 10_000:
        return visible(text)
    made = highlight(text, BashLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    return boxed(made.removesuffix("\n")) if made.strip() else escape(text)
