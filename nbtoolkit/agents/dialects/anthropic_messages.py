"""Anthropic's messages: tool_use blocks, answered by one user message of tool_result blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbtoolkit.agents.dialects.base import Dialect, Done, WireCall, as_text, is_bad, is_picture, left_out, parts
from nbtoolkit.message import Base64Source, DataBlock

__all__ = ["AnthropicMessages"]

_PIECES = frozenset(
    {"message_start", "message_delta", "message_stop"}
    | {"content_block_start", "content_block_delta", "content_block_stop"}
)
_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
# What each kind of delta adds to, and where.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "_json"),
}


class AnthropicMessages(Dialect):
    """Messages."""

    name = "anthropic"

    def is_piece(self, value: Mapping[str, Any]) -> bool:
        """An event of the stream; those that the SDK's helper adds are passed over."""
        return value.get("type") in _PIECES

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One message."""
        message: dict[str, Any] = {"type": "message", "role": "assistant"}
        usage: dict[str, Any] = {}
        blocks: dict[int, dict[str, Any]] = {}
        for piece in pieces:
            kind = piece.get("type")
            if kind == "message_start":
                message.update(piece["message"])
                usage.update(message.get("usage") or {})
            elif kind == "message_delta":
                message.update(piece.get("delta") or {})
                usage.update({key: value for key, value in (piece.get("usage") or {}).items() if value is not None})
            elif kind == "content_block_start":
                blocks[piece["index"]] = dict(piece["content_block"])
            elif kind == "content_block_delta" and piece["index"] in blocks:
                _add(blocks[piece["index"]], piece["delta"])
        message["content"] = [_whole(blocks[index]) for index in sorted(blocks)]
        return {**message, "usage": usage} if usage else message

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of a message, of its content, or of one block."""
        if isinstance(reply, Mapping):
            if reply.get("type") == "tool_use":
                return [reply]
            if reply.get("role") != "assistant" or "tool_calls" in reply:
                return None
            reply = reply.get("content")
            if isinstance(reply, str):
                return []
        if not isinstance(reply, list):
            return None
        blocks = [each for each in reply if isinstance(each, Mapping)]
        if len(blocks) < len(reply) or not all(isinstance(each.get("type"), str) for each in blocks):
            return None
        calls: list[Mapping[str, Any]] = [each for each in blocks if each["type"] == "tool_use"]
        return calls if calls or any(each["type"] in _BLOCKS for each in blocks) or not blocks else None

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """The input is an object, or the text of one that a stream left broken."""
        return WireCall(str(item.get("name") or ""), as_text(item.get("input")), item.get("id"), item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """One user message with all results: each call of a turn must be answered in the next."""
        blocks: list[dict[str, Any]] = []
        for call, response in done:
            block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id or response.id}
            block["content"] = [_part(part, plain=is_bad(response)) for part in parts(response)]
            if is_bad(response):
                block["is_error"] = True
            blocks.append(block)
        return [{"role": "user", "content": blocks}] if blocks else []

    def said(self, reply: Any) -> list[Any]:
        """The assistant's message."""
        content = reply.get("content", [reply]) if isinstance(reply, Mapping) else reply
        if isinstance(content, list):
            content = [_sendable(each) for each in content]
        return [{"role": "assistant", "content": content}]


def _part(part: str | DataBlock, *, plain: bool) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = "image" if is_picture(part) else "document" if part.source.media_type == "application/pdf" else None
    # An error's content must be text.
    if kind is None or plain:
        return {"type": "text", "text": left_out(part)}
    if isinstance(part.source, Base64Source):
        source = {"type": "base64", "media_type": part.source.media_type, "data": part.source.data}
    else:
        source = {"type": "url", "url": part.source.url}
    return {"type": kind, "source": source}


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    given, held = _DELTAS.get(str(delta.get("type")), ("", ""))
    if held:
        block[held] = (block.get(held) or "") + (delta.get(given) or "")


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    text = block.pop("_json", "")
    if text:
        try:
            block["input"] = json.loads(text)
        except ValueError:
            # As it was written: the pipeline repairs it, or tells the model what is wrong with it.
            block["input"] = text
    return block


def _sendable(block: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in block.items() if key not in {"parsed_output", "caller"}}
    if kept.get("type") == "tool_use" and not isinstance(kept.get("input"), Mapping):
        # Only an object may go back.
        kept["input"] = {}
    return kept
