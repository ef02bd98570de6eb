"""Everything that nbtoolkit knows about kernels, event loops, waiting and interrupts; no other module knows any.

It promises: a cell can wait for a person, in sync and async cells and in worker threads, and a click still arrives;
cells that are queued meanwhile keep their place; the stop button ends any wait; nobody waits for somebody who can't
answer.  Where a kernel's internals aren't as expected there is no pump and no filter, and `presence` says less.

How an approver uses it, inside its coroutine (the same code under a kernel's loop, `drive` or a worker's loop)::

    who = presence()
    if who.means is Means.WIDGETS:
        question = Question(show)               # show(question, parent) publishes the prompt below that request
        card = Card(on_click=question.resolve)
        route(card.widgets)
        try:
            answer = await pose(question, timeout=ask_timeout)
        except NobodyAnswers:                   # no widget front end proved itself in time
            answer = await ask_by_input("Allow? [y/N] ", timeout=60)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Message = Mapping[str, Any]
"""A Jupyter message: header, parent_header, metadata, content."""


# ------------------------------------------------------------------ who asks, who could answer
@dataclass(frozen=True)
class Origin:
    """The cell (or console line) that is asking."""

    parent: Message
    cell_id: str | None
    execution_count: int | None
    session: str | None
    in_kernel: bool


def origin() -> Origin:
    """Return the asking cell, with an empty parent outside a kernel."""
    raise NotImplementedError


class Means(Enum):
    """How a question could reach a person."""

    WIDGETS = "widgets"
    INPUT = "input"
    NOBODY = "nobody"


class Presence(NamedTuple):
    """What is known before any widget exists, and why."""

    means: Means
    reason: str


def presence() -> Presence:
    """Say at once whether anybody could answer: WIDGETS means worth trying, and only a beacon proves it."""
    raise NotImplementedError


class NobodyAnswers(LookupError):
    """No front end proved that it can show the question, or `input()` isn't possible; str() is the reason."""


class Beacon:
    """Hidden linked widgets that only a widget front end, and nothing else, fires."""

    async def seen(self, timeout: float) -> bool:
        """Wait until a front end has answered, with fresh models every second; False when the time is up."""
        raise NotImplementedError

    def close(self) -> None:
        """Take the hidden widgets away."""
        raise NotImplementedError


def route(widgets: Iterable[Any]) -> None:
    """Let the front end's messages to these widgets come to where the current thread's wait can see them.

    For every widget of a card that a person can act on, before it is shown.
    """
    raise NotImplementedError


# ------------------------------------------------------------------ a question
class Question:
    """One question put to a person: it resolves once and wakes its waiter, wherever that waits."""

    id: str
    origin: Origin

    def __init__(self, show: Callable[[Question, Message], None] | None = None) -> None:
        """Make a question of the asking cell.

        `show(question, parent)` publishes the prompt below `parent` (an execute_request). `pose` calls it first for
        the asking cell, and it is called again, maybe from another thread, whenever that output is lost: the waiting
        cell was queued again, the page was reloaded, or the person asked for it (`reshow`).
        """
        raise NotImplementedError

    @property
    def resolved(self) -> bool:
        """Whether an answer is there."""
        raise NotImplementedError

    @property
    def shown_under(self) -> list[Message]:
        """Return the requests below which the prompt was shown, in order."""
        raise NotImplementedError

    def resolve(self, value: object) -> bool:
        """Give the answer, from any thread or callback; the first one wins and the others return False."""
        raise NotImplementedError

    async def wait(self, timeout: float | None = None) -> Any:
        """Wait for the answer, for ever without a timeout; TimeoutError when the time is up."""
        raise NotImplementedError


async def pose(question: Question, *, timeout: float | None = None, attend: float = 8.0) -> Any:
    """Show a question, make sure that a widget front end is there, and wait for the answer.

    NobodyAnswers when no front end fired a beacon within `attend` seconds (one that already did in this client
    session isn't waited for), TimeoutError after `timeout` seconds with a person present.
    """
    raise NotImplementedError


def pending() -> list[Question]:
    """Return the questions that wait now, oldest first."""
    raise NotImplementedError


def reshow(parent: Message, ids: Iterable[str] | None = None) -> int:
    """Show the waiting questions again below `parent`; returns how many."""
    raise NotImplementedError


def overtake(handler: Callable[[str, Message], Mapping[str, Any] | None]) -> Callable[[], None]:
    """Let a queued cell or console line pass the waiting cell; returns the function that takes this back.

    While a question waits, `handler(code, parent)` is asked about each execute_request that arrives. None: not mine,
    it keeps its place in the queue. A mime bundle: the request is answered now, with the bundle as its output
    (`{}` shows nothing), and never runs as a cell. `parent` is for `reshow`. It must not block.
    """
    raise NotImplementedError


async def ask_by_input(prompt: str, timeout: float | None = None) -> str:
    """Ask by the front end's input box or the terminal; main thread only.

    NobodyAnswers where that can't work, TimeoutError when the time is up.
    """
    raise NotImplementedError


# ------------------------------------------------------------------ output
def publish(
    data: Mapping[str, Any],
    *,
    parent: Message | None = None,
    metadata: Mapping[str, Any] | None = None,
    display_id: str | None = None,
    update: bool = False,
) -> bool:
    """Show a mime bundle below `parent` (default: the asking cell), after what was printed before.

    Works from any thread and inside `%%capture`. False, and nothing shown, outside a kernel.
    """
    raise NotImplementedError


# ------------------------------------------------------------------ running
def drive(coro: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whatever loop the current thread is running.

    On a kernel's main thread clicks are handled meanwhile. The stop button cancels the coroutine, lets it clean up
    for a moment and comes out as KeyboardInterrupt.
    """
    raise NotImplementedError


def run_in_worker(fn: Callable[[], T]) -> T:
    """Run a synchronous function (an agent with its own loop, say) in a thread while the main thread handles clicks.

    Its output lands in the asking cell, and its approvals can be clicked on every kernel. An interrupt cancels what it
    drives, and comes out as KeyboardInterrupt.
    """
    raise NotImplementedError


def run_sync(awaitable: Awaitable[T]) -> T:
    """Run a coroutine that needs a loop of its own in a worker thread while the main thread handles clicks."""
    raise NotImplementedError


@contextmanager
def listening() -> Iterator[None]:
    """Let all widget messages overtake the running cell, as they do while a question waits (for a Stop button)."""
    raise NotImplementedError
    yield


def allow_nested_run() -> None:
    """Let `asyncio.run` and `Runner.run` work under a running loop, until `disallow_nested_run`."""
    raise NotImplementedError


def disallow_nested_run() -> None:
    """Take `allow_nested_run` back."""
    raise NotImplementedError


# ------------------------------------------------------------------ the extension
def install() -> None:
    """Prepare the running kernel, once: `%load_ext` calls it; harmless outside a kernel."""
    raise NotImplementedError


def uninstall() -> None:
    """Take back what `install` changed."""
    raise NotImplementedError
