"""A real process as an MCP server that writes anything: the client gives results and errors, and goes on."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from nbtoolkit.exception import DeveloperOrientedException, MCPConnectionError, ToolkitWarning
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook import render
from nbtoolkit.tool.toolkit import Toolkit
from tests.fuzz.support import any_texts, check_bundle, fuzz, json_values, names, tool_schemas, without_surrogates

SERVER = Path(__file__).parent / "hostile_server.py"
# Seconds for one call: an answer that is none is waited for so long.
PATIENCE = 0.5

methods = st.sampled_from(
    ["notifications/progress", "notifications/message", "notifications/cancelled", "notifications/tools/list_changed",
     "elicitation/create", "sampling/createMessage", "roots/list", "ping", "x"]
)  # fmt: skip
messages = st.builds(
    lambda method, params, kind, request: json.dumps(
        {"jsonrpc": kind, "method": method, "params": params, **({} if request is None else {"id": request})}
    ),
    methods, json_values, st.sampled_from(["2.0", "1.0", 2]), st.one_of(st.none(), st.integers(), any_texts),
)  # fmt: skip
answers = st.builds(
    lambda result, error: json.dumps({"jsonrpc": "2.0", "id": "OTHER", "result": result, "error": error}),
    json_values, json_values,
)  # fmt: skip
lines = st.lists(
    st.one_of(messages, answers, any_texts.map(lambda text: text.replace("\n", " ")), json_values.map(json.dumps)),
    max_size=4,
)
contents = st.one_of(
    json_values,
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, any_texts),
            st.dictionaries(st.sampled_from(["type", "text", "data", "mimeType", "uri", "resource"]), json_values),
        ),
        max_size=3,
    ),
)
results = st.one_of(
    json_values,
    st.builds(
        lambda content, structured, wrong: {"content": content, "structuredContent": structured, "isError": wrong},
        contents, json_values, st.one_of(st.booleans(), json_values),
    ),
)  # fmt: skip
definitions = st.lists(
    st.one_of(
        json_values,
        st.builds(
            lambda name, about, schema, notes: {
                "name": name, "description": about, "inputSchema": schema, "annotations": notes
            },
            names, st.one_of(any_texts, json_values), st.one_of(tool_schemas, json_values), json_values,
        ),
    ),
    max_size=3,
)  # fmt: skip


def client() -> MCPClient:
    config = StdioMCPConfig(command=sys.executable, args=["-S", str(SERVER)])
    return MCPClient(name="crm", is_stateful=True, mcp_config=config, execution_timeout=PATIENCE)


def test_whatever_a_server_writes_a_call_ends_and_its_record_is_safe() -> None:
    server = client()
    asyncio.run(server.connect())

    @fuzz(short=10, lines=lines, result=results)
    def calls(lines: list[str], result: Any) -> None:
        given = without_surrogates({"lines": lines, "result": result})
        toolkit = Toolkit(mcps=[server])
        toolkit.mode = "bypass"

        async def call() -> Any:
            if server.status().state != "connected":
                await server.connect()
            try:
                return await toolkit.call("mcp__crm__say", **given)
            except DeveloperOrientedException:
                # The connection was given up.
                return None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToolkitWarning)
            response = asyncio.run(call())
        if response is not None:
            assert response.state in (ToolResultState.SUCCESS, ToolResultState.ERROR)
            response.model_dump_json()
            check_bundle(render.record(list(toolkit.log)[-1], response))

    try:
        calls()
    finally:
        asyncio.run(server.close())


def test_whatever_a_server_lists_its_sound_tools_are_there_or_it_says_what_is_amiss() -> None:
    server = client()

    @fuzz(short=10, tools=definitions)
    def listings(tools: list[Any]) -> None:
        async def listed() -> list[Any]:
            await server.connect()
            try:
                await server.call_raw("define", {"tools": without_surrogates(tools)})
                return await server.list_tools(refresh=True)
            except MCPConnectionError as error:
                # What is no definition at all costs the list, with a word of which it was.
                assert "lists tools amiss: what it answered isn't MCP" in str(error)
                return []
            finally:
                # A new one lists its own again.
                await server.close()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToolkitWarning)
            found = asyncio.run(listed())
        assert not found or {"say", "define"} <= {tool.server_tool_name for tool in found}
        for tool in found:
            json.dumps(tool.input_schema)

    listings()


def test_a_list_with_what_is_no_definition_is_said_and_its_sound_tools_stay() -> None:
    async def amiss() -> set[str]:
        async with client() as server:
            await server.call_raw("define", {"tools": [None]})
            with pytest.warns(ToolkitWarning, match="The MCP server 'crm' lists tools amiss: None is left out"):
                return {tool.server_tool_name for tool in await server.list_tools(refresh=True)}

    assert asyncio.run(amiss()) == {"say", "define"}
