"""The toolkit's tools as LangChain tools, for its agents, for LangGraph's ToolNode, or to call by hand.

    agent = create_agent(model, tools=await tools())

``approvals="deferred"`` puts a question by LangGraph's ``interrupt``, in the form of LangChain's human-in-the-loop
requests: the graph stops (it needs a checkpointer) and goes on with ``Command(resume={"decisions": [{"type":
"approve"}]})``; edit, reject and respond are understood as well. LangGraph runs the node that was stopped from its start:
other calls of the same ToolNode are made again, unless the graph sends each call to a node of its own, as its agents do.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, PrivateAttr

from nbtoolkit.agents.adapting import Approvals, Caller, approval_of, missing, schema_of
from nbtoolkit.agents.dialects.base import is_bad, left_out, parts, text_of
from nbtoolkit.message import Base64Source

try:
    from langchain_core.tools import BaseTool, ToolException
except ImportError as error:
    raise missing("langchain-core", "langchain") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["LangChainTool", "tools", "tools_sync"]

# LangChain tells a tool its call's id only where the schema names an argument for it.
_call_id: ContextVar[str | None] = ContextVar("nbtoolkit_langchain_call_id", default=None)


async def tools(
    toolkit: Toolkit | None = None,
    *,
    groups: Sequence[str] | None = None,
    state: AgentState | None = None,
    approver: Approver | None = None,
    approvals: Approvals = "inline",
) -> list[LangChainTool]:
    """The toolkit's tools (the notebook's own where none is given) that are on, as LangChain takes them."""
    caller = Caller("langchain", toolkit, groups=groups, state=state, approver=approver, approvals=approvals)
    return [LangChainTool.of(tool, caller) for tool in await caller.tools()]


def tools_sync(toolkit: Toolkit | None = None, **options: Any) -> list[LangChainTool]:
    """``tools`` for a plain cell or a script; takes the same options."""
    from nbtoolkit import hooks

    found: list[LangChainTool] = hooks.drive(tools(toolkit, **options))
    return found


class LangChainTool(BaseTool):
    """One tool. Its messages carry the ToolResponse as their artifact; a failure or denial has the status "error"."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    args_schema: Any = None
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    _caller: Caller = PrivateAttr()

    @classmethod
    def of(cls, tool: ToolBase, caller: Caller) -> LangChainTool:
        """The tool of a toolkit, called by that caller."""
        made = cls(name=tool.name, description=tool.description or tool.name, args_schema=schema_of(tool))
        made._caller = caller
        return made

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        """As the base does, with the call's id kept for the run inside."""
        token = _call_id.set(kwargs.get("tool_call_id"))
        try:
            return await super().arun(*args, **kwargs)
        finally:
            _call_id.reset(token)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """As the base does, with the call's id kept for the run inside."""
        token = _call_id.set(kwargs.get("tool_call_id"))
        try:
            return super().run(*args, **kwargs)
        finally:
            _call_id.reset(token)

    async def _arun(self, **arguments: Any) -> tuple[Any, ToolResponse]:
        call_id = _call_id.get()
        request = await self._caller.question(self.name, arguments, call_id)
        return await self._answered(arguments, call_id, None if request is None else _interrupt(request))

    def _run(self, **arguments: Any) -> tuple[Any, ToolResponse]:
        from nbtoolkit import hooks

        call_id = _call_id.get()
        request = hooks.drive(self._caller.question(self.name, arguments, call_id))
        # Here and not inside: the graph's own context is this thread's.
        answer = None if request is None else _interrupt(request)
        given: tuple[Any, ToolResponse] = hooks.drive(self._answered(arguments, call_id, answer))
        return given

    async def _answered(
        self, arguments: dict[str, Any], call_id: str | None, answer: Approval | None
    ) -> tuple[Any, ToolResponse]:
        response = await self._caller.call(self.name, arguments, call_id, answered=answer or False)
        if is_bad(response):
            raise ToolException(text_of(response))
        return _content(response), response


def _interrupt(request: ApprovalRequest) -> Approval:
    """Stop the graph with the question; when it is run on, this gives the answer."""
    try:
        from langgraph.types import interrupt
    except ImportError as error:
        raise missing("langgraph", "langchain") from error
    name = request.tool.name
    action = {"name": name, "args": request.tool_input, "description": request.decision.message}
    allowed = ["approve", "edit", "reject", "respond"]
    review = {"action_name": name, "allowed_decisions": allowed}
    return approval_of(interrupt({"action_requests": [action], "review_configs": [review]}))


def _content(response: ToolResponse) -> Any:
    found = parts(response)
    if all(isinstance(part, str) for part in found):
        return "\n".join(str(part) for part in found)
    blocks: list[dict[str, Any]] = []
    for part in found:
        if isinstance(part, str):
            blocks.append({"type": "text", "text": part})
            continue
        kind = part.source.media_type.partition("/")[0]
        kind = kind if kind in {"image", "audio", "video"} else "file"
        if isinstance(part.source, Base64Source):
            blocks.append({"type": kind, "base64": part.source.data, "mime_type": part.source.media_type})
        elif kind == "image":
            blocks.append({"type": kind, "url": part.source.url, "mime_type": part.source.media_type})
        else:
            blocks.append({"type": "text", "text": left_out(part)})
    return blocks
