"""A call that waits, and what its card stands in: displays below cells, which its record can take the place of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.notebook.saved import Saved, words
from nbtoolkit.notebook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.notebook.scheduling import Question
    from nbtoolkit.notebook.widgets.card import ApprovalCard
    from nbtoolkit.notebook.widgets.question import QuestionCard
    from nbtoolkit.notebook.widgets.tray import Tray
    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["VIEW", "PendingCall", "Shared", "Slot", "in_words", "same"]

VIEW = "application/vnd.jupyter.widget-view+json"
# A sentence or two of a server's.
MESSAGE_LIMIT = 400


class Slot(NamedTuple):
    """A display for a record: one that holds something else now, or (``fresh``) one to make."""

    display_id: str
    fresh: bool = False


@dataclass(slots=True, eq=False)
class Shared:
    """A tray with its displays: below which requests it was shown, under which ids."""

    tray: Tray
    id: str
    shown_under: list[Mapping[str, Any]] = field(default_factory=list)
    ended: list[PendingCall] = field(default_factory=list)
    left: list[PendingCall] = field(default_factory=list)
    #: What a saved notebook says of it.
    saved: list[Saved] = field(default_factory=list)
    #: A record took its first display.
    gone: bool = False

    def display_id(self, number: int) -> str:
        """The display of the tray below the ``number``-th request that it was shown under."""
        return f"nbtoolkit-tray-{self.id}-{number}"

    def slot(self, call: PendingCall) -> Slot:
        """The display for the record of a call that ends now.

        The last one's is the tray's own: a saved notebook holds no empty one. Which record stands where is put right then.
        """
        over = [each.card for each in (*self.ended, call)]
        if any(card not in over for card in self.tray.cards):
            for each in self.saved if not self.tray.waits else ():
                if each.end(leave=True):
                    return Slot(each.display_id)
            return Slot(f"{self.display_id(1)}-{call.id}", fresh=True)
        self.gone = True
        return Slot(self.display_id(1))


@dataclass(slots=True, eq=False)
class PendingCall:
    """A call that waits for an answer, under the short id that ``%toolkit approve`` takes."""

    id: str
    request: ApprovalRequest
    question: Question
    card: ApprovalCard | QuestionCard
    #: The tray that the card is an item of.
    shared: Shared | None = None
    #: Its first display, where that was another card's before: the same call's, before it was edited.
    first: str | None = None
    #: The cards before it, whose display it stands in.
    beneath: list[PendingCall] = field(default_factory=list)
    #: Displays that say its id, and below which requests; they go with the card.
    lines: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    #: What a saved notebook says of it.
    saved: list[Saved] = field(default_factory=list)
    #: The card of the call that a server asks in, where that took this one in.
    host: ApprovalCard | None = None

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
        """The card, or its tray, as a display."""
        shown = self.card if self.shared is None else self.shared.tray
        view = {"version_major": 2, "version_minor": 0, "model_id": shown.view.model_id}
        return {VIEW: view, "text/plain": shown.plain}

    def close_cards(self) -> None:
        """Close the card, and those whose display it stands in."""
        for each in (self, *self.beneath):
            each.card.close()

    @property
    def heard_from(self) -> str | None:
        """The client session of the page that showed it, or acted on it, last."""
        heard = self.card.heard_from
        return self.shared.tray.heard_from if heard is None and self.shared is not None else heard

    @property
    def answered_elsewhere(self) -> bool:
        """Whether another page than the asking cell's has it, which gets no updates of that cell's output."""
        asked, answered = self.question.origin.session, self.heard_from
        return asked is not None and answered is not None and asked != answered

    def stands(self, parent: Mapping[str, Any]) -> bool:
        """Whether a page surely shows its one display, below that request.

        One that was cleared or deleted, or that no page has told of, may be seen nowhere, and so would be what takes its
        place.
        """
        shown = self.question.shown_under if self.shared is None else self.shared.shown_under
        card = self.card if self.shared is None else self.shared.tray
        return (
            len(shown) == 1
            and same(shown[0], parent)
            and self.heard_from is not None
            and not card.was_removed
            and not self.answered_elsewhere
        )

    def display_id(self, number: int) -> str:
        """The display of the card below the ``number``-th request that it was shown under."""
        if number == 1 and self.first is not None:
            return self.first
        return f"nbtoolkit-{self.question.id}-{number}"


def in_words(card: ApprovalCard | QuestionCard) -> tuple[str, str]:
    """A card's call, and how it stands, for a notebook that is saved now."""
    state = "not answered yet" if card.waits else "answered, not at its end yet"
    request: ApprovalRequest | None = getattr(card, "request", None)
    if request is not None:
        return words(card.title, request.tool_input, state)
    asked: Any = card
    message = one_line(asked.question.message, MESSAGE_LIMIT)
    return words(card.title, {}, f"“{message}”, {state}")


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two requests are one."""
    ids = [(each.get("header") or {}).get("msg_id") for each in (one, other)]
    return ids[0] == ids[1]
