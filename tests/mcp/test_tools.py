"""A server's tools as ours: names, lists, definitions, results, progress, permission."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import time
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.mcp.content import to_chunk
from nbtoolkit.mcp.naming import tool_names
from nbtoolkit.mcp.tool import MCPTool
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultState, URLSource
from nbtoolkit.permission.approval import allow_all
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionMode
from nbtoolkit.tool import progress
from nbtoolkit.tool.progress import Progress
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import PATIENCE, attached, in_memory, said, until, use

if TYPE_CHECKING:
    from collections.abc import Iterator


# ------------------------------------------------------------------------------------------------------- names
def test_a_name_that_needs_no_change_is_kept() -> None:
    assert tool_names("fs", ["read_file"]) == {"read_file": "mcp__fs__read_file"}


def test_refused_characters_become_x() -> None:
    assert tool_names("fs", ["read.file/é"]) == {"read.file/é": "mcp__fs__readxfilexx"}


def test_names_that_would_collide_get_a_hash_and_the_one_that_fits_keeps_its_own() -> None:
    names = tool_names("s", ["a.b", "a/b", "axb"])
    assert names["axb"] == "mcp__s__axb"
    assert len(set(names.values())) == 3
    assert names["a.b"].startswith("mcp__s__axb_")
    assert tool_names("s", ["axb", "a/b", "a.b"]) == names


def test_long_names_are_cut_to_what_providers_take_and_stay_apart() -> None:
    names = tool_names("server", ["t" * 80, "t" * 81])
    assert {len(name) for name in names.values()} == {64}
    assert len(set(names.values())) == 2


# ------------------------------------------------------------------------------------------------------- lists
def test_every_page_is_listed_and_kept() -> None:
    async def scenario() -> None:
        async with attached("--tools", "95", "--page", "10") as client:
            tools = await client.list_tools()
            assert len(tools) == 103
            asked = json.loads(said(await use(client, "counts")))["tools/list"]
            assert asked == 11
            await client.list_tools()
            await client.get_tool("tool094")
            await use(client, "tool094")
            assert json.loads(said(await use(client, "counts")))["tools/list"] == 11
            await client.list_tools(refresh=True)
            assert json.loads(said(await use(client, "counts")))["tools/list"] == 22

    asyncio.run(scenario())


def test_pages_that_lead_in_a_circle_are_read_once() -> None:
    async def scenario() -> None:
        async with attached("--circle", "--page", "3") as client:
            assert len(await client.list_tools()) == 8
            assert json.loads(said(await use(client, "counts")))["tools/list"] == 3

    asyncio.run(scenario())


def test_a_changed_list_is_read_again_and_a_changed_definition_has_another_hash() -> None:
    async def scenario() -> None:
        async with attached() as client:
            before = await client.get_tool("echo")
            same = await client.get_tool("sleep")
            await use(client, "change")

            async def renewed() -> bool:
                return any(tool.server_tool_name == "added" for tool in await client.list_tools())

            deadline = asyncio.get_running_loop().time() + 10
            while not await renewed():
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.01)
            after = await client.get_tool("echo")
            assert after.definition_hash != before.definition_hash
            assert after.identity == before.identity
            assert await client.get_tool("sleep") is same
            refused = await before(text="hi")
            assert isinstance(refused, ToolChunk)
            assert refused.state is ToolResultState.ERROR
            assert "has changed the definition of 'echo' since it was looked up" in said(refused)
            change = client.changes[-1]
            assert change.tool == "mcp__plain__echo"
            assert "-Say it again" in change.diff
            assert "+Say it differently" in change.diff

    asyncio.run(scenario())


def test_a_change_that_comes_before_the_callers_loop_takes_the_list_is_not_missed() -> None:
    async def scenario() -> None:
        async with attached("--change-soon") as client:
            listing = asyncio.ensure_future(client.list_tools())
            await asyncio.sleep(0)
            # A cell that computes.
            time.sleep(0.5)  # noqa: ASYNC251
            await listing
            assert (await client.get_tool("echo")).description == "Say it differently"
            assert said(await use(client, "echo", text="hi")) == "hi"

    asyncio.run(scenario())


def test_a_server_that_tells_of_a_change_whenever_it_is_asked_is_not_asked_for_ever() -> None:
    async def scenario() -> None:
        async with attached("--changing") as client:
            async with asyncio.timeout(PATIENCE):
                before = await client.get_tool("echo")
                assert said(await use(client, "echo", text="hi")) == "hi"
                await use(client, "change")
                # Nor does it slip another definition in so.
                assert "has changed the definition of 'echo'" in said(await before(text="hi"))  # type: ignore[arg-type]

    asyncio.run(scenario())


def test_in_the_newer_era_a_change_is_heard_by_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MCPServer("changing")

    @server.tool()
    async def grow(ctx: Context) -> str:
        server.add_tool(lambda: "new", name="grown")
        await ctx.notify_tools_changed()
        return "grew"

    async def scenario() -> None:
        client = in_memory(monkeypatch, server)
        await client.connect()
        status = client.status()
        assert status.era == "2026-07-28"
        assert len(await client.list_tools()) == 1
        await use(client, "grow")
        connection = client._connection
        await until(lambda: connection.definitions is None, "the notification")
        assert len(await client.list_tools()) == 2
        await client.close()

    asyncio.run(scenario())


def test_only_enabled_tools_are_shown_and_disabled_ones_are_not() -> None:
    async def scenario() -> None:
        async with attached(enable_tools=["echo", "die"]) as client:
            assert [tool.name for tool in await client.list_tools()] == ["mcp__plain__echo", "mcp__plain__die"]
        async with attached(disable_tools=["die"]) as client:
            assert "mcp__plain__die" not in [tool.name for tool in await client.list_tools()]
        # Our names will do as well.
        async with attached(enable_tools=["mcp__plain__echo", "die"], disable_tools=["mcp__plain__die"]) as client:
            assert [tool.name for tool in await client.list_tools()] == ["mcp__plain__echo"]

    asyncio.run(scenario())


def test_a_choice_that_the_server_does_not_have_is_told_once_with_the_nearest() -> None:
    async def scenario() -> None:
        async with attached(enable_tools=["Ecko", "die"]) as client:
            with pytest.warns(ToolkitWarning, match=r"has no tool 'Ecko', did you mean 'echo'\?\. See enable_tools"):
                assert len(await client.list_tools()) == 1
            await client.list_tools(refresh=True)
            with pytest.raises(ValueError, match="no tool 'Ecko'"):
                await client.check_choice()

    asyncio.run(scenario())


def test_an_unknown_tool_names_its_neighbour() -> None:
    async def scenario() -> None:
        async with attached() as client:
            with pytest.raises(ValueError, match=r"Tool 'ecko' not found in MCP server 'plain'. Did you mean 'echo'\?"):
                await client.get_tool("ecko")

    asyncio.run(scenario())


def test_the_whole_input_schema_is_kept_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with attached() as client:
            tool = await client.get_tool("mcp__plain__echo")
            assert tool.input_schema["additionalProperties"] is False
            assert tool.origin == "MCP server plain"
            assert tool.mcp_name == "plain"
            assert tool.is_mcp

    asyncio.run(scenario())


# ----------------------------------------------------------------------------------------------------- results
PNG = base64.b64encode(b"\x89PNG").decode()


def result(*content: dict[str, Any], **more: Any) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult.model_validate({"content": list(content), **more})


def test_every_kind_of_content_has_its_block() -> None:
    chunk = to_chunk(
        result(
            {"type": "text", "text": "hello"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "audio", "data": PNG, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": PNG}},
            {"type": "resource_link", "uri": "https://a.example/c", "name": "c", "mimeType": "text/html"},
        )
    )
    text, image, audio, inside, blob, link = chunk.content
    assert isinstance(text, TextBlock)
    assert text.text == "hello"
    for block, kind in ((image, "image/png"), (audio, "audio/wav"), (blob, "application/octet-stream")):
        assert isinstance(block, DataBlock)
        assert block.source == Base64Source(data=PNG, media_type=kind)
    assert isinstance(inside, TextBlock)
    assert inside.text == "[file:///a.txt]\ninside"
    assert isinstance(link, DataBlock)
    assert link.source == URLSource(url="https://a.example/c", media_type="text/html")
    assert link.name == "c"
    assert chunk.state is ToolResultState.SUCCESS


def test_structured_content_alone_is_given_as_its_json_and_as_the_value() -> None:
    chunk = to_chunk(result(structuredContent={"grad": 21}))
    assert json.loads(said(chunk)) == {"grad": 21}
    assert chunk.value == {"grad": 21}


def test_structured_content_beside_text_is_the_value_and_the_text_stays_as_it_is() -> None:
    chunk = to_chunk(result({"type": "text", "text": "21 °C"}, structuredContent={"grad": 21}))
    assert said(chunk) == "21 °C"
    assert chunk.value == {"grad": 21}


def test_two_texts_do_not_run_into_each_other() -> None:
    response = ToolResponse().append_chunk(
        to_chunk(result({"type": "text", "text": "a"}, {"type": "text", "text": "b"}))
    )
    assert response.text == "a\nb"


def test_an_error_of_the_tool_is_an_error_of_ours() -> None:
    assert to_chunk(result({"type": "text", "text": "no"}, isError=True)).state is ToolResultState.ERROR


def test_data_that_is_no_base64_is_said_to_be_left_out() -> None:
    chunk = to_chunk(result({"type": "image", "data": "%%%", "mimeType": "image/png"}))
    assert said(chunk) == "[image/png: not valid base64, left out]"


def test_a_result_of_ten_megabytes_arrives_whole() -> None:
    async def scenario() -> None:
        async with attached() as client:
            assert len(said(await use(client, "big", bytes=10_000_000))) == 10_000_000

    asyncio.run(scenario())


def test_a_result_that_breaks_its_own_schema_is_an_error_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp.server import Server

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = mcp_types.Tool(name="lie", input_schema={"type": "object"}, output_schema=schema)

    async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[tool])

    async def call_tool(context: Any, params: Any) -> mcp_types.CallToolResult:
        return result(structuredContent={"n": "many"})

    server = Server("liar", on_list_tools=list_tools, on_call_tool=call_tool)

    async def scenario() -> None:
        client = in_memory(monkeypatch, server)
        await client.connect()
        chunk = await use(client, "lie")
        assert chunk.state is ToolResultState.ERROR
        assert "The MCP server 'memory' answered amiss" in said(chunk)
        await client.close()

    asyncio.run(scenario())


def test_a_chunk_is_what_validating_it_would_have_made() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]
    chunk = to_chunk(result(*content, structuredContent={"n": 1}))
    made = ToolChunk.model_validate(chunk.model_dump())
    assert made == chunk
    assert list(made.__dict__) == [name for name in chunk.__dict__ if name != "_value"]
    assert chunk.value == {"n": 1}


# ---------------------------------------------------------------------------------------------------- progress
@pytest.fixture
def reports() -> Iterator[list[Progress]]:
    heard: list[Progress] = []
    progress.observers.append(heard.append)
    yield heard
    progress.observers.remove(heard.append)


@pytest.mark.parametrize("streaming", [False, True])
def test_progress_of_any_call_goes_to_who_listens_with_the_call_that_it_belongs_to(
    reports: list[Progress], streaming: bool
) -> None:
    async def scenario() -> None:
        async with attached(stream_progress=streaming) as client:
            toolkit = Toolkit(mcps=[client])
            toolkit.approver = allow_all
            call = toolkit.call_tool(
                ToolCallBlock(id="c1", name="mcp__plain__sleep", input='{"seconds":0.3,"steps":3}')
            )
            response = await call
            assert response.state is ToolResultState.SUCCESS
            assert {report.call for report in reports} == {call}
            last, ended = reports[-2:]
            assert (last.progress, last.total, last.message, last.fraction, last.ended) == (
                3.0,
                3.0,
                "step 3",
                1.0,
                False,
            )
            assert ended == dataclasses.replace(last, ended=True)

    asyncio.run(scenario())


def test_a_call_outside_a_toolkit_reports_too_and_one_without_progress_reports_nothing(
    reports: list[Progress],
) -> None:
    async def scenario() -> None:
        async with attached() as client:
            assert said(await use(client, "echo", text="quiet")) == "quiet"
            assert reports == []
            assert said(await use(client, "sleep", seconds=0.3, steps=3)) == "slept"
            assert (reports[-1].call, reports[-1].tool, reports[-1].ended) == (None, "mcp__plain__sleep", True)

    asyncio.run(scenario())


def test_an_observer_of_progress_that_fails_costs_the_call_nothing(reports: list[Progress]) -> None:
    def fails(report: Progress) -> None:
        raise RuntimeError("no page")

    async def scenario() -> None:
        async with attached() as client:
            progress.observers.insert(0, fails)
            try:
                assert said(await use(client, "sleep", seconds=0.1, steps=1)) == "slept"
            finally:
                progress.observers.remove(fails)
            assert reports[-1].ended

    asyncio.run(scenario())


def test_with_stream_progress_the_call_is_a_stream_whose_last_chunk_is_the_result() -> None:
    async def scenario() -> None:
        async with attached(stream_progress=True) as client:
            stream = await (await client.get_tool("sleep"))(seconds=0, steps=3)
            assert not isinstance(stream, ToolChunk)
            chunks = [chunk async for chunk in stream]
            *progress, last = chunks
            assert all(not chunk.content and not chunk.is_last for chunk in progress)
            steps = [chunk.metadata["mcp_progress"]["progress"] for chunk in progress]
            assert steps == [1, 2, 3]
            assert said(last) == "slept"
            assert last.is_last
            response = ToolResponse()
            for chunk in chunks:
                response.append_chunk(chunk)
            assert response.metadata == {}

    asyncio.run(scenario())


def test_calls_of_a_servers_tool_through_the_toolkit_run_side_by_side() -> None:
    async def scenario() -> None:
        async with attached() as client:
            toolkit = Toolkit(mcps=[client])
            toolkit.mode = PermissionMode.BYPASS
            long = asyncio.create_task(toolkit.call("mcp__plain__sleep", seconds=600, steps=6000).complete())
            for _ in range(3):
                assert (await toolkit.call("mcp__plain__sleep", seconds=0)).text == "slept"
            assert not long.done()
            long.cancel()
            await asyncio.wait({long})

    asyncio.run(scenario())


def test_a_stream_that_is_closed_early_cancels_the_call() -> None:
    async def scenario() -> None:
        async with attached(stream_progress=True) as client:
            stream = await (await client.get_tool("sleep"))(seconds=600, steps=60000)
            assert not isinstance(stream, ToolChunk)
            async for _ in stream:
                break
            await stream.aclose()
            await until(lambda: "the sleep was cancelled" in client.log_tail, "the server's cancellation")

    asyncio.run(scenario())


# -------------------------------------------------------------------------------------------------- permission
@pytest.mark.parametrize(
    ("tool", "trust", "behavior"),
    [
        ("echo", False, PermissionBehavior.PASSTHROUGH),
        ("echo", True, PermissionBehavior.ALLOW),
        ("die", False, PermissionBehavior.ASK),
        ("die", True, PermissionBehavior.ASK),
    ],
)
def test_annotations_are_claims_unless_the_server_is_trusted(
    tool: str, trust: bool, behavior: PermissionBehavior
) -> None:
    async def check() -> MCPTool:
        async with attached(trust_annotations=trust) as client:
            found = await client.get_tool(tool)
            decision = await found.check_permissions({}, PermissionContext())
            assert decision.behavior is behavior
            assert found.trust_annotations is trust
            return found

    found = asyncio.run(check())
    assert found.is_read_only is (tool == "echo")
