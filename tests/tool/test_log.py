"""The log's bounds: how many calls and values are kept, and how large they may be together."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtoolkit.permission.approval import Origin
from nbtoolkit.tool.log import CallLog, LogEntry, Results


class Odd:
    """Says nonsense of its size."""

    nbytes = "many"

    def memory_usage(self) -> int:
        raise TypeError("deep is wanted")


def test_the_oldest_values_go_when_there_are_too_many() -> None:
    results = Results(maxlen=2)
    for number in (1, 2, 3):
        results.keep(number, "x")
    assert list(results) == [2, 3]
    assert results.told == "the results of the first 1 went to make room: kept are 2 at most, and 2 GB"
    with pytest.raises(
        KeyError, match=r"no result is kept for call 1; kept are 2, 3 \(the results of the first 1 went"
    ):
        results[1]


def test_as_a_frame_times_are_times() -> None:
    log = CallLog()
    assert list(log.to_dataframe().columns[:4]) == ["number", "id", "tool", "origin"]
    entry(log).started_at = "2026-01-01T12:00:00.5+02:00"
    entry(log)
    entry(log).started_at = "nonsense"
    frame = log.to_dataframe()
    assert frame["started_at"].diff().dt.total_seconds().iloc[1] == -36_000.5
    assert frame["started_at"].isna().tolist() == [False, False, True]
    assert frame["seconds"].dtype == float


def test_many_kept_results_are_named_as_runs() -> None:
    results = Results()
    assert results.told == ""
    for number in (1, 2, 3, 7, 9, 10):
        results.keep(number, "x")
    with pytest.raises(KeyError, match="kept are 1 to 3, 7, 9, 10'"):
        results[4]
    assert repr(CallLog()) == "CallLog(0 calls)"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros(1_000), 8_000),
        (pd.DataFrame({"a": np.zeros(1_000)}), 8_132),
        (pd.Series(np.zeros(1_000)), 8_000),
        (pl.DataFrame({"a": np.zeros(1_000)}), 8_000),
        # What a str takes beside its characters differs from one Python to the next.
        ("x" * 1_000, sys.getsizeof("x" * 1_000)),
    ],
)
def test_large_values_are_bounded_together_and_the_newest_is_kept(value: Any, size: int) -> None:
    results = Results(max_bytes=size * 2 + 200)
    for number in (1, 2, 3):
        results.keep(number, value)
    assert list(results) == [2, 3]
    assert size * 2 <= results.size <= size * 2 + 300
    results.keep(4, np.zeros(100_000))
    assert list(results) == [4]
    results.clear()
    assert results.size == 0


def test_an_object_that_tells_nonsense_of_its_size_is_kept_all_the_same() -> None:
    results = Results()
    results.keep(1, Odd())
    assert 1 in results
    assert results.size > 0


def entry(log: CallLog, **tool_input: Any) -> LogEntry:
    made = LogEntry(log.next_number(), "id", "write", "function", tool_input, Origin("script"), "2026-01-01T00:00:00")
    log.append(made)
    return made


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


def test_a_value_that_is_kept_twice_counts_once() -> None:
    results = Results()
    results.keep(1, np.zeros(1_000))
    results.keep(1, np.zeros(1_000))
    assert (list(results), results.size) == ([1], 8_000)
