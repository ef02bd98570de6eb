"""A file's bytes as text: its encoding found, and all that isn't text about it kept through an edit."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from nbtoolkit.tool.faults import FileFault
from nbtoolkit.tool.progress import current_call

__all__ = ["HALF", "SAMPLE", "Text", "as_written", "check_whole", "decode", "encoding_of", "visible"]

# What charset detection looks at.
SAMPLE = 256 * 1024

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# What stands alone between ASCII letters in Western European text: letters and typographic signs of cp1252.
_WESTERN = re.compile(rb"[\x80\x82\x84\x85\x8b\x8c\x91-\x97\x99\x9b\x9c\xa0-\xff]+\Z")
_HIGH = re.compile(rb"[\x80-\xff]+")
_HALF_ESCAPE = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\ud)(?<!\\u[dD][89abAB]..\\uD)[c-fC-F])"
)
HALF = "the text holds half of a surrogate pair, which is no character. Send the whole character, or leave it out."
_STRAY = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text with what must survive an edit: encoding, byte order mark, line ends."""

    text: str
    encoding: str
    bom: bytes
    newline: str
    strays: bool = False
    """Whether bytes in it belong to no character; they stand in ``text`` as Python's surrogate escapes."""

    def encoded(self, text: str) -> bytes:
        """Other text in the same clothes; a FileFault where the encoding has no such character."""
        if self.newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", self.newline)
        try:
            return self.bom + text.encode(self.encoding, "surrogateescape" if self.strays else "strict")
        except UnicodeEncodeError as fault:
            odd = text[fault.start : fault.end]
            raise FileFault(
                f"the file is written in {self.encoding}, which has no {odd!r:.40}. Leave that character out, or convert the file first."
            ) from None


def encoding_of(sample: bytes) -> tuple[str, bytes] | None:
    """The encoding that a file's beginning shows, and its byte order mark; None for what is no text."""
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            return encoding, bom
    if b"\x00" in sample[:8192]:
        return _wide(sample[:8192])
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as fault:
        # A sample may end within a character.
        if fault.start < len(sample) - 4 or len(sample) < SAMPLE:
            found = _other(sample, fault.start)
            return None if found is None else (found, b"")
    return "utf-8", b""


def _wide(sample: bytes) -> tuple[str, bytes] | None:
    """Text of two bytes each without a mark: every second byte is NUL, and no other."""
    first, second = sample[::2].count(0), sample[1::2].count(0)
    for many, none, encoding in ((second, first, "utf-16-le"), (first, second, "utf-16-be")):
        if not none and many > len(sample) // 4:
            return encoding, b""
    return None


def _other(data: bytes, at: int) -> str | None:
    """The encoding of what isn't UTF-8 as a whole, judged around the first byte that says so."""
    sample = data[max(0, at - SAMPLE // 2) : at + SAMPLE // 2]
    strays = len(_STRAY.findall(text := sample.decode("utf-8", "surrogateescape")))
    if sum(char > "\x7f" for char in text) - strays >= strays:
        # Characters that only UTF-8 makes, and some bytes astray among them.
        return "utf-8"
    runs = _HIGH.findall(sample)
    if sum(map(len, runs)) <= 1.5 * len(runs) and all(map(_WESTERN.match, runs)):
        return "cp1252" if not {0x81, 0x8D, 0x8F, 0x90, 0x9D} & set(data) else "latin_1"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, explain=False).best()
    return None if best is None else best.encoding


def decode(data: bytes) -> Text:
    """A whole file's text; a FileFault for what is no text."""
    found = encoding_of(data)
    if found is None:
        raise FileFault("it is no text: it holds binary data.")
    encoding, bom = found
    strays = False
    try:
        text = data[len(bom) :].decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
        strays = encoding == "utf-8" and _STRAY.search(text) is not None
    except (UnicodeDecodeError, LookupError):
        raise FileFault(
            f"it looks like {encoding} text but isn't, so it can't be edited safely. Convert it to UTF-8 first, or change it with a program."
        ) from None
    windows = text.count("\r\n")
    # A file of mixed line ends keeps each: only one that has nothing else is turned into plain lines.
    newline = "\r\n" if windows and windows == text.count("\n") else "\n"
    return Text(text.replace("\r\n", "\n") if newline == "\r\n" else text, encoding, bom, newline, strays)


def as_written() -> str:
    """What the model wrote for the call that is being started; empty where none did."""
    written = getattr(getattr(current_call.get(), "block", None), "input", "")
    return written if isinstance(written, str) else ""


def check_whole(text: str, written: str) -> None:
    """A FileFault where a text has a mark in the place of half a surrogate pair, as reading a call's JSON puts one there.

    Only what the model wrote tells that from a mark that it meant.
    """
    if "\ufffd" in text and _halved(written):
        raise FileFault(HALF)


def _halved(written: str) -> bool:
    try:
        value = json.loads(written, strict=False)
    except (ValueError, RecursionError):
        return _HALF_ESCAPE.search(written) is not None or not _is_whole(written)
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str) and not _is_whole(each):
            return True
        todo.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
    return False


def _is_whole(text: str) -> bool:
    try:
        # Pairs of halves are characters.
        text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return False
    return True


def visible(text: str) -> str:
    """Text that anybody can be shown: bytes that belong to no character as the sign for that."""
    return _STRAY.sub("\ufffd", text)
