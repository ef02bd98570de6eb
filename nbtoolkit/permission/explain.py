"""Why a call is decided as it is: the steps in order, the rule that decided, the smallest change that would not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission.modes import MODES
from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision, PermissionMode, PermissionRule
from nbtoolkit.permission.subject import Step
from nbtoolkit.permission.words import listed, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtoolkit.permission.engine import Judged, Judgement, PermissionEngine
    from nbtoolkit.permission.subject import SubjectVerdict

__all__ = ["Explanation", "explain", "steps"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY

_ASKS = {ALLOW: "allows", ASK: "asks", DENY: "denies", PermissionBehavior.PASSTHROUGH: "has nothing to say"}
# Bypass is never what is recommended.
_OTHER_MODES = (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.EXPLORE, PermissionMode.DONT_ASK)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement for a person to read; ``str`` gives it in lines."""

    tool_name: str
    decision: PermissionDecision
    steps: tuple[str, ...]
    rule: PermissionRule | None
    change: str
    subjects: tuple[SubjectVerdict, ...] = ()

    @property
    def source(self) -> str | None:
        """Who made the rule that decided."""
        return None if self.rule is None else self.rule.source

    def __str__(self) -> str:
        lines = [f"{self.tool_name}: {self.decision.behavior.value}. {self.decision.message}"]
        lines += [f"{number}. {step}" for number, step in enumerate(self.steps, 1)]
        if self.rule is not None:
            lines.append(f"Decided by the rule {self.rule.behavior.value} {self.rule}, from {self.rule.source}.")
        lines.append(f"To decide otherwise: {self.change}")
        return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------------ steps
def steps(judgement: Judgement) -> tuple[str, ...]:
    """The steps up to the one that decided, each with what it found."""
    return tuple(_walk(judgement))


def _walk(judgement: Judgement) -> Iterator[str]:
    last = judgement.step
    verdicts = judgement.subjects
    single = len(verdicts) == 1

    def at(step: Step) -> list[SubjectVerdict]:
        return [verdict for verdict in verdicts if verdict.step is step]

    yield f"Deny rules: {_rules(at(Step.DENY_RULES), single)}"
    if last is Step.DENY_RULES:
        return
    yield _own_check(judgement)
    if last is Step.TOOL:
        return
    yield _safety(judgement, at(Step.SAFETY))
    if last is Step.SAFETY:
        return
    yield f"Ask rules: {_rules(at(Step.ASK_RULES), single)}"
    if last is Step.ASK_RULES:
        return
    reading = len(at(Step.READ_ONLY))
    yield f"Read-only: {_read_only(verdicts, reading)}"
    if last is Step.READ_ONLY and reading == len(verdicts):
        return
    if not MODES[judgement.mode].widens:
        yield "The tool's own word and allow rules: mode explore doesn't look at them"
    else:
        if at(Step.TOOL_ALLOWS):
            yield "The tool's own word: it allows the call"
        if last is Step.TOOL_ALLOWS:
            return
        covered = at(Step.ALLOW_RULES)
        yield (
            f"Allow rules: {_rules(covered, single)}"
            if single or not covered
            else (f"Allow rules: {len(covered)} of {len(verdicts)} parts covered, by {_names(covered)}")
        )
        if not at(Step.MODE):
            return
    yield f"Mode {judgement.mode.value}: {_ASKS[judgement.decision.behavior]}"


def _names(verdicts: Sequence[SubjectVerdict]) -> str:
    return listed(f"{verdict.rule} ({verdict.rule.source})" for verdict in verdicts if verdict.rule is not None)


def _rules(verdicts: list[SubjectVerdict], single: bool) -> str:
    if not verdicts:
        return "none matches"
    if single:
        return f"{_names(verdicts)} matches"
    return f"{_names(verdicts)} matches {listed(verdict.subject.text for verdict in verdicts)}"


def _own_check(judgement: Judgement) -> str:
    own = judgement.own
    if own is None:
        return f"The tool's own check: {judgement.subjects[0].reason}"
    said = _ASKS[own.behavior]
    return f"The tool's own check: {said}" + (f": {short(own.message)}" if own.message and own.behavior is DENY else "")


def _safety(judgement: Judgement, found: list[SubjectVerdict]) -> str:
    if found:
        return f"Safety: {listed(f'{verdict.subject.text}: {verdict.reason}' for verdict in found)}"
    passed = [verdict.subject.safety for verdict in judgement.subjects if verdict.subject.safety]
    if passed:
        return f"Safety: {listed(passed)}; mode {judgement.mode.value} lets it pass"
    return "Safety: nothing sensitive"


def _read_only(verdicts: Sequence[SubjectVerdict], reading: int) -> str:
    if reading == len(verdicts):
        return verdicts[0].reason if len(verdicts) == 1 else "all of it"
    if len(verdicts) == 1:
        return verdicts[0].subject.effect.value
    return f"{len(verdicts) - reading} of {len(verdicts)} parts aren't, or not here"


# ------------------------------------------------------------------------------------------------------- the change
async def explain(engine: PermissionEngine, tool: Judged, tool_input: dict[str, Any]) -> Explanation:
    """Judge, and try changes until one decides otherwise.

    In a task of its own: a tool keeps what it found for the call whose task judges it, which a mere look must not replace.
    """
    return await asyncio.create_task(_explain(engine, tool, tool_input))


async def _explain(engine: PermissionEngine, tool: Judged, tool_input: dict[str, Any]) -> Explanation:
    judgement = await engine.judge(tool, tool_input)
    change = await _change(engine, judgement)
    return Explanation(tool.name, judgement.decision, steps(judgement), judgement.rule, change, judgement.subjects)


async def _change(engine: PermissionEngine, judgement: Judgement) -> str:
    before = judgement.decision.behavior
    for text, other in [each async for each in _candidates(engine, judgement)]:
        after = (await other.judge(judgement.tool, judgement.tool_input)).decision.behavior
        if after is not before and (before is ALLOW or after is ALLOW or before is DENY):
            return f"{text} (then it {_ASKS[after]})."
    if judgement.step is Step.SAFETY and before is ASK:
        return "answer the question; no rule silences one about safety."
    if judgement.step is Step.TOOL:
        return "call it otherwise; the tool itself refuses these arguments."
    return "nothing that a single rule or mode could change."


async def _candidates(engine: PermissionEngine, judgement: Judgement) -> Any:
    """Changes from small to large, each as words and as the engine that has it."""
    tool, before = judgement.tool, judgement.decision.behavior
    rule = judgement.rule
    if before is ALLOW:
        if rule is not None:
            yield f"forget the rule {rule}", engine.alternative(without=rule)
        name = judgement.subjects[0].subject.tool_names
        ask = PermissionRule(tool_name=tool.name if name is None else name[0], behavior=ASK)
        yield f"ask {ask.tool_name}", engine.alternative(add=[ask])
        return
    suggested = judgement.decision.suggested_rules
    if suggested is None:
        # A mode that denies suggests nothing; the default one knows what would be enough.
        default = await engine.alternative(mode=PermissionMode.DEFAULT).judge(tool, judgement.tool_input)
        suggested = default.decision.suggested_rules
    if suggested:
        yield f"allow {listed(map(str, suggested))}", engine.alternative(add=suggested)
    if rule is not None:
        yield f"forget the rule {rule.behavior.value} {rule}", engine.alternative(without=rule)
    for mode in _OTHER_MODES:
        if mode is not judgement.mode:
            yield f"mode {mode.value}", engine.alternative(mode=mode)
