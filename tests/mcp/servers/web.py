"""An MCP server over streamable HTTP, for what is measured: ``web.py PORT``."""

from __future__ import annotations

import sys

import uvicorn
from mcp.server import MCPServer

server = MCPServer("web")


@server.tool()
def echo(text: str) -> str:
    return text


if __name__ == "__main__":
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
