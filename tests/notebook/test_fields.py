"""A JSON Schema in a person's words."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.notebook.fields import MAX_ROWS, fields, type_words


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "anything"),
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "minLength": 2, "maxLength": 4}, "string, 2 to 4 characters"),
        ({"type": "string", "minLength": 1}, "string, at least 1 character"),
        ({"type": "string", "pattern": "^a+$"}, "string, like ^a+$"),
        ({"type": "integer", "minimum": 1, "maximum": 32}, "integer, 1 to 32"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, more than 0"),
        ({"type": "number", "exclusiveMaximum": 0.5}, "number, less than 0.5"),
        ({"type": "integer", "exclusiveMaximum": 10**400}, f"integer, less than 1{'0' * 400}"),
        ({"type": "integer", "multipleOf": 5, "maximum": 10}, "integer, at most 10, a multiple of 5"),
        ({"enum": ["a", "b", None, 3]}, "a | b | null | 3"),
        ({"enum": list(range(12))}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 4 more"),
        ({"const": "x"}, "x"),
        ({"type": "array", "items": {"type": "string"}}, "list of strings"),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "uniqueItems": True},
            "list of a | b, at least 1 item, none twice",
        ),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, "list of integer, string"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of numbers"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"type": ["string", "null"]}, "string or null"),
    ],
)
def test_a_type_with_its_limits_is_said_in_words(schema: dict[str, Any], words: str) -> None:
    assert type_words(schema) == words


def test_rows_say_what_is_required_what_is_left_out_and_what_is_nested() -> None:
    schema = {
        "type": "object",
        "properties": {
            "sales": {"type": "string", "description": "Orders,\none row each."},
            "model": {"$ref": "#/$defs/Model", "description": "How to fit."},
            "jobs": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
            "seed": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        },
        "required": ["sales", "model"],
        "$defs": {"Model": {"type": "object", "properties": {"depth": {"type": "integer", "default": 6}}}},
    }
    rows = [(row.path, row.depth, row.type, row.value, row.description) for row in fields(schema)]
    assert rows == [
        ("sales", 0, "string", "required", "Orders, ⏎ one row each."),
        ("model", 0, "object", "required", "How to fit."),
        ("model.depth", 1, "integer", "default 6", ""),
        ("jobs", 0, "list of objects", "optional", ""),
        ("jobs[].id", 1, "integer", "optional", ""),
        ("seed", 0, "integer or null", "default null", ""),
    ]


def test_each_object_that_a_field_may_be_has_its_rows_under_its_name() -> None:
    def pet(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": kind}, **more}, "required": ["kind"]}

    schema = {
        "properties": {
            "one": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
            "many": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"type": "string"}]}},
            "odd": {"anyOf": [pet("a"), pet("b"), {"type": "null"}]},
        },
        "$defs": {"Cat": pet("cat", lives={"type": "integer"}), "Dog": {"title": "Hound", **pet("dog")}},
    }
    rows = [(row.path, row.depth, row.type) for row in fields(schema)]
    assert rows == [
        ("one", 0, "Cat or Hound"), ("one(Cat).kind", 1, "cat"), ("one(Cat).lives", 1, "integer"), ("one(Hound).kind", 1, "dog"),
        ("many", 0, "list of object or string"), ("many[](Cat).kind", 1, "cat"), ("many[](Cat).lives", 1, "integer"),
        ("odd", 0, "object or null"), ("odd(1).kind", 1, "a"), ("odd(2).kind", 1, "b"),
    ]  # fmt: skip


def test_a_schema_that_holds_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"head": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    assert [row.path for row in fields(schema)] == ["head", "head.next", "head.value"]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {"a": None, "b": True, "c": "x"}},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"properties": {"a": {"$ref": "https://example.org/schema"}}},
        {"properties": {"a": {"anyOf": "x", "enum": 3, "type": 7, "required": 1}}, "required": "a"},
        {"properties": {"a": {"anyOf": [{"anyOf": [{"$ref": "#/properties/a"}]}]}}},
    ],
)
def test_odd_schemas_give_rows_and_no_error(schema: dict[str, Any]) -> None:
    assert [row.path for row in fields(schema)] == list(schema["properties"] or [])


def test_a_union_that_branches_without_end_is_said_shortly() -> None:
    branch = {"anyOf": [{"$ref": "#/$defs/B"}, *({"type": "array", "items": {"$ref": "#/$defs/B"}},) * 50]}
    words = type_words({"$ref": "#/$defs/B"}, {"$defs": {"B": branch}})
    assert words.endswith(" or 43 more")
    assert len(words) < 1_000


def test_the_number_of_rows_is_bounded() -> None:
    assert len(fields({"properties": {f"p{i}": {} for i in range(10_000)}})) == MAX_ROWS
