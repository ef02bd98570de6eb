"""The toolkit's tools for smolagents, with its own agents and a model by script, and its tools in ours."""

from __future__ import annotations

from typing import Any

import pytest
from smolagents import ChatMessage, CodeAgent, MessageRole, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from nbtoolkit import FunctionTool
from nbtoolkit.agents.smolagents import tools
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit


class Scripted(Model):  # type: ignore[misc] # the library is untyped
    """Says the given replies, one after the other: a text, or a tool call."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(model_id="scripted")
        self.replies = list(replies)
        self.seen: list[str] = []

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        self.seen = [str(message.content) for message in messages]
        reply = self.replies.pop(0)
        if isinstance(reply, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=reply)
        name, arguments = reply
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id="call_1", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def test_a_tool_calling_agent_is_asked_about_and_told_of_failures() -> None:
    toolkit, person = a_toolkit(Approval.allow(), Approval.deny("keep it"))
    replies = [("delete", {"path": "x"}), ("delete", {"path": "y"}), ("final_answer", {"answer": "done"})]
    model = Scripted(*replies)
    agent = ToolCallingAgent(tools=tools(toolkit), model=model, max_steps=4, verbosity_level=0)
    assert agent.run("go") == "done"
    said = "\n".join(model.seen)
    assert "deleted x" in said
    assert "keep it" in said
    assert person.asked == [("delete", {"path": "x"}), ("delete", {"path": "y"})]
    assert {entry.to_dict()["asked_by"] for entry in toolkit.log} == {"smolagents"}


def test_a_code_agent_gets_the_values_themselves_where_it_wants_them() -> None:
    toolkit, _ = a_toolkit()
    code = "Thought: add.\n<code>\nfinal_answer(add(a=1) + add(a=2, b=5))\n</code>"
    agent = CodeAgent(tools=tools(toolkit, values=True), model=Scripted(code), max_steps=1, verbosity_level=0)
    assert agent.run("go") == 9


def test_names_and_kinds_are_such_as_smolagents_takes() -> None:
    toolkit, _ = a_toolkit()

    def pick(rows: list[int], name: str | None = None) -> int:
        """Pick."""
        return rows[0]

    toolkit.add_tool_sync(FunctionTool(pick, name="mcp__git-x__pick", is_read_only=True))
    made = {each.name: each for each in tools(toolkit)}
    assert made["mcp__git_x__pick"].inputs["rows"]["type"] == "array"
    assert made["mcp__git_x__pick"].inputs["name"] == {"type": "any", "description": "name", "nullable": True}
    assert made["mcp__git_x__pick"](rows=[7]) == "7"
    with pytest.raises(RuntimeError, match="broken"):
        made["fail"]()


def test_a_tool_of_smolagents_is_one_of_ours_and_is_asked_about() -> None:
    @tool  # type: ignore[untyped-decorator] # the library is untyped
    def shout(text: str) -> str:
        """Shout.

        Args:
            text: What.
        """
        return text.upper()

    toolkit, person = a_toolkit(Approval.allow())
    toolkit.add_tool_sync(shout)
    assert toolkit.call_sync("shout", text="a").text == "A"
    assert person.asked == [("shout", {"text": "a"})]
