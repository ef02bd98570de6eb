"""What people hand to a toolkit, made into tools: functions, tools, and classes of tools."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeGuard

from nbtoolkit.tool.base import ToolBase, check_definition
from nbtoolkit.tool.function import FunctionTool

if TYPE_CHECKING:
    from nbtoolkit.mcp.client import MCPClient

__all__ = ["as_tool", "is_client", "owner"]


def as_tool(given: Any) -> ToolBase:
    """The tool that was given, or one made of a function or of a ToolBase class that needs no arguments."""
    if isinstance(given, type) and issubclass(given, ToolBase):
        try:
            inspect.signature(given).bind()
        except TypeError as error:
            raise TypeError(
                f"{given.__name__} is a class of tools and needs arguments ({error}); give one made of it: "
                f"{given.__name__}(…)"
            ) from None
        given = given()
    if isinstance(given, FunctionTool):
        # It has checked itself, and its description and schema are made when first needed.
        return given
    if isinstance(given, ToolBase):
        check_definition(given)
        return given
    if is_client(given) or not callable(given):
        raise TypeError(
            f"{given!r} is no tool: expected a ToolBase, a function, an MCPClient (by mcps=… or add_tool), or a list "
            "of them"
        )
    return FunctionTool(given)


def owner(tool: ToolBase) -> str:
    """Whose tool it is, for an error that names two of them."""
    return f"{tool.origin} ({'.'.join(tool.identity)})"


def is_client(value: object) -> TypeGuard[MCPClient]:
    """Whether it is an MCP server's client."""
    # By its shape, not its class: importing the MCP package for every function would cost more than the function.
    return hasattr(value, "list_tools") and hasattr(value, "is_stateful")
