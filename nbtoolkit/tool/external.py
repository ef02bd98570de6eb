"""Calls of external tools: handed out to whoever runs them, their results handed in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultBlock, ToolResultState
from nbtoolkit.tool.content import to_chunk
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.run import ToolCall

__all__ = ["ExternalCalls"]


class ExternalCalls:
    """The calls that wait for a result from outside, by id."""

    def __init__(self) -> None:
        # A list, not a dict: many servers number a model's calls anew with each reply, so ids come twice.
        self._waiting: list[tuple[ToolCall, asyncio.AbstractEventLoop, asyncio.Future[Any]]] = []

    @property
    def pending(self) -> list[ToolCall]:
        """The calls that wait, oldest first; each has its ``name`` and ``tool_input``."""
        return [call for call, _, _ in self._waiting]

    async def hand_out(self, call: ToolCall, tool: ToolBase, tool_input: dict[str, Any]) -> ToolChunk:  # noqa: ARG002
        """Wait for the result of one call and give it as a chunk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        waiting = (call, loop, future)
        self._waiting.append(waiting)
        try:
            result = await future
        finally:
            self._waiting.remove(waiting)
        result = await tool.check_external_result(result)
        chunk = _chunk(result)
        fault = _metadata_fault(tool, chunk.metadata)
        return chunk if fault is None else ToolChunk.of(fault, ToolResultState.ERROR)

    def hand_in(self, call: ToolCall | str, result: Any) -> None:
        """Give the result of a call, or of the oldest that waits under an id, from any thread.

        A ToolResultBlock, ToolChunk or ToolResponse says its own state and metadata; any other object is a success.
        KeyError where none waits.
        """
        for held, loop, future in self._waiting:
            if (held is call or held.id == call) and not future.done():
                loop.call_soon_threadsafe(_settle, future, result)
                return
        named = call if isinstance(call, str) else call.id
        waiting = ", ".join(repr(held.id) for held in self.pending) or "none"
        raise KeyError(f"no external call has the id {named!r}; waiting are {waiting}")


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _chunk(result: Any) -> ToolChunk:
    if isinstance(result, ToolResultBlock):
        return ToolChunk(content=result.output, state=result.state, metadata=result.metadata)
    return to_chunk(result)


def _metadata_fault(tool: ToolBase, metadata: dict[str, Any]) -> str | None:
    if tool.metadata_schema is None:
        return None
    import jsonschema

    validator = jsonschema.Draft202012Validator(tool.metadata_schema)
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(metadata)]
    if not faults:
        return None
    return f"The result's metadata doesn't fit the schema of the tool '{tool.name}':\n" + "\n".join(faults)
