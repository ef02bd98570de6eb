"""The card of a server's question: a form, a link, a wish for a model's answer, a sign-in; and its answers.

It has the approval card's order and states, and words of its own: nothing here is allowed or run, something is sent to a
server or not. All that the server wrote is quoted. What stood in a masked field is taken out of the widgets with the
answer, and no record shows it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import ipywidgets as w

from nbtoolkit.mcp.interaction import ElicitationAnswer
from nbtoolkit.notebook.text import bounded, one_line, to_json, visible, visible_text
from nbtoolkit.notebook.title import Title
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.permission.approval import Approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.notebook.server_questions import ServerQuestion

__all__ = ["QuestionCard"]

# A server's message is read, not scrolled.
MESSAGE_LIMIT = 4_000
# What a model would be asked may be long; it is folded past this, and cut past the other.
OPEN_LIMIT = 600
WHOLE_LIMIT = 100_000
ABOUT_LIMIT = 60
URL_LIMIT = 2_000

ASKS = {
    "question": "asks you a question",
    "open_link": "wants you to open a link",
    "ask_model": "wants your model to answer",
    "sign_in": "wants you to sign in",
}
SEND = {"question": "Send", "open_link": "I opened it", "ask_model": "Let it answer", "sign_in": "Continue"}
SENT = {
    "question": "Sent · the call goes on …",
    "open_link": "Opened · the call goes on …",
    "ask_model": "Your model answers …",
    "sign_in": "Signing in …",
}


class QuestionCard:
    """One question of a server as widgets, with the face of an ApprovalCard.

    ``answer`` is called with the answer and says whether it was the first; ``route`` with widgets made on a click.
    """

    #: Nothing is remembered of a question.
    may_remember = False

    def __init__(
        self, question: ServerQuestion, answer: Callable[[Approval], bool], route: Callable[[list[Any]], object]
    ) -> None:
        self.question = question
        self._answer = answer
        self._kit = kit = Kit()
        self._settled = self._said = False
        self.title = Title(question.server, (("text", ASKS[question.kind]),), complete=False)
        self.about = visible_text(one_line(f"question of {question.server}", ABOUT_LIMIT))
        self._form: Form | None = None
        self._address: Any = None
        parts: list[Any] = [kit.html(SHEET + _body(question), "nbtk-body")]
        if question.kind == "question" and question.schema.get("properties"):
            self._form = Form(question.schema, question.values, described=True, route=route, kit=kit)
            parts.append(kit.box("nbtk-drawer", [self._form.widget]))
        elif question.kind == "sign_in":
            self._address = kit.field(
                w.Text, "Address", placeholder="the address that your browser ended at", continuous_update=False
            )
            parts.append(kit.box("nbtk-drawer", [self._address]))
        self._actions = kit.box("nbtk-row", self._buttons(), row=True, layout=kit.own_layout())
        self._status = kit.html("", layout=kit.own_layout(visibility="hidden"))
        foot = kit.box("nbtk-foot", [self._actions, self._status])
        head = kit.box("nbtk-head", [kit.html(_head(question))], row=True)
        #: The root widget.
        self.view = kit.root("nbtk nbtk-card nbtk-pending", [head, *parts, foot])

    # ------------------------------------------------------------------------------------ what the approver asks of it
    def complete(self) -> list[Any]:
        """It has no drawers to make later."""
        return []

    @property
    def widgets(self) -> list[Any]:
        """All widgets of the card, for scheduling.route."""
        return list(self._kit.widgets)

    @property
    def waits(self) -> bool:
        """Whether nobody has answered yet."""
        return not self._settled

    @property
    def heard_from(self) -> str | None:
        """The client session of the page that showed it, or acted on it, last."""
        return self._kit.heard_from

    @property
    def was_removed(self) -> bool:
        """Whether the page shows it no more."""
        return self._kit.was_removed

    @property
    def plain(self) -> str:
        """The card's text/plain, where widgets can't be seen."""
        said = visible_text(one_line(self.question.message, 200))
        return (
            f"[{self.title.plain}] {said} (asked here: %toolkit pending shows it again, %toolkit log what became of it)"
        )

    def words(self, approval: Approval) -> str:
        """What the card says once it is answered."""
        content = approval.content
        if isinstance(content, ElicitationAnswer) and content.action != "accept":
            return "Declined" if content.action == "decline" else "Cancelled"
        return "Declined" if approval.kind == "deny" else SENT[self.question.kind]

    def settle(self, text: str) -> None:
        """Say how it was answered, in the buttons' place."""
        if self._said:
            return
        self._settled = True
        self._actions.layout.visibility = "hidden"
        self._status.value = f'<div role="status">{visible(text)}</div>'
        self._status.layout.visibility = "visible"
        self.view.remove_class("nbtk-pending")
        self._said = True

    def leave(self, markup: str) -> None:
        """Hold nothing but this markup from now on, where the card stands."""
        self._settled = self._said = True
        self._empty()
        left = self._kit.html(markup)
        self.view.children = (left,)
        for name in ("nbtk-card", "nbtk-pending"):
            self.view.remove_class(name)
        self._kit.close_all_but(self.view, left)

    def close(self) -> None:
        """Take the card away."""
        self._settled = self._said = True
        self._empty()
        self._kit.close()

    def _empty(self) -> None:
        # A widget that a page holds still must not hold a secret.
        for widget in self._kit.widgets:
            if isinstance(widget, w.Password):
                widget.value = ""

    # --------------------------------------------------------------------------------------------------------- answers
    def _buttons(self) -> list[Any]:
        kit, kind = self._kit, self.question.kind
        send = kit.button(SEND[kind], self.about, f"{len(SEND[kind]) * 0.62 + 2:.1f}em", self._send, "nbtk-primary")
        decline = kit.button("Decline", self.about, "5.6em", lambda: self._refuse("decline"))
        if kind in {"ask_model", "sign_in"}:
            return [send, decline]
        # To decline is an answer; to cancel is to give none.
        return [send, decline, kit.button("Cancel", self.about, "5.2em", lambda: self._refuse("cancel"), "nbtk-quiet")]

    def _resolve(self, approval: Approval) -> None:
        if not self._settled and self._answer(approval):
            self.settle(self.words(approval))

    def _refuse(self, action: Any) -> None:
        self._resolve(Approval.respond(ElicitationAnswer(action)))

    def _send(self) -> None:
        if self._settled:
            return
        if self._form is not None:
            self._form.show_faults()
            try:
                values = self._form.read()
            except FormError as fault:
                self._form.show_faults(self.question.without_secrets(fault.faults))
                return
            self._resolve(Approval.respond(ElicitationAnswer("accept", self.question.typed_in(values))))
        elif self._address is not None and not self._address.value.strip():
            self._status.value = ""
            self._address.placeholder = (
                "Paste the address here first; where the page came back by itself nothing is needed"
            )
            self._address.focus()
        elif self._address is not None:
            self._resolve(Approval.respond(ElicitationAnswer("accept", {"address": self._address.value.strip()})))
        else:
            self._resolve(Approval.respond(ElicitationAnswer("accept")))


# ------------------------------------------------------------------------------------------------------------- markup
def _head(question: ServerQuestion) -> str:
    name = f"<code>{visible(one_line(question.server, ABOUT_LIMIT))}</code>"
    title = f'<div role="heading" aria-level="4" class="nbtk-title">{name} {ASKS[question.kind]}</div>'
    meta = {
        "question": "What you send goes to it.",
        "open_link": "The page is not this notebook's; all that the server hears is that you opened it.",
        "ask_model": "Your own handler would answer; the server gets what the model says.",
        "sign_in": "It wants to know who asks.",
    }[question.kind]
    return f'<div role="alert">{title}</div><div class="nbtk-meta">An MCP server. {meta}</div>'


def _body(question: ServerQuestion) -> str:
    said = f'<div class="nbtk-why">It says: “{visible(bounded(question.message, MESSAGE_LIMIT))}”</div>'
    if question.kind == "sign_in":
        said = f'<div class="nbtk-why">{visible(question.message)}</div>'
    if question.url is not None:
        return said + _link(question.url)
    if question.kind == "ask_model":
        return "".join(_shown(name, value) for name, value in question.values.items())
    return said


def _link(url: str) -> str:
    """The address, whole and as it is, with what a person should see before opening it."""
    shown = f'<pre class="nbtk-code">{visible(bounded(url, URL_LIMIT))}</pre>'
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not host:
        return (
            f'{shown}<div class="nbtk-note nbtk-bad">This is no address of a web page; it can\'t be opened here.</div>'
        )
    warnings = []
    if parts.username is not None:
        warnings.append("what stands before the @ is not where it leads")
    if not host.isascii() or "xn--" in host:
        warnings.append("its letters may look like another name's")
    if parts.scheme == "http" and host not in {"localhost", "127.0.0.1", "::1"}:
        warnings.append("it isn't encrypted")
    warned = f' <span class="nbtk-bad">Mind: {"; ".join(warnings)}.</span>' if warnings else ""
    link = f'<a href="{escape(url, quote=True)}" target="_blank" rel="noopener noreferrer" class="nbtk-link">'
    return f"{shown}<div>{link}Open the link</a>, which leads to <b>{visible(host)}</b>.{warned}</div>"


def _shown(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value, indent=2)
    markup = f'<pre class="nbtk-code">{visible(bounded(text, WHOLE_LIMIT))}</pre>'
    label = visible(one_line(name, ABOUT_LIMIT))
    if len(text) <= OPEN_LIMIT:
        return f'<div class="nbtk-soft">{label}</div>{markup}'
    return f"<details><summary>{label}, {len(text):,} characters</summary>{markup}</details>"
