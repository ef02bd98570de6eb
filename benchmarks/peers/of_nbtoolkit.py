"""nbtoolkit: every call goes the whole way, from look-up over validation and permission to the log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import TextBlock, ToolCallBlock
from nbtoolkit.tool import FunctionTool, ToolChunk, Toolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.tool import ToolResponse

LIBRARIES = ("nbtoolkit", "pydantic", "pydantic-core")
IMPORT = "from nbtoolkit.tool import FunctionTool, Toolkit"


def make(funcs: Sequence[Callable[..., Any]]) -> Toolkit:
    """A toolkit of these functions; their author says that they only read, so nobody is asked."""
    return Toolkit(tools=[FunctionTool(func, is_read_only=True) for func in funcs])


async def schemas(toolkit: Toolkit) -> list[Any]:
    """What a model is told."""
    return await toolkit.get_tool_schemas()


async def call(toolkit: Toolkit, name: str, text: str) -> ToolResponse:
    """Make the block that a model's reply becomes, and run it."""
    return await toolkit.call_tool(ToolCallBlock(name=name, input=text))


call_async = call


async def together(toolkit: Toolkit, name: str, texts: Sequence[str]) -> list[ToolResponse]:
    """Run many calls at once."""
    return await toolkit.call_tools([ToolCallBlock(name=name, input=text) for text in texts])


def result(answer: ToolResponse) -> Any:
    """What the call gave."""
    return json.loads(answer.text)


async def stream(toolkit: Toolkit, name: str, text: str) -> tuple[int, str]:
    """How many chunks came, and what they are together."""
    count = 0
    answer: Any = None
    async for answer in toolkit.call_tool(ToolCallBlock(name=name, input=text)):
        count += 1
    return count - 1, answer.text


def chunk(text: str) -> ToolChunk:
    """One chunk as a tool would make it by hand."""
    return ToolChunk(content=[TextBlock(text=text)], is_last=False)
