"""Schemas from elsewhere: what is no schema in them is left out, and what is one stays the object that it is."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.exception import ToolArgumentsError, ToolJSONDecodeError
from nbtoolkit.schema.given import JSONSchemaValidator
from nbtoolkit.schema.repair import parse_arguments
from nbtoolkit.schema.sound import sound


def test_a_sound_schema_is_given_back_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "enum": ["x", None], "pattern": "x"}, "b": {}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"T": {"items": {"$ref": "#/$defs/T"}, "minItems": 1.0, "uniqueItems": True}},
        "anyOf": [{"required": ["a"]}, {"minimum": -1.5, "multipleOf": 0.1}],
        "x-own": [1, {"properties": 5}],
    }
    assert sound(schema) is schema


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"properties": [{"a": {}}]}, {}),
        ({"properties": {"a": 5, "b": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}),
        ({"properties": {"a": {"required": True}}}, {"properties": {"a": {}}}),
        ({"properties": {"a": True, "b": False}}, {"properties": {"a": {}, "b": {"not": {}}}}),
        ({"anyOf": [True, {"type": "null"}], "items": False}, {"anyOf": [{}, {"type": "null"}], "items": False}),
        ({"required": "a"}, {}),
        ({"anyOf": []}, {}),
        ({"anyOf": [1, {}]}, {"anyOf": [{}]}),
        ({"anyOf": [None]}, {}),
        ({"items": [{}, 3]}, {"items": [{}]}),
        ({"not": "x"}, {}),
        ({"$ref": ["#"], "$id": 1, "pattern": 1, "title": {}, "description": []}, {}),
        ({"minimum": "1", "maximum": float("inf"), "multipleOf": 0, "minLength": -1, "maxItems": 1.5}, {}),
        ({"type": {"a": 1}}, {}),
        ({"type": []}, {}),
        ({"enum": "ab", "examples": 1, "writeOnly": "no", "dependentRequired": {"a": "b"}}, {}),
    ],
)
def test_what_is_no_schema_is_left_out(given: dict[str, Any], left: dict[str, Any]) -> None:
    before = repr(given)
    assert sound(given) == left
    assert repr(given) == before


def test_what_lies_deeper_than_any_real_schema_is_left_out() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        schema = {"properties": {"a": schema}}
    levels, found = 0, sound(schema)
    while found:
        levels, found = levels + 1, found["properties"]["a"]
    assert levels == 101


@pytest.mark.parametrize(
    ("items", "admitted"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([{"a": [1], "b": 2}, {"b": 2, "a": [1]}], False),
        ([{"a": [1]}, {"a": [True]}], True),
        ([[1, 2], [2, 1]], True),
        ([None, False, 0, ""], True),
        (["x", "x"], False),
    ],
)
def test_items_that_shall_differ_are_compared_as_json_schema_does(items: list[Any], admitted: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    validator = JSONSchemaValidator("tool", schema)
    if admitted:
        assert validator.validate({"a": items}).json == {"a": items}
    else:
        with pytest.raises(ToolArgumentsError, match="more than once"):
            validator.validate({"a": items})


def test_a_fault_deep_inside_is_told_in_a_line() -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = {"a": value}
    with pytest.raises(ToolArgumentsError) as raised:
        JSONSchemaValidator("tool", {"type": "object", "properties": {"a": {"type": "string"}}}).validate(value)
    assert len(str(raised.value)) < 1_000


def test_half_a_character_in_a_models_text_is_marked_and_a_pair_is_joined() -> None:
    assert parse_arguments("tool", '{"a": "\ud83d\ude00\ud800"}') == ({"a": "\U0001f600\ufffd"}, ())
    with pytest.raises(ToolJSONDecodeError, match="no valid JSON"):
        parse_arguments("tool", '{"\\ud800": 1, "\\ud801": 2}')
