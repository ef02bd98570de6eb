"""An image or a PDF taken apart in a process of its own: a small file may unpack to gigabytes, or take hours to read.

Both libraries have limits, but none in time, and a thread can't be ended. So this file is a script too: the document is
its stdin, what it found goes to its stdout, a line of JSON each. Its arguments: what to do, and JSON of what it takes.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from typing import Any, BinaryIO

__all__ = ["LARGEST_IMAGE", "LARGEST_TEXT", "MOST_PAGES"]

# Bytes that a document may take while it is read; several times what the largest ordinary ones do.
MEMORY = 1 << 30
# Providers refuse larger images; base64 adds a third.
LARGEST_IMAGE = 3_750_000
# What a large one is brought down to, and what providers refuse however few bytes it has.
LARGEST_SIDE = 2_000
REFUSED_SIDE = 8_000
MOST_PAGES = 20
LARGEST_TEXT = 100_000


def say(**said: Any) -> None:
    """One line for whoever started this."""
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
    sys.stdout.buffer.flush()


def image(file: BinaryIO, size: int) -> None:
    """Whether it can be decoded; its bytes, made smaller, where a model couldn't take it."""
    import warnings

    from PIL import Image, UnidentifiedImageError

    # A small file that unpacks to gigabytes is a warning there; here it is an end.
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        picture = Image.open(file)
    except UnidentifiedImageError:
        say(fault="nothing in it can be decoded")
        return
    with picture:
        before = picture.size
        if size <= LARGEST_IMAGE and max(before) <= REFUSED_SIDE:
            # One that can't be decoded would be refused by a provider, and every later request with it.
            picture.load()
            say(fine=True)
            return
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        out = io.BytesIO()
        picture.convert("RGB").save(out, "JPEG", quality=85)
    say(before=before, bytes=len(out.getvalue()))
    sys.stdout.buffer.write(out.getvalue())


def pdf(file: BinaryIO, pages: str | None) -> None:
    """The text of some pages, one after the other, no more than a model reads at once."""
    from pypdf import PdfReader

    # Its warnings about slightly wrong files are nobody's.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        say(wrong="is a PDF behind a password, so it can't be read.")
        return
    count = len(reader.pages)
    wanted = page_numbers(pages, count)
    if isinstance(wanted, str):
        say(wrong=wanted)
        return
    say(count=count, wanted=wanted)
    length = 0
    for number in wanted:
        text = reader.pages[number - 1].extract_text().strip()
        length += len(text)
        say(page=number, text=text[:LARGEST_TEXT], length=len(text))
        if length > LARGEST_TEXT:
            return


def page_numbers(pages: str | None, count: int) -> list[int] | str:
    """The pages that are meant, or what is wrong with them."""
    if pages is None:
        return list(range(1, min(count, MOST_PAGES) + 1))
    wanted: list[int] = []
    for part in pages.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part)
        if match is None:
            return f"is a PDF, but pages {pages!r:.200} can't be read. Expected numbers and ranges, like '1-5,8'."
        first = int(match.group(1))
        last = int(match.group(2) or first)
        if not 1 <= first <= last <= count:
            return f"has no pages {part.strip()!r:.200}: the PDF has {count}."
        if len(wanted) + last - first >= MOST_PAGES:
            return f"is a PDF, but pages {pages!r:.200} are more than {MOST_PAGES} at once."
        wanted.extend(range(first, last + 1))
    return wanted


def main() -> None:
    """Do it; what a broken document raises is said."""
    kind, given = sys.argv[1], json.loads(sys.argv[2])
    sys.path += [each for each in given["path"] if each not in sys.path]
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        if kind == "pdf":
            pdf(sys.stdin.buffer, given["pages"])
        else:
            image(sys.stdin.buffer, given["size"])
    except MemoryError:
        say(fault=f"it takes more than {MEMORY >> 20} MB to read")
    except RecursionError:
        say(fault="its parts contain themselves")
    except Exception as fault:  # noqa: BLE001 - whatever a broken document raises
        say(fault=f"{type(fault).__name__}: {fault!s:.200}".replace("\n", " "))


if __name__ == "__main__":
    main()
