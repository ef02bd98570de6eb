"""A stdio MCP server that closes one of its own pipes when its tool is called, and goes on."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

DESCRIPTOR = int(sys.argv[1])


def send(request: Any, **answer: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": request, **answer}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "deaf", "version": "1"}
        send(number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        send(number, result={"tools": [{"name": "close", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        os.close(DESCRIPTOR)
        if DESCRIPTOR != 1:
            send(number, result={"content": []})
        time.sleep(60)
    elif number is not None:
        send(number, error={"code": -32601, "message": "Method not found"})
