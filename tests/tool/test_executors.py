"""Tools on executors of other processes: dask.distributed's client, a scheduler on its own, ipyparallel, a pool."""

from __future__ import annotations

import asyncio
import linecache
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import distributed as untyped
import ipyparallel
import pandas as pd
import pytest

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.scripted import PlannedApprover
from nbtoolkit.schema.variables import describe, set_variable_resolver
from nbtoolkit.tool.elsewhere import stands_in
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.tool import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

distributed: Any = untyped  # its functions have no types
ROOT = Path(__file__).parent.parent.parent
# Seconds that a cluster may take to start on two busy cores.
START = 40


class Notebook:
    """A resolver over a dict."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}

    def lookup(self, name: str) -> Any:
        return self.variables[name]

    def names(self, kind: type) -> list[str]:
        return [name for name, value in self.variables.items() if isinstance(value, kind)]

    def namespace(self) -> dict[str, Any]:
        return self.variables

    def result(self, number: int) -> Any:
        raise LookupError(number)


@pytest.fixture(autouse=True)
def notebook() -> Iterator[Notebook]:
    made = Notebook()
    set_variable_resolver(made)
    yield made
    set_variable_resolver(None)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    quiet = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": START,
        "distributed.admin.system-monitor.gil.enabled": False,
    }
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            processes=True, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        made.wait_for_workers(1, timeout=START)
        yield made


def toolkit_of(executor: Any, *functions: Callable[..., Any], mode: Any = "bypass") -> Toolkit:
    toolkit = Toolkit(tools=[FunctionTool(func, executor=executor) for func in functions])
    toolkit.mode = mode
    return toolkit


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(START):
        while not reached():  # noqa: ASYNC110 - other processes and threads set no event
            await asyncio.sleep(0.01)


def as_in_a_cell(source: str) -> Any:
    """A function that no module holds, as a cell defines it."""
    names: dict[str, Any] = {"__name__": "__main__", "pd": pd}
    exec(compile(source, "<cell>", "exec"), names)
    return next(value for key, value in names.items() if callable(value) and key not in ("pd", "__builtins__"))


# ---------------------------------------------------------------------- dask.distributed
def test_a_distributed_worker_runs_functions_of_modules_and_cells(client: Any) -> None:
    # ``key`` and ``workers`` are also names that the client's own submit takes.
    cell = as_in_a_cell(
        "import os\ndef where(key: str, /, size: int = 1, *more: int, workers: int = 2) -> dict:\n"
        '    """Say."""\n'
        "    return {'args': [key, size, *more, workers], 'pid': os.getpid()}\n"
    )
    toolkit = toolkit_of(client.get_executor(), workers.double, cell)
    assert toolkit.call_sync("double", n=4).value == 8
    value = toolkit.call_sync("where", key="a", more=[5, 6], workers=3).value
    assert value["args"] == ["a", 1, 5, 6, 3]
    assert value["pid"] != os.getpid()


def test_an_error_on_a_distributed_worker_shows_the_users_own_line(client: Any) -> None:
    failed = toolkit_of(client.get_executor(), workers.double).call_sync("double", n=-1)
    assert failed.state is ToolResultState.ERROR
    first, line = failed.text.split("\n")
    assert first == "ValueError: -1 is negative"
    assert line.endswith('in double: raise ValueError(f"{n} is negative")')


def test_an_error_in_a_cells_function_shows_the_cells_lines(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def share(n: int) -> float:\n"
        '    """Divide."""\n'
        "    def inner(m: int) -> float:\n"
        "        return 1 / m\n"
        "    return inner(n)\n"
    )
    lines = (len(source), None, source.splitlines(keepends=True), "<cell>")
    monkeypatch.setitem(linecache.cache, "<cell>", lines)
    text = toolkit_of(client.get_executor(), as_in_a_cell(source)).call_sync("share", n=0).text
    assert text == (
        "ZeroDivisionError: division by zero\n  line 5, in share: return inner(n)\n  line 4, in inner: return 1 / m"
    )


def test_calls_that_are_equal_each_run(client: Any, tmp_path: Path) -> None:
    def note(path: str) -> int:
        """Add a line."""
        with open(path, "a") as file:  # noqa: PTH123 - it runs elsewhere
            file.write("x")
        return 1

    toolkit = toolkit_of(client.get_executor(), note)
    path = tmp_path / "notes"

    async def twice() -> None:
        await toolkit.call_tools([toolkit.call("note", path=str(path)) for _ in range(2)])

    asyncio.run(twice())
    assert path.read_text() == "xx"


def test_a_future_is_an_argument_by_reference(client: Any, notebook: Notebook) -> None:
    def rows(table: pd.DataFrame, others: list[pd.DataFrame], *, extra: pd.DataFrame) -> list[int]:
        """Count."""
        return [len(table), len(others[0]), len(extra)]

    there = client.submit(pd.DataFrame, {"a": [1, 2, 3]})
    number = client.submit(abs, -3)
    assert (len(there.result(START)), number.result(START)) == (3, 3)
    notebook.variables |= {"there": there, "number": number, "here": pd.DataFrame({"a": [1]})}
    assert describe(there) == "Future of DataFrame"
    toolkit = toolkit_of(client.get_executor(), rows)
    response = toolkit.call_sync("rows", table="there", others=["there"], extra="there")
    assert response.value == [3, 3, 3], response.text
    assert next(iter(toolkit.log)).tool_input == {"table": "there", "others": ["there"], "extra": "there"}
    assert toolkit.call_sync("rows", table="here", others=["there"], extra="here").value == [1, 3, 1]
    refused = toolkit.call_sync("rows", table="number", others=[], extra="here")
    assert refused.state is ToolResultState.ERROR
    assert "it holds a Future, not a DataFrame" in refused.text
    # A tool that runs here would get the future itself.
    local = Toolkit(tools=[FunctionTool(rows)])
    local.mode = "bypass"
    assert "it holds a Future" in local.call_sync("rows", table="there", others=[], extra="here").text


def test_a_lost_worker_is_one_readable_line_and_the_next_call_runs(client: Any) -> None:
    toolkit = toolkit_of(client.get_executor(), workers.vanish, workers.double)
    lost = toolkit.call_sync("vanish")
    assert lost.state is ToolResultState.ERROR
    assert lost.text == (
        "KilledWorker: The worker that ran vanish is lost: it was killed or ran out of memory. What it did until then "
        "stands, and isn't known. Other workers go on."
    )
    assert toolkit.call_sync("double", n=2).value == 4


def test_a_stopped_call_takes_its_distributed_task_back(client: Any, tmp_path: Path) -> None:
    def wait_for(path: str) -> int:
        """Say that it runs, then wait until the file is gone."""
        Path(path).touch()
        deadline = time.monotonic() + 30
        while Path(path).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return 1

    def late(path: str) -> int:
        """Make a file."""
        Path(path).touch()
        return 1

    executor = client.get_executor()
    submit: Any = executor.submit
    submitted: list[Future[int]] = []

    def noting(*args: Any, **kwargs: Any) -> Future[int]:
        submitted.append(submit(*args, **kwargs))
        return submitted[-1]

    executor.submit = noting
    toolkit = toolkit_of(executor, wait_for, late)
    held = [tmp_path / "one", tmp_path / "two"]
    never = tmp_path / "never"

    async def stop_the_last() -> Any:
        # Both threads of the worker are taken, so that the third call waits.
        busy = [asyncio.ensure_future(toolkit.call("wait_for", path=str(path)).complete()) for path in held]
        await until(lambda: all(path.exists() for path in held))
        call = toolkit.call("late", path=str(never))
        waiting = asyncio.ensure_future(call.complete())
        await until(lambda: len(submitted) == 3)
        call.cancel()
        response = await waiting
        for path in held:
            path.unlink()
        await asyncio.gather(*busy)
        return response

    assert asyncio.run(stop_the_last()).state is ToolResultState.INTERRUPTED
    assert [future.cancelled() for future in submitted] == [False, False, True]
    # Taken back from the scheduler too, and not only no longer waited for.
    deadline = time.monotonic() + START
    while keys := client.run_on_scheduler(
        lambda dask_scheduler: [key for key in dask_scheduler.tasks if "late" in key]
    ):
        assert time.monotonic() < deadline, keys


def test_approval_and_log_stay_here(client: Any) -> None:
    toolkit = toolkit_of(client.get_executor(), workers.double, mode="default")
    toolkit.approver = approver = PlannedApprover("allow", "deny: not today")
    assert toolkit.call_sync("double", n=3).value == 6
    assert toolkit.call_sync("double", n=4).state is ToolResultState.DENIED
    assert [request.tool.name for request in approver.asked] == ["double", "double"]
    assert [entry.tool_input for entry in toolkit.log] == [{"n": 3}, {"n": 4}]


def test_an_executor_that_was_shut_down_is_said(client: Any) -> None:
    executor = client.get_executor()
    executor.shutdown()
    text = toolkit_of(executor, workers.double).call_sync("double", n=1).text
    assert text == (
        "RuntimeError: The executor of double was shut down. Make a new one and register the tool with it again."
    )


def test_a_scheduler_in_a_second_process_runs_calls_and_its_end_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    where = ["--scheduler-file", str(file), "--no-dashboard"]
    started: list[subprocess.Popen[bytes]] = []

    def start(module: str, *options: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *where, *options]
        started.append(
            subprocess.Popen(
                command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )

    begun = tmp_path / "begun"

    def wait_long(path: str) -> None:
        """Say that it runs, and wait."""
        Path(path).touch()
        threading.Event().wait(60)

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        start("dask_worker", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")
        deadline = time.monotonic() + START
        while not file.exists() and time.monotonic() < deadline:
            threading.Event().wait(0.05)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            distributed.Client(scheduler_file=str(file), set_as_default=False, timeout=START) as client,
        ):
            client.wait_for_workers(1, timeout=START)
            toolkit = toolkit_of(client.get_executor(), workers.double, wait_long)
            assert toolkit.call_sync("double", n=21).value == 42

            async def lose_it() -> Any:
                running = asyncio.ensure_future(toolkit.call("wait_long", path=str(begun)).complete())
                await until(begun.exists)
                started[0].send_signal(signal.SIGKILL)
                return await asyncio.wait_for(running, START)

            lost = asyncio.run(lose_it())
            assert lost.state is ToolResultState.ERROR
            assert lost.text.startswith("Lost: The executor gave the call of wait_long up: its connection was closed")
    finally:
        for process in started:
            process.kill()
            process.wait()


# ---------------------------------------------------------------------- ipyparallel
def test_an_ipyparallel_engine_runs_tools(engines: ipyparallel.Client, notebook: Notebook) -> None:
    def total(numbers: pd.Series, *, times: int = 1) -> Any:
        """Add."""
        return sum(numbers) * times

    def fail(n: int) -> int:
        """Fail."""
        raise ValueError(f"{n} is wrong")

    # Its last one, since it will be lost.
    engine = engines[-1]
    engine["kept"] = [1, 2, 3]
    notebook.variables["kept"] = ipyparallel.Reference("kept")
    toolkit = toolkit_of(engine.executor, total, fail, workers.vanish)
    assert toolkit.call_sync("total", numbers="kept", times=2).value == 12
    failed = toolkit.call_sync("fail", n=5)
    assert failed.state is ToolResultState.ERROR
    first, line = failed.text.split("\n")
    assert first == "ValueError: 5 is wrong"
    assert line.endswith('in fail: raise ValueError(f"{n} is wrong")')
    lost = toolkit.call_sync("vanish")
    assert lost.state is ToolResultState.ERROR
    assert lost.text.startswith("EngineError: The engine that ran vanish is lost: it was killed")
    assert lost.text.count("\n") == 0


# ---------------------------------------------------------------------- without an engine's help
class ViewExecutor:
    """An ipyparallel view's executor, as far as a call looks at it."""

    def __init__(self, outcome: BaseException | None = None) -> None:
        self.outcome, self.view, self.aborted = outcome, self, list[Any]()
        self.submitted = threading.Event()

    def submit(self, func: Any, *args: Any, **kwargs: Any) -> Future[Any]:
        made: Future[Any] = Future()
        made.set_running_or_notify_cancel()
        if self.outcome is not None:
            made.set_exception(self.outcome)
        self.submitted.set()
        return made

    def abort(self, jobs: list[Any], *, block: bool) -> None:
        assert not block
        self.aborted += jobs


def test_a_stopped_call_is_aborted_on_ipyparallels_engine() -> None:
    executor = ViewExecutor()
    toolkit = toolkit_of(executor, workers.double)

    async def stop() -> Any:
        call = toolkit.call("double", n=1)
        waiting = asyncio.ensure_future(call.complete())
        await until(executor.submitted.is_set)
        call.cancel()
        return await waiting

    assert asyncio.run(stop()).state is ToolResultState.INTERRUPTED
    assert len(executor.aborted) == 1


def test_an_engines_errors_are_told_as_pythons_own() -> None:
    traceback = (
        "\x1b[31m-----\x1b[39m\n\x1b[31mKeyError\x1b[39m  Traceback (most recent call last)\n"
        f"File {os.__file__}:1, in walk(top)\n----> 1 yield 1\n\n"
        "\x1b[36mFile \x1b[39m\x1b[32m/there/job.py:9\x1b[39m, in \x1b[36mfit\x1b[39m(n)\n      8 x = 1\n"
        "----> 9     raise KeyError(n)\n\nKeyError: 5"
    )
    remote = ipyparallel.error.RemoteError("KeyError", "5", traceback, {"engine_id": 0})
    for error in (remote, ipyparallel.error.CompositeError("one", [("KeyError", "5", traceback, {})])):
        toolkit = toolkit_of(ViewExecutor(error), workers.double)
        assert toolkit.call_sync("double", n=5).text == "KeyError: 5\n  line 9, in fit: raise KeyError(n)"
    none = toolkit_of(ViewExecutor(ipyparallel.error.NoEnginesRegistered("none")), workers.double)
    assert none.call_sync("double", n=5).text.startswith("NoEnginesRegistered: There is no engine to run double:")


def test_a_reference_names_anything_on_ipyparallels_engine_and_nothing_elsewhere() -> None:
    reference = ipyparallel.Reference("table")
    assert stands_in(ViewExecutor(), reference, pd.DataFrame)  # type: ignore[arg-type]
    assert not stands_in(ViewExecutor(), "table", pd.DataFrame)  # type: ignore[arg-type]
    with ProcessPoolExecutor(1) as pool:
        assert not stands_in(pool, reference, pd.DataFrame)


def test_what_cannot_travel_to_a_pool_of_processes_is_said() -> None:
    def inner(n: int) -> int:
        """Double."""
        return n

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        text = toolkit_of(pool, inner).call_sync("inner", n=1).text
    first = text.partition("\n")[0]
    assert "inner, an argument or its result can't travel to a process:" in first
    assert first.endswith("takes functions that stand at the top of a module or cell, and values that pickle carries.")


def test_a_generator_is_refused_on_every_executor_of_processes() -> None:
    def pieces() -> Iterator[int]:
        """Count."""
        yield 1

    with pytest.raises(DeveloperOrientedException, match="is a generator, which can't come back"):
        FunctionTool(pieces, executor=ViewExecutor())  # type: ignore[arg-type]
