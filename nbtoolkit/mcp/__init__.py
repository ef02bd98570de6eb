"""MCP servers, attached once and usable from any cell.

Loaded lazily: importing this package imports neither the ``mcp`` SDK nor anything that takes long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

if TYPE_CHECKING:
    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.mcp.config import HttpMCPConfig, StdioMCPConfig
    from nbtoolkit.mcp.oauth import OAuthClient
    from nbtoolkit.mcp.tool import MCPTool

__all__ = ["HttpMCPConfig", "MCPClient", "MCPTool", "OAuthClient", "StdioMCPConfig"]

_HOMES = {
    "HttpMCPConfig": "nbtoolkit.mcp.config",
    "MCPClient": "nbtoolkit.mcp.client",
    "MCPTool": "nbtoolkit.mcp.tool",
    "OAuthClient": "nbtoolkit.mcp.oauth",
    "StdioMCPConfig": "nbtoolkit.mcp.config",
}

__getattr__, __dir__ = face(__name__, _HOMES)
