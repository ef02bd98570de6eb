"""The toolkit as a toolset of pydantic-ai.

    agent = Agent(model, toolsets=[ToolkitToolset()])

``approvals="deferred"`` speaks pydantic-ai's own protocol: a call that asks ends the run with DeferredToolRequests;
``await toolset.resolve(requests)`` puts the questions to whoever the toolkit asks, or anybody else answers them, and the
next run takes the results. An approved call runs with exactly the arguments that were approved.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from nbtoolkit.agents.adapting import Approvals, Caller, missing, schema_of
from nbtoolkit.agents.dialects.base import is_bad, left_out, parts, text_of
from nbtoolkit.exception import ToolJSONDecodeError
from nbtoolkit.message import Base64Source
from nbtoolkit.schema.repair import parse_arguments

try:
    from pydantic_ai import (
        DeferredToolRequests,
        DeferredToolResults,
        RunContext,
        ToolApproved,
        ToolDefinition,
        ToolDenied,
    )
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.messages import BinaryContent
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as error:
    raise missing("pydantic-ai", "pydantic-ai") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import Approval, Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["ToolkitToolset"]


class _Raw(dict[str, Any]):
    """Arguments that are no JSON object, on their way to the pipeline that tells the model so."""

    text = ""


class _Unvalidated:
    """Lets the pipeline do what it does better: repair, validate, and name every fault."""

    def __init__(self, name: str) -> None:
        self._name = name

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> Any:  # noqa: A002 - pydantic-core's name
        text = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        try:
            return parse_arguments(self._name, text)[0]
        except ToolJSONDecodeError:
            raw = _Raw()
            raw.text = text
            return raw

    def validate_python(self, input: Any, **_: Any) -> Any:  # noqa: A002
        return input


class ToolkitToolset(AbstractToolset[Any]):
    """The tools of a toolkit (the notebook's own where none is given), as they are at each step of a run.

    ``groups``: which tool groups beside basic; None means those that are on, which ``reset_tools`` may change.
    """

    def __init__(
        self,
        toolkit: Toolkit | None = None,
        *,
        groups: Sequence[str] | None = None,
        state: AgentState | None = None,
        approver: Approver | None = None,
        approvals: Approvals = "inline",
        id: str | None = "nbtoolkit",  # noqa: A002 - the library's name for it
    ) -> None:
        self._caller = Caller(
            "pydantic-ai", toolkit, groups=groups, state=state, approver=approver, approvals=approvals
        )
        self._id = id

    @property
    def id(self) -> str | None:
        """Unique among an agent's toolsets."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools that are on."""
        found: dict[str, ToolsetTool[Any]] = {}
        for tool in await self._caller.tools():
            definition = ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=schema_of(tool),
                sequential=not tool.is_concurrency_safe,
            )
            found[tool.name] = ToolsetTool(
                toolset=self,
                tool_def=definition,
                max_retries=ctx.max_retries,
                args_validator=_Unvalidated(tool.name),
            )
        return found

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> Any:
        """Run a call through the pipeline; ToolFailed carries a failure or a denial to the model."""
        arguments: Any = tool_args.text if isinstance(tool_args, _Raw) else tool_args
        if not ctx.tool_call_approved:
            request = await self._caller.question(name, arguments, ctx.tool_call_id)
            if request is not None:
                rules = [str(rule) for rule in request.suggested_rules]
                raise ApprovalRequired({"message": request.decision.message, "suggested_rules": rules})
        response = await self._caller.call(name, arguments, ctx.tool_call_id, answered=ctx.tool_call_approved)
        if is_bad(response):
            raise ToolFailed(text_of(response))
        return _content(response)

    async def resolve(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """Put a run's questions to whoever the toolkit asks, one by one, and give the results for the next run."""
        results = DeferredToolResults()
        for call in requests.approvals:
            arguments: Any = call.args if call.args is not None else {}
            request = await self._caller.question(call.tool_name, arguments, call.tool_call_id)
            # Allowed since, by a rule or by another answer: the run judges it once more.
            results.approvals[call.tool_call_id] = (
                True if request is None else _result(await self._caller.answer(request))
            )
        return results


def _result(approval: Approval) -> bool | ToolApproved | ToolDenied:
    if approval.kind == "allow":
        return True
    if approval.kind == "edit":
        return ToolApproved(override_args=approval.tool_input)
    if approval.kind == "respond":
        return ToolDenied(f"The user gave this in place of a run: {approval.content}")
    return ToolDenied(
        f"The user denied this call: {approval.reason}" if approval.reason else "The user denied this call."
    )


def _content(response: ToolResponse) -> Any:
    found: list[Any] = []
    for part in parts(response):
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part.source, Base64Source):
            found.append(BinaryContent(data=base64.b64decode(part.source.data), media_type=part.source.media_type))
        else:
            found.append(left_out(part))
    return "\n".join(found) if all(isinstance(each, str) for each in found) else found
