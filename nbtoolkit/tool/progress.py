"""How far a run is: what a tool reports while it works, and who shows it.

Whoever shows progress appends a function to ``observers``. It is called with a ``Progress`` for every run that reports,
an MCP tool's also without ``stream_progress``, within a toolkit's call or not. It is called in the loop and thread that
await the run, and only with the newest of the reports that came since that loop last turned; a run that reported ends
with one report more, ``ended=True``. What an observer raises is logged and goes no further.
"""

from __future__ import annotations

import itertools
import time
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Progress", "Reports", "current_call", "observers"]


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a run.

    ``run`` is the same number in all reports of a run. ``call`` is the ToolCall that it belongs to, with its ``id``,
    ``tool`` and ``cancel``; None for ``await tool(...)`` outside a toolkit. ``progress`` and ``total`` are in the
    tool's own unit, ``total`` None where it isn't known; ``message`` is the tool's text, not to be trusted.
    ``started`` is by ``time.monotonic``.
    """

    tool: str
    run: int
    started: float
    call: Any = None
    progress: float = 0.0
    total: float | None = None
    message: str | None = None
    ended: bool = False

    @property
    def fraction(self) -> float | None:
        """How much is done, from 0 to 1; None where the total isn't known."""
        if self.total is None or not self.total > 0:
            return None
        return min(1.0, max(0.0, self.progress / self.total))

    @property
    def left(self) -> float | None:
        """How many seconds more it takes if it goes on like this; None where that can't be said."""
        fraction = self.fraction
        if not fraction:
            return None
        return (time.monotonic() - self.started) * (1 - fraction) / fraction


observers: list[Callable[[Progress], None]] = []

# The toolkit's call whose tool is started or runs, or on a worker what stands for it there.
current_call: ContextVar[Any] = ContextVar("nbtoolkit_call", default=None)

_run = itertools.count(1)


class Reports:
    """What one run reports; made where the tool is called, so that it knows the toolkit's call."""

    __slots__ = ("_call", "_ended", "_latest", "_started", "_tool")

    def __init__(self, tool: str, call: Any = None) -> None:
        self._tool = tool
        self._call = current_call.get() if call is None else call
        self._started = time.monotonic()
        self._latest: Progress | None = None
        self._ended = False

    def report(self, snapshot: Mapping[str, Any]) -> None:
        """Tell the observers of ``{progress, total, message}``."""
        if self._ended:
            return
        if self._latest is None:
            self._latest = Progress(self._tool, next(_run), self._started, self._call)
        self._latest = replace(
            self._latest, progress=snapshot["progress"], total=snapshot["total"], message=snapshot["message"]
        )
        self._tell(self._latest)

    def end(self) -> None:
        """Tell them that there will be no more, if there were any."""
        self._ended = True
        if self._latest is not None:
            self._tell(replace(self._latest, ended=True))

    @staticmethod
    def _tell(progress: Progress) -> None:
        for observer in tuple(observers):
            try:
                observer(progress)
            except Exception:
                # Imported here: making a function a tool needs no logging.
                import logging

                logging.getLogger("nbtoolkit").warning("an observer of progress failed", exc_info=True)
