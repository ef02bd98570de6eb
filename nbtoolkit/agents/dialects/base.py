"""Dialect: how one provider writes calls, results and streamed pieces; over plain dicts, whatever object came in.

It promises: calls come in the model's order with the ids that it gave; a call that is written wrong is still a call, so
that its fault becomes a result; every call gets exactly one result; nothing of a result is lost without a word in its
place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultState, new_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.tool.result import ToolResponse

__all__ = ["Dialect", "Done", "WireCall", "as_text", "is_bad", "left_out", "parts", "plain", "text_of"]

# Providers refuse text without any content.
EMPTY = "(empty)"
# The kinds of picture that OpenAI, Anthropic and Gemini all take.
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class WireCall:
    """One call as a model wrote it. ``id`` is None where the provider gave none; ``raw`` is the call as it came."""

    name: str
    input: str
    id: str | None
    raw: Mapping[str, Any] = field(default_factory=dict)

    def block(self, name: str, text: str) -> ToolCallBlock:
        """The call for the pipeline, under the toolkit's own names."""
        return ToolCallBlock(id=self.id or new_id(), name=name, input=text)


Done = tuple[WireCall, "ToolResponse"]


class Dialect:
    """One provider's words. ``name`` is what ``get_tool_schemas(format=…)`` takes."""

    name: ClassVar[str]

    def is_piece(self, value: Mapping[str, Any]) -> bool:
        """Whether this is one piece of a streamed reply."""
        raise NotImplementedError

    def gather(self, pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The whole reply that the pieces make."""
        raise NotImplementedError

    def items(self, reply: Any) -> list[Mapping[str, Any]] | None:
        """The calls in a reply, or in a part of one, as they came; None where it isn't of this dialect."""
        raise NotImplementedError

    def read(self, item: Mapping[str, Any]) -> WireCall:
        """One call."""
        raise NotImplementedError

    def results(self, done: Sequence[Done]) -> list[Any]:
        """The messages that give the results back."""
        raise NotImplementedError

    def said(self, reply: Any) -> list[Any]:
        """The reply as messages to keep in the history, before the results."""
        raise NotImplementedError


def plain(value: Any) -> Any:
    """An SDK's object as the dicts and lists that it was on the wire; a plain value is given back."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def as_text(arguments: Any) -> str:
    """Arguments as the raw JSON text that a model wrote, also where the provider gives an object."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False, default=str)


def get(item: Mapping[str, Any], *names: str) -> Any:
    """The value under the first name that is there, as snake_case and camelCase stand for the same."""
    return next((item[name] for name in names if item.get(name) is not None), None)


def is_bad(response: ToolResponse) -> bool:
    """Whether the model is to read the result as a failure; a denial is one."""
    return response.state is not ToolResultState.SUCCESS


def parts(response: ToolResponse) -> list[str | DataBlock]:
    """The result as texts and data, in their order, without empty texts."""
    found: list[str | DataBlock] = []
    for block in response.content:
        if not isinstance(block, TextBlock):
            found.append(block)
        elif block.text.strip():
            found.append(block.text)
    return found or [EMPTY]


def text_of(response: ToolResponse) -> str:
    """All text of the result, with a word in the place of everything else."""
    return "\n".join(part if isinstance(part, str) else left_out(part) for part in parts(response))


def left_out(block: DataBlock) -> str:
    """What stands in the place of data that a provider can't take."""
    source = block.source
    named = f" {block.name!r}" if block.name else ""
    if isinstance(source, Base64Source):
        return f"[{source.media_type}{named}, {len(source.data) * 3 // 4:,} bytes: shown to the person only]"
    return f"[{source.media_type}{named}: {source.url}]"


def data_url(block: DataBlock) -> str:
    """The data as one URL."""
    source = block.source
    return f"data:{source.media_type};base64,{source.data}" if isinstance(source, Base64Source) else source.url


def is_picture(block: DataBlock) -> bool:
    """Whether it is a picture that models take."""
    return block.source.media_type in PICTURES
