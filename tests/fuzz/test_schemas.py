"""Schemas from servers and what models write: any answer but a documented one is a fault, and nothing is fetched."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import mcp_types
import pytest
from hypothesis import strategies as st

from nbtoolkit.exception import AgentOrientedException, ToolArgumentsError, ToolJSONDecodeError
from nbtoolkit.mcp.config import StdioMCPConfig
from nbtoolkit.mcp.tool import MCPTool
from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.schema_view import SchemaView
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.schema.given import JSONSchemaValidator
from nbtoolkit.schema.repair import parse_arguments
from nbtoolkit.schema.sound import sound
from nbtoolkit.tool.schemas import FORMATS
from nbtoolkit.tool.toolkit import Toolkit
from tests.fuzz.support import (
    BOMBS,
    PIECES,
    any_texts,
    arguments,
    check_markup,
    fuzz,
    json_values,
    tool_schemas,
    without_surrogates,
)


class Server:
    """As much of a client as its tools look at."""

    name = "crm"
    trust_annotations = False
    stream_progress = False
    mcp_config = StdioMCPConfig(command="crm-server")


def listed(schema: dict[str, Any], **more: Any) -> MCPTool:
    """A server's tool as the client lists it."""
    definition = mcp_types.Tool(name="sample", input_schema=without_surrogates(schema), **more)
    client: Any = Server()
    return MCPTool(client, definition, "mcp__crm__sample")


@fuzz(short=40, schema=tool_schemas, given=arguments)
def _validate(schema: dict[str, Any], given: dict[str, Any]) -> None:
    before = json.dumps(given, sort_keys=True)
    try:
        checked = listed(schema).validate_input(given)
    except ToolArgumentsError as error:
        assert error.faults
        str(error).encode("utf-8", "surrogatepass")
    else:
        # What is shown, judged and logged has to be JSON.
        json.dumps(checked.json)
    assert json.dumps(given, sort_keys=True) == before


def test_a_servers_schema_gives_arguments_or_a_list_of_faults(no_network: list[object]) -> None:
    _validate()
    assert no_network == []


@fuzz(short=20, schema=tool_schemas)
def _describe(schema: dict[str, Any]) -> None:
    toolkit = Toolkit([listed(schema)])

    async def everything() -> None:
        for form in FORMATS:
            for strict in (False, True):
                try:
                    given = await toolkit.get_tool_schemas(format=form, strict=strict)
                except ValueError:
                    # Where the format has no strict mode.
                    assert strict
                    continue
                json.dumps(given)
                await toolkit.schema_notes(format=form)

    asyncio.run(everything())


def test_a_servers_schema_can_be_sent_to_every_provider(no_network: list[object]) -> None:
    _describe()
    assert no_network == []


@fuzz(short=6, schema=tool_schemas, values=arguments)
def _draw(schema: dict[str, Any], values: dict[str, Any]) -> None:
    tool = listed(schema)
    view = SchemaView(tool, group="basic", permission="asks")
    form = Form(tool.input_schema, values, described=True)
    try:
        for each in view._views.options:
            view._views.value = each
            for widget in view.widgets:
                if type(widget).__name__ == "HTML":
                    check_markup(widget.value)
        try:
            json.dumps(form.read())
        except FormError as error:
            form.show_faults(error.faults)
        for widget in form.widgets:
            if type(widget).__name__ == "HTML":
                check_markup(widget.value)
    finally:
        view.close()
        form.close()


def test_a_servers_schema_is_drawn_as_viewer_and_form_without_markup_of_its_own(no_network: list[object]) -> None:
    _draw()
    assert no_network == []


# ------------------------------------------------------------------------------------------------- single large inputs
def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


LARGE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ten megabytes of properties": (
        {
            "type": "object",
            "properties": {f"p{n}": {"type": "string", "description": "x" * 50} for n in range(120_000)},
        },
        {"p5": "x", "p119999": 5},
    ),
    "ten megabytes of one description": ({"type": "object", "description": "x" * 10_000_000}, {"a": 1}),
    "a hundred thousand names in an enum": (
        {"type": "object", "properties": {"a": {"enum": [f"word{n:08}" for n in range(100_000)]}}},
        {"a": "word"},
    ),
    "a thousand levels": (deep(1_000), nested(1_000)),
    "references that double": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/n0"}},
            "$defs": {
                **{f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 2} for n in range(40)},
                "n40": {"type": "string"},
            },
        },
        {"a": 1},
    ),
    "a reference to itself": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"a": 1},
    ),
    "a tree that holds itself": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/T"}},
            "$defs": {"T": {"type": "object", "properties": {"a": {"$ref": "#/$defs/T"}}, "required": ["a"]}},
        },
        nested(200),
    ),
    "a million ones that shall differ": (
        {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}},
        {"a": [{"b": n} for n in range(20_000)]},
    ),
    "a number of a million digits": (
        {"type": "object", "properties": {"a": {"multipleOf": 3, "minimum": 1e300}}},
        {"a": 10**4_000},
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_a_large_schema_is_an_answer_in_time(what: str, no_network: list[object], clock: None) -> None:
    schema, given = LARGE[what]
    try:
        JSONSchemaValidator("tool", sound(schema)).validate(given)
    except ToolArgumentsError as error:
        assert len(str(error)) < 200_000
    assert no_network == []


@pytest.mark.parametrize("pattern", BOMBS, ids=range(len(BOMBS)))
def test_a_pattern_that_would_take_for_ever_is_an_answer_in_time(pattern: str, clock: None) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": pattern}},
        "patternProperties": {pattern: {"type": "string"}},
    }
    given = {"a": "a" * 5_000 + "!", "x" * 5_000: "x" * 5_000}
    try:
        JSONSchemaValidator("tool", sound(schema)).validate(given)
    except ToolArgumentsError as error:
        assert error.faults


# ------------------------------------------------------------------------------------------------------ what models write
def broken(text: str, cuts: list[tuple[int, str]]) -> str:
    for place, piece in cuts:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + len(piece) % 3 :]
    return text


SLIPS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ",",
    ":",
    "\\",
    "\n",
    "None",
    "NaN",
    "```json\n",
    "```",
    "//",
    "\\u12",
    "}{",
    "\x00",
]
model_texts = st.one_of(
    any_texts,
    st.builds(
        broken,
        st.builds(json.dumps, st.dictionaries(any_texts, json_values, max_size=3)),
        st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from([*SLIPS, *PIECES[:4]])), max_size=4),
    ),
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


@fuzz(short=150, text=model_texts)
def test_a_models_text_becomes_its_own_object_or_an_error_it_can_mend(text: str) -> None:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    try:
        parsed, mended = parse_arguments("tool", text)
    except ToolJSONDecodeError as error:
        # Two names of nothing but halves of characters would be one.
        assert not isinstance(told, dict) or len(without_surrogates(told)) < len(told)
        str(error).encode("utf-8", "surrogatepass")
        return
    assert isinstance(parsed, dict)
    if isinstance(told, dict):
        wanted = without_surrogates(told)
        assert same(parsed, wanted)
        assert bool(mended) is not same(told, wanted)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": "' + "\\" * 200_000,
        "{" + "'a':1," * 50_000,
        "{'a': " + "9" * 50_000 + "}",
    ],
)
def test_a_models_endless_text_is_an_answer_in_time(text: str, clock: None) -> None:
    try:
        parsed, _ = parse_arguments("tool", text)
    except ToolJSONDecodeError as error:
        assert len(str(error)) < 5_000
    else:
        assert isinstance(parsed, dict)


@fuzz(short=20, name=any_texts, text=model_texts, schema=tool_schemas)
def test_whatever_a_model_calls_ends_as_a_result_that_was_judged(name: str, text: str, schema: dict[str, Any]) -> None:
    toolkit = Toolkit([listed(schema)])
    toolkit.mode = PermissionMode.DEFAULT
    called = "mcp__crm__sample" if len(name) % 2 else name
    response = asyncio.run(toolkit.call_tool(ToolCallBlock(name=called, input=text)).complete())
    # Nobody is there to allow it.
    assert response.state in (ToolResultState.DENIED, ToolResultState.ERROR)
    json.dumps(response.model_dump(mode="json"))
    entry = next(iter(toolkit.log))
    json.dumps(entry.to_dict())


def test_the_errors_that_a_model_can_mend_are_one_family() -> None:
    assert issubclass(ToolArgumentsError, AgentOrientedException)
    assert issubclass(ToolJSONDecodeError, AgentOrientedException)
