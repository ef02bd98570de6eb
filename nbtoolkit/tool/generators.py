"""A function's generator, of any kind and in any thread, as a stream of chunks.

The call that it runs for is the current one while the generator's own code runs, and never between. A generator that never
waits lets the loop run now and then. However the stream ends, the generator is closed, once, where nobody is inside it.
"""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.tool.progress import current_call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from nbtoolkit.tool.base import ChunkStream
    from nbtoolkit.tool.stream import Gathered

__all__ = ["stream_async", "stream_elsewhere", "stream_here"]

# Seconds that a generator which never waits may keep the loop from everything else.
BREATH = 0.01


async def stream_here(generator: Generator[Any, Any, Any], gathered: Gathered, call: Any) -> ChunkStream:
    """The chunks of a generator that runs in this thread."""
    import asyncio

    breath = _Breath()
    try:
        while True:
            ended: StopIteration | None = None
            token = current_call.set(call)
            try:
                with nullcontext() if hooks.stoppable is None else hooks.stoppable():
                    item = next(generator)
            except StopIteration as stop:
                ended = stop
            finally:
                current_call.reset(token)
            if ended is not None:
                yield gathered.last(ended.value)
                return
            if (chunk := gathered.chunk(item)) is not None:
                yield chunk
            if breath.due():
                await asyncio.sleep(0)
    finally:
        generator.close()


async def stream_elsewhere(
    generator: Generator[Any, Any, Any],
    gathered: Gathered,
    call: Any,
    run: Callable[[Callable[[], Any]], Awaitable[Any]],
    close_soon: Callable[[Generator[Any, Any, Any]], None],
) -> ChunkStream:
    """The chunks of a generator whose items ``run`` draws in other threads; ``close_soon`` waits for nothing."""
    import asyncio

    puller = _Puller(generator)

    async def pull() -> Any:
        token = current_call.set(call)
        try:
            return await run(puller.next)
        finally:
            current_call.reset(token)

    try:
        while not isinstance(item := await pull(), _Ended):
            if (chunk := gathered.chunk(item)) is not None:
                yield chunk
        yield gathered.last(item.value)
    except asyncio.CancelledError:
        if puller.leave():
            # Nobody waits for it: a full pool or a slow ``finally`` must not hold a cancellation up.
            close_soon(generator)
        raise
    finally:
        if puller.leave():
            await run(generator.close)


async def stream_async(generator: AsyncGenerator[Any, Any], gathered: Gathered, call: Any) -> ChunkStream:
    """The chunks of an async generator."""
    import asyncio

    breath = _Breath()
    try:
        while True:
            token = current_call.set(call)
            try:
                item = await anext(generator)
            except StopAsyncIteration:
                break
            finally:
                current_call.reset(token)
            if (chunk := gathered.chunk(item)) is not None:
                yield chunk
            if breath.due():
                await asyncio.sleep(0)
        yield gathered.last(None)
    finally:
        await generator.aclose()


class _Breath:
    """Tells when a stream that never waits should let the loop run."""

    def __init__(self) -> None:
        self._next = time.perf_counter() + BREATH

    def due(self) -> bool:
        """Whether it is time; the next time is counted from here."""
        moment = time.perf_counter()
        if moment < self._next:
            return False
        self._next = moment + BREATH
        return True


class _Ended:
    """A generator's end and return value, from a worker thread: StopIteration can't cross a future."""

    def __init__(self, value: object) -> None:
        self.value = value


class _Puller:
    """Takes a generator's items in other threads, and closes it where nobody is inside."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self._generator = generator
        self._lock = threading.Lock()
        self._inside = False
        self._left = False

    def next(self) -> Any:
        """The next item, or _Ended; closes the generator where it was left meanwhile."""
        if not self._enter():
            return _Ended(None)
        try:
            return next(self._generator)
        except StopIteration as stop:
            return _Ended(stop.value)
        finally:
            if self._exit():
                self._generator.close()

    def leave(self) -> bool:
        """Want no more items; tells, once, whether the generator is to be closed, else ``next`` closes it."""
        with self._lock:
            free = not self._inside and not self._left
            self._left = True
            return free

    def _enter(self) -> bool:
        with self._lock:
            self._inside = not self._left
            return self._inside

    def _exit(self) -> bool:
        with self._lock:
            self._inside = False
            return self._left
