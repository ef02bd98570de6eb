"""What people hand to a toolkit, made into tools: functions, tools, and classes of tools."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from nbtoolkit.tool.base import ToolBase, check_definition
from nbtoolkit.tool.function import FunctionTool

if TYPE_CHECKING:
    from nbtoolkit.mcp.client import MCPClient

__all__ = ["LibraryTool", "as_tool", "is_client", "library_of", "owner"]

# Packages whose tools are taken as they are; nbtoolkit.agents.foreign knows how.
_LIBRARIES = frozenset({"langchain_core", "pydantic_ai", "agents", "agentscope", "smolagents", "fastmcp"})


class LibraryTool(Protocol):
    """A tool of another agent library; which ones is for ``library_of`` to say."""

    @property
    def name(self) -> str:
        """What a model calls it."""

    @property
    def description(self) -> str | None:
        """What a model is told of it."""


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
    library = library_of(given)
    if library is not None:
        from nbtoolkit.agents.foreign import from_library

        made = from_library(library, given)
        check_definition(made)
        return made
    if is_client(given) or not callable(given):
        raise TypeError(
            f"{given!r} is no tool: expected a ToolBase, a function, an MCPClient (by mcps=… or add_tool), a tool of "
            "LangChain, pydantic-ai, the OpenAI Agents SDK, AgentScope, smolagents or FastMCP, or a list of them"
        )
    return FunctionTool(given)


def library_of(given: object) -> str | None:
    """The agent library whose tool it is; by its classes' modules, so that none is imported for a look."""
    kind = type(given)
    if kind.__module__ == "builtins":
        return None
    for each in kind.__mro__:
        root = each.__module__.partition(".")[0]
        # People call modules of their own "agents", too.
        if root in _LIBRARIES and (root != "agents" or hasattr(given, "on_invoke_tool")):
            return root
    return None


def owner(tool: ToolBase) -> str:
    """Whose tool it is, for an error that names two of them."""
    return f"{tool.origin} ({'.'.join(tool.identity)})"


def is_client(value: object) -> TypeGuard[MCPClient]:
    """Whether it is an MCP server's client."""
    # By its shape, not its class: importing the MCP package for every function would cost more than the function.
    return hasattr(value, "list_tools") and hasattr(value, "is_stateful")
