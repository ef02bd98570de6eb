"""An allowed call's run as one stream: inside its middlewares, in its turn, handed out if it is external, and bounded.

Other arguments than those that were allowed, which only a middleware can write, are judged first, each time anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolCallState
from nbtoolkit.schema.arguments import copied
from nbtoolkit.tool.base import open_stream, wrap
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.permit import permit
from nbtoolkit.tool.progress import current_call
from nbtoolkit.tool.stream import bounded
from nbtoolkit.tool.turns import in_turn

if TYPE_CHECKING:
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.base import ChunkStream, NextHandler, Running, ToolBase
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.result import ToolChunk
    from nbtoolkit.tool.run import ToolCall

__all__ = ["injected", "opened"]


def opened(call: ToolCall, tool: ToolBase, allowed: Arguments, entry: LogEntry) -> ChunkStream:
    """The stream of a run with arguments that were allowed; it begins when somebody asks for its first chunk."""
    if not tool.middlewares:
        return _run(call, tool, allowed)
    return wrap(tool, tool.middlewares, _innermost(call, tool, allowed, entry))(**copied(allowed.json))


def _innermost(call: ToolCall, tool: ToolBase, allowed: Arguments, entry: LogEntry) -> NextHandler:
    fresh = True

    async def run(**kwargs: Any) -> ChunkStream:
        nonlocal fresh
        if kwargs != allowed.json:
            # A middleware wrote other arguments: nobody has allowed those, each time anew.
            arguments = await permit(call, tool, tool.validate_input(kwargs), entry)
            if call.toolkit.log.journal is not None:
                call.toolkit.log.journal.allowed(entry)
        elif fresh:
            fresh = False
            arguments = allowed
        else:
            # A run may have changed the objects that it got.
            arguments = tool.validate_input(copied(allowed.json))
        stream = _run(call, tool, arguments)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.aclose()

    return run


def _run(call: ToolCall, tool: ToolBase, arguments: Arguments) -> ChunkStream:
    # A server takes requests as they come: who may run when is its own business.
    alone = not tool.is_concurrency_safe and not tool.is_mcp
    return _in_turn(call, tool, arguments) if alone else _bare(call, tool, arguments)


def injected(call: ToolCall, tool: ToolBase) -> dict[str, Any]:
    """What the tool gets beside its arguments."""
    return {"_agent_state": call.state} if tool.is_state_injected and not tool.is_mcp else {}


async def _in_turn(call: ToolCall, tool: ToolBase, arguments: Arguments) -> ChunkStream:
    async with in_turn(tool):
        stream = _bare(call, tool, arguments)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.aclose()


def _bare(call: ToolCall, tool: ToolBase, arguments: Arguments) -> ChunkStream:
    tape = call.toolkit.tape
    if tape is not None:
        return tape.stream(tool, arguments, lambda: _untaped(call, tool, arguments))
    return _untaped(call, tool, arguments)


def _untaped(call: ToolCall, tool: ToolBase, arguments: Arguments) -> ChunkStream:
    if tool.is_external_tool:
        return bounded(_external(call, tool, arguments), tool.max_result_chars)
    if isinstance(tool, FunctionTool):
        # A function's own stream bounds itself: it knows which of its chunks the person made.
        return open_stream(_function(call, tool, arguments))
    return bounded(open_stream(_started(call, tool, arguments)), tool.max_result_chars)


async def _function(call: ToolCall, tool: FunctionTool, arguments: Arguments) -> ToolChunk | ChunkStream:
    token = current_call.set(call)
    try:
        return await tool.run(arguments, injected(call, tool))
    finally:
        current_call.reset(token)


def _started(call: ToolCall, tool: ToolBase, arguments: Arguments) -> Running:
    token = current_call.set(call)
    try:
        return tool.run(arguments, injected(call, tool))
    finally:
        current_call.reset(token)


async def _external(call: ToolCall, tool: ToolBase, arguments: Arguments) -> ChunkStream:
    call.mark(ToolCallState.SUBMITTED)
    yield await call.toolkit.external.hand_out(call, tool, arguments.json)
