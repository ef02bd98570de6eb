"""A cell that waits for a person: the click arrives, the queue keeps its order, a stop ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kernel.frontend import FrontEnd, KernelProcess

WAYS = {
    "sync": "print(stub.ask_sync('a'))",
    "async": "print(await stub.ask('a'))",
    "asyncio.run": "print(asyncio.run(stub.ask('a')))",
    "sync-in-async": "await asyncio.sleep(0)\nprint(stub.ask_sync('a'))",
    "sync-in-task": "await asyncio.gather(asyncio.to_thread(int), stub.in_a_task(stub.ask_sync, 'a'))",
    "drive-in-drive": "print(scheduling.drive(stub.nested(stub.ask_sync, 'a')))",
    "worker": "print(scheduling.run_in_worker(lambda: stub.ask_sync('a')))",
    "own-loop": "print(scheduling.run_sync(stub.ask('a')))",
    "foreign-loop": "print(scheduling.run_in_worker(lambda: stub.foreign(stub.ask('a'))))",
    "to-thread": "print(await asyncio.to_thread(stub.ask_sync, 'a'))",
}
each_way = pytest.mark.parametrize("code", WAYS.values(), ids=WAYS.keys())


@each_way
def test_a_click_lets_the_cell_go_on_and_the_queued_cells_follow_in_order(any_page: FrontEnd, code: str) -> None:
    page = any_page
    page.run("order = []").ok()
    waiting = page.run(f"order.append('asking')\n{code}\norder.append('asked')")
    later = [page.run(f"order.append({n})") for n in range(3)]
    page.sees("Allow a", waiting)
    assert not any(cell.ran for cell in later)
    page.click("Allow a", waiting)
    waiting.ok()
    assert "a: allowed" in waiting.text
    last = page.run("print(order)").ok()
    assert last.text == "['asking', 'asked', 0, 1, 2]\n"
    assert all(cell.status == "ok" for cell in later)


@each_way
def test_the_stop_button_ends_the_wait_and_aborts_what_is_queued(any_page: FrontEnd, code: str) -> None:
    page = any_page
    waiting = page.run(code)
    queued = page.run("print('not now')")
    page.sees("Allow a", waiting)
    page.kernel.interrupt()
    waiting.wait(5)
    assert waiting.error.split(":")[0] in {"KeyboardInterrupt", "CancelledError"}
    queued.wait()
    assert queued.status == "aborted"
    assert (
        page.run("print('healthy', scheduling.pending(), asyncio.get_event_loop() is not None)").ok().text
        == "healthy [] True\n"
    )
    again = page.run(code)
    page.click("Allow a", again)
    assert "a: allowed" in again.ok().text


def test_a_sync_wait_ends_with_keyboard_interrupt(page: FrontEnd) -> None:
    waiting = page.run(WAYS["sync"])
    page.sees("Allow a", waiting)
    page.kernel.interrupt()
    assert waiting.wait(5).error.startswith("KeyboardInterrupt")


def test_run_all_twice_keeps_every_cell_and_its_order(any_page: FrontEnd) -> None:
    page = any_page
    page.run("order = []").ok()
    runs = []
    for _ in range(2):
        runs += [page.run("order.append('first')", "c1"), page.run(f"{WAYS['sync']}\norder.append('asked')", "c2")]
        runs += [page.run("order.append('last')", "c3")]
    # the cell's first output is gone from the page: the question shows where the cell will run again
    page.click("Allow a")
    runs[1].ok()
    page.until(lambda: runs[4].ran, "the second run")
    page.click("Allow a", runs[4])
    for cell in runs:
        cell.ok()
    assert page.run("print(order)").ok().text == "['first', 'asked', 'last', 'first', 'asked', 'last']\n"


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=["first-first", "last-first"])
@pytest.mark.parametrize(
    "code",
    [
        "print(await asyncio.gather(stub.ask('a'), stub.ask('b')))",
        "print(scheduling.drive(stub.both()))",
        "print(scheduling.run_in_worker(lambda: stub.threads('a', 'b')))",
    ],
    ids=["gather", "gather-in-drive", "threads"],
)
def test_two_questions_at_once_are_answered_in_any_order(any_page: FrontEnd, code: str, order: tuple[str, str]) -> None:
    page = any_page
    cell = page.run(code)
    page.sees("Allow a", cell)
    page.sees("Deny b", cell)
    for name in order:
        page.click(f"{'Allow' if name == 'a' else 'Deny'} {name}", cell)
        page.loses(f"Allow {name}", cell)
    assert cell.ok().text.endswith("['a: allowed', 'b: denied']\n")


def test_a_stop_ends_two_questions_at_once(any_page: FrontEnd) -> None:
    cell = any_page.run("await asyncio.gather(stub.ask('a'), stub.ask('b'))")
    any_page.sees("Allow a", cell)
    any_page.sees("Allow b", cell)
    any_page.kernel.interrupt()
    assert cell.wait(5).error.startswith("CancelledError")
    assert any_page.run("print(scheduling.pending())").ok().text == "[]\n"


def test_a_for_loop_of_calls_asks_one_after_the_other(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run("for n in range(3):\n    print(stub.ask_sync(f'n{n}'))")
    queued = page.run("print('after')")
    for n in range(3):
        page.click(f"Allow n{n}", cell)
    assert "n2: allowed" in cell.ok().text
    assert queued.ok().text == "after\n"


def test_a_double_click_counts_once(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run("print(stub.ask_sync('a'))\nprint(stub.ask_sync('a'))")
    [button] = page.sees("Allow a", cell)
    page.press(button)
    page.press(button)
    page.until(lambda: len(cell.views) == 2, "the second question")
    page.until(lambda: page.buttons("Deny a", cell), "the second question's button")
    page.click("Deny a", cell)
    assert [line for line in cell.ok().text.splitlines() if line.startswith("a:")] == ["a: allowed", "a: denied"]


def test_contradicting_clicks_count_as_the_first(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run(WAYS["sync"])
    [allow], [deny] = page.sees("Allow a", cell), page.sees("Deny a", cell)
    page.press(deny)
    page.press(allow)
    assert "a: denied" in cell.ok().text


def test_an_error_after_the_answer_aborts_the_queued_cells_as_ever(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run("stub.ask_sync('a')\n1 / 0")
    queued = [page.run("print('not now')") for _ in range(3)]
    page.click("Allow a", cell)
    assert cell.wait().error.startswith("ZeroDivisionError")
    assert [q.wait().status for q in queued] == ["aborted"] * 3
    assert page.run("print('healthy')").ok().text == "healthy\n"


def test_an_answer_can_come_from_another_thread(page: FrontEnd) -> None:
    code = "threading.Thread(target=stub.resolve_soon).start()\nprint(stub.ask_sync('a'))"
    assert "a: allowed" in page.run(code).ok().text


def test_a_task_that_outlives_its_cell_can_be_answered(any_page: FrontEnd) -> None:
    page = any_page
    cell = page.run("task = asyncio.ensure_future(stub.ask('a'))\nawait asyncio.sleep(0)").ok()
    page.click("Allow a", cell)
    assert page.run("print(await task)").ok().text == "a: allowed\n"


def test_a_thread_that_outlives_its_cell_can_be_answered(any_page: FrontEnd) -> None:
    page = any_page
    code = "got = []\nt = threading.Thread(target=lambda: got.append(stub.ask_sync('a')))\nt.start()\ntime.sleep(0.2)"
    cell = page.run(code).ok()
    page.click("Allow a", cell)
    assert page.run("t.join(10)\nprint(got)").ok().text == "['a: allowed']\n"


def test_output_before_the_question_stands_before_it(any_page: FrontEnd) -> None:
    cell = any_page.run("print('before', end='')\nprint(stub.ask_sync('a'))")
    any_page.click("Allow a", cell)
    assert cell.ok().text == "before[a?]\na: allowed\n"


@pytest.mark.parametrize("code", [WAYS["sync"], WAYS["async"]], ids=["sync", "async"])
def test_capture_does_not_swallow_the_question(any_page: FrontEnd, code: str) -> None:
    page = any_page
    cell = page.run(f"from IPython.utils.capture import capture_output\nwith capture_output() as got:\n    {code}")
    page.click("Allow a", cell)
    cell.ok()
    assert page.run("print(got.stdout)").ok().text == "a: allowed\n\n"


def test_a_time_limit_denies_with_a_person_present(page: FrontEnd) -> None:
    cell = page.run("print(stub.ask_sync('a', timeout=0.5))")
    page.sees("Allow a", cell)
    assert "a: denied, time is up" in cell.ok().text


def test_a_slider_moved_during_the_wait_is_not_throttled(any_page: FrontEnd) -> None:
    page = any_page
    setup = "import ipywidgets\ns = ipywidgets.IntSlider()\nseen = []\ns.observe(lambda c: seen.append(c.new), 'value')\nprint(s.model_id)"
    slider = page.run(setup).ok().text.strip()
    cell = page.run(WAYS["sync"])
    page.sees("Allow a", cell)
    for value in (1, 2, 3):
        page.change(slider, {"value": value})
        page.until(lambda: not page._in_flight, f"the kernel to be idle with the change to {value}")
    page.click("Allow a", cell)
    cell.ok()
    assert cell.states[-1] == "idle"
    assert page.run("print(seen)").ok().text == "[1, 2, 3]\n"


def test_the_cell_reads_as_busy_after_a_widget_message_during_the_wait(page: FrontEnd) -> None:
    cell = page.run(WAYS["sync"])
    [deny] = page.sees("Deny a", cell)
    message = page.press(deny)
    cell.ok()
    statuses = [
        (m["parent_header"].get("msg_id"), m["content"]["execution_state"])
        for m in page.log
        if m["msg_type"] == "status"
    ]
    at = statuses.index((message, "idle"))
    assert statuses[at - 1] == (message, "busy")
    assert statuses[at + 1] == (cell.msg_id, "busy")


def test_widgets_of_others_keep_their_turn_while_a_tool_runs_and_nobody_is_asked(
    open_page: Callable[..., FrontEnd],
) -> None:
    page = open_page(subshells=False)
    setup = "import ipywidgets\ns = ipywidgets.IntSlider()\nseen = []\ns.observe(lambda c: seen.append(c.new), 'value')\nprint(s.model_id)"
    slider = page.run(setup).ok().text.strip()
    cell = page.run("scheduling.drive(stub.tool(0.5))\nprint(seen)")
    page.until(lambda: cell.ran, "the tool")
    page.change(slider, {"value": 7})
    assert cell.ok().text == "[]\n"
    assert page.run("print(seen)").ok().text == "[7]\n"


@pytest.mark.parametrize(
    "code", ["print(scheduling.drive(stub.stoppable()))", "print(await stub.stoppable())"], ids=["sync", "async"]
)
def test_a_button_of_a_running_tool_works(any_page: FrontEnd, code: str) -> None:
    cell = any_page.run(code)
    queued = any_page.run("print('after')")
    any_page.click("Stop", cell)
    assert "stopped" in cell.ok().text
    assert queued.ok().text == "after\n"


def test_a_worker_below_a_plain_join_is_denied_where_no_click_can_arrive(
    open_page: Callable[..., FrontEnd], kernel: KernelProcess
) -> None:
    page = open_page()
    attend = 15 if page.subshells else 1
    code = f"t = threading.Thread(target=lambda: got.append(stub.ask_sync('a', attend={attend})))\nt.start()\nt.join()"
    cell = page.run(f"got = []\n{code}\nprint(got)")
    if page.subshells:
        page.until(
            lambda: page._subshell, "the subshell"
        )  # what is sent before goes to the main shell, which is blocked
        page.click("Allow a", cell)
        assert "a: allowed" in cell.ok().text
    else:
        assert "a: denied, no front end that shows widgets has answered within 1 s" in cell.ok().text


def test_the_user_s_own_nest_asyncio_does_no_harm(
    open_page: Callable[..., FrontEnd], fresh_kernel: KernelProcess
) -> None:
    page = open_page()
    page.run("import nest_asyncio2\nnest_asyncio2.apply()").ok()
    for code in (WAYS["sync"], WAYS["async"], WAYS["asyncio.run"], WAYS["worker"]):
        cell = page.run(code)
        queued = page.run("print('after')")
        page.click("Allow a", cell)
        assert "a: allowed" in cell.ok().text
        assert queued.ok().text == "after\n"
