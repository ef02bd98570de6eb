"""Starting a coroutine on the kernel's own loop, from a widget's callback in whatever thread that runs.

It promises that the coroutine waits for the running cell to end like a queued one, and that its output lands below the
cell whose context is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.scheduling.driver import drive
from nbtoolkit.notebook.scheduling.kernel import kernel

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from contextvars import Context

__all__ = ["start"]

# A loop holds its tasks weakly.
_tasks: set[asyncio.Task[Any]] = set()


def start(make: Callable[[], Coroutine[Any, Any, object]], context: Context) -> None:
    """Begin ``make()`` when the kernel's loop turns next; without a kernel run it to its end at once."""
    current = kernel()
    if current is None:
        context.copy().run(drive, make())
        return
    loop = current.loop

    def begin() -> None:
        task = loop.create_task(make(), context=context.copy())
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)

    loop.call_soon_threadsafe(begin)
