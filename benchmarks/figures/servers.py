"""A call of a stdio MCP server's tool, by the clock; the floor is the SDK's own client."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "row": "MCP: a call of a stdio server (floor: `mcp.Client`)",
    "together": "MCP: a call, 100 at once",
    "many": "MCP: a call, where the server has 500 tools",
}
TARGETS = {"row": "≤ 1.2 × floor", "together": "≤ 1.2 × floor", "many": "the same"}
UNIT = "µs"
COUNT = 200
_SERVER = Path(__file__).parents[2] / "tests" / "mcp" / "servers" / "plain.py"


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time calls of a server that was started for the round."""
    try:
        once = {"pydantic": _bare, "nbtoolkit": _ours}[subject.LIBRARIES[0]]
    except KeyError:
        raise CantError from None
    arguments = ["-S", str(_SERVER), *(["--tools", "500"] if case == "many" else [])]
    run(once(arguments, case))
    return lambda: run(once(arguments, case))


async def _timed(call: Callable[[], Any], case: str) -> float:
    for _ in range(10):
        await call()
    began = time.perf_counter()
    if case == "together":
        await asyncio.gather(*[call() for _ in range(COUNT // 2)])
        await asyncio.gather(*[call() for _ in range(COUNT // 2)])
    else:
        for _ in range(COUNT):
            await call()
    return (time.perf_counter() - began) / COUNT


async def _bare(arguments: list[str], case: str) -> float:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))) as client:

        async def call() -> None:
            answer = await client.call_tool("echo", {"text": "again"})
            assert "again" in str(answer.content), answer

        return await _timed(call, case)


async def _ours(arguments: list[str], case: str) -> float:
    from nbtoolkit.mcp import MCPClient, StdioMCPConfig
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Toolkit

    config = StdioMCPConfig(command=sys.executable, args=arguments)
    client = MCPClient(name="bench", is_stateful=True, mcp_config=config)
    await client.connect()
    try:
        toolkit = Toolkit(mcps=[client])
        toolkit.mode = PermissionMode.BYPASS

        async def call() -> None:
            answer = await toolkit.call("mcp__bench__echo", text="again")
            assert "again" in answer.text, answer.text

        return await _timed(call, case)
    finally:
        await client.close()
