"""The toolkit's tools in LangChain and LangGraph, with LangGraph's own graph, and LangChain's tools in the toolkit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from nbtoolkit import Toolkit
from nbtoolkit.agents import langchain
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit

Calls = tuple[tuple[str, dict[str, Any]], ...]


def graph(toolkit: Toolkit, calls: Calls, **options: Any) -> Any:
    """A graph whose model makes these calls and whose tools are the toolkit's."""

    def model(state: MessagesState) -> dict[str, Any]:
        made = [{"name": n, "args": a, "id": f"call_{i}", "type": "tool_call"} for i, (n, a) in enumerate(calls)]
        return {"messages": [AIMessage("", tool_calls=made)]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode(langchain.tools_sync(toolkit, **options)))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    return builder.compile(checkpointer=InMemorySaver())


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


START_STATE = {"messages": [HumanMessage("go")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.mark.parametrize("way", ["async", "sync"])
def test_calls_run_through_the_pipeline_under_their_ids(way: str) -> None:
    toolkit, person = a_toolkit(Approval.allow(), Approval.deny("keep it"))
    calls: Calls = (
        ("add", {"a": 1}),
        ("delete", {"path": "x"}),
        ("delete", {"path": "y"}),
        ("fail", {}),
        ("add", {"a": "one"}),
        ("plot", {}),
    )
    made = graph(toolkit, calls)
    state = asyncio.run(made.ainvoke(START_STATE, THREAD)) if way == "async" else made.invoke(START_STATE, THREAD)
    added, deleted, kept, failed, wrong, plotted = results(state)
    assert (added.content, added.status, added.tool_call_id) == ("2", "success", "call_0")
    assert {deleted.status, kept.status} == {"success", "error"}
    assert "keep it" in str(deleted.content) + str(kept.content)
    assert failed.status == wrong.status == "error"
    assert "ValueError: broken" in str(failed.content)
    assert "ToolArgumentsError" in str(wrong.content)
    assert plotted.content[1]["type"] == "image"  # type: ignore[index]
    assert {name for name, _ in person.asked} == {"delete"}
    assert {entry.id for entry in toolkit.log} == {f"call_{n}" for n in range(6)}
    assert {entry.to_dict()["asked_by"] for entry in toolkit.log} == {"langchain"}


@pytest.mark.parametrize("way", ["async", "sync"])
@pytest.mark.parametrize(
    ("answer", "expected", "status"),
    [
        ({"decisions": [{"type": "approve"}]}, "deleted x", "success"),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "delete", "args": {"path": "y"}}}]}, "deleted y", "success"),
        ({"decisions": [{"type": "reject", "message": "keep it"}]}, "keep it", "error"),
        ({"decisions": [{"type": "respond", "message": "gone already"}]}, "gone already", "success"),
        (True, "deleted x", "success"),
        ("what?", "what?", "error"),
        ({"huh": 1}, "can't be read", "error"),
    ],
    ids=["approve", "edit", "reject", "respond", "true", "text", "unreadable"],
)  # fmt: skip
def test_a_question_interrupts_the_graph_and_its_answer_runs_it_on(
    answer: Any, expected: str, status: str, way: str
) -> None:
    toolkit, person = a_toolkit()
    made = graph(toolkit, (("delete", {"path": "x"}),), approvals="deferred")
    stopped = asyncio.run(made.ainvoke(START_STATE, THREAD)) if way == "async" else made.invoke(START_STATE, THREAD)
    [interrupt] = stopped["__interrupt__"]
    [action] = interrupt.value["action_requests"]
    assert (action["name"], action["args"]) == ("delete", {"path": "x"})
    assert len(toolkit.log) == 0
    resumed: Any = Command(resume=answer)
    state = asyncio.run(made.ainvoke(resumed, THREAD)) if way == "async" else made.invoke(resumed, THREAD)
    [message] = results(state)
    assert expected in str(message.content)
    assert message.status == status
    assert person.asked == []
    assert len(toolkit.log) == 1


def test_a_tool_called_by_hand_gives_its_content() -> None:
    toolkit, _ = a_toolkit()
    by_name = {tool.name: tool for tool in langchain.tools_sync(toolkit)}
    assert by_name["add"].invoke({"a": 1}) == "2"
    assert by_name["add"].args["b"]["default"] == 1


def test_a_tool_of_langchain_is_one_of_ours_and_is_asked_about() -> None:
    def shout(text: str, times: int = 1) -> str:
        """Shout."""
        if not text:
            raise ValueError("nothing to shout")
        return text.upper() * times

    toolkit, person = a_toolkit(Approval.allow(), Approval.allow())
    toolkit.add_tool_sync(StructuredTool.from_function(shout))
    assert toolkit.call_sync("shout", text="a", times="2").text == "AA"
    assert person.asked == [("shout", {"text": "a", "times": 2})]
    failed = toolkit.call_sync("shout", text="")
    assert (failed.state, "nothing to shout" in failed.text) == ("error", True)
    assert "Tool of LangChain" in toolkit.log[1].origin
