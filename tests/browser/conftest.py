"""The fixtures of the browser rung: one server and one Chromium for all tests, a page and fresh kernels for each."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import SHOTS, FrontEnd, NotebookPage
from tests.browser.server import Server
from tests.conftest import absent

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from playwright.sync_api import Browser, BrowserContext

    from tests.environments import KernelEnvironment

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
FAILED = pytest.StashKey[bool]()


class OpenNotebook(Protocol):
    """Open a notebook (a list of cells, or a file to copy) in a new page."""

    def __call__(
        self,
        source: Sequence[str] | Path,
        kernel: KernelEnvironment | None = None,
        front_end: FrontEnd | None = None,
        start: bool = True,
        outputs: bool = False,
    ) -> NotebookPage:
        """Take the newest kernel and the test's front end by default; `start`: wait for it; `outputs`: keep a file's."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Jupyter server for all browser tests."""
    for old in SHOTS.glob("failed-*.png"):
        old.unlink()
    server = Server(tmp_path_factory.mktemp("jupyter"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """One headless Chromium, the system's."""
    path = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    if path is None:
        absent(f"no Chromium: none of {', '.join(CHROMIUM_NAMES)} is on the PATH")
    # Chromium's sandbox refuses to start for root; it shows only pages of this machine.
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*as_root, "--disable-background-networking", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests here."""
    with chromium() as browser:
        yield browser


@pytest.fixture(params=["lab", "notebook"])
def front_end(request: pytest.FixtureRequest) -> FrontEnd:
    """Run the test in JupyterLab and in Notebook 7."""
    name: FrontEnd = request.param
    return name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test failed, for the pictures."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture
def open_notebook(request: pytest.FixtureRequest, server: Server, browser: Browser) -> Iterator[OpenNotebook]:
    """Open notebooks; at the end their pages and kernels go, and a failed test leaves pictures and the server's log."""
    contexts: list[BrowserContext] = []
    pages: list[NotebookPage] = []
    test = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")

    def open_notebook(
        source: Sequence[str] | Path,
        kernel: KernelEnvironment | None = None,
        front_end: FrontEnd | None = None,
        start: bool = True,
        outputs: bool = False,
    ) -> NotebookPage:
        if front_end is None:
            named = "front_end" in request.fixturenames
            front_end = request.getfixturevalue("front_end") if named else "lab"
        name = f"{test}-{len(pages)}.ipynb"
        if isinstance(source, Path):
            path = server.add_copy(source, name, kernel, outputs)
        else:
            path = server.add_notebook(name, source, kernel)
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        contexts.append(context)
        page = NotebookPage(context.new_page(), server, front_end)
        pages.append(page)
        page.open(path, kernel=start)
        return page

    yield open_notebook
    if request.node.stash.get(FAILED, False):
        for number, page in enumerate(pages):
            picture = page.screenshot(f"failed-{test}-{number}")
            print(f"picture: {picture}\nerrors in the page: {page.errors}")
        print(f"end of the server's log:\n{server.log_tail()}")
    for context in contexts:
        context.close()
    server.shutdown_kernels()
