"""Calls, lists and starts of MCP servers, by the clock; the floor is the SDK's own client."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

CASES = {
    "row": "MCP: a call of a stdio server (floor: `mcp.Client`)",
    "tool": "MCP: the same by the tool itself, without the pipeline",
    "newest": "MCP: a call of a stdio server of the newest era",
    "together": "MCP: a call, 100 at once",
    "many": "MCP: a call, where the server has 500 tools",
    "http": "MCP: a call over HTTP, 100 at once",
    "pages": "MCP: list 500 tools, in pages of 50",
    "attach": "MCP: attach 10 servers at once",
}
TARGETS = {
    "row": "≤ 1.2 × floor",
    "tool": "≤ 1.2 × floor",
    "newest": "≤ 1.2 × floor",
    "together": "≤ 1.2 × floor",
    "many": "the same",
    "http": "≤ 1.2 × floor",
    "pages": "≤ 1.3 × floor",
    "attach": "≤ 1.2 × floor",
}
UNIT = "µs"
COUNT = 200
LISTS = 5
SERVERS = 10
_SERVER_FOLDER = Path(__file__).parents[2] / "tests" / "mcp" / "servers"
_PLAIN = ["-S", str(_SERVER_FOLDER / "plain.py")]
_NEWEST = [str(_SERVER_FOLDER / "modern.py")]
_MORE = {"many": ["--tools", "492"], "pages": ["--tools", "492", "--page", "50"]}


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time what a server that was started for the round does."""
    try:
        attach, timed = {"pydantic": (_bare, _bare_ten), "nbtoolkit": (_ours, _our_ten)}[subject.LIBRARIES[0]]
    except KeyError:
        raise CantError from None
    if case == "attach":
        return lambda: float(run(timed()))
    server: Any = _web() if case == "http" else _NEWEST if case == "newest" else [*_PLAIN, *_MORE.get(case, [])]

    async def round_of_it() -> float:
        async with attach(server, case) as once:
            return await _timed(once, case)

    run(round_of_it())
    return lambda: float(run(round_of_it()))


def prepared(subject: Any, count: int, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time calls of one server while so many are attached, all of them started for the round."""
    try:
        several = {"pydantic": _bare_several, "nbtoolkit": _our_several}[subject.LIBRARIES[0]]
    except KeyError:
        raise CantError from None

    async def round_of_it() -> float:
        async with contextlib.AsyncExitStack() as stack:
            return await _timed(await several(count, stack), "row")

    return lambda: float(run(round_of_it()))


async def _timed(once: Callable[[], Awaitable[object]], case: str) -> float:
    if case == "pages":
        await once()
        began = time.perf_counter()
        for _ in range(LISTS):
            await once()
        return (time.perf_counter() - began) / LISTS
    for _ in range(10):
        await once()
    began = time.perf_counter()
    if case in {"together", "http"}:
        for _ in range(2):
            await asyncio.gather(*[once() for _ in range(COUNT // 2)])
    else:
        for _ in range(COUNT):
            await once()
    return (time.perf_counter() - began) / COUNT


def _web() -> str:
    """Start a server over HTTP, for as long as this process lives; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(_SERVER_FOLDER / "web.py"), str(port)])
    atexit.register(process.kill)
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return f"http://127.0.0.1:{port}/mcp"
        if process.poll() is not None:
            raise RuntimeError("the server has ended")
        time.sleep(0.05)


# ---------------------------------------------------------------------------------------------------- the SDK's client
def _bare_client(server: Any) -> Any:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    if isinstance(server, str):
        return Client(server, cache=None)
    parameters = StdioServerParameters(command=sys.executable, args=server)
    # nbtoolkit keeps lists itself, so the SDK's cache is off on both sides.
    return Client(stdio_client(parameters, errlog=Path(os.devnull).open("w")), cache=None)


@contextlib.asynccontextmanager
async def _bare(server: Any, case: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    async with _bare_client(server) as client:

        async def call() -> None:
            answer = await client.call_tool("echo", {"text": "again"})
            assert "again" in str(answer.content), answer

        async def pages() -> None:
            count, cursor = 0, None
            while True:
                page = await client.list_tools(cursor=cursor)
                count, cursor = count + len(page.tools), page.next_cursor
                if cursor is None:
                    break
            assert count == 500, count

        yield pages if case == "pages" else call


async def _bare_several(count: int, stack: contextlib.AsyncExitStack) -> Callable[[], Awaitable[object]]:
    once: Any = None
    for _ in range(count):
        once = await stack.enter_async_context(_bare(_PLAIN, "row"))
    return once  # type: ignore[no-any-return]


async def _our_several(count: int, stack: contextlib.AsyncExitStack) -> Callable[[], Awaitable[object]]:
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Toolkit

    clients = [_client(_PLAIN, f"bench{number}") for number in range(count)]
    for client in clients:
        await client.connect()
        stack.push_async_callback(client.close)
    toolkit = Toolkit(mcps=clients)
    toolkit.mode = PermissionMode.BYPASS

    async def call() -> None:
        answer = await toolkit.call(f"mcp__bench{count - 1}__echo", text="again")
        assert "again" in answer.text, answer.text

    return call


async def _bare_ten() -> float:
    leave = asyncio.Event()
    ready = [asyncio.Event() for _ in range(SERVERS)]

    async def own(number: int) -> None:
        async with _bare_client(_PLAIN):
            ready[number].set()
            await leave.wait()

    began = time.perf_counter()
    tasks = [asyncio.create_task(own(number)) for number in range(SERVERS)]
    await asyncio.gather(*(each.wait() for each in ready))
    seconds = time.perf_counter() - began
    leave.set()
    await asyncio.gather(*tasks)
    return seconds


# ----------------------------------------------------------------------------------------------------------- nbtoolkit
def _client(server: Any, name: str = "bench") -> Any:
    from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig

    if isinstance(server, str):
        return MCPClient(name=name, is_stateful=True, mcp_config=HttpMCPConfig(url=server))
    return MCPClient(name=name, is_stateful=True, mcp_config=StdioMCPConfig(command=sys.executable, args=server))


@contextlib.asynccontextmanager
async def _ours(server: Any, case: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Toolkit

    client = _client(server)
    async with client:
        toolkit = Toolkit(mcps=[client])
        toolkit.mode = PermissionMode.BYPASS
        tool = await client.get_tool("echo")

        async def call() -> None:
            answer = await toolkit.call("mcp__bench__echo", text="again")
            assert "again" in answer.text, answer.text

        async def alone() -> None:
            answer = await tool(text="again")
            assert "again" in answer.content[0].text, answer

        async def pages() -> None:
            tools = await client.list_tools(refresh=True)
            assert len(tools) == 500, len(tools)

        yield {"pages": pages, "tool": alone}.get(case, call)


async def _our_ten() -> float:
    clients = [_client(_PLAIN, f"bench{number}") for number in range(SERVERS)]
    began = time.perf_counter()
    await asyncio.gather(*(client.connect() for client in clients))
    seconds = time.perf_counter() - began
    await asyncio.gather(*(client.close() for client in clients))
    return seconds
