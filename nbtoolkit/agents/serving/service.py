"""What the server answers: the tools that a client may see, and its calls.

Each client is a conversation of its own: the groups that it switched on and the files that it read are its own, the
rules, grants and mode are the notebook's. Groups that the notebook switches are switched for all. Tools are listed from
the registry as it stands, also while the kernel is busy; a call waits for the kernel for a bounded time, and for a
person without a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtoolkit.agents.serving import forms
from nbtoolkit.agents.serving.call import OwnThread, ServedCall
from nbtoolkit.agents.serving.words import INSTRUCTIONS, NAME, TITLE
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.approval import Origin
from nbtoolkit.state import AgentState, ToolContext
from nbtoolkit.tool import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import mcp_types
    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from nbtoolkit.agents.serving.call import Runner
    from nbtoolkit.tool.progress import Progress
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Service"]

logger = logging.getLogger("nbtoolkit.serving")

# Official clients give up a request after 60 s: the reason should come before that.
BUSY_SECONDS = 50.0
# A client that is told of progress waits on; this often it is told that a call still waits.
TELL_EVERY = 5.0
# Calls of all clients that are under way or wait; more than that is a client that doesn't wait for its answers.
MAX_CALLS = 64
# Clients whose groups and read files are remembered; the least recent go. Fewer than a toolkit keeps engines for.
MAX_CLIENTS = 48
# Arguments as JSON; a request is bounded too, but by what a picture takes.
MAX_ARGUMENTS = 1_000_000
# A waiting call's reports count in steps so small that a tool's own, from 0 or 1 on, come above them.
WAITING_STEP = 1e-6
NAME_CHARS = 80


@dataclass(eq=False)
class _Client:
    """One conversation."""

    name: str
    state: AgentState
    #: The latest request's session: the way to tell it of changes.
    session: Any = None
    calls: int = 0
    under_way: set[ServedCall] = field(default_factory=set)


class Service:
    """The toolkit's tools for MCP clients, whatever the transport; lives in the server's thread."""

    def __init__(self, toolkit: Toolkit, runner: Runner | None = None, *, name: str = NAME) -> None:
        self.toolkit = toolkit
        self.runner: Runner = OwnThread() if runner is None else runner
        self.name = name
        self.busy_seconds = BUSY_SECONDS
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._calls: dict[str, ServedCall] = {}
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._groups = frozenset(toolkit.state.tool_context.activated_groups)
        self._told: Any = None
        self._schemas: dict[str, Any] = {}
        # Is told, in the server's thread, of the name of each client that comes.
        self.on_client: Callable[[str], None] | None = None
        self._bus: Any = None

    # ------------------------------------------------------------------ the SDK's server
    def server(self) -> Server[Any]:
        """The SDK's server over this toolkit; one for each transport."""
        from mcp.server import NotificationOptions, Server
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        import nbtoolkit

        class ToolkitServer(Server[Any]):
            """A server that says that its tools may change: the SDK's own transports don't ask for options."""

            def create_initialization_options(
                self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
            ) -> Any:
                changes = notification_options or NotificationOptions(tools_changed=True)
                return super().create_initialization_options(changes, *args, **kwargs)

        self._bus = InMemorySubscriptionBus()
        server = ToolkitServer(
            self.name,
            title=TITLE,
            version=nbtoolkit.__version__,
            instructions=INSTRUCTIONS,
            # Else each call of the newest protocol would list all tools to check its headers.
            get_tool_input_schema=self._schemas.get,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        server.middleware.append(self._meet)
        progress.observers.append(self._heard)
        return server

    def close(self) -> None:
        """Stop what is under way; from any thread."""
        with contextlib.suppress(ValueError):
            progress.observers.remove(self._heard)
        for call in list(self._calls.values()):
            call.cancel()

    async def _meet(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Keep the way to every client, from its first word on."""
        if ctx.method != "initialize":  # which doesn't know its session yet
            self._client(ctx)
        return await call_next(ctx)

    def _client(self, ctx: ServerRequestContext[Any, Any]) -> _Client:
        headers = getattr(ctx.request, "headers", None)
        session_id = None if headers is None else headers.get("mcp-session-id")
        info = ctx.session.client_params.client_info if ctx.session.client_params is not None else None
        name = _tidy(info.name) if info is not None else "a client"
        # The newest protocol has no sessions: there a client is its name.
        key = session_id or f"name:{name}"
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = _Client(name, self._new_state())
            self._forget()
            if self.on_client is not None:
                self.on_client(name)
        self._clients.move_to_end(key)
        if session_id is not None or headers is None:
            client.session = ctx.session
        return client

    def _forget(self) -> None:
        for key, client in list(self._clients.items()):
            if len(self._clients) <= MAX_CLIENTS:
                break
            if not client.under_way:
                del self._clients[key]

    def _new_state(self) -> AgentState:
        own = self.toolkit.state
        # assigned, since pydantic would copy the context on validation, and its rules are to be the same list.
        state = AgentState(tool_context=ToolContext(activated_groups=list(own.tool_context.activated_groups)))
        state.permission_context = own.permission_context
        return state

    @property
    def clients(self) -> list[tuple[str, int]]:
        """Who has been here, and how many calls each has made."""
        return [(client.name, client.calls) for client in self._clients.values()]

    # ------------------------------------------------------------------ listing
    async def list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """The tools of the groups that are on for this client."""
        import mcp_types

        if params is not None and params.cursor is not None:
            from mcp.shared.exceptions import MCPError

            raise MCPError(
                mcp_types.INVALID_PARAMS, f"the cursor {params.cursor!r:.80} is not known: all is in one page"
            )
        state = self._client(ctx).state
        tools = await self.toolkit.all_tools()
        if self._told is None:
            self._told = _told(tools, self._groups)
        listed = [forms.to_definition(tool, group) for group, tool in tools if self.toolkit.is_active(group, state)]
        self._schemas.update((tool.name, tool.input_schema) for tool in listed)
        return mcp_types.ListToolsResult(tools=listed)

    async def look(self) -> bool:
        """Tell the clients where tools have come, gone or changed since they were last told; whether they were."""
        before, now = self._groups, frozenset(self.toolkit.state.tool_context.activated_groups)
        for client in self._clients.values():
            context = client.state.tool_context
            kept = [name for name in context.activated_groups if name not in before - now]
            context.activated_groups = [*kept, *sorted(now - before - set(kept))]
            client.state.permission_context = self.toolkit.state.permission_context
        self._groups = now
        if self._told is None:  # nobody has seen any yet
            return False
        told = _told(await self.toolkit.all_tools(), now)
        if told == self._told:
            return False
        self._told = told
        await self._tell(self._clients.values())
        return True

    async def _tell(self, clients: Iterable[_Client]) -> None:
        from mcp.server.subscriptions import ToolsListChanged

        for client in list(clients):
            if client.session is not None:
                try:
                    await client.session.send_tool_list_changed()
                except Exception:  # noqa: BLE001 - it has gone, and the others are to be told all the same
                    client.session = None
        await self._bus.publish(ToolsListChanged())

    # ------------------------------------------------------------------ calling
    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        """Queue the call, tell of its progress, and give its result."""
        client = self._client(ctx)
        text = json.dumps(params.arguments or {}, ensure_ascii=False)
        refused = self._refused(params.name, text)
        if refused is not None:
            return forms.error(refused)
        call = ServedCall(
            self.toolkit, params.name, text, client.state, Origin("server", name=client.name), self._alone
        )
        client.calls += 1
        client.under_way.add(call)
        self._calls[call.call.id] = call
        groups = list(client.state.tool_context.activated_groups)
        try:
            return await self._await(call, ctx)
        finally:
            call.cancel()
            self._calls.pop(call.call.id, None)
            client.under_way.discard(call)
            if client.state.tool_context.activated_groups != groups:
                await asyncio.shield(self._tell([client]))

    def _refused(self, name: str, text: str) -> str | None:
        if len(self._calls) >= MAX_CALLS:
            return f"{MAX_CALLS} calls wait or run here already, so {name!r:.80} was not run. Wait for their results."
        if len(text) > MAX_ARGUMENTS:
            return (
                f"The arguments of {name!r:.80} are {len(text):,} characters of JSON, more than {MAX_ARGUMENTS:,}, "
                "so it was not run."
            )
        return None

    def _alone(self) -> asyncio.Lock:
        """What tools that run alone are to hold, in the loop that runs."""
        loop = asyncio.get_running_loop()
        return self._locks.setdefault(loop, asyncio.Lock())

    async def _await(self, call: ServedCall, ctx: ServerRequestContext[Any, Any]) -> mcp_types.CallToolResult:
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(news.set)

        call.on_report(wake)
        result = asyncio.wrap_future(call.future)
        teller = _Teller(ctx)
        self.runner.submit(call)
        late = loop.time() + self.busy_seconds
        while not result.done():
            left = TELL_EVERY if call.has_begun else min(TELL_EVERY, max(0.0, late - loop.time()))
            waiter: asyncio.Future[Any] = asyncio.ensure_future(news.wait())
            waited: set[asyncio.Future[Any]] = {result, waiter}
            try:
                await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiter.cancel()
            news.clear()
            report = call.take_report()
            if report is not None:
                await teller.tell(*report)
            if result.done():
                break
            if not call.has_begun and loop.time() >= late and call.future.cancel():
                return forms.error(
                    f"The tool {call.name!r} was not run: {self.runner.why_busy()}, and was not free for it within "
                    f"{self.busy_seconds:g} s. Call it again later."
                )
            if await _has_gone(ctx):
                # Its stream can't be taken up again, so nobody would ever read the result.
                call.cancel()
                return forms.error("The client has gone.", ToolResultState.INTERRUPTED)
            if report is not None:
                continue
            if not call.has_begun:
                await teller.wait(f"{call.name} waits: {self.runner.why_busy()}")
            elif call.waits_for is not None:
                await teller.wait(f"{call.name} {call.waits_for}")
        return await result

    def _heard(self, report: Progress) -> None:
        """A tool's report, in the thread that runs it."""
        call = self._calls.get(getattr(report.call, "id", None) or "")
        if call is not None and not report.ended:
            call.report(report.progress, report.total, report.message)


async def _has_gone(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the connection that asked was closed; its protocol calls that no cancellation, unlike the newest one."""
    request = ctx.request
    return request is not None and bool(await request.is_disconnected())


class _Teller:
    """Reports to one request's client; each number is above the last, as the protocol asks."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._session = ctx.session
        self._last = -1.0
        self._waits = itertools.count(1)

    async def wait(self, message: str) -> None:
        """Say that the call still waits, and for what."""
        step = next(self._waits) * WAITING_STEP
        await self.tell(step if self._last < 0 else self._last + WAITING_STEP, None, message)

    async def tell(self, number: float, total: float | None, message: str | None) -> None:
        """Pass on a report, if it is one of more progress than the last."""
        if number > self._last:
            self._last = number
            await self._session.report_progress(float(number), total, message)


def _told(tools: list[Any], active: frozenset[str]) -> tuple[Any, ...]:
    """What clients know of the tools, to be compared."""
    known = tuple(
        (group.name, tool.name, tool.description, json.dumps(tool.input_schema, default=str), tool.is_read_only)
        for group, tool in tools
    )
    return (known, active)


def _tidy(name: str) -> str:
    """A client's name for itself, as it may be shown: one line, bounded."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:NAME_CHARS] or "a client"
