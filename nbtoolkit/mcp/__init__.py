"""MCP servers, attached once and usable from any cell.

Loaded lazily: importing this package imports neither the ``mcp`` SDK nor anything that takes long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
