"""From validated arguments to allowed ones: judged, asked about if need be, and judged again where somebody changed them.

A refusal ends the call with a chunk; it is no Exception, or a middleware that retries on any failure would take a denial
for one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit import hooks
from nbtoolkit.message import ToolCallState, ToolResultState
from nbtoolkit.permission.approval import ApprovalRequest, ask
from nbtoolkit.permission.planned import refuse
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.schema.arguments import copied
from nbtoolkit.schema.variables import describe
from nbtoolkit.tool.content import to_blocks
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from nbtoolkit.permission.approval import Approval
    from nbtoolkit.permission.engine import Judgement, PermissionEngine
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.run import ToolCall

__all__ = ["RefusedCall", "permit"]

# A model that edits its call over and over, or rules that send it round, must come to an end.
MAX_ROUNDS = 20

_ALLOW, _DENY = PermissionBehavior.ALLOW, PermissionBehavior.DENY


class RefusedCall(BaseException):
    """The call ends here with this chunk and doesn't run."""

    def __init__(self, chunk: ToolChunk) -> None:
        super().__init__()
        self.chunk = chunk


async def permit(call: ToolCall, tool: ToolBase, judged: Arguments, entry: LogEntry) -> Arguments:
    """Judge, and ask, until arguments are allowed, and give those; anything else leaves by RefusedCall."""
    __tracebackhide__ = True
    engine = call.toolkit.engine_for(call.state)
    # A plain function has no check of its own that could change what is shown, logged and run after it was judged.
    own_checks = type(tool) is not FunctionTool
    updated = False
    for _ in range(MAX_ROUNDS):
        call.judged = judged
        entry.tool_input = judged.json
        if judged.variables:
            entry.variables = {path: describe(value) for path, value in judged.variables.items()}
        judgement = await engine.judge(tool, copied(judged.json) if own_checks else judged.json)
        decision = judgement.decision
        call.judgement = judgement
        entry.behavior, entry.reason = decision.behavior, decision.decision_reason
        if decision.updated_input is not None and decision.updated_input != judged.json and not updated:
            # What the tool's check puts in the arguments' place is what will be shown and run.
            updated = True
            judged = tool.validate_input(decision.updated_input)
            continue
        if decision.behavior is _ALLOW:
            if engine.spend(judgement):
                return judged
            continue  # another call took the last of a counted grant
        if decision.behavior is _DENY:
            raise RefusedCall(_denied(decision.message))
        approval = await _ask(call, engine, tool, judged, judgement, entry)
        if approval.kind == "edit":
            before, judged = judged.json, tool.validate_input(approval.tool_input or {})
            # The same arguments come back when only the mode was changed.
            entry.edited = entry.edited or judged.json != before
            # The engine, or the answer to the next question, has the last word.
            call.approval = entry.approval = None
            continue
        return judged
    raise RefusedCall(_denied(f"The call was changed {MAX_ROUNDS} times without an end."))


async def _ask(
    call: ToolCall, engine: PermissionEngine, tool: ToolBase, judged: Arguments, judgement: Judgement, entry: LogEntry
) -> Approval:
    call.mark(ToolCallState.ASKING)
    approver = call.approver or call.toolkit.approver or hooks.default_approver
    decision = judgement.decision
    if judgement.tool_input is judged.json:
        judgement.tool_input = copied(judged.json)
    call.request = request = ApprovalRequest(
        id=call.block.id,
        tool=tool,
        tool_input=copied(judged.json),
        decision=decision,
        subjects=judgement.subjects,
        suggested_rules=tuple(decision.suggested_rules or ()),
        origin=entry.asked_by,
        judgement=judgement,
        variables=judged.variables,
        state=call.state,
    )
    began = time.perf_counter()
    try:
        answering = approver or refuse
        if call.toolkit.tape is not None:
            answering = call.toolkit.tape.approver(answering, request)
        approval = await ask(answering, request)
    finally:
        entry.waited += time.perf_counter() - began
    call.approval = entry.approval = approval
    if approval.kind == "deny":
        raise RefusedCall(_denied(_denial(approval)))
    if approval.kind == "respond":
        chunk = ToolChunk(content=to_blocks(approval.content), state=ToolResultState.SUCCESS)
        raise RefusedCall(chunk.with_value(approval.content))
    if approval.kind == "allow" and approval.scope != "call":
        kept = call.toolkit.remember(engine, approval, request)
        # The record says what holds, which may be less than what was asked for.
        entry.approval = replace(approval, scope=kept.scope)
        entry.note = kept.note
    return approval


def _denied(text: str) -> ToolChunk:
    return ToolChunk.of(text, ToolResultState.DENIED)


def _denial(approval: Approval) -> str:
    who = "The user denied this call" if approval.by != "policy" else "This call was denied"
    return f"{who}: {approval.reason}" if approval.reason else f"{who}."
