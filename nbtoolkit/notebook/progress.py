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
from nbtoolkit.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.tool.result import ToolChunk

__all__ = ["Pace", "Window", "time_left"]

# A screen shows eight at once; the rest is there to scroll back to.
MAX_LINES = 200
# Held beyond those, so that a secret of many lines is known as one while a part of it has gone by.
HELD_LINES = 2 * MAX_LINES
# A longer line is a blob; its ends tell as much as can be read while it runs.
LINE_LIMIT = 1_000
# As much of each end is held as it came: what is shown of it is far from where it was cut, and a secret that was cut there
# isn't seen.
HELD_END = 4 * LINE_LIMIT
MESSAGE_LIMIT = 160
# What is guessed from less than this is off by half.
GUESS_AFTER = 2.0
# A browser that gets a picture of this size ten times a second is busy with nothing else.
PICTURE_LIMIT = 2_000_000
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(slots=True)
class Window:
    """The end of a stream of text, as whole lines and the one that is still being written.

    What is held is as it came; ``text`` has its secrets out, and is cut after that.
    """

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=HELD_LINES))
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
        _, *whole, rest = ("\n" + self.open_line + text).rsplit("\n", HELD_LINES + 1)
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
        """The lines that are shown."""
        lines = [*self.lines, *([_line(self.open_line)] if self.open_line else [])]
        shown = redact("\n".join(lines)).split("\n")[-MAX_LINES - bool(self.open_line) :]
        return "\n".join(bounded(line, LINE_LIMIT) for line in shown)

    @property
    def earlier(self) -> int:
        """How many lines went by before those that are shown."""
        return max(0, self.count - MAX_LINES)


def _line(text: str, *, keep_return: bool = False) -> str:
    if "\r" in text:
        end = "\r" if keep_return and text.endswith("\r") else ""
        text = text.rstrip("\r").rpartition("\r")[2] + end
    return text if len(text) <= 2 * HELD_END else f"{text[:HELD_END]} … {text[-HELD_END:]}"


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
        self.message = message if isinstance(message, str) else ""
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
        message = one_line(redact(self.message), MESSAGE_LIMIT) if self.message else ""
        said = [message] if message else []
        if self.done is not None and (self.total is not None or self.done):
            counted = _figure(self.done) if self.total is None else _counted(self.done, self.total)
            if counted not in message:
                said.append(counted if self.total is not None else f"{counted} so far")
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
