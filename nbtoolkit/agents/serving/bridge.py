"""The served notebook on stdio, for MCP clients that start their servers.

It promises: whatever the client's stdio speaks, of whichever protocol version, is passed on to the server in the kernel
with its progress, cancellation and changes; each start of this is one conversation there; a kernel that was started again
and serves again is found again at the next call; and it ends with the client's stdin.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from nbtoolkit.agents.serving import attach
from nbtoolkit.agents.serving.words import INSTRUCTIONS, NAME, TITLE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import mcp
    import mcp_types
    from mcp.server.context import ServerRequestContext

__all__ = ["Bridge", "run"]

logger = logging.getLogger("nbtoolkit.serving")

# A person may take all day; the server in the kernel says itself when a call is lost.
NO_LIMIT = None
CONNECT_SECONDS = 10.0


class Bridge:
    """One client's stdio, and the way to the kernel, made anew where it broke."""

    def __init__(self, find: Callable[[], dict[str, Any]]) -> None:
        self._find = find
        self._access: dict[str, Any] | None = None
        self._upstream: _Upstream | None = None
        self._lock = asyncio.Lock()
        self._name = "stdio client"
        self._session: Any = None
        self._bus: Any = None

    async def serve(self) -> None:
        """Speak on stdin and stdout until the client hangs up."""
        from mcp.server import NotificationOptions, Server
        from mcp.server.stdio import stdio_server
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        import nbtoolkit

        self._bus = InMemorySubscriptionBus()
        server: Server[Any] = Server(
            NAME,
            title=TITLE,
            version=nbtoolkit.__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        try:
            # At once, since a client looks at why a server ended when it starts it, and rarely later.
            self._access = await asyncio.to_thread(self._find)
            async with stdio_server() as (read, write):
                options = server.create_initialization_options(NotificationOptions(tools_changed=True))
                await server.run(read, write, options)
        finally:
            await self._let_go()

    # ------------------------------------------------------------------ the client's requests
    async def _list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        self._met(ctx)
        cursor = None if params is None else params.cursor
        listed: mcp_types.ListToolsResult = await self._do(
            lambda client: client.list_tools(cursor=cursor, cache_mode="bypass")
        )
        return listed

    async def _call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        self._met(ctx)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        try:
            result: mcp_types.CallToolResult = await self._do(
                lambda client: client.session.call_tool(params.name, params.arguments, progress_callback=report)
            )
        except (attach.NotServing, ConnectionError) as error:
            # With the pipeline behind it, which nothing else here needs.
            from nbtoolkit.agents.serving import forms

            return forms.error(f"The tool {params.name!r} gave no result: {error}")
        return result

    def _met(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._session = ctx.session
        info = ctx.session.client_params
        self._name = info.client_info.name if info is not None else self._name

    async def _do(self, act: Callable[[mcp.Client], Coroutine[Any, Any, Any]]) -> Any:
        """Ask the kernel; once more where it turns out to be another one than before."""
        upstream = await self._kernel()
        try:
            return await upstream.run(act)
        except _Gone as gone:
            # Only what never reached it is asked again.
            again = await self._kernel(instead_of=upstream)
            if not gone.unsent:
                raise ConnectionError("the notebook's kernel ended, or stopped serving, before it answered") from None
            return await again.run(act)

    # ------------------------------------------------------------------ the way to the kernel
    async def _kernel(self, instead_of: _Upstream | None = None) -> _Upstream:
        async with self._lock:
            held = self._upstream
            if held is None or held is instead_of or held.ended:
                await self._let_go()
                known, self._access = self._access, None
                access = await asyncio.to_thread(self._find) if known is None else known
                self._upstream = held = _Upstream(access, self._name, self._changed)
                await held.start()
            return held

    async def _let_go(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            await upstream.stop()

    async def _changed(self) -> None:
        from mcp.server.subscriptions import ToolsListChanged

        if self._session is not None:
            with contextlib.suppress(Exception):  # it is hanging up
                await self._session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())


class _Gone(Exception):  # noqa: N818 - it is caught here, always
    """The kernel's server is no longer there."""

    def __init__(self, *, unsent: bool) -> None:
        super().__init__()
        self.unsent = unsent


class _Upstream:
    """The SDK's client of the server in the kernel, in a task of its own, as its context wants."""

    def __init__(self, access: dict[str, Any], name: str, changed: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._access = access
        self._name = name
        self._changed = changed
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: mcp.Client | None = None

    @property
    def ended(self) -> bool:
        return self._task is None or self._task.done()

    async def start(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        await ready

    async def stop(self) -> None:
        self._end.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CONNECT_SECONDS)
            self._task.cancel()

    async def run(self, act: Callable[[mcp.Client], Coroutine[Any, Any, Any]]) -> Any:
        """Do it with the client; _Gone where the server is no longer there, with a word on whether it was asked."""
        client, task = self._client, self._task
        if client is None or task is None or task.done() or not await self._answers(client):
            raise _Gone(unsent=True)
        asked: asyncio.Future[Any] = asyncio.ensure_future(act(client))
        waited: set[asyncio.Future[Any]] = {asked, task}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise _Gone(unsent=False)
            if asked.exception() is not None and not await self._answers(client):
                raise _Gone(unsent=False)
            return await asked
        finally:
            if not asked.done():
                asked.cancel()
                await asyncio.wait({asked}, timeout=CONNECT_SECONDS)

    async def _answers(self, client: mcp.Client) -> bool:
        """Whether the very server that the session is with is still there; it answers while its kernel is busy, too."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await client.send_ping()
        except Exception:  # noqa: BLE001 - each library below has its own words for it
            return False
        return True

    async def _live(self, ready: asyncio.Future[None]) -> None:
        import httpx2
        import mcp
        import mcp_types
        from mcp.client.streamable_http import streamable_http_client

        async def heard(message: Any) -> None:
            if isinstance(message, mcp_types.ToolListChangedNotification):
                await self._changed()

        async with AsyncExitStack() as stack:
            try:
                limits = httpx2.Timeout(NO_LIMIT, connect=CONNECT_SECONDS)
                headers = dict(self._access["headers"])
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=limits))
                # The handshake's protocol: its session is this client's conversation, and its stream brings the changes.
                self._client = await stack.enter_async_context(
                    mcp.Client(
                        streamable_http_client(self._access["url"], http_client=http),
                        mode="legacy",
                        message_handler=heard,
                        client_info=mcp_types.Implementation(name=self._name, version="stdio"),
                    )
                )
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(attach.NotServing(f"the kernel's server can't be reached: {error!r}"))
                raise
            ready.set_result(None)
            await self._end.wait()


def run(connection_file: str | None) -> int:
    """Serve on stdio until the client hangs up; an exit code."""
    import warnings

    # It has gone from the newest protocol, which isn't the one that is spoken with the kernel.
    warnings.filterwarnings("ignore", message="ping is removed")
    try:
        asyncio.run(Bridge(lambda: attach.find(connection_file)).serve())
    except attach.NotServing as error:
        print(f"nbtoolkit: {error}", file=sys.stderr)  # noqa: T201 - the client's log is all there is
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
