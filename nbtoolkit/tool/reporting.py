"""``report_progress``: how a function says how far it is, in the kernel, in a thread of its own or on a worker elsewhere.

It promises: the newest report arrives, whoever shows it (``nbtoolkit.tool.progress``); a report costs next to nothing
where none is wanted; and a function that reports ends where its call was stopped, wherever it runs.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import ToolInterruptedError
from nbtoolkit.tool.progress import Reports, current_call

if TYPE_CHECKING:
    import asyncio

__all__ = ["CallReports", "report_progress", "stopped"]

# A line on a screen; more would go to the notebook for nothing.
_MESSAGE = 1_000


def report_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Say how far the call is that this code runs for; outside a toolkit's call it does nothing.

    ``progress`` and ``total`` are in any unit of yours, ``message`` is a line of text. Raises ToolInterruptedError where
    the call was stopped: a function in a thread or on a worker ends by it. Let it go on up.
    """
    number, whole = _number("progress", progress), _number("total", total)
    if number is None:
        raise TypeError("progress must be a number, got None")
    call = current_call.get()
    if call is not None:
        text = None if message is None else str(message)[:_MESSAGE]
        call.report({"progress": number, "total": whole, "message": text})


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        # numpy's numbers too.
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    return number if math.isfinite(number) else 0.0


def stopped(name: str) -> ToolInterruptedError:
    """What a report of a stopped call raises."""
    return ToolInterruptedError(f"The call of {name} was stopped; nobody waits for it any more.")


class CallReports:
    """The reports of one call in the notebook's process; they come from any thread."""

    def __init__(self, call: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self._reports = Reports(call.name, call)
        self._name = call.name
        self._loop = loop
        self._thread = threading.get_ident() if loop is not None and _runs_here(loop) else None
        self._news: deque[dict[str, Any]] = deque(maxlen=1)
        self._coming = False
        self._ended = False

    def take(self, snapshot: dict[str, Any]) -> None:
        """Hand a report on; in the loop's own thread at once, else with the newest of those that came meanwhile."""
        if self._ended:
            raise stopped(self._name)
        if threading.get_ident() == self._thread:
            self._reports.report(snapshot)
            return
        self._news.append(snapshot)
        if not self._coming and self._loop is not None:
            self._coming = True
            with suppress(RuntimeError):  # the loop was closed: the call has ended
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._coming = False
        while self._news:
            self._reports.report(self._news.popleft())

    def end(self) -> None:
        """Tell what is still there, and that there will be no more."""
        if not self._ended:
            self._deliver()
            self._ended = True
            self._reports.end()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    import asyncio

    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
