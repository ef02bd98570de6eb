"""The approval in real front ends: what a person sees, does, and finds afterwards."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING

import nbformat
import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator

    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage
    from tests.environments import KernelEnvironment

SETUP = """
%load_ext nbtoolkit
import asyncio, threading

@tool
def save(name: str, rows: int = 3) -> str:
    '''Write some rows into a file of that name.

    Args:
        name: The file.
        rows: How many.
    '''
    return f"{rows} rows saved as {name}"
"""
MAGIC = "%toolkit call save name=magic"
SYNC = "print('before'); print(toolkit.call_sync('save', name='sync').text, 'after')"
ASYNC = "r = await toolkit.call('save', name='async'); print(r.text, 'after')"
GATHER = """
both = await asyncio.gather(toolkit_call('one'), toolkit_call('two'))
print([r.text for r in both])
"""
GATHER_SETUP = "async def toolkit_call(name):\n    return await toolkit.call('save', name=name)"
THREAD = """
found = []
worker = threading.Thread(target=lambda: found.append(toolkit.call_sync('save', name='thread')))
worker.start()
"""
NEXT = "print('the next cell')"


def button(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=re.compile(rf"^{name}\s")).locator("visible=true")


def begin(page: NotebookPage, index: int, name: str = "Allow once") -> Locator:
    """Run a cell and return the button that appears under it."""
    page.run_cell(index)
    found = button(page.output(index), name)
    expect(found).to_have_count(1)
    return found


def saved_records(page: NotebookPage, index: int) -> list[str]:
    """The text/plain of the records below a cell, as the saved notebook holds them."""
    found = []
    for output in page.outputs(index):
        text = output.get("data", {}).get("text/plain", "")
        text = "".join(text) if isinstance(text, list) else text
        if text.startswith("["):
            found.append(text)
    return found


# ---------------------------------------------------------------------------------------------- the matrix
# A page takes seconds to load, so each kernel's scenarios share one; each is a function of its own below.
SCENARIOS = [SETUP + GATHER_SETUP, MAGIC, SYNC, ASYNC, NEXT, GATHER, THREAD, "worker.join(20); print(found[0].text)"]


def clicks_go_on_and_queued_cells_follow_in_order(page: NotebookPage) -> None:
    page.page.evaluate("() => { for (const i of [1, 2, 3, 4]) nbt.run(i); }")
    for index in (1, 2, 3):
        found = button(page.output(index), "Allow once")
        expect(found).to_have_count(1)
        assert page.waiting() == list(range(index, 5))
        assert page.text(4) == ""
        found.click()
        page.wait_done(index)
    page.wait_idle()
    assert "3 rows saved as magic" in page.text(1)
    assert page.text(2).startswith("before")
    assert page.text(2).endswith("3 rows saved as sync after")
    assert page.text(3).endswith("3 rows saved as async after")
    assert page.text(4) == "the next cell"


def two_that_wait_at_once_are_answered_in_any_order(page: NotebookPage) -> None:
    page.run_cell(5)
    allow = button(page.output(5), "Allow once")
    expect(allow).to_have_count(2)
    allow.nth(1).click()
    expect(allow).to_have_count(1)
    assert page.prompt(5) == "[*]:"
    allow.click()
    page.wait_idle()
    assert page.text(5).endswith("['3 rows saved as one', '3 rows saved as two']")


def a_worker_thread_asks_when_its_cell_has_ended(page: NotebookPage) -> None:
    page.run_cell(6)
    page.wait_done(6)
    button(page.output(6), "Allow once").click()
    expect(page.output(6)).to_contain_text("3 rows saved as thread")
    page.run_cell(7)
    page.wait_idle()
    assert page.text(7) == "3 rows saved as thread"


def the_stop_button_ends_the_wait_and_leaves_a_record(page: NotebookPage) -> None:
    for index in (2, 3):
        begin(page, index)
        page.interrupt()
        page.wait_done(index)
        assert re.search("KeyboardInterrupt|CancelledError", page.text(index))
        (record,) = saved_records(page, index)
        assert "interrupted" in record.splitlines()[1]
        expect(button(page.output(index), "Allow once")).to_have_count(0)
        page.run_cell(4)
        page.wait_idle()
        assert page.text(4) == "the next cell"


def a_question_whose_output_was_cleared_comes_back_with_pending(page: NotebookPage) -> None:
    pending = page.add_cell("%toolkit pending", below=7)
    begin(page, 1)
    page.clear_output(1)
    expect(button(page.output(1), "Allow once")).to_have_count(0)
    begin(page, pending).click()
    page.wait_idle()
    assert "3 rows saved as magic" in page.text(1)


def a_question_whose_cell_was_deleted_can_still_be_answered(page: NotebookPage) -> None:
    asking = page.add_cell("%toolkit call save name=deleted", below=7)
    begin(page, asking)
    page.delete_cell(asking)
    answer = page.add_cell('%toolkit reject --reason "the cell is gone"', below=7)
    page.run_cell(answer)
    page.wait_done(answer)
    log = page.add_cell("%toolkit log", below=7)
    page.run_cell(log)
    page.wait_idle()
    assert "denied: “the cell is gone”" in page.text(log)


def a_page_that_is_reloaded_can_still_answer(page: NotebookPage) -> None:
    begin(page, 1)
    page.save()
    page.reload()
    found = button(page.output(1), "Allow once")
    expect(found).to_have_count(1, timeout=15_000)
    found.click()
    expect(found).to_have_count(0)
    log = page.add_cell("%toolkit log", below=7)
    page.run_cell(log)
    page.wait_idle()
    assert "allowed once" in page.text(log).splitlines()[-1]


def test_a_person_can_answer_whatever_happens(open_notebook: OpenNotebook, kernel_env: KernelEnvironment) -> None:
    page = open_notebook(SCENARIOS, kernel=kernel_env)
    page.run_cell(0)
    page.wait_done(0)
    clicks_go_on_and_queued_cells_follow_in_order(page)
    two_that_wait_at_once_are_answered_in_any_order(page)
    a_worker_thread_asks_when_its_cell_has_ended(page)
    the_stop_button_ends_the_wait_and_leaves_a_record(page)
    a_question_whose_output_was_cleared_comes_back_with_pending(page)
    a_question_whose_cell_was_deleted_can_still_be_answered(page)
    assert page.errors == []
    a_page_that_is_reloaded_can_still_answer(page)


def test_the_same_holds_in_notebook_7(open_notebook: OpenNotebook, kernel_env: KernelEnvironment) -> None:
    page = open_notebook(SCENARIOS, kernel=kernel_env, front_end="notebook")
    page.run_cell(0)
    page.wait_done(0)
    clicks_go_on_and_queued_cells_follow_in_order(page)
    two_that_wait_at_once_are_answered_in_any_order(page)
    the_stop_button_ends_the_wait_and_leaves_a_record(page)
    assert page.errors == []
    a_page_that_is_reloaded_can_still_answer(page)


# ------------------------------------------------------------------------------------ odd moments
def test_a_waiting_cell_that_is_run_again_shows_its_question_again(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, MAGIC])
    page.run_cell(0)
    begin(page, 1)
    begin(page, 1).click()
    # The second run asks for itself.
    found = button(page.output(1), "Allow once")
    expect(found).to_have_count(1)
    found.click()
    page.wait_idle()
    assert "3 rows saved as magic" in page.text(1)


def test_a_double_click_counts_once(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, "%toolkit call save name=first\n%toolkit call save name=second", "%toolkit log"])
    page.run_cell(0)
    begin(page, 1).dblclick()
    expect(page.output(1)).to_contain_text("3 rows saved as first")
    second = button(page.output(1), "Allow once")
    expect(second).to_have_count(1)
    assert page.prompt(1) == "[*]:"
    second.click()
    page.run_cell(2)
    page.wait_idle()
    assert page.text(2).startswith("2 calls")


def test_after_a_restart_old_buttons_do_nothing_and_raise_nothing(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, MAGIC, NEXT])
    page.run_cell(0)
    begin(page, 1)
    page.restart()
    left = button(page.output(1), "Allow once")
    if left.count():
        left.click()
    page.run_cell(2)
    page.wait_idle()
    assert page.text(2) == "the next cell"
    assert "Error" not in page.text(1)


def test_enter_on_a_fresh_card_does_nothing(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, MAGIC])
    page.run_cell(0)
    found = begin(page, 1)
    page.page.keyboard.press("Enter")
    assert page.still_waiting(1, seconds=0.5)
    found.click()
    page.wait_idle()


# ------------------------------------------------------------------------------------------------ what is left
def test_the_record_is_in_the_saved_file_and_reads_without_a_kernel(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    page = open_notebook([SETUP, MAGIC])
    page.run_cell(0)
    begin(page, 1).click()
    page.wait_idle()
    page.save()
    path: Path = page.server.root / page.path
    held = nbformat.read(path, as_version=4)
    data = [output.data for output in held.cells[1].outputs if output.get("data")]
    assert [sorted(each) for each in data] == [["text/html", "text/plain"]]
    assert data[0]["text/plain"] == '[save] name="magic", rows=3\nok, allowed once\n    3 rows saved as magic'
    again = open_notebook(path, start=False, outputs=True)
    expect(again.output(1)).to_contain_text("3 rows saved as magic")
    assert "model not found" not in again.text(1)

    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_notebook_node(held)  # type: ignore[no-untyped-call]
    assert "3 rows saved as magic" in body
    assert "Allow once" not in body


HOSTILE = """
from nbtoolkit.tool import FunctionTool
bad = "<script>window.hacked = 1</script></details><img src=x onerror='window.hacked = 2'>\\u202Etxt.exe\\x1b[31m"

@tool
def hostile(text: str) -> str:
    return text + "</pre></details><script>window.hacked = 3</script>" + "x" * 1_000_000
"""


def test_hostile_text_shows_inert_and_bounded(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook([SETUP + HOSTILE, "r = toolkit.call_sync('hostile', text=bad)", "%toolkit log"])
    page.run_cell(0)
    found = begin(page, 1)
    assert "U+202E" in page.text(1)
    assert "U+001B" in page.text(1)
    page.screenshot(f"hostile-card-{front_end}", page.cell(1))
    found.click()
    page.run_cell(2)
    page.wait_idle()
    assert page.page.evaluate("window.hacked === undefined")
    assert page.output(1).locator("script, img").count() == 0
    (record,) = saved_records(page, 1)
    assert len(record) < 50_000
    assert "U+202E" in record
    assert page.output(2).locator("script, img").count() == 0


# ------------------------------------------------------------------------------------------------- looks
def test_the_card_fits_the_page_in_light_and_dark_narrow_and_wide(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, MAGIC])
    page.run_cell(0)
    page.command("application:toggle-left-area")
    found = begin(page, 1)
    for shade in ("light", "dark"):
        page.theme(shade)
        for width in (400, 1200, 1600):
            page.page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(f"card-{shade}-{width}", page.output(1))
            scroll, client = page.output(1).evaluate("node => [node.scrollWidth, node.clientWidth]")
            assert scroll <= client
    found.click()
    page.wait_idle()
    page.screenshot("record-dark", page.output(1))


# ------------------------------------------------------------------------------------------------ measured
def test_a_click_is_quick_and_waiting_costs_little(open_notebook: OpenNotebook, kernel_env: KernelEnvironment) -> None:
    """Measured and printed, not judged: the figures belong to the machine and its load."""
    clock = "; import time; print('after', time.time() * 1000)"
    sync, in_async = "toolkit.call_sync('save', name='sync')", "await toolkit.call('save', name='async')"
    page = open_notebook([SETUP, f"r = {sync}{clock}", f"r = {in_async}{clock}"], kernel=kernel_env)
    page.run_cell(0)
    page.wait_done(0)
    taken: dict[int, list[float]] = {1: [], 2: []}
    seen: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(5):
        for index, times in taken.items():
            found = begin(page, index)
            seen[index].append(page.click_until_text(found, index, "after"))
            page.wait_done(index)
            clicked = page.page.evaluate("performance.timeOrigin + nbt.seen.click")
            times.append(float(page.text(index).split()[-1]) - clicked)
    shares = {}
    for index in taken:
        found = begin(page, index)
        shares[index] = page.cpu(2)
        found.click()
        page.wait_done(index)
    for index, name in ((1, "sync"), (2, "async")):
        print(
            f"{kernel_env.name} {name}: click to next statement, median of 5: {statistics.median(taken[index]):.0f} ms; "
            f"to its output on the page: {statistics.median(seen[index]):.0f} ms; "
            f"CPU while waiting: {shares[index]:.1f} %"
        )
        assert len(taken[index]) == 5
