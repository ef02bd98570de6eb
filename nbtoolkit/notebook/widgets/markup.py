"""Markup for what is looked at in a page: tables, code, headings in the sheet's classes, all foreign text escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.fields import Field, fields, others, type_words
from nbtoolkit.notebook.text import boxed, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["arguments_table", "bad", "code", "coloured_json", "heading", "ink", "soft", "table"]


def code(text: str) -> str:
    """Foreign text as code."""
    return f"<code>{visible(text)}</code>"


def soft(markup: str) -> str:
    """Markup in the softer colour."""
    return f'<span class="nbtk-soft">{markup}</span>' if markup else ""


def ink(markup: str) -> str:
    """Markup in full colour, inside what is soft."""
    return f'<span class="nbtk-ink">{markup}</span>'


def bad(text: str) -> str:
    """Foreign text that tells of a fault."""
    return f'<span class="nbtk-bad">{visible(text)}</span>'


def heading(markup: str, level: int = 4) -> str:
    """A title that a screen reader finds."""
    return f'<div role="heading" aria-level="{level}" class="nbtk-title">{markup}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], classes: str = "") -> str:
    """A table of markup; the first column heads its row."""
    columns = "".join(f'<th scope="col">{each}</th>' for each in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{each}</td>" for each in rest)}</tr>' for first, *rest in rows
    )
    return f'<table class="nbtk-t {classes}"><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>'


def coloured_json(text: str) -> str:
    """JSON as code in the editor's colours."""
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.data import JsonLexer

    markup: str = highlight(text, JsonLexer(stripall=False), HtmlFormatter(nowrap=True))
    return boxed(markup.rstrip("\n"))


def arguments_table(schema: Mapping[str, Any]) -> str:
    """What a tool takes, a row each, nested ones below their parent."""
    rows = [_row(each) for each in fields(schema)]
    free = others(schema)
    said = ""
    if free is not None:
        kind = type_words(free, schema)
        said = f"Takes {'other names as well' if rows else 'any names'}: {visible(kind)}."
    elif not rows:
        said = "Takes no arguments."
    return (table(["Argument", "Value", "Type and meaning"], rows, "nbtk-args") if rows else "") + (
        f'<div class="nbtk-note">{said}</div>' if said else ""
    )


def _row(row: Field) -> list[str]:
    parent, dot, name = row.path.rpartition(".")
    shown = (
        f'<span style="padding-left:{16 * row.depth}px">{soft(code(parent + dot)) if parent else ""}{code(name)}</span>'
    )
    value = "<b>required</b>" if row.required else soft(visible(row.value))
    meaning = f" {soft('· ' + visible(row.description))}" if row.description else ""
    return [shown, value, ink(visible(row.type)) + meaning]
