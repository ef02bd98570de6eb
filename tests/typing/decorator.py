"""What type checkers know of a decorated function, a tool and a call. mypy holds each ``assert_type`` in ``make check``.

A line that ends in ``type: ignore`` has to be an error: one that isn't is itself one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type

import distributed

from nbtoolkit import Toolkit
from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.permission import PermissionBehavior, PermissionDecision, PermissionMode, PermissionRule
from nbtoolkit.tool import (
    FunctionTool,
    ToolBase,
    ToolChunk,
    ToolMiddlewareBase,
    ToolResponse,
    report_progress,
    tool,
)
from nbtoolkit.tool.run import ToolCall

toolkit = Toolkit()


# --------------------------------------------------------------------------------- a decorated function stays what it is
@tool(toolkit=toolkit)
def add(a: int, b: int = 1) -> int:
    """Add."""
    report_progress(1, total=2, message="half")
    return a + b


@tool(toolkit=toolkit, name="wait_for", is_read_only=True, group="more", max_result_chars=100)
async def wait(seconds: float) -> str:
    """Wait."""
    return f"{seconds}"


@tool(toolkit=toolkit, is_concurrency_safe=False)
def lines(path: str) -> Iterator[str]:
    """Give lines."""
    yield path


@tool(toolkit=toolkit, permission=PermissionDecision(PermissionBehavior.ALLOW, "It only looks."))
async def ticks(count: int, *, fast: bool = False) -> AsyncGenerator[int, None]:
    """Tick."""
    yield count if fast else 0


@tool(toolkit=toolkit, executor=ThreadPoolExecutor, is_idempotent=True)
def elsewhere(n: int) -> list[int]:
    """Run in a pool that is made when it is first needed."""
    return [n]


def on_a_cluster(client: distributed.Client) -> FunctionTool:
    """A client is as good as its executor, and so is a function that gives one; nobody runs it."""
    tool(executor=client)(add)
    return FunctionTool(add, executor=lambda: client)


class Model:
    """A class whose methods are tools."""

    @staticmethod
    @tool(toolkit=toolkit)
    def fit(rate: float) -> float:
        """Fit."""
        return rate

    def predict(self, x: float) -> float:
        """Predict."""
        return x


assert_type(add(1), int)
assert_type(add(a=1, b=2), int)
assert_type(lines("x"), Iterator[str])
assert_type(ticks(1, fast=True), AsyncGenerator[int, None])
assert_type(elsewhere(1), list[int])
assert_type(Model.fit(0.1), float)
bound = tool(Model().predict)
assert_type(bound(1.0), float)


def wrong() -> None:
    """What a decorated function and the decorator don't take; nobody runs it."""
    add("1")  # type: ignore[arg-type]
    add(1, 2, 3)  # type: ignore[call-arg]
    ticks(1, True)  # type: ignore[call-arg]
    tool(name=5)  # type: ignore[call-overload]
    tool(is_readonly=True)  # type: ignore[call-overload]
    tool(executor="pool")  # type: ignore[call-overload]
    FunctionTool(add, is_idempotent="yes")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ tools and calls
made = FunctionTool(add, name="plus", thread=True)
assert_type(made.name, str)
assert_type(made.input_schema, dict[str, Any])
assert_type(made.is_idempotent, bool)


class Middleware(ToolMiddlewareBase):
    """Hands on."""

    async def on_tool_call(
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[ToolChunk, None]]
    ) -> AsyncGenerator[ToolChunk, None]:
        """Hand on."""
        async for chunk in next_handler(**input_kwargs):
            assert_type(chunk, ToolChunk)
            yield chunk


class Own(ToolBase):
    """A tool of one's own names its parameters."""

    name = "own"
    description = "Own."
    input_schema = {"type": "object", "properties": {"text": {"type": "string"}}}  # noqa: RUF012 - as people write it

    async def check_permissions(self, tool_input: dict[str, Any], context: Any) -> PermissionDecision:
        """Allow."""
        return PermissionDecision(PermissionBehavior.ALLOW, "why not")

    async def call(self, text: str) -> ToolChunk:
        """Say it."""
        return ToolChunk.of(text)


async def calls() -> None:
    """Every way to a result."""
    call = toolkit.call("add", a=1)
    assert_type(call, ToolCall)
    response = await call
    assert_type(response, ToolResponse)
    assert_type(response.state, ToolResultState)
    assert_type(response.text, str)
    assert_type(await toolkit.call_tool(ToolCallBlock(name="add", input="{}")), ToolResponse)
    async for piece in toolkit.call("lines", path="x"):
        assert_type(piece, ToolChunk | ToolResponse)
    assert_type(await toolkit.call_tools([toolkit.call("add", a=1)]), list[ToolResponse])
    task = asyncio.create_task(toolkit.call("add", a=1).complete())
    assert_type(task, asyncio.Task[ToolResponse])
    await task
    found = await toolkit.get_tool("add")
    assert_type(found, ToolBase | None)
    await toolkit.add_tool([add, made, Own(middlewares=[Middleware()])])
    await toolkit.add_tool(wait, group_name="basic")
    assert_type(await toolkit.get_tool_schemas(format="anthropic"), list[dict[str, Any]])


def plainly() -> None:
    """The same, blocking."""
    assert_type(toolkit.call_sync("add", a=1), ToolResponse)
    assert_type(PermissionRule.parse("add(a=1)", "allow"), PermissionRule)
    assert_type(toolkit.mode, PermissionMode)
