"""The live half of an MCPClient: its session, the list of its tools, its headers and its calls under way.

Everything here runs in the portal's loop, one connection's steps in order; what other threads may look at are plain
attributes. A session that died is opened again by the next call, once.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.exception import MCPConnectionError, MCPDefinitionError
from nbtoolkit.mcp import failure
from nbtoolkit.mcp.failure import explain, is_closed, is_lost_session
from nbtoolkit.mcp.http import Headers, snapshot
from nbtoolkit.mcp.logs import ServerLog
from nbtoolkit.mcp.portal import at_shutdown
from nbtoolkit.mcp.process import dismiss_guardian, hurry
from nbtoolkit.mcp.session import Session
from nbtoolkit.mcp.status import Flight
from nbtoolkit.mcp.watch import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import mcp_types

    from nbtoolkit.mcp.caller import Caller
    from nbtoolkit.mcp.calls import Heard
    from nbtoolkit.mcp.config import HttpMCPConfig, StdioMCPConfig
    from nbtoolkit.mcp.interaction import Interaction

__all__ = ["Connection"]

logger = logging.getLogger("nbtoolkit.mcp")

# How long a dead server's last words and exit code are waited for before its calls are told.
LAST_WORDS_SECONDS = 2.0
# A list that changed while it was read is read again, so many times in all: some servers tell of a change whenever they
# are asked for it.
LISTINGS = 3

T = TypeVar("T")


class Connection:
    """One server, for as long as its client lives."""

    def __init__(
        self, name: str, config: StdioMCPConfig | HttpMCPConfig, stateful: bool, interaction: Interaction
    ) -> None:
        self.name = name
        self.config = config
        self.stateful = stateful
        self.interaction = interaction
        self.headers = Headers(static=dict(getattr(config, "headers", None) or {}))
        self.log = ServerLog(name)
        self.session: Session | None = None
        # Whether the user wants it open; a session may have died nonetheless.
        self.wanted = False
        self.definitions: list[mcp_types.Tool] | None = None
        self.amiss: list[str] = []
        # Counts the lists that were taken; whoever keeps something made of one compares it.
        self.edition = 0
        self._indexed: tuple[list[mcp_types.Tool] | None, dict[str, mcp_types.Tool]] = (None, {})
        self.flights: dict[int, Flight] = {}
        self.watch = Watch(self.drop_list)
        self.starts = 0
        self._lock = asyncio.Lock()
        self._listing = asyncio.Lock()

    @property
    def alive(self) -> bool:
        """Whether there is a session that works."""
        return self.session is not None and self.session.alive

    # --------------------------------------------------------------------------------------------- open and close
    async def connect(self, caller: Caller, timeout: float | None = None) -> None:
        """Open the session, if there is none."""
        async with self._lock:
            with self.interaction.called_by(caller):
                if not self.alive:
                    await self._open(timeout)
            self.wanted = True

    async def _open(self, timeout: float | None = None) -> Session:
        if self.session is not None:
            await self.session.close()
        self.drop_list()
        session = self._new_session()
        self.session = session
        _open.add(self)
        try:
            await session.open(timeout)
        except BaseException:
            self.session = None
            _open.discard(self)
            raise
        self.starts += 1
        return session

    def _new_session(self) -> Session:
        callbacks = self.interaction.callbacks(self)
        session = Session(self.name, self.config, self.log, self.headers, self.interaction, callbacks, self.watch)
        session.definition_of = self._known
        return session

    async def close(self) -> None:
        """End the session; a client that was never connected has nothing to close."""
        self.wanted = False
        session = self.session
        if session is not None:
            # Not under the lock: a start that hangs holds it.
            await session.close()
        async with self._lock:
            if self.session is session:
                self.session = None
                _open.discard(self)
        self.drop_list()

    async def ensure(self) -> Session:
        """The session that works, opened again where it has died."""
        session = self.session
        if session is not None and session.alive:
            return session
        async with self._lock:
            if self.session is not None and self.session.alive:
                return self.session
            if not self.wanted:
                raise MCPConnectionError(
                    f"The MCP client '{self.name}' is stateful, but not connected. Connect it with "
                    f"'await client.connect()' first{failure.restart_hint(self.name)}."
                )
            self.log.note("starting again")
            return await self._open()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Session]:
        """A session for one request: the one there is, or where the client keeps none, one for this alone."""
        if self.stateful:
            yield await self.ensure()
            return
        session = self._new_session()
        session.watching = False
        await session.open()
        try:
            yield session
        finally:
            await asyncio.shield(asyncio.ensure_future(session.close()))

    # -------------------------------------------------------------------------------------------------- the tools
    def drop_list(self) -> None:
        """The list is no longer the server's."""
        self.definitions = None
        self.edition += 1

    async def tools(self, session: Session | None = None) -> list[mcp_types.Tool]:
        """All tools, from the cache or, once for all who wait, from the server."""
        if self.definitions is not None:
            return self.definitions
        async with self._listing:
            listings = 0
            while self.definitions is None:
                edition, listings = self.edition, listings + 1
                if session is None:
                    async with self.use() as own:
                        found, self.amiss = await self.request(own, own.list_tools()), own.amiss
                else:
                    found, self.amiss = await session.list_tools(), session.amiss
                if edition == self.edition or not self.stateful:
                    self.definitions = found
                elif session is not None or listings == LISTINGS:
                    # Changed while it was read, so whoever asks next reads it again.
                    return found
            return self.definitions

    def _known(self, name: str, definitions: list[mcp_types.Tool] | None = None) -> mcp_types.Tool | None:
        listed = self.definitions if definitions is None else definitions
        if listed is not self._indexed[0]:
            self._indexed = (listed, {tool.name: tool for tool in listed or ()})
        return self._indexed[1].get(name)

    def _check(self, expected: mcp_types.Tool, definitions: list[mcp_types.Tool] | None) -> None:
        """What was looked up, judged and approved must be what runs; a server may have changed it meanwhile."""
        current = self._known(expected.name, definitions)
        if current is expected or definitions is None:
            return
        if current is None:
            raise MCPDefinitionError(f"The MCP server {self.name!r} has no tool {expected.name!r} any more.")
        if (current.description, current.input_schema) != (expected.description, expected.input_schema):
            raise MCPDefinitionError(
                f"The MCP server {self.name!r} has changed the definition of {expected.name!r} since it was looked up, "
                "so the call was not run. Look at the tool again before you call it."
            )

    async def request(self, session: Session, request: Awaitable[T]) -> T:
        """Await a request; one that the server's end cut off says why."""
        try:
            return await request
        except Exception as error:
            if not is_closed(error):
                raise
            session.give_up()
            await session.wait_over(LAST_WORDS_SECONDS)
            raise explain(session, session.error) from error

    async def fetch(self, ask: Callable[[Session], Awaitable[T]], caller: Caller) -> T:
        """Make a request that is no tool's run, with the headers of now."""
        headers = self.headers.current()
        with self.interaction.called_by(caller):
            async with self.use() as session:
                kept = snapshot.set(headers)
                try:
                    return await self.request(session, ask(session))
                finally:
                    snapshot.reset(kept)

    async def subscribe(self, uri: str, on_update: Callable[[str], object], caller: Caller) -> None:
        """Have a function told of a resource's changes."""
        first = uri not in self.watch.resources
        self.watch.resources.setdefault(uri, []).append(on_update)
        if not first:
            return
        try:
            await self.fetch(lambda session: session.subscribe(uri, subscribe=True), caller)
        except BaseException:
            self.watch.resources.pop(uri, None)
            raise

    async def unsubscribe(self, uri: str, caller: Caller) -> None:
        """Have nobody told of it any more."""
        if self.watch.resources.pop(uri, None) is not None and self.alive:
            await self.fetch(lambda session: session.subscribe(uri, subscribe=False), caller)

    # -------------------------------------------------------------------------------------------------- the calls
    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        timeout: float | None,
        on_progress: Callable[[dict[str, Any]], None] | None,
        caller: Caller,
        expected: mcp_types.Tool | None = None,
    ) -> mcp_types.CallToolResult:
        """Call a tool by the server's own name for it."""
        flight = Flight(name)
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is not None:
            stop = task.cancel
            flight.cancel = lambda: loop.call_soon_threadsafe(stop)
        self.flights[flight.number] = flight

        def progress(value: float, total: float | None, message: str | None) -> None:
            flight.progress = {"progress": value, "total": total, "message": message}
            if on_progress is not None:
                on_progress(flight.progress)

        try:
            with self.interaction.called_by(caller) as call:
                if timeout is None:
                    return await self._call(name, arguments, progress, expected)
                async with asyncio.timeout(timeout) as call.limit:
                    return await self._call(name, arguments, progress, expected)
        finally:
            del self.flights[flight.number]

    async def _call(
        self, name: str, arguments: dict[str, Any], progress: Heard, expected: mcp_types.Tool | None
    ) -> mcp_types.CallToolResult:
        headers = self.headers.current()
        again = self.stateful
        while True:
            async with self.use() as session:
                definitions = self.definitions
                if self.stateful and definitions is None:
                    # The SDK needs the definitions, for output schemas and for arguments that travel as headers.
                    definitions = await self.request(session, self.tools(session))
                if expected is not None:
                    self._check(expected, definitions)
                if not self.stateful:
                    session.definition_of = lambda called: self._known(called) or expected
                kept = snapshot.set(headers)
                try:
                    return await self.request(session, session.call_tool(name, arguments, progress))
                except Exception as error:
                    if not (again and is_lost_session(error)):
                        raise
                    # The server forgot the session, so it hasn't run the call: once more, in a new one.
                    again = False
                    session.give_up()
                    await session.wait_over(LAST_WORDS_SECONDS)
                finally:
                    snapshot.reset(kept)


_open: set[Connection] = set()


async def _close_all() -> None:
    hurry.set()
    await asyncio.gather(*(connection.close() for connection in list(_open)), return_exceptions=True)
    dismiss_guardian()


at_shutdown(_close_all)
