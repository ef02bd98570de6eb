"""Questions and answers: whoever fails to answer denies, scripts must fit, and what is granted ends when it should."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtoolkit.permission.approval import Approval, ApprovalRequest, Origin, allow_all, ask, deny_all
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.scripted import ScriptedApprover, ScriptError


@pytest.fixture
def request_for(bench: Any) -> Any:
    def make(tool: Any, **tool_input: Any) -> ApprovalRequest:
        judgement = bench().judge(tool, **tool_input)
        rules = tuple(judgement.decision.suggested_rules or ())
        return ApprovalRequest(
            "1", tool, tool_input, judgement.decision, judgement.subjects, rules, Origin("script"), judgement
        )

    return make


@pytest.fixture
def question(request_for: Any, tool: Any) -> ApprovalRequest:
    made: ApprovalRequest = request_for(tool(), path="data/a")
    return made


@pytest.fixture
def safety_question(request_for: Any, tool: Any) -> ApprovalRequest:
    made: ApprovalRequest = request_for(tool(), path="nbtoolkit.toml")
    return made


# ----------------------------------------------------------------------------------------------------------- asking
@pytest.mark.parametrize("fault", [RuntimeError("broken"), ValueError(), KeyError("x"), TimeoutError()])
def test_an_approver_that_raises_denies(question: ApprovalRequest, fault: Exception) -> None:
    async def broken(request: ApprovalRequest) -> Approval:
        raise fault

    answer = asyncio.run(ask(broken, question))
    assert (answer.kind, answer.by) == ("deny", "policy")
    assert type(fault).__name__ in (answer.reason or "")


@pytest.mark.parametrize("given", [None, True, "allow", PermissionBehavior.ALLOW, {"kind": "allow"}])
def test_what_is_no_approval_denies(question: ApprovalRequest, given: Any) -> None:
    async def odd(request: ApprovalRequest) -> Any:
        return given

    assert asyncio.run(ask(odd, question)).kind == "deny"


def test_a_cancellation_from_outside_goes_on_up(question: ApprovalRequest) -> None:
    async def patient(request: ApprovalRequest) -> Approval:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        task = asyncio.create_task(ask(patient, question))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_an_approver_that_gives_up_by_itself_denies(question: ApprovalRequest) -> None:
    async def withdrawn(request: ApprovalRequest) -> Approval:
        future: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    assert asyncio.run(ask(withdrawn, question)).kind == "deny"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_goes_on_up(question: ApprovalRequest, stop: type[BaseException]) -> None:
    async def interrupted(request: ApprovalRequest) -> Approval:
        raise stop

    async def main() -> None:
        await ask(interrupted, question)

    with pytest.raises(stop):
        asyncio.run(main())


def test_nobody_there_denies_and_says_what_was_asked(question: ApprovalRequest) -> None:
    answer = asyncio.run(deny_all(question))
    assert answer.kind == "deny"
    assert "load_table" in (answer.reason or "")


def test_a_policy_that_allows_never_answers_a_safety_question(
    question: ApprovalRequest, safety_question: ApprovalRequest
) -> None:
    assert asyncio.run(allow_all(question)).kind == "allow"
    assert asyncio.run(allow_all(safety_question)).kind == "deny"


# ---------------------------------------------------------------------------------------------------------- answers
def test_an_answer_takes_a_rule_its_text_or_several() -> None:
    rule = PermissionRule.parse("Bash(ls)", "allow")
    assert Approval.allow(rule, "kernel").rules == (rule,)
    assert Approval.allow("Bash(ls)", scope="project").rule == rule
    assert Approval.allow(["Bash(ls)", "Bash(make)"], "cell").rules[0] == rule
    assert (Approval.allow().rules, Approval.allow().rule, Approval.allow().scope) == ((), None, "call")
    assert Approval.deny("no").reason == "no"
    assert Approval.edit({"a": 1}).tool_input == {"a": 1}
    assert Approval.respond([1]).content == [1]


def test_an_answer_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="'forever' is no scope"):
        Approval.allow(scope="forever")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only remember allow rules"):
        Approval.allow(PermissionRule.parse("Bash", "deny"))
    with pytest.raises(ValueError, match="must end with"):
        Approval.allow("Bash(ls")


# ---------------------------------------------------------------------------------------------------------- scripts
def test_a_script_answers_in_order(question: ApprovalRequest) -> None:
    with ScriptedApprover([Approval.allow(), Approval.deny("not today")]) as script:
        answers = [asyncio.run(script(question)) for _ in range(2)]
    assert [(answer.kind, answer.by) for answer in answers] == [("allow", "script"), ("deny", "script")]


def test_a_script_answers_by_tool_and_arguments(request_for: Any, tool: Any) -> None:
    script = ScriptedApprover({"load_table(path=data/*)": Approval.allow(), "Bash": Approval.deny()})
    assert asyncio.run(script(request_for(tool(), path="data/a"))).kind == "allow"
    assert asyncio.run(script(request_for(tool(), path="data/b"))).kind == "allow"
    assert asyncio.run(script(request_for(tool("Bash"), path="x"))).kind == "deny"
    script.check()
    script = ScriptedApprover([("load_table(path=b)", Approval.deny()), Approval.allow()])
    assert asyncio.run(script(request_for(tool(), path="a"))).kind == "allow"
    assert asyncio.run(script(request_for(tool(), path="b"))).kind == "deny"
    assert script.unused == []


def test_a_script_names_parts_by_their_rules(request_for: Any, parted: Any, part: Any) -> None:
    made = request_for(parted([part(kind="command", text="make"), part(kind="command", text="curl")]))
    assert asyncio.run(ScriptedApprover({"Bash(make)": Approval.allow()})(made)).kind == "deny"
    made = request_for(parted([part(kind="command", text="make"), part(kind="command", text="make")]))
    assert asyncio.run(ScriptedApprover({"Bash(make)": Approval.allow()})(made)).kind == "allow"


def test_a_question_without_an_answer_is_denied_and_fails_the_script(question: ApprovalRequest) -> None:
    script = ScriptedApprover([])
    answer = asyncio.run(ask(script, question))
    assert (answer.kind, answer.by) == ("deny", "policy")
    assert "load_table" in (answer.reason or "")
    with pytest.raises(ScriptError, match="no answer for load_table with"):
        script.check()


def test_an_answer_that_nothing_asked_for_fails_the_script() -> None:
    with pytest.raises(ScriptError, match="nothing asked for the answer 'Bash -> allow'"):
        ScriptedApprover({"Bash": Approval.allow()}).check()


def test_a_scripts_own_check_never_hides_the_error_of_its_block() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedApprover([Approval.allow()]):
        _ = 1 / 0
