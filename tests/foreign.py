"""A foreign MCP client, the SDK's own, in a thread: its calls are futures, so that a test can do other things meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

# No wait of a test may outlast this.
PATIENCE = 30.0


class ForeignClient:
    """Connected to a server by its address, until ``close``."""

    def __init__(self, access: Mapping[str, Any] | Sequence[str], mode: str = "auto") -> None:
        """Connect to an address, or to a command that speaks on stdio."""
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="foreign-client", daemon=True)
        self.thread.start()
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.heard: list[str] = []
        self._ends = asyncio.Event()
        self._connected: Future[None] = Future()
        self._life = self.run(self._live(access, mode))
        self._life.add_done_callback(self._ended)
        self._connected.result(PATIENCE)

    def _ended(self, life: Future[None]) -> None:
        if not self._connected.done():
            self._connected.set_exception(life.exception() or AssertionError("it ended before it was connected"))

    async def _live(self, access: Mapping[str, Any] | Sequence[str], mode: str) -> None:
        import httpx2
        import mcp
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        async def heard(message: Any) -> None:
            self.heard.append(str(getattr(message, "method", type(message).__name__)))

        async with AsyncExitStack() as stack:
            transport: Any
            if isinstance(access, Mapping):
                http = httpx2.AsyncClient(headers=dict(access["headers"]), timeout=PATIENCE)
                transport = streamable_http_client(access["url"], http_client=await stack.enter_async_context(http))
            else:
                command, *arguments = access
                transport = stdio_client(mcp.StdioServerParameters(command=command, args=arguments))
            self.client = await stack.enter_async_context(mcp.Client(transport, mode=mode, message_handler=heard))
            self._connected.set_result(None)
            await self._ends.wait()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine of this client."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def call(self, name: str, **arguments: Any) -> Future[Any]:
        """Start a call; its future is cancelled as a client cancels."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, total, message))

        return self.run(self.client.call_tool(name, arguments, progress_callback=report))

    def tools(self) -> list[str]:
        """The names of the tools that the server lists."""
        listed = self.run(self.client.list_tools(cache_mode="refresh")).result(PATIENCE)
        return [tool.name for tool in listed.tools]

    def close(self) -> None:
        """Disconnect and end the thread."""
        self.loop.call_soon_threadsafe(self._ends.set)
        self._life.result(PATIENCE)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


def text(result: Any) -> str:
    """The text of a call's result."""
    return "".join(block.text for block in result.content if block.type == "text")
