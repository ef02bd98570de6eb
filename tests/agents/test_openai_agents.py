"""The toolkit's tools in the OpenAI Agents SDK, with its own runner and a model by script."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    Usage,
    function_tool,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from nbtoolkit.agents.openai_agents import tools_sync
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nbtoolkit import Toolkit


class Scripted(Model):
    """Makes the calls in its first reply, then says so."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls = calls
        self.seen: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        self.seen = list(input)
        output: list[Any] = []
        if any(isinstance(item, dict) and item.get("type") == "function_call_output" for item in self.seen):
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output.append(
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            )
        else:
            for n, (name, given) in enumerate(self.calls):
                arguments = given if isinstance(given, str) else json.dumps(given)
                output.append(
                    ResponseFunctionToolCall(
                        type="function_call", id=f"fc_{n}", call_id=f"call_{n}", name=name, arguments=arguments
                    )
                )
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    @property
    def outputs(self) -> dict[str, Any]:
        return {item["call_id"]: item["output"] for item in self.seen if item.get("type") == "function_call_output"}


QUIET = RunConfig(tracing_disabled=True)


def agent(toolkit: Toolkit, model: Model, **options: Any) -> Agent[Any]:
    return Agent(name="analyst", model=model, tools=[*tools_sync(toolkit, **options)])


def test_calls_run_through_the_pipeline_under_their_ids() -> None:
    toolkit, person = a_toolkit(Approval.allow())
    model = Scripted(("add", {"a": 1}), ("delete", {"path": "x"}), ("fail", {}), ("add", "{'a': 4,}"), ("plot", {}))
    result = asyncio.run(Runner.run(agent(toolkit, model), "go", run_config=QUIET))
    assert result.final_output == "done"
    outputs = model.outputs
    assert (outputs["call_0"], outputs["call_1"], outputs["call_3"]) == ("2", "deleted x", "5")
    assert outputs["call_2"].startswith("Error: ")
    assert [part["type"] for part in outputs["call_4"]] == ["input_text", "input_image"]
    assert person.asked == [("delete", {"path": "x"})]
    assert {entry.id for entry in toolkit.log} == {f"call_{n}" for n in range(5)}


@pytest.mark.parametrize("approved", [True, False])
def test_a_question_interrupts_the_run_and_its_answer_runs_it_on(approved: bool) -> None:
    toolkit, person = a_toolkit()
    model = Scripted(("delete", {"path": "x"}), ("add", {"a": 1}))
    made = agent(toolkit, model, approvals="deferred")

    async def run() -> Any:
        first = await Runner.run(made, "go", run_config=QUIET)
        [interruption] = first.interruptions
        assert interruption.name == "delete"
        assert "delete" not in [entry.tool for entry in toolkit.log]
        state = first.to_state()
        if approved:
            state.approve(interruption)
        else:
            state.reject(interruption)
        return await Runner.run(made, state, run_config=QUIET)

    assert asyncio.run(run()).final_output == "done"
    assert (model.outputs["call_0"] == "deleted x") is approved
    assert model.outputs["call_1"] == "2"
    assert person.asked == []


def test_a_function_tool_of_the_sdk_is_one_of_ours_and_is_asked_about() -> None:
    @function_tool
    def shout(text: str, times: int = 1) -> str:
        """Shout."""
        return text.upper() * times

    @function_tool
    def named(context: RunContextWrapper[Any], text: str) -> str:
        """Shout, with a context."""
        return f"{text} {context.context}"

    toolkit, person = a_toolkit(Approval.allow(), Approval.allow())
    toolkit.add_tool_sync([shout, named])
    assert toolkit.call_sync("shout", text="a", times=2).text == "AA"
    assert person.asked == [("shout", {"text": "a", "times": 2})]
    assert toolkit.call_sync("named", text="a").text == "a None"
