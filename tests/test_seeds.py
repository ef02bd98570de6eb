"""Code written for AgentScope's toolkit runs when its imports are renamed: the documents' own examples, in their shape."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
from nbtoolkit.message import TextBlock, ToolCallBlock, ToolResultState
from nbtoolkit.permission import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.skill import LocalSkillLoader
from nbtoolkit.tool import FunctionTool, ToolBase, ToolChunk, ToolGroup, Toolkit


def get_weather(city: str, unit: str = "celsius") -> dict:  # type: ignore[type-arg]
    """Get the current weather for a city.

    Args:
        city: The name of the city, e.g. "Hangzhou".
        unit: Temperature unit, "celsius" or "fahrenheit".

    Returns:
        A dict with temperature and condition.
    """
    return {"city": city, "temperature": 23, "unit": unit, "condition": "sunny"}


async def search_docs(query: str, limit: int = 5) -> str:
    """Search the internal documentation.

    Args:
        query: Keywords to search for.
        limit: Maximum number of results.
    """
    return f"top {limit} results for {query}"


class LookupUserTool(ToolBase):
    name = "lookup_user"
    description = "Look up a user by their ID. Returns name and email."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"user_id": {"type": "string", "description": "The user ID to look up."}},
        "required": ["user_id"],
    }
    is_concurrency_safe = True
    is_read_only = True

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(behavior=PermissionBehavior.ALLOW, message="Read-only lookup, allowing.")

    async def call(self, **kwargs: Any) -> ToolChunk:
        result = {"id": kwargs["user_id"], "name": "Alice", "email": "alice@example.com"}
        return ToolChunk(content=[TextBlock(text=str(result))], state=ToolResultState.RUNNING)


def test_a_functions_schema_comes_from_hints_and_docstring() -> None:
    toolkit = Toolkit(tools=[FunctionTool(func=get_weather)])
    (schema,) = asyncio.run(toolkit.get_tool_schemas())
    function = schema["function"]
    assert function["name"] == "get_weather"
    assert function["description"] == (
        "Get the current weather for a city.\n\nReturns:\n    A dict with temperature and condition."
    )
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": 'The name of the city, e.g. "Hangzhou".'},
            "unit": {
                "type": "string",
                "default": "celsius",
                "description": 'Temperature unit, "celsius" or "fahrenheit".',
            },
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_read_only_function_runs_and_another_asks() -> None:
    toolkit = Toolkit(tools=[FunctionTool(search_docs, is_read_only=True), FunctionTool(func=get_weather)])
    call = ToolCallBlock(name="search_docs", input='{"query": "seeds"}')
    assert toolkit.call_tool_sync(call).text == "top 5 results for seeds"
    # Nobody is here to say yes, so the question is a denial.
    assert toolkit.call_sync("get_weather", city="Hangzhou").state is ToolResultState.DENIED


def test_a_tool_class_decides_for_itself_and_a_finished_call_is_not_running() -> None:
    toolkit = Toolkit(tools=[LookupUserTool()])
    response = toolkit.call_sync("lookup_user", user_id="7")
    assert response.state is ToolResultState.SUCCESS
    assert "alice@example.com" in response.text


def test_groups_appear_when_they_are_switched_on() -> None:
    toolkit = Toolkit(
        tools=[LookupUserTool()],
        tool_groups=[
            ToolGroup(name="research", description="Search.", tools=[FunctionTool(func=search_docs)]),
            ToolGroup(name="data_analysis", description="Analyse.", tools=[FunctionTool(func=get_weather)]),
        ],
    )

    def names() -> list[str]:
        return [schema["function"]["name"] for schema in asyncio.run(toolkit.get_tool_schemas())]

    assert names() == ["reset_tools", "lookup_user"]
    toolkit.call_sync("reset_tools", research=True, data_analysis=False)
    assert names() == ["reset_tools", "lookup_user", "search_docs"]


def test_the_documents_errors_have_their_texts(tmp_path: Path) -> None:
    files = MCPClient(
        name="filesystem",
        is_stateful=True,
        mcp_config=StdioMCPConfig(command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", str(tmp_path)]),
    )
    with pytest.raises(ValueError, match=r"The MCP client 'filesystem' is stateful, but not connected\."):
        Toolkit(mcps=[files])
    with pytest.raises(ValueError, match=r"STDIO MCP must be stateful \(is_stateful=True\)\."):
        MCPClient(name="files", is_stateful=False, mcp_config=StdioMCPConfig(command="npx"))
    with pytest.raises(ValueError, match="contains characters not allowed by LLM providers"):
        MCPClient(name="my.server", is_stateful=False, mcp_config=HttpMCPConfig(url="https://example.org/mcp"))
    with pytest.raises(ValueError, match="should not overlap"):
        MCPClient(
            name="search",
            is_stateful=False,
            mcp_config=HttpMCPConfig(url="https://example.org/mcp"),
            enable_tools=["a"],
            disable_tools=["a"],
        )
    with pytest.raises(ValueError, match="Runtime headers require a Streamable HTTP MCP client"):
        asyncio.run(files.set_runtime_headers({"Authorization": "Bearer x"}))


def test_a_stateless_http_client_is_given_without_connecting() -> None:
    amap = MCPClient(
        name="amap",
        is_stateful=False,
        mcp_config=HttpMCPConfig(url="https://mcp.example.org/sse?key=k"),
        execution_timeout=30.0,
    )
    assert Toolkit(mcps=[amap]).mcps == [amap]


def test_a_skill_loader_brings_its_viewer(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_text("---\nname: one\ndescription: The first.\n---\nDo it.\n")
    toolkit = Toolkit(skills_or_loaders=[LocalSkillLoader(directory=str(tmp_path), scan_subdir=True)])
    assert [schema["function"]["name"] for schema in asyncio.run(toolkit.get_tool_schemas())] == ["Skill"]
