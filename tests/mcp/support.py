"""What the MCP tests share: clients of the plain server, in-memory servers, bounded waits."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.mcp.session import Session
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PLAIN = Path(__file__).parent / "servers" / "plain.py"
# Two busy cores: what takes a few milliseconds may take seconds.
PATIENCE = 20.0


def plain(*args: str, name: str = "plain", env: dict[str, str] | None = None, **options: Any) -> MCPClient:
    """A client of the plain server, which starts in a few milliseconds."""
    config = StdioMCPConfig(command=sys.executable, args=["-S", str(PLAIN), *args], env=env)
    return MCPClient(name=name, is_stateful=True, mcp_config=config, **options)


@contextlib.asynccontextmanager
async def attached(*args: str, **options: Any) -> AsyncIterator[MCPClient]:
    """A plain server that is connected, and closed at the end."""
    client = plain(*args, **options)
    await client.connect()
    try:
        yield client
    finally:
        await client.close()


async def use(client: MCPClient, name: str, **arguments: Any) -> ToolChunk:
    """Call a tool, nobody asked."""
    result = await (await client.get_tool(name))(**arguments)
    assert isinstance(result, ToolChunk)
    return result


def said(chunk: ToolChunk) -> str:
    """All text of a chunk."""
    return "".join(block.text for block in chunk.content if block.type == "text")


def in_memory(monkeypatch: Any, server: Any, name: str = "memory", **options: Any) -> MCPClient:
    """A client whose session speaks to a server object of the SDK in this process."""
    monkeypatch.setattr(Session, "_transport", lambda self: server)
    config = StdioMCPConfig(command="in-memory")
    return MCPClient(name=name, is_stateful=True, mcp_config=config, **options)


async def until(true: Callable[[], object], what: str) -> None:
    """Wait for something that happens in another process or thread."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"{what} didn't happen"
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def pids(file: Path) -> list[int]:
    """What the plain server and its children wrote with --pids."""
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def open_files() -> int:
    """How many descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))
