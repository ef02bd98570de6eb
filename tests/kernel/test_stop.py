"""The stop button while a tool's own synchronous code runs in an async cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernel.frontend import FrontEnd

SETUP = """
%load_ext nbtoolkit
import asyncio, time
@tool(is_read_only=True)
def slow(n: int) -> str:
    '''Sleep.'''
    print("running", n, flush=True)
    time.sleep(30)
    return "slept"
@tool(is_read_only=True)
def steps(n: int) -> str:
    '''Sleep between chunks.'''
    while True:
        print("running", n, flush=True)
        yield "step"
        time.sleep(30)
"""


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(3):\n    r = await toolkit.call('slow', n=n)",
        "await asyncio.gather(toolkit.call('slow', n=0).complete(), toolkit.call('slow', n=1).complete())",
        "task = asyncio.create_task(toolkit.call('slow', n=0).complete())\nr = await task",
        "r = await toolkit.call('steps', n=0)",
    ],
    ids=["loop", "gather", "task", "generator"],
)
def test_a_stop_ends_a_sync_tool_in_an_async_cell_and_no_other_runs(page: FrontEnd, code: str) -> None:
    page.run(SETUP).ok()
    page.run("before = len(toolkit.log)").ok()
    cell = page.run(code)
    page.until(lambda: "running 0" in cell.text, "the tool")
    page.live(0.1)  # the tool is in its sleep, not on its way there
    page.kernel.interrupt()
    assert cell.wait(10).error.split(":")[0] in {"CancelledError", "KeyboardInterrupt"}
    assert "running 1" not in cell.text
    assert page.run("print({e.state.value for e in list(toolkit.log)[before:]})").ok().text == "{'interrupted'}\n"
    assert page.run("await asyncio.sleep(0); print('healthy')").ok().text == "healthy\n"
