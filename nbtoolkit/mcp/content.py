"""MCP content as blocks, by one table; whatever isn't in it is shown as its JSON rather than lost."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource, assembled, new_id
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable

    import mcp_types

__all__ = ["resource_block", "to_block", "to_chunk"]

Block = TextBlock | DataBlock

# What a resource is when its server doesn't say.
UNKNOWN_MEDIA_TYPE = "application/octet-stream"


def _text(content: Any) -> Block:
    return TextBlock.plain(content.text)


def _media(content: Any) -> Block:
    return _data(content.data, content.mime_type, None)


def _embedded(content: Any) -> Block:
    block = resource_block(content.resource)
    if isinstance(block, TextBlock):
        block.text = f"[{content.resource.uri}]\n{block.text}"
    return block


def resource_block(resource: Any) -> Block:
    """A resource's contents as a block."""
    if hasattr(resource, "text"):
        return TextBlock(text=resource.text)
    return _data(resource.blob, resource.mime_type, str(resource.uri))


def _link(content: Any) -> Block:
    source = URLSource(url=str(content.uri), media_type=content.mime_type or UNKNOWN_MEDIA_TYPE)
    return DataBlock(source=source, name=content.title or content.name)


def _data(data: str, media_type: str | None, name: str | None) -> Block:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return TextBlock(text=f"[{media_type or 'data'}{f' {name}' if name else ''}: not valid base64, left out]")
    return DataBlock(source=Base64Source(data=data, media_type=media_type or UNKNOWN_MEDIA_TYPE), name=name)


CONTENT: dict[str, Callable[[Any], Block]] = {
    "text": _text,
    "image": _media,
    "audio": _media,
    "resource": _embedded,
    "resource_link": _link,
}


def to_block(content: Any) -> Block:
    """One piece of MCP content as a block."""
    convert = CONTENT.get(content.type)
    if convert is None:
        return TextBlock(text=content.model_dump_json(by_alias=True, exclude_none=True))
    return convert(content)


def to_chunk(result: mcp_types.CallToolResult) -> ToolChunk:
    """A call's result as the final chunk; its value is the structured content, else the text, else the blocks."""
    blocks = [to_block(content) for content in result.content]
    structured = result.structured_content
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if structured is not None and not texts:
        blocks.append(TextBlock.plain(json.dumps(structured, ensure_ascii=False, indent=2)))
    value: Any = structured
    if value is None:
        value = "\n".join(texts) if len(texts) == len(blocks) else blocks
    state = ToolResultState.ERROR if result.is_error else ToolResultState.SUCCESS
    metadata = {} if structured is None else {"structured_content": structured}
    fields = {"content": _apart(blocks), "state": state, "is_last": True, "metadata": metadata, "id": new_id()}
    # All of it was validated already, where the message was read.
    return assembled(ToolChunk, {**fields, "_value": value}, {"content", "state", "metadata"})


def _apart(blocks: list[Block]) -> list[Block]:
    """A response joins neighbouring texts without a sign; a server meant them as two."""
    for before, after in pairwise(blocks):
        if isinstance(before, TextBlock) and isinstance(after, TextBlock) and not before.text.endswith("\n"):
            before.text += "\n"
    return blocks
