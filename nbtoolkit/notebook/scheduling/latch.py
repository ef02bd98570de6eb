"""A value that any thread sets once, and that coroutines of any loop can wait for.

It promises that the first value wins, that every waiter wakes, and that a wait leaves nothing behind when it is
cancelled or its time is up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# A kernel turns the stop button into a callback of its own loop, which doesn't wake a loop that sleeps in select():
# this is how long that callback can go unnoticed where no wake-up descriptor could be set.
TICK = 0.5

_UNSET: Any = object()


class Latch:
    """A thread-safe one-shot value."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: Any = _UNSET
        self._wakers: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the value is there."""
        return self._value is not _UNSET

    def set(self, value: object) -> bool:
        """Set the value; False when there was one already."""
        with self._lock:
            if self._value is not _UNSET:
                return False
            self._value = value
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()
        return True

    async def wait(self, timeout: float | None = None) -> Any:
        """Wait for the value, for ever without a timeout; TimeoutError when the time is up."""
        __tracebackhide__ = True  # IPython leaves it out
        if self._value is not _UNSET:
            return self._value
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish)

        with self._lock:
            if self._value is not _UNSET:
                return self._value
            self._wakers.append(wake)
        on_main = threading.current_thread() is threading.main_thread()
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            while not future.done():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError
                if on_main:
                    left = TICK if left is None else min(TICK, left)
                await asyncio.wait({future}, timeout=left)
        finally:
            future.cancel()
            with self._lock:
                if wake in self._wakers:
                    self._wakers.remove(wake)
        return self._value
