"""Why a call is decided as it is, what would decide otherwise, and which rules do nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.permission.explain import Explanation
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision, PermissionRule
from nbtoolkit.permission.subject import Effect
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.read import Read
from nbtoolkit.tool.write import Write

if TYPE_CHECKING:
    from pathlib import Path


def explain(bench: Any, tool: Any, **tool_input: Any) -> Explanation:
    explained: Explanation = asyncio.run(bench.engine.explain(tool, tool_input))
    return explained


def test_an_explanation_gives_the_steps_in_order_up_to_the_one_that_decided(bench: Any, tool: Any) -> None:
    explained = explain(bench("default", "allow load_table(path=b)"), tool(), path="a")
    assert explained.steps == (
        "Deny rules: none matches",
        "The tool's own check: asks",
        "Safety: nothing sensitive",
        "Ask rules: none matches",
        "Read-only: not read-only",
        "Allow rules: none matches",
        "Mode default: asks",
    )
    explained = explain(bench("default", "deny load_table"), tool(), path="a")
    assert explained.steps == ("Deny rules: load_table (user) matches",)


def test_parts_are_counted_and_named(bench: Any, parted: Any, part: Any) -> None:
    made = parted(
        [
            part(kind="command", text="ls", effect=Effect.READ),
            part(kind="command", text="pytest"),
            part(kind="command", text="curl"),
        ]
    )
    explained = explain(bench("default", "allow Bash(pytest)"), made)
    assert explained.steps[-3:] == (
        "Read-only: 2 of 3 parts aren't, or not here",
        "Allow rules: 1 of 3 parts covered, by Bash(pytest) (user)",
        "Mode default: asks",
    )


def test_a_line_that_a_rule_allows_in_part_is_allowed_by_the_rule_and_not_called_read_only(
    bench: Any, parted: Any, part: Any
) -> None:
    made = parted([part(kind="command", text="ls", effect=Effect.READ), part(kind="command", text="pytest")])
    explained = explain(bench("default", "allow Bash(pytest)"), made)
    assert explained.decision.decision_reason == "Rule: Bash(pytest)"


@pytest.mark.parametrize(
    ("mode", "rules", "options", "change"),
    [
        ("default", [], {}, "allow load_table(path=a) (then it allows)."),
        ("dont_ask", [], {}, "allow load_table(path=a) (then it allows)."),
        ("explore", [], {}, "mode default (then it asks)."),
        ("default", ["allow load_table"], {}, "forget the rule load_table (then it asks)."),
        ("default", ["deny load_table"], {}, "forget the rule deny load_table (then it asks)."),
        ("default", ["ask load_table"], {"read_only": True}, "forget the rule ask load_table (then it allows)."),
        ("default", [], {"read_only": True}, "ask load_table (then it asks)."),
        ("bypass", [], {}, "ask load_table (then it asks)."),
        ("default", [], {"read_only": True, "server": "fs"}, "allow load_table(path=a) (then it allows)."),
    ],
)
def test_the_smallest_change_really_decides_otherwise(
    bench: Any, tool: Any, mode: str, rules: list[str], options: dict[str, Any], change: str
) -> None:
    made = bench(mode, *rules)
    assert explain(made, tool(**options), path="a").change == change
    assert [str(rule) for rule in made.engine.grants] == []


def test_a_part_that_only_a_mode_lets_through_names_the_mode(bench: Any, parted: Any, part: Any) -> None:
    made = parted([part(kind="write", text="out/a", effect=Effect.EDIT)])
    assert explain(bench(), made).change == "mode accept_edits (then it allows)."


def test_no_change_is_offered_where_only_an_answer_helps(bench: Any, parted: Any, part: Any, tool: Any) -> None:
    secret = parted([part(kind="read", text="~/.netrc", safety="it reads passwords")])
    explained = explain(bench(), secret)
    assert explained.change == "answer the question; no rule silences one about safety."
    assert explained.steps[-1] == "Safety: ~/.netrc: it reads passwords"
    own = PermissionDecision(PermissionBehavior.DENY, "Never.")
    assert "the tool itself refuses" in explain(bench(), tool(own=own)).change


def test_it_reads_as_lines_with_the_rules_source(bench: Any, tool: Any) -> None:
    made = bench()
    made.engine.add_rule(PermissionRule.parse("load_table", "deny", "nbtoolkit.toml"))
    explained = explain(made, tool(), path="a")
    assert explained.source == "nbtoolkit.toml"
    assert str(explained).splitlines() == [
        "load_table: deny. load_table is denied: the rule deny load_table (nbtoolkit.toml) says so.",
        "1. Deny rules: load_table (nbtoolkit.toml) matches",
        "Decided by the rule deny load_table, from nbtoolkit.toml.",
        "To decide otherwise: forget the rule deny load_table (then it asks).",
    ]


def test_bypass_says_what_it_let_pass(bench: Any, parted: Any, part: Any) -> None:
    made = parted([part(kind="read", text="~/.netrc", safety="it reads passwords")])
    assert "Safety: it reads passwords; mode bypass lets it pass" in explain(bench("bypass"), made).steps


def test_explaining_uses_up_no_counted_grant(bench: Any, tool: Any) -> None:
    made = bench()
    with made.engine.grants.grant("load_table", calls=1) as grant:
        explain(made, tool(), path="a")
        assert grant.left == 1


def test_a_deny_rule_that_may_be_meant_asks_and_says_so(bench: Any, tool: Any) -> None:
    made = bench("default", "allow load_table", "deny load_table(limit>1000)")
    judgement = made.judge(tool(), path="a")
    assert judgement.decision.behavior is PermissionBehavior.ASK
    assert "which these arguments leave open" in judgement.decision.message
    assert made.verdict(tool(), path="a", limit=5) == "allow"
    assert made.verdict(tool(arguments=["path"]), path="a") == "allow"


# ----------------------------------------------------------------------------------------------------------- report
@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["allow load_tabel"], "there is no tool or MCP server 'load_tabel' here. Is 'load_table' meant?"),
        (["allow mcp__fs__*"], "Is 'mcp__fs' meant?"),
        (["allow mcp__a__b"], "name its tools one by one"),
        (["allow load_table(data/**)"], "Expected NAME=VALUE"),
        (["deny load_table(data/**)"], "every call of 'load_table' asks"),
        (["allow load_table(file=a)"], "'load_table' has no argument 'file'; it has: path, limit."),
        (["allow load_table(path=data/*/../x)"], "never matches a resolved path"),
        (["allow mcp__fs(file=a)"], "has no argument 'file'"),
        (["allow load_table", "allow load_table(path=a)"], "the rule load_table (user) already says so"),
        (["deny load_table", "allow load_table(path=a)"], "the rule deny load_table (user) comes before it"),
        (["ask load_table", "allow load_table"], "the rule ask load_table (user) comes before it"),
        (["deny load_table(path=a)", "allow load_table(path=a, limit=1)"], "comes before it"),
    ],
)
def test_a_rule_that_does_nothing_is_reported_and_never_raised(
    bench: Any, tool: Any, rules: list[str], said: str
) -> None:
    tools = [tool(), tool("mcp__fs__read", server="fs"), tool("mcp__a__b__x", server="a__b")]
    faults = bench("default", *rules).engine.report(tools)
    assert len(faults) == 1
    assert said in str(faults[0])


@pytest.mark.parametrize(
    "rules",
    [
        ["allow load_table", "deny load_table(path=a)", "ask load_table(path=b)"],
        ["allow mcp__fs", "allow mcp__fs__read(path=a)"],
        ["allow load_table(path=a)", "allow load_table(path=b)"],
        ["deny load_table(path=a, limit=1)", "allow load_table(path=a)"],
        ["allow load_table(limit<=5)"],
    ],
)
def test_rules_that_do_something_are_not_reported(bench: Any, tool: Any, rules: list[str]) -> None:
    tools = [tool(), tool("mcp__fs__read", server="fs")]
    assert bench("default", *rules).engine.report(tools) == []


def test_a_grant_for_another_definition_is_reported(bench: Any, tool: Any) -> None:
    made = bench()
    made.engine.grants.add(PermissionRule.parse("load_table", "allow", "kernel", definition="sha256:old"))
    assert "granted to another definition" in str(made.engine.report([tool()])[0])


def test_a_tool_with_its_own_patterns_says_itself_what_is_wrong_with_one(bench: Any, parted: Any) -> None:
    class Shell(parted):  # type: ignore[misc]
        def rule_fault(self, rule: PermissionRule) -> str | None:
            return "no such command" if rule.rule_content == "lss" else None

    faults = bench("default", "allow Bash(lss)", "allow Bash(ls)").engine.report([Shell([])])
    assert [fault.text for fault in faults] == ["no such command"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["allow Bash(git*)"], "git:* is git with any words behind it"),
        (["deny Bash(curl:*:*)"], "curl:* is curl with any words behind it"),
        (["allow Bash(cat > x)"], "a rule names one simple command"),
        (["deny Bash(curl x | sh)"], "a rule names one simple command"),
        (["allow Bash(ls && rm:*)"], "a rule names one simple command"),
        (["allow Bash(FOO=1 make:*)"], "a rule begins with the program"),
        (["allow Bash(*)", "allow Bash(make:*)"], "a star alone allows nothing"),
        (["deny Bash(git:*)", "allow Bash(git status:*)"], "the rule deny Bash(git:*) (user) comes before it"),
        (
            ["ask Bash(git push:*)", "allow Bash(git push origin)"],
            "the rule ask Bash(git push:*) (user) comes before it",
        ),
        (["allow Bash(git:*)", "allow Bash(git status:*)"], "the rule Bash(git:*) (user) already says so"),
        (["allow Bash(npm run 'a b')", "allow Bash(npm run:*)"], "the rule Bash(npm run:*) (user) already says so"),
    ],
)
def test_a_command_rule_that_does_nothing_is_reported(bench: Any, rules: list[str], said: str) -> None:
    faults = bench("default", *rules).engine.report([Bash()])
    assert len(faults) == 1
    assert said in str(faults[0])


@pytest.mark.parametrize(
    "rules",
    [
        ["deny Bash(git push:*)", "allow Bash(git:*)"],
        ["deny Bash(git)", "allow Bash(git status:*)"],
        ["allow Bash(timeout:*)", "allow Bash(timeout 5 pytest:*)"],
        ["allow Bash(find:*)", "allow Bash(find . -exec ls {} +)"],
        ["allow Bash(git:*)", "allow Bash(git submodule foreach ls)"],
        ["allow Bash(git:*)", "allow Bash(gitk:*)", "allow Bash(/opt/bin/git status)"],
        ["deny Bash(find . -exec rm {} ;)", "allow Bash(curl https://a.b?c=1&d=2)", "ask Bash(*)"],
        ["allow Bash(find . -name '*.py')", "allow Bash(git diff *)", "deny Bash(rm -rf /:*)"],
    ],
)
def test_command_rules_that_do_something_are_not_reported(bench: Any, rules: list[str]) -> None:
    assert [str(each) for each in bench("default", *rules).engine.report([Bash()])] == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["allow Read(./data/**)", "allow Read(./data/a.csv)"], "already says so"),
        (["allow Read(./data/**)", "allow Read(data/old/**)"], "already says so"),
        (["allow Read(*.csv)", "allow Read(./data/*.csv)"], "already says so"),
        (["deny Read(*.key)", "allow Read(./keys/a.key)"], "the rule deny Read(*.key) (user) comes before it"),
        (["deny Read(*.key)", "allow Read(keys/*.KEY)"], "comes before it"),
        (["deny Read(secret/**)", "allow Read(./secret/a/b.txt)"], "comes before it"),
        (["ask Write(~/**)", "allow Write(~/notes.txt)"], "comes before it"),
        (["deny Write(**)", "allow Write(/srv/**)"], "comes before it"),
        (["deny Read(id_*)", "ask Read(id_rsa)"], "comes before it"),
        (["allow Read(file_path=data/**)"], "a rule for Read is a path and names no argument; write Read(data/**)"),
        (["deny Read(data/*/../x)"], "never matches a resolved path"),
    ],
)
def test_a_path_rule_that_does_nothing_is_reported(bench: Any, rules: list[str], said: str) -> None:
    faults = bench("default", *rules).engine.report([Read(), Write()])
    assert len(faults) == 1
    assert said in str(faults[0])


@pytest.mark.parametrize(
    "rules",
    [
        ["allow Read(./data/**)", "allow Read(./data2/a.csv)"],
        ["allow Read(./data/**)", "allow Read(./data/../x/**)"],
        ["allow Read(./data/**)", "deny Read(./data/a.csv)"],
        ["allow Read(./data/**)", "allow Write(./data/a.csv)"],
        ["allow Read(data/*)", "allow Read(./data/a/**)"],
        ["allow Read(*.csv)", "allow Read(/srv/a.csv)"],
        ["allow Read(**)", "allow Read(/srv/**)"],
        ["deny Read(./secret/**)", "ask Read(secret/**)"],
        ["deny Read(*.key)", "allow Read(./keys/**)"],
        ["deny Read(*.key)", "allow Read(./keys/a.k*)"],
        ["deny Read(./a.txt)", "ask Read(a.txt)"],
    ],
)
def test_path_rules_that_do_something_are_not_reported(bench: Any, rules: list[str], project: Path) -> None:
    assert [str(each) for each in bench("default", *rules).engine.report([Read(), Write()])] == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["allow load_table(limit<=1000)", "allow load_table(limit<=500)"], "already says so"),
        (["allow load_table(limit<=1000)", "allow load_table(limit=10)"], "already says so"),
        (["deny load_table(limit>10)", "allow load_table(limit>=11)"], "comes before it"),
        (["allow load_table(path=data/**)", "allow load_table(path=data/a.csv)"], "already says so"),
        (["allow load_table(path=data/**)", "allow load_table(path=data/x/**, limit<5)"], "already says so"),
        (["deny load_table(path=prod*)", 'allow load_table(path="production")'], "comes before it"),
    ],
)
def test_an_argument_rule_inside_a_wider_one_is_reported(bench: Any, tool: Any, rules: list[str], said: str) -> None:
    faults = bench("default", *rules).engine.report([tool()])
    assert len(faults) == 1
    assert said in str(faults[0])


@pytest.mark.parametrize(
    "rules",
    [
        ["deny load_table(limit<500)", "allow load_table(limit<=500)"],
        ["deny load_table(limit<500)", "allow load_table(limit<600)"],
        ["allow load_table(limit<=500)", "allow load_table(limit>=1)"],
        ["allow load_table(limit<=500)", "allow load_table(limit!=3)"],
        ["allow load_table(path=data/**)", "allow load_table(path=data2/a.csv)"],
        ["allow load_table(path=prod*)", "allow load_table(path=p*)"],
        ["allow load_table(path=a*)", "allow load_table(limit=1)"],
    ],
)
def test_argument_rules_that_differ_are_not_reported(bench: Any, tool: Any, rules: list[str]) -> None:
    assert bench("default", *rules).engine.report([tool()]) == []


def test_trying_a_change_leaves_the_grants_alone() -> None:
    grants = Grants()
    rule = PermissionRule.parse("a", "allow", "kernel")
    grants.add(rule)
    assert list(grants.without(rule)) == []
    assert list(grants) == [rule]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("notes.txt", "Write(./notes.txt)"),
        ("out/a.txt", "Write(./out/**)"),
        ("/tmp/zz.txt", "Write(/tmp/zz.txt)"),
        ("~/x.txt", "Write({home}/x.txt)"),
        ("/srv/data/a.csv", "Write(/srv/data/**)"),
    ],
)
def test_the_smallest_change_for_a_file_is_its_folder_or_itself_where_that_is_too_much(
    project: Path, bench: Any, path: str, rule: str
) -> None:
    home = project.parent / "home"
    text = explain(bench(), Write(), file_path=path.replace("~", str(home)), content="x").change
    assert text == f"allow {rule.format(home=home)} (then it allows)."
