"""What servers offer beside tools: resources, prompts, completions."""

from __future__ import annotations

import asyncio

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import Completion

from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from tests.mcp.support import attached, in_memory, said, until, use

server = MCPServer("offers")


@server.resource("note://today", title="Today", mime_type="text/plain")
def today() -> str:
    return "a fine day"


@server.resource("blob://dot", mime_type="image/png")
def dot() -> bytes:
    return b"\x89PNG"


@server.resource("note://{day}")
def note(day: str) -> str:
    return f"about {day}"


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    await ctx.notify_resource_updated(uri)
    return "touched"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name} kindly"


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(reference: object, argument: object, context: object) -> Completion:
    return Completion(values=["monday", "friday"])


def test_resources_and_templates_are_listed_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with in_memory(monkeypatch, server) as client:
            assert [str(each.uri) for each in await client.list_resources()] == ["note://today", "blob://dot"]
            assert [each.uri_template for each in await client.list_resource_templates()] == ["note://{day}"]
            [text] = await client.read_resource("note://today")
            assert isinstance(text, TextBlock)
            assert text.text == "a fine day"
            [blob] = await client.read_resource("blob://dot")
            assert isinstance(blob, DataBlock)
            assert blob.source == Base64Source(data="iVBORw==", media_type="image/png")
            [made] = await client.read_resource("note://monday")
            assert isinstance(made, TextBlock)
            assert made.text == "about monday"

    asyncio.run(scenario())


def test_prompts_are_listed_and_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with in_memory(monkeypatch, server) as client:
            assert [each.name for each in await client.list_prompts()] == ["greet"]
            [(role, block)] = await client.get_prompt("greet", name="Ada")
            assert role == "user"
            assert isinstance(block, TextBlock)
            assert block.text == "Greet Ada kindly"

    asyncio.run(scenario())


def test_a_template_argument_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with in_memory(monkeypatch, server) as client:
            assert await client.complete("day", "m", template="note://{day}") == ["monday", "friday"]
            assert await client.complete("name", "m", prompt="greet") == ["monday", "friday"]
            with pytest.raises(ValueError, match="one of the two"):
                await client.complete("name", "m")

    asyncio.run(scenario())


def test_a_server_without_them_offers_none() -> None:
    async def scenario() -> None:
        async with attached() as client:
            assert await client.list_resources() == []
            assert await client.list_resource_templates() == []
            assert await client.list_prompts() == []

    asyncio.run(scenario())


def test_a_resource_that_was_subscribed_to_tells_of_its_changes_until_it_is_unsubscribed() -> None:
    async def scenario() -> None:
        heard: list[str] = []
        async with attached() as client:
            await client.subscribe_resource("note://days", heard.append)
            await use(client, "change", uri="note://days")
            await use(client, "change", uri="note://days/monday")
            await use(client, "change", uri="note://daysoff")
            assert heard == ["note://days", "note://days/monday"]
            await client.unsubscribe_resource("note://days")
            assert said(await use(client, "change", uri="note://days")) == ""
            assert len(heard) == 2

    asyncio.run(scenario())


def test_a_subscription_goes_on_after_the_server_was_started_again() -> None:
    async def scenario() -> None:
        heard: list[str] = []
        async with attached() as client:
            await client.subscribe_resource("note://days", heard.append)
            await use(client, "die")
            await use(client, "change", uri="note://days")
            await until(lambda: heard == ["note://days"], "the update")

    asyncio.run(scenario())


def test_in_the_newer_era_resources_and_tools_are_heard_of_by_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        heard: list[str] = []
        async with in_memory(monkeypatch, server) as client:
            assert client.status().era == "2026-07-28"
            await client.subscribe_resource("note://today", heard.append)

            async def touched() -> bool:
                # The stream opens beside the calls.
                await use(client, "touch", uri="note://today")
                return bool(heard)

            for _ in range(200):
                if await touched():
                    break
                await asyncio.sleep(0.02)
            assert set(heard) == {"note://today"}
            await client.unsubscribe_resource("note://today")

    asyncio.run(scenario())


def test_a_client_without_a_session_can_not_subscribe() -> None:
    client = MCPClient(name="x", is_stateful=False, mcp_config=HttpMCPConfig(url="http://localhost:1/mcp"))
    with pytest.raises(ValueError, match="keeps no session"):
        asyncio.run(client.subscribe_resource("note://days", print))
