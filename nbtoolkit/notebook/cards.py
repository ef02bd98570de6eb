"""The cards on screen: from the question to the record that takes their place.

It promises: calls that ask at once share a tray, and one that asks later doesn't move it; a card outlives its output and
can be shown again; it goes when its call's record is drawn, so that nothing jumps, and leaves nothing in the file.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import scheduling, tables
from nbtoolkit.notebook.finish import finish
from nbtoolkit.notebook.order import displayed
from nbtoolkit.notebook.pending import PendingCall, Shared, Slot, in_words, same
from nbtoolkit.notebook.saved import Saved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.notebook.scheduling import Question
    from nbtoolkit.notebook.widgets.card import ApprovalCard
    from nbtoolkit.notebook.widgets.question import QuestionCard
    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["Cards"]

logger = logging.getLogger("nbtoolkit")

# Turns of the loop: calls that were started together have all asked by then.
TURNS = 3
# Cards that were answered outside a pipeline have no record to wait for; the oldest go.
MAX_HELD = 50
# Cards that hold a record for a page loaded again, a dozen widgets each.
MAX_LEFT = 20
ANSWERED = "answered, the call goes on"
RUNNING, DONE = " · running …", " · done, its record is below"


@dataclass(slots=True, eq=False)
class _Batch:
    """Calls of one cell and thread that ask in the same moment."""

    asking: list[tuple[ApprovalRequest, Question]] = field(default_factory=list)
    made: dict[str, PendingCall] = field(default_factory=dict)


Key = tuple[int, str | None]


class Cards:
    """Makes, shows and takes away; ``make`` gives the card of a question, with a number where it is a tray's item."""

    def __init__(self, make: Callable[[ApprovalRequest, Question, int | None], ApprovalCard | QuestionCard]) -> None:
        self._make = make
        self._pending: dict[str, PendingCall] = {}
        self._held: dict[str, list[PendingCall]] = {}
        self._left: deque[PendingCall] = deque()
        # Displays of questions that were answered, for the record of their call.
        self._vacant: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._ids = itertools.count(1)
        self._batches: dict[Key, _Batch] = {}
        self._trays: dict[Key, Shared] = {}

    # ------------------------------------------------------------------------------------------------------- opening
    async def open(self, request: ApprovalRequest, question: Question, *, alone: bool = False) -> PendingCall:
        """The card for a question, once it is known which others ask with it; ``alone`` keeps it out of any tray."""
        __tracebackhide__ = True  # IPython leaves it out
        again = self._again(request, question)
        if again is not None:
            return again
        if alone:
            return self._register(request, question, None, None)
        key = _key(question)
        batch = self._batches.setdefault(key, _Batch())
        batch.asking.append((request, question))
        try:
            for _ in range(TURNS):
                await asyncio.sleep(0)
        except BaseException:
            batch.asking = [each for each in batch.asking if each[1] is not question]
            self.answered(question)
            call = batch.made.get(question.id)
            if call is not None:
                finish(lambda: self.settle(call, "Interrupted"))
            raise
        if question.id not in batch.made:
            self._batches.pop(key, None)
            self._open_all(key, batch)
        return batch.made[question.id]

    def _open_all(self, key: Key, batch: _Batch) -> None:
        from nbtoolkit.notebook.widgets.tray import Tray

        shared = self._trays.get(key)
        asking = batch.asking
        if shared is not None and shared.tray.waits:
            for request, question in asking:
                call = self._register(request, question, shared, shared.tray.next_number)
                batch.made[question.id] = call
                shared.tray.add(_item(call))
        elif len(asking) == 1:
            batch.made[asking[0][1].id] = self._register(*asking[0], None, None)
        else:
            calls = [self._register(*each, None, number) for number, each in enumerate(asking, 1)]
            shared = self._trays[key] = Shared(Tray([_item(call) for call in calls]), asking[0][1].id)
            scheduling.route(shared.tray.widgets)
            for call in calls:
                call.shared = shared
                batch.made[call.question.id] = call

    def _again(self, request: ApprovalRequest, question: Question) -> PendingCall | None:
        """A call that was changed in a tray asks again where it stood."""
        held = self._held.get(request.id)
        earlier = held[-1] if held else None
        if earlier is None or earlier.shared is None or earlier.card not in earlier.shared.tray.cards:
            return None
        item = _item(earlier)
        call = self._register(request, question, earlier.shared, item.number)
        earlier.shared.tray.replace(item, _item(call))
        self._held.pop(request.id)
        item.close()
        return call

    def _register(
        self, request: ApprovalRequest, question: Question, shared: Shared | None, number: int | None
    ) -> PendingCall:
        card = self._make(request, question, number)
        scheduling.route(card.widgets)
        call = PendingCall(str(next(self._ids)), request, question, card, shared)
        self._pending[question.id] = call
        return call

    def show(self, question: Question, parent: Mapping[str, Any]) -> None:
        """Show the question's card below a request."""
        call = self._pending.get(question.id)
        if call is None:
            return
        if call.shared is not None:
            self._show_shared(call, call.shared, parent)
            return
        number = len(question.shown_under)
        held = self._held.pop(call.request.id, [])
        taken = next((each for each in held if number == 1 and each.shared is None and each.stands(parent)), None)
        if taken is not None and _is_approval(taken.card):
            # In the display of the card that was edited: the page hides a display whose own widget is closed, so that
            # one stays, and holds the new card.
            held.remove(taken)
            call.first, call.beneath = taken.display_id(1), [taken, *taken.beneath]
            call.lines += taken.lines
            call.saved, taken.saved = taken.saved, []
            for each in call.saved:
                each.say(lambda: [in_words(call.card)])
            _item(taken).hold(call.card.view)
        elif not self._taken_in(call, number, parent):
            scheduling.publish(call.bundle(), parent=parent, display_id=call.display_id(number))
            displayed(call.display_id(number))
            call.saved.append(Saved(call.display_id(number), parent, lambda: [in_words(call.card)]))
        # The card of the same call before it was edited; it goes now that this one is there.
        for earlier in held:
            self.take_away(earlier)

    def _taken_in(self, call: PendingCall, number: int, parent: Mapping[str, Any]) -> bool:
        """Whether the card of the call that a server asks in shows the question: it needs no display of its own then."""
        call_id = getattr(call.request.tool, "call_id", None)
        held = self._held.get(call_id or "")
        if number > 1 or not held or not _is_approval(held[-1].card) or not held[-1].stands(parent):
            return False
        host = _item(held[-1])
        if not host.take_in(call.card.view):
            return False
        call.host = host
        return True

    def _leave_to_call(self, call: PendingCall) -> bool:
        """Whether a question's display is left for the record of the call that it came up in."""
        call_id = getattr(call.request.tool, "call_id", None)
        if call_id is None or call_id in self._vacant or not call.stands(call.question.origin.parent):
            return False
        self._vacant[call_id] = (call.display_id(1), call.question.origin.parent)
        said = tables.message(f"{call.title}: {ANSWERED}")
        scheduling.publish(said, parent=call.question.origin.parent, display_id=call.display_id(1), update=True)
        while len(self._vacant) > MAX_HELD:
            self._empty(next(iter(self._vacant)))
        return True

    def _empty(self, call_id: str) -> None:
        display_id, parent = self._vacant.pop(call_id)
        scheduling.publish({}, parent=parent, display_id=display_id, update=True)

    @staticmethod
    def _show_shared(call: PendingCall, shared: Shared, parent: Mapping[str, Any]) -> None:
        if any(same(parent, each) for each in shared.shown_under):
            return
        shared.shown_under.append(parent)
        number = len(shared.shown_under)
        scheduling.publish(call.bundle(), parent=parent, display_id=shared.display_id(number))
        displayed(shared.display_id(number))
        shared.saved.append(Saved(shared.display_id(number), parent, partial(_in_words, shared)))

    # -------------------------------------------------------------------------------------------------------- waiting
    def waiting(self) -> list[PendingCall]:
        """The calls that wait, oldest first."""
        return [call for call in self._pending.values() if not call.question.resolved]

    def answered(self, question: Question) -> None:
        """The question waits no more."""
        self._pending.pop(question.id, None)

    def card(self, call_id: str) -> ApprovalCard | None:
        """The answered card of a call that runs now."""
        held = self._held.get(call_id)
        return _item(held[-1]) if held and _is_approval(held[-1].card) else None

    # --------------------------------------------------------------------------------------------------------- ending
    def settle(self, call: PendingCall, words: str) -> None:
        """Say on the card how it was answered, and keep it until its call has ended."""
        held = self._held.setdefault(call.request.id, [])
        if call not in held:
            held.append(call)
        call.card.settle(words)
        for each in call.saved if call.shared is None else call.shared.saved:
            each.refresh()
        if call.shared is not None:
            self._clear(call.shared)
        while len(self._held) > MAX_HELD:
            self.ended(next(iter(self._held)))

    def withdraw(self, call: PendingCall) -> None:
        """Take away a card that nobody can see."""
        call.card.settle("")
        self.take_away(call)

    def slot(self, call_id: str, parent: Mapping[str, Any]) -> Slot | None:
        """The display for a call's record below its own cell, where its card or tray stands there; None without one."""
        held = self._held.get(call_id)
        call = held[-1] if held else None
        if call is None or not call.stands(parent):
            display_id, below = self._vacant.get(call_id, ("", {}))
            return Slot(display_id) if display_id and same(below, parent) else None
        shared = call.shared
        return Slot(call.display_id(1)) if shared is None else finish(lambda: shared.slot(call))

    def ended(self, call_id: str, record: Mapping[str, Any] | None = None, *, slot: Slot | None = None) -> None:
        """The call's record is drawn below the asking cell, in ``slot`` or by itself: take its cards away."""
        finish(lambda: self._let_go(call_id, record, slot))

    def _let_go(self, call_id: str, record: Mapping[str, Any] | None, slot: Slot | None) -> None:
        held = self._held.get(call_id, [])
        vacant = self._vacant.get(call_id)
        if vacant is not None and slot is not None and slot.display_id == vacant[0]:
            del self._vacant[call_id]
        elif vacant is not None:
            self._empty(call_id)
        while held:
            self.take_away(held[0], record, given_up=slot is not None and slot.display_id == held[0].display_id(1))
            del held[0]
        self._held.pop(call_id, None)

    def take_away(self, call: PendingCall, record: Mapping[str, Any] | None = None, *, given_up: bool = False) -> None:
        """Close a card and empty its display, so that a saved notebook holds nothing of it.

        With ``given_up`` its first display holds something else already. Where it was shown again, the record takes its
        place: the asking cell's own output may be lost. So it is for a page that was loaded again: only the card's widgets
        still reach it, and then they hold the record.
        """
        try:
            if call.shared is not None:
                self._end_item(call, call.shared, record)
            else:
                given_up = given_up or call.host is not None or self._leave_to_call(call)
                if call.host is not None:
                    call.host.let_out(call.card.view)
                if record is not None and call.answered_elsewhere:
                    self._leave(call, record)
                else:
                    call.close_cards()
                for number, parent in enumerate(call.question.shown_under, 1):
                    if number == 1 and given_up:
                        continue
                    left = (record or {}) if number > 1 else {}
                    scheduling.publish(left, parent=parent, display_id=call.display_id(number), update=True)
            for each in call.saved:
                each.end()
            for line, parent in call.lines:
                scheduling.publish({}, parent=parent, display_id=line, update=True)
        except Exception:
            # A card that can't be taken away must not cost the call its result.
            logger.warning("an approval card could not be closed", exc_info=True)

    def _leave(self, call: PendingCall, record: Mapping[str, Any]) -> None:
        call.card.leave(record["text/html"])
        self._left.append(call)
        while len(self._left) > MAX_LEFT:
            self._left.popleft().close_cards()

    def _end_item(self, call: PendingCall, shared: Shared, record: Mapping[str, Any] | None) -> None:
        if call in shared.ended:
            return
        shared.ended.append(call)
        if record is not None and call.answered_elsewhere:
            self._leave(call, record)
            shared.left.append(call)
        for number, parent in enumerate(shared.shown_under, 1):
            if record is not None and number > 1:
                display_id = f"{shared.display_id(number)}-{call.id}"
                scheduling.publish(record, parent=parent, display_id=display_id)
        for each in shared.saved:
            each.refresh()
        if shared.tray.waits and call not in shared.left:
            card = _item(call)
            # It keeps its room until the others are answered.
            card.say(card.said.replace(RUNNING, DONE))
        self._clear(shared)

    def _clear(self, shared: Shared) -> None:
        """Once nobody is about to click in a tray, take out what has ended, and the tray when that is all."""
        if shared.tray.waits:
            return
        for call in shared.ended:
            if call not in shared.left and call.card in shared.tray.cards:
                shared.tray.drop(_item(call))
                call.card.close()
        left = [_item(call) for call in shared.left]
        if any(card not in left for card in shared.tray.cards):
            return
        for saved in shared.saved:
            saved.end()
        self._trays = {key: each for key, each in self._trays.items() if each is not shared}
        if left:
            shared.tray.leave(left)
        else:
            shared.tray.close()
        for number, parent in enumerate(shared.shown_under, 1):
            if number == 1 and shared.gone:
                continue
            scheduling.publish({}, parent=parent, display_id=shared.display_id(number), update=True)

    def close(self) -> None:
        """Take all cards away."""
        for call_id in list(self._held):
            self.ended(call_id)
        while self._left:
            self._left.popleft().close_cards()
        for call_id in list(self._vacant):
            self._empty(call_id)


def _key(question: Question) -> Key:
    return threading.get_ident(), (question.origin.parent.get("header") or {}).get("msg_id")


def _in_words(shared: Shared) -> list[tuple[str, str]]:
    ended = [call.card for call in shared.ended]
    return [in_words(card) for card in shared.tray.cards if card not in ended]


def _is_approval(card: object) -> bool:
    from nbtoolkit.notebook.widgets.card import ApprovalCard

    return isinstance(card, ApprovalCard)


def _item(call: PendingCall) -> ApprovalCard:
    """A call's card where it is known to be an approval card, as a tray's items are."""
    card: Any = call.card
    return card  # type: ignore[no-any-return]
