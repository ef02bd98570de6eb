"""Classes whose objects are made of one plain value: a person's own, numpy's, pandas's."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Annotated, Any, Self

import jsonschema
import numpy as np
import pandas as pd
import pytest
from pydantic import AfterValidator, Field

from nbtoolkit.exception import DeveloperOrientedException, ToolArgumentsError
from nbtoolkit.schema import Signature


class UserId(str):
    __slots__ = ()


class Even(int):
    def __new__(cls, value: int) -> Self:
        if value % 2:
            raise ValueError(f"{value} is odd")
        return super().__new__(cls, value)


class Stamp(dt.datetime):
    pass


class Pair(str):
    __slots__ = ()

    def __new__(cls, one: str, other: str) -> Self:
        return super().__new__(cls, one + other)


def signature_of(hint: Any, **options: Any) -> Signature:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = hint
    if "default" in options:
        tool.__defaults__ = (options["default"],)
    return Signature(tool)


@pytest.mark.parametrize(
    ("hint", "schema", "sent", "expected"),
    [
        (UserId, {"type": "string"}, "u", UserId("u")),
        (Even, {"type": "integer"}, 4, Even(4)),
        (np.int64, {"type": "integer"}, 3, np.int64(3)),
        (np.uint8, {"type": "integer", "minimum": 0, "maximum": 255}, 3, np.uint8(3)),
        (np.int32, {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}, 3, np.int32(3)),
        (np.uint64, {"type": "integer", "minimum": 0}, 3, np.uint64(3)),
        (np.float32, {"type": "number"}, 1.5, np.float32(1.5)),
        (np.float64, {"type": "number"}, 1, np.float64(1)),
        (np.bool_, {"type": "boolean"}, True, np.bool_(True)),
        (np.str_, {"type": "string"}, "a", np.str_("a")),
        (
            np.datetime64,
            {"type": "string", "format": "date-time"},
            "2024-01-02T03:00:00",
            np.datetime64("2024-01-02T03"),
        ),
        (np.timedelta64, {"type": "string", "format": "duration"}, "PT90S", np.timedelta64(90, "s")),
        (
            pd.Timestamp,
            {"type": "string", "format": "date-time"},
            "2024-01-02T03:00:00Z",
            pd.Timestamp("2024-01-02T03Z"),
        ),
        (pd.Timedelta, {"type": "string", "format": "duration"}, "PT90S", pd.Timedelta(seconds=90)),
        (list[pd.Timestamp], None, ["2024-01-02T00:00:00"], [pd.Timestamp("2024-01-02")]),
        (pd.Timestamp | None, None, None, None),
        (dict[str, np.float64], None, {"a": 1.5}, {"a": np.float64(1.5)}),
    ],
    ids=str,
)
def test_such_an_object_is_made_of_the_plain_value_that_was_sent(
    hint: Any, schema: dict[str, Any] | None, sent: Any, expected: Any
) -> None:
    signature = signature_of(hint)
    jsonschema.Draft202012Validator.check_schema(signature.input_schema)
    assert schema is None or signature.input_schema["properties"]["x"] == schema
    arguments = signature.validate({"x": sent})
    got = arguments.bind()[1]["x"]
    assert type(got) is type(expected)
    assert got == expected
    if isinstance(got, list | dict):
        assert all(type(one) is type(other) for one, other in zip(list(got), list(expected), strict=True))
    # What is shown is JSON, and means the same again.
    assert signature.validate(arguments.json).bind()[1]["x"] == expected


def test_a_moment_in_another_zone_is_the_same_moment_for_numpy() -> None:
    got = signature_of(np.datetime64).validate({"x": "2024-01-02T03:00:00+02:00"}).bind()[1]["x"]
    assert got == np.datetime64("2024-01-02T01:00")


@pytest.mark.parametrize(
    ("hint", "sent", "reason"),
    [
        (Even, 3, "3 is odd"),
        (Even, "x", "expected integer"),
        (np.int8, 1_000, r"expected integer \(≥ -128, ≤ 127\)"),
        (np.int64, 10**30, "too big|too large|out of bounds"),
        (pd.Timestamp, "soon", "date-time"),
        (UserId, [1], "expected string"),
    ],
)
def test_what_the_class_itself_refuses_is_a_fault_of_the_argument(hint: Any, sent: Any, reason: str) -> None:
    with pytest.raises(ToolArgumentsError, match=rf"- x: got .*{reason}"):
        signature_of(hint).validate({"x": sent})


def test_limits_are_the_plain_values_and_validators_get_the_object() -> None:
    def years(moment: Any) -> Any:
        assert type(moment) is pd.Timestamp
        return moment.floor("D")

    def tool(
        share: Annotated[np.float64, Field(ge=0, le=1, description="Of all.")],
        day: Annotated[pd.Timestamp, AfterValidator(years), "The day."],
    ) -> None: ...

    signature = Signature(tool)
    assert signature.input_schema["properties"] == {
        "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "Of all."},
        "day": {"type": "string", "format": "date-time", "description": "The day."},
    }
    arguments = signature.validate({"share": 0.5, "day": "2024-01-02T03:00:00"})
    assert arguments.bind()[1] == {"share": np.float64(0.5), "day": pd.Timestamp("2024-01-02")}
    assert arguments.json == {"share": 0.5, "day": "2024-01-02T00:00:00"}
    with pytest.raises(ToolArgumentsError, match=r"- share: got 2, expected number \(≥ 0, ≤ 1\)"):
        signature.validate({"share": 2, "day": "2024-01-02T03:00:00"})


def test_a_class_that_wants_more_than_one_value_is_refused_as_before() -> None:
    with pytest.raises(DeveloperOrientedException, match="JSON can't carry the parameter 'x': Pair"):
        signature_of(Pair)
    with pytest.raises(DeveloperOrientedException, match="JSON can't carry the parameter 'x': Stamp"):
        # Its parts one by one, and no datetime.
        signature_of(Stamp)


@pytest.mark.parametrize(
    ("hint", "default", "written"),
    [
        (int, np.int64(3), 3),
        (np.int64, np.int64(3), 3),
        (float, np.float64(0.5), 0.5),
        (pd.Timestamp, pd.Timestamp("2024-01-02"), "2024-01-02T00:00:00"),
        (decimal.Decimal, decimal.Decimal("1.5"), "1.5"),
    ],
)
def test_a_default_of_such_a_class_is_told_and_the_functions_own_object_applies(
    hint: Any, default: Any, written: Any
) -> None:
    signature = signature_of(hint, default=default)
    assert signature.input_schema["properties"]["x"]["default"] == written
    arguments = signature.validate({})
    assert arguments.json == {"x": written}
    assert arguments.bind() == ([], {})
