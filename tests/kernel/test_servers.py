"""MCP servers in a kernel: one cell attaches, another uses, a third closes; stops reach the server, no end leaves one."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kernel.frontend import FrontEnd, KernelProcess

PLAIN = Path(__file__).parents[1] / "mcp" / "servers" / "plain.py"
SETUP = f"""
import sys, threading
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
def server(*args):
    config = StdioMCPConfig(command=sys.executable, args=["-S", {str(PLAIN)!r}, *args])
    return MCPClient(name="plain", is_stateful=True, mcp_config=config)
async def use(name, **arguments):
    return (await (await client.get_tool(name))(**arguments)).content[0].text
"""


@pytest.fixture(autouse=True)
def prepared(page: FrontEnd) -> None:
    page.run(SETUP).ok()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ended(file: Path) -> bool:
    """Whether all that the server wrote with --pids has ended, within a bound."""
    deadline = time.monotonic() + 20
    pids = [int(line) for line in file.read_text().split()]
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return bool(pids)


def test_a_server_attached_in_one_cell_is_used_in_others_and_closed_in_another(page: FrontEnd) -> None:
    page.run("client = server(); await client.connect()").ok()
    assert page.run("print(await use('echo', text='async cell'))").ok().text == "async cell\n"
    assert page.run("print(scheduling.drive(use('echo', text='sync cell')))").ok().text == "sync cell\n"
    in_thread = "t = threading.Thread(target=lambda: heard.append(asyncio.run(use('echo', text='thread'))))"
    page.run(f"heard = []; {in_thread}; t.start(); t.join(); print(heard)").ok()
    page.run("await client.close()").ok()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("await use('sleep', seconds=600)", "CancelledError"),
        ("scheduling.drive(use('sleep', seconds=600))", "KeyboardInterrupt"),
    ],
)
def test_the_stop_button_cancels_a_call_and_tells_the_server(page: FrontEnd, code: str, error: str) -> None:
    page.run("client = server(); await client.connect(); await client.list_tools()").ok()
    cell = page.run(f"print('running')\n{code}")
    page.until(lambda: cell.text, "the call")
    page.live(0.3)
    page.kernel.interrupt()
    stopped = cell.wait(10).error
    assert stopped.split(":")[0] == error
    if error == "CancelledError":
        assert "the MCP server 'plain' is told to cancel the call" in stopped
    told = "while 'the sleep was cancelled' not in client.log_tail:\n    await asyncio.sleep(0.01)"
    page.run(f"async with asyncio.timeout(10):\n    {told.replace(chr(10), chr(10) + '    ')}").ok()
    assert page.run("print(await use('echo', text='still here'))").ok().text == "still here\n"
    page.run("await client.close()").ok()


def test_asyncio_run_works_in_a_cell_as_documents_for_scripts_have_it(page: FrontEnd) -> None:
    page.run("client = server()\nasyncio.run(client.connect())").ok()
    assert page.run("print(asyncio.run(use('echo', text='nested')))").ok().text == "nested\n"
    page.run("asyncio.run(client.close())\nfrom nbtoolkit.mcp import nested; nested.undo()").ok()


def test_a_loop_that_somebody_has_patched_to_nest_changes_nothing(
    fresh_kernel: KernelProcess, open_page: Callable[..., FrontEnd]
) -> None:
    page = open_page()
    page.run("import nest_asyncio2; nest_asyncio2.apply()").ok()
    page.run(SETUP).ok()
    page.run("client = server(); await client.connect()").ok()
    assert page.run("print(await use('echo', text='patched'))").ok().text == "patched\n"
    assert page.run("print(asyncio.run(use('echo', text='nested')))").ok().text == "nested\n"
    page.run("await client.close()").ok()


@pytest.mark.parametrize("end", ["kill", "shutdown"])
def test_no_end_of_the_kernel_leaves_a_server(
    fresh_kernel: KernelProcess, open_page: Callable[..., FrontEnd], tmp_path: Path, end: str
) -> None:
    page = open_page()
    page.run(SETUP).ok()
    file = tmp_path / "pids"
    page.run(f"client = server('--ignore-eof', '--ignore-term', '--fork', '--pids', {str(file)!r})").ok()
    page.run("await client.connect()").ok()
    assert len(file.read_text().split()) == 3
    if end == "kill":
        # As Jupyter does at a restart: the kernel's whole group, without a word.
        os.kill(fresh_kernel.pid, 9)
    else:
        page.send("control", "shutdown_request", {"restart": False})
    assert ended(file)


ASKING = """
from nbtoolkit.mcp.interaction import set_host
from nbtoolkit.notebook.approver import InlineApprover
from nbtoolkit.notebook.server_questions import ServerQuestions
set_host(ServerQuestions(InlineApprover()))
client = server(); await client.connect()
FORM = {"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}, "required": ["name"]}
"""


@pytest.mark.parametrize(
    "code", ["print(await use('ask', schema=FORM))", "print(scheduling.drive(use('ask', schema=FORM)))"]
)
@pytest.mark.parametrize(("button", "heard"), [("Send", '"content": {"name": "Ada"}'), ("Decline", "decline")])
def test_a_servers_question_is_a_card_under_the_cell(page: FrontEnd, code: str, button: str, heard: str) -> None:
    page.run(ASKING).ok()
    cell = page.run(code)
    # A button's name says for screen readers what it is about.
    page.click(f"{button}\nquestion of plain", cell)
    assert heard in cell.ok().text
    page.run("set_host(None); await client.close()").ok()
