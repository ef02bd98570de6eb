"""The product in a real kernel: a tool that asks below its cell, the click, the record, the next cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kernel.frontend import Cell, FrontEnd

TOOL = "@tool\ndef add(a: int, b: int = 1) -> int:\n    '''Add.'''\n    return a + b"


@pytest.fixture
def page(open_page: Callable[..., FrontEnd]) -> Iterator[FrontEnd]:
    page = open_page()
    page.run("scheduling.uninstall()").ok()
    page.run("%load_ext nbtoolkit").ok()
    page.run(TOOL).ok()
    yield page
    page.run("toolkit.clear()\n%unload_ext nbtoolkit").ok()


def press(page: FrontEnd, cell: Cell, label: str, pressed: set[str] | None = None) -> None:
    """Press the next button with this label, which goes on with what it is about."""
    pressed = pressed if pressed is not None else set()

    def buttons() -> list[str]:
        shown = [m for m in page.on_screen(cell) if m not in pressed]
        return [m for m in shown if str(page.models[m].get("description")).split("\n")[0] == label]

    page.until(buttons, f"{label!r} on the screen")
    button = buttons()[0]
    pressed.add(button)
    page.press(button)


@pytest.mark.parametrize(
    "code",
    [
        "print(toolkit.call_sync('add', a=1).value)",
        "print((await toolkit.call('add', a=1)).value)",
        "%toolkit call add a=1",
        "async def main():\n    return await toolkit.call('add', a=1)\nprint(asyncio.run(main()).value)",
    ],
    ids=["sync", "async", "magic", "asyncio.run"],
)
def test_a_click_runs_the_tool_and_the_next_cell_follows(page: FrontEnd, code: str) -> None:
    cell = page.run(code)
    queued = page.run("print('after')")
    press(page, cell, "Allow once")
    assert "allowed once\n    2" in cell.ok().text
    assert queued.ok().text == "after\n"


def test_calls_that_ask_together_are_answered_one_by_one(page: FrontEnd) -> None:
    cell = page.run(
        "r = await asyncio.gather(toolkit.call('add', a=1), toolkit.call('add', a=5))\nprint([x.value for x in r])"
    )
    pressed: set[str] = set()
    press(page, cell, "Allow once", pressed)
    press(page, cell, "Allow once", pressed)
    assert "[2, 6]" in cell.ok().text


def test_a_page_that_is_loaded_again_shows_the_record_where_it_answered(
    page: FrontEnd, open_page: Callable[..., FrontEnd]
) -> None:
    cell = page.run("toolkit.call_sync('add', a=1)")
    page.until(lambda: page.on_screen(cell), "the card")
    loaded = open_page().restore()
    [button] = [m for m, state in loaded.models.items() if str(state.get("description")).startswith("Allow once\n")]
    loaded.press(button)
    loaded.until(lambda: any("allowed once" in str(s.get("value")) for s in loaded.models.values()), "the record")
    loaded.until(lambda: button not in loaded.models, "the card to go")
    cell.ok()


def test_a_denial_is_a_result_with_state_denied(page: FrontEnd) -> None:
    cell = page.run("print(toolkit.call_sync('add', a=1).state)")
    press(page, cell, "Deny")
    assert "denied" in cell.ok().text


def test_a_console_line_approves_out_of_turn(page: FrontEnd) -> None:
    cell = page.run("toolkit.call_sync('add', a=1)")
    queued = page.run("print('after')")
    page.until(lambda: page.on_screen(cell), "the card")
    line = page.run("%toolkit approve").ok()
    assert "add" in line.text
    assert "allowed once\n    2" in cell.ok().text
    assert queued.ok().text == "after\n"


def test_a_stop_leaves_a_record_that_says_interrupted(page: FrontEnd) -> None:
    cell = page.run("toolkit.call_sync('add', a=1)")
    page.until(lambda: page.on_screen(cell), "the card")
    page.kernel.interrupt()
    assert cell.wait().error.startswith("KeyboardInterrupt")
    assert "interrupted" in cell.text


def test_a_front_end_without_a_person_gets_the_policy_at_once(page: FrontEnd) -> None:
    page.allow_stdin = False
    cell = page.run("print(toolkit.call_sync('add', a=1).state)").ok()
    assert "denied" in cell.text
    page.allow_stdin = True
