"""What a running call has to show: the last lines of its text, its latest picture, how far it is and how long it takes.

Nothing here knows a widget or a thread. It promises: the cost of a look doesn't grow with the stream, what is kept is
bounded, and numbers that a server made up can't break the page.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from nbtoolkit.notebook.text import bounded, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.tool.result import ToolChunk

__all__ = ["Pace", "Window", "time_left"]

# A screen shows eight at once; the rest is there to scroll back to.
MAX_LINES = 200
# A longer line is a blob; its ends tell as much as can be read while it runs.
LINE_LIMIT = 1_000
MESSAGE_LIMIT = 160
# What is guessed from less than this is off by half.
GUESS_AFTER = 2.0
# A browser that gets a picture of this size ten times a second is busy with nothing else.
PICTURE_LIMIT = 2_000_000
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(slots=True)
class Window:
    """The end of a stream of text, as whole lines and the one that is still being written."""

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_LINES))
    open_line: str = ""
    count: int = 0
    picture: tuple[str, str] | None = None
    pictures: int = 0

    def take(self, chunk: ToolChunk) -> None:
        """Add what one chunk brings."""
        for block in chunk.content:
            if isinstance(block, TextBlock):
                self.write(block.text)
            elif isinstance(block, DataBlock):
                self._see(block)

    def write(self, text: str) -> None:
        """Add text; a carriage return begins its line anew, as on a terminal."""
        if not text:
            return
        self.count += text.count("\n")
        _, *whole, rest = ("\n" + self.open_line + text).rsplit("\n", MAX_LINES + 1)
        for line in whole:
            self.lines.append(_line(line))
        self.open_line = _line(rest, keep_return=True)

    def _see(self, block: DataBlock) -> None:
        source = block.source
        kind = source.media_type
        if isinstance(source, Base64Source) and kind in PICTURES and len(source.data) <= PICTURE_LIMIT:
            self.pictures += 1
            self.picture = (kind, source.data)
        else:
            self.write(f"[{one_line(kind, 60)}]\n")

    @property
    def text(self) -> str:
        """The lines that are kept."""
        return "\n".join([*self.lines, *([_line(self.open_line)] if self.open_line else [])])

    @property
    def earlier(self) -> int:
        """How many lines went by before those that are kept."""
        return self.count - len(self.lines)


def _line(text: str, *, keep_return: bool = False) -> str:
    if "\r" in text:
        end = "\r" if keep_return and text.endswith("\r") else ""
        text = text.rstrip("\r").rpartition("\r")[2] + end
    return bounded(text, LINE_LIMIT)


@dataclass(slots=True)
class Pace:
    """How far a call is, by what its server or function reported last, and how long the rest takes at this pace."""

    done: float | None = None
    total: float | None = None
    message: str = ""
    _first: tuple[float, float] | None = None
    _last: tuple[float, float] | None = None

    def take(self, snapshot: Mapping[str, Any], moment: float) -> None:
        """One report: ``progress``, ``total`` and ``message``, each of which may be missing or nonsense."""
        self.done = _number(snapshot.get("progress"))
        total = _number(snapshot.get("total"))
        self.total = total if total is not None and total > 0 else None
        message = snapshot.get("message")
        self.message = one_line(message, MESSAGE_LIMIT) if isinstance(message, str) else ""
        if self.done is not None:
            if self._first is None or self.done < self._first[0]:
                self._first = (self.done, moment)
            self._last = (self.done, moment)

    @property
    def share(self) -> float | None:
        """How much is done, 0 to 1; None where nobody knows."""
        if self.done is None or self.total is None:
            return None
        return min(max(self.done / self.total, 0.0), 1.0)

    def seconds_left(self, moment: float) -> float | None:
        """A guess; None before there is enough to guess from."""
        if self._first is None or self._last is None or self.total is None:
            return None
        (from_, began), (to, reached) = self._first, self._last
        if reached - began < GUESS_AFTER or to <= from_:
            return None
        left = (self.total - to) * (reached - began) / (to - from_) - (moment - reached)
        return max(left, 0.0)

    def words(self, moment: float) -> str:
        """``batch 37 of 120 · about 40 s left``, as much of it as is known."""
        said = [self.message] if self.message else []
        if self.done is not None and self.total is not None:
            counted = _counted(self.done, self.total)
            if counted not in self.message:
                said.append(counted)
        left = self.seconds_left(moment)
        if left is not None:
            said.append(time_left(left))
        return " · ".join(said)


def _counted(done: float, total: float) -> str:
    if total in {1, 100}:
        return f"{100 * min(done / total, 1):.0f} %"
    return f"{_figure(done)} of {_figure(total)}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def time_left(seconds: float) -> str:
    """``about 40 s left``, rounded so that it doesn't flicker."""
    if seconds < 5:
        return "a few seconds left"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5:.0f} s left"
    if seconds < 55 * 60:
        return f"about {max(1, round(seconds / 60)):.0f} min left"
    hours = seconds / 3600
    return f"about {hours:.0f} h left" if hours >= 10 else f"about {hours:.1f} h left"
