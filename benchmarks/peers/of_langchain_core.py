"""langchain-core: StructuredTool, called with the tool call that a chat model's message holds."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("langchain-core", "pydantic", "pydantic-core")
IMPORT = "from langchain_core.tools import StructuredTool"


def make(funcs: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """A dict of tools by name: there is no registry."""
    return {
        func.__name__: StructuredTool.from_function(coroutine=func, parse_docstring=True)
        if inspect.iscoroutinefunction(func)
        else StructuredTool.from_function(func, parse_docstring=True)
        for func in funcs
    }


def schemas(tools: dict[str, Any]) -> list[Any]:
    """What a model is told."""
    return [convert_to_openai_tool(tool) for tool in tools.values()]


def _tool_call(name: str, text: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": "call", "name": name, "args": json.loads(text)}


async def call(tools: dict[str, Any], name: str, text: str) -> Any:
    """Call a sync function in this thread."""
    return tools[name].invoke(_tool_call(name, text))


async def call_async(tools: dict[str, Any], name: str, text: str) -> Any:
    """Call an async function."""
    return await tools[name].ainvoke(_tool_call(name, text))


def result(answer: Any) -> Any:
    """What the call gave."""
    return json.loads(answer.content)
