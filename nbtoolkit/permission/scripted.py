"""An approver that answers from a script, for tests, demonstrations and jobs: in order, or by tool and arguments.

    ScriptedApprover([Approval.allow(), Approval.deny("not today")])
    ScriptedApprover({"write_summary(path=out/**)": Approval.allow(), "Bash": Approval.deny("no shell here")})

A question without an answer is denied, in words that name the call; ``check``, or the end of a ``with`` block, raises
for it and for answers that nothing asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.planned import Answers, expected, parse_answers
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.subject import Match

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PlannedApprover", "ScriptError", "ScriptedApprover", "covers"]


class ScriptError(DeveloperOrientedException):
    """A script of answers doesn't fit the questions."""


class _Answer:
    """One answer, for the calls that a rule covers or for the next, once or again and again."""

    __slots__ = ("approval", "often", "rule", "used")

    def __init__(self, rule: PermissionRule | None, approval: Approval, *, often: bool) -> None:
        self.rule = rule
        self.approval = replace(approval, by="script")
        self.often = often
        self.used = 0

    def __str__(self) -> str:
        return f"{self.rule} -> {self.approval.kind}" if self.rule is not None else self.approval.kind


class ScriptedApprover:
    """Answers in order; an answer with a rule waits for a call that the rule covers, in a mapping for all of them."""

    def __init__(
        self,
        answers: Iterable[Approval | tuple[PermissionRule | str, Approval]] | Mapping[str, Approval],
    ) -> None:
        often = isinstance(answers, Mapping)
        entries = answers.items() if isinstance(answers, Mapping) else answers
        self._answers = [
            _Answer(None, entry, often=False)
            if isinstance(entry, Approval)
            else _Answer(_rule(entry[0]), entry[1], often=often)
            for entry in entries
        ]
        #: The questions that had no answer, in words.
        self.missing: list[str] = []

    async def __call__(self, request: ApprovalRequest) -> Approval:
        """The next answer that fits."""
        for answer in self._answers:
            if (answer.used and not answer.often) or not (answer.rule is None or await covers(answer.rule, request)):
                continue
            answer.used += 1
            return answer.approval
        question = f"{request.tool.name} with {request.tool_input!r:.300}"
        self.missing.append(question)
        return Approval.deny(f"The script has no answer for {question}.", by="policy")

    @property
    def unused(self) -> list[str]:
        """The answers that nothing has asked for yet, in words."""
        return [str(answer) for answer in self._answers if not answer.used]

    def check(self) -> None:
        """Raise ScriptError unless every question had an answer and every answer a question."""
        faults = [f"no answer for {each}" for each in self.missing]
        faults += [f"nothing asked for the answer {each!r}" for each in self.unused]
        if faults:
            raise ScriptError("The script of answers doesn't fit: " + "; ".join(faults) + ".")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.check()


class PlannedApprover:
    """Answers as ``%toolkit answers`` and a script's file write them, in order or by tool and arguments.

    ``asked`` holds the questions that came; ``answers.check()`` raises for what doesn't fit.
    """

    def __init__(self, *lines: str) -> None:
        self.answers = Answers()
        self.asked: list[ApprovalRequest] = []
        self.plan(*lines)

    def plan(self, *lines: str) -> None:
        """Plan these answers after those that are planned; AnswersError says what is wrong with one."""
        self.answers.extend(parse_answers("\n".join(lines), lines=True))

    async def passed_over(self, request: ApprovalRequest) -> None:
        """Count the answer to this call as given: something else gave one."""
        await self.answers.answer(request)

    async def __call__(self, request: ApprovalRequest) -> Approval:
        """The planned answer, else a denial that says which was expected."""
        self.asked.append(request)
        answer = await self.answers.answer(request)
        if answer is None:
            self.answers.miss(request)
            return Approval.deny(f"No planned answer is for this call, such as {expected(request)}", by="policy")
        return answer


def _rule(rule: PermissionRule | str) -> PermissionRule:
    return PermissionRule.parse(rule, PermissionBehavior.ALLOW, "script") if isinstance(rule, str) else rule


async def covers(rule: PermissionRule, request: ApprovalRequest, base: str = "") -> bool:
    """Whether a rule names the call that a question is about: all of its parts that ask, read as to allow them.

    ``base`` is the folder of its relative patterns, by default the process's.
    """
    from nbtoolkit.permission.matching import working_directory

    tool = request.tool
    if rule.tool_name not in {tool.name, f"mcp__{tool.mcp_name}" if tool.is_mcp else tool.name}:
        return False
    if rule.rule_content is None:
        return True
    asking = [each.subject for each in request.subjects if each.behavior is not PermissionBehavior.ALLOW]
    if all(each.kind == "call" for each in asking):
        return await tool.match_rule(rule.rule_content, request.tool_input)
    narrow = rule.model_copy(update={"behavior": PermissionBehavior.ALLOW})
    folder = rule.base or base or working_directory()
    return all(each.matches(narrow, folder) is Match.YES for each in asking if each.kind != "call")
