"""Values come back from a cassette the same, or say that they don't."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtoolkit.cassette.values import END, MAX_CELLS, ReplayedValue, decode, keep


@dataclass
class Reading:
    value: int


def there_and_back(value: Any) -> Any:
    return decode(json.loads(json.dumps(keep(value))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        5,
        0.1,
        math.inf,
        "text\u2028",
        [1, [2.5, {"a": None}]],
        {"$": "tuple", "of": []},
        {1: "a", (2, 3): "b"},
        (1, ("a",)),
        {3, 1, 2},
        frozenset(["a"]),
        b"\x00\xff",
        1 + 2j,
        dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC),
        dt.date(2026, 1, 2),
        dt.timedelta(days=1, microseconds=3),
        decimal.Decimal("1.10"),
        uuid.UUID(int=7),
        Path("a/b"),
        np.float64(0.1),
        np.int32(5),
    ],
)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


def test_not_a_number_comes_back() -> None:
    assert math.isnan(there_and_back(math.nan))


def test_a_set_is_written_in_one_order() -> None:
    assert json.dumps(keep({"b", "a", "c"})) == '{"$": "set", "of": ["a", "b", "c"]}'


def test_an_array_comes_back() -> None:
    back = there_and_back(np.array([[1, 2], [3, 4]], dtype="uint8"))
    assert back.dtype == np.uint8
    assert back.tolist() == [[1, 2], [3, 4]]


TABLES: dict[str, Any] = {
    "numbers and texts": pd.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", None]}),
    "times": pd.DataFrame({"t": [pd.Timestamp("2026-01-01"), pd.NaT]}),
    "a named index": pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key")),
    "categories": pd.DataFrame({"a": pd.Series(["x", "y"], dtype="category")}),
    "two columns of one name": pd.DataFrame([[1, 2.0]], columns=["a", "a"]),
    "no rows": pd.DataFrame({"a": pd.Series([], dtype="int64")}),
    "booleans": pd.DataFrame({"a": [True, False]}),
}


@pytest.mark.parametrize("frame", TABLES.values(), ids=TABLES.keys())
def test_a_table_comes_back_or_is_said_not_to(frame: pd.DataFrame) -> None:
    back = there_and_back(frame)
    if isinstance(back, ReplayedValue):
        assert back.kind == "DataFrame"
        assert back.shape == frame.shape
    else:
        pd.testing.assert_frame_equal(back, frame)


def test_the_usual_table_and_series_come_back_themselves() -> None:
    assert isinstance(there_and_back(TABLES["numbers and texts"]), pd.DataFrame)
    series = pd.Series([1.5, None], name="mass", index=["a", "b"])
    pd.testing.assert_series_equal(there_and_back(series), series)


def test_a_large_table_keeps_what_a_record_draws_of_it() -> None:
    frame = pd.DataFrame({"a": range(MAX_CELLS + 1)})
    back = there_and_back(frame)
    assert isinstance(back, ReplayedValue)
    assert back.shape == (MAX_CELLS + 1, 1)
    assert list(back.abridged["a"]) == [*range(END), *range(MAX_CELLS + 1 - END, MAX_CELLS + 1)]
    assert len(json.dumps(keep(frame))) < 2_000


def test_what_stands_for_a_value_says_so_when_it_is_used() -> None:
    back = there_and_back(Reading(5))
    assert repr(back) == "<Reading, replayed: a cassette doesn't keep it>"
    with pytest.raises(AttributeError, match=r"this is no Reading, so it has no 'value': it was replayed"):
        _ = back.value


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"an unknown kind of value, 'os\.system'"):
        decode({"$": "os.system", "of": ["true"]})
