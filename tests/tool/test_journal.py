"""The log in a file: what was decided stands there before a call runs, and each end stands there once."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.tool import journal as journals
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.journal import read
from nbtoolkit.tool.log import CallLog
from nbtoolkit.tool.toolkit import Toolkit


def kit(func: Any, answer: Approval | None = None) -> Toolkit:
    async def approver(_: ApprovalRequest) -> Approval:
        return answer or Approval.allow()

    toolkit = Toolkit(tools=[FunctionTool(func)])
    toolkit.approver = approver
    return toolkit


def events(file: Path) -> list[tuple[str, int, str]]:
    rows, cut = read(file)
    assert cut == 0
    return [(row["event"], row["number"], row["decision"]) for row in rows]


@pytest.mark.parametrize("durable", [False, True])
def test_the_decision_stands_in_the_file_before_the_call_runs_and_its_end_after(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "calls.jsonl"
    seen: list[list[tuple[str, int, str]]] = []

    def look(password: str) -> str:
        """Look."""
        seen.append(events(file))
        return "done"

    toolkit = kit(look)
    toolkit.log.keep(file, durable=durable)
    toolkit.call_sync("look", password="hunter2hunter2")
    assert seen == [[("allowed", 1, "allowed once")]]
    assert events(file) == [("allowed", 1, "allowed once"), ("ended", 1, "allowed once")]
    assert "hunter2" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert toolkit.log.keep(None) is None
    toolkit.call_sync("look", password="x")
    assert len(events(file)) == 2


def test_a_denied_call_has_an_end_and_no_beginning(tmp_path: Path) -> None:
    toolkit = kit(_nothing, Approval.deny("no"))
    toolkit.log.keep(tmp_path / "calls.jsonl")
    assert toolkit.call_sync("_nothing").state is ToolResultState.DENIED
    assert events(tmp_path / "calls.jsonl") == [("ended", 1, "denied: “no”")]


def _nothing() -> None:
    """Do nothing."""


def test_a_call_whose_decision_can_not_be_written_does_not_run_and_its_end_comes_with_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def run() -> None:
        """Run."""
        ran.append(1)

    toolkit = kit(run)
    toolkit.log.keep(tmp_path / "calls.jsonl")
    with monkeypatch.context() as full:

        def refuse(descriptor: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(os, "write", refuse)
        response = toolkit.call_sync("run")
    assert (response.state, ran) == (ToolResultState.ERROR, [])
    assert "was not run" in response.text
    assert "No space left on device" in response.text
    assert [entry.state.value for entry in toolkit.log] == ["error"]
    toolkit.call_sync("run")
    assert [(event, number) for event, number, _ in events(tmp_path / "calls.jsonl")] == [
        ("allowed", 2),
        ("ended", 1),
        ("ended", 2),
    ]


def test_a_line_that_a_full_disk_took_in_part_is_taken_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = kit(_nothing)
    toolkit.log.keep(tmp_path / "calls.jsonl")
    toolkit.call_sync("_nothing")
    before = (tmp_path / "calls.jsonl").read_bytes()
    write, room = os.write, [20]

    def partly(descriptor: int, data: bytes) -> int:
        taken = min(room[0], len(data))
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= taken
        return write(descriptor, data[:taken])

    with monkeypatch.context() as full:
        full.setattr(os, "write", partly)
        assert toolkit.call_sync("_nothing").state is ToolResultState.ERROR
    assert (tmp_path / "calls.jsonl").read_bytes() == before


def test_a_line_that_a_kill_cut_short_is_ended_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text('{"event": "allowed", "num')
    toolkit = kit(_nothing)
    toolkit.log.keep(file)
    toolkit.call_sync("_nothing")
    rows, cut = read(file)
    assert (len(rows), cut) == (2, 1)


@pytest.mark.parametrize("where", ["the memory", "the file"])
def test_an_interrupt_while_a_call_is_logged_leaves_it_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    toolkit = kit(_nothing)
    kept = toolkit.log.keep(tmp_path / "calls.jsonl")
    assert kept is not None
    target: tuple[Any, str] = (CallLog, "append") if where == "the memory" else (journals.Journal, "_write")
    real = getattr(*target)
    struck: list[bool] = []

    def struck_after(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        if not struck and (where == "the memory" or '"ended"' in args[0]):
            struck.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(*target, struck_after)
    with pytest.raises(KeyboardInterrupt):
        toolkit.call_sync("_nothing")
    assert struck
    assert [entry.number for entry in toolkit.log] == [1]
    assert [event for event, *_ in events(tmp_path / "calls.jsonl")] == ["allowed", "ended"]


def test_half_characters_and_foreign_values_are_lines_all_the_same(tmp_path: Path) -> None:
    line = journals.line_of({"text": "\ud83d", "path": tmp_path, "ok": "é"})
    assert json.loads(line)["text"] == "\ud83d"
    assert line.endswith("}\n")
    line.encode()


def test_a_file_that_can_not_be_had_is_an_error_of_the_one_who_names_it(tmp_path: Path) -> None:
    toolkit = kit(_nothing)
    with pytest.raises(OSError, match="Is a directory"):
        toolkit.log.keep(tmp_path)
    assert toolkit.log.journal is None
    assert asyncio.run(toolkit.call("_nothing").complete()).state is ToolResultState.SUCCESS


@pytest.mark.parametrize(("durable", "waits"), [(True, 2), (False, 0)])
def test_only_a_durable_one_waits_for_the_disk_with_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool, waits: int
) -> None:
    toolkit = kit(_nothing)
    toolkit.log.keep(tmp_path / "calls.jsonl", durable=durable)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    toolkit.call_sync("_nothing")
    assert len(synced) == waits
