"""Calls without end in one real kernel: memory, files, threads and tasks stay what they were, and so does the page."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.kernel.frontend import Cell, FrontEnd, KernelProcess
from tests.proof.plan import LIMIT, NOISE, PATIENCE, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.environments import KernelEnvironment

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(LIMIT)]

# Calls in one cell: their records are fewer than the messages that ZeroMQ holds for a page that is slow.
AT_ONCE = 200
SETUP = """
%load_ext nbtoolkit
import asyncio, gc, json, os, threading
import pandas as pd
from nbtoolkit.permission import PermissionBehavior, PermissionDecision
freely = PermissionDecision(PermissionBehavior.ALLOW, "as you like")

@tool(permission=freely)
def add(a: int, b: int = 1) -> int:
    "Add."
    return a + b

@tool(permission=freely)
async def later(text: str) -> str:
    "Say it later."
    await asyncio.sleep(0)
    return text * 20

@tool(permission=freely)
def stream(pieces: int):
    "Give pieces."
    for number in range(pieces):
        yield f"piece {number}"

@tool(permission=freely, thread=True)
def aside(a: int) -> int:
    "Work in a thread."
    return a

@tool(permission=freely)
def table(rows: int) -> pd.DataFrame:
    "Make a table."
    return pd.DataFrame({"a": range(rows)})

@tool(permission=freely)
def broken(a: int) -> int:
    "Fail."
    raise ValueError(a)

@tool(permission=PermissionDecision(PermissionBehavior.DENY, "never"))
def never() -> None:
    "Never run."

KINDS = [("add", "a"), ("later", "text"), ("stream", "pieces"), ("aside", "a"), ("table", "rows"), ("broken", "a"),
         ("never", None)]

def one(number):
    name, argument = KINDS[number % len(KINDS)]
    value = str(number) if argument == "text" else number % 50
    return toolkit.call(name, **({argument: value} if argument else {}))

def run_sync(first, count):
    for number in range(first, first + count):
        name, argument = KINDS[number % len(KINDS)]
        value = str(number) if argument == "text" else number % 50
        toolkit.call_sync(name, **({argument: value} if argument else {}))

async def run_async(first, count):
    for number in range(first, first + count):
        await one(number)

async def run_together(first, count):
    await toolkit.call_tools([one(number) for number in range(first, first + count)])

def files():
    "What is open, without IPython's history, which opens and closes a file of its own."
    found = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
    return [each for each in found if os.path.lexists(each) and "history" not in os.readlink(each)]

def look():
    gc.collect()
    tasks = sum(len(asyncio.all_tasks(loop)) for loop in {asyncio.get_event_loop()})
    memory = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    print(json.dumps({"memory": memory, "files": len(files()), "threads": threading.active_count(),
        "names": [each.name for each in threading.enumerate()],
        "tasks": tasks, "objects": len(gc.get_objects()), "calls": len(toolkit.log) + toolkit.log.dropped,
        "numbers": toolkit.log.next_number() - 1, "log": len(toolkit.log), "results": len(toolkit.results)}))
    toolkit.log._count -= 1
"""


@pytest.fixture(scope="module")
def kernel(newest_kernel_env: KernelEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    kernel = KernelProcess(newest_kernel_env, tmp_path_factory.mktemp("soak"))
    yield kernel
    kernel.stop()


@pytest.fixture
def page(kernel: KernelProcess) -> Iterator[FrontEnd]:
    page = FrontEnd(kernel).connect()
    page.run("scheduling.uninstall()").ok()
    page.run(SETUP).ok()
    yield page
    page.run("toolkit.clear()\n%unload_ext nbtoolkit").ok()
    page.close()


def forget(page: FrontEnd) -> None:
    """Let the page forget what was said: the test's memory is no matter of the kernel's."""
    page.cells.clear()
    page.log.clear()
    page.replies = {asked: page.replies[asked] for asked in (page._subshell_request,) if asked in page.replies}
    page.idle.clear()


def look(page: FrontEnd) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.run("look()").ok().text)
    return found


def megabytes(size: float) -> str:
    return f"{size / 2**20:,.1f} MB"


def test_calls_of_all_kinds_leave_the_kernel_as_it_was(page: FrontEnd, plan: Plan) -> None:
    calls, settle = plan.pick(2_000, 100_000), 1_000
    page.run(f"toolkit.log.maxlen = {settle}").ok()
    ways = ["run_sync({}, {})", "await run_async({}, {})", "await run_together({}, {})"]
    before: dict[str, Any] = {}
    for number, first in enumerate(range(0, calls, AT_ONCE)):
        if first == settle:
            before = look(page)
        cell = page.run(ways[number % 3].format(first, AT_ONCE)).ok()
        assert sum(len(each["data"]["text/plain"]) for each in cell.of("display_data")) < AT_ONCE * 5_000
        forget(page)
    after = look(page)
    deadline = time.monotonic() + PATIENCE
    while after["threads"] > before["threads"] or after["tasks"] > before["tasks"]:
        # What draws a call that runs lives a moment longer than that.
        if time.monotonic() > deadline:
            break
        page.live(0.1)
        after = look(page)
    assert (after["numbers"], after["calls"]) == (calls, calls), "each call is in the log, or counted as let go"
    assert (after["log"], after["results"]) == (settle, 200)
    assert after["tasks"] <= before["tasks"]
    assert after["threads"] <= before["threads"], after["names"]
    # Loops and sockets that threads keep for their next use.
    assert after["files"] - before["files"] <= 6
    assert after["memory"] - before["memory"] < NOISE
    # Per call: nothing; what remains is IPython's history of the cells.
    assert after["objects"] - before["objects"] < 2_000 + calls / 100
    plan.count("calls of seven kinds in one real kernel", calls)
    grown = after["memory"] - before["memory"]
    plan.figure(
        "kernel after all calls",
        f"{megabytes(after['memory'])}, {megabytes(grown)} more than after the first {settle:,}; "
        f"{after['objects'] - before['objects']:+,} objects, {after['files'] - before['files']:+} files, "
        f"{after['threads'] - before['threads']:+} threads, {after['tasks'] - before['tasks']:+} tasks",
    )


ASKING = """
@tool
def ask(number: int) -> int:
    "Ask first."
    ran.append(number)
    return number

ran = []
"""


def press(page: FrontEnd, cell: Cell, label: str) -> None:
    """Press the button with this label, and see its card go."""

    def buttons() -> list[str]:
        return [m for m in page.on_screen(cell) if str(page.models[m].get("description")).split("\n")[0] == label]

    page.until(buttons, f"{label!r} on the screen")
    button = buttons()[0]
    page.press(button)
    page.until(lambda: button not in page.models, "the card to go")


def test_clicks_without_end_are_each_honoured_once(page: FrontEnd, plan: Plan) -> None:
    clicks, in_cell = plan.pick(12, 1_000), plan.pick(6, 20)
    chance = plan.chance("clicks")
    page.run(ASKING).ok()
    page.run("began = len(toolkit.log) + toolkit.log.dropped; toolkit.log.clear(); toolkit.log.maxlen = 10_000").ok()
    wanted: list[bool] = []
    models: list[int] = []
    memory: list[int] = []
    for first in range(0, clicks, in_cell):
        way = "await toolkit.call('ask', number=n)" if first // in_cell % 2 else "toolkit.call_sync('ask', number=n)"
        cell = page.run(f"for n in range({first}, {first + in_cell}): {way}")
        for _ in range(in_cell):
            allow = chance.random() < 0.8
            wanted.append(allow)
            press(page, cell, "Allow once" if allow else "Deny")
        cell.ok()
        forget(page)
        models.append(len(page.models))
        if first in (0, in_cell * 2):
            memory.append(look(page)["memory"])
    memory.append(look(page)["memory"])
    ran = json.loads(page.run("print(json.dumps(ran))").ok().text)
    decided = json.loads(page.run("print(json.dumps([e.words for e in toolkit.log]))").ok().text)
    assert ran == [number for number, allowed in enumerate(wanted) if allowed], "what was allowed ran, once, in order"
    assert decided == ["allowed once" if allowed else "denied" for allowed in wanted]
    # Cards are closed: what stays is what belongs to the notebook as a whole.
    assert models[-1] <= models[0] + 5
    assert memory[-1] - memory[min(1, len(memory) - 2)] < NOISE
    plan.count("approvals by scripted clicks in a real kernel", clicks)
    plan.figure("kernel after all clicks", f"{megabytes(memory[-1] - memory[0])} more than after the first {in_cell}")


LARGE = """
@tool(permission=freely)
def large(kind: str, size: int):
    "Make something large."
    if kind == "text": return "é" * (size // 2)
    if kind == "bytes": return b"x" * size
    if kind == "table": return pd.DataFrame({"a": range(size // 16), "b": 1.0})
    if kind == "rows": return [{"number": n, "text": "x" * 80} for n in range(size // 100)]

@tool(permission=freely)
def much(size: int):
    "Stream much."
    for _ in range(size // 2**20):
        yield "x" * 2**20

@tool
def shown(size: int):
    "Make something large, when allowed."
    return "x" * size
"""


def test_a_result_of_200_megabytes_costs_its_page_nothing(page: FrontEnd, plan: Plan) -> None:
    size = 200 * 2**20
    page.run(LARGE).ok()
    page.run("toolkit.results.clear()").ok()
    before = look(page)["memory"]
    sent: dict[str, int] = {}
    kinds = plan.pick(["text", "table"], ["text", "bytes", "table", "rows"])
    ways = {kind: f"toolkit.call_sync('large', kind={kind!r}, size={size})" for kind in kinds}
    ways["stream"] = f"await toolkit.call('much', size={size})"
    for kind, code in ways.items():
        page.log.clear()
        cell = page.run(f"r = {code}\nprint(len(r.text), len(json.dumps(list(toolkit.log)[-1].to_dict())))").ok()
        text, logged = map(int, cell.text.split("\n")[-2].split())
        # What a model gets is bounded by max_result_chars, what a page gets by a record's room.
        assert text <= 20_500
        assert logged < 2_000
        sent[kind] = sum(len(json.dumps(message["content"], default=str)) for message in page.log)
        assert sent[kind] < 300_000, f"{kind} sends {sent[kind]:,} characters to the page"
        plan.count("results of 200 MB in a real kernel")
    # With a name, since IPython keeps the value of a cell in many places.
    cell = page.run(f"r = toolkit.call_sync('shown', size={size})")
    press(page, cell, "Allow once")
    cell.ok()
    plan.count("results of 200 MB in a real kernel")
    page.run("del r\ntoolkit.results.clear()").ok()
    assert look(page)["memory"] - before < 2 * NOISE, "they are gone when they are let go"
    assert page.run("print('fine')").ok().text == "fine\n"
    plan.figure("characters sent to the page for a result of 200 MB", ", ".join(f"{k} {v:,}" for k, v in sent.items()))
