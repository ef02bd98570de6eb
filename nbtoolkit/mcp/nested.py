"""``asyncio.run(client.connect())`` in a cell, for a notebook that hasn't loaded the extension.

Documents written for scripts have it so. In a kernel the cell runs under a loop already; there the coroutine runs on a
loop of its own in a thread of its own while the cell waits. The extension brings a better way of its own, and its
unloading takes this one back.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

__all__ = ["allow_in_kernels", "undo"]

T = TypeVar("T")

_standard = asyncio.run
_patched: Callable[..., Any] | None = None

# How soon a stop is noticed.
TICK = 0.2


def allow_in_kernels() -> None:
    """Let asyncio.run work in this kernel's cells; nothing happens elsewhere, or where somebody did so already."""
    global _patched
    if "ipykernel" not in sys.modules or asyncio.run is not _standard:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    _patched = _run
    asyncio.run = _run


def undo() -> None:
    """Take it back."""
    global _patched
    if _patched is not None and asyncio.run is _patched:
        asyncio.run = _standard
    _patched = None


@functools.wraps(_standard)
def _run(main: Any, **options: Any) -> Any:
    # As Python 3.14 takes it: a toolkit's call, say.
    coroutine = _awaited(main) if inspect.isawaitable(main) and not asyncio.iscoroutine(main) else main
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _standard(coroutine, **options)
    return _in_a_thread(coroutine)


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _in_a_thread(main: Coroutine[Any, Any, T]) -> T:
    """Run it elsewhere while this thread waits; an interrupt cancels it."""
    loop = asyncio.new_event_loop()
    context = contextvars.copy_context()
    task = loop.create_task(main, context=context)

    def work() -> None:
        try:
            loop.run_until_complete(asyncio.wait({task}))
        finally:
            loop.close()

    thread = threading.Thread(target=work, name="nbtoolkit-run", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(TICK)
    except KeyboardInterrupt:
        if not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        thread.join(2.0)
        raise
    return task.result()
