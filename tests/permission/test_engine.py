"""The judgement: the order of its steps, the table of modes, subjects, and what happens when a check fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.subject import Effect, Step, Subject
from nbtoolkit.skill import SkillViewer
from nbtoolkit.tool.group import ResetTools

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY

MODES = ("default", "accept_edits", "explore", "bypass", "dont_ask")

# What each kind of call gets in each mode. The reason for a row stands where it isn't the table of modes itself.
TABLE = {
    "no rule": """
        plain           ask   ask   deny  allow deny
        read            allow allow allow allow allow
        claimed         ask   allow allow allow deny     # a server's word counts where nothing could be lost by it
        trusted         allow allow allow allow allow
        tool allows     allow allow deny  allow allow    # explore isn't widened by the tool's own word
        tool passes     ask   ask   deny  allow deny
        tool denies     deny  deny  deny  deny  deny
        tool immune     ask   ask   deny  allow deny     # counts as safety, which bypass lets pass
        read, immune    ask   ask   deny  allow deny     # safety comes before read-only
        edit            ask   allow deny  allow allow
        outside         ask   ask   allow allow deny
        sensitive       ask   ask   deny  allow deny
        sensitive read  ask   ask   deny  allow deny
        own file        ask   ask   deny  ask   deny
        names own file  ask   ask   deny  ask   deny
        read and other  ask   ask   deny  allow deny
        read and edit   ask   allow deny  allow allow
        edit and secret ask   ask   deny  allow deny
    """,
    "allow": """
        plain           allow allow deny  allow allow
        read            allow allow allow allow allow
        claimed         allow allow allow allow allow
        trusted         allow allow allow allow allow
        tool allows     allow allow deny  allow allow
        tool passes     allow allow deny  allow allow
        tool denies     deny  deny  deny  deny  deny
        tool immune     ask   ask   deny  allow deny     # no allow rule silences safety
        read, immune    ask   ask   deny  allow deny
        edit            allow allow deny  allow allow
        outside         allow allow allow allow allow
        sensitive       ask   ask   deny  allow deny
        sensitive read  ask   ask   deny  allow deny
        own file        ask   ask   deny  ask   deny
        names own file  ask   ask   deny  ask   deny
        read and other  allow allow deny  allow allow
        read and edit   allow allow deny  allow allow
        edit and secret ask   ask   deny  allow deny
    """,
    "ask": """
        plain           ask   ask   deny  ask   deny
        read            ask   ask   ask   ask   deny     # ask rules come before read-only
        claimed         ask   ask   ask   ask   deny
        trusted         ask   ask   ask   ask   deny
        tool allows     ask   ask   deny  ask   deny
        tool passes     ask   ask   deny  ask   deny
        tool denies     deny  deny  deny  deny  deny
        tool immune     ask   ask   deny  ask   deny
        read, immune    ask   ask   deny  ask   deny
        edit            ask   ask   deny  ask   deny
        outside         ask   ask   ask   ask   deny
        sensitive       ask   ask   deny  ask   deny     # in bypass safety passes, the ask rule doesn't
        sensitive read  ask   ask   deny  ask   deny
        own file        ask   ask   deny  ask   deny
        names own file  ask   ask   deny  ask   deny
        read and other  ask   ask   deny  ask   deny
        read and edit   ask   ask   deny  ask   deny
        edit and secret ask   ask   deny  ask   deny
    """,
}


def rows() -> list[Any]:
    found = []
    for rules, text in TABLE.items():
        for line in filter(None, (each.partition("#")[0].rstrip() for each in text.splitlines())):
            kind, *verdicts = line.strip()[:15].strip(), *line.strip()[15:].split()
            found += [
                pytest.param(rules, kind, mode, verdict, id=f"{rules}-{kind}-{mode}")
                for mode, verdict in zip(MODES, verdicts, strict=True)
            ]
    return found


@pytest.fixture
def call(tool: Any, parted: Any, part: Any) -> Any:
    def own(behavior: PermissionBehavior, **options: Any) -> PermissionDecision:
        return PermissionDecision(behavior, "the tool says so", **options)

    read = part(kind="command", text="ls", effect=Effect.READ)
    other = part(kind="command", text="make")
    edit = part(kind="write", text="out/a", effect=Effect.EDIT)
    secret = part(kind="read", text="~/.ssh/id_rsa", safety="it reads a private key")
    calls = {
        "plain": tool("Bash"),
        "read": tool("Bash", read_only=True),
        "claimed": tool("Bash", read_only=True, server="fs"),
        "trusted": tool("Bash", read_only=True, server="fs", trust=True),
        "tool allows": tool("Bash", own=own(ALLOW)),
        "tool passes": tool("Bash", own=own(PermissionBehavior.PASSTHROUGH)),
        "tool denies": tool("Bash", own=own(DENY)),
        "tool immune": tool("Bash", own=own(ASK, bypass_immune=True)),
        "read, immune": tool("Bash", read_only=True, own=own(ASK, bypass_immune=True)),
        "edit": parted([edit]),
        "outside": parted([part(kind="read", text="/data/a", effect=Effect.READ_OUTSIDE)]),
        "sensitive": parted([secret]),
        "sensitive read": parted([part(kind="read", text="~/.netrc", effect=Effect.READ, safety="it reads passwords")]),
        "own file": parted([part(kind="write", text="nbtoolkit.toml", safety="the rules", own_file=True)]),
        "names own file": tool("Bash"),
        "read and other": parted([read, other]),
        "read and edit": parted([read, edit]),
        "edit and secret": parted([edit, secret]),
    }
    arguments = {"names own file": {"path": "sub/nbtoolkit.toml"}}
    return lambda kind: (calls[kind], arguments.get(kind, {"path": "a"}))


@pytest.mark.parametrize(("rules", "kind", "mode", "expected"), rows())
def test_the_table_of_modes_holds(bench: Any, call: Any, rules: str, kind: str, mode: str, expected: str) -> None:
    made = bench(mode, *([] if rules == "no rule" else [f"{rules} Bash"]))
    tool, tool_input = call(kind)
    assert made.verdict(tool, **tool_input) == expected


@pytest.mark.parametrize("kind", ["plain", "read", "tool allows", "edit", "sensitive", "own file", "read and other"])
@pytest.mark.parametrize("mode", MODES)
def test_a_deny_rule_holds_in_every_mode_whatever_else_is_said(bench: Any, call: Any, kind: str, mode: str) -> None:
    tool, tool_input = call(kind)
    for rules in (["deny Bash"], ["allow Bash", "deny Bash"], ["ask Bash", "deny Bash", "allow Bash"]):
        judgement = bench(mode, *rules).judge(tool, **tool_input)
        assert judgement.decision.behavior is DENY
        assert judgement.decision.decision_reason == "Rule: Bash"


@pytest.mark.parametrize("kind", ["plain", "read", "claimed", "tool allows", "edit", "outside", "read and other"])
@pytest.mark.parametrize("mode", MODES)
def test_no_allow_rule_weakens_an_ask_rule(bench: Any, call: Any, kind: str, mode: str) -> None:
    tool, tool_input = call(kind)
    alone = bench(mode, "ask Bash").verdict(tool, **tool_input)
    assert bench(mode, "allow Bash", "ask Bash").verdict(tool, **tool_input) == alone


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_for_groups_and_skills_run_in_every_mode(bench: Any, mode: str) -> None:
    assert bench(mode).verdict(ResetTools(list), research=True) == "allow"
    assert SkillViewer.is_read_only


# ------------------------------------------------------------------------------------------------- steps and words
@pytest.mark.parametrize(
    ("mode", "rules", "kind", "word", "step"),
    [
        ("default", ["allow Bash"], "plain", "Rule: Bash", Step.ALLOW_RULES),
        ("default", ["ask Bash"], "plain", "Rule: Bash", Step.ASK_RULES),
        ("default", [], "plain", "default", Step.MODE),
        ("accept_edits", [], "edit", "accept_edits", Step.MODE),
        ("bypass", [], "plain", "bypass", Step.MODE),
        ("default", [], "read", "read-only", Step.READ_ONLY),
        ("default", [], "sensitive", "safety", Step.SAFETY),
        ("default", [], "tool immune", "safety", Step.SAFETY),
        ("default", [], "tool denies", "the tool's own check", Step.TOOL),
        ("default", ["allow Bash"], "tool allows", "the tool's own check", Step.TOOL_ALLOWS),
    ],
)
def test_the_reason_is_the_word_of_the_step_that_decided(
    bench: Any, call: Any, mode: str, rules: list[str], kind: str, word: str, step: Step
) -> None:
    tool, tool_input = call(kind)
    judgement = bench(mode, *rules).judge(tool, **tool_input)
    assert (judgement.decision.decision_reason, judgement.step) == (word, step)


def test_the_tools_own_reason_and_message_are_kept(bench: Any, tool: Any) -> None:
    own = PermissionDecision(DENY, "Not on Sundays.", "calendar")
    decision = bench().judge(tool(own=own)).decision
    assert (decision.message, decision.decision_reason) == ("Not on Sundays.", "calendar")
    own = PermissionDecision(ASK, "It sends a mail to everybody.")
    assert bench().judge(tool(own=own)).decision.message == "It sends a mail to everybody."


def test_a_denied_call_never_reaches_the_tools_own_check(bench: Any, tool: Any) -> None:
    made = tool()
    bench("default", "deny load_table").judge(made)
    assert made.asked == 0


def test_the_tools_own_check_is_asked_once_for_all_parts(bench: Any, parted: Any, part: Any) -> None:
    made = parted([part(kind="command", text=text) for text in "abc"])
    bench().judge(made)
    assert made.asked == 1


def test_updated_input_travels_with_the_decision(bench: Any, tool: Any) -> None:
    own = PermissionDecision(ASK, "", updated_input={"path": "b"})
    assert bench().judge(tool(own=own), path="a").decision.updated_input == {"path": "b"}


def test_check_permission_gives_the_decision_alone(tool: Any) -> None:
    engine = PermissionEngine(PermissionContext())
    engine.add_rule(PermissionRule(tool_name="load_table", rule_content=None, behavior=ALLOW))
    decision = asyncio.run(engine.check_permission(tool(), {"path": "a"}))
    assert isinstance(decision, PermissionDecision)
    assert decision.behavior is ALLOW


def test_a_rules_text_needs_a_behavior() -> None:
    engine = PermissionEngine(PermissionContext())
    with pytest.raises(TypeError, match="needs a behavior"):
        engine.add_rule("load_table")
    with pytest.raises(ValueError, match="must end with"):
        engine.add_rule("Bash(ls", "deny")


def test_the_seeds_three_answers_hold(bench: Any, tool: Any) -> None:
    # A function asks on every call; a tool's own ALLOW is taken; a server's read-only tool is let through in explore and
    # accept_edits and asks in default, unless its server is trusted.
    function, lookup = (
        tool("get_weather"),
        tool("lookup_user", own=PermissionDecision(ALLOW, "Read-only lookup, allowing.")),
    )
    reader, writer = tool("mcp__fs__read", read_only=True, server="fs"), tool("mcp__fs__write", server="fs")
    trusted = tool("mcp__fs__read", read_only=True, server="fs", trust=True)
    assert [bench().verdict(each) for each in (function, lookup, reader, writer, trusted)] == [
        "ask", "allow", "ask", "ask", "allow",
    ]  # fmt: skip
    assert [bench(mode).verdict(reader) for mode in ("explore", "accept_edits")] == ["allow", "allow"]


# ---------------------------------------------------------------------------------------------------- safety
def test_a_safety_question_offers_no_always_and_no_rule_silences_it(bench: Any, call: Any) -> None:
    tool, tool_input = call("sensitive")
    decision = bench("default", "allow Bash", "allow Bash(~/.ssh/id_rsa)").judge(tool, **tool_input).decision
    assert (decision.behavior, decision.bypass_immune, decision.suggested_rules) == (ASK, True, None)
    assert "private key" in decision.message


@pytest.mark.parametrize("path", ["nbtoolkit.toml", "/a/b/NBTOOLKIT.toml", "x\\nbtoolkit.toml", "./nbtoolkit.toml/."])
@pytest.mark.parametrize("wrap", [lambda x: {"path": x}, lambda x: {"files": [{"name": x}]}])
def test_no_tool_gets_at_the_rules_file_without_a_safety_question(bench: Any, tool: Any, path: str, wrap: Any) -> None:
    judgement = bench("bypass", "allow load_table").judge(tool(), **wrap(path))
    assert judgement.decision.behavior is ASK
    assert judgement.decision.bypass_immune


@pytest.mark.parametrize("text", ["Edit nbtoolkit.toml by hand.", "my-nbtoolkit.toml", "nbtoolkit.toml.md"])
def test_a_text_that_only_speaks_of_the_rules_file_is_ordinary(bench: Any, tool: Any, text: str) -> None:
    assert bench("bypass").verdict(tool(), path=text) == "allow"


# ------------------------------------------------------------------------------------------------------- subjects
def test_the_worst_part_decides_and_each_part_keeps_its_verdict(bench: Any, parted: Any, part: Any) -> None:
    made = parted(
        [
            part(kind="command", text="ls", effect=Effect.READ),
            part(kind="command", text="git commit"),
            part(kind="command", text="curl"),
        ]
    )
    judgement = bench("default", "allow Bash(git commit)").judge(made)
    assert judgement.decision.behavior is ASK
    assert [verdict.behavior.value for verdict in judgement.subjects] == ["allow", "allow", "ask"]
    assert [verdict.step for verdict in judgement.subjects] == [Step.READ_ONLY, Step.ALLOW_RULES, Step.MODE]
    assert "curl" in judgement.decision.message
    assert "git commit" not in judgement.decision.message


def test_one_denied_part_denies_all(bench: Any, parted: Any, part: Any) -> None:
    made = parted([part(kind="command", text="ls", effect=Effect.READ), part(kind="command", text="curl")])
    judgement = bench("bypass", "allow Bash", "deny Bash(curl)").judge(made)
    assert judgement.decision.behavior is DENY
    assert [verdict.subject.text for verdict in judgement.subjects] == ["curl"]


def test_a_redirect_answers_to_writes_rules_and_not_to_a_pattern_of_bash(bench: Any, parted: Any, part: Any) -> None:
    made = parted(
        [part(kind="command", text="echo hi"), part(kind="write", text="out/a", tool_names=("Write", "Edit"))]
    )
    command = "allow Bash(echo hi)"
    assert bench("default", command).verdict(made) == "ask"
    assert bench("default", command, "allow Bash(out/a)").verdict(made) == "ask"
    assert bench("default", command, "allow Write(out/a)").verdict(made) == "allow"
    assert bench("default", command, "allow Edit").verdict(made) == "allow"
    assert bench("default", "allow Bash").verdict(made) == "allow"
    assert bench("default", "allow Bash", "deny Write(out/a)").verdict(made) == "deny"
    assert bench("default", "allow Bash", "ask Write").verdict(made) == "ask"


def test_an_allowed_command_covers_the_ordinary_paths_in_its_words_only(bench: Any, parted: Any, part: Any) -> None:
    def made(**path: Any) -> Any:
        return parted(
            [
                part(kind="command", text="cp a b", suggestion=PermissionRule.parse("Bash(cp a b)", "allow")),
                part(kind="write", text="b", tool_names=("Write", "Edit"), within=0, **path),
            ]
        )

    assert bench().verdict(made()) == "ask"
    assert bench("default", "allow Bash(cp a b)").verdict(made()) == "allow"
    assert bench("default", "allow Bash(cp a b)").verdict(made(safety="it holds a key")) == "ask"
    assert bench("default", "allow Bash(cp a b)", "deny Write(b)").verdict(made()) == "deny"
    assert [str(rule) for rule in bench().judge(made()).decision.suggested_rules or ()] == ["Bash(cp a b)"]


def test_a_part_that_would_ask_again_withholds_always(bench: Any, parted: Any, part: Any) -> None:
    rule = PermissionRule.parse("Bash(make)", "allow")
    made = parted([part(kind="command", text="make", suggestion=rule), part(kind="command", text="eval $x")])
    assert bench().judge(made).decision.suggested_rules is None
    made = parted(
        [part(kind="command", text="make", suggestion=rule), part(kind="command", text="make", suggestion=rule)]
    )
    assert bench().judge(made).decision.suggested_rules == [rule]


def test_an_ask_rule_withholds_always_since_no_allow_rule_would_silence_it(bench: Any, tool: Any) -> None:
    assert bench("default", "ask load_table").judge(tool(), path="a").decision.suggested_rules is None


def test_what_is_suggested_is_not_asked_again(bench: Any, tool: Any) -> None:
    made, tool_input = (
        bench(),
        {"path": "data/a.csv", "limit": 10, "title": "x, y (z)", "tags": ["a", "b"], "none": None},
    )
    for rule in made.judge(tool(), **tool_input).decision.suggested_rules or ():
        made.engine.add_rule(rule)
    assert made.verdict(tool(), **tool_input) == "allow"
    assert made.verdict(tool(), **{**tool_input, "limit": 11}) == "ask"


def test_no_subjects_means_the_call_as_a_whole(bench: Any, parted: Any) -> None:
    assert bench("default", "allow Bash").verdict(parted([])) == "allow"
    assert bench().verdict(parted([], read_only=True)) == "allow"


# ------------------------------------------------------------------------------------------------------------- MCP
def test_a_rule_names_a_whole_server_by_its_name_and_not_by_a_prefix(bench: Any, tool: Any) -> None:
    read = tool("mcp__fs__read_file", server="fs")
    assert bench("default", "allow mcp__fs").verdict(read, path="a") == "allow"
    assert bench("default", "allow mcp__fs__read_file").verdict(read, path="a") == "allow"
    assert bench("default", "allow mcp__fs(path=data/*)").verdict(read, path="data/a") == "allow"
    assert bench("default", "allow mcp__f", "allow mcp__fs__read").verdict(read, path="a") == "ask"
    other = tool("mcp__fsx__read_file", server="fsx")
    assert bench("default", "allow mcp__fs").verdict(other, path="a") == "ask"


def test_a_server_cannot_take_the_name_of_anothers_tool_to_be_allowed(bench: Any, tool: Any) -> None:
    hostile = tool("mcp__fs__read_file__wipe", server="fs__read_file")
    assert bench("default", "allow mcp__fs__read_file").verdict(hostile) == "ask"
    assert bench("default", "allow mcp__fs__read_file__wipe").verdict(hostile) == "allow"
    assert bench("default", "deny mcp__fs__read_file").verdict(hostile) == "deny"


def test_a_function_that_is_named_like_a_server_is_not_the_server(bench: Any, tool: Any) -> None:
    assert bench("default", "allow mcp__fs").verdict(tool("mcp__fs__read_file")) == "ask"


# --------------------------------------------------------------------------------------------------- when it fails
@pytest.mark.parametrize("method", ["check_permissions", "check_read_only", "match_rule", "subjects"])
@pytest.mark.parametrize("mode", MODES)
def test_a_check_that_raises_denies(bench: Any, tool: Any, method: str, mode: str) -> None:
    async def fails(self: Any, *args: Any) -> Any:
        raise RuntimeError("out of order")

    def fails_now(self: Any, *args: Any) -> Any:
        raise RuntimeError("out of order")

    broken = type("Broken", (tool,), {method: fails_now if method == "subjects" else fails})()
    decision = bench(mode, "allow load_table(path=a)").judge(broken, path="a").decision
    assert decision.behavior is DENY
    assert "RuntimeError: out of order" in decision.message


@pytest.mark.parametrize("given", [None, True, "allow"])
def test_a_check_that_gives_no_decision_denies(bench: Any, tool: Any, given: object) -> None:
    async def gives(self: Any, *args: Any) -> object:
        return given

    careless = type("Careless", (tool,), {"check_permissions": gives})()
    decision = bench("bypass", "allow load_table(path=a)").judge(careless, path="a").decision
    assert decision.behavior is DENY
    assert f"check_permissions must give a PermissionDecision, but gave {given!r}" in decision.message


def test_a_cancelled_check_goes_on_up(bench: Any, tool: Any) -> None:
    class Slow(tool):  # type: ignore[misc]
        async def check_permissions(self, *args: Any) -> Any:
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(bench().engine.judge(Slow(), {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_tools_own_way_to_match_and_to_read_only_is_asked(bench: Any, tool: Any) -> None:
    class Special(tool):  # type: ignore[misc]
        async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
            return rule_content == "special"

        async def check_read_only(self, tool_input: dict[str, Any]) -> bool:
            return tool_input.get("path") == "harmless"

    assert bench("default", "allow load_table(special)").verdict(Special(), path="a") == "allow"
    assert bench("default", "allow load_table(path=a)").verdict(Special(), path="a") == "ask"
    assert bench("default", "deny load_table(special)").verdict(Special(), path="a") == "deny"
    assert bench().verdict(Special(), path="harmless") == "allow"


def test_a_subject_must_say_which_rules_name_it() -> None:
    with pytest.raises(NotImplementedError, match="must say which rules"):
        Subject(kind="x", text="x").matches(PermissionRule.parse("x(y)", "allow"), "/")


# ------------------------------------------------------------------------------------------------- metamorphic
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["plain", "read", "claimed", "edit", "outside", "sensitive", "read and other"])
def test_one_more_deny_or_ask_rule_never_widens(bench: Any, call: Any, mode: str, kind: str) -> None:
    strictness = ["allow", "ask", "deny"]
    tool, tool_input = call(kind)
    for before in ([], ["allow Bash"], ["ask Bash"]):
        first = bench(mode, *before).verdict(tool, **tool_input)
        for more in ("ask Bash", "deny Bash", "deny Bash(ls)", "ask Bash(make)"):
            second = bench(mode, *before, more).verdict(tool, **tool_input)
            assert strictness.index(second) >= strictness.index(first)


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_parts_and_of_rules_changes_nothing(bench: Any, parted: Any, part: Any, mode: str) -> None:
    parts = [
        part(kind="command", text="ls", effect=Effect.READ),
        part(kind="command", text="make"),
        part(kind="write", text="out", effect=Effect.EDIT),
    ]
    rules = ["allow Bash(make)", "ask Bash(out)", "allow Bash(ls)"]
    first = bench(mode, *rules).verdict(parted(parts))
    assert bench(mode, *rules[::-1]).verdict(parted(parts[::-1])) == first


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool_input", [{}, {"path": "a"}, {"path": "a/b", "limit": 5}, {"nothing": [1]}])
def test_a_star_in_the_parentheses_means_every_call(
    bench: Any, tool: Any, mode: str, tool_input: dict[str, Any]
) -> None:
    assert bench(mode, "deny load(*)").verdict(tool("load"), **tool_input) == "deny"
    assert bench("default", "allow load( * )").verdict(tool("load"), **tool_input) == "allow"
    assert bench("bypass", "ask load(*)").verdict(tool("load"), **tool_input) == "ask"
