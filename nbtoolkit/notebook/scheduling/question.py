"""One question put to a person, and the questions that wait.

It promises: the first answer counts and wakes the waiter, wherever that waits; the prompt is shown again when its output
is lost; an answer from a page, a queued line or another thread is the same answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.scheduling import desk
from nbtoolkit.notebook.scheduling.driver import attend
from nbtoolkit.notebook.scheduling.inbox import inbox
from nbtoolkit.notebook.scheduling.latch import Latch
from nbtoolkit.notebook.scheduling.output import cell_id, origin, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtoolkit.notebook.scheduling.kernel import Message

_log = logging.getLogger("nbtoolkit")


class Question:
    """One question put to a person: it resolves once and wakes its waiter, wherever that waits."""

    def __init__(self, show: Callable[[Question, Message], None] | None = None) -> None:
        """Make a question of the asking cell.

        `show(question, parent)` publishes the prompt below `parent` (an execute_request). `pose` calls it first for
        the asking cell, and it is called again, maybe from another thread, whenever that output is lost: the waiting
        cell was queued again, the page was reloaded, or the person asked for it (`reshow`).
        """
        self.id = secrets.token_hex(4)
        self.origin = origin()
        self.context = copy_context()
        self.thread = threading.get_ident()
        self.shown_under: list[Message] = []
        self._show = show
        self._answer = Latch()
        self._waits = 0
        self._sessions: set[str | None] = set()

    @property
    def resolved(self) -> bool:
        """Whether an answer is there."""
        return self._answer.is_set

    def resolve(self, value: object) -> bool:
        """Give the answer, from any thread or callback; the first one wins and the others return False."""
        return self._answer.set(value)

    def cancel(self) -> bool:
        """End the wait with CancelledError, from any thread; False when there is an answer."""
        return self._answer.set(_CANCELLED)

    async def wait(self, timeout: float | None = None) -> Any:
        """Wait for the answer, for ever without a timeout; TimeoutError when the time is up."""
        __tracebackhide__ = True
        with self.open():
            value = await self._answer.wait(timeout)
        if value is _CANCELLED:
            raise asyncio.CancelledError
        return value

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Count among the pending questions, and have clicks and queued lines reach it."""
        self._waits += 1
        desk.waiting[self.id] = self
        try:
            inbox()
            attend()
            desk.changed()
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                desk.waiting.pop(self.id, None)

    # -------------------------------------------------------------- the prompt
    def show_under(self, parent: Message) -> None:
        """Show the prompt below a request."""
        self.shown_under.append(parent)
        self._sessions.add(session(parent))
        if self._show is not None:
            self._show(self, parent)

    def present(self) -> None:
        """Show the prompt below the asking cell, and below what is queued already and has displaced that."""
        self.show_under(self.origin.parent)
        box = inbox()
        for message in box.behind() if box is not None else ():
            self.queued(message)

    def stopped(self, message: Message) -> None:
        """End the wait when it was this cell that asked."""
        if _same(message, self.origin.parent):
            self.cancel()

    def queued(self, message: Message) -> None:
        """Show the prompt below a queued request as well, when that is what took it off the screen."""
        if not self.shown_under or any(_same(message, seen) for seen in self.shown_under):
            return
        again = cell_id(message) is not None and cell_id(message) == self.origin.cell_id
        if again or session(message) not in self._sessions:
            try:
                self.show_under(message)
            except Exception:  # noqa: BLE001 - the message that told of it must go its way
                _log.exception("The question %s could not be shown again.", self.id)


_CANCELLED = object()


def _same(one: Message, other: Message) -> bool:
    return bool(one["header"]["msg_id"] == other.get("header", {}).get("msg_id"))


def pending() -> list[Question]:
    """Return the questions that wait now, oldest first."""
    return [waiter for waiter in list(desk.waiting.values()) if isinstance(waiter, Question) and not waiter.resolved]


def reshow(parent: Message, ids: Iterable[str] | None = None) -> int:
    """Show the waiting questions again below `parent`; returns how many."""
    wanted = None if ids is None else set(ids)
    shown = [question for question in pending() if wanted is None or question.id in wanted]
    for question in shown:
        question.show_under(parent)
    return len(shown)
