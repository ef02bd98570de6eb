"""One session with one server, owned by one task that both enters and leaves the SDK's client.

The owner lives in the portal's loop. Calls are made by other tasks of that loop; when the session ends, for whatever
reason, they fail at once and ``failure`` says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import MCPConnectionError
from nbtoolkit.mcp.failure import explain, in_words, refusal
from nbtoolkit.mcp.http import Answers, Headers, http_streams, nothing_listens
from nbtoolkit.mcp.meaning import Meaning, first_of_each
from nbtoolkit.mcp.process import ServerProcess, sdk_streams
from nbtoolkit.mcp.rounds import answers_of
from nbtoolkit.mcp.watch import Watcher
from nbtoolkit.schema.given import bounded_check

if TYPE_CHECKING:
    import mcp
    import mcp_types

    from nbtoolkit.mcp.calls import Heard
    from nbtoolkit.mcp.config import HttpMCPConfig, StdioMCPConfig
    from nbtoolkit.mcp.interaction import Interaction
    from nbtoolkit.mcp.logs import ServerLog
    from nbtoolkit.mcp.watch import Watch

__all__ = ["Session"]

logger = logging.getLogger("nbtoolkit.mcp")

# A first start may download a package; a URL's own timeout rules where there is one.
CONNECT_SECONDS = 60.0
# How often a start looks whether a person is being asked.
CONNECT_STEP = 0.25
# Requests that aren't a tool's run: lists, prompts, resources.
REQUEST_SECONDS = 60.0
# A session that hasn't left by itself is cancelled; a stdio server's own steps end before.
CLOSE_SECONDS = 6.0
# What is wrong with a result may quote all of it.
FAULT_CHARS = 300
# The SDK's words for an HTTP answer that is no message: those of the answer itself say more.
NO_WORDS = "Server returned an error response"
# And for an answer that stopped before it came.
LOST_WORDS = ("SSE stream ended", "SSE stream failed")
# A paginator that never ends must not hang a list.
PAGE_LIMIT = 10_000

# (config, session) -> the SDK client's ``server`` argument; tests put an in-memory server here.
Opener = Callable[[], "AbstractAsyncContextManager[Any]"]


class Session:
    """Opened once, closed once; a new one is made to connect again."""

    def __init__(
        self,
        name: str,
        config: StdioMCPConfig | HttpMCPConfig,
        log: ServerLog,
        headers: Headers,
        interaction: Interaction,
        callbacks: dict[str, Any],
        watch: Watch,
    ) -> None:
        self.name = name
        self.config = config
        self.log = log
        self.headers = headers
        self.interaction = interaction
        self.callbacks = callbacks
        self.watch = watch
        self.watcher: Watcher | None = None
        # Not worth it for one request.
        self.watching = True
        self.answers = Answers(broke_off=self._look_again)
        self._looking: asyncio.Task[None] | None = None
        self._calling = 0
        self.meaning = Meaning()
        self.process: ServerProcess | None = None
        self.client: mcp.Client | None = None
        # What is wrong with the list of its tools, in words.
        self.amiss: list[str] = []
        self.opened_at = time.monotonic()
        self.error: BaseException | None = None
        self.closing = False
        # The definition of a tool by the server's name for it; whoever keeps the list puts itself here.
        self.definition_of: Callable[[str], mcp_types.Tool | None] = lambda _: None
        self._checks: dict[str, tuple[Any, Callable[[Any], Any]]] = {}
        self._over = asyncio.Event()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether calls can be made."""
        process = self.process
        return self.client is not None and not self._stop.is_set() and (process is None or not process.ended.is_set())

    @property
    def opening(self) -> bool:
        """Whether it is on its way."""
        return not self._ready.done()

    # ------------------------------------------------------------------------------------------ from open to close
    async def open(self, timeout: float | None = None) -> None:
        """Connect; a ConnectionError says in words why that couldn't be."""
        limit = timeout
        if limit is None:
            limit = getattr(self.config, "timeout", None) or CONNECT_SECONDS
        self._owner = asyncio.create_task(self._own(), name=f"MCP server {self.name}")
        try:
            in_time = await self._ready_within(limit)
        except asyncio.CancelledError:
            await self.close()
            raise
        if not in_time:
            error = TimeoutError(f"no answer within {limit:g} s")
            await self.close()
            raise explain(self, error, connecting=True)
        if self._ready.exception() is not None:
            await self.close()
            raise explain(self, self.error, connecting=True)

    async def _ready_within(self, limit: float) -> bool:
        """Wait for the answer; the time in which a person is asked doesn't count."""
        while limit > 0:
            step = min(limit, CONNECT_STEP)
            done, _ = await asyncio.wait({self._ready}, timeout=step)
            if done:
                return True
            if not self.interaction.asking:
                limit -= step
        return False

    async def _own(self) -> None:
        try:
            async with self._client() as client:
                client.session.validate_tool_result = self._check_result  # type: ignore[method-assign]
                self.client = client
                if not self._ready.done():
                    self._ready.set_result(None)
                self.watcher = Watcher(client, self.watch)
                try:
                    if self.watching:
                        await self.watcher.start()
                    await self._until_over()
                finally:
                    await self.watcher.stop()
        except Exception as error:
            self.error = error
            logger.debug("the session with the MCP server %r ended", self.name, exc_info=True)
        finally:
            self.client = None
            self._stop.set()
            self._over.set()
            if not self._ready.done():
                self._ready.set_exception(ConnectionError("the session ended"))
            # Somebody may have stopped waiting.
            self._ready.exception() if not self._ready.cancelled() else None

    async def _until_over(self) -> None:
        if self.process is None:
            await self._stop.wait()
            return
        waits = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(self.process.ended.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _client(self) -> mcp.Client:
        import mcp
        import mcp_types

        return mcp.Client(
            self._transport(),
            client_info=mcp_types.Implementation(name="nbtoolkit", version=_version()),
            # We keep the lists ourselves, and know when they change.
            cache=None,
            message_handler=self._on_message,
            log_level="info",
            **self.callbacks,
        )

    def _transport(self) -> Any:
        if self.config.type == "stdio_mcp":
            if sys.platform == "win32":
                return sdk_streams(self.config, self.log)
            self.process = ServerProcess(self.config, self.log, self.meaning)
            return self.process.streams()
        auth = None
        if self.interaction.own_auth is not None or "authorization" not in map(str.lower, self.headers.current()):
            auth = self.interaction.auth(self.name, self.config.url)
        return http_streams(self.config, self.headers, self.answers, auth, self.meaning)

    async def close(self) -> None:
        """End the session, within a bound; nothing that it started is left."""
        self.closing = True
        self._stop.set()
        owner = self._owner
        if owner is None:
            return
        if not self._ready.done():
            # Still connecting: it waits for a server that may never answer.
            owner.cancel()
        await asyncio.wait({owner}, timeout=CLOSE_SECONDS)
        if not owner.done():
            owner.cancel()
            await asyncio.wait({owner}, timeout=CLOSE_SECONDS)

    async def wait_over(self, seconds: float) -> None:
        """Wait for the owner to have left, so that exit code and last words are known."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)

    def give_up(self) -> None:
        """The session is no good any more: let its owner leave."""
        self._stop.set()

    def _look_again(self) -> None:
        """A stream broke off: where nobody is there any more the calls under way are told now."""
        if self._calling and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._give_up_where_gone())

    async def _give_up_where_gone(self) -> None:
        assert self.config.type == "http_mcp"
        if await nothing_listens(self.config.url):
            self.error = self.error or ConnectionRefusedError("nothing listens there")
            self.give_up()

    # -------------------------------------------------------------------------------------- what the server tells
    async def _on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.log.write("protocol", str(message)[:500])
        elif getattr(message, "method", None) == "notifications/tools/list_changed":
            self.watch.on_tools_changed()
        elif getattr(message, "method", None) == "notifications/resources/updated":
            self.watch.updated(str(message.params.uri))

    # ------------------------------------------------------------------------------------------------- requests
    async def list_tools(self) -> list[mcp_types.Tool]:
        """Every tool of every page, the first of each name; MCPConnectionError where the list isn't one."""
        from pydantic import ValidationError

        while True:
            try:
                tools, twice = first_of_each(await self.pages("list_tools", "tools"))
            except ValidationError as error:
                if self.client is not None and self.meaning.look_at_each_tool(self.client.protocol_version):
                    continue
                raise MCPConnectionError(f"The MCP server {self.name!r} lists tools amiss: {in_words(error)}") from None
            self.amiss = [f"{name} is left out ({fault})" for name, fault in self.meaning.left_out.items()]
            self.amiss += [f"{name!r:.100} is there more than once; the first counts" for name in twice]
            for fault in self.amiss:
                self.log.write("protocol", f"of its tools {fault}")
            return tools

    async def pages(self, method: str, field: str) -> list[Any]:
        """Every item of a list that comes in pages."""
        client = self._open_client()
        items: list[Any] = []
        cursor: str | None = None
        led_to: set[str] = set()
        for _ in range(PAGE_LIMIT):
            async with asyncio.timeout(REQUEST_SECONDS):
                page = await getattr(client, method)(cursor=cursor)
            items.extend(getattr(page, field))
            following = page.next_cursor
            if following is None or following in led_to:
                return items
            led_to.add(following)
            cursor = following
        return items

    async def offered(self, method: str, field: str) -> list[Any]:
        """Every item of a list that a server need not have; none where it hasn't."""
        from mcp import MCPError
        from mcp_types import METHOD_NOT_FOUND

        try:
            return await self.pages(method, field)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return []

    async def ask(self, method: str, *args: Any) -> Any:
        """One request of the SDK's client, within the limit for what isn't a tool's run."""
        async with asyncio.timeout(REQUEST_SECONDS):
            return await getattr(self._open_client(), method)(*args)

    async def call_tool(self, name: str, arguments: dict[str, Any], heard: Heard) -> mcp_types.CallToolResult:
        """Call a tool; a server that ends meanwhile ends the call with an MCPError."""
        client = self._open_client()
        calls = self.process.calls if self.process is not None else None
        rounds: dict[str, Any] = {}
        version = client.protocol_version
        stamp = self.process.asked.stamp if self.process is not None and version in self._modern() else {}
        if calls is not None and stamp is not None:
            result = await calls.call(name, arguments, heard, version, stamp)
            if getattr(result, "result_type", "complete") != "input_required":
                called: mcp_types.CallToolResult = result
                if not called.is_error:
                    await self._check_result(name, called)
                return called
            rounds = {"input_responses": await answers_of(client, result), "request_state": result.request_state}

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            heard(progress, total, message)

        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        self._calling += 1
        try:
            return await client.call_tool(name, arguments, progress_callback=progress, **rounds)
        except MCPError as error:
            if error.message == NO_WORDS and (told := refusal(self)):
                # Such as a token that was revoked since.
                raise MCPError(error.code, told) from None
            if error.code == CONNECTION_CLOSED and error.message.startswith(LOST_WORDS):
                raise MCPConnectionError(
                    f"The MCP server {self.name!r} ended the stream, or died, before its answer came, so whether the call "
                    "was carried out isn't known. The next call connects again where need be."
                ) from error
            raise
        finally:
            self._calling -= 1

    async def subscribe(self, uri: str, *, subscribe: bool) -> None:
        """Begin, or end, to be told of a resource."""
        self._open_client()
        if self.watcher is not None:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self.watcher.change(uri, subscribe=subscribe)

    @staticmethod
    @functools.cache
    def _modern() -> tuple[str, ...]:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        return tuple(MODERN_PROTOCOL_VERSIONS)

    async def _check_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        """Hold a result against the tool's own output schema, in the SDK's place: RuntimeError as there.

        The SDK would ask for the tools where it hasn't listed them, and runs a server's patterns in an engine that they
        can stop for ever.
        """
        definition = self.definition_of(name)
        if definition is None or definition.output_schema is None:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            raise RuntimeError(f"Tool {name} has an output schema but did not return structured content")
        schema, check = self._checks.get(name, (None, None))
        if check is None or schema is not definition.output_schema:
            schema, check = definition.output_schema, bounded_check(definition.output_schema)
            self._checks[name] = (schema, check)
        error = check(result.structured_content)
        if error is not None:
            raise RuntimeError(f"Invalid structured content returned by tool {name}: {error.message[:FAULT_CHARS]}")

    def _open_client(self) -> mcp.Client:
        if self.client is None or not self.alive:
            raise explain(self, self.error)
        return self.client


@functools.cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nbtoolkit")
    except PackageNotFoundError:
        return "0"
