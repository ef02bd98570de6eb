"""One at a time: the runs of a tool that isn't safe to run twice at once, whichever agents, loops and threads call it.

A turn is held while the tool runs, not while somebody is asked. A tool that calls itself holds it already. A call that
would wait for one which can't go on before it is refused: a synchronous cell holds up the loop of what runs behind it.
Two tools that call each other crosswise from two agents can still wait for each other; Stop ends that.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.permit import RefusedCall
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from nbtoolkit.tool.base import ToolBase

__all__ = ["in_turn"]


class _Turn:
    """One run's place in the queue of its tool."""

    def __init__(self, tool: ToolBase) -> None:
        self.tool = tool
        self.thread = threading.get_ident()
        self.loop = asyncio.get_running_loop()
        self.has_come: asyncio.Future[None] = self.loop.create_future()
        self.is_held = True

    def let_in(self) -> None:
        """Let it run, from any thread; RuntimeError where its loop is closed."""
        self.loop.call_soon_threadsafe(self._come)

    def _come(self) -> None:
        if not self.has_come.done():
            self.has_come.set_result(None)


_lock = threading.Lock()
# The turn that runs and those that wait, by the tool's identity in memory: a tool may be in several toolkits.
_queues: dict[int, deque[_Turn]] = {}
_held: ContextVar[tuple[_Turn, ...]] = ContextVar("nbtoolkit_turns", default=())


@asynccontextmanager
async def in_turn(tool: ToolBase) -> AsyncGenerator[None, None]:
    """Wait until no other call runs the tool, and keep others waiting meanwhile."""
    held = tuple(turn for turn in _held.get() if turn.is_held)
    if any(turn.tool is tool for turn in held):
        yield
        return
    turn = _Turn(tool)
    if not _enter(turn):
        raise RefusedCall(ToolChunk.of(_busy(tool.name), ToolResultState.ERROR))
    try:
        await turn.has_come
        _held.set((*held, turn))
        yield
    finally:
        _leave(turn)


def _enter(turn: _Turn) -> bool:
    """Stand in the queue; False where somebody in it can't go on before this call ends."""
    with _lock:
        queue = _queues.setdefault(id(turn.tool), deque())
        if any(other.thread == turn.thread and other.loop is not turn.loop for other in queue):
            return False
        queue.append(turn)
        if len(queue) == 1:
            turn.has_come.set_result(None)
    return True


def _leave(turn: _Turn) -> None:
    turn.is_held = False
    with _lock:
        queue = _queues[id(turn.tool)]
        was_first = queue[0] is turn
        queue.remove(turn)
        following = queue[0] if queue and was_first else None
        if not queue:
            del _queues[id(turn.tool)]
    if following is not None:
        try:
            following.let_in()
        except RuntimeError:  # its loop was closed under it
            _leave(following)


def _busy(name: str) -> str:
    return (
        f"The tool '{name}' is run by another call, which can't go on before this one ends, and it isn't safe to run "
        "twice at once, so it was not run. Await this call, `await toolkit.call(...)`, or let the other one end first."
    )
