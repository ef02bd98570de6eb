"""The client that the official conformance suite drives: an MCPClient and nothing else.

The suite starts it with the server's URL as the last argument and the scenario's name in MCP_CONFORMANCE_SCENARIO:
``conformance client --command "python tests/mcp/conformance_client.py" --suite core``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.mcp.oauth import SignIn


async def accept_defaults(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {}


async def sign_in(request: SignIn) -> str | None:
    """Go where a browser would, as far as the way back."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(request.url, follow_redirects=False)
        return answer.headers.get("location")


async def initialize(client: MCPClient) -> None:
    await client.list_tools()


async def call_a_tool(client: MCPClient) -> None:
    tool = await client.get_tool("add_numbers")
    print(await tool(a=5, b=3))


async def call_them_all(client: MCPClient) -> None:
    for tool in await client.list_tools():
        print(await tool())


SCENARIOS: dict[str, Callable[[MCPClient], Awaitable[None]]] = {
    "initialize": initialize,
    "tools_call": call_a_tool,
    "elicitation-sep1034-client-defaults": call_them_all,
    "sse-retry": call_them_all,
}


async def main() -> None:
    client = MCPClient(
        name="conformance",
        is_stateful=True,
        mcp_config=HttpMCPConfig(url=sys.argv[-1]),
        elicitation_handler=accept_defaults,
        oauth_handler=sign_in,
    )
    async with client:
        # The auth scenarios look at the sign-in, then at a call.
        await SCENARIOS.get(os.environ["MCP_CONFORMANCE_SCENARIO"], call_them_all)(client)


if __name__ == "__main__":
    asyncio.run(main())
