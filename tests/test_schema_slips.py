"""What models get wrong and mean: broken JSON, and values of a neighbouring type."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import time
from typing import Annotated, Any, Literal

import pytest
import typing_extensions as te
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from nbtoolkit.exception import ToolArgumentsError, ToolJSONDecodeError
from nbtoolkit.schema import Signature, parse_arguments


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (" \n", {}),
        ("null", {}),
        ("{}", {}),
        ('""', {}),
    ],
)
def test_valid_text_and_no_text_need_no_mending(text: str, value: dict[str, Any]) -> None:
    assert parse_arguments("t", text) == (value, ())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ("{a: 1, b_c: 'x'}", {"a": 1, "b_c": "x"}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ("```\n{'a': 1,}\n```", {"a": 1}),
        ('{"a": True, "b": None}', {"a": True, "b": None}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('Here it is: {"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('[{"a": 1}]', {"a": 1}),
        ('{"a": "\\ud83d"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        ('{"a": "\\d+"}', {"a": "\\d+"}),
        ('{"a": 1}}', {"a": 1}),
        ('tool({"a": 1,})', {"a": 1}),
        ("{'a': 'don\\'t } ]', 'b': [-1, .5, {}]}", {"a": "don't } ]", "b": [-1, 0.5, {}]}),
    ],
)
def test_broken_json_is_repaired_and_said(text: str, value: dict[str, Any]) -> None:
    read, mended = parse_arguments("t", text)
    assert read == value
    assert len(mended) == 1


@pytest.mark.parametrize("text", ["hello", "[1, 2]", "5", '"text"', '{"a": 1}{"b": 2}', "[" * 5_000, '{"a":' * 5_000])
def test_hopeless_text_is_an_error_that_shows_it_and_says_what_to_send(text: str) -> None:
    with pytest.raises(ToolJSONDecodeError, match="'t'") as caught:
        parse_arguments("t", text)
    assert text[:20] in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "text",
    [
        '{"command": "rm -rf /tmp/cach', "{'command': 'rm -rf /tmp/cach", '{"limit": 10', '{"a": [1, 2',
        '{"command": "echo }; echo removing /tmp/data/ol', "{'command': 'echo }; rm ]} /tmp/data/ol", '{"a": "\\"}"',
    ],
)  # fmt: skip
def test_text_that_was_cut_is_never_completed_by_guessing(text: str) -> None:
    with pytest.raises(ToolJSONDecodeError, match="ends in the middle"):
        parse_arguments("t", text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"command":"echo one"}{"command":"echo two"}', "more than one value"),
        ("{'command': 'echo one'}\n{'command': 'echo two'}", "more than one value"),
        ('{"command": "echo "}"; rm -rf x"}', "something follows its end"),
        ('{"command": "echo "a", "timeout": "5"}', "aren't escaped"),
        ('{"command": "rm x", "command": "ls",}', "more than one way"),
        ('{"a": [1}, "b": 2]', "don't fit each other"),
        ("{'a': 'x'," + " " * 64_000 + "}", "too long"),
    ],
)
def test_a_repair_that_would_guess_or_lose_something_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ToolJSONDecodeError, match=reason):
        parse_arguments("t", text)


def test_adjoining_quotes_of_a_shell_are_kept_or_refused_but_never_cut() -> None:
    text = "{'command': 'echo ''quoted'' && echo rest'}"
    with contextlib.suppress(ToolJSONDecodeError):
        assert parse_arguments("t", text)[0] == {"command": "echo ''quoted'' && echo rest"}
    assert parse_arguments("t", '{"c": "echo "hi" there"}')[0] == {"c": 'echo "hi" there'}


def test_a_cut_text_within_the_arguments_is_not_completed_either() -> None:
    with pytest.raises(ToolArgumentsError, match="table"):
        Signature(tool).validate({"table": "{'a': 1, 'b", "names": "x"})
    assert Signature(tool).validate({"names": "['a', 'b"}).json["names"] == ["['a', 'b"]


def test_reading_hostile_text_takes_bounded_time() -> None:
    started = time.process_time()
    for text in ("{'a':" * 20_000 + "1" + "}" * 20_000, "{" + "'" * 100_001 + "}", "{'a': '" + "\\" * 150_000 + "'}"):
        with contextlib.suppress(ToolJSONDecodeError):
            parse_arguments("t", text)
    assert time.process_time() - started < 20


class Mode(enum.Enum):
    FAST = "Fast"
    SLOW = "slow"


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = 3
    names: list[str] = Field(default_factory=list)


def tool(
    number: int = 1,
    ratio: float = 0.5,
    flag: bool = False,
    text: str = "t",
    names: list[str] = [],  # noqa: B006
    counts: list[int] = [],  # noqa: B006
    maybe: int | None = 4,
    mode: Mode = Mode.SLOW,
    size: Literal["S", "XL", 3] = "S",
    table: dict[str, int] = {},  # noqa: B006
    options: Options = Options(),  # noqa: B008
    several: list[Options] = [],  # noqa: B006
    when: dt.date = dt.date(2024, 1, 1),
    data: bytes = b"",
) -> None: ...


@pytest.mark.parametrize(
    ("argument", "sent", "read"),
    [
        ("number", "5", 5),
        ("number", " -5 ", -5),
        ("number", "5.0", 5),
        ("number", 5.0, 5),
        ("ratio", "2.5", 2.5),
        ("ratio", "1e-3", 0.001),
        ("flag", "true", True),
        ("flag", "False", False),
        ("flag", 1, True),
        ("flag", "no", False),
        ("text", 5, "5"),
        ("names", "one", ["one"]),
        ("names", '["one", "two"]', ["one", "two"]),
        ("names", "['one', 'two']", ["one", "two"]),
        ("counts", 3, [3]),
        ("counts", "3", [3]),
        ("counts", ["1", 2], [1, 2]),
        ("counts", "[1, 2]", [1, 2]),
        ("maybe", "null", None),
        ("maybe", "7", 7),
        ("mode", "FAST", "Fast"),
        ("mode", "Slow", "slow"),
        ("size", "xl", "XL"),
        ("size", "3", 3),
        ("table", '{"a": 1}', {"a": 1}),
        ("table", {"a": "1"}, {"a": 1}),
        ("options", '{"depth": "4"}', {"depth": 4, "names": []}),
        ("options", "```json\n{'depth': 4}\n```", {"depth": 4, "names": []}),
        ("options", {"depth": None}, {"depth": 3, "names": []}),
        ("several", {"depth": 1}, [{"depth": 1, "names": []}]),
        ("data", "plain text!", "cGxhaW4gdGV4dCE="),
    ],
)
def test_a_slip_is_mended_recorded_and_shown_in_the_json(argument: str, sent: Any, read: Any) -> None:
    arguments = Signature(tool).validate({argument: sent})
    assert arguments.json[argument] == read
    assert type(arguments.json[argument]) is type(read)
    assert arguments.mended
    assert all(argument in note and " read as " in note for note in arguments.mended)
    # What was mended needs no second mending.
    again = Signature(tool).validate(arguments.json)
    assert (again.json, again.mended) == (arguments.json, ())


@pytest.mark.parametrize("argument", ["number", "flag", "text", "names", "mode", "size", "options"])
def test_null_for_a_defaulted_argument_means_its_default(argument: str) -> None:
    arguments = Signature(tool).validate({argument: None})
    assert arguments.json == Signature(tool).validate({}).json
    assert arguments.mended == (f"{argument}: null read as left out",)
    assert arguments.bind() == ([], {})


@pytest.mark.parametrize(
    ("hint", "sent", "read"),
    [
        (dt.datetime, "2024-01-02", "2024-01-02T00:00:00"),
        (dt.timedelta, 90, "PT1M30S"),
        (int, "1_000", 1000),
        (bool, 0.0, False),
        (Annotated[list[int], BeforeValidator(lambda v: v.split(",") if isinstance(v, str) else v)], "1,2", [1, 2]),
    ],
)
def test_what_only_pydantics_leniency_reads_is_written_as_it_was_read(hint: Any, sent: Any, read: Any) -> None:
    def one(x: Any, **more: Any) -> None: ...

    one.__annotations__ |= {"x": hint, "more": hint}
    arguments = Signature(one).validate({"x": sent, "y": sent})
    assert arguments.json == {"x": read, "y": read}
    assert len(arguments.mended) >= 2
    assert Signature(one).validate(arguments.json).mended == ()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (Literal[1, 2], True),
        (Literal["a", 1], True),
        (Literal[True], 1.5),
        (Level, True),
        (Level | None, True),
        (list[Level], [1, True]),
        (dt.datetime, 5),
        (dt.datetime, "1700000000"),
        (dt.datetime | None, 1.5),
        (dt.date, 0),
        (dt.date, "20240102"),
        (dt.time, 30),
        (list[dt.date], ["2024-01-02", "86400"]),
    ],
)
def test_neither_truth_is_a_number_nor_a_number_a_point_in_time(hint: Any, sent: Any) -> None:
    def one(x: Any) -> None: ...

    def more(**more: Any) -> None: ...

    one.__annotations__["x"] = more.__annotations__["more"] = hint
    for function in (one, more):
        with pytest.raises(ToolArgumentsError, match=r"x(\[1\])?: got"):
            Signature(function).validate({"x": sent})


def test_truth_and_numbers_stand_where_they_are_meant() -> None:
    def use(
        a: Literal[1, True],
        b: dt.date | int,
        c: Annotated[dt.datetime, BeforeValidator(lambda v: dt.datetime.fromtimestamp(v, dt.UTC))],
        d: Literal[True] = True,
        **rest: bool | Level,
    ) -> None: ...

    call = Signature(use).validate({"a": True, "b": 5, "c": 0, "d": 1, "z": True})
    assert call.json["a"] is call.json["d"] is call.json["z"] is True
    assert call.bind()[1]["b"] == 5
    assert call.bind()[1]["c"] == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def test_a_long_list_beside_a_date_is_looked_at_once() -> None:
    def use(day: dt.date, numbers: list[float]) -> None: ...

    call = Signature(use).validate({"day": "2024-01-02", "numbers": [0.5] * 50_000})
    assert len(call.json["numbers"]) == 50_000


@pytest.mark.parametrize("tagged", [True, False])
def test_a_discriminator_in_the_wrong_case_is_mended(tagged: bool) -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        name: str

    def pet(animal: Any, more: list[Any] = []) -> None: ...  # noqa: B006

    pets: Any = Annotated[Cat | Dog, Field(discriminator="kind")] if tagged else Cat | Dog
    pet.__annotations__ |= {"animal": pets, "more": list[pets]}
    call = Signature(pet).validate({"animal": {"kind": "CAT", "lives": 9}, "more": [{"kind": "Dog", "name": "Rex"}]})
    assert call.bind()[1] == {"animal": Cat(kind="cat", lives=9), "more": [Dog(kind="dog", name="Rex")]}
    assert call.json["animal"] == {"kind": "cat", "lives": 9}
    assert len(call.mended) == 2


@pytest.mark.parametrize("other", ["many", True])
def test_only_what_is_wrong_is_told_when_something_else_could_be_read(other: Any) -> None:
    def use(when: dt.datetime, number: int) -> None: ...

    assert Signature(use).validate({"when": "2024-01-02", "number": 1}).json["when"] == "2024-01-02T00:00:00"
    with pytest.raises(ToolArgumentsError) as caught:
        Signature(use).validate({"when": "2024-01-02", "number": other})
    assert [fault.partition(":")[0] for fault in caught.value.faults] == ["number"]


Nested = te.TypeAliasType("Nested", "int | list[Nested]")


def test_one_list_of_one_is_meant_and_not_one_in_another() -> None:
    def tool(x: Nested) -> None: ...

    with pytest.raises(ToolArgumentsError) as refused:
        Signature(tool).validate({"x": "many"})
    assert str(refused.value).count("\n- ") == 1
    assert '- x: got "many", expected integer or array' in str(refused.value)


def test_null_where_null_is_meant_stays() -> None:
    arguments = Signature(tool).validate({"maybe": None})
    assert (arguments.json["maybe"], arguments.mended) == (None, ())
    assert arguments.bind()[1] == {"maybe": None}


@pytest.mark.parametrize(
    ("argument", "sent"),
    [
        ("number", True),
        ("number", "five"),
        ("number", "1,000"),
        ("number", 1.5),
        ("number", ""),
        ("ratio", True),
        ("flag", 2),
        ("text", True),
        ("text", 1.5),
        ("text", ["a"]),
        ("text", {"a": 1}),
        ("counts", "a, b"),
        ("counts", True),
        ("mode", "medium"),
        ("table", [1]),
        ("options", "depth"),
        ("options", {"deep": 1}),
        ("when", "tomorrow"),
    ],
)
def test_what_has_no_plain_meaning_is_not_guessed(argument: str, sent: Any) -> None:
    with pytest.raises(ToolArgumentsError, match=argument):
        Signature(tool).validate({argument: sent})


def test_a_good_argument_is_never_changed() -> None:
    sent = {"text": "5", "names": ["null", "[1]"], "when": "2024-02-03", "table": {"true": 1}}
    arguments = Signature(tool).validate(sent)
    assert {key: arguments.json[key] for key in sent} == sent
    assert arguments.mended == ()


def test_several_slips_in_one_call_are_all_mended() -> None:
    arguments = Signature(tool).validate({"number": "5", "counts": "7", "options": '{"names": "x"}', "maybe": "none"})
    assert arguments.bind()[1] == {"number": 5, "counts": [7], "options": Options(names=["x"]), "maybe": None}
    assert arguments.mended == (
        'number: "5" read as 5',
        'counts: "7" read as ["7"]',
        'maybe: "none" read as null',
        'options: "{\\"names\\": \\"x\\"}" read as {"names": "x"}',
        'counts[0]: "7" read as 7',
        'options.names: "x" read as ["x"]',
    )


def test_one_hopeless_argument_leaves_the_fault_as_it_was_sent() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        Signature(tool).validate({"number": "5", "options": '{"depth": "x"}', "mode": None, "flag": "maybe"})
    assert caught.value.faults == (
        'flag: got "maybe", expected boolean',
        'options.depth: got "x", expected integer',
    )


def test_the_branch_of_a_union_that_the_discriminator_names_is_mended() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        name: str

    def pet(animal: Cat | Dog) -> None: ...

    arguments = Signature(pet).validate({"animal": {"kind": "cat", "lives": "9"}})
    assert arguments.bind()[1]["animal"] == Cat(kind="cat", lives=9)


def test_python_objects_that_a_programmer_passes_become_their_json() -> None:
    arguments = Signature(tool).validate(
        {"when": dt.date(2024, 2, 3), "mode": Mode.FAST, "options": Options(depth=1), "data": b"\xff", "names": ("a",)}
    )
    assert arguments.json["when"] == "2024-02-03"
    assert arguments.json["mode"] == "Fast"
    assert arguments.json["options"] == {"depth": 1, "names": []}
    assert arguments.bind()[1]["data"] == b"\xff"
    assert arguments.bind()[1]["names"] == ["a"]


def test_numpy_numbers_and_arrays_become_json() -> None:
    import numpy as np

    arguments = Signature(tool).validate({"number": np.int64(5), "counts": np.arange(2), "ratio": np.float64(0.25)})
    assert arguments.json["number"] == 5
    assert arguments.json["counts"] == [0, 1]
    assert arguments.json["ratio"] == 0.25


def test_an_object_without_json_is_a_fault_of_its_argument() -> None:
    with pytest.raises(ToolArgumentsError, match=r"names: .*object has no JSON form"):
        Signature(tool).validate({"names": object(), "number": 1})
