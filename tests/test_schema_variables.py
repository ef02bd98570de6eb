"""Notebook variables and results as arguments, against a fake notebook."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import typing_extensions as te

from nbtoolkit.exception import DeveloperOrientedException, ToolArgumentsError
from nbtoolkit.schema import Signature, get_variable_resolver, set_variable_resolver

if TYPE_CHECKING:
    from collections.abc import Iterator


class Frame:
    """Stands for what JSON can't carry."""


class Notebook:
    """A resolver over two dicts; it offers more than it should, so that the guard is tested and not the fake."""

    def __init__(self) -> None:
        self.frame = Frame()
        self.variables: dict[str, Any] = {
            "frame": self.frame, "_private": Frame(), "number": 5, "module": types, "In": Frame(), "double": lambda x: 2 * x,
        }  # fmt: skip
        self.results: dict[int, Any] = {1: self.frame, 2: [1, 2], 3: "text"}

    def lookup(self, name: str) -> Any:
        try:
            return self.variables[name]
        except KeyError:
            raise LookupError(f"no variable named {name!r}") from None

    def names(self, kind: type) -> list[str]:
        return [name for name, value in self.variables.items() if isinstance(value, kind)]

    def namespace(self) -> dict[str, Any]:
        return self.variables

    def result(self, number: int) -> Any:
        return self.results[number]


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    made = Notebook()
    set_variable_resolver(made)
    yield made
    set_variable_resolver(None)


def tool(frame: Frame, limit: int = 5) -> None:
    """Do it.

    Args:
        frame: What to draw.
    """


def refusal(signature: Signature, arguments: dict[str, Any]) -> str:
    with pytest.raises(ToolArgumentsError) as caught:
        signature.validate(arguments)
    return str(caught.value)


def test_the_schema_asks_for_the_name_and_lists_nothing(notebook: Notebook) -> None:
    assert Signature(tool).input_schema["properties"]["frame"] == {
        "type": "string",
        "description": "What to draw. (Name of a variable in the notebook holding a Frame)",
    }


def test_the_function_gets_the_object_and_the_json_keeps_the_name(notebook: Notebook) -> None:
    arguments = Signature(tool).validate({"frame": "frame"})
    assert arguments.json == {"frame": "frame", "limit": 5}
    assert arguments.variables == {"frame": notebook.frame}
    assert arguments.bind()[1]["frame"] is notebook.frame
    assert Signature(tool).validate(arguments.json).bind()[1]["frame"] is notebook.frame


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("frames", "no variable named 'frames'; did you mean 'frame'?"),
        # Near, but no Frame: what fits is told instead.
        ("numbr", "no variable named 'numbr'; these hold one: frame"),
        (
            "number",
            "expected the name of a variable that holds a Frame (it holds an int, not a Frame; these hold one: frame)",
        ),
        ("_private", "only a public variable's plain name"),
        ("__name__", "only a public variable's plain name"),
        ("In", "only a public variable's plain name"),
        ("module", "it is a module"),
        ("frame.index", "only a public variable's plain name"),
        ("frame[0]", "only a public variable's plain name"),
        ("", "only a public variable's plain name"),
        (5, "it takes the name of a variable"),
        ({"$ref": 9}, "there is no result 9"),
        ({"$ref": 2}, "it holds a list, not a Frame"),
    ],
)
def test_a_name_that_is_no_public_variable_of_the_class_is_a_fault(notebook: Notebook, name: Any, reason: str) -> None:
    text = refusal(Signature(tool), {"frame": name, "limit": "x"})
    assert reason in text
    assert "_private" not in text.replace('got "_private"', "")
    assert 'limit: got "x", expected integer' in text


def test_classes_of_one_name_are_told_apart(notebook: Notebook) -> None:
    other = type("Frame", (), {"__module__": "elsewhere"})
    notebook.variables["other"] = other()
    assert f"it holds an elsewhere.Frame, not a {__name__}.Frame; these" in refusal(Signature(tool), {"frame": "other"})
    notebook.variables["again"] = type("Frame", (), {"__module__": __name__})()
    text = refusal(Signature(tool), {"frame": "again"})
    assert f"its class {__name__}.Frame was defined anew after the tool was made: make the tool anew" in text


T = typing.TypeVar("T", bound=Frame)
Table = typing.NewType("Table", Frame)
Frames = te.TypeAliasType("Frames", list[Frame])


class Of(typing.Generic[T]):
    """Holds something that JSON can't carry, as an array does of numpy's numbers."""


@pytest.mark.parametrize(
    ("hint", "said"),
    [(T, "a Frame"), (Table, "a Frame"), (Of[Frame], "an Of[Frame]"), (np.ndarray, "a ndarray")],
    ids=str,
)
def test_a_name_for_a_class_means_the_class(notebook: Notebook, hint: Any, said: str) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = hint
    signature = Signature(tool)
    assert (
        signature.input_schema["properties"]["x"]["description"] == f"Name of a variable in the notebook holding {said}"
    )
    with pytest.raises(ToolArgumentsError, match=re.escape(f"it holds an int, not {said}")):
        signature.validate({"x": "number"})


def test_an_array_of_numbers_is_told_the_same_way_in_every_kernel(notebook: Notebook) -> None:
    def tool(x: npt.NDArray[np.float64]) -> None: ...

    notebook.variables["array"] = np.zeros(3)
    signature = Signature(tool)
    (told,) = signature.input_schema["properties"].values()
    assert told["description"].startswith("Name of a variable in the notebook holding a ndarray[")
    assert " object at 0x" not in str(told)
    assert signature.validate({"x": "array"}).bind()[1]["x"] is notebook.variables["array"]
    with pytest.raises(ToolArgumentsError, match="it holds an int, not a ndarray"):
        signature.validate({"x": "number"})


def test_what_numpy_makes_an_array_of_is_a_list_or_a_variable(notebook: Notebook) -> None:
    def tool(x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> None: ...

    notebook.variables |= {"array": np.zeros(3), "column": pd.Series([1])}
    signature = Signature(tool)
    for sent, got in ([1, [2.5]], [1, [2.5]]), (3, 3):
        assert signature.validate({"x": sent}).bind()[1] == {"x": got}
    for name in "array", "column":
        assert signature.validate({"x": name}).bind()[1]["x"] is notebook.variables[name]
    with pytest.raises(ToolArgumentsError, match="it holds an int, not an ArrayLike; these hold one: array, column"):
        signature.validate({"x": "number"})
    set_variable_resolver(None)
    assert Signature(tool).validate({"x": [1], "y": None}).json == {"x": [1], "y": None}


def test_an_alias_of_a_list_of_frames_takes_a_list_of_names(notebook: Notebook) -> None:
    def tool(x: Frames) -> None: ...

    assert Signature(tool).validate({"x": ["frame"]}).bind()[1]["x"] == [notebook.frame]


def test_that_no_variable_fits_is_said(notebook: Notebook) -> None:
    del notebook.variables["frame"]
    assert "(no variable named 'frame'; no variable holds a Frame)" in refusal(Signature(tool), {"frame": "frame"})


def test_braces_in_a_name_are_no_template(notebook: Notebook) -> None:
    notebook.lookup = lambda name: (_ for _ in ()).throw(LookupError("no {name} {0}"))  # type: ignore[method-assign]
    assert "no {name} {0}" in refusal(Signature(tool), {"frame": "x"})


def test_a_result_handle_stands_for_the_result(notebook: Notebook) -> None:
    arguments = Signature(tool).validate({"frame": {"$ref": 1}})
    assert arguments.bind()[1]["frame"] is notebook.frame
    assert arguments.json["frame"] == {"$ref": 1}


def test_a_result_handle_stands_for_a_plain_argument_too_where_it_fits(notebook: Notebook) -> None:
    def count(rows: list[int], weight: float, note: str = "") -> None: ...

    signature = Signature(count)
    arguments = signature.validate({"rows": {"$ref": 2}, "weight": "1.5"})
    assert arguments.bind()[1] == {"rows": [1, 2], "weight": 1.5}
    assert arguments.json == {"rows": {"$ref": 2}, "weight": 1.5, "note": ""}
    assert arguments.variables == {"rows": [1, 2]}
    assert 'rows: got {"$ref": 3}, expected array of integer (result 3 doesn\'t fit' in refusal(
        signature, {"rows": {"$ref": 3}, "weight": 1}
    )
    assert "there is no result 7" in refusal(signature, {"rows": {"$ref": 7}})
    assert "weight: missing" in refusal(signature, {"rows": {"$ref": 2}})


def test_a_handle_given_where_anything_goes_is_the_result(notebook: Notebook) -> None:
    def show(thing: Any, more: dict[str, Any]) -> None: ...

    arguments = Signature(show).validate({"thing": {"$ref": 1}, "more": {"$ref": 1}})
    assert arguments.bind()[1]["thing"] is notebook.frame
    # An object is what this hint asks for.
    assert arguments.bind()[1]["more"] == {"$ref": 1}


def test_variables_work_inside_lists_unions_and_optionals(notebook: Notebook) -> None:
    def draw(
        source: Frame | str,
        many: list[Frame],
        maybe: Frame | None = None,
        then: typing.Callable[..., Any] | None = None,
    ) -> None: ...

    signature = Signature(draw)
    arguments = signature.validate({"source": "data.csv", "many": ["frame"], "then": "double"})
    assert arguments.bind()[1]["source"] == "data.csv"
    assert arguments.bind()[1]["then"](2) == 4
    assert list(arguments.variables) == ["many[0]", "then"]
    assert signature.validate({"source": "frame", "many": []}).bind()[1]["source"] is notebook.frame
    assert 'many[0]: got "nothing"' in refusal(signature, {"source": "x", "many": ["nothing"]})


class WithFrame(typing.TypedDict):
    frame: Frame
    rows: int


@dataclasses.dataclass
class HoldsFrame:
    frame: Frame


def test_a_typed_dict_takes_names_in_its_fields_and_a_class_that_holds_an_object_is_named_whole(
    notebook: Notebook,
) -> None:
    def draw(parts: WithFrame, held: HoldsFrame, *rest: Frame, **named: Frame) -> None: ...

    notebook.variables["holder"] = HoldsFrame(notebook.frame)
    arguments = Signature(draw).validate(
        {"parts": {"frame": "frame", "rows": 1}, "held": "holder", "rest": ["frame"], "other": "frame"}
    )
    args, kwargs = arguments.bind()
    assert args[0] == {"frame": notebook.frame, "rows": 1}
    assert args[1] is notebook.variables["holder"]
    assert args[2:] == [notebook.frame]
    assert kwargs == {"other": notebook.frame}
    assert sorted(arguments.variables) == ["held", "other", "parts.frame", "rest[0]"]


def test_an_object_passed_by_a_programmer_becomes_its_public_name(notebook: Notebook) -> None:
    assert Signature(tool).validate({"frame": notebook.frame}).json["frame"] == "frame"
    assert "has no JSON form" in refusal(Signature(tool), {"frame": Frame()})


def test_without_a_notebook_such_a_parameter_is_refused_when_the_tool_is_made_and_when_it_is_called(
    notebook: Notebook,
) -> None:
    signature = Signature(tool)
    set_variable_resolver(None)
    assert "there is no notebook here" in refusal(signature, {"frame": "frame"})
    with pytest.raises(DeveloperOrientedException, match="'frame': Frame"):
        Signature(tool)
    assert get_variable_resolver() is None
