"""What servers offer beside tools: resources, prompts, completions."""

from __future__ import annotations

import asyncio

import pytest
from mcp.server import MCPServer
from mcp_types import Completion

from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from tests.mcp.support import attached, in_memory

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
