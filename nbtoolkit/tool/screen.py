"""A command's raw output as the text that a terminal would be left with: bars that draw themselves over and over end as one.

Bytes come as they come, and text goes out as soon as it is settled. A line that begins to be written over is held until
it ends. Codes for colours and cursors are taken out; what is no text at all is made visible.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["Screen"]

# A line that is written over and grows beyond this is no bar.
LONGEST_HELD = 100_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Colours, cursor moves, titles, character sets.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[()*+][ -~]|[78=>c])")
# One of them that has only begun.
_BEGUN = re.compile(r"\x1b(?:\[[0-?]{0,60}[ -/]*|\][^\x07\x1b]{0,500}|[()*+])?\Z")


class Screen:
    """Takes bytes, gives the text that won't change any more."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Begun and not understood yet: an escape code, or a carriage return whose line feed may follow.
        self._begun = ""
        self._line: str | None = None
        """The line that is being written over; None while nothing is."""
        self._in_line = False
        """Whether a part of the present line was given out already."""
        self._cursor = 0

    @property
    def drawing(self) -> str:
        """The line that is being written over, as it stands now; empty while none is."""
        return _CONTROL.sub("\ufffd", self._line or "").strip()

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """What is settled now; ``final`` settles all."""
        text = self._begun + self._decoder.decode(data, final)
        self._begun = ""
        if "\x1b" in text:
            text = _ESCAPE.sub("", text)
            if not final and (begun := _BEGUN.search(text)):
                self._begun, text = begun[0], text[: begun.start()]
        if text.endswith("\r") and not final and not self._begun:
            # With what stands before it in its line: it isn't to be seen where it is about to be written over.
            start = len(text) - 1 if self._line is not None else text.rfind("\n") + 1
            self._begun, text = text[start:], text[:start]
        if "\r" in text or self._line is not None:
            text = self._overwritten(text.replace("\r\n", "\n"))
        elif text:
            self._in_line = not text.endswith("\n")
        if final and self._line is not None:
            text += self._settled()
        return _CONTROL.sub("\ufffd", text)

    def _overwritten(self, text: str) -> str:
        out: list[str] = []
        lines = text.split("\n")
        for at, line in enumerate(lines):
            first, *over = line.split("\r")
            if self._line is not None:
                self._write(first)
            elif not over:
                out.append(line)
                self._in_line = self._in_line or bool(line)
            elif self._in_line:
                # What was given out of this line can't be taken back: the rest goes on a line below.
                out.append(first)
                self._line = ""
            else:
                self._line = first
            for each in over:
                self._cursor = 0
                self._write(each)
            if at < len(lines) - 1:
                if self._line is not None:
                    out.append(self._settled())
                out.append("\n")
                self._in_line = False
        if self._line is not None and len(self._line) > LONGEST_HELD:
            out.append(self._settled())
            self._in_line = True
        return "".join(out)

    def _write(self, text: str) -> None:
        line, at = self._line or "", self._cursor
        self._line = line[:at] + text + line[at + len(text) :]
        self._cursor = at + len(text)

    def _settled(self) -> str:
        line = (self._line or "").rstrip(" ")
        self._line = None
        return f"\n{line}" if line and self._in_line else line
