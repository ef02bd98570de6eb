"""A tool that isn't safe to run twice at once runs once at a time, whoever calls it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest

from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.state import AgentState
from nbtoolkit.tool import turns
from nbtoolkit.tool.base import ToolMiddlewareBase
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run in asyncio's debug mode and fail when a task or a turn is left behind."""

    async def counted() -> T:
        result = await asyncio.wait_for(coroutine, 20)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    result = asyncio.run(counted(), debug=True)
    gc.collect()
    assert not turns._queues
    return result


class Desk:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.count = 0
        self.may_go = asyncio.Event()

    async def work(self) -> int:
        """Work at the desk."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.may_go.wait()
            self.count += 1
            return self.count
        finally:
            self.inside -= 1

    async def stream(self) -> AsyncIterator[str]:
        """Work at the desk and tell of it."""
        yield f"{await self.work()}"


async def settled() -> None:
    """Let all that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


def toolkit_of(func: Any, **options: Any) -> Toolkit:
    options = {"is_concurrency_safe": False, "is_read_only": True, "name": "work", **options}
    return Toolkit(tools=[FunctionTool(func, **options)])


class Passing(ToolMiddlewareBase):
    async def on_tool_call(self, tool: Any, input_kwargs: dict[str, Any], next_handler: Any) -> Any:
        async for chunk in next_handler(**input_kwargs):
            yield chunk


@pytest.mark.parametrize("way", ["work", "stream"])
@pytest.mark.parametrize("middlewares", [[], [Passing()]])
@pytest.mark.parametrize(("safe", "most"), [(False, 1), (True, 3)])
def test_the_calls_of_several_agents_wait_for_each_other(
    way: str, middlewares: list[Any], safe: bool, most: int
) -> None:
    async def agents() -> None:
        desk = Desk()
        toolkit = toolkit_of(getattr(desk, way), is_concurrency_safe=safe, middlewares=middlewares)
        calls = [
            asyncio.create_task(toolkit.call_tool(ToolCallBlock(name="work"), AgentState()).complete())
            for _ in range(3)
        ]
        await settled()
        desk.may_go.set()
        assert [(await call).text for call in calls] == ["1", "2", "3"]
        assert desk.most == most

    run(agents())


def test_a_call_that_is_stopped_while_it_waits_lets_the_others_go_on() -> None:
    async def agents() -> None:
        desk = Desk()
        toolkit = toolkit_of(desk.work)
        calls = [toolkit.call("work") for _ in range(3)]
        tasks = [asyncio.create_task(call.complete()) for call in calls]
        await settled()
        calls[1].cancel()
        await settled()
        assert (await tasks[1]).state is ToolResultState.INTERRUPTED
        tasks[0].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await tasks[0]
        desk.may_go.set()
        assert (await tasks[2]).text == "1"

    run(agents())


def test_a_tool_that_calls_itself_holds_its_turn_already() -> None:
    async def count(n: int) -> int:
        """Count down."""
        return 0 if n == 0 else 1 + (await toolkit.call("work", n=n - 1)).value

    toolkit = toolkit_of(count)
    assert run(_text(toolkit.call("work", n=3))) == "3"


async def _text(call: Any) -> str:
    text: str = (await call).text
    return text


def test_a_call_in_another_thread_waits() -> None:
    entered, may_go = threading.Event(), threading.Event()
    inside: list[int] = []
    most: list[int] = []

    def work() -> str:
        """Work."""
        inside.append(1)
        most.append(len(inside))
        entered.set()
        may_go.wait(10)
        inside.pop()
        return "done"

    toolkit = toolkit_of(work)
    answers: list[str] = []
    first = threading.Thread(target=lambda: answers.append(toolkit.call_sync("work").text))
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=lambda: answers.append(toolkit.call_sync("work").text))
    second.start()

    def waiting() -> int:
        return max((len(queue) for queue in turns._queues.values()), default=0)

    while waiting() < 2 and second.is_alive():
        second.join(0.001)
    may_go.set()
    for thread in (first, second):
        thread.join(10)
    assert answers == ["done", "done"]
    assert most == [1, 1]
    assert not turns._queues


def test_a_call_that_would_wait_for_what_it_holds_up_itself_is_refused() -> None:
    """A synchronous cell runs a loop of its own, and the loop behind it stands still meanwhile."""

    async def cell() -> None:
        desk = Desk()
        toolkit = toolkit_of(desk.work)
        behind = asyncio.create_task(toolkit.call("work").complete())
        await settled()
        here = asyncio.get_running_loop()
        inner = asyncio.new_event_loop()
        task = asyncio.current_task()
        assert task is not None
        asyncio._set_running_loop(None)
        asyncio.tasks._leave_task(here, task)
        try:
            response = inner.run_until_complete(toolkit.call("work").complete())
        finally:
            inner.close()
            asyncio._set_running_loop(here)
            asyncio.tasks._enter_task(here, task)
        assert response.state is ToolResultState.ERROR
        assert "is run by another call, which can't go on before this one ends" in response.text
        desk.may_go.set()
        assert (await behind).text == "1"

    run(cell())
