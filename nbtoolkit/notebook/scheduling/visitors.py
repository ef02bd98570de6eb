"""Work that comes from outside, run on the kernel's main thread when that is free, below a cell that has ended.

It promises: the work begins between two cells, or while an async cell awaits; it never begins in the middle of a cell's
own code; what it shows and asks stands below the cell that let it in, or, once the page was loaded again, below the cell
that the new page ran last; and the stop button ends it although no cell runs.
"""

from __future__ import annotations

import functools
import signal
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.scheduling import output
from nbtoolkit.notebook.scheduling.inbox import inbox

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextvars import Context

    from nbtoolkit.notebook.scheduling.kernel import Message


class Visitors:
    """Lets work in, below the cell that makes this; RuntimeError where no kernel of ours runs, or off its main thread."""

    def __init__(self) -> None:
        box = inbox()
        if box is None or threading.current_thread() is not threading.main_thread():
            raise RuntimeError("only the main thread of an ipykernel can let work in from outside")
        self._box = box
        self._loop = box.kernel.loop
        self._stops: dict[object, Callable[[], None]] = {}
        self._cell: Message = {}
        self._context = copy_context()
        self.stand_below()

    def stand_below(self) -> None:
        """Show everything below the running cell from now on."""
        self._cell = output.origin().parent
        self._context = copy_context()

    @property
    def cell(self) -> Message:
        """The request below which visitors show what they have to."""
        latest = self._box.last_cell
        if latest and output.session(latest) != output.session(self._cell):
            # The page that held the cell's output is no longer the one that a person looks at.
            return latest
        return self._cell

    @property
    def running(self) -> int | None:
        """The number of the cell that keeps the main thread, where one runs."""
        return self._box.kernel.execution_count if self._box.cell is not None else None

    def let_in(self, start: Callable[[asyncio.AbstractEventLoop, Context], bool], stop: Callable[[], None]) -> None:
        """Have ``start(loop, context)`` called on the main thread when it is free; ``stop`` is for the stop button.

        From any thread. It says whether the work has begun; ``leave`` with the same ``stop`` must follow at its end.
        """
        self._loop.call_soon_threadsafe(self._enter, start, stop)

    def _enter(self, start: Callable[[asyncio.AbstractEventLoop, Context], bool], stop: Callable[[], None]) -> None:
        context = self._context.copy()
        context.run(output.place.set, self.cell)
        if start(self._loop, context):
            self._stops[stop] = stop
            self._take_sigint()

    def leave(self, stop: Callable[[], None]) -> None:
        """The work that ``stop`` would have ended has ended; from any thread."""
        self._stops.pop(stop, None)

    def close(self) -> None:
        """Leave the stop button to the kernel again."""
        self._stops.clear()
        if signal.getsignal(signal.SIGINT) is self._handler:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    # -------------------------------------------------------------- the stop button
    def _take_sigint(self) -> None:
        """An idle ipykernel ignores the stop button; while a visitor works it isn't idle."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._handler)

    @functools.cached_property
    def _handler(self) -> Callable[[int, Any], None]:
        # A partial belongs to no module of ours: `stoppable` then lets the stop strike in a synchronous function.
        return functools.partial(_stop_all, self._stops)


def _stop_all(stops: dict[object, Callable[[], None]], _signal: int, _frame: object) -> None:
    for stop in list(stops.values()):
        stop()
