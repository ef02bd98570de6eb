"""TypedDicts: generic ones, read-only fields, and fields that name what doesn't exist yet."""

from __future__ import annotations

import typing
import warnings
from typing import Annotated, Any, Generic, Literal, Required, TypedDict, TypeVar, Unpack

import pytest
import typing_extensions as te
from pydantic import BaseModel

from nbtoolkit.exception import ToolArgumentsError, ToolkitWarning
from nbtoolkit.schema import Signature

T = TypeVar("T")


class Plain(TypedDict, Generic[T]):
    value: Required[T]
    rest: typing.NotRequired[list[T]]


class Extended(te.TypedDict, Generic[T]):
    value: T
    rest: te.NotRequired[list[T]]


class Locked(te.TypedDict):
    kind: te.ReadOnly[Literal["a", "b"]]
    size: te.NotRequired[te.ReadOnly[int]]


class Waiting(TypedDict, total=False):
    thing: Later  # type: ignore[name-defined]  # noqa: F821


class WaitingToo(te.TypedDict, total=False):
    thing: Later  # type: ignore[name-defined]  # noqa: F821


def signature_of(hint: Any, *, keywords: bool = False) -> Signature:
    def tool(x: Any) -> None: ...
    def any_keyword(**x: Any) -> None: ...

    chosen = any_keyword if keywords else tool
    chosen.__annotations__["x"] = hint
    return Signature(chosen)


@pytest.mark.parametrize("kind", [Plain, Extended])
@pytest.mark.parametrize("keywords", [True, False])
def test_a_generic_one_holds_what_its_parameter_says(kind: Any, keywords: bool) -> None:
    signature = signature_of(Unpack[kind[int]] if keywords else kind[int], keywords=keywords)
    sent: dict[str, Any] = {"value": 1, "rest": [2]}
    assert signature.validate(sent if keywords else {"x": sent}).json == (sent if keywords else {"x": sent})
    wrong = {"value": "q", "rest": ["r"]}
    with pytest.raises(ToolArgumentsError) as refused:
        signature.validate(wrong if keywords else {"x": wrong})
    prefix = "" if keywords else "x."
    assert [f"{prefix}value: got" in str(refused.value), f"{prefix}rest[0]: got" in str(refused.value)] == [True, True]


def test_one_without_its_parameter_holds_anything() -> None:
    assert signature_of(Plain).validate({"x": {"value": "q"}}).json == {"x": {"value": "q"}}


def test_fields_that_may_not_be_written_need_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signature = signature_of(Locked)
        assert signature.validate({"x": {"kind": "a"}}).json == {"x": {"kind": "a"}}
    with pytest.raises(ToolArgumentsError, match=r"x\.kind: got"):
        signature.validate({"x": {"kind": "c"}})


def test_a_text_beside_the_unpacking_does_no_harm() -> None:
    signature = signature_of(Annotated[Unpack[Locked], "the options"], keywords=True)  # noqa: UP044 - as people write it
    assert signature.input_schema["required"] == ["kind"]
    with pytest.raises(ToolArgumentsError, match="- other: unexpected"):
        signature.validate({"kind": "a", "other": 1})


@pytest.mark.parametrize("kind", [Waiting, WaitingToo])
@pytest.mark.parametrize("keywords", [True, False])
def test_a_field_whose_class_comes_in_a_later_cell_is_waited_for(
    kind: Any, keywords: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = signature_of(Unpack[kind] if keywords else kind, keywords=keywords)
    with pytest.warns(ToolkitWarning, match="the hint of 'x' can't be resolved"):
        signature.validate({"thing": 5} if keywords else {"x": {"thing": 5}})

    class Later(BaseModel):
        size: int

    monkeypatch.setitem(globals(), "Later", Later)
    sent = {"thing": {"size": "q"}}
    with pytest.raises(ToolArgumentsError, match=r"thing\.size: got"):
        signature.validate(sent if keywords else {"x": sent})


def test_one_that_refers_to_itself_within_a_function_is_read() -> None:
    class Node(te.TypedDict):
        children: list[Node]  # type: ignore[misc]

    def tool(x: Node) -> None: ...

    sent: dict[str, Any] = {"x": {"children": [{"children": []}]}}
    assert Signature(tool).validate(sent).json == sent
