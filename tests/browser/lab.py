"""A notebook open in a real front end, JupyterLab or Notebook 7, as a test and a person see it.

Cells are numbered from 0, markdown cells counted. Nothing here sleeps: each wait is for a condition and has a limit.

    page = open_notebook(["import ipywidgets", "ipywidgets.Button(description='Go')", "1 + 1"])
    page.run_cell(0)
    page.wait_done(0)
    page.run_cell(1)
    page.output(1).get_by_role("button", name="Go").click()
    page.run_all()
    page.wait_idle()
    assert page.text(2) == "2"

What a locator can do (click, expect, aria_snapshot, bounding_box) is Playwright's; `page.page` is its Page.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Error, Locator, Page

    from tests.browser.server import Server

FrontEnd = Literal["lab", "notebook"]
SHOTS = Path(__file__).parent / "shots"
# Milliseconds. Loading Lab's 15 MB on two busy cores takes up to 20 s.
LOAD_LIMIT = 90_000
# Anything that a person would call immediate, on a busy machine.
LIMIT = 30_000
# Errors of the front ends' own, seen with an empty notebook and default settings.
NOISE = (
    # Notebook 7.6, while it loads its settings.
    "Cannot read properties of undefined (reading 'schema')",
    # Notebook 7.6, after a page was opened.
    "Command 'filebrowser:open-path' not registered.",
)

# Set up once per page load. `nbt.panel()` is the open notebook or null.
SCRIPT = """
window.nbt = {
  panel() {
    const widget = window.jupyterapp?.shell?.currentWidget;
    return widget?.content?.widgets && widget?.sessionContext ? widget : null;
  },
  kernel() { return this.panel()?.sessionContext?.session?.kernel ?? null; },
  open() {
    const panel = this.panel();
    return !!panel && panel.context.isReady && panel.content.widgets.length > 0;
  },
  connected() { return this.open() && this.kernel()?.connectionStatus === 'connected'; },
  cell(i) {
    const cell = this.panel().content.widgets[i];
    if (!cell) throw new Error(`no cell ${i}: the notebook has ${this.panel().content.widgets.length}`);
    return cell;
  },
  prompt(i) { return this.cell(i).node.querySelector('.jp-InputPrompt')?.textContent?.trim() ?? ''; },
  waiting() { return this.panel().content.widgets.flatMap((_, i) => this.prompt(i) === '[*]:' ? [i] : []); },
  outputs(i) { return this.cell(i).model.outputs?.toJSON() ?? []; },
  cells() { return this.panel().content.model.toJSON().cells; },
  run(i) {
    const run = this.runs[i] = {begun: false, done: false};
    this.panel().content.activeCellIndex = i;
    this.panel().content.deselectAll();
    window.jupyterapp.commands.execute('notebook:run-cell').finally(() => { run.done = true; });
  },
  runs: {},
};
"""


class NotebookPage:
    """One notebook in one browser page; make it with the fixture `open_notebook`."""

    def __init__(self, page: Page, server: Server, front_end: FrontEnd) -> None:
        self.page = page
        self.server = server
        self.front_end = front_end
        self.path = ""
        #: What the browser's console called an error, and exceptions that nobody caught, without the front ends' own.
        self.errors: list[str] = []
        page.set_default_timeout(LIMIT)
        page.add_init_script(SCRIPT)
        page.on("console", self._console)
        page.on("pageerror", self._page_error)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._remember(message.text)

    def _page_error(self, error: Error) -> None:
        self._remember(str(error))

    def _remember(self, error: str) -> None:
        if error not in NOISE:
            self.errors.append(error)

    # ----------------------------------------------------------------------------------------------- page and file
    def open(self, path: str, kernel: bool = True) -> None:
        """Open a notebook of the server and wait until it is drawn and, unless `kernel` is false, its kernel is idle."""
        self.path = path
        # A workspace of its own, so that Lab restores no other test's tabs; its name may hold no dots.
        workspace = Path(path).stem.replace(".", "-")
        where = f"lab/workspaces/{workspace}/tree/{path}" if self.front_end == "lab" else f"notebooks/{path}"
        self.page.goto(self.server.url(where), timeout=LOAD_LIMIT)
        self._wait_until_drawn()
        if kernel:
            self.wait("nbt.connected() && nbt.kernel().status === 'idle'", timeout=LOAD_LIMIT)

    def reload(self) -> None:
        """Reload the page and wait until the notebook is drawn and connected to its kernel, which may be busy."""
        self.page.reload(timeout=LOAD_LIMIT)
        self._wait_until_drawn()
        self.wait("nbt.connected()", timeout=LOAD_LIMIT)

    def _wait_until_drawn(self) -> None:
        self.wait("window.nbt?.open()", timeout=LOAD_LIMIT)
        # Lab's splash lies over the page until all is restored, and would take the clicks.
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0, timeout=LOAD_LIMIT)

    def save(self) -> None:
        """Save the notebook and wait until it is on the disk; once more where outputs came behind it."""
        deadline = time.monotonic() + LIMIT / 1000
        while self.page.evaluate("nbt.panel().context.save().then(() => nbt.panel().context.model.dirty)"):
            assert time.monotonic() < deadline, "outputs come without end"

    def command(self, name: str, **arguments: Any) -> None:
        """Execute a command of the front end, as its menus do, and wait until it ends."""
        self.page.evaluate(
            "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)", [name, arguments]
        )

    def wait(self, expression: str, argument: Any = None, timeout: int = LIMIT) -> None:
        """Wait until a JavaScript expression is true; `nbt` and, for a function, `argument` are at hand."""
        self.page.wait_for_function(expression, arg=argument, timeout=timeout)

    # --------------------------------------------------------------------------------------------------------- cells
    def run_cell(self, index: int) -> None:
        """Run one cell, as Ctrl-Enter does, and return when it is queued or running."""
        self.page.evaluate("i => nbt.run(i)", index)
        self.wait("i => nbt.runs[i].done || nbt.prompt(i) === '[*]:'", index)

    def run_all(self) -> None:
        """Run all cells, from the Run menu's command, and return when they are queued."""
        self.page.evaluate("() => { window.jupyterapp.commands.execute('runmenu:run-all'); }")
        # Fast cells may have ended already: the first code cell has a number, or a star.
        self.wait("nbt.panel().content.widgets.some((_, i) => /^\\[[*\\d]/.test(nbt.prompt(i)))")

    def wait_done(self, index: int, timeout: int = LIMIT) -> None:
        """Wait until a cell that was started runs no more, whether it ended well, failed or was interrupted."""
        self.wait("i => nbt.prompt(i) !== '[*]:'", index, timeout)

    def wait_idle(self, timeout: int = LIMIT) -> None:
        """Wait until no cell is queued or runs and the kernel says that it is idle."""
        self.wait("nbt.waiting().length === 0 && nbt.kernel()?.status === 'idle'", timeout=timeout)

    def waiting(self) -> list[int]:
        """Return the cells that are queued or run: those with a star."""
        cells: list[int] = self.page.evaluate("nbt.waiting()")
        return cells

    def prompt(self, index: int) -> str:
        """Return what stands left of a cell: `[ ]:` never run, `[*]:` queued or running, `[3]:` run as the third."""
        text: str = self.page.evaluate("i => nbt.prompt(i)", index)
        return text

    def cell(self, index: int) -> Locator:
        """Return the cell on the page, scrolled into view: front ends draw only what is near."""
        locator = self.page.locator(".jp-Notebook .jp-Cell").nth(index)
        locator.evaluate("node => node.scrollIntoView({block: 'nearest'})")
        return locator

    def output(self, index: int) -> Locator:
        """Return the part of the page below a cell's source."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def text(self, index: int) -> str:
        """Return the text that a person sees below a cell, trimmed."""
        return self.output(index).inner_text().strip()

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Return a cell's outputs as the saved notebook would hold them."""
        found: list[dict[str, Any]] = self.page.evaluate("i => nbt.outputs(i)", index)
        return found

    def add_cell(self, source: str, below: int) -> int:
        """Insert a code cell with `source` and return its number; the cells below move by one."""
        self.page.evaluate(
            """([i, source]) => {
              nbt.panel().content.model.sharedModel.insertCell(i, {cell_type: 'code', source, metadata: {trusted: true}});
            }""",
            [below + 1, source],
        )
        return below + 1

    def select(self, index: int) -> None:
        """Make a cell the active one in command mode, as Escape does; single keys then are shortcuts."""
        self.page.evaluate(
            """i => {
              const notebook = nbt.panel().content;
              notebook.activeCellIndex = i; notebook.deselectAll(); notebook.mode = 'command'; notebook.activate();
            }""",
            index,
        )

    def clear_output(self, index: int) -> None:
        """Clear one cell's output, as the Edit menu does."""
        self.select(index)
        self.command("notebook:clear-cell-output")

    def delete_cell(self, index: int) -> None:
        """Delete a cell, as the Edit menu does; it may be running."""
        self.select(index)
        self.command("notebook:delete-cell")

    # -------------------------------------------------------------------------------------------------------- kernel
    def kernel_status(self) -> str:
        """Return what the front end believes: idle, busy, restarting, dead or none."""
        status: str = self.page.evaluate("nbt.kernel()?.status ?? 'none'")
        return status

    def interrupt(self) -> None:
        """Press the stop button (its command)."""
        self.command("notebook:interrupt-kernel")

    def restart(self) -> None:
        """Restart the kernel, confirm the question, and wait until it is idle again."""
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:restart-kernel'); }")
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        self.wait("nbt.kernel()?.status !== 'idle'")
        self.wait("nbt.connected() && nbt.kernel().status === 'idle'", timeout=LOAD_LIMIT)

    def cpu(self, seconds: float) -> float:
        """Measure the share of one core, in percent, that the kernel's process takes over `seconds`."""
        return float(self.server.kernel_process(self.path).cpu_percent(interval=seconds))

    # --------------------------------------------------------------------------------------- looks and measurements
    def theme(self, shade: Literal["light", "dark"]) -> None:
        """Switch the theme and wait until the page has it."""
        self.command("apputils:change-theme", theme=f"JupyterLab {shade.title()}")
        self.wait("light => document.body.dataset.jpThemeLight === light", "true" if shade == "light" else "false")
        self.page.evaluate("document.fonts.ready.then(() => null)")

    def screenshot(self, name: str, of: Locator | None = None) -> Path:
        """Take a picture of the page, or of one element, into shots/, and return its path."""
        SHOTS.mkdir(exist_ok=True)
        path = SHOTS / f"{name}.png"
        (of or self.page).screenshot(path=path, animations="disabled")
        return path

    def click_until_text(self, target: Locator, index: int, text: str) -> float:
        """Click `target` and return the milliseconds until `text` stands below cell `index`, both by the browser's clock."""
        self.page.evaluate(
            """([i, text]) => {
              const node = nbt.cell(i).outputArea.node, seen = window.nbt.seen = {click: null, text: null};
              if (node.textContent.includes(text)) throw new Error(`"${text}" stands below cell ${i} already`);
              addEventListener('click', () => { seen.click ??= performance.now(); }, {capture: true, once: true});
              new MutationObserver((_, self) => {
                if (seen.click === null || !node.textContent.includes(text)) return;
                seen.text = performance.now(); self.disconnect();
              }).observe(node, {childList: true, subtree: true, characterData: true});
            }""",
            [index, text],
        )
        target.click()
        self.wait("nbt.seen.text !== null")
        taken: float = self.page.evaluate("nbt.seen.text - nbt.seen.click")
        return taken

    def still_waiting(self, index: int, seconds: float) -> bool:
        """Watch a cell for `seconds` and say whether it kept its star all the time: for what must not go on by itself."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.prompt(index) != "[*]:":
                return False
            self.page.evaluate("new Promise(requestAnimationFrame)")
        return True
