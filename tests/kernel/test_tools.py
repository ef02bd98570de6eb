"""Tools that run in a cell: what a stop does to them, what the queue sees, what is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kernel.frontend import FrontEnd


@pytest.fixture(autouse=True)
def clean_log(kernel: object, page: FrontEnd) -> None:
    page.run("stub.log.clear()").ok()


@pytest.mark.parametrize(
    ("code", "error", "log"),
    [
        ("scheduling.drive(stub.tool())", "KeyboardInterrupt", "cleaned up"),
        ("scheduling.drive(stub.blocking_tool())", "KeyboardInterrupt", "interrupted"),
        ("scheduling.drive(stub.nested(scheduling.drive, stub.tool()))", "KeyboardInterrupt", "cleaned up"),
        ("await asyncio.sleep(0)\nscheduling.drive(stub.tool())", "KeyboardInterrupt", "cleaned up"),
        ("await asyncio.sleep(0)\nscheduling.drive(stub.blocking_tool())", "KeyboardInterrupt", "interrupted"),
        (
            "await asyncio.gather(stub.in_a_task(lambda: scheduling.drive(stub.tool())), stub.tool())",
            "CancelledError",
            "cleaned up",
        ),
        ("await stub.tool()", "CancelledError", "cleaned up"),
        ("asyncio.run(stub.tool())", "KeyboardInterrupt", "cleaned up"),
        ("scheduling.drive(stub.tool(swallow=True))", "KeyboardInterrupt", "cleaned up"),
        ("scheduling.run_sync(stub.tool())", "KeyboardInterrupt", "cleaned up"),
        ("scheduling.run_in_worker(lambda: scheduling.drive(stub.tool()))", "KeyboardInterrupt", "cleaned up"),
    ],
)
def test_the_stop_button_ends_a_running_tool(page: FrontEnd, code: str, error: str, log: str) -> None:
    cell = page.run(f"print('running')\n{code}")
    page.until(lambda: cell.text, "the tool")
    page.live(0.1)  # the tool is in its sleep, not on its way there
    page.kernel.interrupt()
    assert cell.wait(10).error.split(":")[0] == error
    assert log in page.run("print(stub.log)").ok().text
    assert page.run("print(scheduling.drive(stub.tool(0)))").ok().text == "ran to its end\n"


def test_a_stop_just_before_and_just_after_a_call_is_not_lost(page: FrontEnd) -> None:
    cell = page.run("for n in range(10**9):\n    scheduling.drive(stub.tool(0))")
    page.until(lambda: cell.ran, "the loop")
    page.live(0.2)
    page.kernel.interrupt()
    assert cell.wait(10).error.startswith("KeyboardInterrupt")


def test_a_page_can_connect_while_a_tool_runs(page: FrontEnd, open_page: Callable[..., FrontEnd]) -> None:
    for code in ("scheduling.drive(stub.tool())", "await stub.tool()"):
        cell = page.run(code)
        page.begins(cell)
        other = open_page(widgets=False)  # connects, while the cell runs
        assert not cell.done
        page.sync(other)
        page.kernel.interrupt()
        cell.wait()


def test_cells_queued_behind_many_calls_keep_their_order(page: FrontEnd) -> None:
    page.run("order = []").ok()
    page.run("for n in range(3):\n    scheduling.drive(stub.tool(0.1))\norder.append('tools')")
    for n in range(20):
        page.run(f"order.append({n})")
    page.run("await stub.tool(0.1)\nscheduling.drive(stub.tool(0.1))\nawait stub.tool(0.1)\norder.append('mixed')")
    for n in range(20, 40):
        page.run(f"order.append({n})")
    expected = ["tools", *range(20), "mixed", *range(20, 40)]
    assert page.run("print(order)").ok().text == f"{expected}\n"


def test_asyncio_run_in_a_cell_keeps_queue_and_context(page: FrontEnd) -> None:
    page.run("order = []").ok()
    page.run("async def main():\n    await asyncio.sleep(0.1)\n    print('in main')\n    return 'value'")
    first = page.run("order.append(asyncio.run(main()))")
    second = page.run("await asyncio.sleep(0)\norder.append(asyncio.run(main()))")
    page.run("order.append('last')")
    assert page.run("print(order)").ok().text == "['value', 'value', 'last']\n"
    assert first.text == second.text == "in main\n"


def test_what_a_coroutine_leaves_behind_is_ended(page: FrontEnd) -> None:
    code = (
        "async def leaves():\n"
        "    global left\n"
        "    left = asyncio.ensure_future(stub.tool())\n"
        "    await asyncio.sleep(0)\n"
        "scheduling.drive(leaves())\n"
        "print(left.cancelled(), stub.log)"
    )
    assert page.run(code).ok().text == "True ['cleaned up']\n"


def test_uninstall_takes_everything_back(page: FrontEnd) -> None:
    code = (
        "import signal\n"
        "from nbtoolkit.notebook.scheduling import inbox as inboxes\n"
        "events = get_ipython().events.callbacks\n"
        "def state():\n"
        "    stream = inboxes.inbox().kernel._stream if inboxes._inbox else stream0\n"
        "    fd = signal.set_wakeup_fd(-1); signal.set_wakeup_fd(fd)\n"
        "    return asyncio.run.__module__, stream._recv_callback.__qualname__ if hasattr(stream._recv_callback, '__qualname__') else 'partial', "
        "sum(map(len, events.values())), fd != -1\n"
        "stream0 = inboxes.inbox().kernel._stream\n"
        "scheduling.uninstall(); without = state()\n"
        "scheduling.install(); once = state()\n"
        "scheduling.install(); twice = state()\n"
        "scheduling.uninstall(); again = state()\n"
        "scheduling.install()\n"
        "print(without == again, once == twice, without != once, without[0], without[2:])"
    )
    assert page.run(code).ok().text.startswith("True True True asyncio.runners (")


def test_without_install_a_wait_works_as_well(page: FrontEnd) -> None:
    page.run("scheduling.uninstall()").ok()
    for code in ("print(stub.ask_sync('a'))", "print(await stub.ask('a'))"):
        cell = page.run(code)
        queued = page.run("print('after')")
        page.click("Allow a", cell)
        assert "a: allowed" in cell.ok().text
        assert queued.ok().text == "after\n"
    page.run("scheduling.install()").ok()


def test_output_of_a_worker_lands_in_the_asking_cell(page: FrontEnd) -> None:
    cell = page.run("scheduling.run_in_worker(lambda: print('from the worker'))\nprint('after it')")
    assert cell.ok().text == "from the worker\nafter it\n"


def test_what_a_worker_raises_goes_on_up(page: FrontEnd) -> None:
    assert page.run("scheduling.run_in_worker(lambda: 1 / 0)").wait().error == "ZeroDivisionError: division by zero"
