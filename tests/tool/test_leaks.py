"""However a call ends, nothing of it is left: no task, no thread, no open generator; and the log says how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from nbtoolkit.message import TextBlock, ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.tool.base import NextHandler, ToolBase, ToolMiddlewareBase
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.run import ToolCall
from nbtoolkit.tool.toolkit import Toolkit

T = TypeVar("T")
PATIENCE = 20


class Probe:
    """A tool's work that never ends by itself, and what became of it."""

    def __init__(self) -> None:
        self.opened = self.closed = 0
        self.over = threading.Event()

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        self.opened += 1
        try:
            yield
        finally:
            self.closed += 1

    def pieces(self) -> Iterator[str]:
        """Count for ever, without a wait."""
        with self.inside():
            while True:
                yield "x"

    def slow_pieces(self) -> Iterator[str]:
        """Count for ever, in a thread."""
        with self.inside():
            while not self.over.wait(0.001):
                yield "x"

    async def async_pieces(self) -> AsyncIterator[str]:
        """Count for ever."""
        with self.inside():
            while True:
                yield "x"
                await asyncio.sleep(0)

    async def wait(self) -> None:
        """Wait for ever, after a while of nothing."""
        with self.inside():
            await asyncio.Event().wait()

    def block(self) -> None:
        """Wait in a thread, which nothing can end but itself."""
        with self.inside():
            self.over.wait(PATIENCE)


class Streaming(ToolBase):
    description = "Streams for ever."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012
    name = "probe"

    def __init__(self, probe: Probe, middlewares: list[ToolMiddlewareBase]) -> None:
        super().__init__(middlewares)
        self.probe = probe

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(PermissionBehavior.ALLOW, "yes")

    async def call(self, /, **kwargs: Any) -> AsyncIterator[ToolChunk]:
        async with contextlib.aclosing(self.probe.async_pieces()) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield ToolChunk(content=[TextBlock(text=piece)], is_last=False)


class Unsafe(Streaming):
    is_concurrency_safe = False


class Passing(ToolMiddlewareBase):
    async def on_tool_call(self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler) -> Any:
        async for chunk in next_handler(**input_kwargs):
            yield chunk


class Failing(ToolMiddlewareBase):
    """Breaks in the middle of what lies inside it."""

    async def on_tool_call(self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler) -> Any:
        running = asyncio.ensure_future(asyncio.sleep(0))
        async for chunk in next_handler(**input_kwargs):
            yield chunk
            await running
            raise ValueError("broken on the way")


def made(kind: str, probe: Probe, middlewares: list[ToolMiddlewareBase], pool: ThreadPoolExecutor) -> ToolBase:
    if kind in {"class", "unsafe"}:
        return (Unsafe if kind == "unsafe" else Streaming)(probe, middlewares)
    options: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "sync generator": (probe.pieces, {}),
        "generator in a thread": (probe.slow_pieces, {"thread": True}),
        "generator in a pool": (probe.slow_pieces, {"executor": pool}),
        "async generator": (probe.async_pieces, {}),
        "coroutine": (probe.wait, {}),
        "function in a thread": (probe.block, {"thread": True}),
    }
    func, more = options[kind]
    return FunctionTool(func, name="probe", middlewares=middlewares, max_result_chars=100, **more)


STREAMS = ("sync generator", "generator in a thread", "generator in a pool", "async generator", "class", "unsafe")
KINDS = (*STREAMS, "coroutine", "function in a thread")


async def begun(call: ToolCall, probe: Probe) -> asyncio.Task[ToolResponse]:
    task = asyncio.create_task(call.complete())
    while not probe.opened:  # noqa: ASYNC110 - another thread may open it
        await asyncio.sleep(0)
    return task


async def by_cancel(call: ToolCall, probe: Probe) -> None:
    task = await begun(call, probe)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_stop(call: ToolCall, probe: Probe) -> None:
    task = await begun(call, probe)
    call.cancel()
    assert (await task).state is ToolResultState.INTERRUPTED


async def by_timeout(call: ToolCall, probe: Probe) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await call


async def by_leaving(call: ToolCall, probe: Probe) -> None:
    stream = aiter(call)
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]


async def by_iterating(call: ToolCall, probe: Probe) -> None:
    async def consume() -> None:
        async for _ in call:
            await asyncio.sleep(0)

    task = asyncio.create_task(consume())
    while not probe.opened:  # noqa: ASYNC110 - another thread may open it
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # A stream that its consumer let go of without closing it is closed by the loop, in a task of its own.
    while asyncio.all_tasks() != {asyncio.current_task()}:  # noqa: ASYNC110 - it is nobody's task
        await asyncio.sleep(0)


ENDS = (by_cancel, by_stop, by_timeout, by_leaving, by_iterating)


def ended(
    kind: str, end: Callable[[ToolCall, Probe], Coroutine[Any, Any, None]], middlewares: list[ToolMiddlewareBase]
) -> tuple[Probe, Toolkit]:
    """Run one call to its end in asyncio's debug mode, and fail for anything that is left of it."""
    probe = Probe()
    faults: list[dict[str, Any]] = []
    before = set(threading.enumerate())

    async def counted(toolkit: Toolkit) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
        async with asyncio.timeout(PATIENCE):
            await end(toolkit.call("probe"), probe)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with ThreadPoolExecutor(1) as pool:
        toolkit = Toolkit(tools=[made(kind, probe, middlewares, pool)])
        toolkit.mode = "bypass"
        asyncio.run(counted(toolkit), debug=True)
        probe.over.set()
    gc.collect(1)  # young enough for what a call left, and the heap of all tests is large
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while probe.closed < probe.opened and time.monotonic() < deadline:
        time.sleep(0.001)
    assert probe.closed == probe.opened
    assert faults == []
    return probe, toolkit


# A call without chunks can't be left after one; a middleware makes every kind a stream of another's.
CASES = [(kind, end, False) for kind in KINDS for end in ENDS if kind in STREAMS or end is not by_leaving]
CASES += [(kind, end, True) for kind in STREAMS for end in (by_cancel, by_leaving)]


@pytest.mark.parametrize(("kind", "end", "wrapped"), CASES, ids=[f"{k}-{e.__name__}-{w}" for k, e, w in CASES])
def test_a_call_that_is_ended_from_outside_leaves_nothing(kind: str, end: Any, wrapped: bool) -> None:
    _, toolkit = ended(kind, end, [Passing(), Passing()] if wrapped else [])
    (entry,) = toolkit.log
    assert entry.state is ToolResultState.INTERRUPTED


@pytest.mark.parametrize("kind", STREAMS)
def test_an_exception_in_a_middleware_leaves_nothing_of_what_lies_inside(kind: str) -> None:
    async def to_the_end(call: ToolCall, probe: Probe) -> None:
        response = await call
        assert response.state is ToolResultState.ERROR
        assert "ValueError: broken on the way" in response.text

    probe, toolkit = ended(kind, to_the_end, [Passing(), Failing()])
    assert probe.opened == 1
    assert [entry.state for entry in toolkit.log] == [ToolResultState.ERROR]
