"""The notebook as an MCP server in a real kernel: foreign clients call, a person answers in the notebook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.foreign import PATIENCE, ForeignClient, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from tests.kernel.frontend import Cell, FrontEnd

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


def press(page: FrontEnd, label: str, *cells: Cell) -> None:
    """Press the button with this label, which goes on with what it is about."""

    def buttons() -> list[str]:
        shown = page.on_screen(*cells)
        return [m for m in shown if str(page.models[m].get("description")).split("\n")[0] == label]

    page.until(buttons, f"{label!r} on the screen")
    page.press(buttons()[-1])


def result(page: FrontEnd, call: Future[Any]) -> Any:
    """Live until the call has its result."""
    page.until(call.done, "the result of a served call")
    return call.result(0)


def test_a_foreign_clients_call_asks_below_the_serving_cell_and_a_click_answers_it(
    page: FrontEnd, clients: Callable[[FrontEnd], ForeignClient]
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
    page.loses("Deny", serving)
    page.run("%toolkit serve stop").ok()
