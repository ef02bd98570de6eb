"""A model's reply, in whatever object or dict or stream it comes, read as calls in the dialect that it is written in."""

from __future__ import annotations

import reprlib
from collections.abc import AsyncIterable, Iterable, Mapping
from inspect import isawaitable
from typing import Any

from nbtoolkit.agents.dialects.anthropic_messages import AnthropicMessages
from nbtoolkit.agents.dialects.base import Dialect, WireCall, plain
from nbtoolkit.agents.dialects.blocks import Blocks
from nbtoolkit.agents.dialects.gemini import Gemini
from nbtoolkit.agents.dialects.mcp_calls import MCPCalls
from nbtoolkit.agents.dialects.openai_chat import OpenAIChat
from nbtoolkit.agents.dialects.openai_responses import OpenAIResponses

__all__ = ["DIALECTS", "Reply", "read_reply"]

# A shape that two of them could claim is the first one's.
_ORDER: tuple[Dialect, ...] = (
    OpenAIResponses(),
    OpenAIChat(),
    Blocks(),
    AnthropicMessages(),
    Gemini(),
    MCPCalls(),
)
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ORDER if not isinstance(dialect, Blocks)}


class Reply:
    """A reply that was read: its dialect, its calls, and ``value``, the whole of it as plain dicts and lists."""

    def __init__(self, dialect: Dialect, value: Any, calls: list[WireCall]) -> None:
        self.dialect = dialect
        self.value = value
        self.calls = calls


async def read_reply(reply: Any) -> Reply:
    """Read a reply, awaited or not, or a stream of its pieces to the end; TypeError that says what is known for any other thing."""
    value = await _collected(await reply if isawaitable(reply) else reply)
    if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for dialect in _ORDER:
            if any(dialect.is_piece(each) for each in value):
                value = dialect.gather(value)
                break
    if isinstance(value, Mapping | list):
        if not value:
            return Reply(_ORDER[1], value, [])
        for dialect in _ORDER:
            items = dialect.items(value)
            if items is not None:
                return Reply(dialect, value, [dialect.read(item) for item in items])
    raise TypeError(
        f"{reprlib.repr(reply)} is no reply that can be read; expected one of OpenAI (chat completions or responses), "
        "Anthropic (messages) or Gemini as its SDK gives it or as plain dicts, a stream of one, a tools/call of MCP, or "
        "the calls alone. An agent library's own messages are for the adapters in nbtoolkit.agents"
    )


async def _collected(reply: Any) -> Any:
    if hasattr(reply, "model_dump") or isinstance(reply, Mapping | str | bytes | None):
        return plain(reply)
    if isinstance(reply, AsyncIterable):
        return [plain(piece) async for piece in reply]
    return [plain(piece) for piece in reply] if isinstance(reply, Iterable) else reply
