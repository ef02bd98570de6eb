"""The approval card: one question, everything it is about, and the answers.

It promises: what is shown is what runs; nothing moves under the pointer; an answer counts once, whoever gives it; and a
handler only resolves, so that no output is lost in a callback. Order, words and states are the same for each card: what
will happen, who asks, why it asks, all of it, then the buttons. With a number it is an item of a tray: the same in less
room.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.text import one_line, visible, visible_text
from nbtoolkit.notebook.why import card_title
from nbtoolkit.notebook.widgets.bodies import body
from nbtoolkit.notebook.widgets.drawers import AlwaysDrawer, AnswerDrawer, EditDrawer
from nbtoolkit.notebook.widgets.face import claims, clipped, head, item_head, why
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionMode, PermissionRule
from nbtoolkit.unseen import unseen

if TYPE_CHECKING:
    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["ApprovalCard", "settled_words"]

MODES = (
    ("default", PermissionMode.DEFAULT),
    ("accept edits", PermissionMode.ACCEPT_EDITS),
    ("explore", PermissionMode.EXPLORE),
    ("bypass", PermissionMode.BYPASS),
    ("don't ask", PermissionMode.DONT_ASK),
)
# A button's name says which call it is for; a screen reader reads all of it.
ABOUT_LIMIT = 60
# Seconds: the page sends Enter and the text one behind the other.
ENTER_TIME = 0.3

_FOR = {
    "cell": "for the rest of this cell",
    "kernel": "for this kernel",
    "project": "for this project",
    "user": "everywhere",
}

Answer = Callable[[Approval], bool]
Validate = Callable[[dict[str, Any]], object]
Count = Callable[[Sequence[PermissionRule]], tuple[int, int]]


def settled_words(approval: Approval) -> str:
    """What a card says once it is answered, until the record takes its place."""
    match approval.kind:
        case "allow" if approval.scope == "call":
            return "Allowed once · running …"
        case "allow":
            return f"Allowed, and always {_FOR[approval.scope]} · running …"
        case "deny":
            return f"Denied: “{one_line(approval.reason, 200)}”" if approval.reason else "Denied"
        case "edit":
            return "Edited · asking again …"
        case _:
            return "Answered by you"


class ApprovalCard:
    """One question as widgets.

    ``answer`` is called with the answer and says whether it was the first; ``validate`` raises ToolArgumentsError for
    edited arguments that don't fit; ``counter`` says how many of how many earlier calls some rules would have allowed;
    ``set_mode`` changes the permission mode, after which the call is judged again. ``route`` is called with widgets that a
    click has made. ``number`` is the item's in a tray.
    """

    def __init__(
        self,
        request: ApprovalRequest,
        answer: Answer,
        *,
        validate: Validate | None = None,
        counter: Count | None = None,
        mode: PermissionMode | None = None,
        set_mode: Callable[[PermissionMode], object] | None = None,
        route: Callable[[list[Any]], object] | None = None,
        number: int | None = None,
    ) -> None:
        self.request = request
        self.number = number
        self._answer = answer
        self._validate = validate
        self._counter = counter
        self._now = self._offered = mode or PermissionMode.DEFAULT
        self._pick: Any = None
        self._use: Any = None
        self._set_mode = set_mode
        self._route = route
        self._kit = kit = Kit()
        self._reason: Any = None
        self._entered = 0.0
        self._settled = self._said = self._gone = False
        self._guests: tuple[Any, ...] = ()
        #: The line that stands in the buttons' place.
        self.said = ""
        #: The tray is told when the card was answered here.
        self.on_settled: Callable[[], object] = lambda: None
        self.title = line = card_title(request)
        about = visible_text(one_line(line.plain, ABOUT_LIMIT))
        self.about = about if number is None else f"{number}: {about}"
        shown = body(request)
        #: Whether a rule may be remembered: not for safety, and not where a part of the call or a rule can't be seen.
        self.may_remember = (
            bool(request.suggested_rules)
            and not self.safety
            and not shown.cut
            and not any(unseen().search(str(rule)) for rule in request.suggested_rules)
        )
        self._drawers: dict[str, Any] = {}
        self._opened: str | None = None
        self._reminded: set[str] = set()
        self._status = kit.html("", "nbtk-status")
        self._foot = kit.box("nbtk-row nbtk-acts", self._buttons(), row=True)
        #: The root widget.
        self.view: Any
        if number is None:
            top = [kit.html(head(request, line)), *([self._mode()] if set_mode is not None else [])]
            self._top = kit.box("nbtk-head", top, row=True)
            main = kit.html(SHEET + why(request, shown) + shown.markup + claims(request), "nbtk-body")
            self.view = kit.root("nbtk nbtk-card nbtk-asked nbtk-pending", [self._top, main, self._foot])
        else:
            self._top = kit.html(item_head(request, line, shown, number), "nbtk-item-head")
            main = kit.html(clipped(shown), "nbtk-item-body")
            self.view = kit.box("nbtk-item nbtk-asked nbtk-pending", [self._top, main, self._foot])

    @property
    def safety(self) -> bool:
        """Whether the question is about safety, which nothing answers together with others."""
        return self.request.decision.bypass_immune

    @property
    def waits(self) -> bool:
        """Whether nobody has answered yet."""
        return not self._settled

    @property
    def widgets(self) -> list[Any]:
        """All widgets of the card, for scheduling.route."""
        return list(self._kit.widgets)

    @property
    def plain(self) -> str:
        """The card's text/plain, where widgets can't be seen."""
        tool = visible_text(self.title.tool)
        does = self.title.plain.removeprefix(tool)
        return f"[{tool}]{does} (asked here: %toolkit pending shows it again, %toolkit log what became of it)"

    def words(self, approval: Approval) -> str:
        """What the card says once it is answered."""
        return settled_words(approval)

    def settle(self, text: str) -> None:
        """Say how it was answered, in the buttons' place; the card keeps its height."""
        if self._said:
            return
        self._settled = True
        self._open(None)
        self.say(text)
        self.view.remove_class("nbtk-pending")
        # At the end, so that a call which a stop has cut short can be made again.
        self._said = True
        self.on_settled()

    def say(self, text: str) -> None:
        """Change the line that stands in the buttons' place."""
        self.said = text
        self._status.value = f'<div role="status">{visible(text)}</div>'

    def show_running(self, widget: Any) -> bool:
        """Put the running call's view in the place of body, buttons and drawers; the title stays. Says whether it did.

        The caller makes the widget, routes it and closes it; ``settle`` before it, since a card that waits keeps its
        buttons. A card that was closed or left to the record takes none. In a tray the view has the buttons' room, and
        more only once nobody is about to answer its neighbours.
        """
        if not self._said or self._gone:
            return False
        if self.number is None:
            self.view.children = (self._top, widget, *self._guests)
        else:
            self._foot.children = (*self._foot.children, widget)
        return True

    def take_in(self, guest: Any) -> bool:
        """Show another widget below what is there: a question that came up while the call runs. Says whether it did.

        A card that waits, was closed or left to the record takes none, and in a tray there is no room for one.
        """
        if not self._said or self._gone or self.number is not None:
            return False
        self._guests = (*self._guests, guest)
        self.view.children = (*self.view.children, guest)
        return True

    def let_out(self, guest: Any) -> None:
        """Show it no more."""
        self._guests = tuple(each for each in self._guests if each is not guest)
        if not self._gone:
            self.view.children = tuple(each for each in self.view.children if each is not guest)

    @property
    def heard_from(self) -> str | None:
        """The client session of the page that showed it, or acted on it, last."""
        return self._kit.heard_from

    @property
    def was_removed(self) -> bool:
        """Whether the page shows it no more."""
        return self._kit.was_removed

    def leave(self, markup: str) -> None:
        """Hold nothing but this markup from now on, where the card stands."""
        self.hold(self._kit.html(markup))

    def hold(self, widget: Any) -> None:
        """Be no card any more, but the place of this widget."""
        self._settled = self._said = self._gone = True
        self.view.children = (widget,)
        for name in ("nbtk-card", "nbtk-item", "nbtk-pending", "nbtk-asked"):
            self.view.remove_class(name)
        self._kit.close_all_but(self.view, *(each for each in self._kit.widgets if each is widget))

    def close(self) -> None:
        """Take the card away; a closed view takes no room."""
        self._settled = self._said = self._gone = True
        self._kit.close()

    # ------------------------------------------------------------------------------------------------------- answers
    def resolve(self, approval: Approval, words: str | None = None) -> None:
        """Give the answer; only the first one counts, and only that one is shown."""
        if not self._settled and self._answer(approval):
            self.settle(words or settled_words(approval))

    def _deny(self) -> None:
        reason = self._reason.value.strip() if self._reason is not None else ""
        self.resolve(Approval.deny(reason or None))

    def _reason_message(self, message: object) -> None:
        """Enter; what was typed comes right after, unless it was sent when the field was left."""
        if isinstance(message, dict) and message.get("event") == "submit":
            self._entered = time.monotonic()
            timer = threading.Timer(ENTER_TIME, self._reason_given)
            timer.daemon = True
            timer.start()

    def _reason_given(self) -> None:
        entered, self._entered = self._entered, 0.0
        if self._reason.value.strip() and time.monotonic() - entered < 2 * ENTER_TIME:
            self._deny()

    def _mode_chosen(self, mode: PermissionMode) -> None:
        """Offer the mode: one that is passed by on the way through the list must not decide, bypass least of all."""
        if self._settled:
            return
        self._offered = mode
        label = next(label for label, each in MODES if each is mode)
        if self._use is None:
            self._use = self._kit.button("", self.about, "10.4em", self._use_mode)
            where = self._top if self.number is None else self._foot
            others = tuple(each for each in where.children if each is not self._pick)
            status = others[-1:] if self.number is not None else ()
            kept = others[: len(others) - len(status)]
            self._made(lambda: setattr(where, "children", (*kept, self._use, self._pick, *status)))
        self._use.description = f"Use {label}\n{self.about}"
        if mode is self._now:
            self._use.add_class("nbtk-hidden")
        else:
            self._use.remove_class("nbtk-hidden")

    def _use_mode(self) -> None:
        mode = self._offered
        if self._settled or self._set_mode is None or mode is self._now:
            return
        self._set_mode(mode)
        # The same arguments, handed in again, are judged again.
        label = next(label for label, each in MODES if each is mode)
        self.resolve(Approval.edit(self.request.tool_input), f"Changed mode to {label} · judging again …")

    # ------------------------------------------------------------------------------------------------------- widgets
    def _mode(self) -> Any:
        pick = self._kit.field(
            w.Dropdown,
            "Mode",
            label_width="3.1em",
            classes="nbtk-mode",
            layout=self._kit.layout(),
            options=MODES,
            value=self._now,
            tooltip="Permission mode of this notebook; a change judges this call again",
        )
        pick.observe(lambda change: self._mode_chosen(change["new"]), "value")
        self._pick = pick
        return pick

    def _buttons(self) -> list[Any]:
        kit, about = self._kit, self.about
        allow = "" if self.safety else "nbtk-primary"
        self._once = kit.button("Allow once", about, "7.2em", self._allow, allow)
        self._no = kit.button("Deny", about, "4.6em", self._deny)
        if self.number is None:
            return self._all_buttons()
        said = "Always allow, deny with a reason, edit, answer instead"
        more = kit.button("More …", about, "5em", self._more, "nbtk-quiet", said)
        return [self._once, self._no, more, self._status]

    def _all_buttons(self) -> list[Any]:
        kit, about = self._kit, self.about
        always = (
            [kit.button("Always allow …", about, "8.8em", lambda: self._toggle("always"))] if self.may_remember else []
        )
        self._reason = kit.field(
            w.Text,
            f"Reason for denying {about}; Enter denies",
            unseen=True,
            layout=kit.layout(),
            placeholder="Reason, for the model (optional)",
            # Typed text that is sent as it is typed may come after the click, and then only a part of it counts.
            continuous_update=False,
        )
        # A changed value isn't Enter: leaving the field changes it too.
        self._reason.on_msg(lambda _, message, __: self._reason_message(message))
        self._reason.observe(lambda _: self._reason_given(), "value")
        deny = kit.box("nbtk-deny-pair", [self._no, self._reason], row=True)
        # In a tray they come by a click, and where that was no button may be: the field is.
        buttons = [self._once, *always, deny] if self.number is None else [self._once, deny, *always]
        buttons.append(kit.button("Edit", about, "3.8em", lambda: self._toggle("edit"), "nbtk-quiet"))
        buttons.append(kit.button("Answer instead", about, "8.8em", lambda: self._toggle("answer"), "nbtk-quiet"))
        return [*buttons, self._status]

    def _allow(self) -> None:
        """Allow what is shown; what somebody has written beside it isn't dropped without a word."""
        for name in ("edit", "answer"):
            drawer = self._drawers.get(name)
            if drawer is not None and drawer.unsent and name not in self._reminded:
                self._reminded.add(name)
                drawer.remind()
                self._open(name)
                return
        self.resolve(Approval.allow())

    def _more(self) -> None:
        """Turn the item's few buttons into the full card's."""
        if self._settled or self._reason is not None:
            return
        buttons = self._all_buttons()
        if self._set_mode is not None:
            buttons.insert(-1, self._mode())
        self._made(lambda: setattr(self._foot, "children", tuple(buttons)))
        reason: Any = self._reason
        reason.focus()

    def _toggle(self, name: str) -> None:
        if self._settled:
            return
        if name not in self._drawers:
            self._drawers[name] = drawer = self._make(name)
            # Views that are there already stay as they are, and their focus with them.
            self._made(lambda: setattr(self.view, "children", (*self.view.children, drawer.view)))
            drawer.view.add_class("nbtk-shut")
        self._open(None if self._opened == name else name)

    def _make(self, name: str) -> Any:
        kit, about, request = self._kit, self.about, self.request
        if name == "always":
            return AlwaysDrawer(kit, about, request, self.resolve, self._counter, self._route)
        if name == "edit":
            return EditDrawer(kit, about, request, self.resolve, self._validate, self._route)
        return AnswerDrawer(kit, about, self.resolve)

    def _made(self, show: Callable[[], object]) -> None:
        if self._route is not None:
            self._route(self.widgets)
        show()

    def _open(self, name: str | None) -> None:
        before, self._opened = self._opened, name
        if before is not None:
            self._drawers[before].view.add_class("nbtk-shut")
        if name is not None:
            # Without the focus, which would scroll the buttons away from under the pointer.
            self._drawers[name].view.remove_class("nbtk-shut")
