"""An approval outlives its output: a page loaded again, a cell run again, cleared or deleted, a kernel started again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kernel.frontend import FrontEnd, KernelProcess

SYNC = "print(stub.ask_sync('a'))"
ASYNC = "print(await stub.ask('a'))"
each_way = pytest.mark.parametrize("code", [SYNC, ASYNC], ids=["sync", "async"])


@each_way
def test_a_page_loaded_during_the_wait_connects_and_its_buttons_work(any_page: FrontEnd, code: str) -> None:
    page = any_page
    cell = page.run(f"got = []\n{code.replace('print', 'got.append')}")
    page.sees("Allow a", cell)
    page = page.reload()
    [allow] = [m for m, state in page.models.items() if state.get("description") == "Allow a"]
    page.press(allow)  # a saved page shows the view again
    page.until(lambda: allow not in page.models, "the answer to be taken")
    assert page.run("print(got)").ok().text == "['a: allowed']\n"
    page.close()


@each_way
def test_a_page_loaded_before_the_question_can_answer_it(any_page: FrontEnd, code: str) -> None:
    page = any_page
    asking = code.replace("print", "got.append")
    before = "time.sleep(0.5)" if code is SYNC else "await asyncio.sleep(0.5)"
    cell = page.run(f"got = []\n{before}\n{asking}")
    page.until(lambda: cell.ran, "the cell")
    page = page.reload()
    queued = page.run("print(got)")
    page.click("Allow a", queued)
    assert queued.ok().text.endswith("['a: allowed']\n")
    page.close()


@each_way
def test_an_unsaved_page_loaded_again_shows_the_question_below_the_next_cell(any_page: FrontEnd, code: str) -> None:
    page = any_page
    cell = page.run(f"got = []\n{code.replace('print', 'got.append')}")
    page.sees("Allow a", cell)
    page = page.reload()
    queued = [page.run("print(got)"), page.run("print('last')")]
    page.click("Allow a", queued[0])
    assert queued[0].ok().text.endswith("['a: allowed']\n")
    assert queued[1].ok().text == "last\n"
    page.close()


@each_way
def test_running_the_waiting_cell_again_shows_the_question_there(any_page: FrontEnd, code: str) -> None:
    page = any_page
    first = page.run(code, "c1")
    page.sees("Allow a", first)
    second = page.run("print('again')", "c1")
    page.click("Allow a", second)
    first.ok()
    assert second.ok().text == "[a?]\nagain\n"


@each_way
def test_a_console_line_answers_the_question_of_a_deleted_cell(
    any_page: FrontEnd, open_page: Callable[..., FrontEnd], code: str
) -> None:
    page, console = any_page, open_page(widgets=False)
    undo = page.run("undo = scheduling.overtake(stub.line)").ok()
    cell = page.run(code)
    queued = page.run("print('after')")
    page.sees("Allow a", cell)
    asked = console.send("shell", "is_complete_request", {"code": "%toolkit approve"})
    console.until(lambda: asked in console.replies, "the console's check of its line")
    line = console.run("%toolkit approve").ok()
    page.sync(console)
    assert line.text.endswith("allowed True\n")
    assert line.states == ["busy", "idle"]
    assert "a: allowed" in cell.ok().text
    assert queued.ok().text == "after\n"
    assert undo.status == "ok"
    page.run("undo()").ok()


@each_way
def test_pending_shows_the_question_again_and_reject_answers_it(any_page: FrontEnd, code: str) -> None:
    page = any_page
    page.run("undo = scheduling.overtake(stub.line)").ok()
    cell = page.run(code)
    page.sees("Allow a", cell)
    cell.disposed = True  # deleted
    queued = page.run("print('after')")
    line = page.run("%toolkit pending").ok()
    assert "1 pending" in line.text
    assert not queued.ran
    page.sees("Allow a", line)
    count = cell.of("execute_input")[0]["execution_count"]
    assert line.reply is not None
    assert line.reply["execution_count"] == line.of("execute_input")[0]["execution_count"] == count
    page.run("%toolkit reject").ok()
    assert "a: denied" in cell.ok().text
    assert queued.ok().of("execute_input")[0]["execution_count"] == count + 1
    page.run("undo()").ok()


def test_a_line_queued_before_the_question_passes_the_waiting_sync_cell(any_page: FrontEnd) -> None:
    page = any_page
    page.run("undo = scheduling.overtake(stub.line)").ok()
    cell = page.run(f"time.sleep(0.5)\n{SYNC}")
    queued = page.run("print('before')")
    line = page.run("%toolkit approve")
    assert line.ok().text == "allowed True\n"
    assert "a: allowed" in cell.ok().text
    assert queued.ok().text == "before\n"
    page.run("undo()").ok()


def test_a_line_keeps_its_turn_when_nothing_waits(page: FrontEnd) -> None:
    page.run(
        "undo = scheduling.overtake(stub.line)\nget_ipython().register_magic_function(lambda line: print('ran', line), 'line', 'toolkit')"
    ).ok()
    slow = page.run("scheduling.drive(stub.tool(0.3))")
    line = page.run("%toolkit approve")
    assert line.ok().text == "ran approve\n"
    assert slow.done
    page.run("undo()").ok()


def test_a_handler_that_fails_leaves_the_line_its_turn(page: FrontEnd) -> None:
    page.run("undo = scheduling.overtake(lambda code, parent: 1 / 0)").ok()
    cell = page.run(SYNC)
    queued = page.run("print('after')")
    page.click("Allow a", cell)
    cell.ok()
    assert queued.ok().text == "after\n"
    page.run("undo()").ok()


def test_old_buttons_do_nothing_after_a_restart(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run(SYNC)
    [button] = page.sees("Allow a", cell)
    page.kernel.restart()
    page = type(page)(page.kernel, subshells=page.subshells).connect()
    page.press(button)
    waiting = page.run(SYNC)
    page.sees("Deny a", waiting)
    page.press(button)
    page.click("Deny a", waiting)
    assert "a: denied" in waiting.ok().text
    page.close()


def test_two_pages_on_one_kernel_see_one_answer(
    page: FrontEnd, open_page: Callable[..., FrontEnd], kernel: KernelProcess
) -> None:
    other = open_page()
    cell = page.run(SYNC)
    [button] = page.sees("Allow a", cell)
    other.until(lambda: button in other.models, "the widgets on the other page")
    other.press(button)
    assert "a: allowed" in cell.ok().text
    other.until(lambda: button not in other.models, "the widgets to go away")
