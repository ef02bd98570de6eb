"""Rules by argument: their grammar, what they match, and that what is suggested matches exactly its call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtoolkit.permission.arguments import suggest_rules
from nbtoolkit.permission.conditions import Condition, parse_content
from nbtoolkit.permission.matching import Reading, match_arguments
from nbtoolkit.permission.pattern import absolute
from nbtoolkit.permission.subject import Match
from nbtoolkit.tool.bash import Bash

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text(min_size=1, max_size=12)


def held(
    content: str, tool_input: dict[str, Any], *, wide: bool = False, base: str | None = None, known: Any = None
) -> str:
    reading = Reading(wide=wide, base=base or str(Path.cwd()))
    return reading.ready(content).match(tool_input, None if known is None else lambda: known).name


# ---------------------------------------------------------------------------------------------------------- grammar
@pytest.mark.parametrize(
    ("content", "conditions"),
    [
        ("a=b", [(("a",), "=", "bare", "b")]),
        (" a = b c , d<=5", [(("a",), "=", "bare", "b c"), (("d",), "<=", "bare", "5")]),
        ("a==b", [(("a",), "=", "bare", "b")]),
        ('a="x, y=(z)"', [(("a",), "=", "text", "x, y=(z)")]),
        ('a=""', [(("a",), "=", "text", "")]),
        ('a="=="', [(("a",), "=", "text", "==")]),
        ("filter.species=Gentoo", [(("filter", "species"), "=", "bare", "Gentoo")]),
        ('"odd name"."x.y"!=3', [(("odd name", "x.y"), "!=", "bare", "3")]),
        ("a=[1,2], b={}", [(("a",), "=", "json", "[1,2]"), (("b",), "=", "json", "{}")]),
        ("a=data/{x,y}/*.csv", [(("a",), "=", "bare", "data/{x,y}/*.csv")]),
        (r"a=x\,y", [(("a",), "=", "bare", r"x\,y")]),
        ("a=[ab]*", [(("a",), "=", "bare", "[ab]*")]),
        ("a>=-1.5e3", [(("a",), ">=", "bare", "-1.5e3")]),
    ],
)
def test_a_content_is_taken_apart(content: str, conditions: list[Any]) -> None:
    parsed = parse_content(content)
    assert parsed.fault is None
    assert [tuple(each) for each in parsed.conditions] == conditions


@pytest.mark.parametrize(
    "content",
    [
        "",
        "data/**",
        "a",
        "a=",
        "=b",
        "a=b,",
        ",",
        'a="b',
        'a="b" c',
        "a..b=c",
        "a<>",
        "a<b",
        "a>=yesterday",
        "a=>5",
        "a=<5",
        "a>>5",
        "a=!b",
        "a<>5",
        "a=b,,c=d",
    ],
)
def test_a_content_outside_the_grammar_has_a_fault_and_no_conditions(content: str) -> None:
    parsed = parse_content(content)
    assert parsed.fault
    assert parsed.conditions == ()


@given(st.text(max_size=60))
def test_any_content_is_taken_apart_or_has_a_fault(content: str) -> None:
    parsed = parse_content(content)
    assert bool(parsed.fault) != bool(parsed.conditions or content.strip() == "*")


@given(
    st.lists(
        st.builds(
            Condition,
            st.lists(NAMES, min_size=1, max_size=3).map(tuple),
            st.sampled_from(["=", "!="]),
            st.just("text"),
            st.text(max_size=20),
        )
        | st.builds(
            Condition,
            st.lists(NAMES, min_size=1, max_size=3).map(tuple),
            st.sampled_from(["=", "!=", "<=", ">=", "<", ">"]),
            st.just("bare"),
            st.integers().map(str) | st.floats(allow_nan=False, allow_infinity=False).map(str) | st.dates().map(str),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_condition_comes_back_from_its_text(conditions: list[Condition]) -> None:
    parsed = parse_content(", ".join(map(str, conditions)))
    assert list(parsed.conditions) == conditions


# --------------------------------------------------------------------------------------------------------- matching
YES, NO, UNKNOWN = "YES", "NO", "UNKNOWN"


@pytest.mark.parametrize(
    ("content", "tool_input", "narrow", "wide"),
    [
        # plain values
        ("species=Gentoo", {"species": "Gentoo"}, YES, YES),
        ("species=Gentoo", {"species": "gentoo"}, NO, NO),
        ("species=Gentoo, n=1", {"species": "Gentoo", "n": 2}, NO, NO),
        ("n=1000", {"n": 1000}, YES, YES),
        ("n=1000", {"n": 1000.0}, YES, YES),
        ("n=1e3", {"n": 1000}, YES, YES),
        ("n=1000", {"n": "1000"}, YES, YES),
        ('n="1000"', {"n": 1000}, NO, NO),
        ("n=1", {"n": True}, NO, NO),
        ("on=true", {"on": True}, YES, YES),
        ("on=true", {"on": False}, NO, NO),
        ("x=null", {"x": None}, YES, YES),
        ('x=""', {"x": ""}, YES, YES),
        ("x!=a", {"x": "b"}, YES, YES),
        ("x!=a", {"x": "a"}, NO, NO),
        # globs over text: to allow, a star stays within a part
        ("title=Fix *", {"title": "Fix a bug"}, YES, YES),
        ("title=Fix *", {"title": "Fix a/b"}, NO, YES),
        ("title=Fix **", {"title": "Fix a/b"}, YES, YES),
        ("name=*.csv", {"name": "../../etc/x.csv"}, NO, YES),
        ("name=a?c", {"name": "abc"}, YES, YES),
        ("name=[ab]x", {"name": "bx"}, YES, YES),
        ("name={a,b}x", {"name": "bx"}, YES, YES),
        (r"name=a\*", {"name": "a*"}, YES, YES),
        (r"name=a\*", {"name": "ab"}, NO, NO),
        ('name="a*"', {"name": "ab"}, NO, NO),
        ("name=a*c", {"name": "a\nc"}, YES, YES),
        # numbers and dates in order
        ("limit<=1000", {"limit": 1000}, YES, YES),
        ("limit<1000", {"limit": 1000}, NO, NO),
        ("limit<=1000", {"limit": 10**30}, NO, NO),
        ("limit>5", {"limit": 5.5}, YES, YES),
        ("limit<=1000", {"limit": float("nan")}, NO, UNKNOWN),
        ("limit<=1000", {"limit": "many"}, NO, UNKNOWN),
        ("limit<=1000", {"limit": None}, NO, UNKNOWN),
        ("limit<=1000", {"limit": True}, NO, UNKNOWN),
        ("day<=2026-06-30", {"day": "2026-06-29"}, YES, YES),
        ("day<=2026-06-30", {"day": "2026-07-01T00:00:00"}, NO, NO),
        ("day<=2026-06-30", {"day": "tomorrow"}, NO, UNKNOWN),
        # what is missing
        ("limit<=1000", {}, NO, UNKNOWN),
        ("limit!=5", {}, NO, UNKNOWN),
        ("species=a, limit=5", {"species": "b"}, NO, NO),
        # lists and nesting
        ("tags=a*", {"tags": ["a", "ab"]}, YES, YES),
        ("tags=a*", {"tags": ["a", "b"]}, NO, YES),
        ("tags=a*", {"tags": []}, NO, NO),
        ("tags!=b", {"tags": ["a", "b"]}, NO, YES),
        ('tags=["a","b"]', {"tags": ["a", "b"]}, YES, YES),
        ('tags=["a"]', {"tags": ["a", "b"]}, NO, NO),
        ("filter.species=Gentoo", {"filter": {"species": "Gentoo", "n": 1}}, YES, YES),
        ("filter.species=Gentoo", {"filter": {}}, NO, UNKNOWN),
        ("filter.species=Gentoo", {"filter": "Gentoo"}, NO, UNKNOWN),
        ("rows.kind=a", {"rows": [{"kind": "a"}, {"kind": "a"}]}, YES, YES),
        ("rows.kind=a", {"rows": [{"kind": "a"}, {"kind": "b"}]}, NO, YES),
        ("filter=x", {"filter": {"a": 1}}, NO, UNKNOWN),
        ("a.b=x", {"a.b": "x"}, YES, YES),
        ('o={"b":1,"a":[true]}', {"o": {"a": [True], "b": 1}}, YES, YES),
        ('o={"a":1}', {"o": {"a": True}}, NO, NO),
        # URLs: no star in the host leaves it, no dots lead out
        ("url=https://api.x.org/**", {"url": "https://api.x.org/a/b?c=/../d"}, NO, YES),
        ("url=https://api.x.org/**", {"url": "https://api.x.org/a/b?c=d"}, YES, YES),
        ("url=https://*.x.org/**", {"url": "https://evil.org/?.x.org/"}, NO, YES),
        ("url=https://*.x.org/**", {"url": "https://evil.org#.x.org/a"}, NO, YES),
        ("url=https://*.x.org/**", {"url": "https://me@evil.org:80@.x.org/a"}, NO, YES),
        ("url=https://x.org/a/**", {"url": "https://x.org/a/%2E%2e/b"}, NO, YES),
        ("url=https://x.org/a/**", {"url": "https://x.org/a/..\\b"}, NO, YES),
        # what isn't in the grammar
        ("data/**", {"path": "data/x"}, NO, UNKNOWN),
        ("", {}, NO, UNKNOWN),
    ],
)
def test_conditions_match_narrowly_to_allow_and_widely_to_deny(
    content: str, tool_input: dict[str, Any], narrow: str, wide: str
) -> None:
    assert held(content, tool_input) == narrow
    assert held(content, tool_input, wide=True) == wide


@given(
    st.sampled_from(["a=x*", "a!=x*", "a<=5", "a.b=x", "a=[1]", "a=./x/**", "a!=./x/**", "a=https://x/*"]),
    st.dictionaries(st.sampled_from(["a", "b"]), JSON),
)
def test_wide_is_never_less_than_narrow(content: str, tool_input: dict[str, Any]) -> None:
    if held(content, tool_input) == YES:
        assert held(content, tool_input, wide=True) == YES


def test_an_argument_that_the_tool_doesnt_have_is_no_reason_to_ask() -> None:
    assert held("limit<=1000", {"path": "a"}, wide=True, known={"path": {}}) == NO
    assert held("limit<=1000", {"path": "a"}, wide=True, known={"path": {}, "limit": {}}) == UNKNOWN


# ------------------------------------------------------------------------------------------------------------ paths
@pytest.mark.parametrize(
    ("pattern", "value", "narrow", "wide"),
    [
        ("data/**", "data/a/b.csv", YES, YES),
        ("data/**", "./data/a.csv", YES, YES),
        ("data/**", "{here}/data/a.csv", YES, YES),
        ("data/**", "data", YES, YES),
        ("data/**", "database/a.csv", NO, NO),
        ("data/**", "data/../secrets/a", NO, NO),
        ("data/**", "other/../data/a", YES, YES),
        ("data/**", "/elsewhere/data/a", NO, YES),
        ("./data/**", "/elsewhere/data/a", NO, NO),
        ("data/*.csv", "data/a.csv", YES, YES),
        ("data/*.csv", "data/a/b.csv", NO, NO),
        ("data/**/*.csv", "data/b.csv", YES, YES),
        ("data/**/*.csv", "data/a/c/b.csv", YES, YES),
        ("../shared/**", "{here}/../shared/a", YES, YES),
        ("~/data/**", "~/data/a", YES, YES),
        ("~/data/**", "{home}/data/a", YES, YES),
        ("/**", "/etc/passwd", YES, YES),
        ("./**", "a", YES, YES),
        ("./**", "../a", NO, NO),
        ("./data/{a,b}/*", "data/b/x", YES, YES),
        ("./DATA/**", "data/a", NO, YES),
        ("data/", "data/a", YES, YES),
        ("./secrets", "secrets/a", NO, YES),
        ("data/**", "file:///elsewhere/data/a", NO, YES),
        ("data/**", "link/a", NO, NO),
        ("link/**", "link/a", NO, YES),
        ("./link/**", "link/a", NO, YES),
        ("./outside/**", "{outside}/a", NO, NO),
        ("data/**", "data/link/../a", NO, YES),
        ("{outside}/**", "link/a", YES, YES),
        ("data/**", "data/\x00a", NO, UNKNOWN),
        ("data/**", "", NO, UNKNOWN),
        ("data/**", "x" * 9000, NO, UNKNOWN),
        ("data/**", 5, NO, NO),
    ],
)
def test_values_are_resolved_before_they_are_held_against_a_path(
    project: Path, pattern: str, value: Any, narrow: str, wide: str
) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (project / "data").mkdir()
    (project / "link").symlink_to(outside)
    (project / "data" / "link").symlink_to(outside)
    places = {"here": project, "home": project.parent / "home", "outside": outside}
    pattern = pattern.format_map(places) if "{a,b}" not in pattern else pattern
    value = value.format_map(places) if isinstance(value, str) and len(value) < 100 else value
    content = f"path={pattern}"
    assert held(content, {"path": value}) == narrow
    assert held(content, {"path": value}, wide=True) == wide


def test_a_link_that_comes_later_turns_no_allow_rule_around(project: Path) -> None:
    (project.parent / "outside").mkdir()
    reading = Reading(wide=False, base=str(project))
    ready = reading.ready("path=data/**")
    assert ready.match({"path": "data/a"}) is Match.YES
    (project / "data").symlink_to(project.parent / "outside")
    reading.refresh()
    assert ready.match({"path": "data/a"}) is Match.NO


def test_from_a_sub_folder_a_relative_value_may_mean_either_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "notebooks").mkdir()
    (project / "data").mkdir()
    monkeypatch.chdir(project / "notebooks")
    base = str(project)
    # The same words in the rule's folder and here.
    assert held("path=data/**", {"path": "data/a"}, base=base) == YES
    # Where it really leads is what the rule names.
    assert held("path=data/**", {"path": "../data/a"}, base=base) == YES
    assert held("path=data/**", {"path": "../../data/a"}, base=base) == NO
    # A link here that leads out is not what the rule's folder means.
    (project / "notebooks" / "data").symlink_to("/")
    assert held("path=data/**", {"path": "data/etc"}, base=base) == NO
    # To deny, either reading is enough.
    assert held("path=./data/**", {"path": "data/a"}, base=base, wide=True) == YES
    assert held("path=./data/**", {"path": "../data/a"}, base=base, wide=True) == YES


# ------------------------------------------------------------------------------------------------------- suggesting
@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_a_suggestion_matches_its_own_call(tool_input: dict[str, Any]) -> None:
    for rule in suggest_rules("tool", json.loads(json.dumps(tool_input))):
        paths = [value for value in tool_input.values() if isinstance(value, str) and "\x00" in value]
        assert paths or match_arguments(rule.rule_content, tool_input)


@given(
    st.dictionaries(st.sampled_from("ab"), JSON, min_size=1), st.dictionaries(st.sampled_from("ab"), JSON, min_size=1)
)
def test_a_suggestion_matches_no_call_with_other_values(first: dict[str, Any], second: dict[str, Any]) -> None:
    for rule in suggest_rules("tool", first):
        if match_arguments(rule.rule_content, second):
            assert all(_alike(first[name], second.get(name)) for name in first)


def _alike(wanted: Any, got: Any) -> bool:
    """Whether two values read alike in a rule: 5 and "5", "a" and "./a", true and a list of it."""
    if isinstance(got, list) and not isinstance(wanted, list):
        return all(_alike(wanted, each) for each in got)
    first, second = (each if isinstance(each, str) else json.dumps(each, sort_keys=True) for each in (wanted, got))
    if first == second or absolute(first, "/") == absolute(second, "/"):
        return True
    return isinstance(wanted, str | int | float) and float(first) == float(second)


@pytest.mark.parametrize(
    ("value", "suggested"),
    [
        ("data/a", "path=data/a"),
        ("./data/a", "path=./data/a"),
        ("x/../a", "path=./a"),
        ("../a", "path=../a"),
        (".env", 'path=".env"'),
        ("a b,c", 'path="a b,c"'),
        ("*", 'path="*"'),
    ],
)
def test_a_suggested_path_means_that_place_alone(project: Path, value: str, suggested: str) -> None:
    (rule,) = suggest_rules("tool", {"path": value})
    assert rule.rule_content == suggested
    assert match_arguments(suggested, {"path": value})
    assert not match_arguments(suggested, {"path": f"deeper/{value}"})


def test_a_call_without_arguments_suggests_the_tool() -> None:
    assert [str(rule) for rule in suggest_rules("now", {})] == ["now"]


def test_what_nobody_could_read_is_not_suggested() -> None:
    assert suggest_rules("run", {"code": "x" * 3000}) == []


# ------------------------------------------------------------------------------------------------- secrets in no rule
@pytest.mark.parametrize(
    ("tool_input", "suggested"),
    [
        ({"host": "h", "password": "hunter2"}, ["tool(host=h)"]),
        ({"host": "h", "dbPassword": "hunter2"}, ["tool(host=h)"]),
        ({"host": "h", "api_key": "x"}, ["tool(host=h)"]),
        ({"host": "h", "headers": {"Authorization": "x"}}, ["tool(host=h)"]),
        ({"host": "h", "code": "77"}, ["tool(host=h)"]),
        ({"host": "h", "maybe": "x"}, ["tool(host=h)"]),
        ({"host": "h", "password": None}, ["tool(host=h, password=null)"]),
        ({"max_tokens": 9}, ["tool(max_tokens=9)"]),
        ({"password": "hunter2"}, []),
        ({"sql": "select 'qwertyuiop12345'", "n": 1}, []),
        ({"host": "h", "text": "sk-abcdefghijklmnopqrstuv1234"}, []),
    ],
)
def test_no_suggestion_holds_a_secret(
    monkeypatch: pytest.MonkeyPatch, tool_input: dict[str, Any], suggested: list[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", "qwertyuiop12345")
    masked = {"format": "password", "writeOnly": True}
    schema = {"properties": {"code": masked, "maybe": {"anyOf": [masked, {"type": "null"}]}, "host": {}}}
    assert list(map(str, suggest_rules("tool", tool_input, schema=schema))) == suggested


@pytest.mark.parametrize(
    ("command", "suggested"),
    [
        ("curl -u me:pw https://x", []),
        ("curl https://me:pw@x/", []),
        ("curl -H 'Authorization: Bearer abc' https://x", []),
        ("curl -H 'X-Api-Key: abc' https://x", []),
        ("curl -d password=abc https://x", []),
        ("wget --http-password=abc https://x", []),
        ("wget --http-password abc https://x", []),
        ("docker login -p abc", ["Bash(docker login:*)"]),
        ("curl https://x/a.csv", ["Bash(curl https://x/a.csv)"]),
    ],
)
def test_no_suggested_command_holds_one_either(bench: Any, project: Path, command: str, suggested: list[str]) -> None:
    found = bench().judge(Bash(cwd=project), command=command).decision.suggested_rules
    assert list(map(str, found or [])) == suggested
