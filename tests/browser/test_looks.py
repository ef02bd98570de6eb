"""Every kind of card at once, in both front ends: looked at in all themes and sizes, and answered without a mouse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

from tests.browser.eyes import cut_off, enlarge_text, faint, too_wide
from tests.browser.test_approval import button, focused, names, places

if TYPE_CHECKING:
    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage

SETUP = r"""
%load_ext nbtoolkit
from nbtoolkit.notebook import saved
saved.AFTER = 3_600  # however slow the machine is, no card here waits for long
import asyncio, threading
from pathlib import Path
import pandas as pd
from nbtoolkit import hooks
from nbtoolkit.tool import Bash, ToolChunk, Write
await toolkit.add_tool([Bash(), Write()])
months = {f"month {n}": 1.5 for n in range(12)}
sales = pd.DataFrame({"region": ["north", "south"] * 3, "amount": range(6), **months})
_ = Path("plan.py").write_text("def plan(rows):\n    # the old way\n    return [row for row in rows if row]\n\nplan([1, 2])\n")

@tool
def score(frame: pd.DataFrame, notes: str, threshold: float = 0.8) -> str:
    '''Score customers.'''
    return "scored"

go = threading.Event()

@tool
def train(epochs: int = 30):
    '''Train a model.'''
    for n in range(1, epochs + 1):
        if n == 12:
            go.wait(300)
        yield ToolChunk.of(f"epoch {n} of {epochs}\n")
        yield ToolChunk(metadata={"mcp_progress": {"progress": n, "total": epochs, "message": None}})
    return "trained"

threads = []

def start(act):
    thread = threading.Thread(target=act, daemon=True)
    threads.append(thread)
    thread.start()

def ask(name, **arguments):
    waiting = len(hooks.default_approver.pending())
    start(lambda: toolkit.call_sync(name, **arguments))
    while len(hooks.default_approver.pending()) == waiting:
        go.wait(0.02)

async def together():
    await asyncio.gather(
        toolkit.call("score", frame="sales", notes="a"),
        toolkit.call("Bash", command="cat ~/.aws/credentials"),
        toolkit.call("train", epochs=12),
        toolkit.call("score", frame="sales", notes="one\ntwo\n" * 20),
    )

%toolkit allow Bash(git add:*)
"""
# What asks in threads of its own waits beside the others, below the cell that started it.
ALL = r"""
ask("Bash", command="git add -A && git commit -m 'x && y' | tail -n 1 > out.txt")
ask("Bash", command="cat ~/.ssh/id_rsa")
ask("Write", file_path="plan.py", content="def plan(rows):\n    return list(filter(None, rows))\n\nplan([1, 2])\n")
ask("score", frame="sales", notes="\u202Etxt.exe <script>window.hacked = 1</script>\x1b[31m\u200b" + "long " * 200)
start(lambda: asyncio.run(together()))
"""
END = "go.set()\nfor thread in threads: thread.join(20)\nprint([each.state.value for each in toolkit.log])"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
CARDS = ".nbtk.nbtk-card"


def wear(page: NotebookPage, theme: str) -> None:
    page.command("apputils:change-theme", theme=theme)
    page.wait("theme => document.body.dataset.jpThemeName === theme", theme)
    page.page.evaluate("document.fonts.ready.then(() => null)")


def is_looked_at(page: NotebookPage, name: str, where: str) -> None:
    """Light, dark and narrow."""
    for theme, width in ((THEMES[1], 1200), (THEMES[0], 1200), (THEMES[0], 400)):
        wear(page, theme)
        resize(page, width)
        assert faint(page, where) == []
        assert too_wide(page, where) == []
        page.screenshot(f"{name}-{page.front_end}-{theme.split()[1].lower()}-{width}", page.output(1))
    resize(page, 1200)


def every_kind_is_readable_in_every_theme(page: NotebookPage) -> None:
    cards = page.output(1).locator(".nbtk-card:not(.nbtk-tray)")
    expect(cards).to_have_count(4)
    expect(button(page.output(1), "Allow 1, 3 and 4")).to_have_count(1)
    button(cards.nth(0), "Always allow …").click()
    cards.nth(0).locator("summary").first.click()
    button(cards.nth(2), "Answer instead").click()
    expect(cards.nth(2).get_by_label("Result of")).to_be_visible()
    cards.nth(3).get_by_text("First rows").click()
    # The one of the tray that runs shows how far it is in the room of its buttons.
    tray = page.output(1).locator(".nbtk-tray")
    before = places(page, 1)
    button(tray, r"Allow once\s3:").click()
    expect(tray.get_by_role("progressbar")).to_be_visible()
    expect(tray.get_by_text("11 of 12", exact=True)).to_be_visible()
    after = places(page, 1)
    kept = before.keys() & after.keys()
    # Its own three buttons are gone, and two others tell of one call less.
    assert len(kept) == len(before) - 5
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    for theme in THEMES:
        wear(page, theme)
        assert faint(page, CARDS) == [], theme
        page.screenshot(f"cards-{page.front_end}-{theme.split(' ', 1)[1].replace(' ', '-').lower()}", page.output(1))
    page.page.emulate_media(forced_colors="active")
    page.screenshot(f"cards-{page.front_end}-forced-colours", page.output(1))
    assert faint(page, CARDS) == []
    page.page.emulate_media(forced_colors="none")
    wear(page, THEMES[0])


def resize(page: NotebookPage, width: int) -> None:
    """Make the page so wide, and wait until the front end has laid itself out anew."""
    page.page.set_viewport_size({"width": width, "height": 1200})
    page.wait(
        "async width => { await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);"
        " const at = nbt.cell(1).outputArea.node.getBoundingClientRect();"
        " return at.right <= width && at.width > width / 2 }",
        width,
    )


def first_rows_of_a_wide_variable_stay_a_table(page: NotebookPage) -> None:
    rows = page.output(1).locator(".nbtk-wide tr").filter(visible=True)
    expect(rows).to_have_count(6)
    heights = rows.evaluate_all(
        "rows => rows.map(row => new Set([...row.cells].map(c => c.getBoundingClientRect().top)).size)"
    )
    assert heights == [1] * 6


def it_fits_narrow_and_wide_and_with_text_of_twice_the_size(page: NotebookPage) -> None:
    page.page.evaluate("() => { window.jupyterapp.shell.collapseLeft?.() }")
    for width in (400, 1600):
        resize(page, width)
        assert too_wide(page, CARDS) == []
        assert cut_off(page, CARDS) == []
        first_rows_of_a_wide_variable_stay_a_table(page)
        page.screenshot(f"cards-{page.front_end}-{width}", page.output(1))
    resize(page, 1200)
    enlarge_text(page, 2)
    assert too_wide(page, CARDS) == []
    assert cut_off(page, CARDS) == []
    page.screenshot(f"cards-{page.front_end}-large", page.output(1))
    enlarge_text(page, 1)


def a_screen_reader_finds_its_way(page: NotebookPage) -> None:
    assert len(set(names(page, 1, "button"))) == len(names(page, 1, "button"))
    headings = names(page, 1, "heading")
    assert headings[1] == "Bash runs cat ~/.ssh/id_rsa"
    assert headings[-4].startswith("1. score with frame sales (DataFrame 6 × 14)")
    heard = page.output(1).get_by_role("alert").all_inner_texts()
    assert len(heard) == 4
    assert " ".join(heard[1].split()) == "A call waits for your answer: Bash runs cat ~/.ssh/id_rsa"
    unnamed = page.output(1).evaluate(
        "node => [...node.querySelectorAll('input, select, textarea')].filter(each => !each.labels?.length).length"
    )
    assert unnamed == 0


def all_are_answered_without_a_mouse(page: NotebookPage) -> None:
    keys = page.page.keyboard
    cards = page.output(1).locator(".nbtk-card:not(.nbtk-tray)")
    # With a reason, from the field that a Tab leads to.
    button(cards.nth(0), "Deny").focus()
    keys.press("Tab")
    assert focused(page).startswith("Reason for denying Bash runs git add")
    keys.type("not now")
    keys.press("Enter")
    expect(page.output(1)).to_contain_text("denied: “not now”")
    button(cards.nth(0), "Deny").focus()
    keys.press("Enter")
    expect(cards).to_have_count(2)
    button(cards.nth(0), "Allow once").focus()
    keys.press("Space")
    expect(cards).to_have_count(1)
    button(cards.nth(0), "Edit").focus()
    keys.press("Enter")
    cards.nth(0).get_by_label("notes").fill("plain")
    keys.press("Tab")
    button(cards.nth(0), "Check and ask again").focus()
    keys.press("Enter")
    expect(cards.nth(0).get_by_role("row", name=re.compile("notes plain"))).to_be_visible()
    button(cards.nth(0), "Allow once").focus()
    keys.press("Enter")
    expect(cards).to_have_count(0)
    button(page.output(1), "Deny 1 and 4").focus()
    keys.press("Enter")
    button(page.output(1), r"Deny\s2:").focus()
    keys.press("Enter")
    # Nobody is about to answer its neighbours any more: the running one has all the room it wants.
    expect(page.output(1).get_by_role("log")).to_contain_text("epoch 11 of 12")
    is_looked_at(page, "live", CARDS)
    page.run_cell(2)
    page.wait_done(2)
    # The file that would be replaced was never read.
    assert sorted(re.findall(r"\w+", page.text(2))) == ["denied"] * 5 + ["error", "success", "success"]


def what_is_saved_are_records_alone(page: NotebookPage) -> None:
    expect(page.output(1).locator(".nbtk")).to_have_count(0)
    is_looked_at(page, "records", ".jp-OutputArea-output")
    page.save()
    held = nbformat.read(page.server.root / page.path, as_version=4)
    kinds = [sorted(output.data) for output in held.cells[1].outputs]
    assert kinds == [["text/html", "text/plain"]] * 8
    assert page.page.evaluate("window.hacked === undefined")


def test_every_kind_of_card_is_looked_at_and_answered_by_keyboard(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook([SETUP, ALL, END])
    page.page.set_viewport_size({"width": 1200, "height": 1200})
    page.run_cell(0)
    page.wait_done(0)
    page.run_cell(1)
    every_kind_is_readable_in_every_theme(page)
    it_fits_narrow_and_wide_and_with_text_of_twice_the_size(page)
    a_screen_reader_finds_its_way(page)
    all_are_answered_without_a_mouse(page)
    what_is_saved_are_records_alone(page)
    assert page.errors == []
