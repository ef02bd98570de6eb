"""The toolkit's tools as function tools of the OpenAI Agents SDK.

    agent = Agent(name="analyst", tools=await tools())

``approvals="deferred"`` speaks the SDK's own protocol: a call that asks interrupts the run (``result.interruptions``);
approve or reject it on the run's state and run on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.agents.adapting import Approvals, Caller, missing, schema_of
from nbtoolkit.agents.dialects.base import data_url, is_bad, is_picture, left_out, parts, text_of

try:
    from agents import FunctionTool, ToolOutputImage, ToolOutputText
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import RunContextWrapper
    from agents.tool_context import ToolContext

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["tools", "tools_sync"]


async def tools(
    toolkit: Toolkit | None = None,
    *,
    groups: Sequence[str] | None = None,
    state: AgentState | None = None,
    approver: Approver | None = None,
    approvals: Approvals = "inline",
) -> list[FunctionTool]:
    """The toolkit's tools (the notebook's own where none is given) that are on, as the SDK takes them."""
    caller = Caller("openai-agents", toolkit, groups=groups, state=state, approver=approver, approvals=approvals)
    return [_tool(tool, caller) for tool in await caller.tools()]


def tools_sync(toolkit: Toolkit | None = None, **options: Any) -> list[FunctionTool]:
    """``tools`` for a plain cell or a script; takes the same options."""
    from nbtoolkit import hooks

    found: list[FunctionTool] = hooks.drive(tools(toolkit, **options))
    return found


def _tool(tool: ToolBase, caller: Caller) -> FunctionTool:
    name = tool.name

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        call_id = context.tool_call_id
        approved = False
        if caller.approvals == "deferred":
            approved = bool(context.is_tool_approved(name, call_id))
        return _output(await caller.call(name, arguments, call_id, answered=approved))

    async def asks(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:  # noqa: ARG001
        return await caller.question(name, arguments, call_id) is not None

    return FunctionTool(
        name=name,
        description=tool.description,
        params_json_schema=schema_of(tool),
        on_invoke_tool=invoke,
        # The pipeline validates; strict mode would refuse schemas that models handle well without it.
        strict_json_schema=False,
        needs_approval=asks if caller.approvals == "deferred" else False,
    )


def _output(response: ToolResponse) -> Any:
    if is_bad(response):
        return f"Error: {text_of(response)}"
    found: list[Any] = []
    for part in parts(response):
        if isinstance(part, str):
            found.append(ToolOutputText(text=part))
        elif is_picture(part):
            found.append(ToolOutputImage(image_url=data_url(part)))
        else:
            found.append(ToolOutputText(text=left_out(part)))
    return text_of(response) if all(isinstance(each, ToolOutputText) for each in found) else found
