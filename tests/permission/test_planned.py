"""Answers where nobody clicks: planned ones first, then the policy of the environment."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtoolkit.message import ToolResultState
from nbtoolkit.permission import planned as module
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.planned import POLICY, Answers, AnswersError, parse_answers, policy_answer
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.subject import Match, Step, Subject, SubjectVerdict
from nbtoolkit.tool import Bash, Toolkit
from tests.notebook.asking import Sample, request


def answers(text: str) -> Answers:
    return Answers(parse_answers(text, lines=True))


def answer(planned: Answers, asked: ApprovalRequest | None = None) -> Approval | None:
    return asyncio.run(planned.answer(asked or request()))


def policy(asked: ApprovalRequest | None = None) -> Approval | None:
    return asyncio.run(policy_answer(asked or request()))


@pytest.fixture(autouse=True)
def no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POLICY, raising=False)
    monkeypatch.setattr(module, "_scripts", {})


# ---------------------------------------------------------------------------------------------------- planned answers


def test_answers_without_a_rule_are_given_in_order_once_each() -> None:
    planned = answers("allow\ndeny: no\nrespond: 42")
    assert [answer(planned) for _ in range(4)] == [
        Approval.allow(by="script"),
        Approval.deny("no", by="script"),
        Approval.respond("42", by="script"),
        None,
    ]


def test_an_answer_with_a_rule_is_given_every_time_and_before_those_in_order() -> None:
    planned = answers("deny: other\nsummarise(species=Gentoo) -> allow")
    assert answer(planned) == Approval.allow(by="script")
    assert answer(planned) == Approval.allow(by="script")
    assert answer(planned, request(tool_input={"species": "Adelie"})) == Approval.deny("other", by="script")
    assert answer(planned, request(tool_input={"species": "Adelie"})) is None


def test_a_rule_without_content_names_every_call_of_its_tool() -> None:
    planned = answers("other -> deny\nsummarise -> allow")
    assert answer(planned) == Approval.allow(by="script")
    assert answer(planned, request(Sample("third"))) is None


def test_a_servers_rule_covers_its_tools() -> None:
    tool = Sample("mcp__hub__create")
    tool.mcp_name = "hub"
    assert answer(answers("mcp__hub -> allow"), request(tool)) == Approval.allow(by="script")


class Command(Subject):
    __slots__ = ()

    def matches(self, rule: PermissionRule, base: str) -> Match:
        return Match.YES if self.text.startswith((rule.rule_content or "").removesuffix(":*")) else Match.NO


def command(*texts: str) -> ApprovalRequest:
    parts = tuple(
        SubjectVerdict(Command(kind="command", text=text), PermissionBehavior.ASK, "", Step.MODE) for text in texts
    )
    return request(Sample("Bash"), {"command": " && ".join(texts)}, subjects=parts)


def test_to_allow_a_command_every_part_must_be_covered_to_deny_it_one() -> None:
    both = command("git status", "curl x")
    assert answer(answers("Bash(git status:*) -> allow"), both) is None
    assert answer(answers("Bash(git status:*) -> allow"), command("git status")) == Approval.allow(by="script")
    assert answer(answers("Bash(curl:*) -> deny: no net"), both) == Approval.deny("no net", by="script")


def test_an_answer_for_a_command_covers_the_ordinary_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "summary.py").write_text("print('done')")
    (tmp_path / ".env").write_text("TOKEN=x")
    planned = answers("Bash(python:*) -> allow")
    toolkit = Toolkit([Bash(cwd=tmp_path)])
    toolkit.approver = lambda request: answered(planned, request)
    assert toolkit.call_sync("Bash", command="python summary.py").state is ToolResultState.SUCCESS
    assert toolkit.call_sync("Bash", command="python .env").state is ToolResultState.DENIED
    assert toolkit.call_sync("Bash", command="python summary.py > new.txt").state is ToolResultState.DENIED


async def answered(planned: Answers, asked: ApprovalRequest) -> Approval:
    return await planned.answer(asked) or Approval.deny()


def test_a_safety_question_is_allowed_only_by_an_answer_that_names_it() -> None:
    blind = answer(answers("allow"), request(safety=True))
    assert blind is not None
    assert blind.kind == "deny"
    assert blind.by == "policy"
    assert "summarise -> allow" in str(blind.reason)
    assert answer(answers("summarise -> allow"), request(safety=True)) == Approval.allow(by="script")


def test_always_never_outlives_a_safety_question() -> None:
    given = answer(answers("summarise -> always"), request(safety=True))
    assert given == Approval.allow(by="script")


# ------------------------------------------------------------------------------------------------------------- policy


def test_without_a_policy_nothing_is_said() -> None:
    assert policy() is None


def test_allow_answers_every_question_but_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POLICY, "allow")
    assert policy() == Approval.allow(by="policy")
    safety = policy(request(safety=True))
    assert safety is not None
    assert safety.kind == "deny"


@pytest.mark.parametrize("value", ["deny", "replay", "Allow", "yes", "script:", "script:/nowhere/answers.txt"])
def test_every_other_value_denies_and_says_why(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POLICY, value)
    given = policy()
    assert given is not None
    assert given.kind == "deny"
    assert POLICY in str(given.reason)


def test_a_script_goes_on_where_it_stood_and_denies_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "answers.txt"
    script.write_text("# two answers\nallow\nrespond: 42\n", encoding="utf-8")
    monkeypatch.setenv(POLICY, f"script:{script}")
    given = [policy() for _ in range(3)]
    assert given[:2] == [Approval.allow(by="script"), Approval.respond("42", by="script")]
    assert given[2] is not None
    assert given[2].kind == "deny"


def test_a_script_with_a_mistake_denies_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "answers.txt"
    script.write_text("alow\n", encoding="utf-8")
    monkeypatch.setenv(POLICY, f"script:{script}")
    given = policy()
    assert given is not None
    assert given.kind == "deny"
    assert "alow" in str(given.reason)


def test_a_missing_answer_names_the_one_that_was_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "answers.txt"
    script.write_text("other -> allow\n", encoding="utf-8")
    monkeypatch.setenv(POLICY, f"script:{script}")
    given = policy()
    assert given is not None
    assert str(given.reason).endswith("have none for this call, such as summarise(species=Gentoo) -> allow")
    # What is left over may be for another notebook; what was missing was missing here.
    with pytest.raises(
        AnswersError, match=r"answers.txt has no answer such as 'summarise\(species=Gentoo\) -> allow'$"
    ):
        Answers().check()


# ------------------------------------------------------------------------------------------------------------- the end


def test_answers_that_nothing_asked_for_and_questions_without_one_are_told() -> None:
    planned = answers("summarise -> allow\nother -> deny: no\nrespond: 42")
    assert answer(planned) == Approval.allow(by="script")
    planned.miss(request(Sample("third")))
    with pytest.raises(AnswersError) as caught:
        planned.check()
    assert str(caught.value) == (
        "the planned answers don't fit the calls: nothing asked for 'other -> deny: no'; nothing asked for "
        "'respond: 42'; there was no answer such as 'third -> allow'"
    )


def test_answers_that_were_all_asked_for_fit() -> None:
    planned = answers("summarise -> allow\nallow")
    answer(planned)
    answer(planned, request(Sample("other")))
    planned.check()


def test_what_a_person_left_over_by_clicking_is_no_fault() -> None:
    planned = answers("allow")
    planned.left_to_a_person = True
    planned.check()


SCRIPT = """
from nbtoolkit import Toolkit
def drop(table: str) -> str:
    "Drop."
    return f"dropped {table}"
toolkit = Toolkit([drop])
for table in ("a", "b"):
    print(toolkit.call_sync("drop", table=table).text)
"""


def run_script(policy: str | None, folder: Path) -> tuple[str, str]:
    env = {name: value for name, value in os.environ.items() if name != POLICY}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=env if policy is None else {**env, POLICY: policy},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return run.stdout, run.stderr


def test_a_plain_script_is_answered_by_the_policy_too(tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("drop(table=a) -> allow\nother -> allow\n", encoding="utf-8")
    out, err = run_script("script:answers.txt", tmp_path)
    assert out.splitlines() == [
        "dropped a",
        "This call was denied: The answers in 'answers.txt' have none for this call, such as drop(table=b) -> allow",
    ]
    assert err.splitlines() == [
        "nbtoolkit: NBTOOLKIT_ASK=script:answers.txt: nothing asked for 'other -> allow'",
        "nbtoolkit: NBTOOLKIT_ASK=script:answers.txt: there was no answer such as 'drop(table=b) -> allow'",
    ]


def test_a_plain_script_without_a_policy_is_denied_at_once(tmp_path: Path) -> None:
    out, err = run_script(None, tmp_path)
    assert out.splitlines() == ["This call was denied: Nobody is there to answer. " + NOBODY] * 2
    assert err == ""


NOBODY = "Give the toolkit an approver, or set NBTOOLKIT_ASK."
