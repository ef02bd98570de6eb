"""The live view, the panel and the schema viewer in a real front end: what a person sees and does."""

from __future__ import annotations

import json
import re
import statistics
from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

from tests.browser.eyes import cut_off, enlarge_text

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator

    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import FrontEnd, NotebookPage

SETUP = """
%load_ext nbtoolkit
from nbtoolkit.notebook import saved
saved.AFTER = 3_600  # however slow the machine is, no card here waits for long
import asyncio, sys, time
from typing import Literal
from nbtoolkit import FunctionTool
from nbtoolkit.tool import Bash, Read, ToolChunk
from pydantic import BaseModel, Field

@tool
def train(epochs: int = 40, kind: Literal["linear", "deep"] = "linear"):
    '''Train a model.

    Args:
        epochs: How many times through the data.
    '''
    for n in range(1, epochs + 1):
        time.sleep(0.05)
        yield ToolChunk.of(f"epoch {n} of {epochs}\\n")
        yield ToolChunk(metadata={"mcp_progress": {"progress": n, "total": epochs, "message": None}})
    return f"trained a {kind} model"

class Place(BaseModel):
    street: str = Field(description="Street and number.", min_length=3)

@tool
def order(many: list[Place], size: Literal["S", "M"] = "M") -> str:
    '''Order something.

    Args:
        many: Where it goes.
    '''
    return f"ordered {size} to {many[0].street}"

@tool(group="plots")
def plot_roc() -> str:
    '''Draw a curve.'''
    return "drawn"

await toolkit.add_tool([Bash(), Read()])
"""
RUN = "r = toolkit.call_sync('train', epochs=80); print(r.state)"
STOPPED = "r = await toolkit.call('train', epochs=1_000); print(r.state)"
PANEL = "%toolkit"
SCHEMA = "%toolkit schema train\nprint('said after it')"
MANY = """
def numbered(n):
    def call(path: str, limit: int = 5) -> int:
        return n
    call.__name__ = call.__qualname__ = f"tool_{n:04}"
    call.__doc__ = f"Do the thing number {n}."
    return call
for n in range(1_000):
    toolkit.register(FunctionTool(numbered(n)), "many")
"""
LOG = "%toolkit log"
# The words below a card that waits, with a shorter wait for them, in which another line is printed.
WAITS = """
import asyncio
from nbtoolkit.notebook import saved
saved.AFTER = 2
@tool
def sell(region: str, notes: str, rows: int = 5) -> str:
    return "sold"
said = asyncio.get_running_loop().call_later(1, print, "said meanwhile")
await toolkit.call("sell", region="north", notes="all of it")
"""


def button(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=re.compile(rf"^{name}\s")).locator("visible=true")


def turn(panel: Locator, part: str) -> None:
    panel.get_by_role("radio", name=re.compile(rf"^{part}")).first.locator("..").click()


def choose(panel: Locator, start: str) -> None:
    """Click the row that begins so."""
    rows = panel.locator(".nbtk-list .widget-select select")
    texts = [" ".join(each.split()) for each in rows.locator("option").all_inner_texts()]
    rows.select_option(index=next(i for i, text in enumerate(texts) if text.startswith(start)))


def pick(panel: Locator, name: str) -> None:
    choose(panel, name)
    expect(panel.get_by_role("heading", name=name, exact=True)).to_have_count(1)


def shot(page: NotebookPage, name: str, of: Locator) -> None:
    """A picture to look at; JupyterLab's have the plain names."""
    page.screenshot(name if page.front_end == "lab" else f"{name}-{page.front_end}", of)


def is_inside(panel: Locator) -> bool:
    """Whether nothing in it is wider than it."""
    wide: bool = panel.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
    return wide


# ------------------------------------------------------------------------------------------------------ the live view
def a_running_call_shows_where_it_is_in_its_card(page: NotebookPage) -> None:
    page.run_cell(1)
    button(page.output(1), "Allow once").click()
    view = page.output(1)
    expect(view.get_by_role("progressbar")).to_have_count(1)
    expect(view.get_by_text("Allowed once · running")).to_be_visible()
    expect(view.get_by_text(re.compile(r"\d+ of 80 · .*left"))).to_be_visible()
    expect(view.get_by_role("log")).to_contain_text("epoch 12 of 80")
    # The last lines are in sight, not the first.
    box = view.locator(".nbtk-stream > .widget-html-content")
    assert box.evaluate("node => node.scrollTop === 0 && node.scrollHeight > node.clientHeight")
    shot(page, "live", page.cell(1))
    page.wait_done(1)
    assert page.text(1).endswith("success")
    expect(view.get_by_role("progressbar")).to_have_count(0)


def stop_ends_the_call_and_the_cell_goes_on(page: NotebookPage) -> None:
    page.run_cell(2)
    button(page.output(2), "Allow once").click()
    expect(page.output(2).get_by_role("log")).to_contain_text("epoch 3 of")
    button(page.output(2), "Stop").click()
    page.wait_done(2)
    assert page.text(2).endswith("interrupted")


def the_saved_file_holds_records_alone(page: NotebookPage) -> None:
    page.save()
    path: Path = page.server.root / page.path
    held = nbformat.read(path, as_version=4)
    for index in (1, 2):
        record, printed = held.cells[index].outputs
        assert sorted(record.data) == ["text/html", "text/plain"]
        assert printed.name == "stdout"


# ---------------------------------------------------------------------------------------------------------- the panel
def the_panel_lists_tools_and_a_filter_narrows_them(page: NotebookPage) -> Locator:
    page.run_cell(3)
    page.wait_idle()
    panel = page.output(3).locator(".nbtk-panel")
    expect(panel.get_by_role("heading", name="Toolkit")).to_be_visible()
    # The table that the file keeps isn't seen beside it.
    expect(page.output(3).locator(".jp-RenderedHTML").first).to_be_hidden()
    rows = panel.locator(".nbtk-list .widget-select select option")
    expect(rows.filter(has_text="train")).to_have_text(re.compile(r"train\s+asks"))
    filter_box = panel.get_by_role("textbox", name=re.compile("^Filter tools"))
    filter_box.fill("plots")
    expect(rows).to_have_count(2)
    filter_box.fill("")
    expect(rows.filter(has_text="Bash")).to_have_count(1)
    pick(panel, "train")
    expect(panel).to_contain_text("How many times through the data.")
    shot(page, "panel", panel)
    return panel


def a_group_is_turned_on(panel: Locator) -> None:
    choose(panel, "plots, off (1)")
    button(panel, "Turn on").click()
    rows = panel.locator(".nbtk-list .widget-select select option")
    expect(rows.filter(has_text=re.compile(r"plots,\son\s\(1\)"))).to_have_count(1)


def a_tool_is_tried_in_the_panel(page: NotebookPage, panel: Locator) -> None:
    pick(panel, "train")
    button(panel, "Try it …").click()
    panel.get_by_label("epochs").fill("30")
    heights = [panel.get_by_label(name).evaluate("node => node.offsetHeight") for name in ("epochs", "kind")]
    assert heights[0] == heights[1], "a list to pick from is as high as a line to write in"
    button(panel, "Run it").click()
    expect(panel.get_by_role("log")).to_contain_text("epoch 2 of 30")
    shot(page, "panel-try", panel)
    expect(panel).to_contain_text("trained a linear model", timeout=15_000)
    button(panel, "Try it …").click()


def a_nested_form_says_what_is_wrong_beside_the_field(page: NotebookPage, panel: Locator) -> None:
    pick(panel, "order")
    button(panel, "Try it …").click()
    # By keyboard alone: what was added has the cursor.
    button(panel, "Add one").press("Enter")
    street = panel.get_by_label("street")
    expect(street).to_be_focused()
    page.page.keyboard.type("x")
    button(panel, "Run it").press("Enter")
    expect(panel.get_by_role("alert").locator("visible=true")).to_have_text(
        re.compile(r"^many\[0\]\.street: got \"x\"")
    )
    expect(panel.get_by_role("heading", name="many[0] object")).to_have_count(1)
    below = panel.get_by_role("alert").locator("visible=true").bounding_box()
    box = street.bounding_box()
    assert below is not None
    assert box is not None
    assert 0 <= below["y"] - (box["y"] + box["height"]) < 60
    shot(page, "panel-form", panel)
    expect(street).to_be_focused()
    page.page.keyboard.press("End")
    page.page.keyboard.type("yz 1")
    button(panel, "Run it").press("Enter")
    expect(panel).to_contain_text("ordered M to xyz 1")
    button(panel, "Try it …").click()


def a_second_panel_is_the_same_one(page: NotebookPage, panel: Locator) -> None:
    page.run_cell(5)
    page.wait_idle()
    other = page.output(5).locator(".nbtk-panel")
    choose(other, "order")
    expect(panel.get_by_role("heading", name="order", exact=True)).to_have_count(1)
    page.cell(3)


def a_call_that_waits_is_answered_in_the_panel(page: NotebookPage, panel: Locator) -> None:
    page.page.evaluate("i => { nbt.run(i) }", 1)
    expect(button(page.output(1), "Allow once")).to_have_count(1)
    expect(panel.get_by_role("radio", name="Waiting 1")).to_have_count(1)
    turn(panel, "Waiting")
    button(panel, "Deny").click()
    page.wait_done(1)
    assert page.text(1).endswith("denied")
    expect(panel).to_contain_text("No call waits for an answer.")


def rules_and_log_follow(page: NotebookPage, panel: Locator) -> None:
    turn(panel, "Rules")
    panel.get_by_role("textbox", name=re.compile("^New rule")).fill("Bash(git status:*)")
    button(panel, "Add").click()
    expect(panel.get_by_role("row", name=re.compile(r"Bash\(git status:\*\) allow"))).to_have_count(1)
    turn(panel, "Log")
    expect(panel.get_by_role("row", name=re.compile("train .*denied you"))).to_have_count(1)
    shot(page, "panel-log", panel)
    panel.get_by_role("combobox", name="Mode").select_option("explore")
    turn(panel, "Tools")
    expect(panel.locator("option").filter(has_text="train")).to_have_text(re.compile("denied"))
    panel.get_by_role("combobox", name="Mode").select_option("default")


def it_fits_narrow_and_wide_light_and_dark(page: NotebookPage, panel: Locator) -> None:
    pick(panel, "train")
    page.theme("dark")
    shot(page, "panel-dark", panel)
    page.theme("light")
    page.page.set_viewport_size({"width": 1600, "height": 900})
    assert is_inside(panel)
    if page.front_end == "lab":
        page.command("application:toggle-left-area")
    page.page.set_viewport_size({"width": 560, "height": 900})
    for part in ("Tools", "Servers", "Rules", "Log"):
        turn(panel, part)
        assert is_inside(panel), part
    shot(page, "panel-narrow", panel)
    turn(panel, "Tools")
    enlarge_text(page, 2)
    assert cut_off(page, ".nbtk-panel") == []
    assert is_inside(panel)
    enlarge_text(page, 1)
    page.page.set_viewport_size({"width": 1200, "height": 900})
    turn(panel, "Tools")


def a_screen_reader_is_told_what_each_thing_is(panel: Locator) -> None:
    names = [each.get_attribute("placeholder") or "" for each in panel.get_by_role("textbox").all()]
    assert names
    expect(panel.get_by_role("radio", checked=True)).to_have_count(1)
    expect(panel.get_by_role("listbox", name="Tools")).to_have_count(1)
    expect(panel.get_by_role("button", name="Turn off train")).to_have_count(1)
    unnamed = panel.evaluate(
        "node => [...node.querySelectorAll('input,select,textarea')].filter(each => !each.labels?.length).length"
    )
    assert unnamed == 0


def test_a_person_watches_calls_and_works_in_the_panel(open_notebook: OpenNotebook, front_end: FrontEnd) -> None:
    page = open_notebook([SETUP, RUN, STOPPED, PANEL, SCHEMA, PANEL])
    page.run_cell(0)
    page.wait_idle()
    a_running_call_shows_where_it_is_in_its_card(page)
    stop_ends_the_call_and_the_cell_goes_on(page)
    the_saved_file_holds_records_alone(page)
    panel = the_panel_lists_tools_and_a_filter_narrows_them(page)
    a_group_is_turned_on(panel)
    a_tool_is_tried_in_the_panel(page, panel)
    a_nested_form_says_what_is_wrong_beside_the_field(page, panel)
    a_second_panel_is_the_same_one(page, panel)
    a_call_that_waits_is_answered_in_the_panel(page, panel)
    rules_and_log_follow(page, panel)
    it_fits_narrow_and_wide_light_and_dark(page, panel)
    a_screen_reader_is_told_what_each_thing_is(panel)
    the_schema_is_shown_as_each_provider_gets_it(page)
    assert page.errors == []
    a_reopened_notebook_shows_the_plain_tables_and_nothing_red(page)


def a_reopened_notebook_shows_the_plain_tables_and_nothing_red(page: NotebookPage) -> None:
    waits = page.add_cell(WAITS, 5)
    page.run_cell(waits)
    button(page.output(waits), "Allow once").wait_for()
    page.wait(f"nbt.outputs({waits}).length === 3")
    untold = page.output(waits).get_by_text("not answered yet")
    expect(untold).to_be_hidden()
    page.save()
    page.server.shutdown_kernels()
    page.reload()
    for index, words in ((3, "order"), (4, "How many times through the data.")):
        plain = page.output(index).locator("table").first
        expect(plain).to_be_visible()
        expect(plain).to_contain_text(words)
        left = page.output(index).get_by_text("model not found")
        expect(left).to_have_count(1)
        expect(left).to_be_hidden()
    expect(page.output(4).get_by_text("said after it")).to_be_visible()
    expect(page.output(waits)).to_contain_text(re.compile("sell with region north.*not answered yet"))
    expect(page.output(waits).get_by_text("model not found")).to_be_hidden()
    page.screenshot(f"reopened-{page.front_end}")


def the_schema_is_shown_as_each_provider_gets_it(page: NotebookPage) -> None:
    page.run_cell(4)
    page.wait_idle()
    view = page.output(4).locator(".nbtk-schema")
    expect(view.get_by_role("row", name=re.compile("^epochs default 40 integer"))).to_have_count(1)
    turn(view, "Gemini")
    expect(view.locator("pre")).to_contain_text("parametersJsonSchema")
    turn(view, "OpenAI")
    expect(view).to_contain_text("Strict mode")
    shot(page, "schema", view)


# --------------------------------------------------------------------------------------------------------------- speed
TYPED = """async () => {
  const input = [...document.querySelectorAll('.nbtk-find .widget-text input')].pop();
  const list = [...document.querySelectorAll('.nbtk-list .widget-select select')].pop();
  const taken = [];
  let text = '';
  for (const key of 'tool_0123') {
    text += key;
    const changed = new Promise(done => {
      const seen = new MutationObserver(() => { seen.disconnect(); done(performance.now()); });
      seen.observe(list, {childList: true, subtree: true, characterData: true});
      setTimeout(() => done(null), 2000);
    });
    const begun = performance.now();
    input.value = text;
    input.dispatchEvent(new Event('input', {bubbles: true}));
    input.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
    const end = await changed;
    if (end !== null) taken.push(end - begun);
  }
  return taken;
}"""


def test_a_thousand_tools_are_shown_and_filtered(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, MANY, PANEL])
    for index in (0, 1):
        page.run_cell(index)
        page.wait_idle()
    shown = page.page.evaluate(
        """async () => {
          const begun = performance.now();
          nbt.run(2);
          while (!nbt.cell(2).outputArea.node.querySelector('.nbtk-panel option')) await new Promise(requestAnimationFrame);
          return performance.now() - begun;
        }"""
    )
    page.wait_idle()
    typed = page.page.evaluate(TYPED)
    rows = page.output(2).locator(".nbtk-list .widget-select select option")
    expect(rows).to_have_text([re.compile(r"many,\soff\s\(1\)"), re.compile("tool_0123")])
    print(json.dumps({"first panel, ms": round(shown), "per key, ms": round(statistics.median(typed))}))
