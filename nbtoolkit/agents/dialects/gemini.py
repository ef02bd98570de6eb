"""Gemini: parts with a functionCall, answered by parts with a functionResponse.

What isn't text goes in a content of its own behind them: only the newest models take it inside a functionResponse, and
a content with both is read as if the model had written it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtoolkit.agents.dialects.base import (
    PICTURES,
    Dialect,
    Done,
    WireCall,
    as_text,
    get,
    is_bad,
    left_out,
    parts,
)
from nbtoolkit.message import Base64Source, DataBlock

__all__ = ["Gemini"]

_CALL = ("functionCall", "function_call")
_TAKEN = (PICTURES - {"image/gif"}) | {"application/pdf", "audio/wav", "audio/mpeg", "audio/mp3", "video/mp4"}


class Gemini(Dialect):
    """generateContent."""

    name = "gemini"

    def is_piece(self, value: Mapping[str, Any]) -> bool:
        """A streamed reply's pieces are of the whole one's form."""
        return isinstance(value.get("candidates"), list)

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One reply with all parts; neighbouring texts are joined."""
        gathered: list[dict[str, Any]] = []
        usage: Any = None
        for piece in pieces:
            usage = get(piece, "usageMetadata", "usage_metadata") or usage
            for part in _parts(piece) or ():
                last = gathered[-1] if gathered else {}
                if set(part) == set(last) == {"text"}:
                    last["text"] += part["text"]
                else:
                    gathered.append(dict(part))
        made: dict[str, Any] = {"candidates": [{"content": {"role": "model", "parts": gathered}}]}
        return made if usage is None else {**made, "usageMetadata": usage}

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """Of a reply, its content, its parts, or of the calls alone; of several candidates the first."""
        if isinstance(reply, list) and reply and all(_is_call(each) for each in reply):
            return reply
        if isinstance(reply, Mapping) and _is_call(reply):
            return [reply]
        found = _parts(reply)
        return None if found is None else [call for part in found if (call := get(part, *_CALL)) is not None]

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """Gemini may give no id."""
        return WireCall(str(item.get("name") or ""), as_text(item.get("args")), item.get("id"), item)

    def results(self, done: Sequence[Done]) -> list[Any]:
        """One content with all responses, and one with what isn't text."""
        answers: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        for call, response in done:
            texts = [part if isinstance(part, str) else _show(part, call, shown) for part in parts(response)]
            held: dict[str, Any] = {"name": call.name}
            if call.id is not None:
                held["id"] = call.id
            held["response"] = {"error" if is_bad(response) else "output": "\n".join(texts)}
            answers.append({"functionResponse": held})
        contents = [{"role": "user", "parts": answers}] if answers else []
        return [*contents, {"role": "user", "parts": shown}] if shown else contents

    def said(self, reply: Any) -> list[Any]:
        """The model's content, with the signatures of its thoughts."""
        return [{"role": "model", "parts": [dict(part) for part in _parts(reply) or ()]}]


def _parts(reply: Any) -> list[Mapping[str, Any]] | None:
    if isinstance(reply, Mapping):
        if isinstance(reply.get("candidates"), list):
            reply = next((each.get("content") for each in reply["candidates"]), None) or {"parts": []}
        if any(name in reply for name in _CALL):
            reply = [reply]
        else:
            reply = reply.get("parts", [] if reply.get("role") == "model" else None)
    if not isinstance(reply, list) or not all(isinstance(part, Mapping) for part in reply):
        return None
    known = [part for part in reply if "type" not in part and (any(name in part for name in _CALL) or "text" in part)]
    return reply if known or not reply else None


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("name"), str)
        and "type" not in value
        and ("args" in value or set(value) <= {"name", "id"})
    )


def _show(block: DataBlock, call: WireCall, shown: list[dict[str, Any]]) -> str:
    source = block.source
    if source.media_type not in _TAKEN:
        return left_out(block)
    number = sum(1 for each in shown if "text" not in each) + 1
    shown.append({"text": f"Data {number}, from the result of {call.name}:"})
    if isinstance(source, Base64Source):
        shown.append({"inlineData": {"mimeType": source.media_type, "data": source.data}})
    else:
        shown.append({"fileData": {"mimeType": source.media_type, "fileUri": source.url}})
    return f"[data {number}: in the message below]"
