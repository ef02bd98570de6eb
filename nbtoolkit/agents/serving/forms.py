"""Our tools and responses in MCP's form: a tool's definition, and the result of a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource
from nbtoolkit.tool.function import FunctionTool

if TYPE_CHECKING:
    import mcp_types

    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.result import ToolResponse

__all__ = ["error", "to_definition", "to_result"]

# Structured content goes to the model a second time beside the text, so it is held to what that text may be.
MAX_STRUCTURED = 20_000
# Where the tool's group and the state of a result that isn't simply right or wrong are told.
GROUP = "nbtoolkit/group"
STATE = "nbtoolkit/state"


def to_definition(tool: ToolBase, group: ToolGroup) -> mcp_types.Tool:
    """What a client is told of a tool."""
    import mcp_types

    claims = getattr(tool, "annotations", None)
    if tool.is_mcp and isinstance(claims, dict):
        # Passed on as they are: the tool's own server claims them.
        annotations = mcp_types.ToolAnnotations.model_validate(claims) if claims else None
    else:
        # What isn't said to only read may do anything: no hint in its favour.
        annotations = mcp_types.ToolAnnotations(
            read_only_hint=tool.is_read_only, idempotent_hint=tool.is_idempotent or None
        )
    return mcp_types.Tool(
        name=tool.name,
        title=getattr(tool, "title", None),
        description=tool.description,
        # A plain dict: a shared schema refuses to be changed, and what serialises it may want to.
        input_schema=json.loads(json.dumps(tool.input_schema, default=str)),
        annotations=annotations,
        _meta={GROUP: group.name},
    )


def to_result(response: ToolResponse, tool: ToolBase | None = None) -> mcp_types.CallToolResult:
    """A response as a call's result; anything but a success is an error, and says what it is."""
    import mcp_types

    failed = response.state is not ToolResultState.SUCCESS
    content: list[Any] = [_content(block, number) for number, block in enumerate(response.content, 1)]
    return mcp_types.CallToolResult(
        content=content or [mcp_types.TextContent(text="")],
        structured_content=None if failed else _structured(response, tool),
        is_error=failed,
        _meta={STATE: response.state.value} if failed else None,
    )


def error(text: str, state: ToolResultState = ToolResultState.ERROR) -> mcp_types.CallToolResult:
    """A call that has not run, and why, for the model."""
    import mcp_types

    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(text=text)], is_error=True, _meta={STATE: state.value}
    )


def _content(block: TextBlock | DataBlock, number: int) -> Any:
    import mcp_types

    if isinstance(block, TextBlock):
        return mcp_types.TextContent(text=block.text)
    source = block.source
    if isinstance(source, URLSource):
        return mcp_types.ResourceLink(
            name=block.name or f"result {number}", uri=source.url, mime_type=source.media_type
        )
    return _data(source, block.name, number)


def _data(source: Base64Source, name: str | None, number: int) -> Any:
    import mcp_types

    kind = source.media_type.partition("/")[0]
    if kind == "image":
        return mcp_types.ImageContent(data=source.data, mime_type=source.media_type)
    if kind == "audio":
        return mcp_types.AudioContent(data=source.data, mime_type=source.media_type)
    # A name of ours may be any text; an address may not.
    uri = name if name is not None and "://" in name else f"nbtoolkit://result/{number}"
    resource = mcp_types.BlobResourceContents(uri=uri, mime_type=source.media_type, blob=source.data)
    return mcp_types.EmbeddedResource(resource=resource)


def _structured(response: ToolResponse, tool: ToolBase | None) -> dict[str, Any] | None:
    """The value as a JSON object, where it is one; MCP knows no other structured content in all of its versions."""
    given = response.metadata.get("structured_content")
    if isinstance(given, dict):
        return given
    if not isinstance(tool, FunctionTool):
        return None
    value = response.value
    if not isinstance(value, dict) and not hasattr(type(value), "__pydantic_serializer__") and not _is_record(value):
        return None
    from pydantic_core import PydanticSerializationError, to_json

    try:
        text = to_json(value)
        # Parsed again: what goes out may not change with the object, which is the notebook's.
        made = json.loads(text) if len(text) <= MAX_STRUCTURED else None
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    return made if isinstance(made, dict) else None


def _is_record(value: object) -> bool:
    import dataclasses

    return dataclasses.is_dataclass(value) and not isinstance(value, type)
