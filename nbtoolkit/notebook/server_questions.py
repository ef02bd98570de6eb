"""What MCP servers ask a person, put by the notebook's approver: a form, a link, a model's answer, a sign-in.

A question has a card of its own, and lines to type where widgets can't be shown. Planned answers reach it under the
names below, a policy that allows everything doesn't: it is for calls, and nobody wrote these. What is typed into a
masked field goes to the server and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal

from nbtoolkit import hooks
from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer, SamplingRequest, is_secret_field, with_defaults
from nbtoolkit.message import new_id
from nbtoolkit.notebook.fields import type_words
from nbtoolkit.permission.approval import Approval, ApprovalRequest, ask
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.schema.sound import sound
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.progress import current_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.mcp.oauth import SignIn
    from nbtoolkit.notebook.approver import InlineApprover
    from nbtoolkit.notebook.widgets.question import QuestionCard

__all__ = ["ServerQuestion", "ServerQuestions"]

# How often an answer that lacks something is asked for again.
ROUNDS = 5
SIGN_IN = "Open the link and sign in. Where the page that your browser ends at can't be shown, paste its address below."
AGAIN = "It takes no longer what you signed in with before. "

Kind = Literal["question", "open_link", "ask_model", "sign_in"]


class ServerQuestion(ToolBase):
    """A question in the shape of a tool, since that is what an approver is asked about.

    ``values`` is what the form is filled with, or what is to be looked at. The name, for planned answers, is
    ``mcp__{server}__{kind}``.
    """

    is_mcp = True
    #: The id of the call that the server asks in, where it is known.
    call_id: str | None = None

    def __init__(
        self,
        server: str,
        kind: Kind,
        message: str,
        schema: Mapping[str, Any] | None = None,
        values: Mapping[str, Any] | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__()
        self.server = self.mcp_name = server
        self.kind = kind
        self.message = self.description = message
        self.url = url
        self.values = dict(values or {})
        self.name = f"mcp__{server}__{kind}"
        self.schema = self.input_schema = _masked(sound({"type": "object", "properties": {}, **(schema or {})}))
        self.secrets = [name for name, about in _properties(self.schema).items() if about.get("writeOnly") is True]

    @property
    def origin(self) -> str:
        """``MCP server NAME``."""
        return f"MCP server {self.mcp_name}"

    async def check_permissions(
        self,
        tool_input: dict[str, Any],  # noqa: ARG002
        context: PermissionContext,  # noqa: ARG002
    ) -> PermissionDecision:
        """Always ask."""
        return PermissionDecision(PermissionBehavior.ASK, self.description)

    # --------------------------------------------------------------------------------------- how the approver shows it
    def make_card(self, answer: Callable[[Approval], bool], route: Callable[[list[Any]], object]) -> QuestionCard:
        """The card in the place of an approval card."""
        from nbtoolkit.notebook.widgets.question import QuestionCard

        return QuestionCard(self, answer, route)

    async def ask_typed(self, limit: float) -> Approval:
        """The same by lines; TimeoutError and NobodyAnswers as ask_by_input raises them."""
        from nbtoolkit.notebook.typed_questions import type_answer

        return Approval.respond(await type_answer(self, limit))

    # ------------------------------------------------------------------------------------------------------- secrets
    def typed_in(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values, with those of masked fields taken out of every later record."""
        from nbtoolkit.redact import keep_secret

        for name in self.secrets:
            if isinstance(values.get(name), str):
                keep_secret(values[name])
        return values

    def without_secrets(self, faults: Mapping[str, str]) -> dict[str, str]:
        """What is wrong, without the value of a masked field in it."""
        return {path: self._expected(path) if path in self.secrets else line for path, line in faults.items()}

    def _expected(self, name: str) -> str:
        return f"{name}: this doesn't fit, expected {type_words(_properties(self.schema)[name], self.schema)}"


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {str(name): about for name, about in properties.items() if isinstance(about, dict)}


def _masked(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, with what sounds like a secret marked as one, so that its field is masked."""
    marked = {
        name: {**about, "writeOnly": True} if is_secret_field(name, about) else about
        for name, about in _properties(schema).items()
    }
    return {**schema, "properties": marked}


class ServerQuestions:
    """Asks the person in the notebook; what nobody answers is declined or cancelled."""

    def __init__(self, approver: InlineApprover) -> None:
        self._approver = approver

    async def elicit(self, question: Elicitation) -> ElicitationAnswer:
        """Show the form, filled with its defaults, or the link."""
        asked, shown = _elicited(question)
        if question.url is not None:
            return _answer(await self._ask(asked, shown), asked)
        required = question.schema.get("required")
        for _ in range(ROUNDS):
            approval = await self._ask(asked, asked.values)
            answer = _answer(approval, asked)
            missing = [name for name in required or () if name not in answer.content]
            if answer.action != "accept" or not missing:
                return answer
            # Sent unseen, by a command.
            asked.message = f"{question.message} (Fill in {', '.join(map(repr, missing))}.)"
        return ElicitationAnswer("cancel")

    async def passed_over(self, question: Elicitation) -> None:
        """Count the planned answer to this question as given: a cassette gave one."""
        await self._approver.passed_over(_request(*_elicited(question)))

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        """Show what the model would be asked."""
        shown: dict[str, Any] = {"messages": request.messages, "max_tokens": request.max_tokens}
        if request.system_prompt is not None:
            shown = {"system_prompt": request.system_prompt, **shown}
        asked = ServerQuestion(request.server, "ask_model", "Have your model answer this.", values=shown)
        return _answer(await self._ask(asked, shown), asked).action == "accept"

    async def sign_in(self, request: SignIn) -> str | None:
        """Show the link; the address that the browser ended at is pasted, or comes by itself."""
        message = (AGAIN if request.again else "") + SIGN_IN
        asked = ServerQuestion(request.server, "sign_in", message, url=request.url)
        approval = await self._ask(asked, {"url": request.url})
        if approval.kind == "allow":
            # The person has opened it, and the browser comes back by itself.
            await asyncio.Event().wait()
        return str(_answer(approval, asked).content.get("address") or "") or None

    async def _ask(self, asked: ServerQuestion, shown: dict[str, Any]) -> Approval:
        request = _request(asked, shown)
        try:
            return await ask(self._approver, request)
        finally:
            self._approver.ended(request.id)


def _elicited(question: Elicitation) -> tuple[ServerQuestion, dict[str, Any]]:
    """The form or the link, and what is shown of it."""
    if question.url is not None:
        return ServerQuestion(question.server, "open_link", question.message, url=question.url), {"url": question.url}
    values = with_defaults(question.schema, {})
    asked = ServerQuestion(question.server, "question", question.message, question.schema, values)
    return asked, asked.values


def _request(asked: ServerQuestion, shown: dict[str, Any]) -> ApprovalRequest:
    message = f"The MCP server {asked.server!r} asks: {asked.message}"
    # No rule and no policy answers for a person.
    decision = PermissionDecision(PermissionBehavior.ASK, message, "question", bypass_immune=True)
    asked.call_id = getattr(current_call.get(), "id", None)
    return ApprovalRequest(id=new_id(), tool=asked, tool_input=shown, decision=decision, origin=hooks.origin())


def _answer(approval: Approval, asked: ServerQuestion) -> ElicitationAnswer:
    """What was answered: by the card, by a command (the form as it was filled), or by a planned answer."""
    content = approval.content
    if approval.kind == "respond":
        if isinstance(content, ElicitationAnswer):
            return content
        given = _object(content)
        return ElicitationAnswer("decline" if given is None else "accept", given or {})
    if approval.kind == "edit":
        return ElicitationAnswer("accept", dict(approval.tool_input or {}))
    if approval.kind == "allow":
        return ElicitationAnswer("accept", asked.values if asked.kind == "question" else {})
    # Nobody has declined where nobody was there.
    return ElicitationAnswer("cancel" if approval.by == "policy" else "decline")


def _object(content: Any) -> dict[str, Any] | None:
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return None
    return content if isinstance(content, dict) else None
