"""Work that comes from outside, run on the kernel's main thread when that is free, below a cell that has ended.

It promises: the work begins between two cells, or while a cell awaits or waits, and never in the middle of a cell's own
code; what it shows and asks stands below the cell that let it in, or, once the page was loaded again, below the cell
that the new page ran last; and the stop button ends it although no cell runs.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Protocol

from nbtoolkit.notebook.scheduling import output
from nbtoolkit.notebook.scheduling.inbox import inbox

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextvars import Context

    from nbtoolkit.notebook.scheduling.kernel import Message

__all__ = ["Visitor", "Visitors"]


class Visitor(Protocol):
    """A piece of work; all but ``stop`` is called on the main thread."""

    def start(self, loop: asyncio.AbstractEventLoop, context: Context) -> bool:
        """Begin, as a task of the kernel's loop; False where there is nothing to begin any more."""

    def pass_by(self) -> None:
        """Run to the end, if that needs no person: a sync cell waits, and goes on only after this."""

    def stop(self) -> None:
        """End, for the stop button; in a signal handler."""


class Visitors:
    """Lets work in, below the cell that makes this; RuntimeError where no kernel of ours runs, or off its main thread."""

    def __init__(self) -> None:
        box = inbox()
        if box is None or threading.current_thread() is not threading.main_thread():
            raise RuntimeError("only the main thread of an ipykernel can let work in from outside")
        self._box = box
        self._loop = box.kernel.loop
        self._waiting: set[Visitor] = set()
        self._cell: Message = {}
        self._context = copy_context()
        self.stand_below()
        box.on_attach.append(self._let_pass)

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

    def let_in(self, visitor: Visitor) -> None:
        """Have it begin when the main thread is free; from any thread. ``leave`` must follow when it has ended."""
        self._waiting.add(visitor)
        self._loop.call_soon_threadsafe(self._enter, visitor)
        turning = self._box.attached
        if turning is not None:
            with contextlib.suppress(RuntimeError):  # the wait has just ended
                turning.call_soon_threadsafe(self._pass, visitor)

    def soon(self, act: Callable[[], None]) -> None:
        """Have something short done on the main thread when it is free; from any thread."""
        self._loop.call_soon_threadsafe(act)

    def leave(self, visitor: Visitor) -> None:
        """It has ended, or was taken back; from any thread."""
        self._waiting.discard(visitor)
        _inside.discard(visitor)

    def close(self) -> None:
        """Let nobody in any more."""
        self._waiting.clear()
        with contextlib.suppress(ValueError):
            self._box.on_attach.remove(self._let_pass)

    def _below(self) -> Context:
        context = self._context.copy()
        context.run(output.place.set, self.cell)
        return context

    def _enter(self, visitor: Visitor) -> None:
        if visitor in self._waiting and visitor.start(self._loop, self._below()):
            _inside.add(visitor)
            _take_sigint()
        self._waiting.discard(visitor)

    # -------------------------------------------------------------- while a sync cell waits
    def _let_pass(self, loop: asyncio.AbstractEventLoop) -> None:
        for visitor in list(self._waiting):
            loop.call_soon(self._pass, visitor)

    def _pass(self, visitor: Visitor) -> None:
        # As a callback of the waiting cell's loop, since what isn't done when that loop ends would be cancelled.
        if visitor in self._waiting:
            self._below().run(visitor.pass_by)


# ------------------------------------------------------------------ the stop button
_inside: set[Visitor] = set()


def _stop_all(inside: set[Visitor], _signal: int, _frame: object) -> None:
    for visitor in list(inside):
        visitor.stop()


# One for the process, that stays and does nothing where nobody is inside: a kernel puts back, after each message, what it
# found before. A partial belongs to no module of ours: `stoppable` then lets the stop strike in a synchronous function.
_handler = functools.partial(_stop_all, _inside)


def _take_sigint() -> None:
    """An idle ipykernel ignores the stop button; while a visitor works it isn't idle."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, _handler)
