"""Validation by a schema alone; the schema may come from a hostile server."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema import JSONSchemaValidator
from nbtoolkit.schema.given import bounded_check
from nbtoolkit.schema.quick import quick_validator

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^/"},
        "limit": {"type": "integer", "minimum": 1, "default": 5},
        "mode": {"enum": ["Fast", "slow"]},
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "nested": {
            "type": "object",
            "properties": {"deep": {"type": "number", "default": 1.5}, "z": {"$ref": "#/$defs/Z"}},
            "required": ["z"],
        },
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "wrong_default": {"type": "string", "default": None},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"Z": {"type": "string", "maxLength": 3}},
}
# The same for a schema that only jsonschema can judge.
EXOTIC: dict[str, Any] = {**SCHEMA, "minProperties": 0}


@pytest.mark.parametrize("schema", [SCHEMA, EXOTIC], ids=["plain", "exotic"])
class TestBothEngines:
    def test_good_arguments_pass_with_defaults_filled_in_at_every_depth(self, schema: dict[str, Any]) -> None:
        arguments = JSONSchemaValidator("t", schema).validate({"nested": {"z": "abc"}, "path": "/a"})
        assert arguments.json == {"path": "/a", "limit": 5, "nested": {"z": "abc", "deep": 1.5}}
        assert list(arguments.json) == ["path", "limit", "nested"]
        assert arguments.bind() == ([], arguments.json)
        assert arguments.mended == ()

    def test_slips_are_mended(self, schema: dict[str, Any]) -> None:
        sent = {"path": "/a", "limit": "7", "mode": "FAST", "flags": "true", "nested": '{"z": "abc"}', "maybe": "3"}
        arguments = JSONSchemaValidator("t", schema).validate(sent)
        assert arguments.json == {
            "path": "/a", "limit": 7, "mode": "Fast", "flags": [True], "nested": {"z": "abc", "deep": 1.5}, "maybe": 3,
        }  # fmt: skip
        assert 'limit: "7" read as 7' in arguments.mended

    def test_all_faults_are_told_with_path_got_and_expected(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ToolArgumentsError) as caught:
            JSONSchemaValidator("t", schema).validate(
                {"path": "a", "limit": 0, "mode": "x", "extra": 1, "nested": {"z": "abcd"}, "maybe": "q"}
            )
        assert sorted(caught.value.faults) == [
            "extra: unexpected, expected only 'path', 'limit', 'mode', 'flags', 'nested', 'maybe', 'wrong_default'",
            "limit: got 0, expected integer (≥ 1)",
            'maybe: got "q", expected integer or null',
            'mode: got "x", expected one of "Fast", "slow"',
            'nested.z: got "abcd", expected string (at most 3 characters)',
            'path: got "a", expected string (matching ^/)',
        ]
        with pytest.raises(
            ToolArgumentsError, match=r"path: missing, expected string \(matching \^/\)\n- nested.z: missing"
        ):
            JSONSchemaValidator("t", schema).validate({"nested": {}})

    def test_json_shares_nothing_with_what_was_sent_or_is_bound(self, schema: dict[str, Any]) -> None:
        sent = {"path": "/a", "flags": [True]}
        arguments = JSONSchemaValidator("t", schema).validate(sent)
        arguments.json["flags"].append(False)
        assert arguments.bind()[1]["flags"] == sent["flags"] == [True]
        arguments.bind()[1].clear()
        assert arguments.bind()[1]


def test_an_object_schema_that_says_nothing_takes_anything_and_keeps_json_strict() -> None:
    arguments = JSONSchemaValidator("t", {"type": "object"}).validate({"a": [1, {"b": math.nan}]})
    assert arguments.json == {"a": [1, {"b": "NaN"}]}


def test_an_older_draft_is_judged_by_its_own_words() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"type": "array", "items": [{"type": "integer"}]}},
        "definitions": {"A": {"type": "integer"}},
    }
    validator = JSONSchemaValidator("t", schema)
    assert validator.validate({"a": "5", "b": [1]}).json == {"a": 5, "b": [1]}
    with pytest.raises(ToolArgumentsError, match=r'b\[0\]: got "x"'):
        validator.validate({"b": ["x"]})


def test_the_branch_of_one_of_several_objects_is_mended_and_faulted() -> None:
    schema = {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"k": {"const": "a"}, "v": {"type": "integer"}},
                            "required": ["k", "v"],
                        },
                        {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]},
                    ]
                },
            }
        },
    }
    validator = JSONSchemaValidator("t", schema)
    assert validator.validate({"items": [{"k": "a", "v": "1"}]}).json == {"items": [{"k": "a", "v": 1}]}
    with pytest.raises(ToolArgumentsError, match=r'items\[0\]\.k: got "c", expected one of "a", "b"'):
        validator.validate({"items": [{"k": "c"}]})


# --------------------------------------------------------------------------------------------------- hostile schemas


@pytest.mark.timeout(30)
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties", "additionalProperties", "unevaluatedProperties"])
def test_a_pattern_that_explodes_takes_no_time(keyword: str) -> None:
    bomb = "^(a+)+$"
    schema: dict[str, Any] = {"type": "object", "minProperties": 0}
    if keyword == "pattern":
        schema["properties"] = {"x": {"type": "string", "pattern": bomb}}
    elif keyword == "patternProperties":
        schema["patternProperties"] = {bomb: {"type": "integer"}}
    else:
        schema |= {"patternProperties": {bomb: {}}, keyword: False}
    text = "a" * 5_000 + "!"
    sent = {"x": text} if keyword == "pattern" else {text: 1}
    validator = JSONSchemaValidator("t", schema)
    if keyword in ("patternProperties", "unevaluatedProperties"):
        assert validator.validate(sent).json == sent
        return
    with pytest.raises(ToolArgumentsError) as caught:
        validator.validate(sent)
    assert len(str(caught.value)) < 1_000


def test_a_pattern_beyond_the_linear_engine_is_checked_only_where_the_schema_is_the_programmers_own() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(?=a)"}}}
    assert JSONSchemaValidator("t", schema).validate({"x": "b"}).json == {"x": "b"}
    with pytest.raises(ToolArgumentsError, match="x: got"):
        JSONSchemaValidator("t", schema, trusted=True).validate({"x": "b"})


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "allOf": [{"$ref": "#"}]},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/d29"}},
            "$defs": {
                "d0": {"type": "integer"},
                **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 3} for n in range(1, 30)},
            },
        },
        {"type": "object", "properties": {"a": {"type": "strng"}}},
        {"type": "object", "properties": 5},
        {"type": "object", "required": 5, "properties": {"a": []}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": 5}}},
        {"type": "object", "properties": {"a": {"minimum": "x", "enum": 5}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"$schema": 5, "type": "object"},
    ],
)
def test_a_schema_that_is_circular_explodes_or_is_no_schema_leaves_the_check_to_the_server(
    schema: dict[str, Any],
) -> None:
    assert JSONSchemaValidator("t", schema).validate({"a": 1}).json["a"] == 1


def nested(keyword: str, levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        inner = {keyword: inner}
    return inner


@pytest.mark.parametrize(
    "inner",
    [
        {"if": {"$ref": "#/properties/a"}},
        {"not": {"not": {"$ref": "#/properties/a"}}},
        nested("if", 300),
        nested("not", 400),
    ],
    ids=["a ring of ifs", "a ring of nots", "many ifs", "many nots"],
)
def test_wherever_the_stack_ends_within_a_check_it_is_left_to_the_server(inner: dict[str, Any]) -> None:
    """At some places the library's maps raise an error that is no Exception."""
    schema = {"type": "object", "properties": {"a": inner}}
    validator, check = JSONSchemaValidator("t", schema), bounded_check(schema)

    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
            return
        assert validator.validate({"a": 1}).json == {"a": 1}
        assert check({"a": 1}) is None

    for levels in range(16):
        deeper(levels)


def test_a_reference_to_elsewhere_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for reference in ("http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json"):
        schema = {
            "type": "object",
            "properties": {"a": {"$ref": reference}, "b": {"type": "integer"}},
        }
        validator = JSONSchemaValidator("t", schema)
        assert validator.validate({"a": 1, "b": 1}).json == {"a": 1, "b": 1}
        with pytest.raises(ToolArgumentsError, match="b: got"):
            validator.validate({"a": 1, "b": "x"})


def test_a_default_that_recurses_is_filled_in_once() -> None:
    schema = {
        "type": "object",
        "properties": {"s": {"type": "object", "properties": {"x": {"default": {}, "$ref": "#"}}}},
    }
    assert JSONSchemaValidator("t", schema).validate({"s": {}}).json == {"s": {"x": {}}}


def test_plain_schemas_need_no_jsonschema() -> None:
    code = (
        "import sys, json\nfrom nbtoolkit.schema import JSONSchemaValidator\n"
        f"v = JSONSchemaValidator('t', json.loads({json.dumps(json.dumps(SCHEMA))}))\n"
        "v.validate({'path': '/a', 'limit': '3'})\n"
        "try:\n    v.validate({'path': 1})\nexcept Exception as e:\n    print(type(e).__name__, 'jsonschema' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "ToolArgumentsError False"


def test_a_plain_value_of_a_server_is_checked_without_the_library_that_takes_seconds_to_import() -> None:
    code = (
        "import sys\nfrom nbtoolkit.schema.given import bounded_check\n"
        "check = bounded_check({'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n']})\n"
        "print(check({'n': 1}), 'jsonschema' in sys.modules)\n"
        "print(check({}).message)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "None False\n'n' is a required property\n"


# ------------------------------------------------------------------------------------- the quick engine and jsonschema

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([0.5, -1.5, 4.0])
    | st.sampled_from(["", "a", "ab", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
SCALAR_SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 2},
        {"type": "string", "pattern": "b"},
        {"type": "integer"},
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"enum": ["a", "b"]},
        {"const": "a", "type": "string"},
        {"$ref": "#/$defs/S"},
        {"allOf": [{"$ref": "#/$defs/S"}], "description": "d"},
        {},
    ]
)
SCHEMAS = st.recursive(
    SCALAR_SCHEMAS,
    lambda inner: (
        st.builds(lambda s: {"type": "array", "items": s}, inner)
        | st.builds(lambda s: {"type": "array", "items": s, "minItems": 1, "maxItems": 2}, inner)
        | st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
        | st.builds(
            lambda a, b, required, more: {
                "type": "object", "properties": {"a": a, "b": b}, "required": required, "additionalProperties": more,
            },
            inner, inner, st.sampled_from([[], ["a"], ["a", "b"]]), st.sampled_from([True, False, {"type": "integer"}]),
        )
    ),
    max_leaves=5,
)  # fmt: skip


def has_whole_float(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(has_whole_float(item) for item in items)


@settings(max_examples=200, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_the_quick_engine_judges_as_jsonschema_does(schema: dict[str, Any], value: Any) -> None:
    root = {"$defs": {"S": {"type": "string", "maxLength": 1}}}
    quick = quick_validator(schema, root)
    assert quick is not None
    judged = jsonschema.Draft202012Validator({**root, **schema}).is_valid(value)
    found = quick.isinstance_python(value, strict=True)
    # 1.0 is an integer for JSON Schema; here the mending makes it one.
    assert found == judged or (judged and has_whole_float(value))
