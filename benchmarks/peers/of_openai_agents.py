"""OpenAI Agents: function_tool, and on_invoke_tool as its runner calls it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, function_tool
from agents.tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("openai-agents", "pydantic", "pydantic-core")
IMPORT = "from agents import function_tool"


def make(funcs: Sequence[Callable[..., Any]]) -> dict[str, FunctionTool]:
    """A dict of tools by name, as an agent holds a list of them; failure_error_function=None lets errors be seen."""
    return {func.__name__: function_tool(func, failure_error_function=None) for func in funcs}


def schemas(tools: dict[str, FunctionTool]) -> list[Any]:
    """What a model is told."""
    return [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
        for tool in tools.values()
    ]


async def call(tools: dict[str, FunctionTool], name: str, text: str) -> Any:
    """Run the tool in the context that belongs to its call."""
    context: Any = ToolContext(context=None, tool_name=name, tool_call_id="call", tool_arguments=text)
    # What goes back to the model is the text of this.
    return str(await tools[name].on_invoke_tool(context, text))


call_async = call


def result(answer: str) -> Any:
    """What the call gave."""
    return ast.literal_eval(answer)
