"""MCP calls through nbtoolkit beside the bare SDK, interleaved, in one run: ``python benchmarks/servers.py``.

Each line gives the best and the median of the rounds; the ratio is ours by the SDK's. The plain server answers in tens of
microseconds, so its line shows the cost of the way between threads; mcp-server-time is what people use.
"""

# ruff: noqa: T201 - it prints what it measured

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.mcp import MCPClient, StdioMCPConfig

if TYPE_CHECKING:
    import mcp

PLAIN = Path(__file__).parents[1] / "tests" / "mcp" / "servers" / "plain.py"
ROUNDS = 7
Once = Callable[[], Awaitable[Any]]


def ours(*words: str, name: str = "server") -> MCPClient:
    """Make our client of a command."""
    command, *args = words
    return MCPClient(name=name, is_stateful=True, mcp_config=StdioMCPConfig(command=command, args=args))


def bare(*words: str) -> mcp.Client:
    """Make the SDK's own client of that command."""
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *args = words
    parameters = StdioServerParameters(command=command, args=args)
    # Our client keeps lists itself, so the SDK's cache is off on both sides.
    return mcp.Client(stdio_client(parameters, errlog=Path(os.devnull).open("w")), cache=None)


async def timed(once: Once, times: int) -> float:
    """Give the mean of so many."""
    began = time.perf_counter()
    for _ in range(times):
        await once()
    return (time.perf_counter() - began) / times


async def compare(what: str, mine: Once, theirs: Once, times: int) -> None:
    """Measure both in turns, and print a line."""
    await mine()
    await theirs()
    rounds = [(await timed(mine, times), await timed(theirs, times)) for _ in range(ROUNDS)]
    a, b = ([one[side] for one in rounds] for side in (0, 1))
    best, middle = min(a) / min(b), statistics.median(a) / statistics.median(b)
    print(
        f"{what:45} ours {min(a) * 1e3:8.3f} ms   SDK {min(b) * 1e3:8.3f} ms   ratio {best:.2f} (median {middle:.2f})"
    )


async def calls(what: str, words: list[str], tool: str, arguments: dict[str, Any], times: int) -> None:
    """Compare a tool's calls, one by one and a hundred at once."""
    async with ours(*words) as client, bare(*words) as sdk:
        await sdk.list_tools()
        made = await client.get_tool(tool)

        async def many(one: Callable[[], Awaitable[Any]]) -> None:
            await asyncio.gather(*(one() for _ in range(100)))

        def mine() -> Awaitable[Any]:
            return made(**arguments)

        def theirs() -> Awaitable[Any]:
            return sdk.call_tool(tool, arguments)

        await compare(what, mine, theirs, times)
        await compare(f"{what}, 100 at once", lambda: many(mine), lambda: many(theirs), 2)


async def lists(words: list[str]) -> None:
    """Compare the listing of all pages, each time from the server."""
    async with ours(*words) as client, bare(*words) as sdk:

        async def pages() -> None:
            cursor: str | None = None
            while True:
                page = await sdk.list_tools(cursor=cursor)
                cursor = page.next_cursor
                if cursor is None:
                    return

        await compare("500 tools in pages of 50", lambda: client.list_tools(refresh=True), pages, 5)


async def attach(words: list[str]) -> None:
    """Compare attaching ten servers at once."""

    async def mine() -> None:
        clients = [ours(*words, name=f"s{n}") for n in range(10)]
        await asyncio.gather(*(client.connect() for client in clients))
        spent.append(time.perf_counter())
        await asyncio.gather(*(client.close() for client in clients))

    async def theirs() -> None:
        leave = asyncio.Event()
        ready = [asyncio.Event() for _ in range(10)]

        async def own(number: int) -> None:
            async with bare(*words):
                ready[number].set()
                await leave.wait()

        tasks = [asyncio.create_task(own(n)) for n in range(10)]
        await asyncio.gather(*(each.wait() for each in ready))
        spent.append(time.perf_counter())
        leave.set()
        await asyncio.gather(*tasks)

    spent: list[float] = []
    sides: dict[Once, list[float]] = {mine: [], theirs: []}
    for _ in range(ROUNDS):
        for side, found in sides.items():
            began = time.perf_counter()
            await side()
            found.append(spent.pop() - began)
    a, b = sides[mine], sides[theirs]
    print(
        f"{'10 servers attached at once':45} ours {min(a) * 1e3:8.0f} ms   SDK {min(b) * 1e3:8.0f} ms   "
        f"ratio {min(a) / min(b):.2f} (median {statistics.median(a) / statistics.median(b):.2f})"
    )


async def main() -> None:
    """Measure all."""
    plain = [sys.executable, "-S", str(PLAIN)]
    beside = str(Path(sys.executable).parent / "mcp-server-time")
    await calls("a call, mcp-server-time", [beside], "get_current_time", {"timezone": "UTC"}, 50)
    await calls("a call, the plain server", plain, "echo", {"text": "hi"}, 100)
    await calls("a call, the plain server of 500 tools", [*plain, "--tools", "492"], "echo", {"text": "hi"}, 100)
    await calls("1 MB of result", plain, "big", {"bytes": 1_000_000}, 3)
    await lists([*plain, "--tools", "492", "--page", "50"])
    await attach(plain)


if __name__ == "__main__":
    asyncio.run(main())
