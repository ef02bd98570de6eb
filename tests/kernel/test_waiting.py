"""A cell that waits for a person: the click arrives, the queue keeps its order, the stop button works."""

from __future__ import annotations

import pytest

from tests.kernel.frontend import FrontEnd, KernelProcess

SYNC = "print(stub.ask_sync('a'))"
ASYNC = "print(await stub.ask('a'))"
NESTED_RUN = "print(asyncio.run(stub.ask('a')))"
SYNC_IN_ASYNC = "await asyncio.sleep(0)\nprint(stub.ask_sync('a'))"
WORKER = "print(scheduling.run_in_worker(lambda: stub.ask_sync('a')))"
OWN_LOOP = "print(scheduling.run_sync(stub.ask('a')))"
FOREIGN_LOOP = "print(scheduling.run_in_worker(lambda: asyncio.new_event_loop().run_until_complete(stub.ask('a'))))"
TO_THREAD = "print(await asyncio.to_thread(stub.ask_sync, 'a'))"
WAYS = {
    "sync": SYNC,
    "async": ASYNC,
    "asyncio.run": NESTED_RUN,
    "sync-in-async": SYNC_IN_ASYNC,
    "worker": WORKER,
    "own-loop": OWN_LOOP,
    "foreign-loop": FOREIGN_LOOP,
    "to-thread": TO_THREAD,
}
each_way = pytest.mark.parametrize("code", WAYS.values(), ids=WAYS.keys())


@each_way
def test_a_click_lets_the_waiting_cell_go_on_and_the_queued_cells_follow_in_order(
    any_page: FrontEnd, code: str
) -> None:
    page = any_page
    page.run("order = []").ok()
    waiting = page.run(f"order.append('asking')\n{code}\norder.append('asked')")
    later = [page.run(f"order.append({n})") for n in range(3)]
    page.sees("Allow a", waiting)
    assert not any(cell.ran for cell in later)
    page.click("Allow a", waiting)
    waiting.ok()
    assert "a: allowed" in waiting.text
    last = page.run("print(order)").ok()
    assert last.text == "['asking', 'asked', 0, 1, 2]\n"
    assert all(cell.status == "ok" for cell in later)
