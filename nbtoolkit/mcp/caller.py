"""Where a call came from: its loop and context, so that a server's question can be put there."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["Caller", "here"]

T = TypeVar("T")


@dataclass(frozen=True)
class Caller:
    """A loop that waits for a call, and the context in which it does."""

    loop: asyncio.AbstractEventLoop
    context: contextvars.Context

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run there what ``make`` gives; whoever waits here and is cancelled cancels it."""
        result: Future[T] = Future()

        def start() -> None:
            if not result.set_running_or_notify_cancel():
                return
            task = self.loop.create_task(make(), context=self.context)
            tasks.append(task)
            task.add_done_callback(finish)

        def finish(task: asyncio.Task[T]) -> None:
            if task.cancelled():
                result.set_exception(asyncio.CancelledError())
            elif (error := task.exception()) is not None:
                result.set_exception(error)
            else:
                result.set_result(task.result())

        tasks: list[asyncio.Task[T]] = []
        self.loop.call_soon_threadsafe(start)
        try:
            return await asyncio.wrap_future(result)
        except asyncio.CancelledError:
            if not self.loop.is_closed():
                self.loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            raise


def here() -> Caller:
    """The running loop and context."""
    return Caller(asyncio.get_running_loop(), contextvars.copy_context())
