"""The record of a call: one display that stands when everything else is gone.

It holds what was called, what was decided, and the result, as fixed text/plain and as text/html that reads well with
its styles stripped, on any renderer, without a kernel. Nothing in it differs between a person's click and a script's
answer, or between two machines: no ids, times, durations, sizes, addresses or paths of home. Whatever a tool or a model
wrote is inert and bounded, and secrets that are known as such are left out.
"""

from __future__ import annotations

import base64
import binascii
import sys
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.cassette.values import SHAPE, ReplayedValue
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState
from nbtoolkit.notebook.tables import (
    explanation,
    log_table,
    message,
    rules_table,
    schema_view,
    servers_table,
    tools_table,
)
from nbtoolkit.notebook.text import (
    BAD,
    SOFT,
    bounded,
    box,
    code,
    count,
    fold,
    one_line,
    pre,
    safe,
    settled,
    tidy,
    to_json,
    visible,
    visible_text,
)
from nbtoolkit.notebook.title import title
from nbtoolkit.redact import Redactor
from nbtoolkit.tool.result import ToolResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtoolkit.tool.log import LogEntry

__all__ = [
    "arguments_text",
    "bounded",
    "contents",
    "explanation",
    "frame_html",
    "log_table",
    "message",
    "record",
    "rules_table",
    "schema_view",
    "servers_table",
    "title",
    "tools_table",
    "visible",
    "visible_text",
]

# What of one argument the record's first line says; the page has the rest under "Arguments".
ARGUMENT_LIMIT = 1_000
FOLDED_ARGUMENT_LIMIT = 20_000
# A function's result is bounded to 20,000 characters for the model; a page may hold a little more, a notebook not 1 MB.
TEXT_LIMIT = 40_000
# More lines than this push what follows out of sight.
FOLD_LINES = 20
# One unbroken line of this length fills as much of the page as the lines above.
FOLD_CHARACTERS = 3_000
# An image past this size makes the notebook too large to keep in git.
IMAGE_LIMIT = 5_000_000
FRAME_ROWS = 20
FRAME_COLUMNS = 20
CELL_LIMIT = 80
# A reason is a sentence; the model's own tool may have written it.
WORDS_LIMIT = 400

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})


def record(entry: LogEntry, response: ToolResponse) -> dict[str, str]:
    """The mime bundle of one call that ended."""
    # Before anything is cut, so that no half of a secret is left.
    hide = Redactor()
    entry = copy(entry)
    entry.tool_input = hide.value(entry.tool_input)
    entry.mended = tuple(map(hide.text, entry.mended))
    line = title(entry.tool, entry.tool_input, entry.variables, origin=entry.origin)
    words = settled(one_line(hide.text(entry.words), WORDS_LIMIT))
    state = entry.state
    arguments = "" if line.complete else fold("Arguments", pre(_argument_lines(entry)))
    result_text, result_html = _result(response, hide)
    if difference := _difference(entry, response):
        text, markup = _text(TextBlock(text=difference), hide)
        result_text, result_html = f"{result_text}\n{text}", f"{result_html}{markup}"
    if words == "not answered" or (state is ToolResultState.DENIED and not words.startswith("allowed")):
        # The tool didn't run, and what the model was told is the decision in other words.
        result_text = result_html = ""
    shown = f'<span style="{SOFT}">{_words_html(state, words)}</span>'
    markup = f'<p style="margin:0"><b>{code(line.tool)}</b>{line.html(code)} — {shown}</p>{arguments}{result_html}'
    head = f"[{visible_text(one_line(entry.tool, 200))}] {arguments_text(entry)}".rstrip()
    plain = f"{head}\n{_words_plain(state, words)}"
    if result_text:
        plain += "\n" + _indented(result_text)
    return {"text/plain": plain, "text/html": box(markup)}


def _words_html(state: ToolResultState, words: str) -> str:
    if state is ToolResultState.ERROR:
        return f'<span style="{BAD}">error</span>, {safe(words)}'
    if state is ToolResultState.INTERRUPTED:
        return f"<b>interrupted</b>, {safe(words)}"
    return safe(words)


def _words_plain(state: ToolResultState, words: str) -> str:
    words = visible_text(words)
    if state is ToolResultState.DENIED:
        return words
    return f"{'ok' if state is ToolResultState.SUCCESS else state.value}, {words}"


# -------------------------------------------------------------------------------------------------------- arguments


def arguments_text(entry: LogEntry) -> str:
    """All arguments on one line; a Bash call's command, its further lines indented by 4."""
    if entry.tool == "Bash" and entry.origin == "Built-in tool" and isinstance(entry.tool_input.get("command"), str):
        command = visible_text(settled(bounded(entry.tool_input["command"].strip(), ARGUMENT_LIMIT)))
        return command.replace("\n", "\n    ")
    shown = (f"{key}={_argument(entry, key, ARGUMENT_LIMIT)}" for key in entry.tool_input)
    return visible_text(", ".join(shown)).replace("\n", " ")


def _argument_lines(entry: LogEntry) -> str:
    lines = [f"{key}:{_argument(entry, key, FOLDED_ARGUMENT_LIMIT, block=True)}" for key in entry.tool_input]
    return "\n".join([*lines, *(f"mended: {settled(one_line(note, WORDS_LIMIT))}" for note in entry.mended)])


def _argument(entry: LogEntry, key: str, limit: int, *, block: bool = False) -> str:
    value = entry.tool_input[key]
    if key in entry.variables:
        name = value if isinstance(value, str) else to_json(value)
        return f" variable {name}, {entry.variables[key]}" if block else f"{name} ({entry.variables[key]})"
    if block and isinstance(value, str) and "\n" in value:
        return "\n" + _indented(settled(bounded(value, limit)))
    return (" " if block else "") + settled(bounded(to_json(value), limit))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


# ----------------------------------------------------------------------------------------------------------- result


def _result(response: ToolResponse, hide: Redactor) -> tuple[str, str]:
    frame = _frame(response.value)
    if frame is not None:
        return _frame_text(frame, hide), frame_html(frame, hide=hide)
    texts, markups = [], []
    for block in response.content:
        text, markup = _text(block, hide) if isinstance(block, TextBlock) else _data(block, hide)
        if text:
            texts.append(text)
            markups.append(markup)
    return "\n".join(texts), "".join(markups)


def _difference(entry: LogEntry, response: ToolResponse) -> str:
    """What Write or Edit changed in a file that was there; a new one's content stands in the arguments."""
    diff = response.metadata.get("diff")
    if entry.origin != "Built-in tool" or entry.tool not in {"Write", "Edit"} or not isinstance(diff, str):
        return ""
    hunks = diff.split("\n", 2)[-1]  # without the two lines that name the file
    return "" if hunks.startswith("@@ -0,0 ") else hunks


def contents(parts: Iterable[tuple[str, Sequence[TextBlock | DataBlock]]]) -> dict[str, str]:
    """Blocks under headings, shown as a result is; all of it is foreign."""
    texts, markups, hide = [], [], Redactor()
    for heading, blocks in parts:
        line = one_line(hide.text(heading), 200)
        text, markup = _result(ToolResponse(content=list(blocks)), hide)
        texts.append(f"{visible_text(line)}\n{_indented(text)}")
        markups.append(f'<p style="margin:0"><b>{safe(line)}</b></p>{markup}')
    return {"text/plain": "\n".join(texts), "text/html": box("".join(markups))}


def _text(block: TextBlock, hide: Redactor) -> tuple[str, str]:
    text = settled(bounded(hide.text(tidy(block.text)), TEXT_LIMIT)).rstrip("\n ")
    lines = text.count("\n") + 1
    if lines > FOLD_LINES:
        return visible_text(text), fold(f"Result, {count(lines, 'line')}", pre(text))
    if len(text) > FOLD_CHARACTERS:
        return visible_text(text), fold(f"Result, {count(len(text), 'character')}", pre(text))
    return visible_text(text), pre(text) if text else ""


def _data(block: DataBlock, hide: Redactor) -> tuple[str, str]:
    kind = one_line(block.source.media_type, 60)
    name = one_line(hide.text(block.name or ""), 60)
    label = visible_text(f"[{kind}{' ' + name if name else ''}]")
    if not isinstance(block.source, Base64Source):
        # An address isn't fetched: looking at a record must not tell a server that somebody did.
        where = one_line(hide.text(block.source.url), 200)
        return f"{label} {visible_text(where)}", f'<p style="margin:4px 0">{safe(label)} {code(where)}</p>'
    data = _base64(block.source.data)
    if kind not in _IMAGES or data is None:
        return label, f'<p style="margin:4px 0">{safe(label)}</p>'
    alt = safe(name or "Image").replace('"', "&quot;")
    image = f'<img src="data:{kind};base64,{data}" alt="{alt}" style="max-width:100%">'
    return label, f'<p style="margin:4px 0">{image}</p>'


def _base64(data: str) -> str | None:
    """The same bytes, encoded here, so that nothing but base64 stands in the page; None where it is none or too much."""
    if len(data) > IMAGE_LIMIT:
        return None
    try:
        return base64.b64encode(base64.b64decode(data, validate=True)).decode()
    except (binascii.Error, ValueError):
        return None


# ----------------------------------------------------------------------------------------------------------- frames


def _frame(value: Any) -> Any:
    """The value as a pandas DataFrame, where it is one or a Series; pandas is looked at only where it was imported."""
    if isinstance(value, ReplayedValue):
        return value.abridged
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(value, pandas.Series):
        return value.to_frame(value.name if value.name is not None else "")
    return value if isinstance(value, pandas.DataFrame) else None


def _dimensions(frame: Any) -> str:
    rows, columns = frame.attrs.get(SHAPE, frame.shape)
    cut = rows > FRAME_ROWS or columns > FRAME_COLUMNS
    return f"{count(rows, 'row')} × {count(columns, 'column')}" if cut else ""


def _small(frame: Any, hide: Redactor | None) -> Any:
    """The rows and columns that are drawn, and one more on each side so that pandas marks the gap; long cells cut."""
    rows, columns = (_ends(size, limit) for size, limit in zip(frame.shape, (FRAME_ROWS, FRAME_COLUMNS), strict=True))
    cell = partial(_cell, hide=hide or Redactor())
    small = frame.iloc[rows, columns].rename(index=cell, columns=cell)
    for i, kind in enumerate(small.dtypes):
        if getattr(kind, "kind", "O") == "O":
            small.isetitem(i, small.iloc[:, i].astype(object).map(cell))
    return small


def _ends(size: int, limit: int) -> list[int]:
    half = limit // 2 + 1
    return list(range(size)) if size <= limit else [*range(half), *range(size - half, size)]


def _cell(value: Any, hide: Redactor) -> Any:
    """A cell or label, as short text where it is long: pandas itself draws any length."""
    if isinstance(value, int | float | bytes) or value is None:
        return value if not isinstance(value, bytes) else value[:CELL_LIMIT]
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - somebody's __str__
        return f"<{type(value).__name__}>"
    shown = hide.text(text)
    if shown != text:
        value = text = shown
    return value if len(text) <= CELL_LIMIT else text[: CELL_LIMIT - 1] + "…"


def _frame_text(frame: Any, hide: Redactor) -> str:
    text = _small(frame, hide).to_string(
        max_rows=FRAME_ROWS, max_cols=FRAME_COLUMNS, line_width=120, show_dimensions=False
    )
    size = _dimensions(frame)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return visible_text(settled(bounded(text, TEXT_LIMIT))) + (f"\n{size}" if size else "")


def frame_html(frame: Any, rows: int = FRAME_ROWS, hide: Redactor | None = None) -> str:
    """A DataFrame as a static table: escaped by pandas, unseen characters named, rows, columns and cells bounded."""
    markup = _small(frame, hide).to_html(max_rows=rows, max_cols=FRAME_COLUMNS, escape=True, show_dimensions=False)
    # The front ends' own margin would leave a hole below the record.
    markup = markup.replace('class="dataframe"', 'class="dataframe" style="margin:4px 0"', 1)
    size = _dimensions(frame)
    return visible_text(settled(markup)) + (f'<p style="margin:0;{SOFT}">{size}</p>' if size else "")
