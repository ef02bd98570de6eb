"""ToolChunk, one increment of a result, and ToolResponse, the chunks of one call joined.

Appending costs the same for the first chunk and the two-hundred-thousandth: parts are kept as they come and joined
when somebody looks at ``content``. A lone text is kept as a text, and its block made then.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from nbtoolkit.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    assembled,
    new_id,
    now,
)
from nbtoolkit.unseen import visible_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TRANSIENT_METADATA", "ToolChunk", "ToolResponse"]

# A snapshot of progress is worth nothing once the next one is there.
TRANSIENT_METADATA = frozenset({"mcp_progress"})

# As much of a result as tells it from the others in a list.
PRETTY = 60

_RUNNING = ToolResultState.RUNNING
_SEVERITY = {
    ToolResultState.RUNNING: 0,
    ToolResultState.SUCCESS: 1,
    ToolResultState.DENIED: 2,
    ToolResultState.INTERRUPTED: 3,
    ToolResultState.ERROR: 4,
}


class ToolChunk(BaseModel):
    """One increment of a tool's result."""

    # Built when first used, as in nbtoolkit.message.
    model_config = ConfigDict(defer_build=True)

    content: list[ContentBlock] = Field(default_factory=list)
    state: ToolResultState = ToolResultState.RUNNING
    is_last: bool = True
    metadata: dict[str, Any] = Field(default_factory=dict)
    id: str = Field(default_factory=new_id)

    # Kept beside the fields as a cached property keeps its value: pydantic's private attributes would double the
    # cost of a chunk.
    @property
    def value(self) -> Any:
        """The Python object behind the content, where the tool returned one; not serialised."""
        return self.__dict__.get("_value")

    @classmethod
    def of(cls, text: str, state: ToolResultState = ToolResultState.RUNNING) -> ToolChunk:
        """A chunk of one text block."""
        return cls(content=[TextBlock(text=text)], state=state)

    @classmethod
    def plain(cls, text: str, value: object) -> ToolChunk:
        """A chunk of one text, a str and no subclass, that tells of a value: the usual result, not validated again."""
        fields: dict[str, Any] = {
            "content": [TextBlock.plain(text)],
            "state": _RUNNING,
            "is_last": True,
            "metadata": {},
            "id": new_id(),
            "_value": value,
        }
        return assembled(ToolChunk, fields, {"content"})

    @classmethod
    def piece(cls, block: TextBlock) -> ToolChunk:
        """A chunk of one block, with more to come."""
        fields = {"content": [block], "state": _RUNNING, "is_last": False, "metadata": {}, "id": new_id()}
        return assembled(ToolChunk, fields, {"content", "is_last"})

    def with_value(self, value: object) -> ToolChunk:
        """This chunk, carrying the Python object that its content tells of."""
        self.__dict__["_value"] = value
        return self


class ToolResponse(BaseModel):
    """The result of one call, under the call's id."""

    model_config = ConfigDict(defer_build=True)

    content: list[ContentBlock] = Field(default_factory=list)
    state: ToolResultState = ToolResultState.RUNNING
    metadata: dict[str, Any] = Field(default_factory=dict)
    id: str = Field(default_factory=new_id)

    @classmethod
    def begun(cls, call_id: str) -> ToolResponse:
        """The empty response of a call."""
        fields = {"state": _RUNNING, "metadata": {}, "id": call_id}
        return assembled(ToolResponse, fields, {"id"})

    if not TYPE_CHECKING:
        # ``content`` is away from the instance while its parts wait, so that looking it up comes here; a property would
        # hide the field from pydantic.
        def __getattr__(self, name: str) -> Any:
            if name == "content" and "content" not in self.__dict__:
                return self._join()
            return super().__getattr__(name)

    @property
    def value(self) -> Any:
        """The Python object that the tool returned; not serialised."""
        return self.__dict__.get("_value")

    @property
    def text(self) -> str:
        """All text of the result."""
        lone = self._lone()
        return "".join(_texts(self.content)) if lone is None else lone

    @property
    def size(self) -> int:
        """How many characters of text there are."""
        own = self.__dict__
        waiting = own.get("_waiting")
        if type(waiting) is tuple and "content" not in own:
            # As ``_lone``, without its cost: every call is measured.
            return len(waiting[0])
        return sum(map(len, _texts(self.content)))

    def _lone(self) -> str | None:
        """The text that is all there is, where nobody has looked at its block."""
        own = self.__dict__
        waiting = own.get("_waiting")
        return waiting[0] if type(waiting) is tuple and "content" not in own else None

    def append_chunk(self, chunk: ToolChunk) -> ToolResponse:
        """Add one increment: same ids join, neighbouring texts merge, metadata merges, the worst state wins."""
        # Fields are read from the instances' own dicts: pydantic's __getattr__ makes each other way many times slower.
        own, new = self.__dict__, chunk.__dict__
        content = new["content"]
        if content:
            self._add(content)
        metadata = new["metadata"]
        if metadata:
            own["metadata"].update((k, v) for k, v in metadata.items() if k not in TRANSIENT_METADATA)
        state = new["state"]
        if state is not _RUNNING and _SEVERITY[state] > _SEVERITY[own["state"]]:
            own["state"] = state
        if "_value" in new and new["_value"] is not None:
            own["_value"] = new["_value"]
        return self

    def _add(self, content: list[TextBlock | DataBlock]) -> None:
        own = self.__dict__
        joiner = own.get("_waiting")
        if type(joiner) is not _Joiner or "content" in own:
            held = self.content
            if not held and len(content) == 1:
                # The usual response is one block: nothing to join.
                own["content"] = content.copy()
                return
            joiner = own["_waiting"] = _Joiner(held)
            del own["content"]
        for part in content:
            joiner.add(part)

    def take_text(self, text: str, value: object) -> None:
        """Take one text, a str and no subclass, that tells of a value, as the first and only increment."""
        own = self.__dict__
        own["_waiting"] = (text, now())
        own["_value"] = value

    def finish(self, state: ToolResultState = ToolResultState.SUCCESS) -> ToolResponse:
        """End the response: one that has met nothing worse takes ``state``."""
        own = self.__dict__
        if _SEVERITY[state] > _SEVERITY[own["state"]]:
            own["state"] = state
        return self

    def recorded(self, again: Callable[[ToolResponse], None]) -> None:
        """Say that the record of this call was shown; ``again`` shows it where it isn't on screen."""
        self.__dict__["_record"] = again

    def to_block(self, name: str) -> ToolResultBlock:
        """This response as the block that goes back to a model."""
        return ToolResultBlock(id=self.id, name=name, output=self.content, state=self.state, metadata=self.metadata)

    def _join(self) -> list[TextBlock | DataBlock]:
        waiting = self.__dict__.pop("_waiting", None)
        joined: list[TextBlock | DataBlock] = []
        if type(waiting) is tuple:
            joined.append(TextBlock.plain(*waiting))
        elif waiting is not None:
            joined = waiting.blocks()
        self.__dict__["content"] = joined
        return joined

    @model_serializer(mode="wrap")
    def _serialise(self, handler: SerializerFunctionWrapHandler) -> Any:
        _ = self.content
        return handler(self)

    def __repr_args__(self) -> Any:
        _ = self.content
        return super().__repr_args__()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToolResponse):
            _ = self.content, other.content
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> ToolResponse:
        _ = self.content
        return super().__copy__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> ToolResponse:
        _ = self.content
        return super().__deepcopy__(memo)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython calls it so
        """In a list or a dict at the end of a cell: what is the same in each run, so that saved outputs can be compared."""
        text = " ".join(visible_text(self.text).split())
        shown = text if len(text) <= PRETTY else f"{text[: PRETTY - 1]}…"
        printer.text(f"<ToolResponse: {self.state.value}{', ' + repr(shown) if shown else ''}>")

    def _ipython_display_(self) -> None:
        """Show nothing where the call's record is on screen already, else the record."""
        show: Callable[[ToolResponse], None] | None = self.__dict__.get("_record")
        if show is not None:
            show(self)
        else:
            print(visible_text(self.text))  # noqa: T201 - a response with no notebook behind it


def _texts(content: list[TextBlock | DataBlock]) -> Iterator[str]:
    return (block.__dict__["text"] for block in content if isinstance(block, TextBlock))


class _Slot:
    """Blocks of one id, or neighbouring texts, on their way into one block."""

    __slots__ = ("data", "first", "is_text", "texts")

    def __init__(self, first: TextBlock | DataBlock) -> None:
        self.first = first
        self.is_text = isinstance(first, TextBlock)
        # What follows the first. Texts alone, not their blocks: the garbage collector walks over a block each time.
        self.texts: list[str] = []
        self.data: list[DataBlock] = []

    def takes(self, part: TextBlock | DataBlock) -> bool:
        if self.is_text or isinstance(part, TextBlock):
            return self.is_text and isinstance(part, TextBlock)
        sources = (part.source, getattr(self.first, "source", None))
        return all(isinstance(source, Base64Source) for source in sources)

    def add(self, part: TextBlock | DataBlock) -> None:
        if isinstance(part, DataBlock):
            self.data.append(part)
        else:
            self.texts.append(part.__dict__["text"])

    def block(self) -> TextBlock | DataBlock:
        first = self.first
        if isinstance(first, TextBlock):
            return first.model_copy(update={"text": "".join([first.text, *self.texts])}) if self.texts else first
        if not self.data:
            return first
        data = b"".join([_decoded(part) for part in (first, *self.data)])
        source = first.source.model_copy(update={"data": base64.b64encode(data).decode()})
        return first.model_copy(update={"source": source})


def _decoded(block: DataBlock) -> bytes:
    data = block.source.data if isinstance(block.source, Base64Source) else ""
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4))
    except binascii.Error:
        return b""


class _Joiner:
    """Blocks on their way into fewer: the same ids join, neighbouring texts merge."""

    __slots__ = ("by_id", "last", "slots")

    def __init__(self, parts: list[TextBlock | DataBlock]) -> None:
        self.slots: list[_Slot] = []
        self.by_id: dict[str, _Slot] = {}
        self.last: _Slot | None = None
        for part in parts:
            self.add(part)

    def add(self, part: TextBlock | DataBlock) -> None:
        part_id = part.__dict__["id"]
        slot = self.by_id.get(part_id)
        if slot is not None and slot.takes(part):
            slot.add(part)
            return
        last = self.last
        if last is not None and last.is_text and isinstance(part, TextBlock):
            last.add(part)
        else:
            last = self.last = _Slot(part)
            self.slots.append(last)
        self.by_id[part_id] = last

    def blocks(self) -> list[TextBlock | DataBlock]:
        return [slot.block() for slot in self.slots]
