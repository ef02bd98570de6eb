"""Who waits for a person now, and which queued lines may pass a waiting cell.

The inbox reads it for every message that arrives; questions and magics write it, from any thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Context

    from nbtoolkit.notebook.scheduling.kernel import Message

Overtaker = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]


class Waiter(Protocol):
    """A question, as the inbox sees it."""

    context: Context

    def queued(self, message: Message) -> None:
        """An execute_request waits behind the cell that asks."""

    def stopped(self, message: Message) -> None:
        """The cell of this request was ended by the stop button."""


waiting: dict[str, Waiter] = {}
overtakers: list[Overtaker] = []
_listeners = 0
# Is told when something waits that didn't before: messages that are held already may be wanted now.
on_change: list[Callable[[], None]] = []


def alert() -> bool:
    """Whether every widget message should overtake the running cell."""
    return bool(waiting) or _listeners > 0


def changed() -> None:
    """Have the messages that are held looked at again."""
    for tell in on_change:
        tell()


def latest() -> Waiter | None:
    """The question asked last."""
    return next(reversed(list(waiting.values())), None)


def overtake(handler: Overtaker) -> Callable[[], None]:
    """Let a queued cell or console line pass the waiting cell; returns the function that takes this back.

    While a question waits, `handler(code, parent)` is asked about each execute_request that arrives. None: not mine,
    it keeps its place in the queue. A mime bundle: the request is answered now, with the bundle as its output
    (`{}` shows nothing), and never runs as a cell. `parent` is for `reshow`. It must not block.
    """
    overtakers.append(handler)

    def undo() -> None:
        with contextlib.suppress(ValueError):
            overtakers.remove(handler)

    return undo


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Let all widget messages overtake the running cell, as they do while a question waits (for a Stop button)."""
    global _listeners
    _listeners += 1
    changed()
    try:
        yield
    finally:
        _listeners -= 1
