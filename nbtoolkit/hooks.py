"""Where a notebook, or another host, plugs itself in below the packages that know it.

Nothing here imports a notebook. Without a host the defaults are a script's: coroutines run in a loop of their own and
nobody answers a question.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission.approval import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.result import ToolChunk, ToolResponse
    from nbtoolkit.tool.run import ToolCall
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = [
    "CallObserver",
    "caller",
    "chat_view",
    "default_approver",
    "drive",
    "get_toolkit",
    "observers",
    "origin",
    "place",
    "stoppable",
]

T = TypeVar("T")


class CallObserver(Protocol):
    """Is told of every toolkit's calls; what it raises is logged and goes no further."""

    def started(self, call: ToolCall) -> None:
        """The call was judged and allowed, and its tool begins."""

    def chunk(self, call: ToolCall, chunk: ToolChunk) -> None:
        """The tool gave an increment."""

    def ended(self, call: ToolCall, entry: LogEntry, response: ToolResponse) -> None:
        """The call has its result, whatever that is."""


def _drive(coroutine: Coroutine[Any, Any, T]) -> T:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise DeveloperOrientedException(
        "a blocking call was made where an event loop runs; write `await toolkit.call(...)` there. In a notebook "
        "`%load_ext nbtoolkit` makes blocking calls work too."
    )


_SCRIPT = Origin("script")


def _origin() -> Origin:
    return _SCRIPT


def _nowhere() -> None:
    return None


_toolkit: Toolkit | None = None


def get_toolkit() -> Toolkit:
    """The process's own toolkit, made when first asked for."""
    global _toolkit
    if _toolkit is None:
        from nbtoolkit.tool.toolkit import Toolkit

        _toolkit = Toolkit()
    return _toolkit


drive: Callable[[Coroutine[Any, Any, Any]], Any] = _drive
default_approver: Approver | None = None
origin: Callable[[], Origin] = _origin
# Who a call is for that comes from elsewhere than the host's own code, such as a client of the MCP server.
caller: ContextVar[Origin | None] = ContextVar("nbtoolkit_caller", default=None)
# Makes what shows a conversation with a model as it goes, a ChatView; without one it is printed.
chat_view: Callable[[], Any] | None = None
# What the host needs to find the place of a call's output again; ToolCall.place keeps it.
place: Callable[[], Any] = _nowhere
# Stands around each run of a synchronous function in the calling thread; a stop there is raised as Interrupted.
stoppable: Callable[[], AbstractContextManager[None]] | None = None
observers: list[CallObserver] = []
