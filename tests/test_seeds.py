"""The documents' own code blocks run with nothing but their import renamed, and do what the documents say.

`seeds/` holds every block of the documents, word for word. What a block takes for given (a folder, a server behind a
URL, a program on the path) is put in its place: a server that answers instead of one in the network.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.permission import PermissionMode
from nbtoolkit.tool import ToolChunk, Toolkit
from tests.mcp.support import PLAIN, said
from tests.mcp.test_http import build
from tests.mcp.web import Web, serving

BLOCKS = {path.stem: path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "seeds").glob("*.txt")}
# Which server of the documents the one of the test stands for; each address ends as its block has it.
HOSTS = ("https://api.weather.com", "https://api.search.com", "http://localhost:8000")


async def run(name: str, given: dict[str, Any] | None = None, url: str = "") -> dict[str, Any]:
    """Run a block as a notebook's cell, where an await may stand at the top, and give its names."""
    code = BLOCKS[name].replace("agentscope", "nbtoolkit")
    for host in HOSTS if url else ():
        code = code.replace(host, url)
    names: dict[str, Any] = {"__name__": "__main__", **(given or {})}
    compiled = compile(code, f"<seed {name}>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(compiled, names)
    if running is not None:
        await running

    return names


@contextlib.contextmanager
def closed_at_the_end(client: MCPClient) -> Iterator[MCPClient]:
    try:
        yield client
    finally:
        asyncio.run(client.close())


def tool_names(toolkit: Toolkit) -> list[str]:
    return [schema["function"]["name"] for schema in toolkit.get_tool_schemas_sync()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with skills, and the programs that the documents start."""
    skill = tmp_path / "my_skills" / "first"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: first\ndescription: The first.\n---\nDo it.\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npx", "mcp-server-filesystem"):
        program = programs / name
        program.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/{name}.args\nexec {sys.executable} -S {PLAIN}\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AMAP_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def web() -> Iterator[Web]:
    with serving(build().streamable_http_app()) as served:
        yield served


# ---------------------------------------------------------------------- functions and tools
def test_a_functions_schema_comes_from_hints_and_docstring_and_each_call_asks() -> None:
    toolkit = asyncio.run(run("function_tool"))["toolkit"]
    (schema,) = toolkit.get_tool_schemas_sync()
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
    # Nobody is here to say yes, so the question is a denial.
    assert toolkit.call_sync("get_weather", city="Hangzhou").state is ToolResultState.DENIED
    toolkit.mode = PermissionMode.BYPASS
    assert toolkit.call_sync("get_weather", city="Hangzhou").value["temperature"] == 23


def test_a_read_only_function_runs_unasked() -> None:
    toolkit = asyncio.run(run("documented_function"))["toolkit"]
    call = ToolCallBlock(name="search_docs", input='{"query": "seeds"}')
    assert toolkit.call_tool_sync(call).text == "top 5 results for seeds"


def test_a_tool_class_decides_for_itself_and_a_finished_call_is_not_running() -> None:
    toolkit = asyncio.run(run("own_tool"))["toolkit"]
    response = toolkit.call_sync("lookup_user", user_id="7")
    assert response.state is ToolResultState.SUCCESS
    assert "alice@example.com" in response.text
    assert toolkit.call_sync("lookup_user").state is ToolResultState.ERROR


def test_the_built_in_tools_are_there() -> None:
    toolkit = asyncio.run(run("built_ins"))["toolkit"]
    assert tool_names(toolkit) == ["Bash", "Read", "Write", "Edit", "Glob", "Grep"]


def test_groups_appear_when_they_are_switched_on() -> None:
    def function(name: str) -> Any:
        def made(text: str) -> str:
            """Do it."""
            return text

        made.__name__ = name
        return made

    given = {name: function(name) for name in ("web_search", "scrape_url", "run_sql", "plot_chart")}
    toolkit = asyncio.run(run("groups", given))["toolkit"]
    assert tool_names(toolkit) == ["reset_tools", "Bash", "Read"]
    toolkit.call_sync("reset_tools", research=True, data_analysis=False)
    assert tool_names(toolkit) == ["reset_tools", "Bash", "Read", "web_search", "scrape_url"]
    toolkit.call_sync("reset_tools")
    assert tool_names(toolkit) == ["reset_tools", "Bash", "Read"]


def test_functions_servers_and_skills_come_in_by_one_door(here: Path) -> None:
    async def blocks() -> dict[str, Any]:
        given = {**await run("function_tool"), **await run("stateless_http")}
        return await run("assembling", given)

    toolkit = asyncio.run(blocks())["toolkit"]
    assert [tool.name for tool in toolkit.group("basic").tools] == ["Bash", "Read", "get_weather"]
    assert [client.name for client in toolkit.mcps] == ["amap"]
    assert toolkit.call_sync("Skill", skill="first").text.endswith("Do it.\n")


def test_a_skill_loader_brings_its_viewer(here: Path) -> None:
    toolkit = asyncio.run(run("skills"))["toolkit"]
    assert tool_names(toolkit) == ["Skill"]
    assert "- first: The first." in asyncio.run(toolkit.get_skill_instructions())


# ---------------------------------------------------------------------- servers
def test_a_stdio_server_is_connected_by_asyncio_run(here: Path) -> None:
    # In a script; a notebook's cell has a loop already, which the tests of nested loops see to.
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(BLOCKS["stateful_stdio"].replace("agentscope", "nbtoolkit"), "<seed>", "exec"), names)

    with closed_at_the_end(names["fs_client"]):
        assert (here / "npx.args").read_text().split() == [
            "-y", "@modelcontextprotocol/server-filesystem", "/tmp/workspace",
        ]  # fmt: skip
        assert "mcp__filesystem__echo" in tool_names(names["toolkit"])
        names["toolkit"].mode = PermissionMode.BYPASS
        assert names["toolkit"].call_sync("mcp__filesystem__echo", text="hello").text == "hello"


def test_a_stdio_server_is_connected_by_an_await(here: Path) -> None:
    names = asyncio.run(run("mcp_stdio"))
    with closed_at_the_end(names["client"]):
        assert (here / "mcp-server-filesystem.args").read_text().split() == ["--root", "/my/project"]
        assert "mcp__filesystem__echo" in tool_names(names["toolkit"])


def test_a_stateful_server_behind_a_url(web: Web) -> None:
    names = asyncio.run(run("mcp_http_stateful", url=web.url))
    with closed_at_the_end(names["client"]):
        assert "mcp__weather__echo" in tool_names(names["toolkit"])
        assert set(web.headers("POST", "authorization")) == {"Bearer xxx"}


def test_a_stateless_server_behind_a_url_takes_new_headers(web: Web) -> None:
    names = asyncio.run(run("mcp_http_stateless", url=web.url))
    toolkit = names["toolkit"]
    toolkit.mode = PermissionMode.BYPASS
    assert "mcp__search__echo" in tool_names(toolkit)
    asyncio.run(run("mcp_runtime_headers", names))
    web.seen.clear()
    assert toolkit.call_sync("mcp__search__echo", text="hello").text == "hello"
    assert set(web.headers("POST", "authorization")) == {"Bearer new-token"}


def test_only_the_tools_that_were_chosen_are_shown(web: Web) -> None:
    names = asyncio.run(run("mcp_enable_tools", {"MCPClient": MCPClient, "HttpMCPConfig": HttpMCPConfig}, web.url))
    assert names["client"].enable_tools == ["web_search", "image_search"]
    # The server of the test has others.
    with pytest.warns(ToolkitWarning, match="has no tool 'web_search'"):
        assert asyncio.run(names["client"].list_tools()) == []


def test_progress_comes_as_chunks_and_the_last_one_is_the_result(web: Web) -> None:
    async def reported() -> list[ToolChunk]:
        client = (await run("mcp_progress", url=web.url))["client"]
        stream = await (await client.get_tool("count"))()
        return [chunk async for chunk in stream]

    *progress, last = asyncio.run(reported())
    assert progress
    assert all(chunk.metadata["mcp_progress"]["total"] == 3 for chunk in progress)
    assert said(last) == "counted"


# ---------------------------------------------------------------------- what the documents say of errors
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


def test_every_block_of_the_documents_has_its_test() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert len(BLOCKS) == 15
    assert [name for name in BLOCKS if f'"{name}"' not in source] == []
