"""How much a prompt may cost: calls, seconds, tokens. A person's thinking time is nobody's cost."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from nbtoolkit.tool.run import ToolCall

__all__ = ["Budget", "Spent", "Stopped"]

T = TypeVar("T")
Stopped = Literal["done", "calls", "seconds", "tokens", "length", "stopped"]

# A loop that goes round and round must come to an end; a person who wants more says so.
MAX_CALLS = 50
# How often it is looked whether somebody is being asked, in seconds.
TICK = 0.1


class Spent(Exception):  # noqa: N818 - it ends a step, and is no error
    """The seconds are used up."""


class Budget:
    """What is left; None stands for no limit."""

    def __init__(self, calls: int | None = MAX_CALLS, seconds: float | None = None, tokens: int | None = None) -> None:
        for name, value in (("calls", calls), ("seconds", seconds), ("tokens", tokens)):
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                raise TypeError(f"a budget of {name} must be a number or None, but is {value!r}")
            if value is not None and not value >= 0:
                raise ValueError(f"a budget of {value!r} {name} can't be; expected 0 or more, or None for no limit")
        self.max_calls, self.max_seconds, self.max_tokens = calls, seconds, tokens
        self.calls = 0
        self.tokens = 0
        self._began = time.monotonic()
        self._waited = 0.0

    @property
    def seconds(self) -> float:
        """What has gone by, without a person's thinking."""
        return time.monotonic() - self._began - self._waited

    @property
    def calls_left(self) -> int | None:
        """How many calls may still run."""
        return None if self.max_calls is None else max(0, self.max_calls - self.calls)

    @property
    def tokens_left(self) -> int | None:
        """How many tokens a reply may still cost."""
        return None if self.max_tokens is None else max(0, self.max_tokens - self.tokens)

    def spent(self) -> Stopped | None:
        """What is used up, so that no other request may be made."""
        if self.max_seconds is not None and self.seconds >= self.max_seconds:
            return "seconds"
        return "tokens" if self.tokens_left == 0 else None

    async def within(self, work: Coroutine[Any, Any, T], calls: Sequence[ToolCall] = ()) -> T:
        """Do a step; Spent, and the step is cancelled, when the seconds are used up in it.

        The time in which one of ``calls`` asks somebody doesn't count.
        """
        if self.max_seconds is None:
            return await work
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                left = self.max_seconds - self.seconds
                if left <= 0:
                    raise Spent
                asking = any(call.request is not None and call.approval is None for call in calls)
                before = time.monotonic()
                await asyncio.wait({task}, timeout=min(left, TICK) if calls else left)
                if asking:
                    self._waited += time.monotonic() - before
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
