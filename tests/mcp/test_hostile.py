"""A server that says whatever it likes: what it says is bounded, told, never fetched and never waited for without end."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.mcp.mending import mended
from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import PATIENCE, PLAIN, plain, said, use

HOSTILE = PLAIN.with_name("hostile.py")


@pytest.fixture
def remote() -> Iterator[str]:
    """An address at which nobody ever asks, or the test fails."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def hostile(remote: str, *more: str) -> MCPClient:
    config = StdioMCPConfig(command=sys.executable, args=["-S", str(HOSTILE), remote, *more])
    return MCPClient(name="h", is_stateful=True, mcp_config=config)


async def toolkit_of(client: MCPClient) -> Toolkit:
    await client.connect()
    toolkit = Toolkit(mcps=[client])
    toolkit.mode = "bypass"
    return toolkit


def test_names_descriptions_and_schemas_of_any_kind_reach_a_model_in_bounds_and_fetch_nothing(remote: str) -> None:
    async def scenario() -> None:
        client = hostile(remote)
        toolkit = await toolkit_of(client)
        tools = {tool.server_tool_name: tool for tool in await client.list_tools()}
        for tool in tools.values():
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)
            assert len(tool.description) < 25_000
        assert len({tool.name for tool in tools.values()}) == len(tools)
        assert "the server's text has 10,000,000 characters" in tools["long"].description
        for form in ("openai", "anthropic", "gemini", "mcp"):
            schemas = await toolkit.get_tool_schemas(format=form)
            assert len(json.dumps(schemas).encode()) < 1_000_000
        slow: dict[str, dict[str, Any]] = {
            "bomb": {"text": "a" * 50 + "!"},
            "recursive": {"tree": {"child": {"child": {}}}},
            "remote": {"a": 1},
        }
        states = {}
        for name in ("bomb", "recursive", "remote", "itself", "missing", "no_pattern", "wide", "wrong"):
            async with asyncio.timeout(PATIENCE):
                response = await toolkit.call(tools[name].name, **slow.get(name, {"a": 1, "text": "a"}))
            states[name] = response.state
        assert states.pop("bomb") is ToolResultState.ERROR
        assert set(states.values()) == {ToolResultState.SUCCESS}
        await client.close()

    asyncio.run(scenario())


ANSWERS = {
    "unknown kind": "[content of a kind that isn't known here, 'hologram']",
    "null error": "no error",
    "structured alone": '"a": 1',
    "no list": "answered amiss: what it answered isn't MCP (CallToolResult: content: Input should be a valid list)",
    "nothing": "answered amiss: what it answered isn't MCP (CallToolResult: content: Field required)",
    "null": "refused the call: its answer can't be read: ",
    "list": "refused the call: its answer can't be read: ",
    "number for text": "answered amiss: what it answered isn't MCP",
    "no base64": "[image/png: not valid base64, left out]",
    "surrogate": "half \ufffd pair",
    "deep": "refused the call: its answer can't be read: Invalid JSON: recursion limit exceeded",
    "many": "x\nx\n",
    "big": "yyy",
}


def test_answers_of_any_kind_come_in_time_and_in_bounds(remote: str) -> None:
    async def scenario() -> None:
        client = hostile(remote)
        toolkit = await toolkit_of(client)
        for kind, expected in ANSWERS.items():
            async with asyncio.timeout(PATIENCE):
                response = await toolkit.call("mcp__h__answer", kind=kind)
            assert expected in response.text, kind
            assert len(response.text) < 200_000
        # The server's own schema for its results can't stop the thread of all servers either.
        async with asyncio.timeout(PATIENCE):
            response = await toolkit.call("mcp__h__slow_check", kind="slow check")
        assert "Invalid structured content returned by tool slow_check" in response.text
        assert "its answer can't be read: " in "".join(client.log_tail)
        await client.close()

    asyncio.run(scenario())


def test_answers_that_are_not_one_message_a_line_are_understood_and_refusals_of_nobody_find_their_call(
    remote: str,
) -> None:
    async def scenario() -> None:
        async with hostile(remote) as client, asyncio.timeout(PATIENCE):
            for how in ("batch", "lines", "mark", "float"):
                assert said(await use(client, "answer", how=how)) == f"so: {how}"
            refused = await use(client, "answer", how="nobody")
            assert "refused the call: what did you say (it named no request; this is the only one" in said(refused)
            assert refused.state is ToolResultState.ERROR
            # Two wait: the refusal is for the one that stays open, and the other has its answer.
            named, unnamed = await asyncio.gather(
                use(client, "answer", how="nobody"), use(client, "answer", how="batch")
            )
            assert "what did you say" in said(named)
            assert said(unnamed) == "so: batch"
            assert any("in a batch" in line for line in client.log_tail)
            assert any("no: 'message'" in line for line in client.log_tail)

    asyncio.run(scenario())


def test_a_refused_request_that_is_named_by_nobody_ends_at_once_where_it_is_no_call(remote: str) -> None:
    async def scenario() -> None:
        async with hostile(remote, "--refuse") as client, asyncio.timeout(PATIENCE):
            with pytest.raises(Exception, match="what did you say"):
                await client.list_tools()

    asyncio.run(scenario())


def test_what_is_no_tool_costs_itself_alone_and_of_two_with_one_name_the_first_counts(remote: str) -> None:
    async def scenario() -> None:
        async with hostile(remote, "--amiss") as client, asyncio.timeout(PATIENCE):
            with pytest.warns(ToolkitWarning, match="lists tools amiss") as told:
                tools = {tool.server_tool_name: tool for tool in await client.list_tools()}
            assert {"fine", "free", "texts", "answer"} <= set(tools)
            assert "number" not in tools
            assert tools["fine"].description == "the first"
            assert tools["free"].input_schema["type"] == tools["texts"].input_schema["type"] == "object"
            words = str(told[0].message)
            assert "'number' is left out (description: Input should be a valid string)" in words
            assert "'no tool' is left out" in words
            assert "'fine' is there more than once; the first counts" in words
            # Whoever asks again is told nothing new.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                await client.list_tools(refresh=True)
            assert said(await use(client, "free", kind="null error")) == "no error"

    asyncio.run(scenario())


def test_a_list_that_can_not_be_read_is_told_and_not_waited_for(remote: str) -> None:
    async def scenario() -> None:
        async with hostile(remote, "--deep") as client:
            with pytest.raises(Exception, match=r"can't be read: Invalid JSON: recursion limit|depth exceeded"):
                await client.list_tools()

    asyncio.run(scenario())


def test_a_forms_patterns_and_references_stop_nobody(remote: str) -> None:
    asked: list[str] = []

    async def answer(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        asked.append(message)
        return {"a": "a" * 50 + "!", "b": 1}

    async def scenario() -> None:
        form = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}, "b": {"$ref": remote}}}
        async with plain(elicitation_handler=answer) as client, asyncio.timeout(PATIENCE):
            assert "The answer doesn't fit" in said(await use(client, "ask", schema=form))
            assert asked == ["Who are you?"]

    asyncio.run(scenario())


FAULT = ValueError("no message")


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":null}', 7),
        (b'{"jsonrpc": "2.0", "id": "7", "result": []}', "7"),
        (b'{"jsonrpc":"2.0","id":7,"result":{"te', 7),
        (b'{"result":' + b"[" * 5000 + b"]" * 5000 + b',"jsonrpc":"2.0","id":7}', 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":"\xff"}}', 7),
    ],
)
def test_an_answer_that_nobody_can_read_is_an_error_for_its_request(line: bytes, number: Any) -> None:
    found = mended(line, FAULT)
    assert found is not None
    assert found["id"] == number
    assert ("isn't UTF-8" if b"\xff" in line else "no message") in found["error"]["message"]


@pytest.mark.parametrize(
    "line",
    [
        b"a banner",
        b'{"id": 7',
        b'{"level":"info","id":7}x',
        b"[7]",
        b'{"jsonrpc":"2.0","method":"a","id":7,"params":3}',
    ],
)
def test_what_answers_nothing_is_no_message(line: bytes) -> None:
    assert mended(line, FAULT) is None


def test_half_a_surrogate_pair_becomes_the_sign_for_what_is_missing() -> None:
    line = rb'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\ud83d \ud83d\ude00"}}'
    assert mended(line, FAULT) == {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"data": "\ufffd \U0001f600"},
    }
