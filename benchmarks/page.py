"""How long a person waits for the approval card, in a real JupyterLab: from the call to the card, from the click to the cell.

``python -m benchmarks.page [--records 0 50 200 500] [--rounds 9] [--front-end lab|notebook] [--keep]``. Kernel and page are on one
machine and one clock. A card counts as on screen in the frame after its first button has a size; a click as through when
the statement after the call runs, and, beside it, when what that statement prints stands on the page.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from benchmarks import results
from benchmarks.picture import draw
from tests.browser.lab import NotebookPage
from tests.browser.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

SETUP = """
%load_ext nbtoolkit
import asyncio, time
@tool
def save(name: str, rows: int = 3) -> str:
    '''Write some rows.'''
    return f"{rows} rows saved as {name}"

@tool(is_read_only=True)
def look(name: str) -> str:
    '''Look at a file.'''
    return f"{name}: 3 rows"
"""
CALL = """
began = time.time() * 1000
r = toolkit.call_sync('save', name='out.csv')
print('after', began, time.time() * 1000)
"""
TRAY = """
began = time.time() * 1000
r = await asyncio.gather(*(toolkit.call('save', name=f'{i}.csv') for i in range(5)))
print('after', began, time.time() * 1000)
"""
RECORDS = "for i in range(20): toolkit.call_sync('look', name=f'{i}.csv')"
PER_CELL = 20
# Milliseconds: what the page's first loads of the widgets' code may take.
LIMIT = 60_000
GET_READY = 3_000

WATCH = """i => {
  const node = nbt.cell(i).outputArea.node, seen = window.nbt.seen = {card: null, click: null, text: null};
  const now = () => performance.timeOrigin + performance.now();
  const look = () => {
    const button = [...node.querySelectorAll('button')].find(b => /^(Allow once|Allow these)/.test(b.textContent));
    if (button && button.getBoundingClientRect().width > 0) requestAnimationFrame(() => { seen.card = now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  addEventListener('click', () => { seen.click ??= now(); }, {capture: true, once: true});
  new MutationObserver((_, self) => {
    if (seen.click && node.textContent.includes('after ')) { seen.text = now(); self.disconnect(); }
  }).observe(node, {childList: true, subtree: true, characterData: true});
}"""


def once(page: NotebookPage, index: int) -> tuple[float, float, float]:
    """Run the cell, click, and give the milliseconds to the card, to the next statement, and to its output."""
    page.clear_output(index)
    page.page.evaluate(WATCH, index)
    page.run_cell(index)
    page.wait("nbt.seen.card !== null", timeout=LIMIT)
    button = page.output(index).locator("button", has_text="Allow").locator("visible=true").first
    button.click()
    page.wait("nbt.seen.text !== null", timeout=LIMIT)
    page.wait_idle()
    card, click, text = page.page.evaluate("[nbt.seen.card, nbt.seen.click, nbt.seen.text]")
    line = next(each for each in page.text(index).splitlines() if each.startswith("after "))
    began, after = map(float, line.split()[1:])
    return card - began, after - click, text - click


def measure(page: NotebookPage, index: int, rounds: int, what: str) -> list[list[float]]:
    """Print the first card's figures and the medians of the next ones; gives these, by what is measured."""
    first = once(page, index)
    rest = [once(page, index) for _ in range(rounds)]
    medians = [statistics.median(each) for each in zip(*rest, strict=True)]
    for label, figures in (("first", first), (f"median of {rounds}", medians)):
        card, through, shown = figures
        line = f"{what}, {label}: card {card:.0f} ms, click to statement {through:.0f} ms, to its output {shown:.0f} ms"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return [list(each) for each in zip(*rest, strict=True)]


def row(case: str, title: str, target: str, rounds: list[float]) -> dict[str, Any]:
    """The figures of a case, as they are kept."""
    low, _, high = statistics.quantiles(rounds, n=4)
    median = statistics.median(rounds)
    value = {"median": round(median, 2), "spread": round((high - low) / median, 4)}
    return {
        f"page/{case}": {
            "figure": "page", "title": title, "target": target, "unit": "ms", "rounds": len(rounds),
            "values": {"nbtoolkit": value}, "missing": {},
        }
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, for each number of earlier records."""
    parser = argparse.ArgumentParser(prog="benchmarks.page")
    parser.add_argument("--records", type=int, nargs="*", default=[0, 50, 200, 500])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--front-end", choices=["lab", "notebook"], default="lab")
    parser.add_argument("--keep", action="store_true", help="keep the medians, and tell of them in the READMEs")
    options = parser.parse_args(arguments)
    rows: dict[str, Any] = {}
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server = Server(Path(folder))
        stack.callback(server.stop)
        server.start()
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        stack.callback(browser.close)
        for records in options.records:
            cells = [SETUP, *[RECORDS] * (records // PER_CELL), CALL, TRAY]
            context = browser.new_context(viewport={"width": 1200, "height": 900})
            page = NotebookPage(context.new_page(), server, options.front_end)
            page.open(server.add_notebook(f"page-{records}.ipynb", cells))
            for index in range(len(cells) - 2):
                page.run_cell(index)
                page.wait_done(index)
            page.wait_idle()
            # A person takes longer to get to the first call than the extension to get ready for it.
            page.page.wait_for_timeout(GET_READY)
            card, through, _ = measure(page, len(cells) - 2, options.rounds, f"{records} earlier records, one call")
            measure(page, len(cells) - 1, options.rounds, f"{records} earlier records, five at once")
            rows |= row(f"card-{records}", f"a card, by the records in the notebook: {records:,}", "≤ 150 ms", card)
            rows |= row(
                f"click-{records}", f"a click, by the records in the notebook: {records:,}", "≤ 100 ms", through
            )
            context.close()
        server.shutdown_kernels()
    if options.keep:
        kept = results.keep(rows, {}, [])
        results.write(kept)
        draw(kept)


if __name__ == "__main__":
    main()
