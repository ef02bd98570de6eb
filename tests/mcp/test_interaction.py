"""A server's questions: put where the call came from, answered by a handler or the host, else refused."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel

from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer, SamplingRequest, set_host
from nbtoolkit.mcp.oauth import SignIn
from nbtoolkit.message import ToolResultState
from tests.mcp.support import attached, in_memory, said, until, use

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}},
    "required": ["name"],
}
LINK = {"mode": "url", "message": "Sign in", "url": "https://a.example/in", "elicitationId": "e1"}
SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}],
    "maxTokens": 10,
    "systemPrompt": "Be brief",
}
place: ContextVar[str] = ContextVar("place", default="nowhere")


@pytest.fixture(autouse=True)
def no_host() -> Iterator[None]:
    yield
    set_host(None)


async def asked(client: Any, **arguments: Any) -> Any:
    return json.loads(said(await use(client, "ask", **arguments)))


def test_a_handler_answers_in_the_callers_loop_thread_and_context() -> None:
    seen: list[Any] = []

    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        seen.append((message, schema, threading.current_thread(), asyncio.get_running_loop(), place.get()))
        return {"name": "Ada"}

    async def scenario() -> None:
        async with attached(elicitation_handler=handler) as client:
            place.set("here")
            answer = await asked(client, schema=FORM)
            assert answer == {"action": "accept", "content": {"name": "Ada", "age": 7}}
            assert seen == [("Who are you?", FORM, threading.current_thread(), asyncio.get_running_loop(), "here")]

    asyncio.run(scenario())


def test_none_declines() -> None:
    async def handler(message: str, schema: dict[str, Any]) -> None:
        return None

    async def scenario() -> None:
        async with attached(elicitation_handler=handler) as client:
            assert await asked(client, schema=FORM) == {"action": "decline"}

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", [{"name": 5}, {}, {"name": "Ada", "age": "old"}])
def test_an_answer_that_does_not_fit_the_form_is_not_sent(answer: dict[str, Any]) -> None:
    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return answer

    async def scenario() -> None:
        async with attached(elicitation_handler=handler) as client:
            error = await asked(client, schema=FORM)
            assert error["code"] == -32602
            assert "doesn't fit" in error["message"]

    asyncio.run(scenario())


def test_a_handler_that_fails_tells_the_server_nothing_of_it() -> None:
    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("a secret")

    async def scenario() -> None:
        async with attached(elicitation_handler=handler) as client:
            assert (await asked(client, schema=FORM))["message"] == "The question could not be answered."

    asyncio.run(scenario())


def test_with_nobody_to_ask_the_server_is_told_so() -> None:
    async def scenario() -> None:
        async with attached() as client:
            assert (await asked(client, schema=FORM))["message"] == "Elicitation not supported"

    asyncio.run(scenario())


def test_the_time_of_a_call_stands_still_while_a_person_thinks() -> None:
    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1.5)
        return {"name": "Ada"}

    async def scenario() -> None:
        async with attached(elicitation_handler=handler, execution_timeout=1.0) as client:
            assert (await asked(client, schema=FORM))["action"] == "accept"
            late = await use(client, "sleep", seconds=600)
            assert late.state is ToolResultState.ERROR

    asyncio.run(scenario())


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_call_that_is_cancelled_takes_its_question_with_it(
    limit: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[str] = []
    begun = threading.Event()

    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {}

    async def scenario() -> None:
        async with attached(elicitation_handler=handler, execution_timeout=limit) as client:
            call = asyncio.ensure_future(use(client, "ask", schema=FORM))
            await until(begun.is_set, "the question")
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await until(lambda: ended == ["cancelled"], "the end of the question")

    asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records if record.name == "nbtoolkit.mcp"] == []


class Notebook:
    """A host that answers as it is told."""

    def __init__(self, answer: ElicitationAnswer | None = None, allow: bool = True) -> None:
        self.answer = answer or ElicitationAnswer("cancel")
        self.allow = allow
        self.questions: list[Elicitation] = []
        self.requests: list[SamplingRequest] = []

    async def elicit(self, question: Elicitation) -> ElicitationAnswer:
        self.questions.append(question)
        return self.answer

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        self.requests.append(request)
        return self.allow

    async def sign_in(self, request: SignIn) -> str | None:
        return None


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_host_is_asked_where_no_handler_is_given(action: Any) -> None:
    host = Notebook(ElicitationAnswer(action, {"name": "Ada"}))
    set_host(host)

    async def scenario() -> None:
        async with attached() as client:
            assert (await asked(client, schema=FORM))["action"] == action
            assert host.questions == [Elicitation("plain", "Who are you?", FORM)]

    asyncio.run(scenario())


def test_a_link_is_a_question_of_its_own_and_sends_no_content() -> None:
    host = Notebook(ElicitationAnswer("accept", {"name": "Ada"}))
    set_host(host)

    async def scenario() -> None:
        async with attached() as client:
            assert await asked(client, params=LINK) == {"action": "accept"}
            assert host.questions[0].url == "https://a.example/in"

    asyncio.run(scenario())


class Form(BaseModel):
    name: str
    age: int = 7


async def who() -> Elicit[Form]:
    return Elicit("Who are you?", Form)


def test_in_the_newer_era_a_question_is_answered_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MCPServer("modern")

    @server.tool()
    async def greet(form: Annotated[Form, Resolve(who)]) -> str:
        return f"{form.name}, {form.age}"

    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"name": place.get()}

    async def scenario() -> None:
        client = in_memory(monkeypatch, server, elicitation_handler=handler)
        await client.connect()
        assert client.status().era == "2026-07-28"
        place.set("there")
        assert said(await use(client, "greet")) == "there, 7"
        await client.close()

    asyncio.run(scenario())


# ---------------------------------------------------------------------------------------------------- sampling
async def model(request: SamplingRequest) -> str:
    assert request.messages[0]["content"]["text"] == "Why?"
    assert (request.max_tokens, request.system_prompt) == (10, "Be brief")
    return "Because."


def test_a_sampling_handler_answers_for_a_model() -> None:
    async def scenario() -> None:
        async with attached(sampling_handler=model) as client:
            answer = await asked(client, method="sampling/createMessage", params=SAMPLE)
            assert answer["content"] == {"type": "text", "text": "Because."}
            assert answer["role"] == "assistant"

    asyncio.run(scenario())


def test_the_person_is_asked_before_a_model_answers() -> None:
    host = Notebook(allow=False)
    set_host(host)

    async def scenario() -> None:
        async with attached(sampling_handler=model) as client:
            answer = await asked(client, method="sampling/createMessage", params=SAMPLE)
            assert "declined" in answer["message"]
            assert host.requests[0].server == "plain"

    asyncio.run(scenario())


def test_without_a_handler_sampling_is_refused() -> None:
    async def scenario() -> None:
        async with attached() as client:
            answer = await asked(client, method="sampling/createMessage", params=SAMPLE)
            assert answer["message"] == "Sampling not supported"

    asyncio.run(scenario())


# ------------------------------------------------------------------------------------------------ roots and log
def test_roots_are_told_only_where_they_were_given(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with attached(roots=[tmp_path]) as client:
            answer = await asked(client, method="roots/list", params={})
            assert answer == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
        async with attached() as client:
            assert "not supported" in (await asked(client, method="roots/list", params={}))["message"]

    asyncio.run(scenario())


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
def test_a_servers_log_messages_stand_in_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MCPServer("logging")

    @server.tool()
    async def speak(ctx: Context) -> str:
        await ctx.log("warning", "mind the gap")
        return "spoken"

    async def scenario() -> None:
        client = in_memory(monkeypatch, server)
        await client.connect()
        await use(client, "speak")
        assert "[warning] mind the gap" in client.log_tail
        await client.close()

    asyncio.run(scenario())
