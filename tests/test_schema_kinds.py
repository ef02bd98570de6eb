"""One row per kind of parameter: what a model may send, what the function gets, what is refused and why."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import numbers
import re
import typing
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar

import jsonschema
import pytest
import typing_extensions as te
from pydantic import (
    AfterValidator,
    AliasChoices,
    AnyUrl,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ImportString,
    RootModel,
    SecretStr,
    StringConstraints,
)

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema import Signature

UTC = dt.UTC


class Color(enum.Enum):
    RED = "red"
    BLUE = "Blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Alias(enum.IntEnum):
    ONE = 1
    UNO = 1
    TWO = 2


UserName = NewType("UserName", Annotated[str, Field(min_length=1)])


@dataclasses.dataclass
class Partly:
    size: int = 1
    area: int = dataclasses.field(init=False, default=0)


class Options(BaseModel):
    depth: int = 3
    names: list[str] = Field(default_factory=list)
    title: str = "t"


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Aliased(BaseModel):
    user_name: str = Field(alias="userName")
    number: int = 1


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_name: str = Field(alias="userName")
    number: int = 1


class Split(BaseModel):
    model_config = ConfigDict(extra="forbid")
    it: int = Field(validation_alias="a", serialization_alias="b")
    other: int = Field(default=7, validation_alias="c", serialization_alias="d")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    barks: bool = True


ItemT = TypeVar("ItemT")
BoundT = TypeVar("BoundT", bound=int)


class Box(BaseModel, Generic[ItemT]):
    item: ItemT


class Ids(RootModel[list[int]]):
    pass


@dataclasses.dataclass
class Point:
    x: int
    label: str = "p"


class Row(typing.TypedDict):
    a: int
    b: typing.NotRequired[str]


class Loose(typing.TypedDict, total=False):
    a: int
    rows: typing.Required[list[Row]]


class Extended(te.TypedDict):
    a: int


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Corner(enum.Enum):
    LEFT = (0, 1)
    RIGHT = (1, 1)


class Release(enum.Enum):
    FIRST = dt.date(2024, 1, 2)


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


UserId = NewType("UserId", int)
Numbers = te.TypeAliasType("Numbers", list[int])
Nested = te.TypeAliasType("Nested", "dict[str, Nested] | int")


def with_hint(hint: Any, default: Any = ...) -> Callable[..., Any]:
    def tool(x: Any) -> Any:
        return x

    tool.__annotations__["x"] = hint
    if default is not ...:
        tool.__defaults__ = (default,)
    return tool


def received(signature: Signature, value: Any) -> Any:
    args, kwargs = signature.validate({"x": value}).bind()
    assert args == []
    return kwargs["x"]


# hint, JSON → Python value
GOOD: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (int, 10**30, 10**30),
    (float, 5, 5.0),
    (bool, True, True),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (object, [1], [1]),
    (int | None, None, None),
    (typing.Optional[int], 4, 4),  # noqa: UP045
    (typing.Union[int, str], "5", "5"),  # noqa: UP007
    (Literal["a", 1], 1, 1),
    (Color, "red", Color.RED),
    (Level, 2, Level.HIGH),
    (UserId, 3, 3),
    (ItemT, {"any": 1}, {"any": 1}),
    (BoundT, 3, 3),
    (Numbers, [1], [1]),
    (Nested, {"a": {"b": 1}}, {"a": {"b": 1}}),
    (list, [1, "a"], [1, "a"]),
    (list[int], [1], [1]),
    (dict, {"a": None}, {"a": None}),
    (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[int], [1, 1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (collections.abc.Sequence[float], [1], [1.0]),
    (collections.abc.Mapping[str, int], {"a": 1}, {"a": 1}),
    (collections.abc.Iterable[int], [1], [1]),
    (collections.abc.Collection[int], [1], [1]),
    (list[collections.abc.Iterable[int]], [[1]], [[1]]),
    (numbers.Number, 1.5, 1.5),
    (numbers.Integral, 2, 2),
    (Annotated[int, Field(ge=1, le=9)], 9, 9),
    (Annotated[list[str], BeforeValidator(lambda v: v.split(",") if isinstance(v, str) else v)], "a,b", ["a", "b"]),
    (dt.datetime, "2024-01-02T03:04:05Z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (dt.datetime, "2024-01-02", dt.datetime(2024, 1, 2)),  # noqa: DTZ001
    (dt.date, "2024-01-02", dt.date(2024, 1, 2)),
    (dt.time, "10:30", dt.time(10, 30)),
    (dt.timedelta, "PT90S", dt.timedelta(seconds=90)),
    (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID(int=0x12345678123456781234567812345678)),
    (Path, "a/b", Path("a/b")),
    (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    (decimal.Decimal, 1, decimal.Decimal(1)),
    (bytes, "/w==", b"\xff"),
    (bytearray, "/w==", bytearray(b"\xff")),
    (re.Pattern, "a+", re.compile("a+")),
    (Options, {}, Options()),
    (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(value=1, children=[Tree(value=2)])),
    (Aliased, {"userName": "u"}, Aliased(userName="u")),
    (Named, {"user_name": "u"}, Named.model_validate({"userName": "u"})),
    (Split, {"a": 1}, Split.model_validate({"a": 1})),
    (Box[int], {"item": 1}, Box[int](item=1)),
    (Ids, [1], Ids([1])),
    (Cat | Dog, {"kind": "dog"}, Dog(kind="dog")),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat"}, Cat(kind="cat")),
    (Point, {"x": 1}, Point(1)),
    (Row, {"a": 1}, {"a": 1}),
    (list[Row], [{"a": 1, "b": "x"}], [{"a": 1, "b": "x"}]),
    (Loose, {"rows": [{"a": 1}]}, {"rows": [{"a": 1}]}),
    (Extended, {"a": 1}, {"a": 1}),
    (Pair, [1], Pair(1)),
    (Pair, {"a": 1, "b": "y"}, Pair(1, "y")),
    (Corner, [0, 1], Corner.LEFT),
    (list[Corner], [[1, 1]], [Corner.RIGHT]),
    (Release, "2024-01-02", Release.FIRST),
    (Literal[Level.LOW], 1, Level.LOW),
    (Literal[Corner.LEFT, "none"], [0, 1], Corner.LEFT),
    (Permission, 2, Permission.WRITE),
    (typing.Final[int], 3, 3),
    (dict[Color, int], {"red": 1}, {Color.RED: 1}),
    (dict[dt.date, int], {"2024-01-02": 1}, {dt.date(2024, 1, 2): 1}),
    (dict[Level, int], {"2": 1}, {Level.HIGH: 1}),
    (dict[Literal[1, "a"], int], {"1": 1, "a": 2}, {1: 1, "a": 2}),
    (Alias, 1, Alias.ONE),
    (Base64Bytes, "aGk=", b"hi"),
    (bytes | str, "abcd", "abcd"),
    (typing.AnyStr, "abcd", "abcd"),
    (bytearray | None, "aGk=", bytearray(b"hi")),
    (UserName, "u", "u"),
    (Partly, {"size": 2}, Partly(2)),
    (collections.deque, [1], collections.deque([1])),
    (complex, "1+2j", 1 + 2j),
]


@pytest.mark.parametrize(("hint", "sent", "expected"), GOOD, ids=[f"{row[0]}-{row[1]}"[:60] for row in GOOD])
def test_a_good_argument_arrives_as_what_the_hint_says(hint: Any, sent: Any, expected: Any) -> None:
    signature = Signature(with_hint(hint))
    value = received(signature, sent)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("hint", [row[0] for row in GOOD], ids=[str(row[0])[:40] for row in GOOD])
def test_every_schema_is_strict_valid_draft_2020_12_without_automatic_titles(hint: Any) -> None:
    schema = Signature(with_hint(hint)).input_schema
    json.dumps(schema, allow_nan=False)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert list(schema["properties"]) == schema["required"] == ["x"]
    assert not re.search(
        r'"title": "(X|Color|Level|Options|Tree|Aliased|Cat|Dog|Box.*|Ids|Point|Row|Loose|Pair)"', json.dumps(schema)
    )


def test_titles_that_a_person_gave_and_properties_called_title_stay() -> None:
    class Mine(BaseModel):
        model_config = ConfigDict(title="My own")
        title: str

    schema = Signature(with_hint(Annotated[Mine, Field(title="The mine")])).input_schema
    assert schema["$defs"]["Mine"]["title"] == "My own"
    assert "title" in schema["$defs"]["Mine"]["properties"]
    assert schema["properties"]["x"]["title"] == "The mine"


# hint, JSON, fault
BAD: list[tuple[Any, Any, str]] = [
    (str, ["a"], 'x: got ["a"], expected string'),
    (int, "many", 'x: got "many", expected integer'),
    (int, True, "x: got true, expected integer"),
    (float, False, "x: got false, expected number"),
    (int, 1.5, "x: got 1.5, expected integer"),
    (bool, "maybe", 'x: got "maybe", expected boolean'),
    (int | None, "x", 'x: got "x", expected integer or null'),
    (Literal["a", "b"], "c", 'x: got "c", expected one of "a", "b"'),
    (Color, "green", 'x: got "green", expected one of "red", "Blue"'),
    (Annotated[int, Field(ge=1, le=9)], 10, "x: got 10, expected integer (≥ 1, ≤ 9)"),
    (
        Annotated[str, Field(pattern="^a", max_length=3)],
        "b",
        'x: got "b", expected string (at most 3 characters, matching ^a)',
    ),
    (Annotated[str, Field(min_length=1)], "", 'x: got "", expected string (at least 1 character)'),
    (list[int], [1, "q"], 'x[1]: got "q", expected integer'),
    (dict[str, int], {"a b": None}, 'x["a b"]: got null, expected integer'),
    (dict[int, int], {"q": 1}, 'x: wrong key "q"'),
    (tuple[int, str], [1], "x[1]: missing, expected string"),
    (Tree, {"value": 1, "children": [{}]}, "x.children[0].value: missing, expected integer"),
    (Aliased, {"user_name": "u"}, "x.userName: missing, expected string"),
    (Point, {"x": 1, "z": 1}, "x.z: unexpected, expected only 'x', 'label'"),
    (Loose, {}, "x.rows: missing, expected array of object"),
    (uuid.UUID, "zz", 'x: got "zz", expected string (uuid)'),
    (dt.date, "soon", 'x: got "soon", expected string (date)'),
    (re.Pattern, "(", 'x: got "(", expected string (regex)'),
    (Corner, [1, 2], "x: got [1, 2], expected one of [0, 1], [1, 1]"),
    (Literal[Level.LOW], 2, "x: got 2, expected 1"),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "bird"},
        "does not match any of the expected tags: 'cat', 'dog'",
    ),
]


@pytest.mark.parametrize(("hint", "sent", "fault"), BAD, ids=[f"{row[0]}-{row[1]}"[:60] for row in BAD])
def test_a_bad_argument_is_refused_with_its_path_what_it_got_and_what_was_expected(
    hint: Any, sent: Any, fault: str
) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        Signature(with_hint(hint)).validate({"x": sent})
    assert fault in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    def tool(a: int, b: list[int], c: str = "c") -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        Signature(tool).validate({"b": ["x", 1, "y"], "cc": 1})
    assert caught.value.faults == (
        "a: missing, expected integer",
        'b[0]: got "x", expected integer',
        'b[2]: got "y", expected integer',
        "cc: unexpected, expected only 'a', 'b', 'c' (did you mean 'c'?)",
    )


def test_the_number_of_faults_and_their_length_are_bounded() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        Signature(with_hint(list[int])).validate({"x": ["z" * 10_000] * 500})
    assert len(str(caught.value)) < 4_000
    assert caught.value.faults[-1] == "… and 480 more"


class Sentinel:
    """Its repr has no address: a test's name is the same in each process."""

    def __repr__(self) -> str:
        return "SENTINEL"


SENTINEL = Sentinel()

# hint, default, its JSON in the schema (… for none), whether null or the default itself may be sent
DEFAULTS: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (int, None, None),
    (float, math.nan, ...),
    (float, math.inf, ...),
    (float, 1, 1),
    (Color, Color.RED, "red"),
    (Level, Level.LOW, 1),
    (Path, Path("a"), "a"),
    (dt.datetime, dt.datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00Z"),
    (decimal.Decimal, decimal.Decimal("1.5"), "1.5"),
    (bytes, b"\xff", "_w=="),
    (int, SENTINEL, ...),
    (int, ..., ...),
    (list[int], [1], [1]),
    (dict[str, int], {}, {}),
    (int, "auto", "auto"),
    (list[float], [math.nan], ...),
    (Options, Options(depth=1), {"depth": 1, "names": [], "title": "t"}),
    (Point, Point(1), {"x": 1, "label": "p"}),
    (Any, len, ...),
    (set[int], {1}, [1]),
    (list[int], (), []),
]


@pytest.mark.parametrize(
    ("hint", "default", "written"), DEFAULTS, ids=[f"{row[0]}-{row[1]!r}"[:50] for row in DEFAULTS]
)
def test_a_default_is_in_the_schema_where_json_can_carry_it_and_the_functions_own_object_applies(
    hint: Any, default: Any, written: Any
) -> None:
    tool = with_hint(hint)
    tool.__defaults__ = (default,)
    signature = Signature(tool)
    schema = signature.input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "required" not in schema
    assert schema["properties"]["x"].get("default", ...) == written

    left_out = signature.validate({})
    assert left_out.json == ({} if written is ... else {"x": written})
    args, kwargs = left_out.bind()
    assert tool(*args, **kwargs) is default

    # What is filled in is what a second validation takes, and it means the same.
    again = signature.validate(left_out.json)
    assert again.json == left_out.json
    args, kwargs = again.bind()
    assert tool(*args, **kwargs) == default or default != default  # noqa: PLR0124
    if written is not ...:
        jsonschema.Draft202012Validator(schema).validate(left_out.json)


def test_two_calls_share_no_mutable_default_and_json_shares_nothing_with_the_values() -> None:
    def tool(rows: list[int], names: list[str] = [], extra: dict[str, Any] = {}) -> None: ...  # noqa: B006

    signature = Signature(tool)
    sent = {"rows": [1], "extra": {"a": [1]}}
    first, second = signature.validate(sent), signature.validate({"rows": [1]})
    first.json["names"].append("changed")
    assert second.json["names"] == signature.validate({"rows": []}).json["names"] == []
    first.json["rows"].append(2)
    first.json["extra"]["a"].append(2)
    assert first.bind()[1] == {"rows": [1], "extra": {"a": [1]}}
    assert sent == {"rows": [1], "extra": {"a": [1]}}


def test_field_given_as_the_default_sets_default_constraints_alias_and_description() -> None:
    def tool(
        a: int = Field(5, ge=1, description="the a"),
        b: list[int] = Field(default_factory=list),  # noqa: B008
        c: str = Field(...),
        d: Annotated[int, Field(alias="D")] = 4,
        e: Annotated[int, Field(default=2)] = 7,
        f: Annotated[int, Field(validation_alias=AliasChoices("F", "ff"))] = 1,
    ) -> Any:
        return a, b, c, d, e, f

    signature = Signature(tool)
    assert signature.input_schema["required"] == ["c"]
    assert signature.input_schema["properties"]["a"] == {
        "type": "integer",
        "minimum": 1,
        "default": 5,
        "description": "the a",
    }
    call = signature.validate({"c": "x"})
    assert call.json == {"a": 5, "b": [], "c": "x", "D": 4, "e": 7, "F": 1}
    assert tool(**call.bind()[1]) == (5, [], "x", 4, 7, 1)
    assert tool(**signature.validate({"c": "x", "D": 3, "F": 2}).bind()[1])[3:] == (3, 7, 2)
    with pytest.raises(ToolArgumentsError, match="a: got 0, expected integer"):
        signature.validate({"c": "x", "a": 0})


def test_defaults_of_nested_models_are_filled_in_and_accepted_again() -> None:
    def tool(o: Options, t: Tree, n: Named, s: Split, p: Point, many: list[Cat]) -> None: ...

    signature = Signature(tool)
    call = signature.validate(
        {"o": {"depth": 1}, "t": {"value": 1, "children": [{"value": 2}]}, "n": {"user_name": "u"}, "s": {"a": 1},
         "p": {"x": 1}, "many": [{"kind": "cat"}]}
    )  # fmt: skip
    assert call.json == {
        "o": {"depth": 1, "names": [], "title": "t"},
        "t": {"value": 1, "children": [{"value": 2, "children": []}]},
        "n": {"user_name": "u", "number": 1},
        "s": {"a": 1},
        "p": {"x": 1, "label": "p"},
        "many": [{"kind": "cat", "lives": 9}],
    }
    assert signature.validate(call.json).json == call.json


def test_nan_and_infinity_are_strings_in_the_json_and_numbers_for_the_function() -> None:
    def tool(x: float, xs: list[float], free: Any = None) -> None: ...

    call = Signature(tool).validate({"x": math.inf, "xs": [math.nan, 1.0], "free": {"a": -math.inf}})
    assert call.json == {"x": "Infinity", "xs": ["NaN", 1.0], "free": {"a": "-Infinity"}}
    assert call.bind()[1]["x"] == math.inf
    again = Signature(tool).validate(call.json)
    assert again.json == call.json
    assert again.bind()[1]["x"] == math.inf


def test_an_iterator_arrives_as_one() -> None:
    value = received(Signature(with_hint(collections.abc.Iterator[int])), [1, 2])
    assert next(value) == 1


# ------------------------------------------------------------------------------------- what rules see is what is got

Tidy = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]


class Stripping(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    text: str
    number: float = 0.0
    secret: SecretStr = SecretStr("")


class Finished(BaseModel):
    text: str

    def model_post_init(self, context: Any) -> None:
        self.text = self.text.strip()


class Forgiving(enum.Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.RED if str(value).strip().lower() == "red" else None


def stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


# hint, sent → what rules see
SETTLED: list[tuple[Any, Any, Any]] = [
    (Tidy, " Evil ", "evil"),
    (Tidy | None, " Evil ", "evil"),
    (list[Tidy], ["b ", " A"], ["b", "a"]),
    (dict[Tidy, int], {" Evil ": 1}, {"evil": 1}),
    (Annotated[str, BeforeValidator(stripped)], " evil ", "evil"),
    (Annotated[str, AfterValidator(stripped)], " evil ", "evil"),
    (Stripping, {"text": " evil "}, {"text": "evil", "number": 0.0}),
    (list[Stripping], [{"text": " evil ", "secret": " s "}], [{"text": "evil", "number": 0.0, "secret": " s "}]),
    (Finished, {"text": " evil "}, {"text": "evil"}),
    (Forgiving, " RED", "red"),
    (Path, "/etc//./passwd", "/etc/passwd"),
    (uuid.UUID, "12345678123456781234567812345678", "12345678-1234-5678-1234-567812345678"),
    (AnyUrl, "HTTP://EVIL.com", "http://evil.com/"),
    (dt.datetime, "2024-01-02T00:00:00+00:00", "2024-01-02T00:00:00Z"),
    (set[int], [3, 1, 3, 2], [3, 1, 2]),
    (set[Tidy], ["B", " a", "b"], ["b", "a"]),
]


@pytest.mark.parametrize(("hint", "sent", "seen"), SETTLED, ids=[f"{row[0]}-{row[1]}"[:60] for row in SETTLED])
def test_the_json_is_what_the_hints_own_validators_make_of_it(hint: Any, sent: Any, seen: Any) -> None:
    signature = Signature(with_hint(hint))
    call = signature.validate({"x": sent})
    assert call.json == {"x": seen}
    assert signature.validate(call.json).json == call.json
    assert received(signature, seen) == received(signature, sent) == call.bind()[1]["x"]


def test_sets_within_lists_keep_the_order_in_which_they_were_sent() -> None:
    class Group(BaseModel):
        days: set[dt.date]

    days = [f"20{year:02}-01-02" for year in (24, 11, 30, 2, 17)]
    for hint, sent in [
        (list[set[dt.date]], [days, days[::-1], days[:1]]),
        (list[list[set[dt.date]]], [[days[::-1]], [days]]),
        (dict[str, frozenset[dt.date]], {"a": days, "b": days[::-1]}),
        (list[Group], [{"days": days}, {"days": days[::-1]}]),
    ]:
        assert Signature(with_hint(hint)).validate({"x": sent}).json["x"] == sent


def test_any_keyword_and_a_model_as_the_schema_are_written_as_the_function_gets_them_too() -> None:
    def tool(a: Tidy, **rest: Tidy) -> None: ...

    assert Signature(tool).validate({"a": " A", "z": " EVIL "}).json == {"a": "a", "z": "evil"}

    def by_model(text: str, number: float, secret: SecretStr) -> None: ...

    call = Signature(by_model, input_schema=Stripping).validate({"text": " evil ", "secret": " s "})
    assert (call.json["text"], call.json["secret"]) == ("evil", " s ")


def test_many_secrets_keep_nothing_else_from_being_written_as_it_is_got() -> None:
    sent = [{"text": f" {number} ", "secret": " s "} for number in range(300)]
    seen = Signature(with_hint(list[Stripping])).validate({"x": [*sent, {"text": " e ", "number": math.nan}]}).json["x"]
    assert [item["text"] for item in seen] == [*map(str, range(300)), "e"]
    assert {item.get("secret") for item in seen} == {" s ", None}


def test_a_member_of_two_names_is_one_choice_and_keys_are_texts() -> None:
    def tool(number: Alias, table: dict[Level, int]) -> None: ...

    schema = Signature(tool).input_schema
    assert schema["$defs"]["Alias"]["enum"] == [1, 2]
    assert schema["properties"]["table"]["propertyNames"] == {"enum": ["1", "2"]}
    with pytest.raises(ToolArgumentsError, match='table: wrong key "3"'):
        Signature(tool).validate({"number": 1, "table": {"3": 1}})


def test_a_field_that_nobody_can_give_is_neither_told_nor_filled_in() -> None:
    def tool(part: Partly) -> None: ...

    signature = Signature(tool)
    assert list(signature.input_schema["$defs"]["Partly"]["properties"]) == ["size"]
    arguments = signature.validate({"part": {}})
    assert arguments.json == {"part": {"size": 1}}
    # What is shown to a person can be sent again.
    assert signature.validate(arguments.json).json == arguments.json
    with pytest.raises(ToolArgumentsError, match=r"part\.area: unexpected, expected only 'size'"):
        signature.validate({"part": {"area": 1}})


@pytest.mark.parametrize(
    ("hint", "sent"),
    [(ImportString, "math.pi"), (Base64Bytes, "aGk="), (ImportString | None, "math.pi")],
    ids=["an import", "base64", "an import or none"],
)
def test_what_is_shown_is_of_a_type_that_the_schema_has(hint: Any, sent: str) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = hint
    arguments = Signature(tool).validate({"x": sent})
    assert arguments.json == {"x": sent}
    assert arguments.mended == ()


def test_an_argument_in_a_language_of_its_own_and_an_iterator_stay_as_they_were_sent() -> None:
    marked = Signature(with_hint(Annotated[str, AfterValidator(lambda text: text + "!")])).validate({"x": "a"})
    assert (marked.json, marked.bind()[1]) == ({"x": "a"}, {"x": "a!"})
    iterator = Signature(with_hint(collections.abc.Iterator[int])).validate({"x": [1, 2]})
    assert (iterator.json, list(iterator.bind()[1]["x"])) == ({"x": [1, 2]}, [1, 2])


def test_an_argument_sent_by_another_of_its_names_is_shown_by_its_first() -> None:
    def tool(a: Annotated[int, Field(validation_alias=AliasChoices("A", "a", "aa"))] = 1, **rest: int) -> Any:
        return a, rest

    for name in ("A", "a", "aa"):
        call = Signature(tool).validate({name: 5, "z": 2})
        assert call.json == {"A": 5, "z": 2}
        assert tool(**call.bind()[1]) == (5, {"z": 2})
    with pytest.raises(ToolArgumentsError, match="aa: unexpected"):
        Signature(tool).validate({"A": 5, "aa": 6})
