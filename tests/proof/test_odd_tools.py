"""Tools that do what no tool should, and shells that are emptied or stopped all the time: calls go on, and are logged."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.kernel.frontend import Cell, FrontEnd, KernelProcess
from tests.mcp.support import alive
from tests.proof.plan import LIMIT, LONG, Plan, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.environments import KernelEnvironment

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(LIMIT)]

SETUP = """
%load_ext nbtoolkit
import asyncio, json, multiprocessing, os, signal, sys, threading, time, warnings
from nbtoolkit.permission import PermissionBehavior, PermissionDecision
RAN = os.path.abspath("ran.txt")
freely = PermissionDecision(PermissionBehavior.ALLOW, "as you like")

@tool(permission=freely)
def add(a: int) -> int:
    "Add."
    return a + 1

@tool
def ask(number: int) -> int:
    "Ask."
    with open(RAN, "a") as file:
        file.write(f"{number}\\n")
    return number

def log():
    return [[entry.number, entry.tool, entry.state.value, entry.words] for entry in toolkit.log]
"""


@pytest.fixture(scope="module")
def kernel(newest_kernel_env: KernelEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    kernel = KernelProcess(newest_kernel_env, tmp_path_factory.mktemp("odd"))
    yield kernel
    kernel.stop()


def opened(kernel: KernelProcess) -> FrontEnd:
    page = FrontEnd(kernel).connect()
    page.run("scheduling.uninstall()").ok()
    page.run(SETUP).ok()
    return page


@pytest.fixture
def page(kernel: KernelProcess) -> Iterator[FrontEnd]:
    page = opened(kernel)
    yield page
    page.close()
    # Each leaves it odd in its own way.
    kernel.restart()


def buttons(page: FrontEnd, label: str, *cells: Cell) -> list[str]:
    return [m for m in page.on_screen(*cells) if str(page.models[m].get("description")).split("\n")[0] == label]


def press(page: FrontEnd, label: str, *cells: Cell) -> None:
    page.until(lambda: buttons(page, label, *cells), f"{label!r} on the screen")
    page.press(buttons(page, label, *cells)[-1])


def works(page: FrontEnd) -> None:
    """A plain call, an awaited one, and one that asks, still go their way and are logged."""
    assert page.run("print(toolkit.call_sync('add', a=1).value)").ok().text.endswith("2\n")
    assert page.run("print((await toolkit.call('add', a=2)).value)").ok().text.endswith("3\n")
    for code in ("toolkit.call_sync('ask', number=7)", "await toolkit.call('ask', number=8)"):
        cell = page.run(code)
        queued = page.run("print('after')")
        press(page, "Allow once", cell)
        assert "allowed once" in cell.ok().text
        assert queued.ok().text == "after\n"
    last = json.loads(page.run("print(json.dumps(log()[-4:]))").ok().text)
    assert [row[1:3] for row in last] == [
        ["add", "success"],
        ["add", "success"],
        ["ask", "success"],
        ["ask", "success"],
    ]


ODD = {
    "forks": """
@tool(permission=freely)
def odd() -> int:
    "Fork while threads run."
    threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
    "forks with multiprocessing": """
@tool(permission=freely)
def odd() -> int:
    "Compute in a forked process."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return sum(pool.map(abs, [-3, -4]))
""",
    "calls tools in a forked process": """
@tool(permission=freely)
def odd() -> int:
    "Call a tool in a fork."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            from nbtoolkit.tool import FunctionTool, Toolkit
            code = Toolkit(tools=[FunctionTool(add, permission=freely)]).call_sync("add", a=6).value
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
    "replaces the event loop policy": """
class Policy(asyncio.DefaultEventLoopPolicy):
    pass
@tool(permission=freely)
def odd() -> int:
    "Replace the policy."
    asyncio.set_event_loop_policy(Policy())
    return 7
""",
    "sets another event loop": """
@tool(permission=freely)
def odd() -> int:
    "Set another loop."
    asyncio.set_event_loop(asyncio.new_event_loop())
    return 7
""",
    "runs a loop of its own": """
@tool(permission=freely)
def odd() -> int:
    "Run a loop."
    async def seven():
        await asyncio.sleep(0)
        return 7
    return asyncio.run(seven())
""",
    "lets loops nest": """
@tool(permission=freely)
def odd() -> int:
    "Let loops nest."
    import nest_asyncio2
    nest_asyncio2.apply()
    return 7
""",
    "stops its loop": """
@tool(permission=freely)
async def odd() -> int:
    "Stop the loop that runs it."
    loop = asyncio.get_running_loop()
    if loop is not MAIN:
        loop.stop()
        await asyncio.sleep(0)
    return 7
""",
    "redirects stdout": """
@tool(permission=freely)
def odd() -> int:
    "Redirect stdout."
    sys.stdout = sys.stderr = open(os.devnull, "w")
    print("nowhere")
    return 7
""",
    "closes stdout": """
@tool(permission=freely)
def odd() -> int:
    "Close the descriptor of stdout."
    os.close(1)
    return 7
""",
    "changes the folder": """
HOME = os.getcwd()
@tool(permission=freely)
def odd() -> int:
    "Go elsewhere, which is gone then."
    os.makedirs(HOME + "/gone")
    os.chdir(HOME + "/gone")
    os.rmdir(HOME + "/gone")
    return 7
""",
    "takes the stop button": """
@tool(permission=freely)
def odd() -> int:
    "Take SIGINT and an alarm."
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return 7
""",
    "empties the log": """
@tool(permission=freely)
def odd() -> int:
    "Forget."
    toolkit.log.clear(); toolkit.results.clear()
    return 7
""",
    "exits": """
@tool(permission=freely)
def odd() -> int:
    "Leave."
    raise SystemExit(7)
""",
    "recurses": """
@tool(permission=freely)
def odd() -> int:
    "Never come back."
    return odd()
""",
}
FEW = ("forks", "replaces the event loop policy")


@pytest.mark.parametrize("kind", ODD if LONG else FEW)
def test_a_tool_that_does_what_none_should_spoils_no_later_call(page: FrontEnd, kind: str, plan: Plan) -> None:
    page.run("MAIN = asyncio.get_running_loop()" if kind == "stops its loop" else "MAIN = None").ok()
    page.run(ODD[kind]).ok()
    for way in ("r = toolkit.call_sync('odd')", "r = await toolkit.call('odd')"):
        if kind == "closes stdout" and way.startswith("r = await"):
            continue
        page.run(way).ok()
        # Where stdout is gone, only a value can tell.
        told = page.run("[r.state.value, r.value]").ok().of("execute_result")[0]["data"]["text/plain"]
        assert told == ("['error', None]" if kind in {"exits", "recurses"} else "['success', 7]"), told
        plan.count("odd tools in a real kernel")
    if kind == "redirects stdout":
        page.run("sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__").ok()
        page.run("from ipykernel.iostream import OutStream\nimport ipykernel\nk = get_ipython().kernel").ok()
        assert page.run("r = toolkit.call_sync('add', a=1); r.value").ok().of("execute_result")
        return
    works(page)


def test_a_shell_that_is_emptied_or_reloads_its_modules_goes_on_with_its_tools(
    page: FrontEnd, kernel: KernelProcess, plan: Plan
) -> None:
    module = kernel.folder / "own_tools.py"
    note = "def note(number: int) -> int:\n    'Note.'\n    open('ran.txt', 'a').write(f'{number}\\n')\n    return number\n"
    module.write_text(f"{note}def double(a: int) -> int:\n    'Double.'\n    return a * 2\n")
    page.run("%load_ext autoreload\n%autoreload 2\nimport own_tools").ok()
    page.run("tool(permission=freely)(own_tools.double)").ok()
    assert page.run("print(toolkit.call_sync('double', a=2).value)").ok().text.endswith("4\n")
    module.write_text(f"{note}def double(a: int) -> int:\n    'Double, and one.'\n    return a * 2 + 1\n\n\nMORE = 1\n")
    os.utime(module, (time.time() + 5, time.time() + 5))
    assert page.run("print(toolkit.call_sync('double', a=2).value)").ok().text.endswith("5\n")
    plan.count("shells that were emptied or reloaded")
    page.run("%reset -f").ok()
    page.run(
        "import json\nfrom nbtoolkit import get_toolkit\nfrom nbtoolkit.tool import tool\ntoolkit = get_toolkit()"
    ).ok()
    assert page.run("%toolkit call add a=1").ok().text.strip().endswith("2")
    cell = page.run("%toolkit call ask number=1")
    press(page, "Deny", cell)
    assert "denied" in cell.ok().text
    assert page.run("%toolkit log").ok().text.startswith("4 calls")
    plan.count("shells that were emptied or reloaded")
    (kernel.folder / "ran.txt").unlink(missing_ok=True)
    # While a question waits: in a task that only the emptied namespace named, and of a cell that holds the kernel. What
    # runs then knows its module, and no name of the notebook's.
    page.run("import asyncio, own_tools\nfrom nbtoolkit.tool import tool\ntool(own_tools.note)").ok()
    cell = page.run("waiting = asyncio.ensure_future(toolkit.call('note', number=2).complete())").ok()
    page.until(lambda: buttons(page, "Allow once", cell), "the card")
    page.run("%reset -f").ok()
    left = page.run("import gc; gc.collect(); 'waiting' in globals()").ok().of("execute_result")
    assert left[0]["data"]["text/plain"] == "False"
    press(page, "Allow once", cell)
    # The record comes behind the run.
    page.until(lambda: ran(kernel) == [2], "the call that was allowed")
    cell = page.run("%toolkit call note number=3")
    page.until(lambda: buttons(page, "Allow once", cell), "the card")
    page.run("%reset -f")
    press(page, "Allow once", cell)
    assert "allowed once" in cell.ok().text
    assert ran(kernel) == [2, 3]
    plan.count("shells that were emptied or reloaded", 2)


def ran(kernel: KernelProcess) -> list[int]:
    file = kernel.folder / "ran.txt"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_a_card_of_a_kernel_that_was_restarted_decides_nothing_in_the_new_one(
    page: FrontEnd, kernel: KernelProcess, plan: Plan
) -> None:
    for number in range(plan.pick(1, 5)):
        cell = page.run(f"toolkit.call_sync('ask', number={100 + number})")
        page.until(lambda page=page, cell=cell: buttons(page, "Allow once", cell), "the card")  # type: ignore[misc]
        old = buttons(page, "Allow once", cell)[0]
        (kernel.folder / "ran.txt").unlink(missing_ok=True)
        page.close()
        kernel.restart()
        page = opened(kernel)
        waiting = page.run(f"toolkit.call_sync('ask', number={200 + number})")
        page.until(lambda: buttons(page, "Allow once", waiting), "the new card")  # noqa: B023 - it is called here
        for _ in range(3):
            page.press(old)
        page.live(0.2)
        assert not waiting.done
        assert ran(kernel) == [], "no call ran"
        press(page, "Deny", waiting)
        assert "denied" in waiting.ok().text
        assert json.loads(page.run("print(json.dumps(log()))").ok().text) == [[1, "ask", "denied", "denied"]]
        assert ran(kernel) == []
        plan.count("restarts of a kernel with a question waiting")
    page.close()


def over(cell: Cell) -> bool:
    """Whether a cell has ended; an interrupt while the kernel sends its reply costs that, without any tool as well."""
    return bool(cell.states) and cell.states[-1] == "idle"


def test_a_storm_of_interrupts_leaves_each_call_in_the_log_once_and_the_kernel_well(
    page: FrontEnd, kernel: KernelProcess, plan: Plan
) -> None:
    chance = plan.chance("interrupts")
    page.run(
        """
@tool(permission=freely)
def spin(seconds: float) -> int:
    "Compute."
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))
    return 1
@tool(permission=freely)
async def wait(seconds: float) -> int:
    "Wait."
    await asyncio.sleep(seconds)
    return 1
"""
    ).ok()
    codes = [
        "for _ in range(50): toolkit.call_sync('spin', seconds=0.02)",
        "for _ in range(50): await toolkit.call('wait', seconds=0.02)",
        "await toolkit.call_tools([toolkit.call('wait', seconds=1) for _ in range(20)])",
        "for _ in range(500): toolkit.call_sync('add', a=1)",
        "toolkit.call_sync('ask', number=1)",
    ]
    storms = plan.pick(4, 120)
    for _ in range(storms):
        cell = page.run(chance.choice(codes))
        # One that a late interrupt of the last storm aborted, as Jupyter does, never begins.
        page.until(lambda cell=cell: cell.ran or cell.done, "the cell to begin")  # type: ignore[misc]
        page.live(chance.uniform(0, 0.15))
        for _ in range(chance.randrange(1, 4)):
            if over(cell):
                break
            kernel.interrupt()
            plan.count("interrupts in a storm")
            page.live(chance.uniform(0, 0.02))
        deadline = time.monotonic() + 20
        while not over(cell) and time.monotonic() < deadline:
            page.live(0.05)
        if not over(cell):
            kernel.interrupt()
        page.until(lambda cell=cell: over(cell), "the end of a cell that was interrupted")  # type: ignore[misc]
        page.log.clear()
    # One that came late must not strike the next cell.
    for _ in range(2):
        cell = page.run("pass")
        page.until(lambda cell=cell: over(cell), "the end of a cell behind the storm")  # type: ignore[misc]
    page.live(0.5)
    rows = json.loads(page.run("print(json.dumps(log()))").ok().text.splitlines()[-1])
    numbers = [row[0] for row in rows]
    assert numbers == sorted(set(numbers)), "none twice"
    last = int(page.run("print(toolkit.log.next_number())").ok().text)
    assert len(numbers) == last - 1, "none lost"
    assert {row[2] for row in rows} <= {"success", "interrupted"}
    works(page)


def test_a_kernel_that_is_killed_at_any_moment_leaves_a_whole_journal_and_nothing_alive(
    newest_kernel_env: KernelEnvironment, tmp_path: Path, plan: Plan, new_kernel: Callable[[], KernelProcess]
) -> None:
    from tests.mcp.support import PLAIN
    from tests.proof.test_killed_writers import check_journal

    chance = plan.chance("kernel")
    pids = tmp_path / "pids"
    pids.touch()
    kills = plan.pick(1, 12)
    for number in range(kills):
        kernel = new_kernel()
        page = opened(kernel)
        page.run(
            f"""
from concurrent.futures import ProcessPoolExecutor
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.tool import Bash
config = StdioMCPConfig(command=sys.executable, args=["-S", {str(PLAIN)!r}, "--fork", "--pids", {str(pids)!r}])
client = MCPClient(name="plain", is_stateful=True, mcp_config=config)
await client.connect()
await toolkit.add_tool(client)
await toolkit.add_tool(Bash())
toolkit.mode = "bypass"
effects = os.open("effects", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
@tool
def work(number: int) -> str:
    "Work."
    os.write(effects, f"{{number}}\\n".encode())
    return "x" * 2_000
toolkit.log.keep("journal.jsonl")
tasks = [asyncio.ensure_future(toolkit.call("mcp__plain__sleep", seconds=300).complete()),
         asyncio.ensure_future(toolkit.call("Bash",
            command="echo $$ >> {pids}; sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids}; wait").complete())]
while len(open({str(pids)!r}).read().split()) < {6 * number + 6}:
    await asyncio.sleep(0.01)
"""
        ).ok()
        page.run("for number in range(10**6): await toolkit.call('work', number=number)")
        until(lambda kernel=kernel: (kernel.folder / "effects").exists(), "the first call")  # type: ignore[misc]
        page.live(chance.uniform(0, 0.3))
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.process.wait(20)
        page.close()
        started = [int(pid) for pid in pids.read_text().split()]
        until(lambda started=started: not any(map(alive, started)), "the end of all that it started")  # type: ignore[misc]
        rows = [json.loads(line) for line in (kernel.folder / "journal.jsonl").read_text().split("\n")[:-1]]
        # The two that never ended stand there as allowed.
        kept = [row for row in rows if row["tool"] == "work"]
        (kernel.folder / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
        if kept:
            check_journal(kernel.folder)
        plan.count("kill -9 of a real kernel with calls under way")
    assert len(pids.read_text().split()) == 6 * kills
