"""Properties over generated hints and values: what is valid for a hint survives schema → JSON → call."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union

import jsonschema
import pydantic
import pytest
import typing_extensions as te
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from pydantic_core import to_jsonable_python

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema import Arguments, Signature


def of(origin: Any, *members: Any) -> Any:
    """A generic hint made at run time."""
    return origin[members]


def attempt(signature: Signature, arguments: dict[str, Any]) -> Arguments | ToolArgumentsError:
    """Validate, and give the refusal back."""
    try:
        return signature.validate(arguments)
    except ToolArgumentsError as error:
        return error


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    name: str
    count: int = 1
    color: Color | None = None


@dataclasses.dataclass
class Point:
    x: float
    labels: list[str] = dataclasses.field(default_factory=list)


class Corner(enum.Enum):
    LEFT = (0, 1)
    RIGHT = (1, 1)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Row(te.TypedDict):
    a: int
    b: te.NotRequired[str]


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Ids(RootModel[list[int]]):
    pass


class Aliased(BaseModel):
    user_name: str = Field(alias="userName")


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, FLOATS),
    (bool, st.booleans()),
    (str, TEXT),
    (bytes, st.binary(max_size=8)),
    (Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    (Color, st.sampled_from(Color)),
    (dt.date, st.dates()),
    (dt.datetime, st.datetimes(timezones=st.just(dt.UTC))),
    (dt.timedelta, st.timedeltas(min_value=dt.timedelta(-9999), max_value=dt.timedelta(9999))),
    (uuid.UUID, st.uuids()),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Path, st.sampled_from([Path("a"), Path("a/b"), Path("/")])),
    (Item, st.builds(Item, name=TEXT, count=st.integers(), color=st.none() | st.sampled_from(Color))),
    (Point, st.builds(Point, x=FLOATS, labels=st.lists(TEXT, max_size=2))),
    (dt.time, st.times()),
    (Corner, st.sampled_from(Corner)),
    (Level, st.sampled_from(Level)),
    (Literal[Level.HIGH, "none"], st.sampled_from([Level.HIGH, "none"])),
    (Row, st.fixed_dictionaries({"a": st.integers()}, optional={"b": TEXT})),
    (Pair, st.builds(Pair, a=st.integers(), b=TEXT)),
    (Ids, st.lists(st.integers(), max_size=3).map(Ids)),
    (Aliased, TEXT.map(lambda text: Aliased(userName=text))),
    (frozenset[int], st.frozensets(st.integers(), max_size=3)),
    (Annotated[int, Field(ge=1, le=9)], st.integers(1, 9)),
]
HASHABLE = [pair for pair in SCALARS if pair[0] in (int, str, Color, dt.date)]


def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Containers of hints, each with the strategy of its values."""
    return (
        inner.map(lambda p: (of(list, p[0]), st.lists(p[1], max_size=3)))
        | inner.map(lambda p: (of(dict, str, p[0]), st.dictionaries(TEXT, p[1], max_size=3)))
        | inner.map(lambda p: (of(Union, p[0], None), st.none() | p[1]))
        | inner.map(lambda p: (of(tuple, p[0], ...), st.lists(p[1], max_size=3).map(tuple)))
        | st.tuples(inner, inner).map(lambda pp: (of(tuple, pp[0][0], pp[1][0]), st.tuples(pp[0][1], pp[1][1])))
        | st.sampled_from(HASHABLE).map(lambda p: (of(set, p[0]), st.sets(p[1], max_size=3)))
    )


HINTS = st.recursive(st.sampled_from(SCALARS), grow, max_leaves=4)


@st.composite
def hints_and_values(draw: st.DrawFn) -> tuple[Any, Any]:
    hint, values = draw(HINTS)
    return hint, draw(values)


def with_hint(hint: Any) -> Any:
    def tool(x: Any, y: int = 1) -> Any:
        return x

    tool.__annotations__["x"] = hint
    return tool


@settings(max_examples=150, deadline=None)
@given(pair=hints_and_values())
def test_a_value_valid_for_its_hint_survives_schema_json_and_call(pair: tuple[Any, Any]) -> None:
    hint, value = pair
    tool = with_hint(hint)
    signature = Signature(tool)
    sent = to_jsonable_python(value, bytes_mode="base64", by_alias=True)
    jsonschema.Draft202012Validator(signature.input_schema).validate({"x": sent})
    arguments = signature.validate({"x": sent})
    assert arguments.mended == ()
    args, kwargs = arguments.bind()
    assert tool(*args, **kwargs) == value
    # Passing the object itself means the same, and so does the filled-in JSON.
    assert signature.validate({"x": value}).bind()[1]["x"] == value
    json.dumps(arguments.json, allow_nan=False)
    again = signature.validate(arguments.json)
    assert (again.json, again.mended) == (arguments.json, ())
    jsonschema.Draft202012Validator(signature.input_schema).validate(arguments.json)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | FLOATS
    | st.sampled_from(["", "a", "red", "5", "2024-01-01", "[1]"])
    | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "count", "x", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)
# Formats (dates, UUIDs, base64, paths) say more than a schema's other words can.
FORMATLESS = [pair for pair in SCALARS if pair[0] in (int, float, bool, str, Color, Item, Point, Literal["a", "b", 3])]


@st.composite
def formatless_hints(draw: st.DrawFn) -> Any:
    return draw(st.recursive(st.sampled_from(FORMATLESS), grow_plain, max_leaves=4))[0]


def grow_plain(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        inner.map(lambda p: (of(list, p[0]), None))
        | inner.map(lambda p: (of(dict, str, p[0]), None))
        | inner.map(lambda p: (of(Union, p[0], None), None))
        | st.tuples(inner, inner).map(lambda pp: (of(tuple, pp[0][0], pp[1][0]), None))
    )


@pytest.mark.skipif(
    tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 14),
    reason="before pydantic 2.14 a dataclass's schema didn't say that it takes no more than its fields",
)
@settings(max_examples=150, deadline=None)
@given(hint=formatless_hints(), value=JSON_VALUES)
def test_what_the_schema_admits_the_validator_admits_and_what_it_admits_fits_the_schema(hint: Any, value: Any) -> None:
    signature = Signature(with_hint(hint))
    oracle = jsonschema.Draft202012Validator(signature.input_schema)
    admitted = oracle.is_valid({"x": value})
    arguments = attempt(signature, {"x": value})
    if isinstance(arguments, ToolArgumentsError):
        assert not admitted, arguments
        assert arguments.faults
        return
    # Whatever was mended, the JSON is what the schema asks for and the value is what the hint says.
    assert oracle.is_valid(arguments.json), arguments.json
    TypeAdapter(hint).validate_python(arguments.bind()[1]["x"], strict=True)


@settings(max_examples=80, deadline=None)
@given(arguments=st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4))
def test_no_arguments_make_a_validator_fail_in_another_way(arguments: dict[str, Any]) -> None:
    def tool(a: int, name: Item, count: list[Point] | int = 1, *x: float, **rest: dict[str, int]) -> None: ...

    found = attempt(Signature(tool), arguments)
    assert found.faults if isinstance(found, ToolArgumentsError) else found.bind()
