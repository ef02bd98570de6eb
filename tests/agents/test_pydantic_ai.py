"""The toolkit as a toolset of pydantic-ai, with its own agent and function model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, RunContext, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nbtoolkit import Toolkit
from nbtoolkit.agents.pydantic_ai import ToolkitToolset
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit


def model(*calls: tuple[str, Any]) -> FunctionModel:
    """A model that makes the calls in its first reply and then says so."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(n, a, tool_call_id=f"call_{i}") for i, (n, a) in enumerate(calls)])

    return FunctionModel(reply)


def returned(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


def test_an_agents_calls_run_through_the_pipeline_under_their_ids() -> None:
    toolkit, person = a_toolkit(Approval.allow())
    agent = Agent(model(("add", {"a": 1}), ("delete", {"path": "x"})), toolsets=[ToolkitToolset(toolkit)])
    result = asyncio.run(agent.run("go"))
    assert [part.content for part in returned(result.all_messages())] == ["2", "deleted x"]
    assert person.asked == [("delete", {"path": "x"})]
    assert [(entry.id, entry.to_dict()["asked_by"]) for entry in toolkit.log] == [
        ("call_0", "pydantic-ai"),
        ("call_1", "pydantic-ai"),
    ]


def test_a_failure_a_denial_and_broken_arguments_reach_the_model_as_failures() -> None:
    toolkit, _ = a_toolkit(Approval.deny("keep it"))
    calls = [("fail", {}), ("delete", {"path": "x"}), ("add", "not json"), ("add", "{'a': 4,}")]
    result = asyncio.run(Agent(model(*calls), toolsets=[ToolkitToolset(toolkit)]).run("go"))
    failed, denied, broken, mended = returned(result.all_messages())
    assert "ValueError: broken" in str(failed.content)
    assert failed.outcome == denied.outcome == broken.outcome == "failed"
    assert "keep it" in str(denied.content)
    assert "ToolJSONDecodeError" in str(broken.content)
    assert mended.content == "5"


def test_a_picture_reaches_the_model_as_one() -> None:
    toolkit, _ = a_toolkit()
    result = asyncio.run(Agent(model(("plot", {})), toolsets=[ToolkitToolset(toolkit)]).run("go"))
    [part] = returned(result.all_messages())
    assert isinstance(part.content, list)
    assert part.content[0] == "two bars"
    assert isinstance(part.content[1], BinaryContent)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Approval.allow(), "deleted x"),
        (Approval.edit({"path": "y"}), "deleted y"),
        (Approval.deny("keep it"), "The user denied this call: keep it"),
        (Approval.respond("gone already"), "The user gave this in place of a run: gone already"),
    ],
    ids=["allow", "edit", "deny", "respond"],
)
def test_a_question_goes_the_way_of_pydantic_ais_deferred_calls(answer: Approval, expected: str) -> None:
    toolkit, person = a_toolkit(answer)
    toolset = ToolkitToolset(toolkit, approvals="deferred")
    agent = Agent(
        model(("delete", {"path": "x"}), ("add", {"a": 1})), toolsets=[toolset], output_type=[str, DeferredToolRequests]
    )

    async def run() -> list[ModelMessage]:
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        [call] = first.output.approvals
        assert (call.tool_name, call.args) == ("delete", {"path": "x"})
        assert person.asked == []
        assert [entry.tool for entry in toolkit.log] == ["add"]
        assert "suggested_rules" in first.output.metadata[call.tool_call_id]
        results = await toolset.resolve(first.output)
        second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert second.output == "done"
        return second.all_messages()

    texts = [str(part.content) for part in returned(asyncio.run(run()))]
    assert expected in texts
    assert person.asked == [("delete", {"path": "x"})]


def test_what_a_rule_denies_stays_denied_where_pydantic_ai_approves() -> None:
    toolkit, _ = a_toolkit()
    toolset = ToolkitToolset(toolkit, approvals="deferred")
    agent = Agent(model(("delete", {"path": "x"})), toolsets=[toolset], output_type=[str, DeferredToolRequests])

    async def run() -> list[ModelMessage]:
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        toolkit.add_rule("delete", "deny")
        results = first.output.build_results(approve_all=True)
        return (await agent.run(message_history=first.all_messages(), deferred_tool_results=results)).all_messages()

    assert returned(asyncio.run(run()))[-1].outcome == "failed"


def test_tools_that_are_switched_on_during_a_run_are_there_in_its_next_step() -> None:
    from nbtoolkit import FunctionTool, ToolGroup

    def extra() -> str:
        """More."""
        return "more"

    group = ToolGroup("more", "More tools.", tools=[FunctionTool(extra, is_read_only=True)])
    toolkit = Toolkit(tool_groups=[group])
    seen: list[list[str]] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([tool.name for tool in info.function_tools])
        calls = [("reset_tools", {"more": True}), ("extra", {})]
        if len(seen) > len(calls):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = calls[len(seen) - 1]
        return ModelResponse(parts=[ToolCallPart(name, arguments)])

    result = asyncio.run(Agent(FunctionModel(reply), toolsets=[ToolkitToolset(toolkit)]).run("go"))
    assert seen == [["reset_tools"], ["reset_tools", "extra"], ["reset_tools", "extra"]]
    assert returned(result.all_messages())[1].content == "more"


def test_a_tool_of_pydantic_ai_is_one_of_ours_and_is_asked_about() -> None:
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    toolkit, person = a_toolkit(Approval.allow())
    toolkit.add_tool_sync(Tool(shout, name="loud", description="Loud."))
    assert toolkit.call_sync("loud", text="a").value == "A"
    assert person.asked == [("loud", {"text": "a"})]

    def of_agent(ctx: RunContext[None]) -> str:
        """Needs an agent."""
        return str(ctx)

    with pytest.raises(TypeError, match="takes a RunContext"):
        toolkit.add_tool_sync(Tool(of_agent, takes_ctx=True))
