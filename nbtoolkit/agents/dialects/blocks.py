"""The toolkit's own blocks, as AgentScope's messages hold them: ToolCallBlock in, ToolResultBlock out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtoolkit.agents.dialects.base import Dialect, Done, WireCall, as_text

__all__ = ["Blocks"]


class Blocks(Dialect):
    """Blocks."""

    name = "openai"

    def is_piece(self, value: Mapping[str, Any]) -> bool:  # noqa: ARG002 - there are none
        """Never."""
        return False

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of a message, its content, or of one block."""
        if isinstance(reply, Mapping):
            reply = [reply] if reply.get("type") == "tool_call" else reply.get("content")
        if not isinstance(reply, list) or not all(isinstance(each, Mapping) for each in reply):
            return None
        return [each for each in reply if each.get("type") == "tool_call"] or None

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """The block's own fields."""
        return WireCall(str(item.get("name") or ""), as_text(item.get("input")), item.get("id"), item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """A block for each call."""
        return [response.to_block(call.name) for call, response in done]

    def said(self, reply: Any) -> list[Any]:
        """As it came."""
        return [reply]
