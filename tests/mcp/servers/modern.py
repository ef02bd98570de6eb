"""A stdio server of the newest era, by the SDK: it says again, counts, asks, waits and refuses."""

from __future__ import annotations

import asyncio
from typing import Annotated

from mcp import MCPError
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel, Field

server = MCPServer("modern")


class Chick(BaseModel):
    name: str
    weight: int = Field(default=300, ge=50)


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def count(numbers: list[int]) -> dict[str, int]:
    return {"count": len(numbers)}


@server.tool()
async def steps(context: Context) -> str:
    for step in range(3):
        await context.report_progress(step + 1, 3, f"step {step + 1}")
    return "three steps"


def at_the_nest(nest: int) -> Elicit[Chick]:
    return Elicit(f"There is a chick in nest {nest}.", Chick)


@server.tool()
def register(nest: int, chick: Annotated[Chick, Resolve(at_the_nest)]) -> str:
    return f"nest {nest}: {chick.name}, {chick.weight} g"


@server.tool()
async def wait() -> str:
    await asyncio.Event().wait()
    return "never"


@server.tool()
def refuse() -> str:
    raise MCPError(-32050, "not today")


if __name__ == "__main__":
    server.run("stdio")
