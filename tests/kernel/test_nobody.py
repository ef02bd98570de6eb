"""Nobody waits for somebody who can't answer: each front end gets its decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kernel.frontend import FrontEnd

# An input box that a person answers; and one that nobody answers, after as long without widgets.
SYNC = "print(stub.ask_sync('a', attend=1, typing=30))"
ASYNC = "print(await stub.ask('a', attend=1, typing=30))"
each_way = pytest.mark.parametrize("code", [SYNC, ASYNC], ids=["sync", "async"])
# A person with widgets.
CLICKED = "print(stub.ask_sync('a'))"


@each_way
def test_a_front_end_that_allows_no_interaction_is_believed_at_once(
    open_page: Callable[..., FrontEnd], code: str
) -> None:
    page = open_page(allow_stdin=False)
    cell = page.run(code).ok()
    assert cell.text == "a: denied, the front end allows no interaction (allow_stdin is false)\n"
    assert not page.models


def test_a_beacon_that_was_seen_is_no_person_for_a_page_that_allows_no_interaction(
    open_page: Callable[..., FrontEnd],
) -> None:
    page = open_page()
    cell = page.run(CLICKED)
    page.click("Allow a", cell)
    cell.ok()
    page.allow_stdin = False
    assert "allows no interaction" in page.run(CLICKED).ok().text


def test_a_beacon_that_was_seen_is_no_person_for_another_client_session(open_page: Callable[..., FrontEnd]) -> None:
    page = open_page()
    cell = page.run(CLICKED)
    page.click("Allow a", cell)
    cell.ok()
    plain = open_page(widgets=False)
    page.widgets = False
    cell = plain.run(SYNC)
    plain.until(lambda: plain.input_requests, "the input box")
    plain.answer("n")
    assert "a: denied by input" in cell.ok().text


def test_a_beacon_is_waited_for_once_in_a_client_session(page: FrontEnd) -> None:
    def links() -> int:
        return sum("DirectionalLinkModel" in str(m["content"]) for m in page.log if m["msg_type"] == "comm_open")

    first = page.run(CLICKED)
    page.until(links, "the beacon")
    page.until(lambda: not page._in_flight, "the beacon to have fired")
    page.click("Allow a", first)
    first.ok()
    lit = links()
    second = page.run(CLICKED)
    page.click("Allow a", second)
    second.ok()
    assert links() == lit


def test_a_front_end_that_had_no_widgets_is_not_waited_for_so_long_again(open_page: Callable[..., FrontEnd]) -> None:
    page = open_page(widgets=False)

    def links() -> int:
        return sum("DirectionalLinkModel" in str(m["content"]) for m in page.log if m["msg_type"] == "comm_open")

    code = "print(stub.ask_sync('a', attend=4.5, typing=0.1))"
    page.run(code).ok()
    lit = links()
    assert lit > 2
    page.run(code).ok()
    assert links() - lit <= 2


@each_way
@pytest.mark.parametrize(("line", "verdict"), [("y", "allowed"), ("", "denied")])
def test_without_widgets_the_input_box_asks(
    open_page: Callable[..., FrontEnd], code: str, line: str, verdict: str
) -> None:
    page = open_page(widgets=False)
    cell = page.run(code)
    queued = page.run("print('after')")
    page.until(lambda: page.input_requests, "the input box")
    assert page.input_requests[0]["content"]["prompt"] == "a? "
    assert page.input_requests[0]["parent_header"]["msg_id"] == cell.msg_id
    assert not queued.ran
    page.answer(line)
    assert f"a: {verdict} by input" in cell.ok().text
    assert queued.ok().text == "after\n"


@each_way
def test_an_input_box_that_nobody_answers_denies_when_its_time_is_up(
    open_page: Callable[..., FrontEnd], code: str
) -> None:
    page = open_page(widgets=False)
    cell = page.run(code.replace("typing=30", "typing=0.5"))
    page.until(lambda: page.input_requests, "the input box")
    assert "no front end that shows widgets has answered within 1 s; TimeoutError()" in cell.ok().text
    page.answer("y")  # too late, for this question and for the next
    cell = page.run(code)
    page.until(lambda: len(page.input_requests) == 2, "the second input box")
    page.answer("n")
    assert "a: denied by input" in cell.ok().text


def test_an_input_box_that_is_closed_denies(open_page: Callable[..., FrontEnd]) -> None:
    page = open_page(widgets=False)
    cell = page.run(SYNC)
    page.until(lambda: page.input_requests, "the input box")
    page.answer("\x04")
    assert "the input was closed" in cell.ok().text


@each_way
def test_the_stop_button_ends_the_input(open_page: Callable[..., FrontEnd], code: str) -> None:
    page = open_page(widgets=False)
    cell = page.run(code)
    page.until(lambda: page.input_requests, "the input box")
    page.kernel.interrupt()
    assert cell.wait().error.split(":")[0] in {"KeyboardInterrupt", "CancelledError"}
    assert page.run("print(input('name? '))", "c").of("error") == []
    page.until(lambda: len(page.input_requests) == 2, "IPython's own input box")
    page.answer("me")
    assert page.cells[-1].ok().text == "me\n"


def test_a_worker_thread_without_widgets_is_denied(open_page: Callable[..., FrontEnd]) -> None:
    page = open_page(widgets=False)
    cell = page.run("print(scheduling.run_in_worker(lambda: stub.ask_sync('a', attend=1)))").ok()
    assert "input() works in the main thread only" in cell.text


def test_a_kernel_whose_inside_is_different_is_neither_pumped_nor_filtered(open_page: Callable[..., FrontEnd]) -> None:
    page = open_page()
    page.run(
        "from nbtoolkit.notebook.scheduling import kernel as kernels\n"
        "scheduling.uninstall()\n"
        "kernels.kernel()._checked = False"
    ).ok()
    try:
        if page.subshells:  # a native way remains
            cell = page.run(CLICKED)
            page.until(lambda: page._subshell, "the subshell")
            page.click("Allow a", cell)
        else:
            cell = page.run(SYNC)
            page.until(lambda: page.input_requests, "the input box")
            page.answer("y")
        assert "a: allowed" in cell.ok().text
        assert page.run("print('after')").ok().text == "after\n"
    finally:
        page.run("kernels.kernel()._checked = None\nscheduling.install()").ok()
