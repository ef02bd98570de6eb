"""Foreign text made safe to show: visible, bounded, the same on every machine.

Whatever comes from a model, a server or a file goes through here before it is drawn. What can't be seen is named
(``U+202E``), what is too long is cut in the middle with a count, and what differs from machine to machine (addresses,
the home folder) is masked. HTML made here holds no attribute that foreign text could reach.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from nbtoolkit.unseen import unseen, visible_text

__all__ = [
    "bounded",
    "boxed",
    "count",
    "fold",
    "one_line",
    "pre",
    "sendable",
    "settled",
    "table",
    "tidy",
    "to_json",
    "visible",
    "visible_text",
]

_SURROGATE = re.compile("[\ud800-\udfff]")

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_RETURN = re.compile(r"\r\n?")

# A middle cut keeps both ends: the start says what it is, the end how it came out.
_HEAD_SHARE = 0.6


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 line``, ``2,871 lines``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def visible(text: str) -> str:
    """HTML of foreign text for a card: escaped, unseen characters boxed by their number."""
    return boxed(escape(text))


def boxed(markup: str) -> str:
    """Markup made of foreign text that was escaped already, its unseen characters boxed."""
    return unseen().sub(lambda hit: f'<span class="nbtk-ctl">U+{ord(hit[0]):04X}</span>', markup)


def bounded(text: str, limit: int) -> str:
    """At most about ``limit`` characters; what is cut from the middle is counted in its place."""
    if len(text) <= limit:
        return text
    head = int(limit * _HEAD_SHARE)
    tail = limit - head
    return f"{text[:head]} … {count(len(text) - limit, 'character')} left out … {text[len(text) - tail :]}"


def one_line(text: str, limit: int) -> str:
    """The start of a text on one line, ``…`` where it goes on."""
    head = text[: limit * 2].strip()
    line = re.sub(r"\s*\n\s*", " ⏎ ", _RETURN.sub("\n", head))
    if len(line) <= limit and len(head) == len(text.strip()):
        return line
    return line[:limit].rstrip() + " …"


def tidy(output: str) -> str:
    """A tool's output as lines: colours out, carriage returns as new lines, so that nothing overprints anything."""
    return _RETURN.sub("\n", _COLOUR.sub("", output)) if "\x1b" in output or "\r" in output else output


def settled(text: str) -> str:
    """Text without what differs from run to run: memory addresses, and the home folder, which becomes ``~``."""
    if "0x" in text:
        text = _ADDRESS.sub("0x…", text)
    home = _home()
    return text if home is None else home.sub("~", text)


_homes: dict[str, re.Pattern[str] | None] = {}


def _home() -> re.Pattern[str] | None:
    try:
        home = str(Path.home())
    except RuntimeError:
        return None
    if home not in _homes:
        forms = {re.escape(form) for form in (home, home.replace("\\", "\\\\"), home.replace("\\", "/"))}
        before, after = r"(?:(?<![\w.~/\\-])|(?<=file://))", r"(?![\w.-])"
        # A home that is the root of the file system would turn every path into a lie.
        usable = len(Path(home).parts) > 1
        _homes[home] = re.compile(f"{before}(?:{'|'.join(sorted(forms))}){after}") if usable else None
    return _homes[home]


def sendable(text: str) -> bool:
    """Whether a text can reach a front end as it is: half a surrogate pair has no UTF-8."""
    return _SURROGATE.search(text) is None


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON a person reads, always sendable; what JSON can't carry by its type."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=lambda odd: f"<{type(odd).__name__}>")
    return _SURROGATE.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text)


# ----------------------------------------------------------- HTML that stands without styles: records, static tables

SOFT = "color:var(--jp-ui-font-color2,#616161)"
BAD = "color:var(--jp-error-color1,#b71c1c)"
CODE = "background:none;padding:0;color:inherit;font-size:inherit"
BOX = "max-width:960px;box-sizing:border-box;padding:7px 13px 4px;font-size:13px;line-height:1.5"
PRE = (
    "margin:4px 0;padding:6px 10px;font-family:var(--jp-code-font-family,monospace);"
    "background:color-mix(in srgb,currentColor 6%,transparent);"
    "white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal"
)
_CELL = "text-align:left;vertical-align:top;padding:3px 16px 3px 0;white-space:normal;max-width:none"


def safe(text: str) -> str:
    """Foreign text as HTML that stands without styles."""
    return escape(visible_text(text))


def code(text: str) -> str:
    """Foreign text as inline code."""
    return f'<code style="{CODE}">{safe(text)}</code>'


def soft(markup: str) -> str:
    """Markup in the quieter ink."""
    return f'<span style="{SOFT}">{markup}</span>'


def pre(text: str) -> str:
    """Foreign text as a block."""
    return f'<pre style="{PRE}">{safe(text)}</pre>'


def fold(summary: str, markup: str) -> str:
    """Markup behind a line that opens it."""
    return f'<details><summary style="{SOFT};cursor:pointer">{escape(summary)}</summary>{markup}</details>'


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of finished markup; the first column heads its row."""
    cells = "".join(f'<th scope="col" style="{_CELL};font-weight:400;{SOFT}">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:400">{first}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f'<table style="margin:4px 0;font-size:inherit"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>'


def box(markup: str) -> str:
    """The one frameless block that a static display is."""
    return f'<div style="{BOX}">{markup}</div>'


# A column past this width stops pushing the others out of sight; its rows run over instead.
_COLUMN = 60


def columns(head: list[str], rows: list[list[str]], indent: str = "") -> str:
    """A table as text: columns padded to their widest cell, no line ends in spaces."""
    shown = [[visible_text(cell).replace("\n", " ") for cell in row] for row in [head, *rows] if row]
    widths = [min(_COLUMN, max(len(row[i]) for row in shown)) for i in range(len(shown[0]))] if shown else []
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown)
    return "\n".join((indent + line).rstrip() for line in lines)
