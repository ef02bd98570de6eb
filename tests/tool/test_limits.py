"""What each provider is told of a tool, and what of it had to be changed."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from nbtoolkit import FunctionTool, Toolkit
from nbtoolkit.tool.limits import fit


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = Field(default_factory=list)


class Colour(enum.Enum):
    RED = "red"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


def plain(path: str, limit: Annotated[int, Field(ge=1)] = 5) -> str:
    """Read.

    Args:
        path: Where.
        limit: How many.
    """
    return path * limit


def rich(
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    colour: Colour = Colour.RED,
    code: Annotated[str, Field(pattern="^a+$", min_length=2)] = "aa",
    fixed: Literal["only"] = "only",
) -> str:
    """Many kinds."""
    return f"{pet} {colour} {code} {fixed}"


def tree(node: Node) -> str:
    """Recursive."""
    return node.name


def loose(table: dict[str, int]) -> str:
    """Open keys."""
    return str(table)


def sent(function: Any, format: str, **options: Any) -> tuple[dict[str, Any], list[str]]:  # noqa: A002
    toolkit = Toolkit([FunctionTool(function, **{k: v for k, v in options.items() if k != "strict"})])
    strict = bool(options.get("strict"))
    [schema] = toolkit.get_tool_schemas_sync(format=format, strict=strict)
    return schema, [str(note) for note in toolkit.schema_notes_sync(format=format, strict=strict)]


@pytest.mark.parametrize("format", ["openai", "openai_responses", "anthropic", "mcp"])
def test_what_fits_is_sent_as_it_is(format: str) -> None:  # noqa: A002
    for function in (plain, rich, tree, loose):
        tool = FunctionTool(function)
        assert fit(tool.name, tool.input_schema, format).parameters is tool.input_schema


def test_strict_mode_requires_every_argument_and_lets_null_stand_for_the_optional() -> None:
    schema, notes = sent(plain, "openai", strict=True)
    function = schema["function"]
    assert function["strict"] is True
    parameters = function["parameters"]
    assert parameters["required"] == ["path", "limit"]
    assert parameters["additionalProperties"] is False
    limit = parameters["properties"]["limit"]
    assert limit["anyOf"][1] == {"type": "null"}
    assert "default" not in json.dumps(limit["anyOf"])
    assert "default: 5" in limit["description"]
    assert "plain, limit: required, with null for what is left out" in notes


def test_null_for_what_was_left_out_means_its_default() -> None:
    toolkit = Toolkit([FunctionTool(plain, is_read_only=True)])
    assert toolkit.call_sync("plain", path="a", limit=None).text == "aaaaa"


def test_strict_mode_says_a_choice_as_any_of_and_moves_what_it_cannot_say_to_the_description() -> None:
    schema, notes = sent(rich, "openai_responses", strict=True)
    parameters = schema["parameters"]
    assert schema["strict"] is True
    assert "oneOf" not in json.dumps(parameters)
    assert "minLength: 2" in parameters["properties"]["code"]["description"]
    assert any("oneOf sent as anyOf" in note for note in notes)
    assert parameters["$defs"]["Cat"]["required"] == ["kind", "lives"]
    refs = json.dumps(parameters)
    assert '"$ref"' in refs


@pytest.mark.parametrize("format", ["openai", "openai_responses", "anthropic"])
def test_a_tool_that_strict_mode_cannot_take_is_sent_without_it_and_a_note_says_why(format: str) -> None:  # noqa: A002
    schema, notes = sent(loose, format, strict=True)
    flag = schema["function"]["strict"] if format == "openai" else schema["strict"]
    assert flag is False
    assert notes == ["loose: sent without strict, since table takes keys that aren't known beforehand"]


def test_only_anthropic_refuses_a_schema_that_refers_to_itself_in_strict_mode() -> None:
    assert sent(tree, "anthropic", strict=True)[1][0] == "tree: sent without strict, since its schema refers to itself"
    assert sent(tree, "openai", strict=True)[0]["function"]["strict"] is True


def test_strict_mode_counts_levels() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"], "additionalProperties": False}
    assert "nested deeper than 10 levels" in str(fit("t", deep, "openai", strict=True).notes[0])
    assert fit("t", deep["properties"]["a"], "openai", strict=True).strict


def test_openais_strict_mode_counts_values_to_choose_from_and_their_letters() -> None:
    def sent(*counts: int, letters: int = 1) -> tuple[bool, str]:
        properties = {f"e{n}": {"enum": [f"{i:0{letters}}" for i in range(many)]} for n, many in enumerate(counts)}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        fitted = fit("pick", schema, "openai", strict=True)
        return fitted.strict, str(fitted.notes[0]) if fitted.notes else ""

    assert sent(400, 600) == (True, "")
    assert sent(400, 601) == (
        False,
        "pick: sent without strict, since it has 1001 values to choose from, more than 1000",
    )
    assert sent(250, letters=90) == (True, "")
    assert sent(251, letters=60)[1].endswith("since the 251 values of e0 have 15060 characters, more than 15000")


def test_gemini_gets_what_its_subset_knows_and_the_rest_in_words() -> None:
    schema, notes = sent(rich, "gemini")
    parameters = schema["parametersJsonSchema"]
    text = json.dumps(parameters)
    assert '"const"' not in text
    assert '"pattern"' not in text
    code = parameters["properties"]["code"]
    assert 'pattern: "^a+$"' in code["description"]
    assert parameters["$defs"]["Dog"]["properties"]["kind"]["enum"] == ["dog"]
    assert "rich, code: pattern moved to the description, since Gemini doesn't take it" in notes


def test_all_of_is_merged_where_it_is_not_known() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {"required": ["x"]}]},
        },
    }
    assert fit("t", schema, "gemini").parameters["properties"]["a"] == {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "required": ["x"],
    }


def test_a_name_that_gemini_refuses_gets_a_letterlike_start_and_is_known_again_when_called() -> None:
    toolkit = Toolkit([FunctionTool(plain, name="2read", is_read_only=True)])
    [schema] = toolkit.get_tool_schemas_sync(format="gemini")
    assert schema["name"] == "_2read"
    assert "sent as '_2read'" in str(toolkit.schema_notes_sync(format="gemini")[0])
    assert toolkit._run(toolkit.as_sent("_2read", "gemini")) == ("2read", {})


def test_an_argument_that_anthropic_refuses_gets_another_name_and_is_known_again_when_called() -> None:
    given = {"type": "object", "properties": {"größe": {"type": "integer"}, "数": {"type": "integer"}, "ok": {}}}
    fitted = fit("t", given | {"required": ["größe"]}, "anthropic")
    assert list(fitted.parameters["properties"]) == ["gr__e", "argument", "ok"]
    assert fitted.parameters["required"] == ["gr__e"]
    assert fitted.renamed == {"gr__e": "größe", "argument": "数"}
    assert "called größe" in fitted.parameters["properties"]["gr__e"]["description"]


def test_combinators_at_the_top_are_left_out_where_a_provider_takes_none() -> None:
    given = {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    for format in ("openai", "openai_responses", "anthropic"):  # noqa: A001
        fitted = fit("t", given, format)
        assert "anyOf" not in fitted.parameters
        assert "anyOf left out at the top" in str(fitted.notes[0])
    assert fit("t", given, "mcp").parameters is given


def test_a_schema_without_properties_gets_empty_ones_for_openai() -> None:
    assert fit("t", {"type": "object"}, "openai").parameters == {"type": "object", "properties": {}}


def test_more_tools_than_a_request_takes_are_noted() -> None:
    toolkit = Toolkit([FunctionTool(plain, name=f"t{n}") for n in range(129)])
    assert [str(note) for note in toolkit.schema_notes_sync()] == [
        "129 tools: OpenAI takes 128 tools in one request; switch groups off"
    ]


def test_strict_where_there_is_none_says_where_there_is() -> None:
    with pytest.raises(ValueError, match="'gemini' is no schema format with a strict mode; expected one of openai, "):
        Toolkit().get_tool_schemas_sync(format="gemini", strict=True)


def test_a_changed_schema_is_listed_anew() -> None:
    toolkit = Toolkit([FunctionTool(plain, is_read_only=True)])
    toolkit.get_tool_schemas_sync(format="gemini")

    def plain2(other: int) -> int:
        """Another."""
        return other

    plain2.__name__ = "plain"
    plain2.__qualname__ = plain.__qualname__
    toolkit.add_tool_sync(FunctionTool(plain2))
    [schema] = toolkit.get_tool_schemas_sync(format="gemini")
    assert list(schema["parametersJsonSchema"]["properties"]) == ["other"]
