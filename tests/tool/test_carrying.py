"""Progress and stops across processes, and workers that are lost in the middle of a call."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import distributed as untyped
import ipyparallel
import pytest

from nbtoolkit.exception import DeveloperOrientedException, ToolInterruptedError
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.scripted import PlannedApprover
from nbtoolkit.tool import report_progress
from nbtoolkit.tool.elsewhere import TRIES
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.progress import Progress, current_call, observers
from nbtoolkit.tool.toolkit import Toolkit
from tests.tool import workers
from tests.tool.test_executors import START, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtoolkit.tool.result import ToolResponse

distributed: Any = untyped  # its functions have no types


@pytest.fixture
def reports() -> Iterator[list[Progress]]:
    heard: list[Progress] = []
    observers.append(heard.append)
    yield heard
    observers.remove(heard.append)


def toolkit_of(*functions: Callable[..., Any], **options: Any) -> Toolkit:
    toolkit = Toolkit(tools=[FunctionTool(func, **options) for func in functions])
    toolkit.mode = "bypass"
    return toolkit


def spawned(workers: int = 1) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def told(reports: list[Progress]) -> list[tuple[float, float | None, str | None, bool]]:
    return [(each.progress, each.total, each.message, each.ended) for each in reports]


async def stop_once(toolkit: Toolkit, begun: Callable[[], object], name: str, **arguments: Any) -> ToolResponse:
    call = toolkit.call(name, **arguments)
    waiting = asyncio.ensure_future(call.complete())
    await until(begun)  # type: ignore[arg-type]
    call.cancel()
    return await asyncio.wait_for(waiting, START)


# ---------------------------------------------------------------------------------------------------- in this process
def count(to: int) -> int:
    """Count."""
    for n in range(1, to + 1):
        report_progress(n, to, f"at {n}")
    return to


def test_a_function_reports_from_the_calling_thread_and_the_last_report_says_so(reports: list[Progress]) -> None:
    toolkit = toolkit_of(count)
    assert toolkit.call_sync("count", to=2).value == 2
    assert told(reports) == [(1, 2, "at 1", False), (2, 2, "at 2", False), (2, 2, "at 2", True)]
    assert {each.tool for each in reports} == {"count"}
    assert {each.run for each in reports} == {reports[0].run}
    assert reports[0].call.entry is next(iter(toolkit.log))


async def count_async(to: int) -> int:
    """Count."""
    for n in range(to):
        report_progress(n + 1, to)
        await asyncio.sleep(0)
    return to


def count_out(to: int) -> Any:
    """Count."""
    for n in range(to):
        report_progress(n + 1, to)
        yield f"{n}\n"


async def count_out_async(to: int) -> Any:
    """Count."""
    for n in range(to):
        report_progress(n + 1, to)
        yield f"{n}\n"


@pytest.mark.parametrize("func", [count_async, count_out, count_out_async])
def test_so_do_coroutines_and_generators(func: Callable[..., Any], reports: list[Progress]) -> None:
    toolkit = toolkit_of(func)
    assert toolkit.call_sync(func.__name__, to=2).state is ToolResultState.SUCCESS
    assert [each[:2] for each in told(reports)] == [(1, 2), (2, 2), (2, 2)]

    async def chunks() -> list[Any]:
        return [each async for each in toolkit.call(func.__name__, to=2)]

    asyncio.run(chunks())
    assert [each[:2] for each in told(reports[3:])] == [(1, 2), (2, 2), (2, 2)]


def test_a_plain_call_of_the_function_reports_to_nobody(reports: list[Progress]) -> None:
    assert count(3) == 3
    asyncio.run(FunctionTool(count)(to=3))
    assert reports == []


@pytest.mark.parametrize("given", [("much",), (None,), (1, "all")])
def test_what_is_no_number_is_the_programmers_mistake(given: Any) -> None:
    with pytest.raises(TypeError, match="must be a number, got"):
        report_progress(*given)


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("pool", [False, True])
def test_a_thread_reports_and_ends_at_its_next_report_when_its_call_was_stopped(
    pool: bool, generator: bool, reports: list[Progress]
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> int:
        try:
            while True:
                report_progress(1, 2)
                begun.set()
        except ToolInterruptedError as error:
            if "work was stopped" in str(error):
                ended.set()
            raise

    def long() -> int:
        """Work."""
        return work()

    def long_out() -> Any:
        """Work."""
        yield "begun\n"
        work()

    with ThreadPoolExecutor(1) as threads:
        options: dict[str, Any] = {"executor": threads} if pool else {"thread": True}
        toolkit = Toolkit(tools=[FunctionTool(long_out if generator else long, name="work", **options)])
        toolkit.mode = "bypass"
        response = asyncio.run(stop_once(toolkit, lambda: begun.is_set() and reports, "work"))
        assert response.state is ToolResultState.INTERRUPTED
        assert ended.wait(START)
    assert reports[0].progress == 1
    assert reports[-1].ended


@pytest.mark.parametrize("generator", [False, True])
def test_a_function_that_holds_the_loop_is_interrupted_at_its_next_report_and_nobody_else_is(generator: bool) -> None:
    def work() -> None:
        # Stop is pressed in another thread: this one is busy.
        press = threading.Thread(target=current_call.get().cancel)
        press.start()
        press.join()
        report_progress(1, 2)

    def long() -> None:
        """Work."""
        work()

    def long_out() -> Any:
        """Work."""
        yield "begun\n"
        work()

    toolkit = Toolkit(tools=[FunctionTool(long_out if generator else long, name="work")])
    toolkit.mode = "bypass"

    async def main() -> ToolResponse:
        response = await toolkit.call("work")
        await asyncio.sleep(0)
        return response

    response = asyncio.run(main())
    assert response.state is ToolResultState.INTERRUPTED
    assert response.text.endswith("The call was interrupted before it ended.")


# ------------------------------------------------------------------------------------------------- a pool of processes
@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with spawned() as made:
        yield made


def test_a_process_reports_to_the_notebook(pool: ProcessPoolExecutor, reports: list[Progress]) -> None:
    toolkit = toolkit_of(workers.count, executor=pool)
    assert toolkit.call_sync("count", to=3, pause=0.1).value == 3
    # The newest count, and the last one with the call's end.
    assert told(reports)[-1] == (3, 3, "at 3", True)
    assert (1, 3, "at 1", False) in told(reports)
    assert reports[0].call.entry.tool == "count"


@pytest.mark.parametrize("name", ["sleep", "spin", "stubborn"])
def test_a_stop_ends_what_a_process_does_and_the_process_takes_the_next_call(
    pool: ProcessPoolExecutor, name: str, tmp_path: Path
) -> None:
    toolkit = toolkit_of(getattr(workers, name), workers.double, workers.pid, executor=pool)
    before = toolkit.call_sync("pid").value
    file = tmp_path / "begun"
    response = asyncio.run(stop_once(toolkit, file.exists, name, path=str(file)))
    assert response.state is ToolResultState.INTERRUPTED
    # There is one process: it would be busy for a minute.
    begun = time.monotonic()
    assert toolkit.call_sync("double", n=4).value == 8
    assert time.monotonic() - begun < 30
    assert toolkit.call_sync("pid").value == before
    assert file.read_text() == "ended"


def test_a_call_that_waits_in_the_pools_queue_never_begins_once_it_was_stopped(
    pool: ProcessPoolExecutor, tmp_path: Path
) -> None:
    toolkit = toolkit_of(workers.hold, workers.double, workers.touch, executor=pool)
    held, never = tmp_path / "held", tmp_path / "never"

    async def stop_those_behind() -> list[Any]:
        busy = asyncio.ensure_future(toolkit.call("hold", path=str(held)).complete())
        await until(held.exists)
        # The pool takes one more than it has processes for.
        calls = [toolkit.call("touch", path=str(never)) for _ in range(3)]
        waiting = [asyncio.ensure_future(call.complete()) for call in calls]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        responses = await asyncio.gather(*waiting)
        held.unlink()
        await busy
        return responses

    assert {response.state for response in asyncio.run(stop_those_behind())} == {ToolResultState.INTERRUPTED}
    assert toolkit.call_sync("double", n=1).value == 2
    assert not never.exists()


def test_a_lost_process_is_an_error_and_a_function_makes_the_next_pool() -> None:
    made: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        made.append(spawned())
        return made[-1]

    toolkit = toolkit_of(workers.vanish, workers.double, executor=make)
    assert made == []
    lost = toolkit.call_sync("vanish")
    assert lost.state is ToolResultState.ERROR
    assert "BrokenProcessPool: The worker that was to run vanish is lost" in lost.text
    assert "mended" not in str(lost.metadata)
    # Each tool has its own.
    assert toolkit.call_sync("double", n=2).value == 4
    again = toolkit.call_sync("vanish")
    assert again.state is ToolResultState.ERROR
    assert len(made) == 3
    for each in made:
        each.shutdown()


def test_an_idempotent_call_is_run_again_three_times_at_most_and_its_record_says_so(tmp_path: Path) -> None:
    made: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        made.append(spawned())
        return made[-1]

    toolkit = toolkit_of(workers.vanish_at_first, executor=make, is_idempotent=True)
    toolkit.approver = approver = PlannedApprover("allow", "allow")
    toolkit.mode = "default"
    once = tmp_path / "once"
    assert toolkit.call_sync("vanish_at_first", path=str(once), times=1).value == 2
    entry = next(iter(toolkit.log))
    assert entry.mended == ("the worker of vanish_at_first was lost, so it was run again (try 2 of 3)",)
    always = tmp_path / "always"
    lost = toolkit.call_sync("vanish_at_first", path=str(always), times=99)
    assert lost.state is ToolResultState.ERROR
    assert lost.text.endswith(f"It was tried {TRIES} times.")
    assert always.read_text() == "x" * TRIES
    # One question for a call, however often it is run.
    assert len(approver.asked) == 2
    for each in made:
        each.shutdown()


def test_that_a_call_may_be_repeated_is_told_to_clients_in_mcps_words() -> None:
    from nbtoolkit.agents.serving.forms import to_definition

    for is_idempotent, hint in ((True, True), (False, None)):
        toolkit = toolkit_of(workers.double, is_idempotent=is_idempotent)
        [group] = toolkit.tool_groups
        annotations = to_definition(group.tools[0], group).annotations
        assert annotations is not None
        assert annotations.idempotent_hint is hint


def test_what_makes_no_executor_is_said() -> None:
    with pytest.raises(DeveloperOrientedException, match=r"executor must be a concurrent\.futures\.Executor or"):
        FunctionTool(workers.double, executor=5)  # type: ignore[arg-type]
    with pytest.raises(DeveloperOrientedException, match="executor made 5, which is no"):
        toolkit_of(workers.double, executor=lambda: 5).call_sync("double", n=1)


# ---------------------------------------------------------------------------------------------------- dask.distributed
@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes that a scheduler in this one restarts; it begins a lost worker's calls anew, as it does by default."""
    quiet = {"distributed.comm.timeouts.connect": START, "distributed.admin.system-monitor.gil.enabled": False}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=60
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        made.wait_for_workers(2, timeout=START)
        yield made


def test_a_distributed_worker_reports_to_the_notebook(cluster: Any, reports: list[Progress]) -> None:
    toolkit = toolkit_of(workers.count, executor=cluster)
    assert toolkit.call_sync("count", to=3, pause=0.2).value == 3
    assert (1, 3, "at 1", False) in told(reports)
    assert reports[-1].ended


def test_a_client_is_an_executor_that_carries_though_another_schedulers_is_the_current_one(
    cluster: Any, reports: list[Progress]
) -> None:
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=60
        ) as other,
        distributed.Client(other) as current,
    ):
        for executor in (lambda: cluster, current.get_executor()):
            reports.clear()
            toolkit = toolkit_of(workers.count, executor=executor)
            assert toolkit.call_sync("count", to=3, pause=0.2).value == 3
            assert (1, 3, "at 1", False) in told(reports)


def test_a_stop_reaches_a_distributed_worker_at_its_next_report(cluster: Any, tmp_path: Path) -> None:
    toolkit = toolkit_of(workers.stubborn, executor=cluster)
    file = tmp_path / "begun"
    response = asyncio.run(stop_once(toolkit, file.exists, "stubborn", path=str(file)))
    assert response.state is ToolResultState.INTERRUPTED

    async def end() -> None:
        await until(lambda: file.read_text() == "ended")

    asyncio.run(end())


# Another worker has to start, which loads the library.
@pytest.mark.timeout(240)
def test_a_call_whose_distributed_worker_is_lost_has_begun_once(cluster: Any, tmp_path: Path) -> None:
    # An executor doesn't say whose it is, and no client is the current one: reports go unheard, and the call is one run.
    toolkit = toolkit_of(workers.vanish_at_first, workers.double, executor=cluster.get_executor())
    file = tmp_path / "runs"
    lost = toolkit.call_sync("vanish_at_first", path=str(file), times=99)
    assert lost.state is ToolResultState.ERROR
    assert lost.text.startswith("KilledWorker: The worker that ran vanish_at_first is lost: it was killed")
    assert file.read_text() == "x"
    assert toolkit.call_sync("double", n=1).value == 2


@pytest.mark.timeout(240)
def test_an_idempotent_call_is_begun_anew_by_the_scheduler_and_its_record_says_so(cluster: Any, tmp_path: Path) -> None:
    toolkit = toolkit_of(workers.vanish_at_first, executor=cluster, is_idempotent=True)
    file = tmp_path / "runs"
    assert toolkit.call_sync("vanish_at_first", path=str(file), times=1).value == 2
    assert next(iter(toolkit.log)).mended == ("workers of vanish_at_first were lost, and it began 2 times",)


# --------------------------------------------------------------------------------------------------------- ipyparallel
def test_an_engine_reports_to_the_notebook_and_a_stop_ends_what_it_does(
    engines: ipyparallel.Client, reports: list[Progress], tmp_path: Path
) -> None:
    engine = engines[0]
    toolkit = toolkit_of(workers.count, workers.sleep, workers.double, executor=engine.executor)
    assert toolkit.call_sync("count", to=4, pause=0.3).value == 4
    assert told(reports)[-1][0] in (3, 4)
    assert reports[-1].ended
    file = tmp_path / "begun"
    response = asyncio.run(stop_once(toolkit, file.exists, "sleep", path=str(file)))
    assert response.state is ToolResultState.INTERRUPTED
    begun = time.monotonic()
    assert toolkit.call_sync("double", n=4).value == 8
    assert time.monotonic() - begun < 30
    assert file.read_text() == "ended"


def test_a_stop_ends_what_any_engine_of_a_balanced_view_does_and_no_other_call(
    engines: ipyparallel.Client, tmp_path: Path
) -> None:
    view = engines.load_balanced_view()
    toolkit = toolkit_of(workers.sleep, workers.hold, executor=view.executor)

    async def all_of_it() -> list[ToolResponse]:
        ended: list[ToolResponse] = []
        # Whichever engine has the one that is stopped, the other one has this.
        held = tmp_path / "held"
        other = asyncio.ensure_future(toolkit.call("hold", path=str(held)).complete())
        await until(held.exists)
        for number in range(2):
            file = tmp_path / f"begun-{number}"
            ended.append(await stop_once(toolkit, file.exists, "sleep", path=str(file)))
            await until(lambda file=file: file.read_text() == "ended")  # type: ignore[misc]
        held.unlink()
        return [*ended, await asyncio.wait_for(other, START)]

    states = [response.state for response in asyncio.run(all_of_it())]
    assert states == [ToolResultState.INTERRUPTED, ToolResultState.INTERRUPTED, ToolResultState.SUCCESS]


def test_a_signal_to_a_process_between_two_calls_does_no_harm(pool: ProcessPoolExecutor) -> None:
    toolkit = toolkit_of(workers.double, workers.pid, executor=pool)
    process = toolkit.call_sync("pid").value
    if hasattr(signal, "SIGURG"):
        os.kill(process, signal.SIGURG)
    assert toolkit.call_sync("double", n=1).value == 2
