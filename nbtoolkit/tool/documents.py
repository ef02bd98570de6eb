"""What isn't plain text: images, notebooks and PDFs, each within bounds."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nbtoolkit.tool.document_worker import LARGEST_IMAGE, LARGEST_TEXT, MOST_PAGES
from nbtoolkit.tool.faults import FileFault, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.tool.engine import Stopper

__all__ = ["image_data", "image_type", "notebook_text", "pdf_text"]

# Seconds that an image or a PDF may take; an ordinary one takes less than one.
LONGEST_DOCUMENT = 20.0
LARGEST_LINE = 8 * 1024 * 1024
LARGEST_NOTEBOOK = 100 * 1024 * 1024
LARGEST_PDF = 200 * 1024 * 1024
# Of one output of a cell; the person sees the rest in the notebook.
LARGEST_OUTPUT = 500
LARGEST_CELL = 10_000
MOST_OUTPUTS = 40
CURRENT_FORMAT = 4

_WORKER = str(Path(__file__).with_name("document_worker.py"))


# ---------------------------------------------------------------------------------------------------------- images
def image_type(head: bytes) -> str | None:
    """The media type of an image that models take."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_data(path: str, file: IO[bytes], size: int, media_type: str, stopper: Stopper) -> tuple[bytes, str, str]:
    """An open image's bytes, made smaller where a model couldn't take it, and a word about that."""
    if not _has("PIL"):
        if size > LARGEST_IMAGE:
            raise FileFault(
                f"{path!r} is an image of {size:,} bytes; more than {LARGEST_IMAGE:,} isn't sent. Make it smaller, or install pillow."
            )
        file.seek(0)
        return _all(file, LARGEST_IMAGE), media_type, ""
    with _taken_apart("image", file, stopper, size=size) as pipe:
        said = _line(pipe)
        data = _all(pipe, said.get("bytes", 0))
    if said.get("fine"):
        file.seek(0)
        return _all(file, LARGEST_IMAGE), media_type, ""
    if len(data) < said.get("bytes", 1):
        why = said.get("fault") or f"that takes more than {LONGEST_DOCUMENT:g} s"
        raise FileFault(
            f"{shown(path)} is an image ({size:,} bytes) that can't be shown: {why}. Make or fetch it anew."
        )
    width, height = said["before"]
    return data, "image/jpeg", f"[made smaller: the file is {width} × {height} pixels, {size:,} bytes]"


@contextlib.contextmanager
def _taken_apart(kind: str, file: IO[bytes], stopper: Stopper, **given: Any) -> Iterator[IO[bytes]]:
    """What a process of its own says of a document; it ends with the call, and in any case."""
    file.seek(0)
    # Only for the library: what lies in the notebook's folder is nobody's library.
    given["path"] = [each for each in sys.path if os.path.isabs(each)]  # noqa: PTH117
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", _WORKER, kind, json.dumps(given)],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    timer = stopper.watch(process, LONGEST_DOCUMENT)
    assert process.stdout is not None
    try:
        with process.stdout as pipe:
            yield pipe
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def _line(pipe: IO[bytes]) -> dict[str, Any]:
    """The next thing that it says; nothing where it has ended."""
    line = pipe.readline(LARGEST_LINE)
    said: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    return said


def _has(library: str) -> bool:
    return library in sys.modules or importlib.util.find_spec(library) is not None


def _all(file: IO[bytes], most: int) -> bytes:
    """What is left of a file, no more than ``most``: it may have grown since it was measured."""
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


# ------------------------------------------------------------------------------------------------------- notebooks
def notebook_text(path: str, file: IO[bytes], size: int, offset: int, limit: int) -> str:
    """An open notebook cell by cell, its outputs in short; ``offset`` and ``limit`` count cells."""
    if size > LARGEST_NOTEBOOK:
        raise FileFault(
            f"{path!r} is a notebook of {size:,} bytes, too large to read whole. Use Grep, or clear its outputs."
        )
    file.seek(0)
    try:
        cells = _cells(_all(file, LARGEST_NOTEBOOK))
        return _shown_cells(cells, offset, limit)
    except Exception as fault:  # noqa: BLE001 - whatever a broken notebook raises
        raise FileFault(f"{path!r} is no notebook that can be read: {type(fault).__name__}: {fault!s:.200}") from None


def _cells(data: bytes) -> list[Any]:
    notebook = json.loads(data)
    if notebook["nbformat"] == CURRENT_FORMAT:
        cells = notebook["cells"]
    else:
        # Only for what isn't today's: beside JupyterLab it takes seconds to import, for the schemas' formats.
        import nbformat

        cells = nbformat.convert(nbformat.from_dict(notebook), CURRENT_FORMAT).cells
        for cell in cells:
            # Made up by the conversion, and others each time.
            cell.pop("id", None)
    if not isinstance(cells, list):
        raise TypeError("its cells are no list")
    return cells


def _shown_cells(cells: list[Any], offset: int, limit: int) -> str:
    pieces: list[str] = []
    length = 0
    for number, cell in enumerate(cells[offset - 1 : offset - 1 + limit], offset):
        piece = _cell(number, cell)
        length += len(piece)
        if length > LARGEST_TEXT and pieces:
            pieces.append(f"[more cells follow: offset={number}]")
            break
        pieces.append(piece)
    else:
        if offset - 1 + limit < len(cells):
            pieces.append(f"[more cells follow: offset={offset + limit}]")
    if not pieces:
        return f"[the notebook has {len(cells)} cells]"
    return "\n".join(pieces)


def _cell(number: int, cell: Any) -> str:
    kind = str(cell.get("cell_type", "?"))
    head = f"--- cell {number}, {kind}" + (f", id {cell['id']}" if cell.get("id") else "")
    lines = [head, _short(_text(cell.get("source", "")), LARGEST_CELL)]
    outputs = cell.get("outputs", ())
    lines.extend(_output(output) for output in outputs[:MOST_OUTPUTS])
    if len(outputs) > MOST_OUTPUTS:
        lines.append(f"--- {len(outputs) - MOST_OUTPUTS:,} more outputs")
    return _short("\n".join(lines), LARGEST_TEXT)


def _text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [… {len(text) - most:,} more characters]"


def _output(output: Any) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return f"--- {output.get('name', 'stdout')}\n{_short(_text(output.get('text', '')), LARGEST_OUTPUT)}"
    if kind == "error":
        return f"--- error\n{_short(str(output.get('ename')) + ': ' + str(output.get('evalue')), LARGEST_OUTPUT)}"
    data = output.get("data", {})
    others = ", ".join(
        f"{media} ({len(_text(value)):,} characters)" for media, value in data.items() if media != "text/plain"
    )
    text = _short(_text(data.get("text/plain", "")), LARGEST_OUTPUT)
    return f"--- output{f' ({others})' if others else ''}" + (f"\n{text}" if text else "")


# ------------------------------------------------------------------------------------------------------------ PDFs
def pdf_text(path: str, file: IO[bytes], size: int, pages: str | None, stopper: Stopper) -> str:
    """The text of some pages of an open PDF; without ``pages`` the first few."""
    if size > LARGEST_PDF:
        raise FileFault(f"{path!r} is a PDF of {size:,} bytes, too large to read.")
    if not _has("pypdf"):
        raise FileFault(f"{path!r} is a PDF; reading one needs pypdf (`pip install pypdf`).")
    pieces, length = [], 0
    with _taken_apart("pdf", file, stopper, pages=pages) as pipe:
        first = _line(pipe)
        if "wrong" in first:
            raise FileFault(f"{path!r} {first['wrong']}")
        wanted, count, last = first.get("wanted", []), first.get("count", 0), first
        for number in wanted:
            last = _line(pipe)
            if "page" not in last:
                break
            length += last["length"]
            pieces.append(f"--- page {number} of {count}\n{last['text'] or '[no text on this page]'}")
            if more := last["length"] - len(last["text"]):
                pieces.append(f"[{more:,} more characters on this page]")
            if length > LARGEST_TEXT and number != wanted[-1]:
                pieces.append(f"[cut: pages {number + 1} and on would be too much at once]")
                return "\n".join(pieces)
    if "page" not in last:
        why = last.get("fault", f"it takes more than {LONGEST_DOCUMENT:g} s").rstrip(".")
        if not pieces:
            raise FileFault(f"{path!r} is a PDF that can't be read: {why}.")
        pieces.append(f"[page {number} can't be read: {why}. Give pages to read others]")
    elif pages is None and count > len(wanted):
        pieces.append(
            f"[{count - len(wanted)} more pages: give pages, like '{len(wanted) + 1}-{min(count, len(wanted) + MOST_PAGES)}']"
        )
    return "\n".join(pieces)
