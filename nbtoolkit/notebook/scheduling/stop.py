"""The stop button while a tool's synchronous function runs on the kernel's loop.

In an async cell ipykernel answers SIGINT with a callback of its loop, which gets no turn before the function has ended.
Here the function is interrupted where it is, as in any cell; what comes out is a cancellation, since a KeyboardInterrupt
that goes through a task ends the kernel.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.scheduling import kernel as kernels
from nbtoolkit.tool.stopping import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["stoppable"]


class stoppable:  # noqa: N801 - written as a verb, in a with statement
    """Let a stop strike inside the block; it comes out as Interrupted, and the cell is cancelled with it."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: Callable[[int, Any], Any] | None = None

    def __enter__(self) -> None:
        if _stopping:
            raise Interrupted
        before = signal.getsignal(signal.SIGINT)
        # A sync cell's handler, or drive's own, strikes already; one that isn't the kernel's isn't ours to take.
        if not callable(before) or before is signal.default_int_handler or _is_ours(before):
            return
        if threading.current_thread() is threading.main_thread() and kernels.kernel() is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._before = before

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = self._before
        if before is None:
            return
        signal.signal(signal.SIGINT, before)
        if isinstance(error, KeyboardInterrupt):
            before(signal.SIGINT, None)
            _hold_off()
            raise Interrupted from None


# Between a stop and the loop's next turns, in which it reaches the cell: neighbours that are ready must not begin.
_stopping = False


def _hold_off() -> None:
    global _stopping
    _stopping = True
    loop = asyncio.get_running_loop()
    # Behind the kernel's own callback, which cancels the cell, and behind what that cancels in turn.
    loop.call_soon(loop.call_soon, _go_on)


def _go_on() -> None:
    global _stopping
    _stopping = False


def _is_ours(handler: object) -> bool:
    return str(getattr(handler, "__module__", "")).startswith("nbtoolkit.")
