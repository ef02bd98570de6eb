"""Servers, commands and workers killed in the midst of calls: each call ends at once, once, and nothing is left alive."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nbtoolkit.message import ToolResultState
from nbtoolkit.tool import Bash
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.log import CallLog
from nbtoolkit.tool.result import ToolResponse
from nbtoolkit.tool.run import ToolCall
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import alive, plain
from tests.proof.plan import LIMIT, LONG, Plan, descriptors, until
from tests.proof.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.timeout(LIMIT)


def each_once(log: CallLog, calls: int, done: Sequence[str] | None = None) -> None:
    """So many calls, each of them in the log once, and none of them running; each has a decision.

    Where the keys of all calls that had an effect are given, in ``done``, only those must have one: a server that is
    killed while it lists its tools leaves no tool to decide about.
    """
    assert sorted(entry.number for entry in log) == list(range(1, calls + 1))
    assert len({entry.id for entry in log}) == calls
    assert all(entry.state is not ToolResultState.RUNNING for entry in log)
    undecided = [entry for entry in log if entry.behavior is None]
    if done is None:
        assert not undecided
    else:
        assert all(entry.state is not ToolResultState.SUCCESS for entry in undecided)
        assert not {entry.tool_input["key"] for entry in undecided}.intersection(done)


def stop(calls: list[ToolCall]) -> None:
    for call in calls:
        call.cancel()


def test_a_server_that_is_killed_fails_the_calls_under_way_and_the_next_one_finds_it_again(
    plan: Plan, tmp_path: Path
) -> None:
    chance, kills = plan.chance("server"), plan.pick(2, 60)
    pids = tmp_path / "pids"

    effects = tmp_path / "effects"

    async def all_of_it() -> int:
        client = plain("--fork", "--ignore-eof", "--ignore-term", "--pids", str(pids), "--effects", str(effects))
        await client.connect()
        toolkit = Toolkit(mcps=[client])
        toolkit.mode = "bypass"
        for number in range(kills):
            calls = [
                toolkit.call("mcp__plain__sleep", seconds=chance.choice([0, 0, 60]), key=f"{number} {each}")
                for each in range(6)
            ]
            tasks = [asyncio.ensure_future(call.complete()) for call in calls]
            await asyncio.sleep(chance.uniform(0.001, 0.02))
            pid = client.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            # One that had not been sent yet may run on the new server; a person's stop ends it.
            late = asyncio.get_running_loop().call_later(5, stop, calls)
            ended = await asyncio.wait_for(asyncio.gather(*tasks), 30)
            late.cancel()
            for response in ended:
                states[response.state] += 1
            again = await asyncio.wait_for(toolkit.call("mcp__plain__sleep", key=f"{number} again"), 30)
            made[0] += 7
            if all(response.state is ToolResultState.SUCCESS for response in ended):
                # Nothing was under way, so this one may have been what the kill hit.
                again = await asyncio.wait_for(toolkit.call("mcp__plain__sleep", key=f"{number} once more"), 30)
                made[0] += 1
            assert again.text == "slept"
            assert client.status().pid != pid
        open_now = descriptors()
        await client.close()
        each_once(toolkit.log, made[0], effects.read_text().splitlines())
        return open_now

    states: Counter[ToolResultState] = Counter()
    made = [0]
    before = descriptors()
    open_at_the_end = asyncio.run(all_of_it())
    plan.count("kill -9 of an MCP server with calls under way", kills)
    if LONG:
        assert states[ToolResultState.ERROR] >= kills // 2, "the kills hit calls under way"
    done = effects.read_text().splitlines()
    assert len(done) == len(set(done)), "nothing was sent a second time"
    assert open_at_the_end - before < 20, "no run of a server leaves a file open"
    # Also what it had forked, and what has left its group.
    until(lambda: not any(alive(int(pid)) for pid in pids.read_text().split()), "the end of all processes")


def test_a_command_that_is_killed_is_an_error_and_takes_all_that_it_started_with_it(plan: Plan, tmp_path: Path) -> None:
    chance, kills = plan.chance("command"), plan.pick(1, 30)

    async def all_of_it() -> None:
        toolkit = Toolkit(tools=[Bash()])
        toolkit.mode = "bypass"
        for number in range(kills):
            pids = tmp_path / str(number)
            command = f"echo $$ > {pids}; (sleep 300 & echo $! >> {pids}); setsid sleep 300 & echo $! >> {pids}; wait"
            task = asyncio.ensure_future(toolkit.call("Bash", command=command).complete())
            while not pids.exists() or len(pids.read_text().split()) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            await asyncio.sleep(chance.uniform(0, 0.02))
            found = [int(pid) for pid in pids.read_text().split()]
            os.kill(found[0], signal.SIGKILL)
            response: ToolResponse = await asyncio.wait_for(task, 30)
            assert response.state is ToolResultState.ERROR
            assert "ended by signal 9" in response.text
            # What was killed may take a moment to be gone.
            until(lambda found=found: not any(map(alive, found)), f"the end of {found}")  # type: ignore[misc]
        each_once(toolkit.log, kills)

    asyncio.run(all_of_it())
    plan.count("kill -9 of a command's shell", kills)


def work(seconds: float) -> int:
    """Work for a while, and say where."""
    time.sleep(seconds)
    return os.getpid()


def test_a_worker_that_is_killed_is_an_error_that_says_what_to_do(plan: Plan) -> None:
    chance, kills = plan.chance("worker"), plan.pick(1, 30)

    async def all_of_it() -> None:
        toolkit = Toolkit()
        toolkit.mode = "bypass"
        for _ in range(kills):
            with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
                toolkit.register(FunctionTool(work, executor=pool))
                pid = (await toolkit.call("work", seconds=0)).value
                task = asyncio.ensure_future(toolkit.call("work", seconds=60).complete())
                await asyncio.sleep(chance.uniform(0, 0.02))
                os.kill(pid, signal.SIGKILL)
                response: ToolResponse = await asyncio.wait_for(task, 30)
                assert response.state is ToolResultState.ERROR
                assert "is lost" in response.text
                assert (await toolkit.call("work", seconds=0)).state is ToolResultState.ERROR
        each_once(toolkit.log, kills * 3)

    asyncio.run(all_of_it())
    plan.count("kill -9 of an executor's worker", kills)


def test_a_process_that_is_killed_with_all_kinds_of_calls_under_way_leaves_no_other_alive(
    plan: Plan, writers: Writers, tmp_path: Path
) -> None:
    chance, kills = plan.chance("host"), plan.pick(1, 15)
    for number in range(kills):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "pids").touch()
        writers.killed("host", folder, chance.uniform(0, 0.05))
        pids = {int(pid) for pid in (folder / "pids").read_text().split()}
        assert len(pids) >= 8
        until(lambda pids=pids: not any(map(alive, pids)), f"the end of {sorted(filter(alive, pids))}")  # type: ignore[misc]
    plan.count("kill -9 of a process with a server, a command and workers", kills)
