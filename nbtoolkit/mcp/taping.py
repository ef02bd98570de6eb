"""Where a cassette stands between a client and its server: whoever records or replays puts itself here.

Nothing here knows cassettes; without one the cost is a look at a variable.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import mcp_types

    from nbtoolkit.mcp.client import MCPClient

__all__ = ["ServerTape", "questions", "tape"]

T = TypeVar("T")


class ServerTape(Protocol):
    """Is asked in a server's place; ``real`` does what would be done without it."""

    async def connect(self, client: MCPClient, real: Callable[[], Awaitable[None]]) -> None:
        """Open the client's session."""

    async def tools(
        self, client: MCPClient, real: Callable[[], Awaitable[list[mcp_types.Tool]]]
    ) -> list[mcp_types.Tool]:
        """The definitions of all tools."""

    async def call(
        self,
        client: MCPClient,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None,
        real: Callable[[Callable[[dict[str, Any]], None] | None], Awaitable[mcp_types.CallToolResult]],
    ) -> mcp_types.CallToolResult:
        """One call; ``real`` takes the listener to progress."""

    async def fetch(
        self,
        client: MCPClient,
        ask: Callable[[Any], Awaitable[T]],
        real: Callable[[Callable[[Any], Awaitable[T]]], Awaitable[T]],
    ) -> T:
        """One other request: ``ask`` takes a session, or what stands for one."""

    def log(self, client: MCPClient, lines: list[str]) -> list[str]:
        """What somebody looks at of a server's log; ``lines`` are those there are."""


tape: ServerTape | None = None
# What servers asked during the call that is under way, each with its answer.
questions: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("nbtoolkit_mcp_questions", default=None)
