"""Running what brings its own loop, or is plainly synchronous, in a thread, while the main thread handles clicks.

It promises that output lands in the asking cell, that approvals asked there can be clicked on every kernel, and that a
stop cancels what runs there.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from nbtoolkit.notebook.scheduling import desk
from nbtoolkit.notebook.scheduling.driver import Run, attend, current_runs, drive
from nbtoolkit.notebook.scheduling.question import pending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

# A stopped worker may clean up for so long before the cell goes on without it.
CLEAN_UP = 0.6


def run_in_worker(fn: Callable[[], T]) -> T:
    """Run a synchronous function (an agent with its own loop, say) in a thread while the main thread handles clicks.

    Its output lands in the asking cell, and its approvals can be clicked on every kernel. An interrupt cancels what it
    drives, and comes out as KeyboardInterrupt.
    """
    done: Future[T] = Future()
    runs: list[list[Run]] = []

    def work() -> None:
        runs.append(current_runs())
        try:
            done.set_result(fn())
        except BaseException as error:  # noqa: BLE001 - it goes on up in the thread that waits
            done.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), name="nbtoolkit-worker", daemon=True)

    async def wait() -> T:
        with desk.listening():
            attend()
            thread.start()
            finished = asyncio.wrap_future(done)
            try:
                return await asyncio.shield(finished)
            except asyncio.CancelledError:
                _stop(thread, runs)
                with contextlib.suppress(BaseException):
                    await asyncio.wait_for(asyncio.shield(finished), CLEAN_UP)
                raise

    return drive(wait())


def _stop(thread: threading.Thread, runs: list[list[Run]]) -> None:
    for run in runs[0][:1] if runs else ():
        run.stop()
    for question in pending():
        if question.thread == thread.ident:
            question.cancel()


def run_sync(awaitable: Awaitable[T]) -> T:
    """Run a coroutine that needs a loop of its own in a worker thread while the main thread handles clicks."""

    async def agent() -> T:
        return await awaitable

    def work() -> T:
        return drive(agent())

    return run_in_worker(work)
