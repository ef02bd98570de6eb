"""Running a coroutine to its end from synchronous code, on a private loop of the current thread.

It promises: the kernel's own loop is never entered a second time, so queued cells keep their place; on a kernel's main
thread the inbox is read meanwhile; a stop ends it as KeyboardInterrupt within a second, after the coroutine's clean-up;
no task is left behind.
"""
# A loop inside a loop needs asyncio's own markers of what is running; there is no public way to set them.
# ruff: noqa: SLF001

from __future__ import annotations

import _weakrefset
import asyncio
import contextlib
import os
import selectors
import signal
import sys
import threading
import weakref
from asyncio import events, tasks
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.notebook.scheduling import kernel as kernels
from nbtoolkit.notebook.scheduling.inbox import inbox
from nbtoolkit.notebook.scheduling.stopped import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType, TracebackType

    from nbtoolkit.notebook.scheduling.inbox import Inbox

T = TypeVar("T")

# The inbox is attached to a drive that takes longer: most calls are over before a person could click.
ATTACH_AFTER = 0.05
# An interrupted coroutine may clean up for so long; with the way out this stays below a second.
CLEAN_UP = 0.8
# A loop's own code, and the callbacks of weak references, which swallow what is raised in them.
LOOP = (str(Path(asyncio.__file__).parent), selectors.__file__, _weakrefset.__file__, weakref.__file__)
# The package that shows and waits, and the one that it belongs to.
NOTEBOOK = str(Path(__file__).parent.parent)
PACKAGE = str(Path(__file__).parent.parent.parent)


class _Loops:
    """The private loops of one thread: idle ones for the next drive, and what runs now, outermost first."""

    def __init__(self) -> None:
        self.idle: list[asyncio.AbstractEventLoop] = []
        self.runs: list[Run] = []

    def take(self) -> asyncio.AbstractEventLoop:
        if self.idle:
            return self.idle.pop()
        # A proactor can't watch a socket of ZeroMQ, but on Windows nothing else starts a process.
        return asyncio.new_event_loop() if sys.platform == "win32" else asyncio.SelectorEventLoop()

    def __del__(self) -> None:
        for loop in self.idle:
            loop.close()


class _Here(threading.local):
    def __init__(self) -> None:
        self.loops = _Loops()
        # A stop that came between two drives' lines, where there is nothing to cancel.
        self.late_stop = False


_here = _Here()
_abandoned: list[_Loops] = []


def _after_fork() -> None:
    _abandoned.append(_here.loops)  # closing them would take the parent's descriptors out of the shared epoll
    _here.loops = _Loops()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Run:
    """One coroutine on one private loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any]) -> None:
        self.loop = loop
        self.task: asyncio.Task[Any] = loop.create_task(coro)
        self.task.add_done_callback(self._halt)
        self.stop_asked = False
        self.given_up = False
        self.reusable = True
        self._inbox: Inbox | None = None

    def _halt(self, _: object = None) -> None:
        self.loop.stop()

    def attend(self) -> None:
        """Handle what arrives at the kernel, from now on."""
        if self._inbox is None and not self.task.done():
            self._inbox = inbox()
            if self._inbox is not None:
                self._inbox.attach(self.loop)

    def stop(self) -> None:
        """Ask the coroutine to end, from a signal handler or another thread."""
        self.stop_asked = True
        with contextlib.suppress(RuntimeError):  # it has just ended
            self.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self.task.cancelling():  # asked again: the person is in a hurry
            self._give_up()
        elif not self.task.done():
            self.task.cancel()
            self.loop.call_later(CLEAN_UP, self._give_up)

    def _give_up(self) -> None:
        if not self.task.done():
            self.given_up = True
            self.loop.stop()

    # -------------------------------------------------------------- to its end
    def through(self) -> Any:
        """Run until the task is done and nothing of it is left."""
        __tracebackhide__ = True  # IPython leaves it out
        raised: BaseException | None = None
        later = self.loop.call_later(ATTACH_AFTER, self.attend) if _on_main() else None
        try:
            raised = self._spin(self._finished)
        finally:
            if later is not None:
                later.cancel()
            if self._inbox is not None:
                self._inbox.detach(self.loop)
                self._inbox = None
            self._sweep()
        if self.given_up:
            self.task._log_destroy_pending = False  # type: ignore[attr-defined]
        elif raised is None and not self.stop_asked:
            return self.task.result()
        failure = self.task.exception() if self.task.done() and not self.task.cancelled() else None
        raised = failure if isinstance(failure, SystemExit) else raised
        if raised is not None:
            raise raised.with_traceback(_without_loop(raised.__traceback__)) from None
        raise KeyboardInterrupt from failure

    def _finished(self) -> bool:
        return self.task.done() or self.given_up

    def _spin(self, finished: Callable[[], bool]) -> BaseException | None:
        """Turn the loop; returns the stop or exit that a task raised through it, after the others were told."""
        raised: BaseException | None = None
        while not finished():
            try:
                self.loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as error:
                raised = raised or error
                self.reusable = False
                self._stop()
        return raised

    def _sweep(self) -> None:
        """End what the coroutine has started and left."""
        loop = self.loop
        left = asyncio.all_tasks(loop)
        left.discard(self.task)
        asyncgens = getattr(loop, "_asyncgens", ())
        if not left and not asyncgens:
            return
        self.reusable = False
        for task in left:
            task.cancel()
        closing = [*left, loop.create_task(loop.shutdown_asyncgens())]
        for task in closing:
            task.add_done_callback(self._halt)
        late = loop.call_later(CLEAN_UP, self._halt)
        out_of_time = loop.time() + CLEAN_UP
        self._spin(lambda: all(task.done() for task in closing) or loop.time() >= out_of_time)
        late.cancel()
        for task in closing:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]


def drive(coro: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whatever loop the current thread is running.

    On a kernel's main thread clicks are handled meanwhile. The stop button cancels the coroutine, lets it clean up
    for a moment and comes out as KeyboardInterrupt.
    """
    __tracebackhide__ = True
    here, loops = _here, _here.loops
    # First in and last out: with Python's own handler a stop could strike between any two of these lines.
    previous = _take_sigint() if _on_main() else None
    outer = events._get_running_loop()
    outer_task = None
    loop = loops.take()
    if outer is not None:
        if sys.version_info >= (3, 12):
            outer_task = tasks._swap_current_task(outer, None)
        events._set_running_loop(None)
    run = Run(loop, coro)
    loops.runs.append(run)
    try:
        result: T = run.through()
    except KeyboardInterrupt as stop:
        if previous is not None and outer is not None and _is_somebody_elses(outer, outer_task):
            previous(signal.SIGINT, None)
            raise asyncio.CancelledError from None
        shorten(stop)
        raise
    finally:
        loops.runs.pop()
        if outer is not None:
            events._set_running_loop(outer)
            if sys.version_info >= (3, 12):
                tasks._swap_current_task(outer, outer_task)
        if run.reusable and not run.given_up:
            loops.idle.append(loop)
        else:
            loop.close()
        stop_asked = run.stop_asked
        del run  # its task goes now: a stop in the callbacks of its weak references would be swallowed
        if previous is not None:
            signal.signal(signal.SIGINT, previous)
    if stop_asked or here.late_stop:  # it came when the coroutine was done
        here.late_stop = False
        raise KeyboardInterrupt
    return result


def attend() -> None:
    """Handle what arrives at the kernel from now on, when the current thread is driving."""
    runs = _here.loops.runs
    if _on_main() and runs:
        runs[-1].attend()


def current_runs() -> list[Run]:
    """What the current thread is driving, outermost first; the list is live."""
    return _here.loops.runs


def _on_main() -> bool:
    return threading.current_thread() is threading.main_thread()


# ------------------------------------------------------------------ the stop button
def _take_sigint() -> Callable[[int, FrameType | None], Any] | None:
    """Take SIGINT over where it is Python's or the kernel's; returns whose it was, None when it stays theirs."""
    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous) or previous is _on_sigint:
        return None
    if previous is not signal.default_int_handler and kernels.kernel() is None:
        return None
    signal.signal(signal.SIGINT, _on_sigint)
    return previous


def _on_sigint(_: int, frame: FrameType | None) -> None:
    runs = _here.loops.runs
    box = inbox()
    # Without a task at work no tool's code runs.
    no_task = not runs or asyncio.current_task(runs[-1].loop) is None
    ours = no_task or (box is not None and box.shielded) or _in_plumbing(frame)
    if not ours or (runs and runs[-1].stop_asked):
        raise KeyboardInterrupt
    if runs:
        runs[-1].stop()
    else:
        _here.late_stop = True


def _in_plumbing(frame: FrameType | None) -> bool:
    """Whether what was interrupted is ours or the loop's, and not a tool's: ours is short, and is not left half done.

    Then the coroutine gets the stop as a cancellation; a tool that computes gets it where it is.
    """
    foreign = False
    while frame is not None and frame.f_code is not Run.through.__code__:
        file = frame.f_code.co_filename
        if file.startswith(NOTEBOOK):
            return True
        if file.startswith((PACKAGE, *LOOP)):
            return not foreign
        foreign = True
        frame = frame.f_back
    return not foreign


def _without_loop(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback that begins where the loop calls a task."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith((NOTEBOOK, *LOOP)):
        traceback = traceback.tb_next
    return traceback


def _is_somebody_elses(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> bool:
    """Whether the drive interrupts a task that the cell has started: a KeyboardInterrupt there would end the kernel."""
    kernel = kernels.kernel()
    if kernel is None or not kernel.can_listen or loop is not kernel.loop:
        return False
    if task is None:
        task = asyncio.current_task(loop)
    frame = getattr(task.get_coro(), "cr_frame", None) if task is not None else None
    module = frame.f_globals.get("__name__", "") if frame is not None else ""
    return not module.startswith(("ipykernel.", "IPython.", "tornado."))
