"""What opens below a card's buttons: the rules to remember, the arguments to change, the result to give instead.

A drawer is made when it is first opened: together they are most of a card's widgets, and most cards are answered without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.notebook.text import visible
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.settling import when_sent
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.notebook.widgets.parts import Kit
    from nbtoolkit.permission.approval import ApprovalRequest, Scope

__all__ = ["AlwaysDrawer", "AnswerDrawer", "EditDrawer"]

SCOPES: tuple[tuple[str, Scope], ...] = (
    ("the rest of this cell", "cell"),
    ("this kernel", "kernel"),
    ("this project", "project"),
    ("me, everywhere", "user"),
)
_LABEL = "4.3em"


class AlwaysDrawer:
    """The suggested rules to edit, how long they hold, and what they would have allowed lately."""

    def __init__(
        self,
        kit: Kit,
        about: str,
        request: ApprovalRequest,
        resolve: Callable[[Approval], None],
        counter: Callable[[Sequence[PermissionRule]], tuple[int, int]] | None,
        route: Callable[[list[Any]], object] | None,
    ) -> None:
        self._request, self._resolve, self._counter = request, resolve, counter
        self._kit, self._route = kit, route
        self._typed = False
        rules = request.suggested_rules
        self._rules = kit.field(
            w.Textarea,
            "Rule" if len(rules) == 1 else "Rules",
            label_width=_LABEL,
            value="\n".join(str(rule) for rule in rules),
            rows=len(rules),
            # So that what they would have allowed is told while they are typed.
            continuous_update=True,
            tooltip="One rule a line",
        )
        self._scope = kit.field(
            w.Dropdown, "For", label_width=_LABEL, layout=kit.layout(width="20em"), options=SCOPES, value="kernel"
        )
        save = kit.button("Allow always", about, "8.4em", self._pressed, "nbtk-primary")
        self._note = kit.html("")
        self._say()
        self._rules.observe(lambda _: self._changed(), "value")
        row = kit.box("nbtk-row", [self._scope, save], row=True)
        self.view = kit.box("nbtk-drawer", [self._rules, row, self._note])

    def _changed(self) -> None:
        self._typed = True
        self._say()

    def _pressed(self) -> None:
        if self._typed and self._kit.heard_from is not None and self._route is not None:
            # Half of a rule may allow more than all of it.
            when_sent(self._allow, self._route, lambda: self._say("The page didn't answer; press again.", wrong=True))
        else:
            self._allow()

    def _allow(self) -> None:
        try:
            rules = self._read()
        except ValueError as fault:
            self._say(str(fault), wrong=True)
            return
        self._resolve(Approval.allow(rules, self._scope.value))

    def _read(self) -> list[PermissionRule]:
        lines = [line for line in self._rules.value.splitlines() if line.strip()]
        if not lines:
            raise ValueError("Write a rule, or use “Allow once”.")
        return [PermissionRule.parse(line, PermissionBehavior.ALLOW) for line in lines]

    def _say(self, fault: str | None = None, *, wrong: bool = False) -> None:
        try:
            rules = self._read()
        except ValueError as error:
            # Half a rule is no mistake while it is typed; it is one when the button is pressed.
            fault, rules = fault or str(error), []
        if fault is not None:
            role = ' class="nbtk-bad" role="alert"' if wrong else ' class="nbtk-soft"'
            self._note.value = f"<div{role}>{visible(fault)}</div>"
            return
        said = []
        if self._counter is not None:
            said.append(_would_have(*self._counter(rules), len(rules)))
        tool = self._request.tool
        if getattr(tool, "is_mcp", False):
            said.append("It ends when the server changes the tool.")
        elif getattr(tool, "origin", "") != "Built-in tool":
            said.append("It ends when the function changes.")
        self._note.value = f'<div class="nbtk-soft" role="status">{" ".join(each for each in said if each)}</div>'


def _would_have(hit: int, of: int, rules: int) -> str:
    subject = "This rule" if rules == 1 else "These rules"
    if not of:
        return ""
    if of == 1:
        return f"{subject} would {'' if hit else 'not '}have allowed the one call before this one."
    share = "none" if not hit else "all" if hit == of else str(hit)
    return f"{subject} would have allowed {share} of the last {of} calls."


class EditDrawer:
    """The arguments as a form; what is changed is validated, and judged again."""

    def __init__(
        self,
        kit: Kit,
        about: str,
        request: ApprovalRequest,
        resolve: Callable[[Approval], None],
        validate: Callable[[dict[str, Any]], object] | None,
        route: Callable[[list[Any]], object] | None,
    ) -> None:
        self._resolve, self._validate = resolve, validate
        self._form = Form(request.tool.input_schema, request.tool_input, route=route, kit=kit)
        send = kit.button("Check and ask again", about, "13em", self._send, "nbtk-primary")
        self._note = kit.html('<span class="nbtk-soft">Judged again before it runs.</span>')
        self.view = kit.box("nbtk-drawer", [self._form.widget, kit.box("nbtk-row", [send, self._note], row=True)])
        self._first = self._written()

    def _written(self) -> object:
        try:
            return self._form.read(check=False)
        except FormError as fault:
            return fault.faults

    @property
    def unsent(self) -> bool:
        """Whether something else stands in the form than when it was opened."""
        return self._written() != self._first

    def remind(self) -> None:
        """Say that what is written here isn't in what is about to run."""
        self._note.value = _reminder("Your changes")

    def _send(self) -> None:
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


def _reminder(what: str) -> str:
    text = f"{what} would be lost. Allow once, clicked again, runs the call as it is shown above."
    return f'<span class="nbtk-bad" role="alert">{text}</span>'


class AnswerDrawer:
    """A result of the person's own, in the tool's place."""

    def __init__(self, kit: Kit, about: str, resolve: Callable[[Approval], None]) -> None:
        self._resolve = resolve
        self._text = kit.field(
            w.Textarea,
            f"Result of {about}, given by you",
            unseen=True,
            rows=3,
            placeholder="The result that the model gets; the tool doesn't run",
            continuous_update=False,
        )
        send = kit.button("Send as the result", about, "11.4em", self._send, "nbtk-primary")
        self._note = kit.html("")
        self.view = kit.box("nbtk-drawer", [self._text, kit.box("nbtk-row", [send, self._note], row=True)])

    @property
    def unsent(self) -> bool:
        """Whether an answer is written."""
        return bool(self._text.value.strip())

    def remind(self) -> None:
        """Say that the answer isn't what is about to be given."""
        self._note.value = _reminder("Your answer")

    def _send(self) -> None:
        if not self._text.value.strip():
            self._note.value = '<span class="nbtk-bad" role="alert">Write what the model should get.</span>'
            self._text.focus()
            return
        self._resolve(Approval.respond(self._text.value))
