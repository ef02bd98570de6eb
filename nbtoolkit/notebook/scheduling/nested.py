"""`asyncio.run` inside a cell, as documents written for scripts have it.

The coroutine runs on a private loop, by `drive`: the kernel's loop is not entered again, so queued cells stay queued and
clicks are handled.  Without a running loop `asyncio.run` stays what it was, but that it takes any awaitable.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.notebook.scheduling.driver import drive

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_original: Callable[..., Any] | None = None


def allow_nested_run() -> None:
    """Let `asyncio.run` work under a running loop, until `disallow_nested_run`."""
    global _original
    if _original is not None:
        return
    _original = original = asyncio.run

    @functools.wraps(original)
    def run(main: Any, **options: Any) -> Any:
        if inspect.isawaitable(main) and not asyncio.iscoroutine(main):
            # As Python 3.14 takes it: a toolkit's call, say.
            main = _awaited(main)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return original(main, **options)
        if not asyncio.iscoroutine(main):
            raise ValueError(f"a coroutine was expected, got {main!r}")
        return drive(main)

    asyncio.run = run


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def disallow_nested_run() -> None:
    """Take `allow_nested_run` back."""
    global _original
    if _original is not None:
        asyncio.run = _original
        _original = None
