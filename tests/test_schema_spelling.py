"""Slips in a schema that a programmer gives, told with the word that was meant."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.schema.spelling import schema_faults
from nbtoolkit.tool import FunctionTool


def load(path: str, limit: int = 10) -> str:
    """Load."""
    return path * limit


def made(**properties: Any) -> FunctionTool:
    return FunctionTool(load, input_schema={"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "strng"}, "properties.path.type is 'strng', which is no type; did you mean 'string'?"),
        ({"type": "str"}, "did you mean 'string'?"),
        ({"type": ["list", "null"]}, "did you mean 'array'?"),
        ({"type": str}, "did you mean 'string'?"),
        ({"tpye": "string"}, "'tpye' in properties.path is no word of JSON Schema; did you mean 'type'?"),
        ({"descripton": "where"}, "did you mean 'description'?"),
        ({"min_length": 3}, "did you mean 'minLength'?"),
        ({"anyOf": [{"type": "string"}, {"type": "nul"}]}, "properties.path.anyOf[1].type is 'nul'"),
        ({"type": "array", "items": {"type": "int"}}, "properties.path.items.type is 'int'"),
        ({"type": "object", "properties": {"a": {"requird": []}}}, "'requird' in properties.path.properties.a"),
        ({"minLength": "3"}, "properties.path.minLength must be a whole number"),
        ({"maximum": "3"}, "properties.path.maximum must be a number"),
        ({"enum": "a"}, "properties.path.enum must be a list of values, but is 'a'"),
        ({"required": True}, "properties.path.required must be a list of names, but is True"),
        ({"description": 5}, "properties.path.description must be a text, but is 5"),
        ({"anyOf": {"type": "string"}}, "properties.path.anyOf must be a list of schemas"),
        ({"properties": ["a"]}, "properties.path.properties must be a dict of schemas"),
        ("string", "properties.path must be a schema, a dict or a bool, but is 'string'"),
    ],
)
def test_a_slip_in_an_inner_schema_is_refused_with_its_place_and_the_word_that_was_meant(
    schema: Any, said: str
) -> None:
    with pytest.raises(DeveloperOrientedException, match=re.escape(said)):
        made(path=schema)


def test_all_slips_are_told_at_once() -> None:
    with pytest.raises(DeveloperOrientedException, match=r"path\.type is 'strng'.*limit\.type is 'itneger'"):
        made(path={"type": "strng"}, limit={"type": "itneger"})


class Point(BaseModel):
    x: Annotated[float, Field(ge=0, examples=[1.5], description="East")]
    tags: dict[str, list[Literal["a", 1]]] = {}
    next: Point | None = None


@pytest.mark.parametrize(
    "schema",
    [
        Point.model_json_schema(),
        {"type": "object", "properties": {"a": True, "b": {}}, "x-order": ["a"], "markdownDescription": "**a**"},
        {"properties": {"a": {"example": 1, "nullable": True, "id": "a", "default": {"tpye": 1}, "const": {"enums": 1}}}},
        {"properties": {"tpye": {"type": "string"}, "a": {"enum": [{"tpye": 1}], "exclusiveMinimum": True, "minimum": 0}}},
        {"definitions": {"a": {"type": "null"}}, "items": [{"type": "string"}], "dependencies": {"a": ["b"]}},
    ],
)  # fmt: skip
def test_what_may_be_meant_so_passes(schema: dict[str, Any]) -> None:
    assert schema_faults(schema) == []


def test_a_property_that_the_function_doesnt_take_is_refused_with_the_nearest_that_it_does() -> None:
    with pytest.raises(
        DeveloperOrientedException, match=re.escape("'limt' (did you mean 'limit'?), which the function")
    ):
        made(path={"type": "string"}, limt={"type": "integer"})

    def free(path: str, **more: Any) -> str:
        return path

    schema = {"type": "object", "properties": {"path": {"type": "string"}, "limt": {"type": "integer"}}}
    assert FunctionTool(free, input_schema=schema).input_schema == schema


def test_a_property_may_have_its_parameters_other_name() -> None:
    def sent(sender: Annotated[str, Field(alias="from")], mark: Later) -> str:  # type: ignore[name-defined]  # noqa: F821
        return sender

    schema = {"type": "object", "properties": {"from": {"type": "string"}, "mark": {}}}
    assert FunctionTool(sent, input_schema=schema).input_schema == schema
