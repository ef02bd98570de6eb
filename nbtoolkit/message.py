"""What a tool call and its result are made of: text and data blocks, the call, its states."""

from __future__ import annotations

import itertools
import os
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Base64Source",
    "DataBlock",
    "TextBlock",
    "ToolCallBlock",
    "ToolCallState",
    "ToolResultBlock",
    "ToolResultState",
    "URLSource",
    "new_id",
]


_prefix = os.urandom(6).hex()
_count = itertools.count(1)


def _reseed() -> None:
    global _prefix, _count
    _prefix, _count = os.urandom(6).hex(), itertools.count(1)


# A forked child would otherwise go on counting in its parent's name.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


def new_id() -> str:
    """An id unique among processes; a count behind a random prefix costs a tenth of a uuid4."""
    return f"{_prefix}{next(_count)}"


# The millisecond that was written out last, in nanoseconds, and its text.
_since = 0
_text = ""


def now() -> str:
    """The time in UTC to the millisecond, ISO 8601; every block carries one, so each is written out once."""
    global _since, _text
    moment = time.time_ns()
    if 0 <= moment - _since < 1_000_000:
        return _text
    seconds, rest = divmod(moment // 1_000_000, 1000)
    text = f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:-6]}.{rest:03d}+00:00"
    # In this order: a thread that comes between the two reads a text, of this millisecond or the one before.
    _text, _since = text, moment // 1_000_000 * 1_000_000
    return text


M = TypeVar("M", bound=BaseModel)
_new = object.__new__
# The slots that pydantic documents of every model; by their descriptors they are set at two thirds of setattr's cost.
_SLOTS: dict[str, Any] = dict(vars(BaseModel))
_set_fields = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__


def assembled(kind: type[M], fields: dict[str, Any], given: set[str]) -> M:
    """An instance of all its fields, valid and in their order, for a fraction of what validating them costs."""
    made = _new(kind)
    # All that there is of an instance; a test holds one made so against one that was validated.
    _set_fields(made, fields)
    _set_given(made, given)
    _set_extra(made, None)
    _set_private(made, None)
    return made


class ToolResultState(StrEnum):
    """How a call stands; one that has ended is never ``running``."""

    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    DENIED = "denied"
    RUNNING = "running"


class ToolCallState(StrEnum):
    """How far a call has come on its way to a result."""

    PENDING = "pending"
    ASKING = "asking"
    ALLOWED = "allowed"
    SUBMITTED = "submitted"
    FINISHED = "finished"


# Built when first used: the first model that is built costs half as much as importing pydantic.
_LATE = ConfigDict(defer_build=True)


class Block(BaseModel):
    """What every block has: an id, and when it was made and ended (ISO 8601, UTC)."""

    model_config = _LATE

    id: str = Field(default_factory=new_id)
    created_at: str = Field(default_factory=now)
    finished_at: str | None = None


class TextBlock(Block):
    """Text."""

    type: Literal["text"] = "text"
    text: str

    @classmethod
    def plain(cls, text: str, created_at: str | None = None) -> TextBlock:
        """A block of a str that is one, not a subclass of it."""
        fields = {"id": new_id(), "created_at": created_at or now(), "finished_at": None, "type": "text", "text": text}
        return assembled(TextBlock, fields, {"text"})


class Base64Source(BaseModel):
    """Data carried along, as base64 text."""

    model_config = _LATE

    type: Literal["base64"] = "base64"
    data: str
    media_type: str


class URLSource(BaseModel):
    """Data that lies elsewhere; nbtoolkit never fetches it."""

    model_config = _LATE

    type: Literal["url"] = "url"
    url: str
    media_type: str


class DataBlock(Block):
    """An image, a sound or another file."""

    type: Literal["data"] = "data"
    source: Annotated[Base64Source | URLSource, Field(discriminator="type")]
    name: str | None = None


ContentBlock = Annotated[TextBlock | DataBlock, Field(discriminator="type")]


class ToolCallBlock(Block):
    """A tool call as a model wrote it; ``input`` is the raw JSON text."""

    type: Literal["tool_call"] = "tool_call"
    name: str
    input: str = "{}"
    state: ToolCallState = ToolCallState.PENDING


class ToolResultBlock(Block):
    """A tool's result for the model, under the id of its call."""

    type: Literal["tool_result"] = "tool_result"
    name: str
    output: list[ContentBlock] = Field(default_factory=list)
    state: ToolResultState = ToolResultState.RUNNING
    metadata: dict[str, Any] = Field(default_factory=dict)
