"""Tools of other agent libraries in this toolkit: ``add_tool`` takes them as they are.

Each call of one is asked about like a function's, whatever the library would do by itself; arguments are validated
against the tool's own schema before anyone is asked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource, new_id
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.schema.sound import sound
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.content import to_chunk
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ForeignTool", "from_library"]


class ForeignTool(ToolBase):
    """A tool of another library. A subclass calls it, and gives what comes back as a chunk or a stream of them."""

    library = ""

    def __init__(self, tool: Any, name: str, description: str | None, input_schema: Mapping[str, Any]) -> None:
        super().__init__()
        self.tool = tool
        self.name = name
        self.description = description or ""
        given = json.loads(json.dumps(dict(input_schema)))
        self.input_schema = sound({"type": "object", "properties": {}, **given})

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """Ask."""
        why = f"A tool of {self.library} may do anything, so each call is asked about."
        return PermissionDecision(PermissionBehavior.ASK, why)

    @property
    def origin(self) -> str:
        """Where it comes from."""
        return f"Tool of {self.library}"


class _LangChain(ForeignTool):
    library = "LangChain"

    async def call(self, /, **arguments: Any) -> ToolChunk:
        given = {"type": "tool_call", "id": new_id(), "name": self.tool.name, "args": arguments}
        message = await self.tool.ainvoke(given)
        content = getattr(message, "content", message)
        chunk = to_chunk(content) if isinstance(content, str) else ToolChunk(content=_blocks(content))
        if getattr(message, "status", "success") == "error":
            chunk.state = ToolResultState.ERROR
        return chunk.with_value(getattr(message, "artifact", None) or content)


def _blocks(content: Any) -> list[TextBlock | DataBlock]:
    """LangChain's content blocks."""
    blocks: list[TextBlock | DataBlock] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            blocks.append(TextBlock(text=part))
        elif isinstance(part, dict) and part.get("type") == "text":
            blocks.append(TextBlock(text=part.get("text", "")))
        elif isinstance(part, dict) and isinstance(part.get("base64"), str):
            media_type = part.get("mime_type") or "application/octet-stream"
            blocks.append(DataBlock(source=Base64Source(data=part["base64"], media_type=media_type)))
        elif isinstance(part, dict) and isinstance(part.get("url"), str):
            media_type = part.get("mime_type") or "application/octet-stream"
            blocks.append(DataBlock(source=URLSource(url=part["url"], media_type=media_type)))
        else:
            blocks.append(TextBlock(text=json.dumps(part, ensure_ascii=False, default=str)))
    return blocks


def _of_langchain(tool: Any) -> ToolBase:
    schema = tool.tool_call_schema
    if not isinstance(schema, dict):
        schema = schema.model_json_schema()
    return _LangChain(tool, tool.name, tool.description, schema)


def _of_pydantic_ai(tool: Any) -> ToolBase:
    if getattr(tool, "takes_ctx", False):
        raise TypeError(
            f"the tool {tool.name!r} of pydantic-ai takes a RunContext, which only its agent can give; "
            "add a function that takes none"
        )
    # It is a plain function with a name and a description of its own.
    return FunctionTool(tool.function, name=tool.name, description=tool.description)


class _OpenAIAgents(ForeignTool):
    library = "the OpenAI Agents SDK"

    async def call(self, /, **arguments: Any) -> ToolChunk:
        from agents.tool_context import ToolContext

        text = json.dumps(arguments)
        context: Any = ToolContext(None, tool_name=self.name, tool_call_id=new_id(), tool_arguments=text)
        return to_chunk(await self.tool.on_invoke_tool(context, text))


def _of_openai_agents(tool: Any) -> ToolBase:
    return _OpenAIAgents(tool, tool.name, tool.description, tool.params_json_schema)


class _AgentScope(ForeignTool):
    library = "AgentScope"

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        """What the tool itself says, where its own word is needed: a denial and a safety question stand."""
        from agentscope.permission import PermissionContext as TheirContext

        own = await self.tool.check_permissions(tool_input, TheirContext())
        behavior = PermissionBehavior(own.behavior.value)
        if behavior is PermissionBehavior.DENY or own.bypass_immune:
            return PermissionDecision(behavior, own.message, own.decision_reason, bypass_immune=own.bypass_immune)
        return await super().check_permissions(tool_input, context)

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        """The tool's own word."""
        return bool(await self.tool.check_read_only(tool_input))

    async def call(self, /, **arguments: Any) -> Any:
        result = await self.tool(**arguments)
        return _streamed(result) if hasattr(result, "__aiter__") else _own_chunk(result)


async def _streamed(result: Any) -> Any:
    try:
        async for chunk in result:
            yield _own_chunk(chunk)
    finally:
        if hasattr(result, "aclose"):
            await result.aclose()


def _own_chunk(chunk: Any) -> ToolChunk:
    given = chunk.model_dump(mode="json")
    known = [block for block in given.get("content", ()) if block.get("type") in {"text", "data"}]
    return ToolChunk.model_validate(
        {
            "content": known,
            "state": given["state"],
            "is_last": given["is_last"],
            "metadata": given.get("metadata") or {},
        }
    )


def _of_agentscope(tool: Any) -> ToolBase:
    if getattr(tool, "is_state_injected", False):
        raise TypeError(f"the tool {tool.name!r} of AgentScope takes its agent's state, which there is none of here")
    made = _AgentScope(tool, tool.name, tool.description, tool.input_schema)
    made.is_read_only = bool(tool.is_read_only)
    made.is_concurrency_safe = bool(tool.is_concurrency_safe)
    return made


class _Smolagents(ForeignTool):
    library = "smolagents"

    async def call(self, /, **arguments: Any) -> ToolChunk:
        return to_chunk(self.tool(**arguments))


def _of_smolagents(tool: Any) -> ToolBase:
    properties, required = {}, []
    for name, given in tool.inputs.items():
        kind = given["type"]
        node = {"description": given["description"]}
        # Pictures and sounds are Python objects there, which a model can't write.
        if kind not in {"any", "image", "audio"}:
            node["type"] = kind
        properties[name] = node
        if not given.get("nullable"):
            required.append(name)
    return _Smolagents(tool, tool.name, tool.description, {"properties": properties, "required": required})


class _FastMCP(ForeignTool):
    library = "FastMCP"

    async def call(self, /, **arguments: Any) -> ToolChunk:
        from nbtoolkit.mcp.content import to_chunk as from_mcp

        result = await self.tool.run(arguments)
        return from_mcp(result.to_mcp_result_object() if hasattr(result, "to_mcp_result_object") else result)


def _of_fastmcp(tool: Any) -> ToolBase:
    return _FastMCP(tool, tool.name, tool.description, tool.parameters)


_LIBRARIES: dict[str, Callable[[Any], ToolBase]] = {
    "langchain_core": _of_langchain,
    "pydantic_ai": _of_pydantic_ai,
    "agents": _of_openai_agents,
    "agentscope": _of_agentscope,
    "smolagents": _of_smolagents,
    "fastmcp": _of_fastmcp,
}


def from_library(library: str, tool: Any) -> ToolBase:
    """The tool of another library, by the package that its class comes from, as a tool of this toolkit."""
    try:
        return _LIBRARIES[library](tool)
    except AttributeError as error:
        kind = f"{type(tool).__module__}.{type(tool).__qualname__}"
        raise TypeError(f"{kind} is no tool that can be added ({error}); expected one of {library}'s tools") from None
