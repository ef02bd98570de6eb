"""Rules as text and back, decisions, contexts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nbtoolkit.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.conditions import condition_fault
from nbtoolkit.permission.rule import PermissionMode

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="()\"', \t\n", exclude_categories=["Z", "C"]),
    min_size=1,
    max_size=40,
)
CONTENTS = st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip()) and condition_fault(text) is None)


@pytest.mark.parametrize(
    ("text", "name", "content"),
    [
        ("load_table", "load_table", None),
        ("Bash(git status:*)", "Bash", "git status:*"),
        ("Read(./data/**)", "Read", "./data/**"),
        ("mcp__fs", "mcp__fs", None),
        ("load_table(path=data/**, limit<=1000)", "load_table", "path=data/**, limit<=1000"),
        ("Bash(echo (a) && b)", "Bash", "echo (a) && b"),
        ("  Bash (ls)  ", "Bash", "ls"),
    ],
)
def test_a_text_becomes_a_rule(text: str, name: str, content: str | None) -> None:
    rule = PermissionRule.parse(text, "allow")
    assert (rule.tool_name, rule.rule_content, rule.source) == (name, content, "user")


@given(NAMES, st.none() | CONTENTS)
def test_every_rule_comes_back_from_its_text(name: str, content: str | None) -> None:
    rule = PermissionRule(tool_name=name, rule_content=content, behavior=PermissionBehavior.DENY)
    assert PermissionRule.parse(str(rule), "deny") == rule


@pytest.mark.parametrize(
    "text", ["", "   ", "(x)", "Bash(ls", "Bash(ls) x", "two words", "a,b", 'a"b', "Bash()", "Bash(  )", "a\x00b"]
)
def test_a_text_that_is_no_rule_says_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)expected|must end|nothing in its") as fault:
        PermissionRule.parse(text, "allow")
    assert repr(text) in str(fault.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("load(limit=>5)", "'=>' is no comparison"),
        ("load(limit =< 5)", "'=<' is no comparison"),
        ("load(a=b, limit<>5)", "'<>' is no comparison"),
        ("load(limit<=many)", "compares numbers and dates, not 'many'"),
        ("load(path=)", "Expected a value after 'path='"),
        ("load(path=a,)", "Expected an argument's name"),
        ('load(path="a)', "a text in double quotes"),
        ("mcp__fs(limit=>5)", "'=>' is no comparison"),
    ],
)
def test_conditions_that_cant_be_read_are_refused_with_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match="can't be read") as fault:
        PermissionRule.parse(text, "deny")
    assert repr(text) in str(fault.value)
    assert expected in str(fault.value)


@pytest.mark.parametrize("text", ["Bash(X=>3:*)", "Write(a=b,)", "load(*)", "custom(*.csv)", "custom(git status)"])
def test_contents_of_another_kind_are_left_to_the_tool(text: str) -> None:
    assert str(PermissionRule.parse(text, "allow")) == text


def test_what_is_no_text_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not None"):
        PermissionRule.parse(None, "allow")  # type: ignore[arg-type]


def test_an_unknown_behavior_is_refused() -> None:
    with pytest.raises(ValueError, match="maybe"):
        PermissionRule.parse("a", "maybe")


def test_a_rule_doesnt_change_and_can_be_a_key() -> None:
    rule = PermissionRule.parse("a", "allow")
    with pytest.raises(ValidationError):
        rule.tool_name = "b"
    assert {rule: 1}[PermissionRule.parse("a", "allow")] == 1


def test_a_decision_takes_the_seven_words_of_its_contract() -> None:
    decision = PermissionDecision("ask", "why")  # type: ignore[arg-type]
    assert decision.behavior is PermissionBehavior.ASK
    assert (decision.decision_reason, decision.updated_input, decision.suggested_rules, decision.bypass_immune) == (
        None,
        None,
        None,
        False,
    )


def test_a_context_keeps_each_rule_once_and_survives_json() -> None:
    context = PermissionContext(mode="explore")  # type: ignore[arg-type]
    rule = PermissionRule.parse("Bash(ls)", "deny")
    assert context.add_rule(rule)
    assert not context.add_rule(PermissionRule.parse("Bash(ls)", "deny"))
    again = PermissionContext.model_validate_json(context.model_dump_json())
    assert again == context
    assert again.mode is PermissionMode.EXPLORE
    assert context.remove_rule(rule)
    assert not context.remove_rule(rule)
    assert context.deny_rules == {}


def test_there_are_no_rules_to_pass_through() -> None:
    with pytest.raises(ValueError, match="passthrough"):
        PermissionContext().rules(PermissionBehavior.PASSTHROUGH)


def test_a_mode_can_be_set_by_its_name_only_if_it_is_one() -> None:
    context = PermissionContext()
    context.mode = "bypass"  # type: ignore[assignment]
    assert context.mode is PermissionMode.BYPASS
    with pytest.raises(ValidationError):
        context.mode = "yolo"  # type: ignore[assignment]
