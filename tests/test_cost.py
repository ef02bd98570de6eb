"""What the benchmarks time, counted: the same work for many as for few, and nothing done before it is needed."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.sample import RESULT, TEXT, chunks, copies, load, load_async
from nbtoolkit.message import TextBlock, ToolCallBlock
from nbtoolkit.tool import FunctionTool, Toolkit
from nbtoolkit.tool.run import ToolCall
from nbtoolkit.tool.toolkit import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable

# Python functions that a call may run, from look-up to log; the floor runs sixteen.
MOST_FRAMES = 60


def frames(action: Callable[[], Any]) -> int:
    """How many Python functions run."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def frames_of_a_call(toolkit: Toolkit, name: str, text: str = TEXT) -> int:
    async def counted() -> int:
        call = toolkit.call_tool(ToolCallBlock(name=name, input=text))
        coroutine = call.complete()
        return frames(lambda: _drive(coroutine))

    # Once to build what the first call builds.
    first = asyncio.run(_await(toolkit.call_tool(ToolCallBlock(name=name, input=text))))
    assert json.loads(first.text) == RESULT
    return asyncio.run(counted())


def _drive(coroutine: Any) -> None:
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        return


async def _await(call: Any) -> Any:
    return await call


def toolkit_of(*funcs: Any) -> Toolkit:
    return Toolkit(tools=[FunctionTool(func, is_read_only=True) for func in funcs])


def test_a_call_passes_through_few_functions() -> None:
    assert 10 < frames_of_a_call(toolkit_of(load), "load") <= MOST_FRAMES
    assert 10 < frames_of_a_call(toolkit_of(load_async), "load_async") <= MOST_FRAMES


def test_a_call_costs_the_same_among_a_thousand_tools() -> None:
    alone = frames_of_a_call(toolkit_of(*copies(load, 1)), "load_0")
    among = frames_of_a_call(toolkit_of(*copies(load, 1000)), "load_0")
    # The date is written out once a millisecond, which may fall into either.
    assert abs(among - alone) <= 3


def test_a_chunk_costs_the_same_late_as_early() -> None:
    toolkit = toolkit_of(chunks)

    async def stream(count: int) -> None:
        async for _ in toolkit.call_tool(ToolCallBlock(name="chunks", input=json.dumps({"count": count}))):
            pass

    def counted(count: int) -> int:
        return frames(lambda: asyncio.run(stream(count)))

    counted(1)
    few, more, many = counted(100), counted(200), counted(2100)
    assert (many - more) / 2000 <= (more - few) / 100 * 1.1


def test_a_long_stream_keeps_its_texts_and_none_of_its_blocks() -> None:
    toolkit = toolkit_of(chunks)

    async def held() -> int:
        call = toolkit.call_tool(ToolCallBlock(name="chunks", input='{"count": 1000}'))
        count, most = 0, 0
        async for _ in call:
            count += 1
            if count == 900:
                gc.collect()
                most = sum(isinstance(each, TextBlock) for each in gc.get_objects())
        return most

    before = sum(isinstance(each, TextBlock) for each in gc.get_objects())
    assert asyncio.run(held()) - before < 20


def test_of_many_calls_at_once_those_that_ended_are_gone() -> None:
    """The garbage collector would walk over all of them again and again."""
    held: list[int] = []

    def look(number: int) -> None:
        if number == 900:
            held.append(sum(type(each) is ToolCall for each in gc.get_objects()))

    toolkit = toolkit_of(look)
    calls = [ToolCallBlock(name="look", input=json.dumps({"number": number})) for number in range(1000)]
    assert len(asyncio.run(toolkit.call_tools(calls))) == 1000
    assert held[0] <= 2 * AT_ONCE


def test_a_result_that_nobody_looks_at_is_a_text_and_no_block() -> None:
    toolkit = toolkit_of(load)

    async def together() -> list[Any]:
        return await toolkit.call_tools([ToolCallBlock(name="load", input=TEXT) for _ in range(200)])

    before = sum(type(each) is TextBlock for each in gc.get_objects())
    responses = asyncio.run(together())
    assert all(json.loads(response.text) == RESULT for response in responses)
    assert sum(type(each) is TextBlock for each in gc.get_objects()) - before < 20
    assert all(len(response.content) == 1 for response in responses)


def test_listing_again_reads_no_schema_again() -> None:
    toolkit = toolkit_of(*copies(load, 50))
    toolkit.get_tool_schemas_sync()

    async def listed() -> int:
        coroutine = toolkit.get_tool_schemas()
        return frames(lambda: _drive(coroutine))

    # Fewer than one for each tool.
    assert asyncio.run(listed()) < 50


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


def test_registering_a_function_needs_neither_a_loop_nor_a_schema_builder() -> None:
    loaded = loaded_by("from nbtoolkit.tool import FunctionTool, Toolkit\ndef add(a: int): 'Add.'\nFunctionTool(add)")
    assert "nbtoolkit.tool.toolkit" in loaded
    late = {"nbtoolkit.schema.core", "nbtoolkit.tool.limits", "nbtoolkit.redact"}
    # pydantic 2.12 itself loads asyncio.
    loaded -= loaded_by("from pydantic import BaseModel")
    assert not loaded & {"asyncio", "logging", "mcp", "IPython", "jsonschema", *late}


def test_importing_the_tools_builds_no_model() -> None:
    code = (
        "from nbtoolkit.tool import FunctionTool, Toolkit\n"
        "from nbtoolkit.message import TextBlock, ToolCallBlock\n"
        "from nbtoolkit.permission.rule import PermissionContext\n"
        "assert not any(m.__pydantic_complete__ for m in (TextBlock, ToolCallBlock, PermissionContext))"
    )
    assert "pydantic" in loaded_by(code)
