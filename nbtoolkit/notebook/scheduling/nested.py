"""`asyncio.run` inside a cell, as documents written for scripts have it.

The coroutine runs on a private loop, by `drive`: the kernel's loop is not entered again, so queued cells stay queued and
clicks are handled.  Without a running loop `asyncio.run` stays what it was.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.notebook.scheduling.driver import drive

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_original: Callable[..., Any] | None = None


def allow_nested_run() -> None:
    """Let `asyncio.run` work under a running loop, until `disallow_nested_run`."""
    global _original
    if _original is not None:
        return
    _original = original = asyncio.run

    @functools.wraps(original)
    def run(main: Coroutine[Any, Any, T], **options: Any) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            result: T = original(main, **options)
            return result
        if not asyncio.iscoroutine(main):
            raise ValueError(f"a coroutine was expected, got {main!r}")
        return drive(main)

    asyncio.run = run  # type: ignore[assignment]


def disallow_nested_run() -> None:
    """Take `allow_nested_run` back."""
    global _original
    if _original is not None:
        asyncio.run = _original
        _original = None
