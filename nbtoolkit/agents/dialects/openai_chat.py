"""OpenAI chat completions, and everything that speaks like them: vLLM, Ollama, llama.cpp, LiteLLM and others.

A tool message carries text only there, so pictures follow in one user message behind all tool messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from nbtoolkit.message import DataBlock

__all__ = ["OpenAIChat"]

_KINDS = frozenset({"function", "custom"})
# What of a reply may be sent back; parsed_arguments and the like are an SDK's own.
_MESSAGE = ("role", "content", "refusal", "tool_calls", "reasoning_content")


class OpenAIChat(Dialect):
    """Chat completions."""

    name = "openai"

    def is_piece(self, value: Mapping[str, Any]) -> bool:
        """A chunk, or an event of the SDK's helper that holds one."""
        if value.get("object") == "chat.completion.chunk" or value.get("type") == "chunk":
            return True
        choices = value.get("choices")
        return isinstance(choices, list) and any(isinstance(each, Mapping) and "delta" in each for each in choices)

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One completion; deltas are joined by the index of their call, or by order where a server gives none."""
        texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
        calls: dict[Any, dict[str, Any]] = {}
        usage: Any = None
        reason: Any = None
        for piece in pieces:
            # The SDK's helper puts chunks between events of its own.
            chunk = piece.get("chunk", piece)
            usage = chunk.get("usage") or usage
            for choice in (chunk.get("choices") or ())[:1]:
                reason = choice.get("finish_reason") or reason
                delta = choice.get("delta") or {}
                for key, held in texts.items():
                    if isinstance(delta.get(key), str):
                        held.append(delta[key])
                for part in delta.get("tool_calls") or ():
                    _join(calls, part)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message.update({key: "".join(held) for key, held in texts.items() if held})
        if calls:
            message["tool_calls"] = list(calls.values())
        made = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        return made if usage is None else {**made, "usage": usage}

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of a completion, of its message, or of the calls alone; of several choices the first."""
        if isinstance(reply, list):
            return reply if reply and all(_is_call(each) for each in reply) else None
        if isinstance(reply.get("choices"), list):
            message = next((each.get("message") for each in reply["choices"]), None) or {}
        elif _is_call(reply):
            return [reply]
        elif "tool_calls" in reply or (reply.get("role") == "assistant" and _is_plain(reply.get("content"))):
            message = reply
        else:
            return None
        calls = [each for each in message.get("tool_calls") or () if isinstance(each, Mapping)]
        # Another library's messages have calls under the same name.
        return calls if all(each.get("type", "function") in _KINDS for each in calls) else None

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """A function's arguments as they are; a custom tool's text likewise."""
        held = item.get("function") or item.get("custom") or {}
        arguments = held.get("arguments", held.get("input"))
        call_id = item.get("id")
        return WireCall(str(held.get("name") or ""), as_text(arguments), str(call_id) if call_id else None, item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """One tool message for each call, and the pictures behind them."""
        messages: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        for call, response in done:
            pieces = parts(response)
            text = "\n".join(part if isinstance(part, str) else self._show(part, call, shown) for part in pieces)
            # There is no field for a failure.
            content = f"Error: {text}" if is_bad(response) else text
            messages.append({"role": "tool", "tool_call_id": call.id or response.id, "content": content})
        return [*messages, {"role": "user", "content": shown}] if shown else messages

    @staticmethod
    def _show(block: DataBlock, call: WireCall, shown: list[dict[str, Any]]) -> str:
        if not is_picture(block):
            return left_out(block)
        number = sum(1 for each in shown if each["type"] == "image_url") + 1
        shown.append({"type": "text", "text": f"Image {number}, from the result of {call.name}:"})
        shown.append({"type": "image_url", "image_url": {"url": data_url(block)}})
        return f"[image {number}: in the message below]"

    def said(self, reply: Any) -> list[Any]:
        """The assistant's message."""
        message = reply["choices"][0]["message"] if "choices" in reply else reply
        kept = {key: message[key] for key in _MESSAGE if message.get(key) is not None}
        if "tool_calls" in kept:
            kept["tool_calls"] = [_bare(each) for each in kept["tool_calls"]]
        return [{"role": "assistant", "content": None, **kept}]


def _is_plain(content: Any) -> bool:
    return content is None or isinstance(content, str)


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type", "function") in _KINDS
        and isinstance(value.get("function", value.get("custom")), Mapping)
        and "parameters" not in (value.get("function") or {})
    )


def _join(calls: dict[Any, dict[str, Any]], part: Mapping[str, Any]) -> None:
    index = part.get("index")
    if index is None:
        # Some servers send each call whole and unnumbered; what has neither id nor number belongs to the last.
        index = part.get("id") or (next(reversed(calls)) if calls else 0)
    held = calls.setdefault(index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
    held["id"] = part.get("id") or held["id"]
    kind = "custom" if "custom" in part or held["type"] == "custom" else "function"
    text = "input" if kind == "custom" else "arguments"
    if held["type"] != kind:
        held.pop("function")
        held["type"], held["custom"] = "custom", {"name": "", "input": ""}
    given = part.get(kind) or {}
    held[kind]["name"] += given.get("name") or ""
    held[kind][text] += as_text(given[text]) if given.get(text) else ""


def _bare(call: Mapping[str, Any]) -> dict[str, Any]:
    held = {
        key: call[key] for key in ("id", "type", "function", "custom", "extra_content") if call.get(key) is not None
    }
    if "function" in held:
        function = held["function"]
        held["function"] = {"name": function.get("name") or "", "arguments": as_text(function.get("arguments"))}
        held.setdefault("type", "function")
    return held
