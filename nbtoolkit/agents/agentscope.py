"""The toolkit's tools in an AgentScope 2 Toolkit.

    agentscope.tool.Toolkit(tools=await tools())

``approvals="inline"`` answers AgentScope's own permission check with "allow", since the pipeline behind it asks;
``approvals="deferred"`` answers it with this toolkit's judgement, so that AgentScope's engine and its agents'
confirmation protocol do the asking, and the pipeline still refuses what a rule of ours denies. A call that no engine was
asked about beforehand is asked about inline all the same.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.agents.adapting import Approvals, Caller, allow_once, missing, schema_of
from nbtoolkit.agents.running import agent
from nbtoolkit.tool.result import ToolResponse

try:
    from agentscope.permission import PermissionBehavior, PermissionDecision
    from agentscope.tool import ToolBase, ToolChunk
except ImportError as error:
    raise missing("agentscope", "agentscope") from error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase as OwnTool
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["AgentScopeTool", "tools", "tools_sync"]

# Questions that were never answered with a call are forgotten beyond this.
MAX_ASKED = 100


async def tools(
    toolkit: Toolkit | None = None,
    *,
    groups: Sequence[str] | None = None,
    state: AgentState | None = None,
    approver: Approver | None = None,
    approvals: Approvals = "inline",
) -> list[AgentScopeTool]:
    """The toolkit's tools (the notebook's own where none is given) that are on, as AgentScope's Toolkit takes them.

    Without the meta tools ``reset_tools`` and ``Skill``: AgentScope's Toolkit has its own, of the same names.
    """
    caller = Caller("agentscope", toolkit, groups=groups, state=state, approver=approver, approvals=approvals)
    return [AgentScopeTool(tool, caller) for tool in await caller.tools() if tool.name not in {"reset_tools", "Skill"}]


def tools_sync(toolkit: Toolkit | None = None, **options: Any) -> list[AgentScopeTool]:
    """``tools`` for a plain cell or a script; takes the same options."""
    found: list[AgentScopeTool] = hooks.drive(tools(toolkit, **options))
    return found


class AgentScopeTool(ToolBase):  # type: ignore[misc] # its types aren't followed, for their number
    """One tool; its chunks stream as they come."""

    def __init__(self, tool: OwnTool, caller: Caller) -> None:
        super().__init__()
        self._caller = caller
        self.name = tool.name
        self.description = tool.description
        self.input_schema = schema_of(tool)
        self.is_concurrency_safe = tool.is_concurrency_safe
        self.is_read_only = tool.is_read_only
        self.is_mcp = False
        # Calls that AgentScope's engine has put to its person, and that come here only when they were allowed.
        self._asked: deque[str] = deque(maxlen=MAX_ASKED)

    async def check_permissions(self, tool_input: dict[str, Any], context: Any) -> PermissionDecision:  # noqa: ARG002
        """What this toolkit says of the call."""
        request = await self._caller.question(self.name, tool_input)
        if request is None:
            return PermissionDecision(PermissionBehavior.ALLOW, "nbtoolkit decides about this call itself.")
        self._asked.append(_key(tool_input))
        decision = request.decision
        return PermissionDecision(PermissionBehavior.ASK, decision.message, bypass_immune=decision.bypass_immune)

    # The library's own signature is open; a tool's parameters may have any name.
    async def call(self, **arguments: Any) -> AsyncGenerator[ToolChunk, None]:
        """Run through the pipeline."""
        approved = _key(arguments) in self._asked
        if approved:
            self._asked.remove(_key(arguments))
        return self._stream(arguments, approved=approved)

    async def _stream(self, arguments: dict[str, Any], *, approved: bool) -> AsyncGenerator[ToolChunk, None]:
        with agent(self._caller.library):
            call = self._caller.begin(self.name, arguments, None, allow_once if approved else None)
            given = False
            async for piece in call:
                if isinstance(piece, ToolResponse):
                    # What came in no chunk: a response that was decided before anything ran.
                    content = [] if given else piece.content
                    yield _chunk(content, piece.state.value, last=True)
                else:
                    given = True
                    yield _chunk(piece.content, "running", last=False)


def _key(tool_input: dict[str, Any]) -> str:
    return json.dumps(tool_input, sort_keys=True, default=str)


def _chunk(content: Any, state: str, *, last: bool) -> ToolChunk:
    blocks = [block.model_dump(mode="json") for block in content]
    return ToolChunk.model_validate({"content": blocks, "state": state, "is_last": last})
