"""OpenAI's Responses interface: items in a list, results that may hold text, pictures and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtoolkit.agents.dialects.base import (
    Dialect,
    Done,
    WireCall,
    as_text,
    data_url,
    is_bad,
    is_picture,
    left_out,
    parts,
)
from nbtoolkit.message import Base64Source, DataBlock

__all__ = ["OpenAIResponses"]

_CALLS = frozenset({"function_call", "custom_tool_call"})
_PIECES = ("response.", "error", "keepalive")
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_TEXTS = {"response.function_call_arguments.delta": "arguments", "response.custom_tool_call_input.delta": "input"}


class OpenAIResponses(Dialect):
    """Responses."""

    name = "openai_responses"

    def is_piece(self, value: Mapping[str, Any]) -> bool:
        """An event of the stream."""
        kind = value.get("type")
        return isinstance(kind, str) and kind.startswith("response.")

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The last event's own response, or what the items gave where the stream broke off."""
        items: dict[int, dict[str, Any]] = {}
        for piece in pieces:
            kind = piece.get("type")
            if kind in _ENDS and (piece["response"].get("output") or not items):
                return dict(piece["response"])
            index = piece.get("output_index", 0)
            if kind in {"response.output_item.added", "response.output_item.done"}:
                items[index] = dict(piece["item"])
            elif kind in _TEXTS and index in items:
                field = _TEXTS[kind]
                items[index][field] = (items[index].get(field) or "") + piece["delta"]
        return {"object": "response", "output": [items[index] for index in sorted(items)]}

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of a response, of its output, or of one item."""
        if isinstance(reply, Mapping):
            if reply.get("type") in _CALLS and "call_id" in reply:
                return [reply]
            output = reply.get("output")
            if not isinstance(output, list) or reply.get("object", "response") != "response":
                return None
            reply = output
        elif not any(isinstance(each, Mapping) and each.get("type") in _CALLS for each in reply):
            return None
        return [each for each in reply if isinstance(each, Mapping) and each.get("type") in _CALLS]

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """The id is the call's, not the item's."""
        arguments = item.get("arguments", item.get("input"))
        return WireCall(str(item.get("name") or ""), as_text(arguments), item.get("call_id") or item.get("id"), item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """One output item for each call."""
        messages = []
        for call, response in done:
            pieces = parts(response)
            output: Any
            if all(isinstance(part, str) for part in pieces):
                output = "\n".join(str(part) for part in pieces)
                if is_bad(response):
                    output = f"Error: {output}"
            else:
                output = [_part(part) for part in pieces]
                if is_bad(response):
                    output.insert(0, {"type": "input_text", "text": "Error:"})
            kind = "custom_tool_call_output" if call.raw.get("type") == "custom_tool_call" else "function_call_output"
            messages.append({"type": kind, "call_id": call.id or response.id, "output": output})
        return messages

    def said(self, reply: Any) -> list[Any]:
        """All items, as reasoning must go back beside the calls that it led to."""
        output = reply["output"] if isinstance(reply, Mapping) and "output" in reply else reply
        items = output if isinstance(output, list) else [output]
        return [{key: value for key, value in item.items() if key != "parsed_arguments"} for item in items]


def _part(part: str | DataBlock) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if is_picture(part):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    if part.source.media_type == "application/pdf":
        if isinstance(part.source, Base64Source):
            return {"type": "input_file", "filename": part.name or "result.pdf", "file_data": data_url(part)}
        return {"type": "input_file", "file_url": part.source.url}
    return {"type": "input_text", "text": left_out(part)}
