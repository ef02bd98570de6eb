"""A file's bytes as text: its encoding found, and all that isn't text about it kept through an edit."""

from __future__ import annotations

from dataclasses import dataclass

from nbtoolkit.tool.faults import FileFault

__all__ = ["SAMPLE", "Text", "decode", "encoding_of"]

# What charset detection looks at.
SAMPLE = 256 * 1024

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_COMMON = ("cp1252", "latin_1", "iso8859_15")


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text with what must survive an edit: encoding, byte order mark, line ends."""

    text: str
    encoding: str
    bom: bytes
    newline: str

    def encoded(self, text: str) -> bytes:
        """Other text in the same clothes; a FileFault where the encoding has no such character."""
        if self.newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", self.newline)
        try:
            return self.bom + text.encode(self.encoding)
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
        return None
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as fault:
        # A sample may end within a character.
        if fault.start < len(sample) - 4 or len(sample) < SAMPLE:
            from charset_normalizer import from_bytes

            matches = from_bytes(sample[:SAMPLE], explain=False)
            best = matches.best()
            if best is None:
                return None
            # Short texts look alike in many encodings; the common one is the better guess.
            common = next(
                (each for each in matches if each.encoding in _COMMON and each.chaos <= best.chaos + 0.02), best
            )
            return common.encoding, b""
    return "utf-8", b""


def decode(data: bytes) -> Text:
    """A whole file's text; a FileFault for what is no text."""
    found = encoding_of(data)
    if found is None:
        raise FileFault("it is no text: it holds binary data.")
    encoding, bom = found
    try:
        text = data[len(bom) :].decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise FileFault(f"it looks like {encoding} text but isn't, so it can't be edited safely.") from None
    windows = text.count("\r\n")
    # A file of mixed line ends keeps each: only one that has nothing else is turned into plain lines.
    newline = "\r\n" if windows and windows == text.count("\n") else "\n"
    return Text(text.replace("\r\n", "\n") if newline == "\r\n" else text, encoding, bom, newline)
