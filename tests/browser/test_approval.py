"""The approval in real front ends: what a person sees, does, and finds afterwards."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator

    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage
    from tests.environments import KernelEnvironment

SETUP = """
%load_ext nbtoolkit
from nbtoolkit.notebook import saved
saved.AFTER = 3_600  # however slow the machine is, no card here waits for long
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


# ------------------------------------------------------------------------------------------------- deciding
DECIDING = """
from nbtoolkit.tool import Bash, Write
from typing import Literal
await toolkit.add_tool([Bash(), Write()])

@tool
def plan(rows: int, kinds: list[Literal["a", "b"]], tags: list[str], deep: dict[str, int] | None = None) -> str:
    '''Plan some rows.'''
    return f"planned {rows} {kinds} {tags} {deep}"

go = asyncio.Event()
async def first():
    result = await toolkit.call('save', name='four')
    go.set()
    return result

async def late():
    await go.wait()
    return await toolkit.call('save', name='late')

%toolkit allow Bash(git add:*)
"""
COMMAND = "r = await toolkit.call('Bash', command='git add -A && git commit -m \"x && y\" | tail -n 1')"
PLAN = "r = await toolkit.call('plan', rows=3, kinds=['a'], tags=['x', 'y'])"
TRAY = """
all_of_them = await asyncio.gather(
    toolkit.call('save', name='one'),
    toolkit.call('Bash', command='cat ~/.aws/credentials'),
    toolkit.call('Write', file_path='notes.txt', content='one\\ntwo\\n'),
    first(),
    late(),
)
print([each.state.value for each in all_of_them])
"""


def names(page: NotebookPage, index: int, role: str) -> list[str]:
    """The accessible names below a cell, as the browser gives them to a screen reader."""
    page.output(index)
    session = page.page.context.new_cdp_session(page.page)
    try:
        found = session.send("Runtime.evaluate", {"expression": f"nbt.cell({index}).outputArea.node"})
        asked = {"objectId": found["result"]["objectId"], "role": role}
        nodes = session.send("Accessibility.queryAXTree", asked)["nodes"]
    finally:
        session.detach()
    return [node["name"]["value"].replace("\n", " ") for node in nodes if not node["ignored"]]


def places(page: NotebookPage, index: int) -> dict[str, list[float]]:
    """Where each visible button below a cell stands, in its output."""
    found: dict[str, list[float]] = page.page.evaluate(
        """i => {
          const node = nbt.cell(i).outputArea.node, from = node.getBoundingClientRect();
          return Object.fromEntries([...node.querySelectorAll('button')]
            .filter(b => getComputedStyle(b).visibility === 'visible')
            .map(b => [b, b.getBoundingClientRect()])
            .map(([b, at]) => [b.textContent, [at.x - from.x, at.y - from.y]]));
        }""",
        index,
    )
    return found


def focused(page: NotebookPage) -> str:
    """What has the focus: a button's or field's name."""
    name: str = page.page.evaluate(
        "() => { const e = document.activeElement; return e.labels?.[0]?.textContent || e.textContent; }"
    )
    return name.split("\n", maxsplit=1)[0]


def a_command_is_read_part_by_part_and_always_is_given_by_keyboard(page: NotebookPage) -> None:
    once = begin(page, 1)
    card = page.output(1)
    expect(card.locator(".nbtk-op")).to_have_text(["", "&&", "|"])
    expect(card.locator(".nbtk-verdict")).to_contain_text(["✓ allowed", "? asks · no rule allows it", "✓ allowed"])
    card.locator("summary", has_text="Asks because no rule allows git commit").click()
    expect(card.get_by_text("To decide otherwise: allow Bash(git commit:*)")).to_be_visible()
    assert len(set(names(page, 1, "button"))) == len(names(page, 1, "button")) == 5
    assert names(page, 1, "heading") == ['Bash runs git add -A && git commit -m "x && y" | tail -n 1']
    assert names(page, 1, "combobox") == ["Mode"]
    once.focus()
    order = []
    for _ in range(6):
        order.append(focused(page))
        page.page.keyboard.press("Tab")
    reason = next(each for each in order if each.startswith("Reason for denying Bash runs"))
    assert order == ["Allow once", "Always allow …", "Deny", reason, "Edit", "Answer instead"]
    button(card, "Always allow …").focus()
    before = places(page, 1)
    page.page.keyboard.press("Enter")
    expect(card.get_by_label("Rule")).to_be_visible()
    after = places(page, 1)
    assert {name: after[name] for name in before} == before
    for _ in range(5):
        page.page.keyboard.press("Tab")
    expect(card.get_by_label("Rule")).to_be_focused()
    page.page.keyboard.press("Control+a")
    page.page.keyboard.type("Bash(git:*)")
    for _ in range(2):
        page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.wait_done(1)
    assert "allowed, and always for this kernel" in page.text(1)


def a_call_is_edited_in_a_form_that_says_what_is_wrong(page: NotebookPage) -> None:
    begin(page, 2)
    card = page.output(2)
    button(card, "Edit").click()
    rows = card.get_by_label("rows", exact=True)
    rows.fill("many")
    card.get_by_label("b", exact=True).check()
    button(card, "Remove").first.click()
    button(card, "Add one").click()
    expect(card.get_by_label(re.compile(r"^tags\[\d\]$")).last).to_be_focused()
    page.page.keyboard.type("z")
    button(card, "Check and ask again").click()
    expect(card.get_by_role("alert").filter(has_text="rows: got")).to_be_visible()
    expect(rows).to_be_focused()
    page.screenshot("card-edit-fault", card)
    rows.fill("7")
    button(card, "Check and ask again").click()
    expect(card.locator("td", has_text='["y", "z"]')).to_be_visible()
    expect(button(card, "Allow once")).to_have_count(1)
    button(card, "Answer instead").click()
    card.get_by_label("Result of").fill("no plan, but this")
    button(card, "Send as the result").click()
    page.wait_done(2)
    assert "no plan, but this" in page.text(2)
    assert "answered by you" in page.text(2)


def a_reason_is_typed_and_entered_and_a_mode_is_changed(page: NotebookPage) -> None:
    begin(page, 2)
    reason = page.output(2).get_by_label("Reason for denying plan")
    reason.focus()
    page.page.keyboard.press("Enter")
    assert page.still_waiting(2, seconds=0.3)
    page.page.keyboard.type("not today")
    page.page.keyboard.press("Enter")
    page.wait_done(2)
    assert "denied: “not today”" in page.text(2)
    begin(page, 2)
    for passed in ("bypass", "explore"):
        page.output(2).get_by_label("Mode").select_option(passed)
    assert page.still_waiting(2, seconds=0.3)
    page.screenshot("card-mode", page.output(2))
    button(page.output(2), "Use explore").click()
    page.wait_done(2)
    assert "denied by mode explore" in page.text(2)
    mode = page.add_cell("%toolkit mode default", below=4)
    page.run_cell(mode)
    page.wait_done(mode)


def several_share_a_tray_that_keeps_still(page: NotebookPage) -> None:
    page.run_cell(3)
    tray = page.output(3)
    expect(button(tray, "Allow 1, 3 and 4")).to_have_count(1)
    expect(tray.get_by_text("4 calls wait for you")).to_be_visible()
    assert len(set(names(page, 3, "button"))) == len(names(page, 3, "button"))
    before = places(page, 3)
    # The fourth one's end lets a newcomer ask.
    button(tray, "Allow once").nth(3).click()
    expect(tray.get_by_text("done, its record is below")).to_be_visible()
    expect(tray.get_by_text("One more came, below: not part of “1 and 3”.")).to_be_visible()
    now = places(page, 3)
    assert {name: now[name] for name in before if name in now} == {
        name: where for name, where in before.items() if name in now
    }
    assert len([name for name in now if name in before]) == 9
    page.screenshot("tray", tray)
    button(tray, "More …").first.click()
    expect(tray.get_by_label("Reason for denying 1: save")).to_be_focused()
    button(tray, "Allow 1 and 3").click()
    expect(button(tray, "Allow 1 and 3")).to_have_count(0)
    expect(button(tray, "Allow once")).to_have_count(2)
    button(tray, r"Deny\s2:").click()
    button(tray, r"Allow once\s5:").click()
    page.wait_done(3)
    assert page.text(3).endswith("['success', 'denied', 'success', 'success', 'success']")
    expect(tray.locator(".nbtk-card")).to_have_count(0)


def test_a_person_decides_with_all_that_a_card_offers(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP + DECIDING, COMMAND, PLAN, TRAY, NEXT])
    page.run_cell(0)
    page.wait_done(0)
    a_command_is_read_part_by_part_and_always_is_given_by_keyboard(page)
    a_call_is_edited_in_a_form_that_says_what_is_wrong(page)
    a_reason_is_typed_and_entered_and_a_mode_is_changed(page)
    several_share_a_tray_that_keeps_still(page)
    assert page.errors == []


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
