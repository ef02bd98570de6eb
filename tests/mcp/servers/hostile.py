"""A stdio MCP server that says whatever it likes: names, schemas and results that no honest one has."""

from __future__ import annotations

import json
import sys
from typing import Any

HTML = "<img src=x onerror=alert(1)><script>alert(2)</script>"
OBJECT: dict[str, Any] = {"type": "object"}
DEEP: dict[str, Any] = {"type": "string"}
for _ in range(200):
    DEEP = {"type": "object", "properties": {"deeper": DEEP}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "recursive": {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}},
    },
    "itself": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    "remote": {"type": "object", "properties": {"a": {"$ref": sys.argv[1]}}},
    "missing": {"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}},
    "bomb": {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}},
    "no_pattern": {"type": "object", "properties": {"text": {"type": "string", "pattern": "("}}},
    "wide": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3000)}},
    "wrong": {"type": "object", "properties": {"a": {"type": "no such type"}, "b": {"minimum": "low"}}},
    "half": {"type": "object", "properties": {"\ud800": {"type": "string"}}},
}
if "--deep" in sys.argv:
    SCHEMAS["deep"] = DEEP
tools: list[dict[str, Any]] = [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()]
if "--amiss" in sys.argv:
    tools = [
        {"name": "fine", "description": "the first", "inputSchema": OBJECT},
        {"name": "free"},
        {"name": "texts", "inputSchema": {"type": "string"}, "outputSchema": {}},
        {"name": "number", "description": 5, "inputSchema": OBJECT},
        {"name": None, "inputSchema": OBJECT},
        "no tool",  # type: ignore[list-item]
        {"name": "fine", "description": "the second", "inputSchema": OBJECT},
    ]
tools += [
    {"name": "line\nend\x1b[31mred\u202e", "inputSchema": OBJECT, "description": "\x1b]0;title\x07\u202egnp.exe"},
    {"name": "n" * 100_000, "inputSchema": OBJECT},
    {"name": "", "inputSchema": OBJECT},
    {"name": HTML, "inputSchema": OBJECT, "description": HTML, "title": HTML},
    {"name": "long", "inputSchema": OBJECT, "description": "d" * 10_000_000},
    {"name": "output", "inputSchema": OBJECT, "outputSchema": {"type": "object", "properties": {"x": {"$ref": "#/x"}}}},
    {"name": "answer", "inputSchema": OBJECT},
    {
        "name": "slow_check",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "properties": {"x": {"pattern": "^(a+)+$"}, "y": {"$ref": sys.argv[1]}}},
    },
]
ANSWERS: dict[str, Any] = {
    "unknown kind": {"content": [{"type": "hologram", "data": "x"}, {"type": "text", "text": "beside it"}]},
    "null error": {"content": [{"type": "text", "text": "no error"}], "isError": None, "structuredContent": None},
    "structured alone": {"content": None, "structuredContent": {"a": 1}},
    "no list": {"content": "text"},
    "nothing": {},
    "null": None,
    "list": [],
    "number for text": {"content": [{"type": "text", "text": 5}]},
    "no base64": {"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]},
    "svg": {"content": [{"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"}]},
    "html": {
        "content": [
            {"type": "text", "text": HTML},
            {"type": "resource", "resource": {"uri": "ui://x", "mimeType": "text/html", "text": HTML}},
            {"type": "resource_link", "uri": "javascript:alert(1)", "name": HTML},
        ],
        "structuredContent": {HTML: HTML},
    },
    "surrogate": {"content": [{"type": "text", "text": "half \ud800 pair"}]},
    "control": {"content": [{"type": "text", "text": "\x1b[2J\x00\u202e" + "bell\x07"}]},
    "many": {"content": [{"type": "text", "text": "x"}] * 20_000},
    "big": {"content": [{"type": "text", "text": "y" * 10_000_000}]},
    "big image": {"content": [{"type": "image", "data": "QUJD" * 2_500_000, "mimeType": "image/png"}]},
    "deep": {"content": [], "structuredContent": {"a": json.loads("[" * 900 + "]" * 900)}},
    "slow check": {"content": [], "structuredContent": {"x": "a" * 50 + "!", "y": 1}},
    "error": {"content": [{"type": "text", "text": HTML}], "isError": True},
    "odd media type": {"content": [{"type": "image", "data": "QUJD", "mimeType": "text/html; <script>"}]},
}


def write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(request: Any, **answer: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": request, **answer}))


def send_oddly(request: int, how: str) -> None:
    """Answer, but not with one message a line or not by the request's own id."""
    answer = {"jsonrpc": "2.0", "id": request, "result": {"content": [{"type": "text", "text": f"so: {how}"}]}}
    if how == "batch":
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}
        write(json.dumps([note, answer]))
    elif how == "lines":
        write("{\n  no: 'message',\n}")
        write(json.dumps(answer, indent=2))
    elif how == "mark":
        write("\ufeff" + json.dumps(answer))
    elif how == "float":
        write(json.dumps({**answer, "id": float(request)}))
    elif how == "nobody":
        write(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what did you say"}}))


sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]


for line in sys.stdin:
    message = json.loads(line)
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        info = {"name": HTML, "version": "v" * 10_000, "title": "\x1b[31m" + HTML}
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
        send(
            number,
            result={
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "serverInfo": info,
                "instructions": HTML * 1000,
            },
        )
    elif method == "tools/list":
        if "--refuse" in sys.argv:
            send_oddly(number, "nobody")
            continue
        send(number, result={"tools": tools})
    elif method == "resources/list":
        send(number, result={"resources": [{"uri": "x:" + HTML, "name": HTML, "description": "\x1b[31m"}]})
    elif method == "prompts/list":
        send(number, result={"prompts": [{"name": HTML, "description": HTML}]})
    elif method == "tools/call":
        how = (params.get("arguments") or {}).get("how")
        if how is not None:
            send_oddly(number, how)
            continue
        send(number, result=ANSWERS.get(str((params.get("arguments") or {}).get("kind")), {"content": []}))
    elif number is not None:
        send(number, error={"code": -32601, "message": HTML})
