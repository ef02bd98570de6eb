"""Tools, the toolkit that holds them, and what their calls give.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

if TYPE_CHECKING:
    from nbtoolkit.mcp.tool import MCPTool as MCPTool
    from nbtoolkit.skill import SkillViewer as SkillViewer
    from nbtoolkit.tool.base import ToolBase as ToolBase
    from nbtoolkit.tool.base import ToolMiddlewareBase as ToolMiddlewareBase
    from nbtoolkit.tool.bash import Bash as Bash
    from nbtoolkit.tool.decorator import tool as tool
    from nbtoolkit.tool.edit import Edit as Edit
    from nbtoolkit.tool.function import FunctionTool as FunctionTool
    from nbtoolkit.tool.group import ResetTools as ResetTools
    from nbtoolkit.tool.group import ToolGroup as ToolGroup
    from nbtoolkit.tool.params import ParamsBase as ParamsBase
    from nbtoolkit.tool.read import Read as Read
    from nbtoolkit.tool.reporting import report_progress as report_progress
    from nbtoolkit.tool.result import ToolChunk as ToolChunk
    from nbtoolkit.tool.result import ToolResponse as ToolResponse
    from nbtoolkit.tool.search import Glob as Glob
    from nbtoolkit.tool.search import Grep as Grep
    from nbtoolkit.tool.toolkit import Toolkit as Toolkit
    from nbtoolkit.tool.write import Write as Write

_HOMES = {
    "Bash": "nbtoolkit.tool.bash",
    "Edit": "nbtoolkit.tool.edit",
    "Glob": "nbtoolkit.tool.search",
    "Grep": "nbtoolkit.tool.search",
    "Read": "nbtoolkit.tool.read",
    "Write": "nbtoolkit.tool.write",
    "FunctionTool": "nbtoolkit.tool.function",
    "MCPTool": "nbtoolkit.mcp.tool",
    "ParamsBase": "nbtoolkit.tool.params",
    "ResetTools": "nbtoolkit.tool.group",
    "SkillViewer": "nbtoolkit.skill",
    "ToolBase": "nbtoolkit.tool.base",
    "ToolChunk": "nbtoolkit.tool.result",
    "ToolGroup": "nbtoolkit.tool.group",
    "ToolMiddlewareBase": "nbtoolkit.tool.base",
    "ToolResponse": "nbtoolkit.tool.result",
    "Toolkit": "nbtoolkit.tool.toolkit",
    "report_progress": "nbtoolkit.tool.reporting",
    "tool": "nbtoolkit.tool.decorator",
}

__all__ = [
    "Bash",
    "Edit",
    "FunctionTool",
    "Glob",
    "Grep",
    "MCPTool",
    "ParamsBase",
    "Read",
    "ResetTools",
    "SkillViewer",
    "ToolBase",
    "ToolChunk",
    "ToolGroup",
    "ToolMiddlewareBase",
    "ToolResponse",
    "Toolkit",
    "Write",
    "report_progress",
    "tool",
]

__getattr__, __dir__ = face(__name__, _HOMES)
