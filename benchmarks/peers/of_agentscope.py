"""AgentScope 2: its Toolkit and FunctionTool; its registry checks no permission and validates nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentscope.message import TextBlock, ToolCallBlock
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, ToolChunk, Toolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("agentscope", "pydantic", "pydantic-core")
IMPORT = "from agentscope.tool import FunctionTool, Toolkit"

_STATE = AgentState()


def make(funcs: Sequence[Callable[..., Any]]) -> Any:
    """A toolkit of these functions."""
    return Toolkit(tools=[FunctionTool(func, is_read_only=True) for func in funcs])


async def schemas(toolkit: Any) -> list[Any]:
    """What a model is told."""
    listed: list[Any] = await toolkit.get_tool_schemas()
    return listed


async def call(toolkit: Any, name: str, text: str) -> Any:
    """Make the block that a model's reply becomes, and run it."""
    answer = None
    async for answer in toolkit.call_tool(ToolCallBlock(id="call", name=name, input=text), _STATE):
        pass
    return answer


call_async = call


def result(answer: Any) -> Any:
    """What the call gave."""
    return json.loads("".join(block.text for block in answer.content))


async def stream(toolkit: Any, name: str, text: str) -> tuple[int, str]:
    """How many chunks came, and what they are together."""
    count = 0
    answer: Any = None
    async for answer in toolkit.call_tool(ToolCallBlock(id="call", name=name, input=text), _STATE):
        count += 1
    return count - 1, "".join(block.text for block in answer.content)


def chunk(text: str) -> Any:
    """One chunk as a tool would make it by hand."""
    return ToolChunk(content=[TextBlock(text=text)], is_last=False)
