"""FastMCP: a server's own list_tools and call_tool, without a transport."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("fastmcp", "pydantic", "pydantic-core")
IMPORT = "from fastmcp import FastMCP"


def make(funcs: Sequence[Callable[..., Any]]) -> Any:
    """A server of these functions."""
    server = FastMCP("bench")
    for func in funcs:
        server.tool(func)
    return server


async def schemas(server: Any) -> list[Any]:
    """What a client is told."""
    return [tool.to_mcp_tool() for tool in await server.list_tools()]


async def call(server: Any, name: str, text: str) -> Any:
    """Call with the object that the text holds."""
    return await server.call_tool(name, json.loads(text))


call_async = call


def result(answer: Any) -> Any:
    """What the call gave."""
    return answer.structured_content
