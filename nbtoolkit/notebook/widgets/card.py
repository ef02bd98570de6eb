"""The approval card: one question, everything it is about, and the answers.

It promises: what is shown is what runs; nothing moves under the pointer; an answer counts once, whoever gives it; and a
handler only resolves, so that no output is lost in a callback. Order, words and states are the same for each card: what
will happen, who asks, why it asks, all of it, then the buttons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.notebook.text import count, one_line, sendable, visible, visible_text
from nbtoolkit.notebook.why import card_title, meta, reasons
from nbtoolkit.notebook.widgets.bodies import Body, body
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode, PermissionRule

if TYPE_CHECKING:
    from nbtoolkit.notebook.title import Title
    from nbtoolkit.permission.approval import ApprovalRequest, Scope

__all__ = ["ApprovalCard", "settled_words"]

MODES = (
    ("default", PermissionMode.DEFAULT),
    ("accept edits", PermissionMode.ACCEPT_EDITS),
    ("explore", PermissionMode.EXPLORE),
    ("bypass", PermissionMode.BYPASS),
    ("don't ask", PermissionMode.DONT_ASK),
)
SCOPES: tuple[tuple[str, Scope], ...] = (
    ("the rest of this cell", "cell"),
    ("this kernel", "kernel"),
    ("this project", "project"),
    ("me, everywhere", "user"),
)
# A button's name says which call it is for; a screen reader reads all of it.
ABOUT_LIMIT = 60

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
    click has made.
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
    ) -> None:
        self.request = request
        self._route = route
        self._answer = answer
        self._validate = validate
        self._counter = counter
        self._set_mode = set_mode
        self._kit = kit = Kit()
        self._settled = self._said = self._gone = False
        line = card_title(request)
        shown = body(request)
        self.title = line
        self.about = visible_text(one_line(line.plain, ABOUT_LIMIT))
        #: Whether a rule may be remembered: not for safety, and not where a part of the call or a rule can't be shown.
        self.may_remember = (
            bool(request.suggested_rules)
            and not request.decision.bypass_immune
            and not shown.cut
            and all(sendable(str(rule)) for rule in request.suggested_rules)
        )
        self._drawers: dict[str, Any] = {}
        self._make_drawers: dict[str, Callable[[], Any]] = {
            "edit": self._edit_drawer,
            "answer": self._answer_drawer,
        }
        if self.may_remember:
            self._make_drawers = {"always": self._always_drawer, **self._make_drawers}
        head = [kit.html(_head(request, line))]
        if set_mode is not None:
            head.append(self._mode(mode or PermissionMode.DEFAULT))
        self._top = top = kit.box("nbtk-head", head, row=True)
        main = kit.html(SHEET + _why(request, shown) + shown.markup + _claims(request), "nbtk-body")
        self._actions = self._buttons()
        self._status = kit.html("", layout=kit.own_layout(visibility="hidden"))
        foot = kit.box("nbtk-foot", [self._actions, self._status])
        #: The root widget.
        self.view = kit.box("nbtk nbtk-card nbtk-pending", [top, main, foot])

    def complete(self) -> list[Any]:
        """Make the drawers, once the card is on its way to the page: they are half of it, and nobody sees them yet.

        Gives the widgets that came, for scheduling.route.
        """
        known = len(self._kit.widgets)
        if self._make_drawers and not self._settled:
            making, self._make_drawers = self._make_drawers, {}
            self._drawers = {name: make() for name, make in making.items()}
            # Views that are there already stay as they are, and their focus with them.
            self.view.children = (*self.view.children, *self._drawers.values())
        return self._kit.widgets[known:]

    @property
    def widgets(self) -> list[Any]:
        """All widgets of the card, for scheduling.route."""
        return list(self._kit.widgets)

    @property
    def plain(self) -> str:
        """The card's text/plain, where widgets can't be seen."""
        tool = visible_text(self.title.tool)
        does = self.title.plain.removeprefix(tool)
        return f"[{tool}]{does} (waits for an answer: %toolkit approve | reject)"

    def settle(self, text: str) -> None:
        """Say how it was answered, in the buttons' place; the card keeps its height."""
        if self._said:
            return
        self._settled = True
        self._open(None)
        self._actions.layout.visibility = "hidden"
        self._status.value = f'<div role="status">{visible(text)}</div>'
        self._status.layout.visibility = "visible"
        self.view.remove_class("nbtk-pending")
        # At the end, so that a call which a stop has cut short can be made again.
        self._said = True

    def show_running(self, widget: Any) -> bool:
        """Put the running call's view in the place of body, buttons and drawers; the title stays. Says whether it did.

        The caller makes the widget, routes it and closes it; ``settle`` before it, since a card that waits keeps its
        buttons. A card that was closed or left to the record takes none.
        """
        if not self._said or self._gone:
            return False
        self.view.children = (self._top, widget)
        return True

    @property
    def heard_from(self) -> str | None:
        """The client session of the page that acted on the card last."""
        return self._kit.heard_from

    def leave(self, markup: str) -> None:
        """Hold nothing but this markup from now on, where the card stands."""
        self._settled = self._said = self._gone = True
        kit = self._kit
        left = kit.html(markup)
        self.view.children = (left,)
        for name in ("nbtk-card", "nbtk-pending"):
            self.view.remove_class(name)
        kit.close_all_but(self.view, left)

    def close(self) -> None:
        """Take the card away; a closed view takes no room."""
        self._settled = self._said = self._gone = True
        self._kit.close()

    # ------------------------------------------------------------------------------------------------------- answers
    def _resolve(self, approval: Approval, words: str | None = None) -> None:
        """Give the answer; only the first one counts, and only that one is shown."""
        if not self._settled and self._answer(approval):
            self.settle(words or settled_words(approval))

    def _allow(self) -> None:
        self._resolve(Approval.allow())

    def _deny(self) -> None:
        self._resolve(Approval.deny(self._reason.value.strip() or None))

    def _allow_always(self) -> None:
        try:
            rules = self._read_rules()
        except ValueError as fault:
            self._say_rules(str(fault), wrong=True)
            return
        self._resolve(Approval.allow(rules, self._scope.value))

    def _edit(self) -> None:
        self._form.show_faults()
        try:
            # The tool checks better than its schema: it knows the notebook's variables.
            edited = self._form.read(check=False)
            if self._validate is not None:
                self._validate(edited)
        except (FormError, ToolArgumentsError) as fault:
            self._form.show_faults(fault.faults)
            return
        self._resolve(Approval.edit(edited))

    def _respond(self) -> None:
        if not self._response.value.strip():
            self._response_note.value = '<span class="nbtk-bad" role="alert">Write what the model should get.</span>'
            return
        self._resolve(Approval.respond(self._response.value))

    def _mode_chosen(self, mode: PermissionMode) -> None:
        if self._settled or self._set_mode is None:
            return
        self._set_mode(mode)
        # The same arguments, handed in again, are judged again.
        label = next(label for label, each in MODES if each is mode)
        self._resolve(Approval.edit(self.request.tool_input), f"Changed mode to {label} · judging again …")

    # ------------------------------------------------------------------------------------------------------- widgets
    def _mode(self, mode: PermissionMode) -> Any:
        layout = self._kit.layout(width="150px", flex="none")
        pick = self._kit.field(
            w.Dropdown,
            "Mode",
            label_width="40px",
            layout=layout,
            options=MODES,
            value=mode,
            tooltip="Permission mode of this notebook; a change judges this call again",
        )
        pick.observe(lambda change: self._mode_chosen(change["new"]), "value")
        return pick

    def _buttons(self) -> Any:
        kit, about = self._kit, self.about
        safety = self.request.decision.bypass_immune
        once = kit.button("Allow once", about, "7.2em", self._allow, "" if safety else "nbtk-primary")
        first = [once]
        if self.may_remember:
            first.append(kit.button("Always allow …", about, "8.8em", lambda: self._toggle("always")))
        deny = kit.button("Deny", about, "4.6em", self._deny)
        self._reason = kit.field(
            w.Text,
            f"Reason for denying {about}; Enter denies",
            unseen=True,
            layout=kit.layout(flex="1 1 120px", width="auto"),
            placeholder="Reason, for the model (optional)",
        )
        # A changed value isn't Enter: leaving the field changes it too.
        self._reason.on_msg(lambda _, message, __: self._reason_message(message))
        pair = kit.box("nbtk-deny-pair", [deny, self._reason], row=True)
        edit = kit.button("Edit", about, "3.8em", lambda: self._toggle("edit"), "nbtk-quiet")
        answer = kit.button("Answer instead", about, "8.8em", lambda: self._toggle("answer"), "nbtk-quiet")
        last = kit.box("", [edit, answer], row=True)
        return kit.box("nbtk-row", [*first, pair, last], row=True, layout=kit.own_layout())

    def _reason_message(self, message: object) -> None:
        if isinstance(message, dict) and message.get("event") == "submit" and self._reason.value.strip():
            self._deny()

    def _drawer(self, children: Iterable[Any]) -> Any:
        return self._kit.box("nbtk-drawer", children, layout=self._kit.own_layout(display="none"))

    def _toggle(self, name: str) -> None:
        if not self._settled:
            self.complete()
            self._open(None if self._drawers[name].layout.display != "none" else name)

    def _open(self, name: str | None) -> None:
        for each, drawer in self._drawers.items():
            drawer.layout.display = None if each == name else "none"

    def _always_drawer(self) -> Any:
        kit, rules = self._kit, self.request.suggested_rules
        self._rules = kit.field(
            w.Textarea,
            "Rule" if len(rules) == 1 else "Rules",
            label_width="56px",
            value="\n".join(str(rule) for rule in rules),
            rows=len(rules),
            tooltip="One rule a line",
        )
        self._scope = kit.field(
            w.Dropdown, "For", label_width="56px", layout=kit.layout(width="260px"), options=SCOPES, value="kernel"
        )
        save = kit.button("Allow always", self.about, "8.4em", self._allow_always, "nbtk-primary")
        self._rules_note = kit.html("")
        self._say_rules()
        self._rules.observe(lambda _: self._say_rules(), "value")
        row = kit.box("nbtk-row", [self._scope, save], row=True)
        return self._drawer([self._rules, row, self._rules_note])

    def _read_rules(self) -> list[PermissionRule]:
        lines = [line for line in self._rules.value.splitlines() if line.strip()]
        if not lines:
            raise ValueError("Write a rule, or use “Allow once”.")
        return [PermissionRule.parse(line, PermissionBehavior.ALLOW) for line in lines]

    def _say_rules(self, fault: str | None = None, *, wrong: bool = False) -> None:
        try:
            rules = self._read_rules()
        except ValueError as error:
            # Half a rule is no mistake while it is typed; it is one when the button is pressed.
            fault, rules = fault or str(error), []
        if fault is not None:
            role = ' class="nbtk-bad" role="alert"' if wrong else ' class="nbtk-soft"'
            self._rules_note.value = f"<div{role}>{visible(fault)}</div>"
            return
        said = []
        if self._counter is not None:
            hit, of = self._counter(rules)
            subject = "This rule" if len(rules) == 1 else "These rules"
            said.append(f"{subject} would have allowed {hit} of the last {count(of, 'call')}." if of else "")
        tool = self.request.tool
        if getattr(tool, "is_mcp", False):
            said.append("It ends when the server changes the tool.")
        elif getattr(tool, "origin", "") != "Built-in tool":
            said.append("It ends when the function changes.")
        self._rules_note.value = f'<div class="nbtk-soft">{" ".join(each for each in said if each)}</div>'

    def _edit_drawer(self) -> Any:
        kit = self._kit
        self._form = Form(self.request.tool.input_schema, self.request.tool_input, route=self._route, kit=kit)
        send = kit.button("Check and ask again", self.about, "13em", self._edit, "nbtk-primary")
        note = kit.html('<span class="nbtk-soft">Judged again before it runs.</span>')
        return self._drawer([self._form.widget, kit.box("nbtk-row", [send, note], row=True)])

    def _answer_drawer(self) -> Any:
        kit = self._kit
        self._response = kit.field(
            w.Textarea,
            f"Result of {self.about}, given by you",
            unseen=True,
            rows=3,
            placeholder="The result that the model gets; the tool doesn't run",
        )
        send = kit.button("Send as the result", self.about, "11.4em", self._respond, "nbtk-primary")
        self._response_note = kit.html("")
        return self._drawer([self._response, kit.box("nbtk-row", [send, self._response_note], row=True)])


# ------------------------------------------------------------------------------------------------------------- markup


def _code(text: str) -> str:
    return f"<code>{visible(text)}</code>"


def _head(request: ApprovalRequest, line: Title) -> str:
    heading = f'<div role="heading" aria-level="4" class="nbtk-title">{_code(line.tool)}{line.html(_code)}</div>'
    return f'{heading}<div class="nbtk-meta">{meta(request)}</div>'


def _why(request: ApprovalRequest, shown: Body) -> str:
    because, steps = reasons(request)
    if shown.cut and not request.decision.bypass_immune:
        because += "; a part of it is too long to be shown, so “Always allow” isn't offered"
    listed = "".join(f"<li>{step}</li>" for step in steps)
    if not listed:
        return f'<div class="nbtk-why"><b>Asks</b> because {because}.</div>'
    return (
        f'<details class="nbtk-why"><summary><b>Asks</b> because {because}. <span class="nbtk-link">Why</span></summary>'
        f'<ol class="nbtk-soft">{listed}</ol></details>'
    )


# A hint's two sides, in the order of the sentence.
_CLAIMS = (
    ("readOnlyHint", "only reads", "changes things"),
    ("destructiveHint", "may destroy", "doesn't destroy"),
    ("idempotentHint", "repeating it changes nothing more", "repeating it adds again"),
    ("openWorldHint", "reaches the internet", "stays inside its own world"),
)


def _claims(request: ApprovalRequest) -> str:
    """What an MCP server says of its tool, which nobody checked."""
    tool = request.tool
    if not getattr(tool, "is_mcp", False):
        return ""
    hints: Any = getattr(tool, "annotations", None)
    if hasattr(hints, "model_dump"):
        hints = hints.model_dump(by_alias=True)
    if not isinstance(hints, dict):
        hints = {}
    said = [yes if hints[key] else no for key, yes, no in _CLAIMS if isinstance(hints.get(key), bool)]
    claims = (
        "The server claims, unchecked: " + " · ".join(said) if said else "The server claims nothing about what it does."
    )
    words = one_line(getattr(tool, "description", "") or "", 400)
    described = f'<div class="nbtk-note">It describes the tool: “{visible(words)}”</div>' if words else ""
    return f'{described}<div class="nbtk-note">{claims}</div>'
