"""A stdio MCP server, of the standard library alone, that writes what it is told to write: raw lines and any definitions."""

from __future__ import annotations

import json
import sys
from typing import Any

OWN = [
    {"name": "say", "description": "Write lines, then answer.", "inputSchema": {"type": "object"}},
    {"name": "define", "description": "List these tools from now on.", "inputSchema": {"type": "object"}},
]
tools: list[Any] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def serve(message: dict[str, Any]) -> None:
    method, request = message.get("method"), message.get("id")
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        info = {"name": "hostile", "version": "1"}
        send(id=request, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        send(id=request, result={"tools": [*OWN, *tools]})
    elif method == "tools/call":
        arguments = message["params"]["arguments"]
        if message["params"]["name"] == "define":
            tools[:] = arguments["tools"]
            send(id=request, result={"content": []})
            return
        for line in arguments["lines"]:
            sys.stdout.write(line.replace("REQUEST", json.dumps(request)) + "\n")
        sys.stdout.flush()
        send(id=request, result=arguments["result"])
    elif request is not None and method is not None:
        send(id=request, error={"code": -32601, "message": f"no such method: {method}"})


for line in sys.stdin:
    serve(json.loads(line))
