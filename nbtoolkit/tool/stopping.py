"""The stop of one call, from any thread, told apart from a cancellation that comes from outside and from a tool's own.

Who stops the call itself gets an interrupted response and goes on; who is cancelled while awaiting it gets the
cancellation, whatever the tool does with it. The task is left as if it had never been cancelled for the call.
"""

from __future__ import annotations

import asyncio
import contextlib

from nbtoolkit.exception import ToolInterruptedError

__all__ = ["Interrupted", "Stoppable"]


class Interrupted(asyncio.CancelledError):
    """A person's stop, in place of the KeyboardInterrupt that would end the loop it goes through."""


class Stoppable:
    """What runs in one task and may be stopped."""

    # Held by the class until a call has its own, since a call needs few of them.
    _stopped = False
    # While its consumer has a chunk, what the task waits for is the consumer's.
    _given_out = False
    # How often the task was cancelled before this call, which may clean up after that, and for this call.
    _before = 0
    _cancels = 0
    _task: asyncio.Task[object] | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    def cancel(self) -> None:
        """Stop the call from any thread; the cell or agent that awaits it goes on with an interrupted response."""
        self._stopped = True
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: the call has ended
                loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        # Ended since, or between two chunks, where the task is busy with what its consumer does.
        if self._task is not None and not self._given_out:
            self._cancels += 1
            self._task.cancel()

    def can_stop(self) -> None:
        """From now on a stop reaches the task that runs this."""
        self._loop = asyncio.get_running_loop()
        self._task = task = asyncio.current_task(self._loop)
        if task is not None and (before := task.cancelling()):
            self._before = before

    def stops_no_more(self) -> None:
        """It has ended."""
        if self._cancels:
            self.take_back()
        self._task = None
        self._loop = None

    def is_stop(self, error: BaseException) -> bool:
        """Whether somebody stopped the call; a tool may also trip over a task of its own that it cancelled."""
        if isinstance(error, ToolInterruptedError):
            # A function that ends by its next report.
            return self._stopped
        if not isinstance(error, asyncio.CancelledError):
            return False
        asked = self._stopped or self._task is None or self._task.cancelling() > self._before
        return asked or isinstance(error, Interrupted)

    def is_from_outside(self, error: BaseException) -> bool:
        """Whether a stop is for whoever awaits the call, too."""
        task = self._task
        return isinstance(error, Interrupted) or task is None or task.cancelling() > self._before + self._cancels

    def go_on(self) -> None:
        """Raise the cancellation from outside that a tool or a middleware swallowed."""
        task = self._task
        if task is not None and task.cancelling() > self._before + self._cancels:
            raise asyncio.CancelledError

    def take_back(self) -> None:
        """Leave the task as if it had never been cancelled for this call, also where the tool swallowed that."""
        if self._task is not None:
            for _ in range(self._cancels):
                self._task.uncancel()
        self._cancels = 0
