"""Answers where nobody clicks: those the notebook gives beforehand, then the policy of ``NBTOOLKIT_ASK``.

It promises that nothing is allowed by accident: a safety question is answered only by an answer that names the call,
and a policy that can't be read denies.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nbtoolkit.notebook.answers import PlannedAnswer, parse_answers
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.permission.approval import Approval, allow_all
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.subject import Match

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["POLICY", "Answers", "policy_answer"]

POLICY = "NBTOOLKIT_ASK"


class Answers:
    """Planned answers: those with a rule hold for every call that it covers, the others answer one call each, in order."""

    def __init__(self, planned: Iterable[PlannedAnswer] = ()) -> None:
        self._planned = list(planned)

    def __len__(self) -> int:
        return len(self._planned)

    def __iter__(self) -> Iterator[PlannedAnswer]:
        return iter(tuple(self._planned))

    def set(self, planned: Iterable[PlannedAnswer]) -> None:
        """Put these in the place of all that was planned."""
        self._planned = list(planned)

    def clear(self) -> None:
        """Plan nothing."""
        self._planned.clear()

    async def answer(self, request: ApprovalRequest) -> Approval | None:
        """The answer to this call; None where nothing was planned for it."""
        for planned in self._planned:
            if planned.rule is not None and await _covers(planned, planned.rule, request):
                return _named(planned.approval, request)
        for i, planned in enumerate(self._planned):
            if planned.rule is None:
                del self._planned[i]
                return _unnamed(planned.approval, request)
        return None


def _named(approval: Approval, request: ApprovalRequest) -> Approval:
    # A rule never silences a safety question, so "always" can only mean this once.
    return replace(approval, scope="call", rules=()) if request.decision.bypass_immune else approval


def _unnamed(approval: Approval, request: ApprovalRequest) -> Approval:
    if request.decision.bypass_immune and approval.kind == "allow":
        return Approval.deny(
            f"A safety question needs a planned answer that names the call, as in {request.tool.name} -> allow.",
            by="policy",
        )
    return approval


async def _covers(planned: PlannedAnswer, rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Whether a planned answer's rule covers a call: every part that asks to allow it, any part to refuse it."""
    tool = request.tool
    if rule.tool_name not in {tool.name, f"mcp__{tool.mcp_name}" if tool.mcp_name else tool.name}:
        return False
    if rule.rule_content is None:
        return True
    refuses = planned.approval.kind == "deny"
    asking = [each.subject for each in request.subjects if each.behavior is not PermissionBehavior.ALLOW]
    if not asking or all(each.kind == "call" for each in asking):
        return await tool.match_rule(rule.rule_content, request.tool_input)
    read = rule.model_copy(update={"behavior": PermissionBehavior.DENY if refuses else PermissionBehavior.ALLOW})
    base = rule.base or str(Path.cwd())
    hits = [each.matches(read, base) is Match.YES for each in asking]
    return any(hits) if refuses else all(hits)


async def policy_answer(request: ApprovalRequest) -> Approval | None:
    """What ``NBTOOLKIT_ASK`` says: ``deny``, ``allow``, or the answers in ``script:FILE``; None where it is not set."""
    policy = os.environ.get(POLICY, "").strip()
    if not policy:
        return None
    if policy == "allow":
        return await allow_all(request)
    if policy.startswith("script:"):
        return await _scripted(policy.removeprefix("script:").strip(), request)
    if policy == "replay":
        return Approval.deny("NBTOOLKIT_ASK is replay, but no cassette answers this call.", by="policy")
    if policy == "deny":
        return Approval.deny(f"Nobody is asked, since NBTOOLKIT_ASK is deny. {request.decision.message}", by="policy")
    return Approval.deny(f"NBTOOLKIT_ASK is {policy!r}; expected deny, allow, script:FILE or replay.", by="policy")


_scripts: dict[str, Answers] = {}


async def _scripted(name: str, request: ApprovalRequest) -> Approval:
    try:
        answers = _read(name)
    except (OSError, UnicodeDecodeError, CommandError) as fault:
        return Approval.deny(f"NBTOOLKIT_ASK names the answers in {name!r}, which can't be read: {fault}", by="policy")
    answer = await answers.answer(request)
    return answer or Approval.deny(f"The answers in {name!r} have none for this call.", by="policy")


def _read(name: str) -> Answers:
    """The answers in a file, which goes on where it stood: those in order are used up."""
    if name not in _scripts:
        text = Path(name).expanduser().read_text(encoding="utf-8")
        _scripts[name] = Answers(parse_answers(text, lines=True))
    return _scripts[name]
