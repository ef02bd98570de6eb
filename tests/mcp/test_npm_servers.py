"""Servers that people run, from npm: everything over all three transports, filesystem and memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
from nbtoolkit.mcp.interaction import SamplingRequest
from nbtoolkit.message import Base64Source, DataBlock, ToolResultState
from nbtoolkit.tool.result import ToolChunk
from tests.conftest import absent
from tests.mcp.support import PATIENCE, open_files, said, until, use

NPM = Path(__file__).parents[2] / ".venvs" / "npm"
BIN = NPM / "node_modules" / ".bin"
# The system's Node first, as the Makefile has it.
NODE = {"PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), str(NPM / "node" / "bin")])}


def command(name: str) -> str:
    """An installed server's program; what is missing is said."""
    if shutil.which("node", path=NODE["PATH"]) is None:
        absent("there is no Node; 'make npm' brings PyPI's")
    if not (BIN / name).exists():
        absent("npm's MCP servers aren't installed; say 'make npm'")
    return str(BIN / name)


def stdio(name: str, *args: str, **options: Any) -> MCPClient:
    config = StdioMCPConfig(command=command(f"mcp-server-{name}"), args=list(args), env=NODE)
    return MCPClient(name=name, is_stateful=True, mcp_config=config, **options)


@contextlib.contextmanager
def everything(transport: str) -> Iterator[str]:
    """Run the everything server; its URL."""
    program = command("mcp-server-everything")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, transport],
        env={**os.environ, **NODE, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server doesn't listen"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    finally:
        process.kill()
        process.wait()


async def answers(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {} if "x-url" in schema else {"name": "Ada"}


async def speaks(request: SamplingRequest) -> str:
    return f"heard {request.messages[0]['content']['text']}"


HANDLERS: dict[str, Any] = {"elicitation_handler": answers, "sampling_handler": speaks}


async def tour(client: MCPClient) -> None:
    """What every transport must carry."""
    assert {"mcp__everything__echo", "mcp__everything__get-tiny-image"} <= {t.name for t in await client.list_tools()}
    assert said(await use(client, "echo", message="Grüße")) == "Echo: Grüße"
    weather = await use(client, "get-structured-content", location="New York")
    assert set(weather.value) == {"temperature", "conditions", "humidity"}
    image = next(b for b in (await use(client, "get-tiny-image")).content if isinstance(b, DataBlock))
    assert isinstance(image.source, Base64Source)
    assert image.source.media_type == "image/png"
    links = [block.source for block in (await use(client, "get-resource-links", count=2)).content[1:]]  # type: ignore[union-attr]
    assert [link.url for link in links] == ["demo://resource/dynamic/blob/1", "demo://resource/dynamic/text/2"]  # type: ignore[union-attr]
    embedded = said(await use(client, "get-resource-reference", resourceType="Text", resourceId=1))
    assert "[demo://resource/dynamic/text/1]\nResource 1: This is a plaintext resource" in embedded
    assert "architecture.md" in [resource.name for resource in await client.list_resources()]
    assert [prompt.name for prompt in await client.list_prompts()][:2] == ["simple-prompt", "args-prompt"]
    [(role, text)] = await client.get_prompt("args-prompt", city="Graz")
    assert (role, "Graz" in text.text) == ("user", True)  # type: ignore[union-attr]


async def asks(client: MCPClient) -> None:
    """What a server asks back, in the same session."""
    assert "User completed the URL elicitation" in said(
        await use(client, "trigger-url-elicitation", url="https://a.b/")
    )
    assert "Ada" in said(await use(client, "trigger-elicitation-request"))
    assert "heard Resource trigger-sampling-request context: now" in said(
        await use(client, "trigger-sampling-request", prompt="now")
    )


def test_everything_over_stdio(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stdio("everything", roots=[tmp_path], stream_progress=True, **HANDLERS) as client:
            status = client.status()
            assert (status.state, status.transport, status.era) == ("connected", "stdio", "2025-11-25")
            stream = await (await client.get_tool("trigger-long-running-operation"))(duration=0.2, steps=2)
            assert not isinstance(stream, ToolChunk)
            *reports, last = [chunk async for chunk in stream]
            assert [chunk.metadata["mcp_progress"]["total"] for chunk in reports] == [2] * len(reports)
            assert said(last).startswith("Long running operation completed")
            client.stream_progress = False
            await tour(client)
            await asks(client)
            await until(lambda: any("Roots updated: 1 root" in line for line in client.log_tail), "the roots")
            assert tmp_path.as_uri() in said(await use(client, "get-roots-list"))
            assert await client.complete("department", "Eng", prompt="completable-prompt") == ["Engineering"]

    asyncio.run(scenario())


@pytest.mark.parametrize("transport", ["streamableHttp", "sse"])
def test_everything_over_http_and_sse(transport: str) -> None:
    async def scenario(url: str) -> None:
        config = HttpMCPConfig(url=url)
        async with MCPClient(name="everything", is_stateful=True, mcp_config=config, **HANDLERS) as client:
            assert client.status().transport == ("sse" if transport == "sse" else "http")
            await tour(client)
            await asks(client)
            together = await asyncio.gather(*(use(client, "echo", message=str(n)) for n in range(50)))
            assert [said(chunk) for chunk in together] == [f"Echo: {n}" for n in range(50)]
        if transport != "sse":
            client = MCPClient(name="everything", is_stateful=False, mcp_config=config)
            assert said(await use(client, "echo", message="once")) == "Echo: once"
            assert client.status().state == "stateless"

    with everything(transport) as url:
        asyncio.run(scenario(url))


def test_the_filesystem_server_reads_and_writes_where_it_may(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stdio("filesystem", str(tmp_path)) as client:
            path = str(tmp_path / "note.txt")
            await use(client, "write_file", path=path, content="hello\n")
            assert "hello" in said(await use(client, "read_text_file", path=path))
            assert "note.txt" in said(await use(client, "list_directory", path=str(tmp_path)))
            outside = await use(client, "read_text_file", path="/etc/hostname")
            assert outside.state is ToolResultState.ERROR
            assert "outside allowed directories" in said(outside)
            reads = {tool.server_tool_name: tool.is_read_only for tool in await client.list_tools()}
            assert (reads["read_text_file"], reads["write_file"]) == (True, False)

    asyncio.run(scenario())


def test_the_memory_server_keeps_what_it_is_told_and_leaves_nothing_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        client = stdio("memory")
        client.mcp_config.env = {**NODE, "MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}  # type: ignore[union-attr]
        before = open_files()
        async with client:
            ada = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
            await use(client, "create_entities", entities=[ada])
            graph = (await use(client, "read_graph")).value
            assert graph["entities"] == [ada]
        # The guardian's pipe is made with the first server of a process.
        assert open_files() <= before + 4
        assert json.loads((tmp_path / "memory.jsonl").read_text())["name"] == "Ada"

    asyncio.run(scenario())
