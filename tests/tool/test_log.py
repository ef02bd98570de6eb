"""The log's bounds: how many calls are kept, and how large they may be together."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.permission.approval import Origin
from nbtoolkit.tool.log import CallLog, LogEntry


def entry(log: CallLog, **tool_input: Any) -> LogEntry:
    made = LogEntry(
        log.next_number(), "id", "write", "function", tool_input, Origin("script"), "2026-01-01T00:00:00+00:00"
    )
    log.append(made)
    return made


def test_as_a_frame_times_are_times() -> None:
    log = CallLog()
    assert repr(log) == "CallLog(0 calls)"
    assert list(log.to_dataframe().columns[:4]) == ["number", "id", "tool", "origin"]
    entry(log).started_at = "2026-01-01T12:00:00.5+02:00"
    entry(log)
    entry(log).started_at = "nonsense"
    frame = log.to_dataframe()
    assert frame["started_at"].diff().dt.total_seconds().iloc[1] == -36_000.5
    assert frame["started_at"].isna().tolist() == [False, False, True]
    assert frame["seconds"].dtype == float


def test_the_oldest_calls_go_when_there_are_too_many_and_are_counted() -> None:
    log = CallLog(maxlen=3)
    assert log.told == ""
    for _ in range(5):
        entry(log)
    assert [each.number for each in log] == [3, 4, 5]
    assert (log.dropped, log.size) == (2, 3_000)
    assert log.told == "2 older ones were let go: it holds 3 calls and 100 MB"
    with pytest.raises(KeyError, match="it holds 3 to 5"):
        log[1]
    log.maxlen = 1
    entry(log)
    assert [each.number for each in log] == [6]


def test_large_arguments_are_bounded_together_and_the_newest_call_is_kept() -> None:
    log = CallLog(max_bytes=1_000_000)
    for _ in range(5):
        entry(log, text="x" * 200_000, deep={"rows": [{"a": "y" * 100_000}]})
    assert [each.number for each in log] == [3, 4, 5]
    assert 900_000 < log.size < 1_000_000
    entry(log, text="x" * 5_000_000)
    assert [each.number for each in log] == [6]
    log.clear()
    assert (len(log), log.size) == (0, 0)


@pytest.mark.parametrize("number", ["3", -1, 2.5, True, None])
def test_a_bound_that_is_no_number_is_refused_at_once(number: Any) -> None:
    log = CallLog()
    for name in ("maxlen", "max_bytes"):
        with pytest.raises(ValueError, match=rf"the log's {name} must be a whole number, 0 or more, but is "):
            setattr(log, name, number)
    assert log.maxlen > 0
