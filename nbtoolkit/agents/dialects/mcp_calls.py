"""MCP: the parameters of tools/call, or its whole JSON-RPC request, answered by a CallToolResult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtoolkit.agents.dialects.base import Dialect, Done, WireCall, as_text, is_bad, parts
from nbtoolkit.message import Base64Source, DataBlock

__all__ = ["MCPCalls", "to_result"]


class MCPCalls(Dialect):
    """tools/call. It has no stream of pieces and no history."""

    name = "mcp"

    def is_piece(self, value: Mapping[str, Any]) -> bool:  # noqa: ARG002 - there are none
        """Never."""
        return False

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Never asked for."""
        raise NotImplementedError("MCP sends no call in pieces")

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of one request or of several."""
        several = reply if isinstance(reply, list) else [reply]
        return several if several and all(_is_call(each) for each in several) else None

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """The request's id is the call's."""
        held = item.get("params") or {} if "method" in item else item
        call_id = item.get("id") if "method" in item else None
        text = as_text(held.get("arguments"))
        return WireCall(str(held.get("name") or ""), text, None if call_id is None else str(call_id), item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """A result for each call, as a JSON-RPC response where the call came as a request."""
        made: list[Any] = []
        for call, response in done:
            result = to_result(response)
            asked = call.raw.get("id")
            made.append(result if asked is None else {"jsonrpc": "2.0", "id": asked, "result": result})
        return made

    def said(self, reply: Any) -> list[Any]:  # noqa: ARG002
        """Nothing: a client keeps no history with its server."""
        return []


def to_result(response: Any) -> dict[str, Any]:
    """A response as a CallToolResult, with what the tool itself gave as structured content."""
    result: dict[str, Any] = {"content": [_part(part) for part in parts(response)]}
    structured = response.metadata.get("structured_content")
    if isinstance(structured, dict):
        result["structuredContent"] = structured
    result["isError"] = is_bad(response)
    return result


def _is_call(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    if "method" in value:
        return bool(value["method"] == "tools/call")
    return (
        isinstance(value.get("name"), str)
        and "type" not in value
        and "arguments" in value
        and not isinstance(value["arguments"], str)
    )


def _part(part: str | DataBlock) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = part.source
    kind = source.media_type.partition("/")[0]
    name = part.name or "result"
    if not isinstance(source, Base64Source):
        return {"type": "resource_link", "uri": source.url, "name": name, "mimeType": source.media_type}
    if kind in {"image", "audio"}:
        return {"type": kind, "data": source.data, "mimeType": source.media_type}
    resource = {"uri": f"nbtoolkit://result/{part.id}", "mimeType": source.media_type, "blob": source.data}
    return {"type": "resource", "resource": resource}
