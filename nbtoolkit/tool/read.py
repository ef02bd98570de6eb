"""Read: a window of a text file, an image, a notebook's cells, a PDF's pages. Costs the window, not the file."""

from __future__ import annotations

import asyncio
import base64
import codecs
import os
import time
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState
from nbtoolkit.tool import disk, files
from nbtoolkit.tool.engine import Stopper
from nbtoolkit.tool.faults import FileFault, of_system
from nbtoolkit.tool.files import FileTool
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.texts import SAMPLE, encoding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.state import AgentState

__all__ = ["Read"]

DEFAULT_LINES = 2_000
# A longer line is data, not something to read; its rest is counted.
LONGEST_LINE = 2_000
# A line that goes on for longer is no line; what follows it isn't looked for.
ENDLESS_LINE = 16_000_000
LARGEST_RESULT = 100_000
BLOCK = 1 << 20
# A window is short: what follows it needn't be taken apart.
PIECE = 1 << 16
# Lines in front of the window are counted, a gigabyte in about a second; after so long it isn't worth it.
LONGEST_SKIP = 20.0

_BINARY = (
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"PK\x03\x04", "a zip archive (also xlsx, docx, jar, whl)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"PAR1", "a parquet table"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a numpy array"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x04\x95", "a pickle"),
    (b"ARROW1", "an Arrow table"),
)


_READ_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "file_path": {
            "type": "string",
            "minLength": 1,
            "description": "The file, absolute or from the notebook's folder.",
        },
        "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line to read, from 1."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 20_000,
            "default": DEFAULT_LINES,
            "description": "How many lines.",
        },
        "pages": {"type": "string", "description": "Pages of a PDF, like '1-5,8'."},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}


class Read(FileTool):
    """Reads a file: text with line numbers, an image, a notebook, a PDF."""

    name = "Read"
    description = (
        "Read a file. Text comes with line numbers, 2,000 lines at a time (offset and limit move the window); images come as images; "
        "notebooks cell by cell; PDFs as text by pages."
    )
    input_schema = _READ_INPUT
    access = "read"
    is_read_only = True

    async def call(
        self,
        file_path: str,
        offset: int = 1,
        limit: int = DEFAULT_LINES,
        pages: str | None = None,
        _agent_state: AgentState | None = None,
    ) -> ToolChunk:
        """Read the file."""
        stopper = Stopper()
        try:
            path = self.located(file_path)
            window = _Window(offset, limit, stopper, time.monotonic() + LONGEST_SKIP)
            return await asyncio.to_thread(_read, path, file_path, window, pages, _agent_state)
        except FileFault as fault:
            return files.failed(fault)
        finally:
            # What goes on in the thread goes on no longer than the call.
            stopper.stop()


class _Window(NamedTuple):
    offset: int
    limit: int
    stopper: Stopper
    until: float
    """How long lines in front of the window are gone past."""


def _read(path: str, given: str, window: _Window, pages: str | None, state: AgentState | None) -> ToolChunk:
    try:
        with disk.opened(path, given=given) as file:
            found = os.fstat(file.fileno())
            head = file.read(SAMPLE)
            chunk = _by_kind(path, file, head, window, pages)
            if chunk.state is ToolResultState.SUCCESS:
                disk.remember(state, path, disk.fingerprint(file, found))
    except OSError as fault:
        raise of_system(path, "read", fault) from None
    return chunk


def _by_kind(path: str, file: IO[bytes], head: bytes, window: _Window, pages: str | None) -> ToolChunk:
    from nbtoolkit.tool import documents

    size = os.fstat(file.fileno()).st_size
    media_type = documents.image_type(head)
    if media_type is not None:
        return _image(path, file, size, media_type, window.stopper)
    if head.startswith(b"%PDF-"):
        return _done(documents.pdf_text(path, file, size, pages, window.stopper))
    if path.endswith(".ipynb") and head.lstrip()[:1] == b"{":
        return _done(documents.notebook_text(path, file, size, window.offset, window.limit))
    if pages is not None:
        raise FileFault(f"{path!r} is no PDF, so it has no pages. Use offset and limit.")
    for magic, what in _BINARY:
        if head.startswith(magic):
            raise FileFault(f"{path!r} is {what}, not text ({size:,} bytes), so it isn't read.")
    if not head:
        return _done("[the file is empty]")
    return _done(_window(path, file, head, window))


def _done(text: str) -> ToolChunk:
    return ToolChunk.of(text, ToolResultState.SUCCESS)


def _image(path: str, file: IO[bytes], size: int, media_type: str, stopper: Stopper) -> ToolChunk:
    from nbtoolkit.tool import documents

    data, media_type, said = documents.image_data(path, file, size, media_type, stopper)
    source = Base64Source(data=base64.b64encode(data).decode(), media_type=media_type)
    content: list[Any] = [DataBlock(source=source, name=os.path.basename(path))]  # noqa: PTH119
    if said:
        content.insert(0, TextBlock(text=said))
    return ToolChunk(content=content, state=ToolResultState.SUCCESS)


# ------------------------------------------------------------------------------------------------------------ text
def _window(path: str, file: IO[bytes], head: bytes, window: _Window) -> str:
    """Lines ``offset`` to ``offset + limit - 1``, numbered; nothing behind them is read."""
    offset, limit, _, _ = window
    # A few NULs far behind the beginning don't make a text unreadable; what is shown decides.
    found = encoding_of(head[:512] if b"\x00" in head[512:] else head)
    if found is None:
        raise FileFault(
            f"{path!r} holds binary data ({os.fstat(file.fileno()).st_size:,} bytes), so it isn't read as text."
        )
    encoding, bom = found
    shown: list[str] = []
    size, last, complete = 0, 0, True
    for number, line, cut in _lines(file, head, encoding, len(bom), window):
        if number < offset:
            last = number
            break
        text = f"{number:>6}\t{line}" + (f" [… {cut:,} more characters]" if cut else "")
        size += len(text) + 1
        odd = "\x00" in line
        if odd and not shown:
            raise FileFault(f"{path!r} holds binary data at line {number}, so it isn't read as text.")
        if number >= offset + limit or odd or (size > LARGEST_RESULT and shown):
            complete = False
            break
        shown.append(text)
        last = number
    if not shown:
        raise FileFault(f"{path!r} has {last:,} line{'' if last == 1 else 's'}, so there is no line {offset:,}.")
    notes = []
    if encoding not in ("utf-8", "ascii"):
        notes.append(f"read as {encoding}")
    if not complete:
        notes.append(f"more lines follow: offset={last + 1}")
    return "\n".join(shown) + (f"\n[{'; '.join(notes)}]" if notes else "")


def _lines(file: IO[bytes], head: bytes, encoding: str, skip: int, window: _Window) -> Iterator[tuple[int, str, int]]:
    """(number, text, characters left out) from line ``first`` on; the last number alone where there are fewer."""
    first = window.offset
    if encoding in {"utf-8", "ascii"}:
        # Newlines are bytes of their own, so lines before the window needn't be decoded.
        number, rest = _skip_lines(file, head[skip:], window)
        if rest is None:
            yield number, "", 0
            return
        pieces = _decoded(file, rest, "utf-8")
    else:
        number = 1
        pieces = _decoded(file, head[skip:], encoding)
    held, cut = "", 0
    any_text = False
    for piece in pieces:
        parts = piece.split("\n")
        for at, part in enumerate(parts):
            room = LONGEST_LINE - len(held)
            held += part[:room]
            cut += max(0, len(part) - room)
            if cut > ENDLESS_LINE:
                yield number, held, cut
                return
            any_text = any_text or bool(part)
            if at < len(parts) - 1:
                if number % 100_000 == 0 and number < first:
                    _check(window, number)
                if number >= first:
                    yield number, held.removesuffix("\r"), cut
                number += 1
                held, cut, any_text = "", 0, False
    if any_text:
        yield number, held, cut
    elif number <= first:
        yield number - 1, "", 0


def _skip_lines(file: IO[bytes], data: bytes, window: _Window) -> tuple[int, bytes | None]:
    """Go to the window's first line by counting newlines; what was read of it, or None where the file ends before."""
    number, first = 1, window.offset
    while number < first:
        count = data.count(b"\n")
        if number + count >= first:
            at = -1
            while number < first:
                at = data.index(b"\n", at + 1)
                number += 1
            return number, data[at + 1 :]
        number += count
        _check(window, number)
        last = data[-1:]
        data = file.read(BLOCK) or b""
        if not data:
            return (number if last not in (b"\n", b"") else number - 1), None
    return number, data


def _check(window: _Window, number: int) -> None:
    if window.stopper.stopped or time.monotonic() > window.until:
        raise FileFault(
            f"line {window.offset:,} lies too far into the file: after {LONGEST_SKIP:g} s line {number:,} was reached. Use Grep to find a place, "
            "or a smaller offset."
        )


def _decoded(file: IO[bytes], data: bytes, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while data:
        for at in range(0, len(data), PIECE):
            yield decoder.decode(data[at : at + PIECE])
        data = file.read(PIECE)
    yield decoder.decode(b"", final=True)
