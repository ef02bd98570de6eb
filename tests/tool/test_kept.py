"""The values that calls returned: how many are kept, and how large they may be together."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtoolkit.tool.kept import Results


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


def test_many_kept_results_are_named_as_runs() -> None:
    results = Results()
    assert results.told == ""
    for number in (1, 2, 3, 7, 9, 10):
        results.keep(number, "x")
    with pytest.raises(KeyError, match="kept are 1 to 3, 7, 9, 10'"):
        results[4]


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


def test_a_value_that_is_kept_twice_counts_once() -> None:
    results = Results()
    results.keep(1, np.zeros(1_000))
    results.keep(1, np.zeros(1_000))
    assert (list(results), results.size) == ([1], 8_000)
