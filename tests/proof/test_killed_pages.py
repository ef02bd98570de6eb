"""The browser's tab and the Jupyter server killed while calls wait or run: nothing runs unasked, nothing is left alive."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import chromium
from tests.browser.lab import NotebookPage
from tests.browser.server import Server
from tests.mcp.support import PLAIN, alive
from tests.proof.plan import LIMIT, LONG, Plan, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(LIMIT)]

SETUP = f"""
%load_ext nbtoolkit
import asyncio, os, sys
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.tool import Bash
pids = os.path.abspath("pids")
config = StdioMCPConfig(command=sys.executable, args=["-S", {str(PLAIN)!r}, "--fork", "--pids", pids])
client = MCPClient(name="plain", is_stateful=True, mcp_config=config)
await client.connect()
await toolkit.add_tool([client, Bash()])
toolkit.add_rule("mcp__plain")
toolkit.add_rule("Bash(sleep:*)")
toolkit.log.keep("journal.jsonl")

@tool
def ask(number: int) -> int:
    "Ask."
    with open("ran.txt", "a") as file:
        file.write(f"{{number}}\\n")
    return number

@tool
def large(size: int) -> str:
    "Give much."
    return "x" * size

tasks = [asyncio.ensure_future(toolkit.call("mcp__plain__sleep", seconds=600).complete()),
         asyncio.ensure_future(toolkit.call("Bash", command="sleep 600").complete())]
with open(pids, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "jupyter")
    server.start()
    yield server
    server.stop()


def opened(browser: Browser, server: Server, path: str) -> NotebookPage:
    page = NotebookPage(browser.new_context(viewport={"width": 1200, "height": 900}).new_page(), server, "lab")
    page.open(path, kernel=False)
    page.wait("nbt.connected()", timeout=90_000)
    return page


def kill_tabs() -> int:
    """Kill all pages' processes of this test's browser."""
    renderers = [
        each for each in psutil.Process().children(recursive=True) if "--type=renderer" in " ".join(each.cmdline())
    ]
    for each in renderers:
        each.kill()
    return len(renderers)


def allow(page: NotebookPage, index: int) -> Locator:
    return page.output(index).get_by_role("button", name="Allow once")


def ran(server: Server) -> list[int]:
    file = server.root / "ran.txt"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_a_tab_and_a_server_that_are_killed_decide_nothing_and_leave_nothing(
    browser: Browser, server: Server, plan: Plan
) -> None:
    chance, kills = plan.chance("tab"), plan.pick(1, 6)
    path = server.add_notebook(
        "work.ipynb", [SETUP, f"for n in range({kills + 1}): toolkit.call_sync('ask', number=n)"]
    )
    page = opened(browser, server, path)
    page.run_cell(0)
    page.wait_done(0, timeout=90_000)
    page.run_cell(1)
    expect(allow(page, 1)).to_have_count(1, timeout=60_000)
    decided = 0
    for number in range(kills):
        time.sleep(chance.uniform(0, 0.5))
        assert kill_tabs()
        page.page.context.close()
        plan.count("kill -9 of a browser's tab with a question waiting")
        page = opened(browser, server, path)
        assert ran(server) == list(range(decided)), "no tab's end is an answer"
        at = page.add_cell("%toolkit pending", below=1)
        page.run_cell(at)
        button = allow(page, at)
        expect(button).to_have_count(1, timeout=60_000)
        button.click()
        decided = number + 1
        until(lambda decided=decided: ran(server) == list(range(decided)), "the call that was allowed")  # type: ignore[misc]
    page.save()
    pids = [int(pid) for pid in (server.root / "pids").read_text().split()]
    assert len(pids) == 4
    kernel = server.kernel_process(path)
    below = [each.pid for each in kernel.children(recursive=True)]
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGKILL)
    plan.count("kill -9 of a Jupyter server with a question and calls waiting")
    # The kernel sees within seconds that its server is gone, and what belongs to it goes with it.
    until(lambda: not any(map(alive, [*pids, *below])), "the end of the kernel and all that it started")
    rows = [json.loads(line) for line in (server.root / "journal.jsonl").read_text().splitlines()]
    asked = [row for row in rows if row["tool"] == "ask"]
    assert [row["tool_input"]["number"] for row in asked if row["event"] == "allowed"] == list(range(decided))
    assert ran(server) == list(range(decided)), "nothing ran that nobody allowed"
    page.page.context.close()
    server.stop()
    if not LONG:
        return

    again = Server(server.root.parent.parent / "again")
    again.start()
    try:
        (again.root / path).write_bytes((server.root / path).read_bytes())
        page = opened(browser, again, path)
        for index in (1, 2):
            for button in allow(page, index).all():
                button.click(force=True)
        page.wait_idle()
        assert ran(again) == [], "an old notebook's cards decide nothing"
    finally:
        page.page.context.close()
        again.stop()


@pytest.mark.skipif(not LONG, reason="a part of the long form: the page gets what the kernel's test measures")
def test_a_page_shows_a_result_of_200_megabytes_and_stays_quick(browser: Browser, server: Server, plan: Plan) -> None:
    cells = [SETUP, "toolkit.call_sync('large', size=200 * 2**20)", "print('after')"]
    path = server.add_notebook("large.ipynb", cells)
    page = opened(browser, server, path)
    page.run_cell(0)
    page.wait_done(0, timeout=90_000)
    page.run_cell(1)
    allow(page, 1).click()
    page.run_cell(2)
    page.wait_idle()
    assert page.text(2) == "after"
    assert len(page.output(1).inner_html()) < 300_000
    page.save()
    assert (server.root / "large.ipynb").stat().st_size < 400_000
    assert page.errors == []
    page.page.context.close()
    plan.count("results of 200 MB in a real page")
