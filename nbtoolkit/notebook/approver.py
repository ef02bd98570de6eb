"""The inline approver: a question under the cell that asks, and the answer of whoever can give one.

It promises: a card where a front end can show it, ``input()`` where that can't be, planned answers and policy where
nobody is; it never waits for somebody who can't answer, and a person who can may take all day. The answer is for exactly
the call that was shown. A card outlives its output: it can be shown again, and answered by ``%toolkit approve`` and
``reject``. Cards go when the call's record is drawn (``ended``), so that nothing jumps.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import scheduling, tables
from nbtoolkit.notebook.cards import Cards
from nbtoolkit.notebook.finish import finish
from nbtoolkit.notebook.pending import VIEW, PendingCall, Slot
from nbtoolkit.notebook.scheduling import Means, NobodyAnswers, Question
from nbtoolkit.notebook.server_questions import ServerQuestion
from nbtoolkit.notebook.text import bounded, settled, to_json, visible_text
from nbtoolkit.notebook.why import card_title
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.matching import match_arguments
from nbtoolkit.permission.planned import Answers, expected, policy_answer
from nbtoolkit.permission.subject import Effect, Match
from nbtoolkit.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtoolkit.notebook.widgets.card import ApprovalCard
    from nbtoolkit.notebook.widgets.question import QuestionCard
    from nbtoolkit.permission.approval import ApprovalRequest
    from nbtoolkit.permission.rule import PermissionMode, PermissionRule
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["VIEW", "InlineApprover", "PendingCall"]

logger = logging.getLogger("nbtoolkit")

# A typed question holds the front end's only input box, and nothing proves that somebody sits there.
INPUT_LIMIT = 300.0
# As much of an argument as is read above a prompt.
INPUT_ARGUMENT_LIMIT = 4_000
# How far back "would have allowed 4 of the last 20 calls" looks.
RECENT_CALLS = 20

FOR_THE_NEXT_RUN = "For runs without a person, plan answers with %toolkit answers, or set NBTOOLKIT_ASK."


class InlineApprover:
    """Asks under the cell; one for each notebook, for any number of calls at once.

    ``ask_timeout`` (seconds) denies what nobody answered in time; None waits as long as a front end is there.
    """

    def __init__(self, toolkit: Toolkit | None = None, *, ask_timeout: float | None = None) -> None:
        self.ask_timeout = ask_timeout
        #: What ``%toolkit answers`` planned.
        self.answers = Answers()
        self._toolkit = toolkit
        self._cards = Cards(self._card)

    async def __call__(self, request: ApprovalRequest) -> Approval:
        """Put the question to whoever can answer it here."""
        __tracebackhide__ = True  # IPython leaves it out
        who = scheduling.presence()
        reason = who.reason
        if who.means is Means.WIDGETS:
            try:
                approval = await self._by_card(request)
            except NobodyAnswers as nobody:
                reason = str(nobody)
            else:
                self.answers.left_to_a_person = True
                return approval
        planned = await self.answers.answer(request) or await policy_answer(request)
        if planned is not None:
            return planned
        if who.means is not Means.NOBODY:
            try:
                return await self._by_input(request)
            except NobodyAnswers as nobody:
                reason = f"{reason}; {nobody}" if str(nobody) != reason else reason
        self.answers.miss(request)
        if self.answers.count:
            return Approval.deny(f"No planned answer is for this call, such as {expected(request)}", by="policy")
        return Approval.deny(f"Nobody can answer here: {reason}. {FOR_THE_NEXT_RUN}", by="policy")

    async def passed_over(self, request: ApprovalRequest) -> None:
        """Count the planned answer to this call as given: a cassette gave one."""
        await self.answers.answer(request)

    # ------------------------------------------------------------------------------------------------------ by a card
    async def _by_card(self, request: ApprovalRequest) -> Approval:
        __tracebackhide__ = True
        question = Question(self._cards.show)
        cards = self._cards
        call = await cards.open(request, question, alone=isinstance(request.tool, ServerQuestion))
        try:
            approval = await scheduling.pose(question, timeout=self.ask_timeout)
        except NobodyAnswers:
            finish(lambda: cards.withdraw(call))
            raise
        except TimeoutError:
            approval = Approval.deny(f"Nobody answered within {self.ask_timeout:g} s.", by="policy")
        except BaseException:
            finish(lambda: cards.settle(call, "Interrupted"))
            raise
        finally:
            cards.answered(question)
        finish(lambda: cards.settle(call, call.card.words(approval)))
        return _bound(approval, request)

    def _card(self, request: ApprovalRequest, question: Question, number: int | None) -> ApprovalCard | QuestionCard:
        from nbtoolkit.notebook.widgets.card import ApprovalCard

        if isinstance(request.tool, ServerQuestion):
            return request.tool.make_card(question.resolve, scheduling.route)
        toolkit = self._toolkit
        validate = getattr(request.tool, "validate_input", None)
        return ApprovalCard(
            request,
            question.resolve,
            validate=validate,
            counter=None if toolkit is None else lambda rules: self._count(rules, request),
            mode=request.judgement.mode if request.judgement is not None else None,
            set_mode=None if toolkit is None or request.judgement is None else self._set_mode,
            route=scheduling.route,
            number=number,
        )

    def _set_mode(self, mode: PermissionMode) -> None:
        if self._toolkit is not None:
            self._toolkit.mode = mode

    def slot(self, call_id: str, parent: Mapping[str, Any]) -> Slot | None:
        """The display for the call's record below its own cell, where its card stands there."""
        return self._cards.slot(call_id, parent)

    def ended(self, call_id: str, record: Mapping[str, Any] | None = None, *, slot: Slot | None = None) -> None:
        """The call's record is drawn below the asking cell, in ``slot`` or by itself: take its cards away."""
        self._cards.ended(call_id, record, slot=slot)

    def card(self, call_id: str) -> ApprovalCard | None:
        """The answered card of a call that runs now, for its live view; None where none is on screen."""
        return self._cards.card(call_id)

    def close(self) -> None:
        """Take all cards away; what still waits is denied."""
        for call in self._cards.waiting():
            call.question.resolve(Approval.deny("nbtoolkit was unloaded before this was answered.", by="policy"))
        self._cards.close()

    # ------------------------------------------------------------------------------------------------ from elsewhere
    def pending(self) -> list[PendingCall]:
        """The calls that wait, oldest first."""
        return self._cards.waiting()

    def find(self, call_id: str | None = None) -> PendingCall:
        """The call of that id, or the only one that waits; a LookupError says which do."""
        waiting = self.pending()
        if not waiting:
            raise LookupError("no call waits for an answer")
        if call_id is None:
            if len(waiting) > 1:
                raise LookupError(f"{len(waiting)} calls wait; say which: {_listed(waiting)}")
            return waiting[0]
        for call in waiting:
            if call.id == call_id.strip():
                return call
        raise LookupError(f"no waiting call has the id {call_id!r}; there is {_listed(waiting)}")

    def approve(self, call_id: str | None = None, *, always: bool = False) -> PendingCall:
        """Allow a waiting call once, or for this kernel by its suggested rules."""
        call = self.find(call_id)
        if always and not call.card.may_remember:
            raise LookupError(f"{call.title!r} can't be allowed always; approve it without --always")
        self._answer(call, Approval.allow(call.request.suggested_rules, "kernel") if always else Approval.allow())
        return call

    def reject(self, call_id: str | None = None, reason: str | None = None) -> PendingCall:
        """Deny a waiting call, with a reason for the model."""
        call = self.find(call_id)
        self._answer(call, Approval.deny(reason or None))
        return call

    def show_again(self, parent: Mapping[str, Any] | None = None) -> int:
        """Show the cards of all waiting calls once more, below ``parent`` or the running cell; says how many."""
        ids = [call.question.id for call in self.pending()]
        return scheduling.reshow(scheduling.origin().parent if parent is None else parent, ids)

    def announce(self, parent: Mapping[str, Any] | None = None) -> bool:
        """Say which calls wait, under which ids, in lines that go when they are answered; False outside a kernel."""
        below = scheduling.origin().parent if parent is None else parent
        for call in self.pending():
            line = f"nbtoolkit-{call.question.id}-line-{len(call.lines) + 1}"
            if not scheduling.publish(tables.message(call.waits), parent=below, display_id=line):
                return False
            call.lines.append((line, below))
        return True

    @staticmethod
    def _answer(call: PendingCall, approval: Approval) -> None:
        if not call.question.resolve(approval):
            raise LookupError(f"{call.title!r} was answered already")

    # ---------------------------------------------------------------------------------------------------- by typing
    async def _by_input(self, request: ApprovalRequest) -> Approval:
        may_remember = bool(request.suggested_rules) and not request.decision.bypass_immune
        text = _typed_question(request, may_remember=may_remember)
        limit = INPUT_LIMIT if self.ask_timeout is None else self.ask_timeout
        try:
            if isinstance(request.tool, ServerQuestion):
                return await request.tool.ask_typed(limit)
            said = (await scheduling.ask_by_input(text, timeout=limit)).strip()
        except TimeoutError:
            return Approval.deny(f"Nobody answered within {limit:g} s.", by="policy")
        match said.casefold():
            case "y" | "yes":
                return Approval.allow()
            case "a" | "always" if may_remember:
                return Approval.allow(request.suggested_rules, "kernel")
            case "" | "n" | "no" | "a" | "always":
                return Approval.deny()
            case _:
                return Approval.deny(said)

    # ----------------------------------------------------------------------------------------------------- counting
    def _count(self, rules: Sequence[PermissionRule], request: ApprovalRequest) -> tuple[int, int]:
        """How many of the latest calls these rules would have allowed, and of how many."""
        if self._toolkit is None:
            return 0, 0
        latest = list(self._toolkit.log)[-RECENT_CALLS:]
        return sum(self._covered(rules, entry, request.tool) for entry in latest), len(latest)

    def _covered(self, rules: Sequence[PermissionRule], entry: LogEntry, tool: Any) -> bool:
        mine = [rule for rule in rules if rule.tool_name == tool.name]
        if entry.tool != tool.name or not mine or self._toolkit is None:
            return False
        if any(rule.rule_content is None for rule in mine):
            return True
        take_apart = getattr(tool, "subjects", None)
        if take_apart is None:
            return any(match_arguments(rule.rule_content, entry.tool_input) for rule in mine)
        engine = self._toolkit.engine
        with contextlib.suppress(Exception):  # arguments that never fitted the tool
            return all(
                part.effect is Effect.READ or any(part.matches(rule, engine.base) is Match.YES for rule in mine)
                for part in take_apart(entry.tool_input, engine.context)
            )
        return False


def _listed(calls: Sequence[PendingCall]) -> str:
    return ", ".join(f"{call.id} ({call.title})" for call in calls)


def _bound(approval: Any, request: ApprovalRequest) -> Approval:
    """The answer as the pipeline may take it: an Approval, and never "always" for a safety question."""
    if not isinstance(approval, Approval):
        raise TypeError(f"a card was answered with {approval!r}, not an Approval")
    if request.decision.bypass_immune and approval.kind == "allow" and approval.scope != "call":
        return replace(approval, scope="call", rules=())
    return approval


def _typed_question(request: ApprovalRequest, *, may_remember: bool) -> str:
    """The card as lines of text, above the prompt."""
    # What is written above a prompt stays in the notebook.
    hide = Redactor(shapes=False)
    line = card_title(request)
    lines = [line.plain, f"  {visible_text(settled(hide.text(request.decision.message)))}"]
    for key, value in hide.value(request.tool_input).items():
        shown = visible_text(bounded(to_json(value), INPUT_ARGUMENT_LIMIT))
        lines.append(f"  {visible_text(key)}: {shown}")
    always = ", a to allow always" if may_remember else ""
    lines.append(f"Allow once? [y/N{always}, or a reason to deny] ")
    return "\n".join(lines)
