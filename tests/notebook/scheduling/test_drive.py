"""`drive` in scripts and threads: a private loop, nothing left behind, a stop that arrives."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nbtoolkit.notebook.scheduling import (
    allow_nested_run,
    disallow_nested_run,
    drive,
    install,
    run_in_worker,
    run_sync,
    uninstall,
)

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")


async def value(result: Any = "value") -> Any:
    await asyncio.sleep(0)
    return result


async def fails() -> None:
    await asyncio.sleep(0)
    raise ValueError("no")


async def calls(fn: Any, *args: Any) -> Any:
    return fn(*args)


def test_it_gives_the_value() -> None:
    assert drive(value()) == "value"


def test_it_raises_what_the_coroutine_raises() -> None:
    with pytest.raises(ValueError, match="no"):
        drive(fails())
    assert drive(value()) == "value"


def test_it_works_under_a_running_loop_and_leaves_that_running() -> None:
    async def outer() -> tuple[Any, bool, bool]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        result = drive(value())
        await asyncio.sleep(0)
        return result, asyncio.get_running_loop() is loop, asyncio.current_task() is task

    assert asyncio.run(outer()) == ("value", True, True)


def test_it_nests_in_itself() -> None:
    assert drive(calls(drive, calls(drive, value()))) == "value"


def test_threads_drive_at_the_same_time() -> None:
    meet = threading.Barrier(4, timeout=10)

    async def met() -> int:
        return meet.wait()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: drive(met()), range(4))) == [0, 1, 2, 3]


def test_context_variables_are_seen_inside() -> None:
    async def look() -> str:
        return variable.get()

    token = variable.set("set")
    try:
        assert drive(look()) == "set"
        assert run_in_worker(lambda: drive(look())) == "set"
        assert run_sync(look()) == "set"
    finally:
        variable.reset(token)


def test_a_loop_is_used_again_and_one_with_leftovers_is_not() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def leaves() -> asyncio.AbstractEventLoop:
        background.append(asyncio.ensure_future(asyncio.sleep(60)))
        return asyncio.get_running_loop()

    background: list[asyncio.Future[None]] = []
    first = drive(loop())
    assert drive(loop()) is first
    used = drive(leaves())
    assert background[0].cancelled()
    assert used.is_closed()
    assert drive(loop()) is not used


def test_an_async_generator_left_half_way_is_closed() -> None:
    closed = []

    async def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    async def first() -> Any:
        kept.append(numbers())
        return await anext(kept[0])

    kept: list[Any] = []
    assert drive(first()) == 1
    assert closed == [True]


def test_a_thread_s_loops_are_closed_when_it_ends() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    loops: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: loops.append(drive(loop())))
    thread.start()
    thread.join()
    assert loops[0].is_closed()


def test_a_stop_in_a_script_cancels_cleans_up_and_comes_out_as_keyboard_interrupt() -> None:
    ended = []

    async def waits() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        drive(waits())
    assert ended == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_stop_is_raised_where_a_tool_computes() -> None:
    where = []

    async def computes() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            where.append("in the tool")
            raise

    with pytest.raises(KeyboardInterrupt):
        drive(computes())
    assert where == ["in the tool"]


def test_a_stop_in_one_task_ends_the_others() -> None:
    ended = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def computes() -> None:
        await asyncio.sleep(0)
        signal.raise_signal(signal.SIGINT)

    async def both() -> None:
        await asyncio.gather(waits(), computes())

    with pytest.raises(KeyboardInterrupt):
        drive(both())
    assert ended == [True]


def test_the_caller_s_own_signal_handler_is_left_alone() -> None:
    got = []
    before = signal.signal(signal.SIGINT, lambda *_: got.append(True))
    try:

        async def raises() -> None:
            signal.raise_signal(signal.SIGINT)

        drive(raises())
    finally:
        signal.signal(signal.SIGINT, before)
    assert got == [True]


def test_system_exit_goes_through() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        drive(leave())
    assert drive(value()) == "value"


class Later:
    def __await__(self) -> Generator[Any, None, Any]:
        return value().__await__()


def test_asyncio_run_nests_only_while_it_is_allowed() -> None:
    async def outer() -> Any:
        return asyncio.run(value())

    original = asyncio.run
    allow_nested_run()
    try:
        assert original(outer()) == "value"
        assert asyncio.run(value()) == "value"
        # Any awaitable, such as a toolkit's call: here as in a cell.
        run: Any = asyncio.run
        assert run(Later()) == "value"
        assert original(calls(asyncio.run, Later())) == "value"
        with pytest.raises(ValueError, match="a coroutine was expected"):
            original(calls(asyncio.run, 1))
    finally:
        disallow_nested_run()
    assert asyncio.run is original
    coroutine = value()
    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(calls(asyncio.run, coroutine))
    coroutine.close()


def test_install_outside_a_kernel_is_harmless() -> None:
    original = asyncio.run
    install()
    install()
    assert drive(value()) == "value"
    uninstall()
    assert asyncio.run is original


def test_a_worker_s_error_goes_on_up_and_its_value_comes_back() -> None:
    assert run_in_worker(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        run_in_worker(lambda: 1 // 0)


def test_a_forked_child_drives_on_loops_of_its_own() -> None:
    code = (
        "import asyncio, os, sys\n"
        "from nbtoolkit.notebook.scheduling import drive\n"
        "async def value(): await asyncio.sleep(0.01); return 0\n"
        "drive(value())\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(drive(value()))\n"
        "sys.exit(os.waitpid(pid, 0)[1] or drive(value()))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0


def test_importing_it_loads_no_notebook() -> None:
    code = (
        "import sys\n"
        "import nbtoolkit.notebook.scheduling as s\n"
        "assert s.presence().means.value == 'nobody', s.presence()\n"
        "print([m for m in ('IPython', 'ipykernel', 'ipywidgets', 'zmq', 'tornado') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=30, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert ran.stdout == "[]\n"
