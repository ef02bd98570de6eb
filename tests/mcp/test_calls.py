"""Calls that are made beside the SDK's dispatcher: what servers may answer, when, and what that costs."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from mcp import MCPError
from pydantic import ValidationError

from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.mcp.calls import FIRST_NUMBER, Calls
from nbtoolkit.mcp.meaning import Meaning
from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import PATIENCE, PLAIN, attached, said, until, use

VERSION = "2025-06-18"
ANSWER = {"content": [{"type": "text", "text": "hi"}]}


class Wire:
    """Calls whose other end is the test."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.calls = Calls(self.write, self.write_now, Meaning())

    async def write(self, line: bytes) -> None:
        self.write_now(line)

    def write_now(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        self.sent.append(json.loads(line))

    def heard(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))

    async def begin(self) -> asyncio.Task[Any]:
        task = asyncio.create_task(self.calls.call("echo", {"text": "hi"}, self.heard, VERSION, {}))
        await asyncio.sleep(0)
        return task

    def take(self, **message: Any) -> bool:
        return self.calls.take(json.dumps({"jsonrpc": "2.0", **message}))


def test_a_call_is_the_request_of_the_protocol_and_takes_its_answer_and_progress() -> None:
    async def scenario() -> None:
        wire = Wire()
        task = await wire.begin()
        number = wire.sent[0]["id"]
        assert wire.sent == [
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": "hi"}, "_meta": {"progressToken": number}},
            }
        ]
        assert number >= FIRST_NUMBER
        notify = "notifications/progress"
        assert wire.take(method=notify, params={"progressToken": number, "progress": 1, "total": 2, "message": "half"})
        assert wire.take(method=notify, params={"progressToken": str(number), "progress": 1.5, "total": "x"})
        assert wire.progress == [(1.0, 2.0, "half"), (1.5, None, None)]
        # A version to come may say more of a result; it means nothing in this one.
        assert wire.take(id=str(number), result={**ANSWER, "resultType": "complete"})
        assert (await task).content[0].text == "hi"
        assert wire.calls.pending == {}

    asyncio.run(scenario())


def test_a_listener_that_fails_ends_neither_its_call_nor_the_reading() -> None:
    async def scenario() -> None:
        wire = Wire()
        wire.heard = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
        task = await wire.begin()
        assert wire.take(method="notifications/progress", params={"progressToken": FIRST_NUMBER, "progress": 1})
        assert wire.take(id=FIRST_NUMBER, result=ANSWER)
        assert (await task).content[0].text == "hi"

    asyncio.run(scenario())


@pytest.mark.parametrize("long", ["progress", "total"])
def test_progress_in_numbers_that_no_float_holds_ends_nothing(long: str) -> None:
    async def scenario() -> None:
        wire = Wire()
        task = await wire.begin()
        params = {"progressToken": FIRST_NUMBER, "progress": 1, "total": 2, long: 10**400}
        assert wire.take(method="notifications/progress", params=params)
        assert wire.progress == []
        assert wire.take(id=FIRST_NUMBER, result=ANSWER)
        assert (await task).content[0].text == "hi"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": ANSWER},
        {"id": None, "result": ANSWER},
        {"id": [], "result": ANSWER},
        {"id": True, "result": ANSWER},
        {"id": "9" * 5000, "result": ANSWER},
        {"id": FIRST_NUMBER, "result": []},
        {"id": FIRST_NUMBER, "error": "no"},
        {"id": FIRST_NUMBER, "method": "ping"},
        {"method": "notifications/progress"},
        {"method": "notifications/progress", "params": {"progressToken": FIRST_NUMBER, "progress": "much"}},
        {"method": "notifications/progress", "params": {"progressToken": {}, "progress": 1}},
        {"jsonrpc": "1.0", "id": FIRST_NUMBER, "result": ANSWER},
    ],
)
def test_what_is_no_answer_to_a_call_is_left_to_the_sdk(message: dict[str, Any]) -> None:
    async def scenario() -> None:
        wire = Wire()
        task = await wire.begin()
        assert not wire.take(**message)
        assert not wire.calls.take("no json")
        assert not wire.calls.take("[" * 100_000)
        assert wire.progress == []
        wire.take(id=FIRST_NUMBER, result=ANSWER)
        await task

    asyncio.run(scenario())


def test_a_refusal_an_end_and_a_result_that_is_none_are_errors_of_the_sdk() -> None:
    async def scenario() -> None:
        wire = Wire()
        task = await wire.begin()
        assert wire.take(id=FIRST_NUMBER, error={"code": -32602, "message": "no such tool", "data": {"a": 1}})
        with pytest.raises(MCPError, match="no such tool") as refused:
            await task
        assert (refused.value.code, refused.value.error.data) == (-32602, {"a": 1})
        task = await wire.begin()
        assert wire.take(id=FIRST_NUMBER + 1, result={"content": [{"type": "text", "text": 1}]})
        with pytest.raises(ValidationError):
            await task
        task = await wire.begin()
        wire.calls.close()
        with pytest.raises(MCPError, match="Connection closed"):
            await task
        with pytest.raises(MCPError, match="Connection closed"):
            await (await wire.begin())

    asyncio.run(scenario())


def test_a_cancelled_call_tells_the_server_and_its_late_answer_is_the_sdks_to_drop() -> None:
    async def scenario() -> None:
        wire = Wire()
        task = await wire.begin()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert wire.sent[1:] == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": FIRST_NUMBER, "reason": "caller cancelled"},
            }
        ]
        assert not wire.take(id=FIRST_NUMBER, result=ANSWER)

    asyncio.run(scenario())


@pytest.mark.parametrize("text", ["\ud800", object()])
def test_arguments_that_can_not_be_sent_are_no_fault_of_the_server(text: Any) -> None:
    async def scenario() -> None:
        async with attached() as client:
            chunk = await use(client, "echo", text=text)
            assert chunk.state is ToolResultState.ERROR
            assert said(chunk).startswith("The arguments can't be sent to the MCP server 'plain': ")
            assert said(await use(client, "echo", text="still here")) == "still here"

    asyncio.run(scenario())


def test_a_call_looks_at_no_list_of_tools_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> list[Any]:
        raise AssertionError("a list was looked through")

    async def scenario() -> None:
        async with attached("--tools", "992") as client:
            toolkit = Toolkit(mcps=[client])
            toolkit.mode = "bypass"
            assert len(await client.list_tools()) == 1000
            monkeypatch.setattr(MCPClient, "list_tools", never)
            assert (await toolkit.call("mcp__plain__echo", text="x")).text == "x"

    asyncio.run(scenario())


def test_calls_of_the_newest_era_are_made_here_and_what_they_ask_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answers: list[dict[str, Any] | None] = [{"name": "Pip"}, None]
    heard: list[dict[str, Any]] = []

    async def answer(message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(message)
        return answers.pop(0)

    async def scenario() -> None:
        config = StdioMCPConfig(command=sys.executable, args=[str(PLAIN.with_name("modern.py"))])
        client = MCPClient(name="modern", is_stateful=True, mcp_config=config, elicitation_handler=answer)
        async with client, asyncio.timeout(4 * PATIENCE):
            assert client.status().era == "2026-07-28"
            assert said(await use(client, "echo", text="hi")) == "hi"
            session = client._connection.session
            assert session is not None
            # The SDK isn't asked.
            monkeypatch.setattr(session.client, "call_tool", None)
            assert said(await use(client, "echo", text="here")) == "here"
            monkeypatch.undo()
            counted = await use(client, "count", numbers=[1, 2])
            assert counted.value == {"count": 2}
            result = await client.call_raw("steps", {}, heard.append)
            assert "three steps" in str(result.content)
            assert [each["message"] for each in heard] == ["step 1", "step 2", "step 3"]
            # Its default fills what was left out; and declined is declined.
            assert said(await use(client, "register", nest=12)) == "nest 12: Pip, 300 g"
            declined = await use(client, "register", nest=13)
            assert declined.state is ToolResultState.ERROR
            assert asked == ["There is a chick in nest 12.", "There is a chick in nest 13."]
            refused = await use(client, "refuse")
            assert said(refused) == "The MCP server 'modern' refused the call: not today"
            waiting = asyncio.ensure_future(use(client, "wait"))
            await until(lambda: client.status().calls, "the call")
            waiting.cancel()
            await asyncio.wait({waiting})
            assert waiting.cancelled()
            # It goes on with the next.
            assert said(await use(client, "echo", text="still")) == "still"

    asyncio.run(scenario())
