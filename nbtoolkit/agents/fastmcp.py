"""The toolkit's tools in a FastMCP server.

    server = FastMCP("analysis")
    await add_to(server)

The notebook's own server, with token and gate, is ``%toolkit serve``; this is for those who have a FastMCP server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from nbtoolkit.agents.adapting import Caller, missing, schema_of
from nbtoolkit.agents.dialects.mcp_calls import to_result

try:
    from fastmcp.tools import Tool
    from fastmcp.tools.base import ToolResult
except ImportError as error:
    raise missing("fastmcp", "fastmcp") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastmcp import FastMCP

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["FastMCPTool", "add_to", "tools"]


async def tools(
    toolkit: Toolkit | None = None,
    *,
    groups: Sequence[str] | None = None,
    state: AgentState | None = None,
    approver: Approver | None = None,
) -> list[FastMCPTool]:
    """The toolkit's tools (the notebook's own where none is given) that are on, as FastMCP takes them."""
    caller = Caller("fastmcp", toolkit, groups=groups, state=state, approver=approver)
    return [FastMCPTool.of(tool, caller) for tool in await caller.tools()]


async def add_to(server: FastMCP[Any], toolkit: Toolkit | None = None, **options: Any) -> None:
    """Add them to a server; takes the same options. Tools that are added to the toolkit later are not in it."""
    for tool in await tools(toolkit, **options):
        server.add_tool(tool)


class FastMCPTool(Tool):
    """One tool."""

    _caller: Caller = PrivateAttr()

    @classmethod
    def of(cls, tool: ToolBase, caller: Caller) -> FastMCPTool:
        """The tool of a toolkit, called by that caller."""
        import mcp_types

        hints = mcp_types.ToolAnnotations(read_only_hint=tool.is_read_only, idempotent_hint=tool.is_idempotent or None)
        made = cls(name=tool.name, description=tool.description, parameters=schema_of(tool), annotations=hints)
        made._caller = caller
        return made

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run through the pipeline."""
        import mcp_types

        response = await self._caller.call(self.name, arguments)
        result = mcp_types.CallToolResult.model_validate(to_result(response))
        return ToolResult(
            content=list(result.content), structured_content=result.structured_content, is_error=bool(result.is_error)
        )
