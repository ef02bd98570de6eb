"""The notebook as an MCP server in a real kernel: foreign clients call, a person answers in the notebook."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.foreign import PATIENCE, ForeignClient, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from tests.kernel.frontend import Cell, FrontEnd, KernelProcess

TOOLS = """
import threading
@tool
def add(a: int, b: int = 1) -> int:
    '''Add.'''
    return a + b

@tool(is_read_only=True)
def where() -> bool:
    '''Say whether this runs on the main thread.'''
    return threading.current_thread() is threading.main_thread()
"""


@pytest.fixture
def page(open_page: Callable[..., FrontEnd]) -> Iterator[FrontEnd]:
    page = open_page()
    page.run("scheduling.uninstall()").ok()
    page.run("%load_ext nbtoolkit").ok()
    page.run(TOOLS).ok()
    yield page
    page.run("toolkit.clear()\n%unload_ext nbtoolkit").ok()


@pytest.fixture
def clients() -> Iterator[Callable[[FrontEnd], ForeignClient]]:
    made: list[ForeignClient] = []

    def connect(page: FrontEnd, mode: str = "auto") -> ForeignClient:
        shown = page.run(
            "import json\nfrom nbtoolkit.notebook import serving\nprint(json.dumps(serving.access()))"
        ).ok()
        made.append(ForeignClient(json.loads(shown.text), mode))
        return made[-1]

    yield connect
    for client in made:
        client.close()


def buttons(page: FrontEnd, label: str, *cells: Cell) -> list[str]:
    """The buttons with this label, which goes on with what it is about."""
    return [m for m in page.on_screen(*cells) if str(page.models[m].get("description")).split("\n")[0] == label]


def press(page: FrontEnd, label: str, *cells: Cell) -> None:
    """Press a button when it is there."""
    page.until(lambda: buttons(page, label, *cells), f"{label!r} on the screen")
    page.press(buttons(page, label, *cells)[-1])


def soon(page: FrontEnd, condition: Callable[[], object]) -> None:
    """Live until a condition holds that no message of the kernel tells of."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, page.transcript()
        page.live(0.02)


def result(page: FrontEnd, call: Future[Any]) -> Any:
    """Live until the call has its result, which no message of the kernel tells of."""
    soon(page, call.done)
    return call.result(0)


def test_a_foreign_clients_call_asks_below_the_serving_cell_and_a_click_answers_it(
    page: FrontEnd, open_page: Callable[..., FrontEnd], clients: Callable[[FrontEnd], ForeignClient]
) -> None:
    serving = page.run("%toolkit serve").ok()
    client = clients(page)
    call = client.call("add", a=1)
    press(page, "Allow once", serving)
    answer = result(page, call)
    assert (text(answer), answer.is_error) == ("2", False)
    assert text(result(page, client.call("where"))) == "true"
    call = client.call("add", a=5)
    press(page, "Deny", serving)
    answer = result(page, call)
    assert answer.is_error
    assert text(answer) == "The user denied this call."
    page.until(lambda: not buttons(page, "Deny", serving), "the card to go")

    # A page that sends what is clicked to the main shell, as some front ends do.
    plain = open_page(subshells=False)
    again = plain.run("%toolkit serve").ok()
    call = client.call("add", a=2)
    press(plain, "Allow once", again)
    assert text(result(plain, call)) == "3"
    assert plain.run("%toolkit stop").ok().text == "No tools are served any more.\n"


def listens(page: FrontEnd) -> None:
    """Live until the client's stream of changes is open: what happens before is not told on it."""
    soon(page, lambda: page.run("print(len(serving.current()._gate.under_way))").ok().text == "1\n")


def released(name: str, wait: str) -> str:
    """A cell that runs until the test makes a file."""
    return f"import asyncio, pathlib, time\nwhile not pathlib.Path({name!r}).exists():\n    {wait}\nprint('on')"


def test_calls_run_between_cells_and_while_one_waits_but_not_in_a_busy_one(
    page: FrontEnd, clients: Callable[[FrontEnd], ForeignClient], kernel: KernelProcess
) -> None:
    serving = page.run("%toolkit serve").ok()
    client = clients(page)
    for name in ("sync", "async"):
        (kernel.folder / name).unlink(missing_ok=True)

    page.run("serving.current().service.busy_seconds = 0.3").ok()
    busy = page.run(released("sync", "time.sleep(0.01)"))
    page.begins(busy)
    refused = result(page, client.call("where"))
    assert refused.is_error
    assert "'where' was not run: the notebook's kernel is busy with cell [" in text(refused)
    (kernel.folder / "sync").touch()
    busy.ok()
    page.run("serving.current().service.busy_seconds = 30").ok()

    awaiting = page.run(released("async", "await asyncio.sleep(0.01)"))
    page.begins(awaiting)
    assert text(result(page, client.call("where"))) == "true"
    assert not awaiting.done
    (kernel.folder / "async").touch()
    awaiting.ok()

    asking = page.run("print(toolkit.call_sync('add', a=1).value)")
    page.until(lambda: page.on_screen(asking), "the cell's own card")
    assert text(result(page, client.call("where"))) == "true"
    later = client.call("add", a=10)
    assert not asking.done
    press(page, "Allow once", asking)
    assert "2" in asking.ok().text
    press(page, "Allow once", serving)
    assert text(result(page, later)) == "11"

    # "For the rest of this cell" is for the call alone where no cell runs.
    page.run(
        "from nbtoolkit.permission.approval import Approval\nasked = []\nasync def approver(request):\n"
        "    asked.append(request)\n    return Approval.allow(scope='cell')\ntoolkit.approver = approver"
    ).ok()
    assert [text(result(page, client.call("add", a=1))) for _ in range(2)] == ["2", "2"]
    assert page.run("toolkit.approver = None\nprint(len(asked))").ok().text == "2\n"


def test_clients_hear_of_tools_as_cells_are_run_and_a_call_that_a_client_gives_up_takes_its_card_along(
    page: FrontEnd, clients: Callable[..., ForeignClient], kernel: KernelProcess
) -> None:
    serving = page.run("%toolkit serve").ok()
    client = clients(page, "legacy")
    assert client.tools() == ["add", "where"]
    listens(page)
    page.run(TOOLS).ok()
    page.run(TOOLS.replace("def where", "def here").replace("'''Add.'''", "'''Add two numbers.'''")).ok()
    soon(page, lambda: "notifications/tools/list_changed" in client.heard)
    assert client.tools() == ["add", "where", "here"]
    assert len(client.heard) == 1, "a cell that was run again and changed nothing is no news"

    call = client.call("add", a=1)
    page.until(lambda: buttons(page, "Allow once", serving), "the card")
    call.cancel()
    page.until(lambda: not buttons(page, "Allow once", serving), "the card to go")
    assert page.run("print(list(toolkit.log)[-1].state, list(toolkit.log)[-1].asked_by)").ok().text == (
        "interrupted Origin(kind='server', name='mcp', cell=None)\n"
    )

    secret = page.run("print(serving.current().token, serving.current().port)").ok().text.split()
    page.run("%toolkit serve stop").ok()
    kept = json.dumps([message["content"] for message in serving.messages if message["msg_type"] != "comm_open"])
    assert "Serving 2 tools to MCP clients on this machine" in serving.text
    assert not any(word in kept for word in secret)
    assert page.on_screen(serving) == []


def test_the_stop_button_ends_a_clients_call_although_no_cell_runs(
    page: FrontEnd, clients: Callable[[FrontEnd], ForeignClient], kernel: KernelProcess
) -> None:
    serving = page.run("%toolkit serve").ok()
    page.run(
        "import pathlib, time\n@tool(is_read_only=True)\ndef spin():\n    '''Run on.'''\n"
        "    pathlib.Path('spins').touch()\n    while True:\n        time.sleep(0.001)"
    ).ok()
    client = clients(page)
    (kernel.folder / "spins").unlink(missing_ok=True)
    call = client.call("spin")
    soon(page, (kernel.folder / "spins").exists)
    kernel.interrupt()
    assert text(result(page, call)) == "The call was interrupted before it ended."
    asks = client.call("add", a=1)
    page.until(lambda: buttons(page, "Allow once", serving), "the card")
    # While it handles a message, the kernel takes a stop for that one's.
    page.until(lambda: not any("Link" in str(m.get("_model_name")) for m in page.models.values()), "the beacon to go")
    page.live(0.1)
    kernel.interrupt()
    assert text(result(page, asks)) == "The call was interrupted before it ended."
    assert page.run("1 + 1").ok().text == "2\n"


def test_a_page_that_was_loaded_again_gets_the_question_below_its_next_cell(
    page: FrontEnd, open_page: Callable[..., FrontEnd], clients: Callable[[FrontEnd], ForeignClient]
) -> None:
    page.run("%toolkit serve").ok()
    client = clients(page)
    loaded = open_page()
    first = loaded.run("'the new page'").ok()
    call = client.call("add", a=1)
    press(loaded, "Allow once", first)
    assert text(result(loaded, call)) == "2"


def test_a_clients_call_that_asks_waits_in_the_panel_too(
    page: FrontEnd, clients: Callable[[FrontEnd], ForeignClient]
) -> None:
    serving = page.run("%toolkit serve").ok()
    call = clients(page).call("add", a=4)
    page.until(lambda: buttons(page, "Allow once", serving), "the card below the serving cell")
    panel = page.run("%toolkit").ok()

    def tabs() -> list[str]:
        return [m for m in page.on_screen(panel) if "Waiting 1" in page.models[m].get("_options_labels", ())]

    page.until(tabs, "a waiting call in the panel")
    (tab,) = tabs()
    page.change(tab, {"index": list(page.models[tab]["_options_labels"]).index("Waiting 1")})
    press(page, "Allow once", panel)
    assert text(result(page, call)) == "5"
    page.run("%toolkit stop").ok()
