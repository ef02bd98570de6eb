"""What MCP servers ask a person, put by the notebook's approver: a form, a link, a model's answer, a sign-in.

A question is shown as a call that asks is, with the server's text as its claims; its form is the card's own. Planned
answers reach it under the names below, a policy that allows everything doesn't: it is for calls, and nobody wrote these.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer, SamplingRequest, with_defaults
from nbtoolkit.message import new_id
from nbtoolkit.permission.approval import Approval, ApprovalRequest, ask
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.tool.base import ToolBase

if TYPE_CHECKING:
    from nbtoolkit.mcp.oauth import SignIn
    from nbtoolkit.notebook.approver import InlineApprover

__all__ = ["ServerQuestions"]

# How often an answer that lacks something is asked for again.
ROUNDS = 5


class _Question(ToolBase):
    """A question in the shape of a tool, since that is what a card shows."""

    is_mcp = True

    def __init__(self, server: str, kind: str, message: str, schema: dict[str, Any]) -> None:
        super().__init__()
        self.mcp_name = server
        self.name = f"mcp__{server}__{kind}"
        self.description = message
        self.input_schema = {"type": "object", **schema}

    @property
    def origin(self) -> str:
        return f"MCP server {self.mcp_name}"

    async def check_permissions(
        self,
        tool_input: dict[str, Any],  # noqa: ARG002
        context: PermissionContext,  # noqa: ARG002
    ) -> PermissionDecision:
        """Always ask."""
        return PermissionDecision(PermissionBehavior.ASK, self.description)


class ServerQuestions:
    """Asks the person in the notebook; what nobody answers is declined or cancelled."""

    def __init__(self, approver: InlineApprover) -> None:
        self._approver = approver

    async def elicit(self, question: Elicitation) -> ElicitationAnswer:
        """Show the form, filled with its defaults, or the link."""
        if question.url is not None:
            schema: dict[str, Any] = {"properties": {"url": {"type": "string", "const": question.url}}}
            tool = _Question(question.server, "open_link", question.message, schema)
            approval = await self._ask(tool, {"url": question.url}, f"wants you to open a link: {question.message}")
            return _answer(approval, {})
        tool = _Question(question.server, "question", question.message, question.schema)
        values, said = with_defaults(question.schema, {}), f"asks: {question.message}"
        for _ in range(ROUNDS):
            approval = await self._ask(tool, values, said)
            if approval.kind in {"edit", "allow"}:
                values = dict(approval.tool_input or {}) if approval.kind == "edit" else values
                missing = [name for name in question.schema.get("required") or () if name not in values]
                if missing:
                    said = f"asks: {question.message} (fill in {', '.join(map(repr, missing))})"
                    continue
            return _answer(approval, values)
        return ElicitationAnswer("cancel")

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        """Show what the model would be asked."""
        tool = _Question(request.server, "ask_model", "Have your model answer this.", {"properties": {}})
        shown = {"messages": request.messages, "max_tokens": request.max_tokens}
        if request.system_prompt is not None:
            shown["system_prompt"] = request.system_prompt
        approval = await self._ask(tool, shown, "wants your model to answer")
        return approval.kind == "allow"

    async def sign_in(self, request: SignIn) -> str | None:
        """Show the link; the address that the browser ended at is typed, or comes by itself."""
        text = (
            "Open the link, sign in, and give the address that your browser ended at, where that page can't be shown."
        )
        schema = {"properties": {"url": {"type": "string"}, "address": {"type": "string", "description": text}}}
        tool = _Question(request.server, "sign_in", text, schema)
        approval = await self._ask(tool, {"url": request.url, "address": ""}, f"wants to know who you are. {text}")
        if approval.kind == "edit":
            return str((approval.tool_input or {}).get("address") or "") or None
        if approval.kind == "allow":
            # The person has opened it, and the browser comes back by itself.
            await asyncio.Event().wait()
        return None

    async def _ask(self, tool: _Question, values: dict[str, Any], said: str) -> Approval:
        message = f"The MCP server {tool.mcp_name!r} {said}"
        decision = PermissionDecision(PermissionBehavior.ASK, message, "question", bypass_immune=True)
        request = ApprovalRequest(id=new_id(), tool=tool, tool_input=values, decision=decision, origin=hooks.origin())
        try:
            return await ask(self._approver, request)
        finally:
            self._approver.ended(request.id)


def _answer(approval: Approval, values: dict[str, Any]) -> ElicitationAnswer:
    if approval.kind in {"allow", "edit"}:
        return ElicitationAnswer("accept", values)
    if approval.kind == "respond" and isinstance(approval.content, dict):
        return ElicitationAnswer("accept", approval.content)
    return ElicitationAnswer("cancel" if approval.by == "policy" else "decline")
