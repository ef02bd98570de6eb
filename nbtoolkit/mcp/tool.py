"""MCPTool: a server's tool as one of ours.

Its annotations are the server's claims about itself. They are shown as such, and count for permission as far as the
client's ``trust_annotations`` says.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import MCPConnectionError, MCPDefinitionError
from nbtoolkit.mcp.content import to_chunk
from nbtoolkit.mcp.failure import in_words
from nbtoolkit.mcp.portal import ticking
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.schema.sound import sound
from nbtoolkit.tool.base import ChunkStream, ToolBase, ToolMiddlewareBase
from nbtoolkit.tool.progress import Reports
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    import mcp_types

    from nbtoolkit.mcp.client import MCPClient

__all__ = ["MCPTool"]

# A server that reports faster than its caller looks is told in full up to here, then by its newest snapshots.
MAX_UNREAD_PROGRESS = 1000

# No tool needs more to be told of, and every request to a model carries it.
MAX_DESCRIPTION = 20_000


class MCPTool(ToolBase):
    """A tool of an MCP server; made by ``MCPClient.list_tools`` and ``get_tool``."""

    is_mcp = True

    def __init__(
        self,
        client: MCPClient,
        definition: mcp_types.Tool,
        name: str,
        middlewares: list[ToolMiddlewareBase] | None = None,
    ) -> None:
        super().__init__(middlewares=middlewares)
        self.client = client
        self.mcp_name = client.name
        self.name = name
        self.server_tool_name = definition.name
        self.definition = definition
        self.title = definition.title or (definition.annotations.title if definition.annotations else None)
        self.description = _bounded(definition.description or "")
        # Arguments are an object, whatever else a server says of them.
        given = {**(definition.input_schema or {}), "type": "object"}
        self.input_schema = sound({"type": "object", "properties": {}, "required": [], **given})
        self.output_schema: dict[str, Any] | None = definition.output_schema
        # Only what the server said: {"readOnlyHint": True, …}.
        self.annotations: dict[str, Any] = (
            definition.annotations.model_dump(by_alias=True, exclude_none=True, mode="json")
            if definition.annotations
            else {}
        )
        self.is_read_only = self.annotations.get("readOnlyHint") is True
        # Those of one ``call_tools`` that change something keep their order; others run side by side.
        self.is_concurrency_safe = self.is_read_only

    @property
    def trust_annotations(self) -> bool:
        """Whether the server's word on its tools is taken."""
        return self.client.trust_annotations

    @property
    def identity(self) -> tuple[str, ...]:
        """Server and name."""
        return ("mcp", self.client.name, self.server_tool_name)

    @property
    def origin(self) -> str:
        """``MCP server NAME``."""
        return f"MCP server {self.client.name}"

    @cached_property
    def definition_hash(self) -> str:
        """Of name, description and schema; a server that changes one of them has another tool."""
        return str(super().definition_hash)

    async def check_permissions(
        self,
        tool_input: dict[str, Any],  # noqa: ARG002
        context: PermissionContext,  # noqa: ARG002
    ) -> PermissionDecision:
        """No opinion on a call that is said to only read, unless the server is trusted; anything else asks."""
        server = self.client.name
        if not self.is_read_only:
            return PermissionDecision(
                PermissionBehavior.ASK, f"{self.server_tool_name!r} of the MCP server {server!r} may change something."
            )
        if self.trust_annotations:
            return PermissionDecision(
                PermissionBehavior.ALLOW, f"The MCP server {server!r}, which you trust, says that this only reads."
            )
        return PermissionDecision(
            PermissionBehavior.PASSTHROUGH, f"The MCP server {server!r} says that this only reads; that is its claim."
        )

    def call(self, /, **kwargs: Any) -> Awaitable[ToolChunk | ChunkStream] | ChunkStream:
        """The final chunk, or with ``stream_progress`` a stream of progress and the final chunk."""
        reports = Reports(self.name)
        if self.client.stream_progress:
            return self._stream(kwargs, reports)
        return self._final(kwargs, reports, reports.report)

    async def _final(
        self, arguments: dict[str, Any], reports: Reports, listener: Callable[[dict[str, Any]], None], keep: int = 1
    ) -> ToolChunk:
        """Call the server; of the snapshots that nobody has looked at yet the newest ``keep`` are told."""
        here = asyncio.get_running_loop()
        news: deque[dict[str, Any]] = deque(maxlen=keep)
        coming = False

        def deliver() -> None:
            nonlocal coming
            coming = False
            while news:
                listener(news.popleft())

        def progress(snapshot: dict[str, Any]) -> None:  # in the portal's thread
            nonlocal coming
            news.append(snapshot)
            if not coming:
                coming = True
                here.call_soon_threadsafe(deliver)

        try:
            result = await self.client.call_raw(self.server_tool_name, arguments, progress, self.definition)
        except (MCPConnectionError, MCPDefinitionError) as error:
            return ToolChunk.of(str(error), ToolResultState.ERROR)
        except asyncio.CancelledError as stop:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                # An interrupted cell shows it, and would show its bare name.
                stop.args = stop.args or (f"stopped; the MCP server {self.client.name!r} is told to cancel the call",)
                raise
            # Not this task: somebody stopped the call at the server's card.
            return ToolChunk.of("The call was stopped before it ended.", ToolResultState.INTERRUPTED)
        except TimeoutError:
            limit = self.client.execution_timeout
            text = f"The MCP server {self.client.name!r} did not answer within {limit:g} s; the call was cancelled."
            return ToolChunk.of(text, ToolResultState.ERROR)
        except (RuntimeError, ValueError) as error:
            if _is_unsendable(error):
                text = f"The arguments can't be sent to the MCP server {self.client.name!r}: {error}"
                return ToolChunk.of(text, ToolResultState.ERROR)
            # The SDK's word for a result that breaks the tool's own output schema, or is none.
            words = str(error) if isinstance(error, RuntimeError) else in_words(error)
            return ToolChunk.of(f"The MCP server {self.client.name!r} answered amiss: {words}", ToolResultState.ERROR)
        except Exception as error:  # noqa: BLE001 - _refusal raises what it doesn't know
            return ToolChunk.of(self._refusal(error), ToolResultState.ERROR)
        finally:
            reports.end()
        return to_chunk(result)

    def _refusal(self, error: Exception) -> str:
        from mcp import MCPError

        if not isinstance(error, MCPError):
            raise error
        return f"The MCP server {self.client.name!r} refused the call: {error.message}"

    async def _stream(self, arguments: dict[str, Any], reports: Reports) -> AsyncGenerator[ToolChunk, None]:
        progress: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        def heard(snapshot: dict[str, Any]) -> None:
            progress.put_nowait(snapshot)
            reports.report(snapshot)

        call = asyncio.ensure_future(self._final(arguments, reports, heard, MAX_UNREAD_PROGRESS))
        call.add_done_callback(lambda _: progress.put_nowait(None))
        try:
            while True:
                with ticking(asyncio.get_running_loop()):
                    snapshot = await progress.get()
                if snapshot is None:
                    break
                yield ToolChunk(metadata={"mcp_progress": snapshot}, is_last=False)
            yield await call
        finally:
            if not call.done():
                call.cancel()
                await asyncio.wait({call})


def _bounded(text: str) -> str:
    """A description as a model is told it; what is cut off counts for the tool's hash all the same."""
    if len(text) <= MAX_DESCRIPTION:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{text[:MAX_DESCRIPTION]}\n… (cut: the server's text has {len(text):,} characters, sha256 {digest})"


def _is_unsendable(error: Exception) -> bool:
    from pydantic_core import PydanticSerializationError

    return isinstance(error, PydanticSerializationError | UnicodeError)
