"""The portal: one daemon thread with an event loop of its own, in which every MCP session lives.

What runs here outlives the cell, the loop and the thread that asked for it, so a server attached in one cell can be
used and closed in another. ``await portal().run(coroutine)`` works from any event loop; a waiter that is cancelled
cancels the work. Each wait ticks: an interrupt doesn't wake a loop that sleeps in ``select``.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import logging
import os
import sys
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

__all__ = ["Portal", "at_shutdown", "portal", "ticking"]

logger = logging.getLogger("nbtoolkit.mcp")

T = TypeVar("T")

# How long an interrupt may go unnoticed by an idle loop.
TICK = 0.4
# At exit the sessions get this long; what is left over ends with the guardian.
SHUTDOWN_SECONDS = 2.5


@contextlib.contextmanager
def ticking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Wake the loop now and then while something waits in it, so that it notices an interrupt."""
    home = _home(loop)
    home.enter()
    try:
        yield
    finally:
        home.leave()


class _Home:
    """What one loop has of us: callbacks from other threads, and a tick while anything waits in it.

    Waking a loop costs a system call, and giving the interpreter away at it, so it is woken once for as many callbacks as
    there are; and one timer ticks for all that wait, and for the next that comes before it has run out.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Weakly: what is kept for a loop must not keep the loop.
        self._loop = weakref.ref(loop)
        self._posted: deque[Callable[[], object]] = deque()
        self._woken = False
        self._waiting = 0
        self._ticks = False

    def post(self, callback: Callable[[], object]) -> None:
        """Have it called in the loop; RuntimeError when the loop is closed."""
        self._posted.append(callback)
        if not self._woken:
            loop = self._loop()
            if loop is None:
                raise RuntimeError("the event loop is no more")
            self._woken = True
            try:
                loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                self._woken = False
                raise

    def _deliver(self) -> None:
        # First: what is posted from here on wakes the loop again.
        self._woken = False
        while self._posted:
            self._posted.popleft()()

    def enter(self) -> None:
        """Tick from now on; in the loop's thread."""
        self._waiting += 1
        if not self._ticks:
            self._tick()

    def leave(self) -> None:
        """One thing less waits."""
        self._waiting -= 1

    def _tick(self) -> None:
        loop = self._loop()
        self._ticks = self._waiting > 0 and loop is not None
        if self._ticks and loop is not None:
            loop.call_later(TICK, self._tick)


_homes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Home] = WeakKeyDictionary()


def _home(loop: asyncio.AbstractEventLoop) -> _Home:
    found = _homes.get(loop)
    if found is None:
        found = _homes[loop] = _Home(loop)
    return found


class _Job(Generic[T]):
    """A coroutine that runs in the portal for a waiter in another loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], waiter: asyncio.Future[T], home: _Home) -> None:
        self.coroutine = coroutine
        self.waiter = waiter
        self.home = home
        self.context = contextvars.copy_context()
        self.task: asyncio.Task[None] | None = None
        self.begun = self.told = self.dropped = False
        self.error: BaseException | None = None
        self.result: T | None = None

    def start(self) -> None:
        """Begin, in the portal."""
        if self.dropped:
            self.coroutine.close()
            return
        self.task = asyncio.get_running_loop().create_task(self._work(), context=self.context)
        self.task.add_done_callback(self._ended)

    def drop(self) -> None:
        """Cancel, in the portal."""
        self.dropped = True
        if self.task is not None:
            self.task.cancel()

    async def _work(self) -> None:
        self.begun = True
        try:
            self.result = await self.coroutine
        except BaseException as error:  # noqa: BLE001 - it goes on in the waiter
            self.error = error
        # Here, not when the task is done: that is a turn of the loop later.
        self._post()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self.begun:
            # Cancelled before its first step.
            self.coroutine.close()
        if not self.told:
            self.error = asyncio.CancelledError() if task.cancelled() else task.exception()
            self._post()

    def _post(self) -> None:
        self.told = True
        # The waiter's loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            self.home.post(self._tell)

    def _tell(self) -> None:
        # A traceback holds this job; what it holds must not hold the traceback.
        error, self.error = self.error, None
        if self.waiter.done():
            return
        if isinstance(error, asyncio.CancelledError):
            self.waiter.cancel()
        elif error is not None:
            self.waiter.set_exception(error)
        else:
            self.waiter.set_result(self.result)  # type: ignore[arg-type]


class Portal:
    """A thread with an event loop; made by ``portal()``, one in a process."""

    def __init__(self) -> None:
        # Windows can only start processes from a proactor loop, whatever policy the kernel has set.
        if sys.platform == "win32":
            self.loop: asyncio.AbstractEventLoop = asyncio.ProactorEventLoop()
        else:
            self.loop = asyncio.SelectorEventLoop()
        self._home = _home(self.loop)
        self._pid = os.getpid()
        # The SDK tells of servers' faults in its logs; we tell of them in errors and in the server's own log, and a
        # traceback in whatever cell runs just then helps nobody. Handlers that the user has set up still hear it.
        for name in ("mcp", "client"):
            logging.getLogger(name).addHandler(logging.NullHandler())
        self._started = threading.Event()
        self.thread = threading.Thread(target=self._main, name="nbtoolkit-mcp", daemon=True)
        self.thread.start()
        self._started.wait()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.call_soon(self._started.set)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left, timeout=0.5))
        finally:
            self.loop.close()

    @property
    def alive(self) -> bool:
        """Whether work can be given to it; after a fork it can't."""
        return self._pid == os.getpid() and self.thread.is_alive() and not self.loop.is_closed()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine in the portal; cancelling the future cancels it."""
        self._must_be_alive(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def _must_be_alive(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        if not self.alive:
            coroutine.close()
            raise RuntimeError("the MCP thread has ended with its process; nothing can be started any more")

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine in the portal and give its result to this loop, whichever loop that is."""
        here = asyncio.get_running_loop()
        if here is self.loop:
            return await coroutine
        self._must_be_alive(coroutine)
        home = _home(here)
        waiter: asyncio.Future[T] = here.create_future()
        job = _Job(coroutine, waiter, home)
        home.enter()
        # Last: the interpreter is given away with it.
        self._home.post(job.start)
        try:
            return await waiter
        except asyncio.CancelledError:
            self._home.post(job.drop)
            raise
        finally:
            home.leave()

    def run_sync(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run the coroutine in the portal and block this thread; an interrupt cancels it."""
        future = self.submit(coroutine)
        waited = 0.0
        try:
            while True:
                step = TICK if timeout is None else min(TICK, max(0.0, timeout - waited))
                try:
                    return future.result(step)
                except FutureTimeout:
                    if future.done():
                        raise
                    waited += step
                    if timeout is not None and waited >= timeout:
                        raise
        finally:
            future.cancel()

    def stop(self) -> None:
        """End the thread."""
        if self.alive:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(1.0)


_lock = threading.Lock()
_portal: Portal | None = None
_at_shutdown: list[Callable[[], Coroutine[Any, Any, None]]] = []


def portal() -> Portal:
    """The process's portal, started when first asked for."""
    global _portal
    with _lock:
        if _portal is None or not _portal.alive:
            _portal = Portal()
        return _portal


def running_portal() -> Portal | None:
    """The portal, if anybody has needed one yet."""
    return _portal if _portal is not None and _portal.alive else None


def at_shutdown(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run this in the portal when the process ends."""
    _at_shutdown.append(function)


def _shutdown() -> None:
    here = running_portal()
    if here is None:
        return

    async def everything() -> None:
        await asyncio.gather(*(function() for function in _at_shutdown), return_exceptions=True)

    try:
        here.run_sync(everything(), SHUTDOWN_SECONDS)
    except (Exception, KeyboardInterrupt):
        logger.debug("MCP servers weren't all closed in time", exc_info=True)
    here.stop()


def _forget_after_fork() -> None:
    # The thread isn't in the child, and its lock may have been held.
    global _portal, _lock
    _portal, _lock = None, threading.Lock()


atexit.register(_shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
