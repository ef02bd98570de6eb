"""Give any agent your notebook's functions, MCP servers and files, and keep your hand on the switch, inside the cell.

Names are loaded when they are first used: importing the package loads no IPython, no ipywidgets and no MCP.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbtoolkit.faces import face

if sys.platform == "emscripten":
    raise ImportError(
        "nbtoolkit doesn't run in Pyodide (JupyterLite, marimo's playground): approvals, tools and MCP servers need threads, "
        "processes and sockets, which a browser has none of. Use JupyterLab or Notebook 7 with a kernel on a machine."
    )

if TYPE_CHECKING:
    from nbtoolkit.hooks import get_toolkit as get_toolkit
    from nbtoolkit.mcp import HttpMCPConfig as HttpMCPConfig
    from nbtoolkit.mcp import MCPClient as MCPClient
    from nbtoolkit.mcp import StdioMCPConfig as StdioMCPConfig
    from nbtoolkit.notebook import load_ipython_extension as load_ipython_extension
    from nbtoolkit.notebook import unload_ipython_extension as unload_ipython_extension
    from nbtoolkit.permission.rule import PermissionMode as PermissionMode
    from nbtoolkit.permission.rule import PermissionRule as PermissionRule
    from nbtoolkit.tool.base import ToolBase as ToolBase
    from nbtoolkit.tool.function import FunctionTool as FunctionTool
    from nbtoolkit.tool.group import ToolGroup as ToolGroup
    from nbtoolkit.tool.toolkit import Toolkit as Toolkit

__version__ = "0.1.0"

_HOMES = {
    "FunctionTool": "nbtoolkit.tool.function",
    "HttpMCPConfig": "nbtoolkit.mcp",
    "MCPClient": "nbtoolkit.mcp",
    "PermissionMode": "nbtoolkit.permission.rule",
    "PermissionRule": "nbtoolkit.permission.rule",
    "StdioMCPConfig": "nbtoolkit.mcp",
    "ToolBase": "nbtoolkit.tool.base",
    "ToolGroup": "nbtoolkit.tool.group",
    "Toolkit": "nbtoolkit.tool.toolkit",
    "get_toolkit": "nbtoolkit.hooks",
    "load_ipython_extension": "nbtoolkit.notebook",
    "unload_ipython_extension": "nbtoolkit.notebook",
}

__all__ = [
    "FunctionTool",
    "HttpMCPConfig",
    "MCPClient",
    "PermissionMode",
    "PermissionRule",
    "StdioMCPConfig",
    "ToolBase",
    "ToolGroup",
    "Toolkit",
    "get_toolkit",
    "load_ipython_extension",
    "unload_ipython_extension",
]

__getattr__, __dir__ = face(__name__, _HOMES, "__version__")
