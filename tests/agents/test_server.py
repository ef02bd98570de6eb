"""The toolkit as an MCP server, by foreign clients: what they see, what they get, what they are told."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from pydantic import BaseModel

from nbtoolkit.agents.serving import HTTPServer, serve
from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, URLSource
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.toolkit import Toolkit
from tests.foreign import PATIENCE, ForeignClient, text

if TYPE_CHECKING:
    from collections.abc import Callable

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


class Point(BaseModel):
    x: int
    y: int = 0


def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def point(x: int) -> Point:
    """Make a point."""
    return Point(x=x)


def media() -> list[Any]:
    """Give one of each kind."""
    return [
        TextBlock(text="seen"),
        DataBlock(source=Base64Source(data=PIXEL, media_type="image/png")),
        DataBlock(source=Base64Source(data="AAAA", media_type="audio/wav")),
        DataBlock(source=Base64Source(data="AAAA", media_type="application/pdf"), name="report.pdf"),
        DataBlock(source=URLSource(url="https://example.org/a.csv", media_type="text/csv"), name="a.csv"),
    ]


def fails() -> None:
    """Fail."""
    raise ValueError("no such penguin")


async def counts() -> AsyncIterator[ToolChunk]:
    """Count to three."""
    for number in range(3):
        yield ToolChunk(metadata={"mcp_progress": {"progress": number, "total": 3, "message": None}}, is_last=False)
        await asyncio.sleep(0.01)
    yield ToolChunk(content=[TextBlock(text="three")])


def reader(function: Callable[..., Any], **options: Any) -> FunctionTool:
    return FunctionTool(function, is_read_only=True, **options)


@pytest.fixture
def toolkit() -> Toolkit:
    return Toolkit([FunctionTool(add), reader(point), reader(media), reader(fails), reader(counts)])


@pytest.fixture
def server(toolkit: Toolkit) -> Iterator[HTTPServer]:
    with serve(toolkit) as running:
        yield running


def access(server: HTTPServer) -> dict[str, Any]:
    return {"url": server.url, "headers": server.headers}


@pytest.fixture
def connect(server: HTTPServer) -> Iterator[Callable[..., ForeignClient]]:
    made: list[ForeignClient] = []

    def connect(mode: str = "auto") -> ForeignClient:
        made.append(ForeignClient(access(server), mode))
        return made[-1]

    yield connect
    for client in made:
        client.close()


def soon(condition: Callable[[], object]) -> None:
    """Wait until a condition holds that nothing tells of."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_sees_tools_with_their_hints_and_gets_every_kind_of_content(
    connect: Callable[..., ForeignClient], mode: str
) -> None:
    client = connect(mode)
    tools = {tool.name: tool for tool in client.run(client.client.list_tools()).result(PATIENCE).tools}
    assert tools["point"].annotations.read_only_hint is True
    assert tools["add"].annotations.read_only_hint is False
    assert tools["add"].input_schema["required"] == ["a"]
    assert tools["add"].meta == {"nbtoolkit/group": "basic"}

    made = client.call("point", x="3").result(PATIENCE)
    assert (text(made), made.structured_content) == ('{"x": 3, "y": 0}', {"x": 3, "y": 0})
    content = client.call("media").result(PATIENCE).content
    assert [block.type for block in content] == ["text", "image", "audio", "resource", "resource_link"]
    assert (content[1].data, content[1].mime_type) == (PIXEL, "image/png")
    assert (content[3].resource.blob, content[3].resource.mime_type) == ("AAAA", "application/pdf")
    assert str(content[4].uri) == "https://example.org/a.csv"

    assert text(client.call("counts").result(PATIENCE)) == "three"
    assert [number for number, _, _ in client.progress] == sorted({number for number, _, _ in client.progress})
    assert client.progress[0][:2] == (0.0, 3.0)


def test_what_goes_wrong_is_an_error_that_a_model_can_read(connect: Callable[..., ForeignClient]) -> None:
    client = connect()
    for name, arguments, words in (
        ("fails", {}, "ValueError: no such penguin"),
        ("nothing", {}, "ToolNotFoundError: The tool named 'nothing' doesn't exist."),
        ("add", {"a": "x"}, "1 argument is wrong for the tool 'add', so it was not run"),
        ("add", {"a": 1}, "obody is there to answer"),
    ):
        answer = client.call(name, **arguments).result(PATIENCE)
        assert answer.is_error
        assert words in text(answer)


def test_the_pipeline_asks_on_behalf_of_the_client_that_called(
    toolkit: Toolkit, connect: Callable[..., ForeignClient]
) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.allow()

    toolkit.approver = approver
    answer = connect().call("add", a=1).result(PATIENCE)
    assert (text(answer), answer.is_error) == ("2", False)
    assert (asked[0].origin.kind, asked[0].origin.name) == ("server", "mcp")
    assert toolkit.log[1].asked_by == asked[0].origin


def endless(toolkit: Toolkit) -> tuple[threading.Event, threading.Event]:
    """Give the toolkit a tool ``long`` that runs until it is cancelled, and tell when it has begun and ended."""
    begun, ended = threading.Event(), threading.Event()

    async def long() -> None:
        """Run on."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    toolkit.register(reader(long))
    return begun, ended


def test_a_call_that_its_client_gives_up_is_cancelled(toolkit: Toolkit, connect: Callable[..., ForeignClient]) -> None:
    begun, ended = endless(toolkit)
    for mode in ("auto", "legacy"):
        call = connect(mode).call("long")
        assert begun.wait(PATIENCE)
        call.cancel()
        assert ended.wait(PATIENCE), mode
        begun.clear()
        ended.clear()


def test_a_call_whose_client_has_gone_without_a_word_is_cancelled(
    toolkit: Toolkit, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtoolkit.agents.serving.service.TELL_EVERY", 0.05)
    begun, ended = endless(toolkit)

    async def come_and_go() -> None:
        headers = {**server.headers, "accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            answer = await http.post(server.url, json=request)
            session = {"mcp-session-id": answer.headers["mcp-session-id"]}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await http.post(server.url, json=ready, headers=session)
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "long", "arguments": {}}}
            async with http.stream("POST", server.url, json=call, headers=session) as stream:
                assert stream.status_code == 200
                assert await asyncio.to_thread(begun.wait, PATIENCE)

    asyncio.run(come_and_go())
    assert ended.wait(PATIENCE)


def test_groups_are_a_clients_own_and_what_the_notebook_switches_holds_for_all(
    toolkit: Toolkit, server: HTTPServer, connect: Callable[..., ForeignClient]
) -> None:
    def chart() -> None:
        """Draw."""

    toolkit.add_group(ToolGroup("plots", "Charts.", tools=[reader(chart)]))
    one, other = connect("legacy"), connect("legacy")
    assert server._gate is not None
    under_way = server._gate.under_way
    soon(lambda: len(under_way) == 2)  # their streams of changes
    assert "chart" not in one.tools()
    assert text(one.call("chart").result(PATIENCE)).startswith("ToolGroupInactiveError: ")
    assert not one.call("reset_tools", plots=True).result(PATIENCE).is_error
    assert "chart" in one.tools()
    assert "chart" not in other.tools()
    soon(lambda: one.heard)
    assert (one.heard, other.heard) == (["notifications/tools/list_changed"], [])
    toolkit.activate("plots")
    looked = server.look()
    assert looked is not None
    assert looked.result(PATIENCE)
    assert "chart" in other.tools()
    assert toolkit.state.tool_context.activated_groups == ["plots"]


def test_clients_of_the_newest_protocol_hear_of_changes_by_listening(
    toolkit: Toolkit, server: HTTPServer, connect: Callable[..., ForeignClient]
) -> None:
    client = connect()
    listening = threading.Event()

    async def listen() -> str:
        async with client.client.listen(tools_list_changed=True) as subscription:
            listening.set()
            async for event in subscription:
                return type(event).__name__
        return "nothing"

    heard = client.run(listen())
    assert listening.wait(PATIENCE)
    client.tools()

    def fresh() -> None:
        """Be new."""

    toolkit.register(fresh)
    server.look()
    assert heard.result(PATIENCE) == "ToolsListChanged"
    assert "fresh" in client.tools()


def test_tools_that_run_alone_wait_for_each_other(toolkit: Toolkit, connect: Callable[..., ForeignClient]) -> None:
    inside: list[int] = []
    most: list[int] = []

    async def alone() -> None:
        """Run alone."""
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0.01)
        inside.pop()

    toolkit.register(reader(alone, is_concurrency_safe=False))
    client = connect()
    for call in [client.call("alone") for _ in range(5)]:
        call.result(PATIENCE)
    assert most == [1] * 5


def test_stop_ends_calls_under_way_and_gives_the_port_back(toolkit: Toolkit) -> None:
    begun, ended = endless(toolkit)
    server = serve(toolkit)
    client = ForeignClient(access(server))
    call = client.call("long")
    assert begun.wait(PATIENCE)
    server.stop()
    assert ended.wait(PATIENCE)
    assert not server.is_running
    with pytest.raises(Exception, match=r".*"):
        call.result(PATIENCE)
    client.close()
    with serve(toolkit, port=server.port) as again:
        assert again.port == server.port
        assert again.token != server.token


def test_a_call_lists_no_tools(
    server: HTTPServer, toolkit: Toolkit, connect: Callable[..., ForeignClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    client.tools()

    async def all_tools() -> list[Any]:
        raise AssertionError("the tools were listed")

    monkeypatch.setattr(toolkit, "all_tools", all_tools)
    assert text(client.call("point", x=1).result(PATIENCE)) == '{"x": 1, "y": 0}'


def test_our_own_client_attaches_a_served_toolkit_like_any_server(server: HTTPServer) -> None:
    async def attach() -> tuple[list[str], Any, bool, str]:
        client = MCPClient(
            name="other",
            is_stateful=True,
            mcp_config=HttpMCPConfig(url=server.url, headers=server.headers),
            trust_annotations=True,
        )
        await client.connect()
        try:
            here = Toolkit(mcps=[client])
            tools = await client.list_tools()
            response = await here.call("mcp__other__point", x=4)
            refused = await here.call("mcp__other__add", a=1)
            return [tool.name for tool in tools], response.value, tools[1].is_read_only, refused.text
        finally:
            await client.close()

    names, value, is_read_only, refused = asyncio.run(attach())
    assert names[:2] == ["mcp__other__add", "mcp__other__point"]
    assert (value, is_read_only) == ({"x": 4, "y": 0}, True)
    assert "obody is there to answer" in refused
