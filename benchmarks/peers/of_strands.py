"""Strands Agents: its decorator, its ToolRegistry, and a tool's own stream; sync functions go to a thread by its design."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from strands import tool
from strands.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("strands-agents", "pydantic", "pydantic-core")
IMPORT = "from strands import tool"


def make(funcs: Sequence[Callable[..., Any]]) -> ToolRegistry:
    """A registry of these functions."""
    registry = ToolRegistry()
    registry.process_tools([tool(func) for func in funcs])
    return registry


def schemas(registry: ToolRegistry) -> list[Any]:
    """What a model is told."""
    return registry.get_all_tool_specs()


async def call(registry: ToolRegistry, name: str, text: str) -> Any:
    """Look the tool up and run its stream to the result."""
    use: Any = {"toolUseId": "call", "name": name, "input": json.loads(text)}
    event: Any = None
    async for event in registry.registry[name].stream(use, {}):
        pass
    return event


call_async = call


def result(answer: Any) -> Any:
    """What the call gave: a dict's text is its repr there."""
    done = answer.get("tool_result", answer)
    return ast.literal_eval(done["content"][0]["text"])
