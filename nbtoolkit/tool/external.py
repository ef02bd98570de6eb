"""Calls of external tools: handed out to whoever runs them, their results handed in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultBlock, ToolResultState
from nbtoolkit.tool.content import to_blocks
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.run import ToolCall

__all__ = ["ExternalCalls"]


class ExternalCalls:
    """The calls that wait for a result from outside, by id."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[ToolCall, asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}

    @property
    def pending(self) -> list[ToolCall]:
        """The calls that wait, oldest first; each has its ``name`` and ``tool_input``."""
        return [call for call, _, _ in self._waiting.values()]

    async def hand_out(self, call: ToolCall, tool: ToolBase, tool_input: dict[str, Any]) -> ToolChunk:  # noqa: ARG002
        """Wait for the result of one call and give it as a chunk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting[call.id] = (call, loop, future)
        try:
            result = await future
        finally:
            self._waiting.pop(call.id, None)
        result = await tool.check_external_result(result)
        if not isinstance(result, ToolResultBlock):
            return ToolChunk(content=to_blocks(result), state=ToolResultState.SUCCESS).with_value(result)
        fault = _metadata_fault(tool, result.metadata)
        if fault is not None:
            return ToolChunk.of(fault, ToolResultState.ERROR)
        state = ToolResultState.SUCCESS if result.state is ToolResultState.RUNNING else result.state
        return ToolChunk(content=result.output, state=state, metadata=result.metadata)

    def hand_in(self, call_id: str, result: Any) -> None:
        """Give the result of a call, from any thread: a ToolResultBlock, or any object; KeyError if none waits."""
        try:
            _, loop, future = self._waiting[call_id]
        except KeyError:
            waiting = ", ".join(self._waiting) or "none"
            raise KeyError(f"no external call has the id {call_id!r}; waiting are {waiting}") from None
        loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(result))


def _metadata_fault(tool: ToolBase, metadata: dict[str, Any]) -> str | None:
    if tool.metadata_schema is None:
        return None
    import jsonschema

    validator = jsonschema.Draft202012Validator(tool.metadata_schema)
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(metadata)]
    if not faults:
        return None
    return f"The result's metadata doesn't fit the schema of the tool '{tool.name}':\n" + "\n".join(faults)
