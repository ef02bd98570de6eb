"""The inline approver: a question under the cell that asks, and the answer of whoever can give one.

It promises: a card where a front end can show it, ``input()`` where that can't be, planned answers and policy where
nobody is; it never waits for somebody who can't answer, and a person who can may take all day. The answer is for exactly
the call that was shown. A card outlives its output: it can be shown again, and answered by ``%toolkit approve`` and
``reject``. Cards go when the call's record is drawn (``ended``), so that nothing jumps.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from nbtoolkit.notebook import scheduling, tables
from nbtoolkit.notebook.finish import finish
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

__all__ = ["InlineApprover", "PendingCall"]

logger = logging.getLogger("nbtoolkit")

# A typed question holds the front end's only input box, and nothing proves that somebody sits there.
INPUT_LIMIT = 300.0
# As much of an argument as is read above a prompt.
INPUT_ARGUMENT_LIMIT = 4_000
# How far back "would have allowed 4 of the last 20 calls" looks.
RECENT_CALLS = 20
# Cards that were answered outside a pipeline have no record to wait for; the oldest go.
MAX_HELD = 50
# Cards that hold a record for a page loaded again, a dozen widgets each.
MAX_LEFT = 20

FOR_THE_NEXT_RUN = "For runs without a person, plan answers with %toolkit answers, or set NBTOOLKIT_ASK."

VIEW = "application/vnd.jupyter.widget-view+json"


@dataclass(slots=True, eq=False)
class PendingCall:
    """A call that waits for an answer, under the short id that ``%toolkit approve`` takes."""

    id: str
    request: ApprovalRequest
    question: Question
    card: ApprovalCard | QuestionCard
    #: Displays that say its id, and below which requests; they go with the card.
    lines: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the call would do, in one line."""
        return self.card.title.plain

    @property
    def waits(self) -> str:
        """The line that says its id."""
        return f"{self.id} waits: {self.title}"

    @property
    def plain(self) -> str:
        """The line that stands where a card can't be drawn."""
        return self.card.plain

    def bundle(self) -> dict[str, Any]:
        """The card as a display."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.card.view.model_id}
        return {VIEW: view, "text/plain": self.plain}


class InlineApprover:
    """Asks under the cell; one for each notebook, for any number of calls at once.

    ``ask_timeout`` (seconds) denies what nobody answered in time; None waits as long as a front end is there.
    """

    def __init__(self, toolkit: Toolkit | None = None, *, ask_timeout: float | None = None) -> None:
        self.ask_timeout = ask_timeout
        #: What ``%toolkit answers`` planned.
        self.answers = Answers()
        self._toolkit = toolkit
        self._pending: dict[str, PendingCall] = {}
        self._held: dict[str, list[PendingCall]] = {}
        self._left: deque[PendingCall] = deque()
        self._ids = itertools.count(1)

    async def __call__(self, request: ApprovalRequest) -> Approval:
        """Put the question to whoever can answer it here."""
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

    # ------------------------------------------------------------------------------------------------------ by a card
    async def _by_card(self, request: ApprovalRequest) -> Approval:
        question = Question(self._show)
        call = self._open(request, question)
        try:
            approval = await scheduling.pose(question, timeout=self.ask_timeout)
        except NobodyAnswers:
            finish(lambda: self._take_away(call))
            raise
        except TimeoutError:
            approval = Approval.deny(f"Nobody answered within {self.ask_timeout:g} s.", by="policy")
        except BaseException:
            finish(lambda: self._settle(call, "Interrupted"))
            raise
        finally:
            self._pending.pop(question.id, None)
        finish(lambda: self._settle(call, _words(call.card, approval)))
        return _bound(approval, request)

    def _open(self, request: ApprovalRequest, question: Question) -> PendingCall:
        card = self._card(request, question)
        scheduling.route(card.widgets)
        call = PendingCall(str(next(self._ids)), request, question, card)
        self._pending[question.id] = call
        return call

    def _card(self, request: ApprovalRequest, question: Question) -> ApprovalCard | QuestionCard:
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
        )

    def _show(self, question: Question, parent: Mapping[str, Any]) -> None:
        call = self._pending.get(question.id)
        if call is not None:
            scheduling.publish(call.bundle(), parent=parent, display_id=_display_id(call, len(question.shown_under)))
            scheduling.route(call.card.complete())
            # The card of the same call before it was edited; it goes now that this one is there.
            for earlier in self._held.pop(call.request.id, []):
                self._take_away(earlier)

    def _set_mode(self, mode: PermissionMode) -> None:
        if self._toolkit is not None:
            self._toolkit.mode = mode

    def _settle(self, call: PendingCall, words: str) -> None:
        held = self._held.setdefault(call.request.id, [])
        if call not in held:
            held.append(call)
        call.card.settle(words)
        while len(self._held) > MAX_HELD:
            self.ended(next(iter(self._held)))

    def _take_away(self, call: PendingCall, record: Mapping[str, Any] | None = None) -> None:
        """Close a card and empty its display, so that a saved notebook holds nothing of it.

        Where it was shown again, the record takes its place: the asking cell's own output may be lost. So it is for a
        page that was loaded again: only the card's widgets still reach it, and then they hold the record.
        """
        try:
            if record is not None and _answered_elsewhere(call):
                call.card.leave(record["text/html"])
                self._left.append(call)
                while len(self._left) > MAX_LEFT:
                    self._left.popleft().card.close()
            else:
                call.card.close()
            for number, parent in enumerate(call.question.shown_under, 1):
                left = (record or {}) if number > 1 else {}
                scheduling.publish(left, parent=parent, display_id=_display_id(call, number), update=True)
            for line, parent in call.lines:
                scheduling.publish({}, parent=parent, display_id=line, update=True)
        except Exception:
            # A card that can't be taken away must not cost the call its result.
            logger.warning("an approval card could not be closed", exc_info=True)

    def ended(self, call_id: str, record: Mapping[str, Any] | None = None) -> None:
        """The call's record is drawn below the asking cell: take its cards away."""
        finish(lambda: self._let_go(call_id, record))

    def _let_go(self, call_id: str, record: Mapping[str, Any] | None) -> None:
        held = self._held.get(call_id, [])
        while held:
            self._take_away(held[0], record)
            del held[0]
        self._held.pop(call_id, None)

    def close(self) -> None:
        """Take all cards away; what still waits is denied."""
        for call in list(self._pending.values()):
            call.question.resolve(Approval.deny("nbtoolkit was unloaded before this was answered.", by="policy"))
        for call_id in list(self._held):
            self.ended(call_id)
        while self._left:
            self._left.popleft().card.close()

    def card(self, call_id: str) -> ApprovalCard | None:
        """The answered card of a call that runs now, for its live view; None where none is on screen."""
        held = self._held.get(call_id)
        if not held or isinstance(held[-1].request.tool, ServerQuestion):
            return None
        return cast("ApprovalCard", held[-1].card)

    # ------------------------------------------------------------------------------------------------ from elsewhere
    def pending(self) -> list[PendingCall]:
        """The calls that wait, oldest first."""
        return [call for call in self._pending.values() if not call.question.resolved]

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


def _words(card: ApprovalCard | QuestionCard, approval: Approval) -> str:
    """What a card says once it is answered, until the record takes its place."""
    from nbtoolkit.notebook.widgets.card import settled_words
    from nbtoolkit.notebook.widgets.question import QuestionCard

    return card.words(approval) if isinstance(card, QuestionCard) else settled_words(approval)


def _display_id(call: PendingCall, number: int) -> str:
    """The display of a card below the ``number``-th request that it was shown under."""
    return f"nbtoolkit-{call.question.id}-{number}"


def _answered_elsewhere(call: PendingCall) -> bool:
    """Whether the answer came from another page than the asking cell's, which gets no updates of that cell's output."""
    asked, answered = call.question.origin.session, call.card.heard_from
    return asked is not None and answered is not None and asked != answered


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
    # What is typed above a prompt stays in the notebook.
    hide = Redactor()
    line = card_title(request)
    lines = [line.plain, f"  {visible_text(settled(hide.text(request.decision.message)))}"]
    for key, value in hide.value(request.tool_input).items():
        shown = visible_text(bounded(to_json(value), INPUT_ARGUMENT_LIMIT))
        lines.append(f"  {visible_text(key)}: {shown}")
    always = ", a to allow always" if may_remember else ""
    lines.append(f"Allow once? [y/N{always}, or a reason to deny] ")
    return "\n".join(lines)
