"""A run's chunks as short JSON and back.

The usual result is its text alone; one whose text says its value is ``{"value": …}``. Ids and times aren't kept: blocks
that were one block, across chunks, are numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.cassette.values import ReplayedValue, decode, keep
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource, new_id
from nbtoolkit.tool.content import to_chunk
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.cassette.places import Places
    from nbtoolkit.redact import Redactor

__all__ = ["read_chunks", "write_chunks"]

_NOTHING = "done, nothing returned"


# ---------------------------------------------------------------------------------------------------------- to JSON


def write_chunks(chunks: Sequence[ToolChunk], hide: Redactor, places: Places) -> list[Any]:
    """The chunks as JSON, without secrets and without this machine's folders."""
    numbers = _numbers([block for chunk in chunks for block in chunk.content])
    # A secret may lie across the pieces of a stream.
    texts = iter(
        hide.pieces([block.text for chunk in chunks for block in chunk.content if isinstance(block, TextBlock)])
    )
    written = []
    for place, chunk in enumerate(chunks):
        blocks = [_write_block(block, numbers, texts, hide, places) for block in chunk.content]
        written.append(_write_chunk(chunk, blocks, place == len(chunks) - 1, hide, places))
    return written


def _numbers(blocks: Sequence[TextBlock | DataBlock]) -> dict[str, int]:
    """Numbers for the ids that join what doesn't join without them: neighbouring texts are one anyway."""
    numbers: dict[str, int] = {}
    seen: set[str] = set()
    before: TextBlock | DataBlock | None = None
    for block in blocks:
        follows = isinstance(block, TextBlock) and isinstance(before, TextBlock) and before.id == block.id
        if block.id in seen and not follows:
            numbers.setdefault(block.id, len(numbers) + 1)
        seen.add(block.id)
        before = block
    return numbers


def _write_block(
    block: TextBlock | DataBlock, numbers: dict[str, int], texts: Any, hide: Redactor, places: Places
) -> Any:
    number = {"id": numbers[block.id]} if block.id in numbers else {}
    if isinstance(block, TextBlock):
        text = places.leave(next(texts))
        return {"text": text, **number} if number else text
    name = {} if block.name is None else {"name": hide.text(block.name)}
    if isinstance(block.source, Base64Source):
        return {"data": block.source.data, "media_type": block.source.media_type, **name, **number}
    return {"url": hide.text(block.source.url), "media_type": block.source.media_type, **name, **number}


def _write_chunk(chunk: ToolChunk, blocks: list[Any], final: bool, hide: Redactor, places: Places) -> Any:
    value = chunk.value
    text = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else None
    more: dict[str, Any] = {}
    if chunk.state is not ToolResultState.RUNNING:
        more["state"] = chunk.state.value
    if chunk.is_last is not final:
        more["last"] = chunk.is_last
    if chunk.metadata:
        more["metadata"] = places.leave_all(hide.value(keep(chunk.metadata)))
    if text is not None and not more:
        if value is None and (text == _NOTHING or not final):
            return text if not final else None
        if (
            final
            and isinstance(value, str)
            and isinstance(block := chunk.content[0], TextBlock)
            and block.text == value
        ):
            return text
    held = {} if value is None else {"value": _write_value(value, chunk, hide, places)}
    if text is not None and not more and final and held and _tells(held["value"], text, places):
        return held
    said: dict[str, Any] = {"text": text} if text is not None else {"content": blocks}
    return {**said, **held, **more}


def _write_value(value: Any, chunk: ToolChunk, hide: Redactor, places: Places) -> Any:
    if isinstance(value, list) and value and all(isinstance(each, TextBlock | DataBlock) for each in value):
        return (
            {"$": "content"} if value == chunk.content else {"$": "object", "kind": "list", "about": "list of blocks"}
        )
    return places.leave_all(hide.value(keep(value)))


def _tells(written: Any, text: str, places: Places) -> bool:
    """Whether the text can be made of the value again."""
    try:
        value = decode(written)
    except (ValueError, TypeError, KeyError):
        return False
    if isinstance(value, ReplayedValue):
        return False
    blocks = to_chunk(value).content
    return len(blocks) == 1 and isinstance(blocks[0], TextBlock) and places.leave(blocks[0].text) == text


# -------------------------------------------------------------------------------------------------------- from JSON


def read_chunks(written: Sequence[Any], places: Places) -> list[ToolChunk]:
    """The chunks; ValueError, KeyError or TypeError where they aren't such."""
    ids: dict[int, str] = {}
    last = len(written) - 1
    return [_read_chunk(places.put_all(each), place == last, ids) for place, each in enumerate(written)]


def _read_chunk(each: Any, final: bool, ids: dict[int, str]) -> ToolChunk:
    if each is None:
        return ToolChunk.of(_NOTHING)
    if isinstance(each, str):
        chunk = ToolChunk(content=[TextBlock(text=each)], is_last=final)
        return chunk.with_value(each) if final else chunk
    if "text" not in each and "content" not in each:
        return to_chunk(decode(each["value"]))
    blocks = [_read_block(block, ids) for block in (each["content"] if "content" in each else [each["text"]])]
    chunk = ToolChunk(
        content=blocks,
        state=ToolResultState(each.get("state", ToolResultState.RUNNING)),
        is_last=bool(each.get("last", final)),
        metadata=decode(each.get("metadata", {})),
    )
    value = each.get("value")
    if value == {"$": "content"}:
        return chunk.with_value(list(blocks))
    return chunk if value is None else chunk.with_value(decode(value))


def _read_block(block: Any, ids: dict[int, str]) -> TextBlock | DataBlock:
    if isinstance(block, str):
        return TextBlock(text=block)
    number = ids.setdefault(int(block["id"]), new_id()) if "id" in block else new_id()
    if "text" in block:
        return TextBlock(text=block["text"], id=number)
    source: Base64Source | URLSource
    if "data" in block:
        source = Base64Source(data=block["data"], media_type=block["media_type"])
    else:
        source = URLSource(url=block["url"], media_type=block["media_type"])
    return DataBlock(source=source, name=block.get("name"), id=number)
