"""A day's log: a hundred thousand calls, shown, filtered, exported; what that costs grows no faster than the log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from nbtoolkit import hooks
from nbtoolkit.notebook import tables
from nbtoolkit.notebook.extension import Extension
from nbtoolkit.notebook.logs import Filter
from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.proof.plan import LIMIT, Plan

pytestmark = pytest.mark.timeout(LIMIT)


def load(path: str, limit: int, note: str = "") -> int:
    """Load."""
    if limit % 10 == 0:
        raise ValueError("there is no such table")
    return limit


def day(calls: int) -> Toolkit:
    """A toolkit whose log holds so many calls, made through the pipeline."""
    freely = PermissionDecision(PermissionBehavior.ALLOW, "as you like")
    toolkit = Toolkit(tools=[FunctionTool(load, name=f"load{n}", permission=freely) for n in range(7)])
    toolkit.log.maxlen, toolkit.log.max_bytes = calls, 10**9

    async def all_of_it() -> None:
        for number in range(calls):
            await toolkit.call(f"load{number % 7}", path=f"data/{number}.csv", limit=number, note="some words " * 4)

    toolkit._run(all_of_it())
    return toolkit


def took(do: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = do()
    return time.perf_counter() - began, result


def test_a_days_log_is_shown_filtered_and_exported_at_a_cost_that_grows_no_faster_than_it(
    plan: Plan, tmp_path: Path
) -> None:
    sizes = plan.pick([300, 1_000], [1_000, 10_000, 100_000])
    rows: list[str] = []
    for calls in sizes:
        seconds, toolkit = took(lambda calls=calls: day(calls))  # type: ignore[misc]
        log = toolkit.log
        assert len(log) == calls
        table, shown = took(lambda log=log: tables.log_table(log, of=len(log)))  # type: ignore[misc]
        assert len(shown["text/html"]) < 250_000, "the page gets the last calls, whatever the log holds"
        assert f"{calls:,} calls, here the last 200" in shown["text/plain"]
        words, hits = took(lambda log=log: [e for e in log if Filter.of_words(["error", "data/1"]).takes(e)])  # type: ignore[misc]
        assert 0 < len(hits) < calls
        lines, text = took(lambda log=log: log.to_jsonl(tmp_path / "day.jsonl"))  # type: ignore[misc]
        assert text.count("\n") == calls
        assert json.loads(text.splitlines()[-1])["number"] == calls
        frame, found = took(log.to_dataframe)
        assert found.shape == (calls, 15)
        assert (found.state == "error").sum() == calls // 10
        assert log[calls].number == calls
        rows.append(
            f"{calls:>9,} | {seconds / calls * 1e6:5.1f} µs | {table * 1e3:6.1f} ms | {words / calls * 1e6:4.1f} µs | "
            f"{lines / calls * 1e6:5.1f} µs | {frame / calls * 1e6:5.1f} µs | {log.size / 1e6:6.1f} MB"
        )
        plan.count("entries of logs that were shown, filtered and exported", calls)
    head = "  entries | a call | table | filter, each | JSON line, each | row, each | size"
    plan.figure("a day's log", "\n".join(["", head, *rows]))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setattr(hooks, "_toolkit", None)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    extension = Extension(shell)
    extension.load()
    yield shell
    extension.unload()
    InteractiveShell.clear_instance()


def said(shell: InteractiveShell, line: str) -> str:
    with capture_output() as captured:
        shell.run_line_magic("toolkit", line)
    shown = "".join(output.data.get("text/plain", "") for output in captured.outputs)
    return str(captured.stdout) + shown


def test_the_log_says_where_its_bound_lies_and_is_kept_in_a_file_by_magic(
    shell: InteractiveShell, tmp_path: Path
) -> None:
    toolkit = hooks.get_toolkit()
    toolkit.register(FunctionTool(load, permission=PermissionDecision(PermissionBehavior.ALLOW, "")), "basic")
    toolkit.log.maxlen = 2
    file = tmp_path / "calls.jsonl"
    assert said(shell, f"log --keep {file} --durable") == (
        f"Each call is written to {file} as it is decided and as it ends, and nothing runs before the disk has its line."
    )
    for _ in range(3):
        toolkit.call_sync("load", path="a", limit=1)
    assert "2 calls (an older one was let go: it holds 2 calls and 100 MB)" in said(shell, "log")
    assert len(file.read_text().splitlines()) == 6
    assert said(shell, "log --keep off") == "Calls are written to no file."
    toolkit.call_sync("load", path="a", limit=1)
    assert len(file.read_text().splitlines()) == 6
    assert "10,000 calls" in said(shell, "help log")
