"""What the schema viewer says of each provider."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.notebook.schemas import PROVIDERS, sent
from tests.notebook.asking import Sample


def verdict(schema: dict[str, Any], form: str) -> tuple[str, tuple[str, ...]]:
    given = sent(Sample("sample", schema), form)
    return given.verdict, given.notes


FREE = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}}}
PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize("form", PROVIDERS)
def test_what_every_provider_takes_is_refused_by_none(form: str) -> None:
    said, notes = verdict(PLAIN, form)
    assert said.startswith("Nothing refused.")
    assert notes == ()
    strict = form in {"openai", "openai_responses", "anthropic"}
    assert said.endswith("Strict mode takes it too.") is strict


@pytest.mark.parametrize("form", ["openai", "openai_responses", "anthropic"])
def test_what_strict_mode_cannot_take_is_said_with_the_reason(form: str) -> None:
    said, notes = verdict(FREE, form)
    assert said == "Nothing refused. Strict mode can't take it."
    assert notes == ("Strict mode: sent without strict, since m takes keys that aren't known beforehand",)


def test_what_gemini_does_not_take_is_named_with_its_place() -> None:
    said, notes = verdict({"type": "object", "properties": {"s": {"type": "string", "pattern": "^a"}}}, "gemini")
    assert said == "1 change for this provider."
    assert notes == ("s: pattern moved to the description, since Gemini doesn't take it",)
    assert verdict({"type": "object", "properties": {"s": {"type": "string", "pattern": "^a"}}}, "mcp")[1] == ()


def test_a_change_in_very_many_places_names_the_first_and_counts_the_rest() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(200)}}
    said, notes = verdict(schema, "openai")
    assert said.endswith("Strict mode takes it with 200 changes.")
    assert notes == (
        "Strict mode: p0, p1, p2, p3, p4, p5, p6, p7 and 192 more: required, with null for what is left out",
    )
