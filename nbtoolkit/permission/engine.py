"""The one judgement of a call: every subject walks the same ordered steps, and the worst verdict wins.

deny rules → the tool's own check, asked once → safety → ask rules → read-only → the tool's own ALLOW → allow rules →
the mode. Modes differ by the rows of ``modes.MODES`` and nothing else. A check that fails denies.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission.grants import BLOCK, Grants
from nbtoolkit.permission.judgement import Judged, Judgement
from nbtoolkit.permission.lookup import Call, Readings
from nbtoolkit.permission.modes import MODES, READS, Mode
from nbtoolkit.permission.own_files import names_own_file
from nbtoolkit.permission.rule import (
    PermissionBehavior,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from nbtoolkit.permission.subject import Effect, Step, Subject, SubjectVerdict
from nbtoolkit.permission.suggesting import suggestions
from nbtoolkit.permission.traits import traits_of
from nbtoolkit.permission.words import message, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import Approval, ApprovalRequest
    from nbtoolkit.permission.explain import Explanation
    from nbtoolkit.permission.remember import Remembered
    from nbtoolkit.permission.report import RuleFault
    from nbtoolkit.permission.store import Store

__all__ = ["Judged", "Judgement", "PermissionEngine"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY
_READ_ONLY = Effect.READ.value
_ALLOWED_AS_READ_ONLY = f"Allowed: {_READ_ONLY}."
_STEP_READ_ONLY = Step.READ_ONLY
_MODES_THAT_READ = frozenset(mode for mode, row in MODES.items() if row.effects[Effect.READ] is ALLOW)


class PermissionEngine:
    """Judges calls by a context's mode and rules, and by the grants that all engines of a toolkit share."""

    def __init__(self, context: PermissionContext, grants: Grants | None = None) -> None:
        self.context = context
        self.grants = Grants() if grants is None else grants
        self._layers = (context, self.grants)
        self._readings = Readings()
        self._loads = 0
        self._subjects: dict[tuple[str, Effect], Subject] = {}
        # The verdict on a plain call that only reads, by the tool's name.
        self._reads: dict[str, tuple[SubjectVerdict]] = {}

    # ------------------------------------------------------------------------------------------------- rules
    @property
    def store(self) -> Store | None:
        """The files of rules, where there are any."""
        return self.grants.store

    @property
    def base(self) -> str:
        """The folder that relative patterns are read from: the project's, else the working directory."""
        return self.grants.base or self.context.base

    def alternative(
        self,
        mode: PermissionMode | None = None,
        add: Sequence[PermissionRule] = (),
        without: PermissionRule | None = None,
    ) -> PermissionEngine:
        """An engine with one thing changed, to see how it would decide; this one stays as it is."""
        context = self.context.model_copy(deep=True)
        if mode is not None:
            context.mode = mode
        if without is not None:
            context.remove_rule(without)
        for rule in add:
            context.add_rule(rule)
        return PermissionEngine(context, self.grants.without(without))

    def add_rule(self, rule: PermissionRule | str, behavior: PermissionBehavior | str | None = None) -> PermissionRule:
        """Add a rule to the context, as an object or as its text with a behaviour."""
        if isinstance(rule, str):
            if behavior is None:
                raise TypeError(f"The rule {rule!r} needs a behavior: allow, deny or ask.")
            rule = PermissionRule.parse(rule, behavior)
        self.context.add_rule(rule)
        return rule

    def remove_rule(self, rule: PermissionRule) -> bool:
        """Take a rule out of the context, the grants and the file that it came from; False when none had it."""
        in_file = self.store is not None and self.store.forget(rule)
        in_context = self.context.remove_rule(rule)
        return bool(self.grants.remove([rule])) or in_file or in_context

    def redefined(self, tool: Judged) -> list[PermissionRule]:
        """Drop the grants that were given to another definition of this tool, and name them."""
        return self.grants.redefined(tool.name, getattr(tool, "definition_hash", None))

    def end_cell(self) -> None:
        """End what was granted for the rest of the cell."""
        self.grants.end_cell()

    def remember(self, approval: Approval, request: ApprovalRequest) -> Remembered:
        """Keep what an approval allows beyond its call, for as long as its scope says."""
        from nbtoolkit.permission.remember import remember

        return remember(self, approval, request)

    def report(self, tools: Sequence[Judged]) -> list[RuleFault]:
        """The rules that can never match with these tools, and those that another one makes needless."""
        from nbtoolkit.permission.report import report

        return report(self, tools)

    async def explain(self, tool: Judged, tool_input: dict[str, Any]) -> Explanation:
        """How the call would be judged, step by step, and the smallest change that would decide otherwise."""
        from nbtoolkit.permission.explain import explain

        return await explain(self, tool, tool_input)

    # ---------------------------------------------------------------------------------------------- judging
    async def check_permission(self, tool: Judged, tool_input: dict[str, Any]) -> PermissionDecision:
        """Decide about one call."""
        return (await self.judge(tool, tool_input)).decision

    def spend(self, judgement: Judgement) -> bool:
        """Use up one call of each counted grant that allowed it; False when another call was quicker: judge again."""
        if judgement.step is not Step.ALLOW_RULES and len(judgement.subjects) == 1:
            return True
        counters = {
            id(counter): counter
            for verdict in judgement.subjects
            if verdict.rule is not None and verdict.rule.source == BLOCK
            if (counter := self.grants.counter(verdict.rule)) is not None
        }
        return all(counter.take() for counter in counters.values())

    async def judge(self, tool: Judged, tool_input: dict[str, Any]) -> Judgement:
        """Decide about one call, and keep what led to it."""
        context = self.context
        store = self.grants.store
        if store is not None and store.loads != self._loads:
            # A conversation of its own, or files that were read anew: it gets what they say of folders, and their mode
            # where nobody has set one.
            self._loads = store.loads
            store.apply(context, mode="mode" not in context.model_fields_set)
        # Read from the model's own dict: pydantic makes each other way many times slower.
        mode, traits = context.__dict__["mode"], traits_of(type(tool))
        own: PermissionDecision | None = None
        try:
            if tool.is_read_only and traits.plain and not tool.is_mcp and self._only_reads_matter(mode):
                own = await tool.check_permissions(tool_input, context)
                if type(own) is not PermissionDecision:
                    own = _decided(own)
                if own.behavior is not DENY and not own.bypass_immune:
                    return self._read(tool, tool_input, mode, own)
            call = Call(tool, tool_input, traits, self._layers, self._readings)
            subjects = await self._subjects_of(call)
            denied = self._denied(subjects, call)
            if denied is not None:
                return denied
            if own is None:
                own = await tool.check_permissions(tool_input, context)
                # The usual type is asked for here: a function more is felt where a thousand calls run at once.
                if type(own) is not PermissionDecision:
                    own = _decided(own)
            call.own = own
        except Exception as fault:  # noqa: BLE001 - a check that fails must deny, whatever it raises
            return self._failed(tool, tool_input, fault)
        if own.behavior is DENY:
            decision = PermissionDecision(
                DENY, own.message, own.decision_reason or "the tool's own check", own.updated_input
            )
            denied_all = tuple(SubjectVerdict(each, DENY, own.message, Step.TOOL) for each in subjects)
            return Judgement(tool, tool_input, mode, decision, denied_all, Step.TOOL, None, own)
        if len(subjects) == 1 and not own.bypass_immune:
            worst = self._verdict(subjects[0], call, MODES[mode], ())
            verdicts: tuple[SubjectVerdict, ...] = (worst,)
        else:
            verdicts = self._verdicts(subjects, call, MODES[mode])
            worst = max(verdicts, key=_badness)
        decision = PermissionDecision(
            worst.behavior, f"Allowed: {worst.reason}.", _word(worst, own, mode), own.updated_input
        )
        if worst.behavior is not ALLOW:
            await self._put_in_words(decision, worst, verdicts, call)
        return Judgement(tool, tool_input, mode, decision, verdicts, worst.step, worst.rule, own)

    def _only_reads_matter(self, mode: PermissionMode) -> bool:
        """Whether steps 1, 3 and 4 have nothing to say of a plain tool that only reads, and step 5 allows it."""
        context, grants = self.context.__dict__, self.grants
        if context["deny_rules"] or context["ask_rules"] or grants.deny_rules or grants.ask_rules:
            return False
        return mode in _MODES_THAT_READ

    def _read(
        self, tool: Judged, tool_input: dict[str, Any], mode: PermissionMode, own: PermissionDecision
    ) -> Judgement:
        """Step 5 alone: what all the steps come to for the most usual call, at a third of their cost."""
        verdicts = self._reads.get(tool.name)
        if verdicts is None:
            subject = self._subject(tool.name, Effect.READ)
            verdicts = self._reads[tool.name] = (SubjectVerdict(subject, ALLOW, _READ_ONLY, Step.READ_ONLY),)
        decision = PermissionDecision(ALLOW, _ALLOWED_AS_READ_ONLY, _READ_ONLY, own.updated_input)
        return Judgement(tool, tool_input, mode, decision, verdicts, _STEP_READ_ONLY, None, own)

    def _subject(self, name: str, effect: Effect) -> Subject:
        key = (name, effect)
        subject = self._subjects.get(key)
        if subject is None:
            subject = self._subjects[key] = Subject(kind="call", text=name, effect=effect)
        return subject

    async def _subjects_of(self, call: Call) -> Sequence[Subject]:
        tool, tool_input, traits = call.tool, call.tool_input, call.traits
        if traits.subjects is not None:
            subjects: Sequence[Subject] = traits.subjects(tool, tool_input, self.context)
            if subjects:
                call.plain = False
                return subjects
        read_only = await tool.check_read_only(tool_input) if traits.own_read_only else tool.is_read_only
        effect = Effect.OTHER
        if read_only:
            trusted = not tool.is_mcp or getattr(tool, "trust_annotations", False)
            effect = Effect.READ if trusted else Effect.READ_CLAIMED
        if traits.own_match:
            await call.ask_tool()
        if effect is not Effect.READ and (named := names_own_file(tool_input)):
            safety = f"it names {named!r}, which holds this product's own rules"
            return (Subject(kind="call", text=tool.name, effect=effect, safety=safety, own_file=True),)
        return (self._subject(tool.name, effect),)

    def _denied(self, subjects: Sequence[Subject], call: Call) -> Judgement | None:
        """Step 1; what it doesn't name is left without a verdict, as the call ends here."""
        if not self.context.deny_rules and not self.grants.deny_rules:
            return None
        verdicts = []
        for subject in subjects:
            rule = call.deny_rule(subject)
            if rule is not None:
                verdicts.append(SubjectVerdict(subject, DENY, _by_rule(rule), Step.DENY_RULES, rule))
        if not verdicts:
            return None
        first = verdicts[0]
        what = call.tool.name if call.plain else short(first.subject.text)
        decision = PermissionDecision(DENY, f"{what} is denied: {first.reason}.", f"Rule: {first.rule}")
        return Judgement(
            call.tool, call.tool_input, self.context.mode, decision, tuple(verdicts), Step.DENY_RULES, first.rule
        )

    def _failed(self, tool: Judged, tool_input: dict[str, Any], fault: Exception) -> Judgement:
        reason = f"the permission check of {tool.name!r} failed with {type(fault).__name__}: {fault}"
        subject = Subject(kind="call", text=tool.name)
        return Judgement(
            tool,
            tool_input,
            self.context.mode,
            PermissionDecision(DENY, f"Denied, since {reason}.", "the tool's own check"),
            (SubjectVerdict(subject, DENY, reason, Step.TOOL),),
            Step.TOOL,
        )

    def _verdicts(self, subjects: Sequence[Subject], call: Call, row: Mode) -> tuple[SubjectVerdict, ...]:
        """Steps 3 to 8 for each subject, and the tool's own safety question as one more."""
        verdicts: list[SubjectVerdict] = []
        for subject in subjects:
            verdicts.append(self._verdict(subject, call, row, verdicts))
        own = call.own
        if own is not None and own.bypass_immune and own.behavior is ASK and row.safety is not ALLOW:
            subject = Subject(kind="call", text=call.tool.name, safety=own.message)
            verdicts.append(SubjectVerdict(subject, row.safety, own.message, Step.SAFETY))
        return tuple(verdicts)

    def _verdict(self, subject: Subject, call: Call, row: Mode, before: Sequence[SubjectVerdict]) -> SubjectVerdict:
        if subject.safety is not None:
            behavior = row.own_files if subject.own_file else row.safety
            if behavior is not ALLOW:
                return SubjectVerdict(subject, behavior, subject.safety, Step.SAFETY)
        effect = subject.effect
        if call.maybe or self.context.ask_rules or self.grants.ask_rules:
            rule = call.ask_rule(subject)
            if rule is not None:
                behavior = row.ask_rule_reading if effect in READS else row.ask_rule
                return SubjectVerdict(
                    subject, behavior, _by_rule(rule, sure=rule.behavior is ASK), Step.ASK_RULES, rule
                )
        fallback = row.effects[effect]
        if fallback is ALLOW and effect in READS:
            return SubjectVerdict(subject, ALLOW, effect.value, Step.READ_ONLY)
        if row.widens:
            own = call.own
            if own is not None and own.behavior is ALLOW:
                return SubjectVerdict(subject, ALLOW, own.message, Step.TOOL_ALLOWS)
            rule = call.allow_rule(subject)
            if rule is None and subject.within is not None and subject.within < len(before):
                # The command that names this path was allowed by a rule, path and all.
                around = before[subject.within]
                if around.step is Step.ALLOW_RULES:
                    rule = around.rule
                elif around.step is Step.READ_ONLY:
                    # It needed no rule itself; what it reads elsewhere does.
                    rule = call.allow_rule(around.subject)
            if rule is not None:
                return SubjectVerdict(subject, ALLOW, _by_rule(rule), Step.ALLOW_RULES, rule)
        return SubjectVerdict(subject, fallback, subject.why or effect.value, Step.MODE)

    # -------------------------------------------------------------------------------------------------- words
    async def _put_in_words(
        self, decision: PermissionDecision, worst: SubjectVerdict, verdicts: tuple[SubjectVerdict, ...], call: Call
    ) -> None:
        own, tool = call.own, call.tool
        decision.bypass_immune = worst.step is Step.SAFETY and worst.behavior is ASK
        asked_by_tool = worst.step is Step.MODE and worst.behavior is ASK and own is not None and own.behavior is ASK
        if asked_by_tool and own is not None and own.message:
            decision.message = own.message
        else:
            decision.message = message(tool.name, self.context.mode, worst, verdicts, plain=call.plain)
        asking = [verdict for verdict in verdicts if verdict.behavior is not ALLOW]
        if worst.behavior is not ASK or any(verdict.step is not Step.MODE for verdict in asking):
            # No allow rule would silence a safety question or an ask rule.
            return
        decision.suggested_rules = await suggestions(asking, verdicts, call) or None


def _decided(given: object) -> PermissionDecision:
    """What a tool's own check gave, where that is a decision."""
    if not isinstance(given, PermissionDecision):
        raise TypeError(f"check_permissions must give a PermissionDecision, but gave {reprlib.repr(given)}")
    return given


def _badness(verdict: SubjectVerdict) -> int:
    if verdict.behavior is DENY:
        return 30
    if verdict.behavior is ASK:
        return 20 if verdict.step is Step.SAFETY else 10
    # Of parts that are all allowed the one that went furthest says why.
    return verdict.step


def _by_rule(rule: PermissionRule, *, sure: bool = True) -> str:
    where = "" if rule.source == "user" else f" ({rule.source})"
    says = "says so" if sure else "may mean it, which these arguments leave open"
    return f"the rule {rule.behavior} {rule}{where} {says}"


def _word(worst: SubjectVerdict, own: PermissionDecision, mode: PermissionMode) -> str:
    """The word of the step that decided."""
    match worst.step:
        case Step.SAFETY:
            return "safety"
        case Step.READ_ONLY:
            return "read-only"
        case Step.MODE:
            return mode.value
        case Step.TOOL_ALLOWS:
            return own.decision_reason or "the tool's own check"
        case _:
            return f"Rule: {worst.rule}"
