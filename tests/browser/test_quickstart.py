"""The quickstart, run cell by cell and clicked through, on what a person sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage

QUICKSTART = Path(__file__).parent.parent.parent / "notebooks" / "01_quickstart.ipynb"
CELLS = {cell.id: index for index, cell in enumerate(nbformat.read(QUICKSTART, as_version=4).cells)}


def button(page: NotebookPage, cell: str, name: str) -> Locator:
    """The button that a person reads as `name`; its accessible name goes on with the call."""
    return page.output(CELLS[cell]).get_by_role("button", name=re.compile(rf"^{name}\s")).locator("visible=true")


def step(page: NotebookPage, cell: str, *clicks: str | tuple[str, str]) -> str:
    """Run a cell and answer what it asks: a button's name, or ("Deny", reason). Gives the text under it at the end."""
    index = CELLS[cell]
    page.run_cell(index)
    for click in clicks:
        name, reason = click if isinstance(click, tuple) else (click, "")
        target = button(page, cell, name)
        expect(target).to_have_count(1)
        expect(target).to_be_visible()
        assert page.prompt(index) == "[*]:"
        if reason:
            page.output(index).get_by_label(re.compile("^Reason for denying")).locator("visible=true").fill(reason)
        pressed = target.element_handle()
        target.click()
        if not name.endswith("…"):  # which only opens the drawer
            # This very button goes; the next call's may stand in its place at once.
            pressed.wait_for_element_state("hidden")
    page.wait_done(index)
    return page.text(index)


def test_the_quickstart_does_what_it_says(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook(QUICKSTART)
    step(page, "load")
    step(page, "functions")
    assert "save_species" in step(page, "list")
    assert "Where the file goes" in step(page, "schema")
    assert "Gentoo" in step(page, "reads")
    assert "body_mass_g" in step(page, "variable")
    wrong = step(page, "wrong")
    assert "species" in wrong
    assert "decimals" in wrong
    step(page, "answers")
    page.run_cell(CELLS["asks"])
    expect(button(page, "asks", "Allow once")).to_be_visible()
    # The README's picture; `make pictures` takes it into docs/.
    page.screenshot(f"approval-card-{front_end}", page.cell(CELLS["asks"]))
    button(page, "asks", "Allow once").click()
    page.wait_done(CELLS["asks"])
    assert "124 rows written to penguins/gentoo.csv" in page.text(CELLS["asks"])
    denied = step(page, "awaits", ("Deny", "not published yet"))
    assert "not published yet" in denied
    assert "denied" in denied
    loop = step(page, "loop", "Allow once", ("Deny", "one is enough"))
    assert loop.index("Adelie success") < loop.index("Gentoo denied")
    always = step(page, "always", r"Always allow …", "Allow always")
    assert always.count("124 rows written") == 2
    assert "save_species" in step(page, "rules")
    step(page, "attach")
    assert "git_status" in step(page, "tools")
    assert "Untracked files" in step(page, "status", "Allow once")
    assert "staged" in step(page, "stage", "Allow once")
    step(page, "detach")
    log = step(page, "log")
    assert log.startswith("11 calls")
    step(page, "tidy")
    page.save()
    assert page.errors == []
