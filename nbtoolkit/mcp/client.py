"""MCPClient: one MCP server, attached once and usable from any cell, loop or thread.

The model holds the configuration and nothing live; the session lives in the portal's thread.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import threading
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.mcp import nested, taping
from nbtoolkit.mcp.choice import is_shown, list_faults, unknown_names
from nbtoolkit.mcp.config import HttpMCPConfig, MCPConfig, StdioMCPConfig
from nbtoolkit.mcp.http import check_headers
from nbtoolkit.mcp.interaction import ElicitationHandler, Interaction, SamplingHandler
from nbtoolkit.mcp.naming import tool_names
from nbtoolkit.mcp.oauth import SignInHandler
from nbtoolkit.mcp.offers import Offers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    import httpx2
    import mcp_types

    from nbtoolkit.mcp.changes import DefinitionChange
    from nbtoolkit.mcp.connection import Connection
    from nbtoolkit.mcp.oauth import OAuthClient
    from nbtoolkit.mcp.session import Session
    from nbtoolkit.mcp.status import ServerStatus
    from nbtoolkit.mcp.tool import MCPTool

__all__ = ["MCPClient"]

T = TypeVar("T")

_NAME = re.compile(r"[a-zA-Z0-9_-]+")


class _Live:
    """What a client has besides its configuration; a copy of the client starts without it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: Connection | None = None
        self.tools: dict[str, MCPTool] = {}
        self.listed: list[MCPTool] | None = None
        self.by_name: dict[str, MCPTool] = {}
        self.edition = -1
        # What is wrong with the list of tools or with the choice of them, as it was last told.
        self.fault = ""
        self.changes: list[DefinitionChange] = []

    def __copy__(self) -> _Live:
        return _Live()

    def __deepcopy__(self, memo: dict[int, Any]) -> _Live:
        return _Live()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Live, ())


class MCPClient(Offers, BaseModel):
    """An MCP server: how it is reached, which of its tools are shown, and how far it is trusted.

    ``is_stateful`` keeps one session from ``connect`` to ``close``; otherwise each call opens one of its own.
    ``execution_timeout`` bounds a tool's run, in seconds. ``stream_progress`` makes a tool's run a stream of chunks.
    ``trust_annotations`` takes the server's word for which tools only read. ``roots`` are folders that the server is
    told of. ``elicitation_handler`` is ``async (message, schema) -> dict | None``: None declines, fields that are left
    out get the schema's defaults, and a link to open comes as ``schema["x-url"]``. ``sampling_handler`` is
    ``async (SamplingRequest) -> str | dict`` and lets a model answer for the server. ``oauth_handler`` is
    ``async (SignIn) -> str | None``: it shows ``url`` and gives the address that the browser ended at; without a handler
    and a notebook a server that wants a sign-in can't be reached. ``auth`` is an ``OAuthClient`` that whoever runs the
    server has registered, or any ``httpx2.Auth``, such as the SDK's other providers; like the handlers it isn't dumped.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    is_stateful: bool
    mcp_config: MCPConfig
    enable_tools: list[str] | None = None
    disable_tools: list[str] | None = None
    execution_timeout: float | None = Field(default=None, gt=0)
    stream_progress: bool = False
    trust_annotations: bool = False
    roots: list[str | Path] | None = None
    elicitation_handler: ElicitationHandler | None = Field(default=None, exclude=True, repr=False)
    sampling_handler: SamplingHandler | None = Field(default=None, exclude=True, repr=False)
    oauth_handler: SignInHandler | None = Field(default=None, exclude=True, repr=False)
    auth: Any = Field(default=None, exclude=True, repr=False)

    _live: _Live = PrivateAttr(default_factory=_Live)

    def __init__(
        self,
        name: str,
        is_stateful: bool,
        mcp_config: StdioMCPConfig | HttpMCPConfig | dict[str, Any],
        enable_tools: list[str] | None = None,
        disable_tools: list[str] | None = None,
        execution_timeout: float | None = None,
        stream_progress: bool = False,
        trust_annotations: bool = False,
        *,
        roots: list[str | Path] | None = None,
        elicitation_handler: ElicitationHandler | None = None,
        sampling_handler: SamplingHandler | None = None,
        oauth_handler: SignInHandler | None = None,
        auth: OAuthClient | httpx2.Auth | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(
            name=name,
            is_stateful=is_stateful,
            mcp_config=mcp_config,
            enable_tools=enable_tools,
            disable_tools=disable_tools,
            execution_timeout=execution_timeout,
            stream_progress=stream_progress,
            trust_annotations=trust_annotations,
            roots=roots,
            elicitation_handler=elicitation_handler,
            sampling_handler=sampling_handler,
            oauth_handler=oauth_handler,
            auth=auth,
            **unknown,
        )
        # Here, not in a validator: the reader gets the sentence alone.
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"MCPClient name '{self.name}' contains characters not allowed by LLM providers (only [a-zA-Z0-9_-] "
                "are permitted). Please rename it."
            )
        if self.mcp_config.type == "stdio_mcp" and not self.is_stateful:
            raise ValueError("STDIO MCP must be stateful (is_stateful=True).")
        if self.mcp_config.type == "http_mcp" and self.mcp_config.headers:
            check_headers(self.mcp_config.headers, "The configuration's header")
        both = set(self.enable_tools or ()) & set(self.disable_tools or ())
        if both:
            raise ValueError(f"The tools in enable_tools and disable_tools should not overlap, but got {both}.")
        nested.allow_in_kernels()

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied.__pydantic_private__ = {"_live": _Live()}
        return copied

    # --------------------------------------------------------------------------------------------- open and close
    async def connect(self, timeout: float | None = None) -> None:
        """Start or reach the server; MCPConnectionError says in words why that couldn't be.

        A stateless client has nothing to keep open: it reaches the server once, to see that it can.
        """
        if not self.is_stateful:
            await self.list_tools(refresh=True)
        elif taping.tape is None:
            await self._connect(timeout)
        else:
            await taping.tape.connect(self, lambda: self._connect(timeout))

    async def _connect(self, timeout: float | None) -> None:
        from nbtoolkit.mcp.caller import here

        await self._run(self._connection.connect(here(), timeout))

    def mark_connected(self, wanted: bool) -> None:
        """Count as connected, or no longer, without a session; for what stands in a server's place."""
        self._connection.wanted = wanted

    async def close(self, ignore_errors: bool = True) -> None:  # noqa: ARG002 - AgentScope's signature
        """End the session and everything that the server has started; closing twice is fine."""
        if self._live.connection is not None:
            await self._run(self._live.connection.close())

    @property
    def is_connected(self) -> bool:
        """Whether a session was opened and not closed; a server that died is started again by the next call."""
        connection = self._live.connection
        return connection is not None and connection.wanted

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def set_runtime_headers(self, headers: Mapping[str, str]) -> None:
        """Replace all headers set at run time, from the next request on; ``{}`` leaves the configuration's own.

        A call under way keeps those it started with. MCP's own headers always win. ValueError for a client that isn't
        streamable HTTP, an illegal header, and one that the HTTP layer owns.
        """
        if self.mcp_config.transport != "http":
            raise ValueError("Runtime headers require a Streamable HTTP MCP client.")
        self._connection.headers.runtime = check_headers(headers, "Runtime header")

    # -------------------------------------------------------------------------------------------------- the tools
    async def list_tools(self, refresh: bool = False) -> list[MCPTool]:
        """The server's tools that are shown, all pages; from memory unless the server's list has changed."""
        live, connection = self._live, self._connection
        if refresh:
            connection.drop_list()
        if live.listed is None or live.edition != connection.edition:
            tape, edition = taping.tape, connection.edition

            async def tools() -> list[mcp_types.Tool]:
                nonlocal edition
                found, edition = await self._run(self._listed())
                return found

            definitions = await (tools() if tape is None else tape.tools(self, tools))
            self._take(definitions, edition)
            if (fault := list_faults(self.name, connection.amiss, self._unknown())) != live.fault:
                live.fault = fault
                if fault:
                    warnings.warn(fault, ToolkitWarning, stacklevel=2)
        return list(live.listed or ())

    def known_tool(self, name: str) -> MCPTool | None:
        """The tool that is shown under this name here, as far as the server's list is known and still holds."""
        live = self._live
        if live.connection is None or live.edition != live.connection.edition:
            return None
        return live.by_name.get(name)

    async def check_choice(self) -> None:
        """ValueError for what ``enable_tools`` and ``disable_tools`` name and the server doesn't have, with the nearest.

        ``list_tools`` only warns of it, once: a server may get such a tool later.
        """
        if self.enable_tools is None and self.disable_tools is None:
            return
        with warnings.catch_warnings():
            # Said by the error.
            warnings.simplefilter("ignore", ToolkitWarning)
            await self.list_tools()
        if fault := self._unknown():
            raise ValueError(fault)

    def _unknown(self) -> str:
        if self.enable_tools is None and self.disable_tools is None:
            return ""
        names = {own: tool.name for own, tool in self._live.tools.items()}
        return unknown_names(self.name, names, self.enable_tools, self.disable_tools)

    async def _listed(self) -> tuple[list[mcp_types.Tool], int]:
        """The list and its edition, in the portal: the next may have come when the caller's loop gets to it."""
        connection = self._connection
        found = await connection.tools()
        # One that isn't kept there changed while it was read.
        return found, connection.edition if found is connection.definitions else -1

    async def get_tool(self, name: str) -> MCPTool:
        """One tool, by its name here or the server's own; also one that enable_tools or disable_tools hide.

        ValueError names the nearest where there is none.
        """
        await self.list_tools()
        tools = self._live.tools
        found = tools.get(name) or next((tool for tool in tools.values() if tool.name == name), None)
        if found is None:
            near = difflib.get_close_matches(name, tools, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"Tool {name!r} not found in MCP server {self.name!r}.{hint}")
        return found

    def _take(self, definitions: list[mcp_types.Tool], edition: int) -> None:
        from nbtoolkit.mcp.changes import DefinitionChange, tell
        from nbtoolkit.mcp.tool import MCPTool

        changes: list[DefinitionChange] = []
        names = tool_names(self.name, [definition.name for definition in definitions])
        live = self._live
        with live.lock:
            tools: dict[str, MCPTool] = {}
            for definition in definitions:
                held = live.tools.get(definition.name)
                name = names[definition.name]
                if held is not None and held.name == name and held.definition == definition:
                    # The same tool stays the same object: what was made of it, a validator say, is kept.
                    tools[definition.name] = held
                    continue
                made = tools[definition.name] = MCPTool(self, definition, name)
                if held is not None and held.definition_hash != made.definition_hash:
                    changes.append(DefinitionChange(self.name, made.name, held, made))
            live.tools = tools
            live.listed = [
                tool for name, tool in tools.items() if is_shown(name, tool.name, self.enable_tools, self.disable_tools)
            ]
            live.by_name = {tool.name: tool for tool in live.listed}
            live.edition = edition
            live.changes.extend(changes)
        for change in changes:
            tell(self, change)

    async def call_raw(
        self,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        expected: mcp_types.Tool | None = None,
    ) -> mcp_types.CallToolResult:
        """Call a tool by the server's own name and give the SDK's result; nobody is asked.

        ``on_progress`` gets {progress, total, message}, in the portal's thread. With ``expected``, a tool whose
        definition is another by now isn't run: MCPDefinitionError.
        """
        if taping.tape is None:
            return await self._call(name, arguments, on_progress, expected)
        return await taping.tape.call(
            self, name, arguments, on_progress, lambda heard: self._call(name, arguments, heard, expected)
        )

    async def _call(
        self,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None,
        expected: mcp_types.Tool | None,
    ) -> mcp_types.CallToolResult:
        from nbtoolkit.mcp.caller import here

        return await self._run(
            self._connection.call(name, arguments, self.execution_timeout, on_progress, here(), expected)
        )

    # --------------------------------------------------------------------------------------------------- the rest
    async def _fetch(self, ask: Callable[[Session], Awaitable[T]]) -> T:
        return await (self._ask(ask) if taping.tape is None else taping.tape.fetch(self, ask, self._ask))

    async def _ask(self, ask: Callable[[Session], Awaitable[T]]) -> T:
        from nbtoolkit.mcp.caller import here

        return await self._run(self._connection.fetch(ask, here()))

    def status(self) -> ServerStatus:
        """How the server is, right now."""
        from nbtoolkit.mcp.status import status_of

        return status_of(self._connection)

    @property
    def changes(self) -> list[DefinitionChange]:
        """The definitions that changed since they were first seen, oldest first."""
        return list(self._live.changes)

    @property
    def log_tail(self) -> list[str]:
        """The last lines that the server wrote beside the protocol."""
        return self._connection.log.tail()

    def read_log(self) -> list[str]:
        """``log_tail``, for a person to look at: a cassette keeps it and gives it again."""
        lines = self.log_tail
        return lines if taping.tape is None else taping.tape.log(self, lines)

    @property
    def _connection(self) -> Connection:
        live = self._live
        with live.lock:
            if live.connection is None:
                from nbtoolkit.mcp.connection import Connection

                interaction = Interaction(
                    self.elicitation_handler, self.sampling_handler, self.roots, self.oauth_handler, self.auth
                )
                live.connection = Connection(self.name, self.mcp_config, self.is_stateful, interaction)
                weakref.finalize(self, _release, live.connection).atexit = False
            return live.connection

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        from nbtoolkit.mcp.portal import portal

        return await portal().run(coroutine)


def _release(connection: Connection) -> None:
    """The client is no more, so nobody can close its server any longer."""
    from nbtoolkit.mcp.portal import running_portal

    portal = running_portal()
    if portal is not None and connection.session is not None:
        asyncio.run_coroutine_threadsafe(connection.close(), portal.loop)
