"""What every adapter is made of: one way to call, one way to see beforehand whether a call would ask.

Every call goes through the toolkit's pipeline. ``approvals="inline"`` asks whoever the toolkit asks: in a notebook the
card under the cell. ``approvals="deferred"`` hands an ordinary question to the agent library's own protocol for it,
before anything has run or been logged; what a rule or the mode allows or denies is decided here all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from nbtoolkit import hooks
from nbtoolkit.agents.running import agent
from nbtoolkit.exception import AgentOrientedException
from nbtoolkit.message import ToolCallBlock, new_id
from nbtoolkit.permission.approval import Approval, ApprovalRequest, ask
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.schema.repair import parse_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.run import ToolCall
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Approvals", "Caller", "allow_once", "approval_of", "missing", "question_of", "schema_of"]

Approvals = Literal["inline", "deferred"]

_ALLOWS = frozenset({"allow", "approve", "approved", "accept", "yes", "true"})
_DENIES = frozenset({"deny", "denied", "reject", "rejected", "ignore", "no", "false"})


def missing(library: str, extra: str) -> ImportError:
    """The error where an agent library isn't there."""
    return ImportError(f"{library} isn't installed in this environment: pip install 'nbtoolkit[{extra}]'")


async def allow_once(request: ApprovalRequest) -> Approval:  # noqa: ARG001 - it was answered elsewhere
    """The answer that a person has given already, in the agent library's own way."""
    return Approval.allow()


class Caller:
    """The calls of one agent library, for one conversation."""

    def __init__(
        self,
        library: str,
        toolkit: Toolkit | None = None,
        *,
        groups: Sequence[str] | None = None,
        state: AgentState | None = None,
        approver: Approver | None = None,
        approvals: Approvals = "inline",
    ) -> None:
        if approvals not in {"inline", "deferred"}:
            raise ValueError(f"{approvals!r} is no way to ask; expected 'inline' or 'deferred'")
        self.library = library
        self.toolkit = hooks.get_toolkit() if toolkit is None else toolkit
        self.groups = groups
        self.state = state
        self.approver = approver
        self.approvals = approvals

    async def tools(self) -> list[ToolBase]:
        """The tools that the agent is told of, now."""
        return await self.toolkit.listed(self.groups, self.state)

    def begin(
        self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None, approver: Any = None
    ) -> ToolCall:
        """A call, not yet run; ``arguments`` may be a model's raw text."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        block = ToolCallBlock(id=call_id or new_id(), name=name, input=text)
        return self.toolkit.call_tool(block, self.state, approver or self.approver)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        call_id: str | None = None,
        *,
        answered: Approval | bool = False,
    ) -> ToolResponse:
        """Run a call; ``answered`` is the answer that it got already, True for an allowance."""
        approver: Approver | None = None
        if isinstance(answered, Approval):
            approver = _once(answered)
        elif answered:
            approver = allow_once
        with agent(self.library):
            return await self.begin(name, arguments, call_id, approver)

    async def question(
        self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None
    ) -> ApprovalRequest | None:
        """What would be asked of the agent library's person; None where nothing is, or asking is inline."""
        if self.approvals == "inline":
            return None
        return await question_of(self.toolkit, name, arguments, call_id, self.state, self.library)

    async def answer(self, request: ApprovalRequest) -> Approval:
        """Put a question of ``question`` to whoever the toolkit asks, and keep what is to be remembered."""
        approver = self.approver or self.toolkit.approver or hooks.default_approver
        if approver is None:
            return Approval.deny("nobody is there to answer", by="policy")
        approval = await ask(approver, request)
        if approval.kind == "allow" and approval.scope != "call":
            state = self.toolkit.state if self.state is None else self.state
            self.toolkit.remember(self.toolkit.engine_for(state), approval, request)
        return approval


async def question_of(
    toolkit: Toolkit,
    name: str,
    arguments: Mapping[str, Any] | str,
    call_id: str | None = None,
    state: AgentState | None = None,
    library: str = "agent",
) -> ApprovalRequest | None:
    """The question that a call would put, without running or logging it; None where it would put none.

    A call that is wrong puts none either: running it gives the model its fault.
    """
    state = toolkit.state if state is None else state
    engine = toolkit.engine_for(state)
    try:
        tool = await toolkit.find(name, state)
        given = parse_arguments(name, arguments)[0] if isinstance(arguments, str) else dict(arguments)
        judged = tool.validate_input(given)
        judgement = await engine.judge(tool, json.loads(json.dumps(judged.json)))
        updated = judgement.decision.updated_input
        if updated is not None and updated != judged.json:
            judged = tool.validate_input(updated)
            judgement = await engine.judge(tool, json.loads(json.dumps(judged.json)))
    except AgentOrientedException:
        return None
    decision = judgement.decision
    if decision.behavior is not PermissionBehavior.ASK:
        return None
    with agent(library):
        origin = hooks.caller.get() or hooks.origin()
    return ApprovalRequest(
        id=call_id or new_id(),
        tool=tool,
        tool_input=judgement.tool_input,
        decision=decision,
        subjects=judgement.subjects,
        suggested_rules=tuple(decision.suggested_rules or ()),
        origin=origin,
        judgement=judgement,
        variables=judged.variables,
    )


def _once(approval: Approval) -> Approver:
    """The given answer for the first question; what an edit leads to is allowed, as it is what was answered with."""
    waiting = [approval]

    async def approver(request: ApprovalRequest) -> Approval:  # noqa: ARG001
        return waiting.pop() if waiting else Approval.allow()

    return approver


def approval_of(answer: Any) -> Approval:
    """An answer in any agent library's words as an Approval; one that can't be read denies, and says so."""
    if isinstance(answer, Approval):
        return answer
    if isinstance(answer, list | tuple) and len(answer) == 1:
        return approval_of(answer[0])
    if isinstance(answer, bool | str):
        word = str(answer).strip().lower()
        if word in _ALLOWS:
            return Approval.allow()
        return Approval.deny(None if word in _DENIES else str(answer))
    if isinstance(answer, Mapping):
        if isinstance(answer.get("decisions"), list):
            return approval_of(answer["decisions"])
        kind = str(answer.get("type", answer.get("decision", ""))).lower()
        if kind in _ALLOWS:
            return Approval.allow()
        if kind == "edit":
            edited = answer.get("edited_action") or answer.get("args") or answer
            arguments = edited.get("args", edited.get("tool_input", edited)) if isinstance(edited, Mapping) else None
            if isinstance(arguments, Mapping):
                return Approval.edit(arguments)
        if kind in {"respond", "response"}:
            return Approval.respond(answer.get("message", answer.get("args", answer.get("content"))))
        if kind in _DENIES:
            reason = answer.get("message", answer.get("reason"))
            return Approval.deny(None if reason is None else str(reason))
    return Approval.deny(f"the answer {answer!r:.200} can't be read; expected approve, edit, reject or respond")


def schema_of(tool: ToolBase) -> dict[str, Any]:
    """The tool's schema as ordinary dicts, which a library may change."""
    copied: dict[str, Any] = json.loads(json.dumps(tool.input_schema))
    return copied
