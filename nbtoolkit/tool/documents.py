"""What isn't plain text: images, notebooks and PDFs, each within bounds."""

from __future__ import annotations

import io
import re
import struct
from typing import IO, Any

from nbtoolkit.tool.faults import FileFault, shown

__all__ = ["image_data", "image_type", "notebook_text", "pdf_text"]

# Providers refuse larger images; base64 adds a third.
LARGEST_IMAGE = 3_750_000
# What a large one is brought down to, and what providers refuse however few bytes it has.
LARGEST_SIDE = 2_000
REFUSED_SIDE = 8_000
LARGEST_NOTEBOOK = 100 * 1024 * 1024
LARGEST_PDF = 200 * 1024 * 1024
MOST_PAGES = 20
LARGEST_TEXT = 100_000
# Of one output of a cell; the person sees the rest in the notebook.
LARGEST_OUTPUT = 500
LARGEST_CELL = 10_000


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


def image_data(path: str, file: IO[bytes], size: int, media_type: str) -> tuple[bytes, str, str]:
    """An open image's bytes, made smaller where a model couldn't take it, and a word about that."""
    file.seek(0)
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        if size <= LARGEST_IMAGE:
            return _all(file, LARGEST_IMAGE), media_type, ""
        raise FileFault(
            f"{path!r} is an image of {size:,} bytes; more than {LARGEST_IMAGE:,} isn't sent. Make it smaller, or install pillow."
        ) from None
    import warnings

    try:
        with warnings.catch_warnings():
            # A small file that unpacks to gigabytes is a warning there; here it is an end.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BufferedReader(_kept_open(file))) as image:
                before = image.size
                if size <= LARGEST_IMAGE and max(before) <= REFUSED_SIDE:
                    # One that can't be decoded would be refused by a provider, and every later request with it.
                    image.load()
                    file.seek(0)
                    return _all(file, LARGEST_IMAGE), media_type, ""
                image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
                out = io.BytesIO()
                image.convert("RGB").save(out, "JPEG", quality=85)
    except UnidentifiedImageError:
        raise FileFault(_broken(path, size, "nothing in it can be decoded")) from None
    except (
        OSError,
        ValueError,
        SyntaxError,
        IndexError,
        EOFError,
        struct.error,
        Warning,
        Image.DecompressionBombError,
    ) as e:
        raise FileFault(_broken(path, size, f"{e!s:.200}".replace("\n", " "))) from None
    return out.getvalue(), "image/jpeg", f"[made smaller: the file is {before[0]} × {before[1]} pixels, {size:,} bytes]"


def _broken(path: str, size: int, why: str) -> str:
    return f"{shown(path)} is an image ({size:,} bytes) that can't be shown: {why}. Make or fetch it anew."


class _kept_open(io.RawIOBase):  # noqa: N801 - used like a function
    """An open file under a reader that closes what it reads when it goes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


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
    import nbformat

    file.seek(0)
    try:
        notebook: Any = nbformat.reads(_all(file, LARGEST_NOTEBOOK).decode("utf-8"), as_version=4)
        cells = list(notebook.cells)
    except Exception as fault:  # noqa: BLE001 - whatever a broken notebook raises
        raise FileFault(f"{path!r} is no notebook that can be read: {type(fault).__name__}: {fault!s:.200}") from None
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
    lines.extend(_output(output) for output in cell.get("outputs", ()))
    return "\n".join(lines)


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
def pdf_text(path: str, file: IO[bytes], size: int, pages: str | None) -> str:
    """The text of some pages of an open PDF; without ``pages`` the first few."""
    if size > LARGEST_PDF:
        raise FileFault(f"{path!r} is a PDF of {size:,} bytes, too large to read.")
    try:
        from pypdf import PdfReader
    except ImportError:
        raise FileFault(f"{path!r} is a PDF; reading one needs pypdf (`pip install pypdf`).") from None
    import logging

    # Its warnings about slightly wrong files would land in the person's cell.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        file.seek(0)
        reader = PdfReader(io.BufferedReader(_kept_open(file)))
        if reader.is_encrypted and not reader.decrypt(""):
            raise FileFault(f"{path!r} is a PDF behind a password, so it can't be read.")
        count = len(reader.pages)
        wanted = _pages(pages, count)
        pieces, length = [], 0
        for number in wanted:
            text = reader.pages[number - 1].extract_text().strip()
            length += len(text)
            pieces.append(f"--- page {number} of {count}\n{text or '[no text on this page]'}")
            if length > LARGEST_TEXT:
                pieces.append(f"[cut: pages {number + 1} and on would be too much at once]")
                break
    except FileFault:
        raise
    except RecursionError:
        raise FileFault(f"{path!r} is a PDF whose parts contain themselves, so it can't be read.") from None
    except Exception as fault:  # noqa: BLE001 - whatever a broken PDF raises
        raise FileFault(f"{path!r} is a PDF that can't be read: {type(fault).__name__}: {fault!s:.200}") from None
    if pages is None and count > len(wanted):
        pieces.append(
            f"[{count - len(wanted)} more pages: give pages, like '{len(wanted) + 1}-{min(count, len(wanted) + MOST_PAGES)}']"
        )
    return "\n".join(pieces)


def _pages(pages: str | None, count: int) -> list[int]:
    if pages is None:
        return list(range(1, min(count, MOST_PAGES) + 1))
    wanted: list[int] = []
    for part in pages.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part)
        if match is None:
            raise FileFault(f"pages {pages!r} can't be read. Expected numbers and ranges, like '1-5,8'.")
        first = int(match.group(1))
        last = int(match.group(2) or first)
        if not 1 <= first <= last <= count:
            raise FileFault(f"there are no pages {part.strip()!r}: the PDF has {count}.")
        if len(wanted) + last - first >= MOST_PAGES:
            raise FileFault(f"pages {pages!r} are more than {MOST_PAGES} at once.")
        wanted.extend(range(first, last + 1))
    return wanted
