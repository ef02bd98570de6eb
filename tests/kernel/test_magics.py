"""The magic in a real kernel: what IPython in one process can't show, since only a kernel has a queue and replies."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.frontend import Cell, FrontEnd

TOOLS = '''%load_ext nbtoolkit
from typing import Literal
@tool
def save(text: str, how: Literal["once", "twice"] = "once") -> str:
    """Save a text."""
    return f"saved {text}"
@tool(is_read_only=True)
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b
'''


@pytest.fixture
def notebook(page: FrontEnd) -> Iterator[FrontEnd]:
    page.run(TOOLS).ok()
    yield page
    page.run("toolkit.clear(); toolkit.grants.remove(list(toolkit.grants))\n%unload_ext nbtoolkit").ok()


@pytest.mark.parametrize(
    "call", ["%toolkit call save text=a", "import asyncio\nawait asyncio.sleep(0)\n%toolkit call save text=a"]
)
def test_a_queued_approve_overtakes_the_waiting_call_and_nothing_else_does(notebook: FrontEnd, call: str) -> None:
    waiting = notebook.run(call)
    notebook.until(lambda: waiting.views, "the card")
    later = notebook.run("print(_)")
    approve = notebook.run("%toolkit approve").ok()
    assert approve.text.strip() == "Allowed: save with text a and how once"
    assert "ok, allowed once" in waiting.ok().text
    assert later.ok().text == "saved a\n"
    order = [m["parent_header"]["msg_id"] for m in notebook.log if m["msg_type"] == "execute_reply"]
    assert order.index(waiting.msg_id) < order.index(later.msg_id)


def test_a_queued_reject_gives_its_reason_and_pending_shows_the_card_again(notebook: FrontEnd) -> None:
    waiting = notebook.run("r = %toolkit call save text=a")
    notebook.until(lambda: waiting.views, "the card")
    pending = notebook.run("%toolkit pending").ok()
    assert pending.views == waiting.views
    assert "waits: save with text a" in pending.text
    assert "no waiting call has the id '99'" in notebook.run("%toolkit approve 99").ok().text
    notebook.run('%toolkit reject --reason "not now"').ok()
    assert "denied: “not now”" in waiting.ok().text


def test_a_mistake_is_an_error_output_of_one_line_that_stops_what_is_queued(notebook: FrontEnd) -> None:
    with notebook.holding():
        cell = notebook.run("%toolkit cal add")
        later = notebook.run("print('later')")
    later.wait()
    assert (
        cell.wait().error
        == "CommandError: %toolkit has no subcommand 'cal'; did you mean 'call'? %toolkit help lists them all"
    )
    assert [content["traceback"] for content in cell.of("error")] == [[cell.error]]
    assert not later.ran


def test_a_result_is_shown_once_and_is_in_underscore_and_out(notebook: FrontEnd) -> None:
    cell = notebook.run("%toolkit call add a=2").ok()
    assert len(cell.of("display_data", "execute_result")) == 1
    assert notebook.run("(_, Out[max(Out)])").ok().text == "(3, 3)\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("%toolkit sch", "schema"),
        ("%toolkit call sa", "save"),
        ("%toolkit call save how=tw", "twice"),
        ("x = 1\n%%toolkit grant sa", "save"),
        ("r = %toolkit call save te", "text="),
    ],
)
def test_tab_completes_over_the_wire(notebook: FrontEnd, code: str, expected: str) -> None:
    asked = notebook.send("shell", "complete_request", {"code": code, "cursor_pos": len(code)})
    notebook.until(lambda: asked in notebook.replies, "completions")
    reply = notebook.replies[asked]["content"]
    assert reply["matches"] == [expected]
    typed = code[reply["cursor_start"] : reply["cursor_end"]]
    assert typed
    assert expected.startswith(typed)


def test_a_magic_cells_error_points_at_its_own_line(notebook: FrontEnd) -> None:
    cell = notebook.run("%%toolkit grant save\nx = 1\n\nx / 0").wait()
    traceback = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(cell.of("error")[0]["traceback"]))
    assert cell.error == "ZeroDivisionError: division by zero"
    assert f"Cell In[{(cell.reply or {})['execution_count']}], line 4\n" in traceback
    assert "----> 4 x / 0" in traceback


LIVE = """
import asyncio, time
@tool(is_read_only=True)
def count(n: int = 1_000):
    for i in range(n):
        yield f"line {i}\\n"
        time.sleep(0.02)
@tool(is_read_only=True)
async def wait():
    for i in range(1_000):
        yield f"line {i}\\n"
        await asyncio.sleep(0.02)
"""


def shown_text(page: FrontEnd, cell: Cell) -> str:
    return "".join(str(page.models[m].get("value", "")) for m in page.on_screen(cell))


@pytest.mark.parametrize(
    "code",
    ["r = toolkit.call_sync('count')", "r = await toolkit.call('wait')", "await asyncio.sleep(0)\n%toolkit call count"],
)
def test_a_running_call_shows_its_lines_and_stop_ends_it_alone(notebook: FrontEnd, code: str) -> None:
    notebook.run(LIVE).ok()
    cell = notebook.run(f"{code}\nprint('goes on')")
    notebook.until(lambda: "line 20\n" in shown_text(notebook, cell), "lines in the view")
    (stop,) = [
        m for m in notebook.on_screen(cell) if str(notebook.models[m].get("description", "")).startswith("Stop\n")
    ]
    notebook.press(stop)
    text = cell.ok().text
    assert text.splitlines()[1] == "interrupted, allowed as read-only"
    assert "line 20" in text
    assert text.endswith("goes on\n")
    # The record took the view's place, and the view's widgets are gone.
    assert cell.views == []
    assert stop not in notebook.models


def _said(cell: Cell, word: str) -> bool:
    return word in cell.text


def test_a_stopped_cell_shows_the_persons_own_lines_alone(notebook: FrontEnd) -> None:
    notebook.run("import time\n@tool(is_read_only=True)\ndef sleepy():\n    print('here')\n    time.sleep(30)").ok()
    for code in ("r = toolkit.call_sync('sleepy')", "%toolkit call sleepy", "r = await toolkit.call('sleepy')"):
        cell = notebook.run(code)
        notebook.until(partial(_said, cell, "here"), "the tool")
        notebook.live(0.1)
        notebook.kernel.interrupt()
        cell.wait()
        (error,) = cell.of("error")
        shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
        assert "nbtoolkit" not in shown
        assert "call" in shown
        assert "line 1" in shown
