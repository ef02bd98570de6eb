"""What people call their parameters and fields is never taken for a word of a schema."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field, create_model

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema import Signature

# Words of JSON Schema and of pydantic's own that are good names as well.
WORDS = [
    "format", "type", "enum", "const", "items", "properties", "required", "default", "title", "description", "pattern",
    "anyOf", "examples", "definitions", "fields", "schema", "config", "strict", "cls", "choices", "mode", "ref",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("hint", [str, dt.date, list[str]], ids=str)
def test_a_parameter_may_have_any_name(word: str, hint: Any) -> None:
    space: dict[str, Any] = {"hint": hint, "day": dt.date}
    exec(f"def tool({word}: hint, when: day = day(2024, 1, 2)): return {word}", space)
    signature = Signature(space["tool"])
    schema = json.loads(json.dumps(signature.input_schema))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == [word, "when"]
    sent = {str: "a", dt.date: "2024-01-02"}.get(hint, ["a"])
    assert signature.validate({word: sent}).json == {word: sent, "when": "2024-01-02"}
    with pytest.raises(ToolArgumentsError, match=f"- {word}"):
        signature.validate({word: [{}]})


@pytest.mark.parametrize("word", [word for word in WORDS if word != "schema"])
def test_a_field_of_a_model_may_have_any_name(word: str) -> None:
    fields: dict[str, Any] = {word: (str, "a"), "when": (dt.date | None, None)}
    model = create_model("Thing", **fields)

    def tool(thing: Any) -> Any:
        return thing

    tool.__annotations__["thing"] = model
    signature = Signature(tool)
    assert signature.validate({"thing": {}}).json == {"thing": {word: "a", "when": None}}
    with pytest.raises(ToolArgumentsError, match=rf"- thing\.{word}: got \[1\], expected string"):
        signature.validate({"thing": {word: [1]}})

    def given(**values: Any) -> Any:
        return values

    by_schema = Signature(given, input_schema=json.loads(json.dumps(signature.input_schema)))
    assert by_schema.validate({"thing": {word: "b"}}).bind()[1]["thing"][word] == "b"


class Circle(BaseModel):
    type: Literal["circle"]
    radius: float


class Square(BaseModel):
    type: Literal["square"]
    made: dt.date


def test_a_union_may_be_told_apart_by_a_field_called_type() -> None:
    def tool(shape: Annotated[Circle | Square, Field(discriminator="type")], format: str = "png") -> Any: ...  # noqa: A002

    signature = Signature(tool)
    assert signature.validate({"shape": {"type": "SQUARE", "made": "2024-01-02"}}).bind()[1]["shape"] == Square(
        type="square", made=dt.date(2024, 1, 2)
    )
    with pytest.raises(ToolArgumentsError, match="a number isn't read as a point in time"):
        signature.validate({"shape": {"type": "square", "made": 5}})


def test_any_keyword_takes_what_a_schema_that_is_given_names() -> None:
    def tool(**values: Any) -> Any:
        return values

    given = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    signature = Signature(tool, input_schema=given)
    assert signature.validate({"a": "1"}).bind() == ([], {"a": 1})
    with pytest.raises(ToolArgumentsError, match="- b: unexpected, expected only 'a'"):
        signature.validate({"a": 1, "b": 2})
