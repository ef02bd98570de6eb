"""The floor as a subject: no registry but a dict, no permission, no log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.floor import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("pydantic", "pydantic-core")
IMPORT = "from pydantic import BaseModel, TypeAdapter, create_model"


def make(funcs: Sequence[Callable[..., Any]]) -> dict[str, Tool]:
    """A dict of tools by name; pydantic's model is what registering costs."""
    return {func.__name__: Tool(func) for func in funcs}


def schemas(tools: dict[str, Tool]) -> list[Any]:
    """What a model is told, made anew each time."""
    return [tool.schema() for tool in tools.values()]


async def call(tools: dict[str, Tool], name: str, text: str) -> str:
    """Call a sync function."""
    return tools[name].call(text)


async def call_async(tools: dict[str, Tool], name: str, text: str) -> str:
    """Call an async function."""
    return await tools[name].call_async(text)


def result(answer: str) -> Any:
    """What the call gave."""
    return json.loads(answer)
