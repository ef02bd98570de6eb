"""The tray: several calls that asked at once, to be answered one by one or together.

It promises: the order is kept and a newcomer goes last, so that nothing moves under the pointer; "these" are the calls
that the person saw when the buttons were painted, never a later one and never one that asks for safety's sake; an
answered item keeps its room while others wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import count, one_line, visible_text
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.permission.approval import Approval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtoolkit.notebook.widgets.card import ApprovalCard

__all__ = ["Tray"]

# As many names as a button's accessible name should hold.
NAMED = 6
# As many are called by their numbers where others stand among them; more are counted.
CALLED = 4
LATE = "99 more came, below: not part of “10, 11, 12 and 13”."


class Tray:
    """Some cards, numbered from 1, below a bar with the answers for several of them."""

    def __init__(self, cards: Sequence[ApprovalCard]) -> None:
        self._kit = kit = Kit()
        self.cards = list(cards)
        self._these = [card for card in cards if not card.safety]
        self._late: list[ApprovalCard] = []
        self._closed = False
        #: The root widget.
        self.view: Any = None
        self._first = self._line()
        # By itself: what is sent anew with each answer is the words alone, and nothing loses its looks meanwhile.
        style = kit.html(SHEET, "nbtk-style")
        self._head = kit.html(self._said())
        label = self._label()
        # Room for the longest that it will say, so that its neighbours never move.
        width = f"{min(15, max(9, (len(label) + 7) * 0.56)):.0f}em"
        self._take = kit.button(
            "Take it in", "the calls that came later", "6.4em", self._take_in, "nbtk-quiet nbtk-hidden"
        )
        self._allow = kit.button(f"Allow {label}", self._names(), width, lambda: self._answer(Approval.allow()))
        self._deny = kit.button(f"Deny {label}", self._names(), width, lambda: self._answer(Approval.deny()))
        self._all = kit.box("nbtk-all", [self._take, self._allow, self._deny], row=True)
        bar = kit.box("nbtk-tray-bar", [style, self._head, self._all], row=True)
        self.view = kit.root("nbtk nbtk-card nbtk-tray nbtk-pending", [bar, *(card.view for card in cards)])
        self._bar = bar
        for card in cards:
            card.on_settled = self.refresh
        if len(self._these) < 2:
            self._all.add_class("nbtk-hidden")

    @property
    def widgets(self) -> list[Any]:
        """All its own widgets, for scheduling.route."""
        return list(self._kit.widgets)

    @property
    def heard_from(self) -> str | None:
        """The client session of the page that showed it, or acted on the bar, last."""
        return self._kit.heard_from

    @property
    def was_removed(self) -> bool:
        """Whether the page shows it no more."""
        return self._kit.was_removed

    @property
    def waits(self) -> bool:
        """Whether a call in it waits for an answer."""
        return any(card.waits for card in self.cards)

    @property
    def next_number(self) -> int:
        """The number of the next card."""
        return max((card.number or 0 for card in self.cards), default=0) + 1

    @property
    def plain(self) -> str:
        """Its text/plain, where widgets can't be seen."""
        return "\n".join(card.plain for card in self.cards)

    def add(self, card: ApprovalCard) -> None:
        """Put a newcomer last; it isn't part of "these"."""
        self.cards.append(card)
        card.on_settled = self.refresh
        if not card.safety:
            self._late.append(card)
        self._draw()
        self.refresh()

    def replace(self, old: ApprovalCard, new: ApprovalCard) -> None:
        """Put the card of a call that asks again where its first one stood."""
        self.cards[self.cards.index(old)] = new
        new.on_settled = self.refresh
        self._these = [card for card in self._these if card is not old]
        self._late = [card for card in self._late if card is not old]
        self._draw()
        self.refresh()

    def drop(self, card: ApprovalCard) -> None:
        """Take out the card of a call that has ended."""
        if card in self.cards:
            self.cards.remove(card)
            self._these = [each for each in self._these if each is not card]
            self._draw()

    def refresh(self) -> None:
        """Say how many wait, and for how many the buttons still stand."""
        if self._closed:
            return
        self._these = [card for card in self._these if card.waits]
        self._late = [card for card in self._late if card.waits]
        self._head.value = self._said()
        _show(self._take, on=bool(self._late))
        if len(self._these) > 1:
            for button, verb in ((self._allow, "Allow"), (self._deny, "Deny")):
                button.description = f"{verb} {self._label()}\n{self._names()}"
        both = len(self._these) > 1
        _show(self._allow, on=both)
        _show(self._deny, on=both)
        _show(self._all, on=both or bool(self._late))
        if not self.waits:
            self.view.remove_class("nbtk-pending")

    def close(self) -> None:
        """Take the bar away, and the tray with it."""
        self._closed = True
        self._kit.close()

    def leave(self, kept: Iterable[ApprovalCard]) -> None:
        """Hold nothing but the cards that hold a record by now."""
        self._closed = True
        self.view.children = tuple(card.view for card in kept)
        for name in ("nbtk-card", "nbtk-tray", "nbtk-pending"):
            self.view.remove_class(name)
        self._kit.close_all_but(self.view)

    # ------------------------------------------------------------------------------------------------------- answers
    def _answer(self, approval: Approval) -> None:
        for card in [card for card in self._these if card.waits]:
            card.resolve(approval)

    def _take_in(self) -> None:
        late, self._late = self._late, []
        self._these += late
        self.refresh()

    # --------------------------------------------------------------------------------------------------------- words
    def _draw(self) -> None:
        self.view.children = (self._bar, *(card.view for card in self.cards))

    def _label(self) -> str:
        """How many "these" are, and which are not among them where that could be mistaken."""
        left_out = [card for card in self.cards if card.safety and card.waits]
        if not left_out:
            return f"these {len(self._these)}"
        called = self._called()
        return called if len(self._these) <= CALLED else f"{called} (not no. {_listed(left_out)})"

    def _called(self) -> str:
        """What "these" are called: by their numbers where there are few and others stand among them."""
        among = any(card.safety and card.waits for card in self.cards)
        return _listed(self._these) if among and len(self._these) <= CALLED else f"these {len(self._these)}"

    def _names(self) -> str:
        names = [f"{card.number}: {visible_text(one_line(card.title.tool, 30))}" for card in self._these[:NAMED]]
        more = len(self._these) - NAMED
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def _said(self) -> str:
        waiting = sum(card.waits for card in self.cards)
        title = f"{count(waiting, 'call')} {'waits' if waiting == 1 else 'wait'} for you" if waiting else "All answered"
        heading = f'<div role="heading" aria-level="4" class="nbtk-title">{title}</div>'
        if self.view is None:
            heading = f'<div role="alert">{heading}</div>'
        # Each line it may say takes its room from the start, so that none of them moves what is below.
        room = "".join(f'<span aria-hidden="true">{line}</span>' for line in (self._first, LATE))
        # What has just come is said when it comes.
        role = "alert" if self._late else "status"
        said = f'<span role="{role}">{self._line() if waiting else ""}</span>'
        return f'{heading}<div class="nbtk-meta nbtk-lines">{room}{said}</div>'

    def _line(self) -> str:
        these = len(self._these)
        if self._late:
            came = "One more" if len(self._late) == 1 else f"{len(self._late)} more"
            part = f": not part of “{self._label()}”" if these > 1 else ""
            return f"{came} came, below{part}."
        alone = [f"{card.number}" for card in self.cards if card.safety and card.waits]
        note = f"; {' and '.join(alone)} alone, for safety" if 0 < len(alone) < 4 else ""
        return f"One by one below, or {self._called()} together{note}." if these > 1 else "One by one, below."


def _listed(cards: Sequence[ApprovalCard]) -> str:
    """Their numbers: ``1, 2 and 4``."""
    *before, last = [f"{card.number}" for card in cards] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def _show(widget: Any, *, on: bool) -> None:
    """Let a widget be seen or not, without giving its room away."""
    if on:
        widget.remove_class("nbtk-hidden")
    else:
        widget.add_class("nbtk-hidden")
