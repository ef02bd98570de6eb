"""The toolkit's tools in AgentScope 2's Toolkit, and its tools in ours."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from agentscope.message import ToolCallBlock as TheirCall
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionEngine
from agentscope.state import AgentState as TheirState
from agentscope.tool import FunctionTool as TheirFunctionTool
from agentscope.tool import ToolBase as TheirToolBase
from agentscope.tool import ToolChunk as TheirChunk
from agentscope.tool import Toolkit as TheirToolkit

from nbtoolkit.agents.agentscope import tools_sync
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from nbtoolkit import Toolkit


def run(toolkit: Toolkit, name: str, text: str, *, asked: bool = False, **options: Any) -> Any:
    """Call a tool through AgentScope's Toolkit, after its engine was asked about it; gives its response."""

    async def call() -> Any:
        [tool] = [each for each in tools_sync_in_loop if each.name == name]
        if asked:
            await PermissionEngine(PermissionContext()).check_permission(tool, json.loads(text))
        theirs = TheirToolkit(tools=[*tools_sync_in_loop])
        pieces = [piece async for piece in theirs.call_tool(TheirCall(id="1", name=name, input=text), TheirState())]
        return pieces[-1]

    tools_sync_in_loop = tools_sync(toolkit, **options)
    return asyncio.run(call())


def text_of(response: Any) -> str:
    return "".join(block.text for block in response.content if block.type == "text")


def test_calls_run_through_the_pipeline_of_ours() -> None:
    toolkit, person = a_toolkit(Approval.allow(), Approval.deny("keep it"))
    assert text_of(run(toolkit, "add", '{"a": 1}')) == "2"
    assert text_of(run(toolkit, "delete", '{"path": "x"}')) == "deleted x"
    denied = run(toolkit, "delete", '{"path": "y"}')
    assert (denied.state.value, "keep it" in text_of(denied)) == ("denied", True)
    failed = run(toolkit, "fail", "{}")
    assert (failed.state.value, "ValueError: broken" in text_of(failed)) == ("error", True)
    assert [block.type for block in run(toolkit, "plot", "{}").content] == ["text", "data"]
    assert person.asked == [("delete", {"path": "x"}), ("delete", {"path": "y"})]
    assert {entry.to_dict()["asked_by"] for entry in toolkit.log} == {"agentscope"}


def test_its_permission_engine_asks_where_ours_would_and_ours_does_not_ask_again() -> None:
    toolkit, person = a_toolkit()
    by_name = {tool.name: tool for tool in tools_sync(toolkit, approvals="deferred")}
    engine = PermissionEngine(PermissionContext())

    async def judge(name: str, given: dict[str, Any]) -> str:
        return str((await engine.check_permission(by_name[name], given)).behavior.value)

    assert asyncio.run(judge("delete", {"path": "x"})) == "ask"
    assert asyncio.run(judge("add", {"a": 1})) == "allow"
    assert text_of(run(toolkit, "delete", '{"path": "x"}', asked=True, approvals="deferred")) == "deleted x"
    assert person.asked == []
    assert run(toolkit, "delete", '{"path": "x"}', approvals="deferred").state.value == "denied"
    assert person.asked == [("delete", {"path": "x"})]
    toolkit.add_rule("delete", "deny")
    assert run(toolkit, "delete", '{"path": "x"}', asked=True, approvals="deferred").state.value == "denied"


def test_inline_its_engine_leaves_the_question_to_ours() -> None:
    toolkit, _ = a_toolkit()
    [tool] = [tool for tool in tools_sync(toolkit) if tool.name == "delete"]
    decision = asyncio.run(PermissionEngine(PermissionContext()).check_permission(tool, {"path": "x"}))
    assert decision.behavior is PermissionBehavior.ALLOW


def test_a_tool_of_agentscope_is_one_of_ours_and_is_asked_about() -> None:
    def shout(text: str) -> TheirChunk:
        """Shout.

        Args:
            text (`str`): What.
        """
        return TheirChunk.model_validate({"content": [{"type": "text", "text": text.upper()}]})

    class Counting(TheirToolBase):  # type: ignore[misc] # its types aren't followed
        name = "counting"
        description = "Count."
        input_schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}  # noqa: RUF012
        is_concurrency_safe = True
        is_read_only = True

        async def check_permissions(self, tool_input: dict[str, Any], context: Any) -> PermissionDecision:
            if tool_input["n"] > 5:
                return PermissionDecision(PermissionBehavior.DENY, "that is too far")
            return PermissionDecision(PermissionBehavior.ALLOW, "fine")

        async def call(self, n: int) -> AsyncGenerator[TheirChunk, None]:
            async def count() -> AsyncGenerator[TheirChunk, None]:
                for each in range(n):
                    content = [{"type": "text", "text": f"{each} "}]
                    yield TheirChunk.model_validate({"content": content, "is_last": each == n - 1})

            return count()

    toolkit, person = a_toolkit(Approval.allow())
    toolkit.add_tool_sync([TheirFunctionTool(shout), Counting()])
    assert toolkit.call_sync("shout", text="a").text == "A"
    assert person.asked == [("shout", {"text": "a"})]
    assert toolkit.call_sync("counting", n="3").text == "0 1 2 "
    denied = toolkit.call_sync("counting", n=9)
    assert (denied.state, "that is too far" in denied.text) == ("denied", True)
    assert len(person.asked) == 1
