"""The difference that a call would make to a file, as a person reviews it.

Old and new line numbers, a sign, the line; the signs and numbers carry it where colours are lost. Long differences fold
hunk by hunk, and what folds away is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import count, visible
from nbtoolkit.notebook.widgets.highlight import lexer_for, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["diff_markup"]

# A screen's worth stays open.
OPEN_LINES = 40
# More rows than this are a page's whole memory; the rest is said to be missing, and "Always" isn't offered.
MAX_ROWS = 5_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SIGNS = {" ": ("ctx", " "), "+": ("add", "+"), "-": ("del", "−")}


@dataclass(slots=True)
class _Hunk:
    old: int
    new: int
    lines: list[tuple[str, str]] = field(default_factory=list)


def diff_markup(diff: str, path: str, left_out: int = 0) -> tuple[str, bool, int]:
    """A unified diff of that file as markup, whether all of it is there, and how many rows it has."""
    hunks = list(_hunks(diff))
    rows = sum(len(hunk.lines) for hunk in hunks)
    if not rows:
        return '<p class="nbtk-soft">Nothing changes.</p>', not left_out, 1
    width = len(str(max(hunk.old + hunk.new + len(hunk.lines) for hunk in hunks)))
    lexer = lexer_for(path)
    out, room, kept = [], OPEN_LINES, MAX_ROWS
    for i, hunk in enumerate(hunks):
        made = _rows(hunk, lexer)
        drawn = made[:kept]
        kept -= len(drawn)
        # A hunk that fits stays whole; the first one that doesn't shows its start.
        opened = min(len(drawn), room)
        if i and opened:
            out.append(
                _grid(['<div class="nbtk-gap"><span></span><span></span><span></span><span>⋯</span></div>'], width)
            )
        if opened:
            out.append(_grid(drawn[:opened], width))
        if opened < len(drawn):
            more = count(len(drawn) - opened, "more line" if opened else "line", "more lines" if opened else "lines")
            where = "" if opened else f", from line {hunk.new:,}"
            folded = _grid(drawn[opened:], width)
            out.append(f"<details><summary>{more}{where}</summary>{folded}</details>")
        room -= opened
    missing = left_out + max(0, rows - MAX_ROWS)
    if missing:
        out.append(f'<p class="nbtk-note">{count(missing, "line")} not shown</p>')
    return f'<div class="nbtk-diffs" role="group" aria-label="Difference">{"".join(out)}</div>', not missing, rows


def _hunks(diff: str) -> Iterator[_Hunk]:
    hunk: _Hunk | None = None
    for line in diff.split("\n")[2:]:
        found = _HUNK.match(line)
        if found:
            if hunk is not None:
                yield hunk
            hunk = _Hunk(int(found[1]), int(found[2]))
        elif hunk is not None and line[:1] in _SIGNS:
            hunk.lines.append((line[0], line[1:]))
        elif hunk is not None and line.startswith("\\ No newline"):
            hunk.lines.append(("\\", "no line end at the end of the file"))
    if hunk is not None:
        yield hunk


def _rows(hunk: _Hunk, lexer: Any) -> list[str]:
    # Both sides as whole texts, so that a string over several lines is one.
    old = lines_of("\n".join(text for sign, text in hunk.lines if sign in " -"), lexer)
    new = lines_of("\n".join(text for sign, text in hunk.lines if sign in " +"), lexer)
    a = b = 0
    rows = []
    for sign, text in hunk.lines:
        if sign == "\\":
            rows.append(
                f'<div class="nbtk-gap"><span></span><span></span><span></span><span>{visible(text)}</span></div>'
            )
            continue
        kind, shown = _SIGNS[sign]
        code = new[b] if sign != "-" else old[a]
        left = "" if sign == "+" else f"{hunk.old + a}"
        right = "" if sign == "-" else f"{hunk.new + b}"
        rows.append(
            f'<div class="nbtk-{kind}"><span class="nbtk-n">{left}</span><span class="nbtk-n">{right}</span>'
            f"<span>{shown}</span><span>{code or ' '}</span></div>"
        )
        a += sign != "+"
        b += sign != "-"
    return rows


def _grid(rows: list[str], width: int) -> str:
    return f'<div class="nbtk-diff" style="--nbtk-digits:{width}ch">{"".join(rows)}</div>'
