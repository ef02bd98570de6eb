"""What is granted for a while ends when it should, counts what it should, and fits what was shown."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.grants import Counter, Grants
from nbtoolkit.permission.remember import Remembered, rebased
from nbtoolkit.permission.rule import PermissionContext, PermissionRule
from nbtoolkit.permission.store import Store
from nbtoolkit.permission.subject import Effect


def remember(bench: Any, tool: Any, approval: Approval, **tool_input: Any) -> Remembered:
    judgement = bench.judge(tool, **tool_input)
    rules = tuple(judgement.decision.suggested_rules or ())
    request = ApprovalRequest("1", tool, tool_input, judgement.decision, judgement.subjects, rules)
    remembered: Remembered = bench.engine.remember(approval, request)
    return remembered


# ----------------------------------------------------------------------------------------------------------- blocks
def test_a_block_grants_inside_and_ends_with_it_error_or_not(bench: Any, tool: Any) -> None:
    made = bench()
    with made.engine.grants.grant("load_table(path=out/**)"):
        assert made.verdict(tool(), path="out/a") == "allow"
        assert made.verdict(tool(), path="in/a") == "ask"
    assert made.verdict(tool(), path="out/a") == "ask"
    with pytest.raises(ZeroDivisionError), made.engine.grants.grant("load_table"):
        _ = 1 / 0
    assert made.verdict(tool(), path="out/a") == "ask"
    assert list(made.engine.grants) == []


def test_a_block_works_with_async_too_and_several_rules(bench: Any, tool: Any) -> None:
    made = bench()

    async def main() -> str:
        async with made.engine.grants.grant(["a", PermissionRule.parse("load_table", "allow")]):
            return str((await made.engine.judge(tool(), {})).decision.behavior)

    assert asyncio.run(main()) == "allow"
    assert made.verdict(tool()) == "ask"


def test_nested_blocks_with_the_same_rule_end_one_by_one(bench: Any, tool: Any) -> None:
    made = bench()
    with made.engine.grants.grant("load_table"):
        with made.engine.grants.grant("load_table"):
            pass
        assert made.verdict(tool()) == "allow"


def test_a_counted_block_allows_so_many_calls_and_looking_costs_none(bench: Any, tool: Any) -> None:
    made = bench()
    with made.engine.grants.grant(["load_table", "other"], calls=2) as grant:
        for _ in range(5):
            assert made.verdict(tool()) == "allow"
        assert grant.left == 2
        for left in (1, 0):
            assert made.engine.spend(made.judge(tool()))
            assert grant.left == left
        assert made.verdict(tool()) == "ask"


def test_two_calls_that_were_judged_at_once_share_the_last_of_a_count(bench: Any, tool: Any) -> None:
    made = bench()
    with made.engine.grants.grant("load_table", calls=1):
        first, second = made.judge(tool()), made.judge(tool())
        assert made.engine.spend(first)
        assert not made.engine.spend(second)


def test_a_call_of_many_parts_counts_once(bench: Any, parted: Any, part: Any) -> None:
    made = bench()
    with made.engine.grants.grant("Bash", calls=3) as grant:
        made.engine.spend(made.judge(parted([part(kind="command", text=text) for text in "abcd"])))
        assert grant.left == 2


def test_threads_never_take_more_than_there_is() -> None:
    counter = Counter(100)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: counter.take(), range(400)))
    assert sum(taken) == 100


@pytest.mark.parametrize(("rules", "calls"), [([], None), (["a"], 0), (["a"], -1), (["a("], None)])
def test_a_grant_that_makes_no_sense_is_refused(rules: list[str], calls: int | None) -> None:
    with pytest.raises(ValueError, match=r"grant|closes"):
        Grants().grant(rules, calls)


def test_a_grant_only_allows_and_a_block_is_opened_once() -> None:
    grants = Grants()
    with pytest.raises(ValueError, match="is a rule to deny"):
        grants.grant(PermissionRule.parse("a", "deny"))
    grant = grants.grant("a")
    with grant, pytest.raises(RuntimeError, match="open already"):
        grant.__enter__()


def test_a_block_never_outweighs_deny_ask_or_safety(bench: Any, tool: Any, parted: Any, part: Any) -> None:
    made = bench("default", "deny load_table(path=x)", "ask load_table(path=y)")
    with made.engine.grants.grant(["load_table", "Bash"]):
        assert made.verdict(tool(), path="x") == "deny"
        assert made.verdict(tool(), path="y") == "ask"
        assert made.verdict(parted([part(kind="read", text="k", safety="a key", effect=Effect.READ)])) == "ask"


# ----------------------------------------------------------------------------------------------------------- scopes
def test_always_for_this_kernel_is_not_asked_again_by_any_agent_in_it(bench: Any, tool: Any) -> None:
    made = bench()
    kept = remember(made, tool(), Approval.allow(scope="kernel"), path="a")
    assert (kept.scope, kept.note) == ("kernel", None)
    assert [str(rule) for rule in kept.rules] == ["load_table(path=a)"]
    assert made.verdict(tool(), path="a") == "allow"
    assert made.verdict(tool(), path="b") == "ask"
    second = PermissionEngine(PermissionContext(), made.engine.grants)
    assert asyncio.run(second.check_permission(tool(), {"path": "a"})).behavior.value == "allow"


def test_the_rule_that_the_person_wrote_is_what_is_kept(bench: Any, tool: Any) -> None:
    made = bench()
    remember(made, tool(), Approval.allow("load_table(path=data/**)", "kernel"), path="a")
    assert made.verdict(tool(), path="data/b") == "allow"
    assert made.verdict(tool(), path="a") == "ask"


def test_the_rest_of_the_cell_ends_with_the_cell(bench: Any, tool: Any) -> None:
    made = bench()
    remember(made, tool(), Approval.allow(scope="cell"), path="a")
    assert made.verdict(tool(), path="a") == "allow"
    made.engine.end_cell()
    assert made.verdict(tool(), path="a") == "ask"


def test_once_keeps_nothing(bench: Any, tool: Any) -> None:
    made = bench()
    for approval in (Approval.allow(), Approval.deny("no"), Approval.edit({}), Approval.respond(1)):
        assert remember(made, tool(), approval, path="a").rules == ()
    assert list(made.engine.grants) == []


def test_a_safety_question_is_never_remembered(bench: Any, tool: Any) -> None:
    made = bench()
    kept = remember(made, tool(), Approval.allow("load_table", "kernel"), path="nbtoolkit.toml")
    assert kept.rules == ()
    assert "every time" in (kept.note or "")
    assert list(made.engine.grants) == []


def test_nothing_to_suggest_is_said(bench: Any, parted: Any, part: Any) -> None:
    made = parted([part(kind="command", text="eval $x")])
    assert "nothing was remembered" in (remember(bench(), made, Approval.allow(scope="kernel")).note or "")


# ------------------------------------------------------------------------------------------------------ definitions
def test_a_grant_ends_when_the_tools_definition_changes_and_a_typed_rule_stays(bench: Any, tool: Any) -> None:
    made = bench()
    remember(made, tool(), Approval.allow(scope="kernel"), path="a")
    changed = tool(definition="sha256:two")
    assert made.verdict(changed, path="a") == "ask"
    assert [str(rule) for rule in made.engine.redefined(changed)] == ["load_table(path=a)"]
    assert made.verdict(tool(), path="a") == "ask"
    typed = bench("default", "allow load_table(path=a)")
    assert typed.engine.redefined(changed) == []
    assert typed.verdict(changed, path="a") == "allow"


def test_a_built_ins_grant_is_bound_to_no_definition(bench: Any, parted: Any, part: Any) -> None:
    rule = PermissionRule.parse("Bash(make)", "allow")
    made = bench()
    kept = remember(made, parted([part(kind="command", text="make", suggestion=rule)]), Approval.allow(scope="kernel"))
    assert kept.rules[0].definition is None


# ------------------------------------------------------------------------------------------------------------ files
@pytest.mark.parametrize("scope", ["project", "user"])
def test_always_for_project_or_user_is_not_asked_again_in_the_next_kernel(
    bench: Any, tool: Any, project: Path, scope: Any
) -> None:
    made = bench()
    Store(made.engine.grants).load()
    kept = remember(made, tool(), Approval.allow(scope=scope), path="data/a", limit=5)
    assert (kept.scope, kept.note) == (scope, None)
    assert made.verdict(tool(), path="data/a", limit=5) == "allow"
    later = bench()
    Store(later.engine.grants).load()
    assert later.verdict(tool(), path="data/a", limit=5) == "allow"
    assert later.verdict(tool(), path="data/b", limit=5) == "ask"
    assert later.verdict(tool(definition="sha256:two"), path="data/a", limit=5) == "ask"


PLACES = ["../data/a", "data/a", "./data/b", "x/../data/c", ".hidden/a", "acme/churn", "../../elsewhere", "../data/b"]


@pytest.mark.parametrize("first", PLACES[:3])
def test_always_from_a_sub_folder_is_not_asked_again_there(
    bench: Any, tool: Any, project: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    (project / "notebooks" / "data").mkdir(parents=True)
    monkeypatch.chdir(project / "notebooks")
    for path in dict.fromkeys([first, *PLACES]):
        made = bench()
        Store(made.engine.grants).load()
        assert remember(made, tool(), Approval.allow(scope="project"), path=path).note is None
        later = bench()
        Store(later.engine.grants).load()
        assert later.verdict(tool(), path=path) == "allow"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("Write(./out/**)", "Write(./notebooks/out/**)"),
        ("Write(out/**)", "Write(./notebooks/out/**)"),
        ("Read(../data/**)", "Read(./data/**)"),
        ("Read(../../data/**)", "Read(../data/**)"),
        ("Read(/data/**)", "Read(/data/**)"),
        ("Read(~/data/**)", "Read(~/data/**)"),
        ("Read(*.csv)", "Read(*.csv)"),
        ("Read", "Read"),
        ("Bash(./run.sh)", "Bash(./run.sh)"),
    ],
)
def test_a_file_tools_rule_names_the_same_place_from_the_projects_folder(text: str, becomes: str) -> None:
    rule = PermissionRule.parse(text, "allow")
    assert str(rebased(rule, "/project/notebooks", "/project")) == becomes
    assert rebased(rule, "/project", "/project") is rule


def test_a_script_cannot_write_to_files(bench: Any, tool: Any, project: Path) -> None:
    made = bench()
    Store(made.engine.grants)
    kept = remember(made, tool(), Approval.allow(scope="project", by="script"), path="a")
    assert kept.scope == "kernel"
    assert "Only a person" in (kept.note or "")
    assert not (project / "nbtoolkit.toml").exists()
    assert made.verdict(tool(), path="a") == "allow"


def test_what_cannot_be_saved_holds_for_this_kernel_and_is_said(bench: Any, tool: Any, project: Path) -> None:
    made = bench()
    (project / "nbtoolkit.toml").write_text('allow = ["theirs"]')
    blocked = project.parent / "home" / "file"
    blocked.touch()
    Store(made.engine.grants, user=blocked / "nbtoolkit.toml").load()
    for scope, said in (("project", "isn't accepted"), ("user", "can't be written")):
        kept = remember(made, tool(), Approval.allow(scope=scope), path=scope)  # type: ignore[arg-type]
        assert kept.scope == "kernel"
        assert said in (kept.note or "")
        assert made.verdict(tool(), path=scope) == "allow"
    assert (project / "nbtoolkit.toml").read_text() == 'allow = ["theirs"]'


def test_without_a_store_files_are_said_to_be_missing(bench: Any, tool: Any) -> None:
    kept = remember(bench(), tool(), Approval.allow(scope="user"), path="a")
    assert (kept.scope, "no file" in (kept.note or "")) == ("kernel", True)
