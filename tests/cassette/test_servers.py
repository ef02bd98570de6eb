"""Servers on a cassette: attached, listed, called, asking and reporting, with no server there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.exception import CassetteError, CassetteMissError
from nbtoolkit.mcp import MCPClient, StdioMCPConfig, taping
from nbtoolkit.mcp.interaction import Elicitation
from nbtoolkit.mcp.session import Session
from nbtoolkit.message import ToolResultState
from nbtoolkit.redact import MARK
from nbtoolkit.tool import Toolkit
from tests.cassette.test_tapes import person
from tests.mcp.support import attached, in_memory, until
from tests.mcp.test_resources import server as offers

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "pin": {"type": "string", "writeOnly": True}},
    "required": ["name"],
}


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    if taping.tape is not None:  # of a test that failed
        taping.tape.stop()  # type: ignore[attr-defined]


async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Ada", "pin": "tuxedo-1"}


async def story(toolkit: Toolkit, client: MCPClient) -> list[tuple[str, str, Any, Any]]:
    """Calls of the plain server: what each gave, and the progress that was heard."""
    toolkit.approver = person
    await toolkit.add_tool(client)
    told = []
    calls: list[tuple[str, dict[str, Any]]] = [
        ("echo", {"text": "hello"}),
        ("sleep", {"steps": 2}),
        ("ask", {"schema": FORM}),
        ("echo", {"words": 1}),
    ]
    for name, arguments in calls:
        chunks = [each async for each in toolkit.call_tool(block(f"mcp__plain__{name}", arguments))]
        response = chunks.pop()
        told.append((response.state.value, response.text, response.value, [c.metadata for c in chunks if c.metadata]))  # type: ignore[union-attr]
    return told


def block(name: str, arguments: dict[str, Any]) -> Any:
    from nbtoolkit.tool.run import new_call

    return new_call(name, json.dumps(arguments))


async def recorded() -> list[Any]:
    toolkit = Toolkit()
    with toolkit.record("x.jsonl"):
        async with attached(stream_progress=True, elicitation_handler=handler) as client:
            return await story(toolkit, client)


def nowhere(**options: Any) -> MCPClient:
    """A client of a server that can't be started."""
    config = StdioMCPConfig(command="/nowhere/server")
    return MCPClient(name="plain", is_stateful=True, mcp_config=config, **options)


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("x.jsonl").read_text("utf-8").splitlines()[1:]]


def test_a_replay_needs_no_server() -> None:
    async def scenario() -> None:
        before = await recorded()
        toolkit, client = Toolkit(), nowhere(stream_progress=True)
        with toolkit.replay("x.jsonl") as tape:
            states = [client.is_connected]
            await client.connect()
            states.append(client.is_connected)
            after = await story(toolkit, client)
            await client.close()
            states.append(client.is_connected)
            assert tape.unused == []
        assert states == [False, True, False]
        # What went into the masked field, and came back in the result, is all that is missing.
        assert repr([each[:3] for each in after]) == repr([each[:3] for each in before]).replace("tuxedo-1", MARK)
        # How many snapshots come in between is a matter of time.
        assert after[1][3][-1]["mcp_progress"]["progress"] == 2.0

    asyncio.run(scenario())


def test_the_file_says_how_a_server_was_reached_what_it_offers_and_what_it_asked() -> None:
    asyncio.run(recorded())
    kinds = [next(iter(each)) for each in entries()]
    assert kinds[:2] == ["server", "offers"]
    first = entries()[0]
    assert first["server"] == "plain"
    assert first["reached"].startswith("python")
    assert [each["offers"] for each in entries() if "offers" in each][:2] == ["echo", "sleep"]
    asked = next(each for each in entries() if each.get("call") == "ask")
    assert asked["on"] == "plain"
    assert asked["decision"] == "allowed once"
    assert asked["questions"] == [
        {
            "message": "Who are you?",
            "schema": FORM,
            "action": "accept",
            "content": {"name": "Ada", "pin": MARK},
        }
    ]
    assert "tuxedo" not in Path("x.jsonl").read_text("utf-8")


def test_what_was_looked_at_of_a_servers_log_is_shown_again() -> None:
    async def scenario() -> None:
        with Toolkit().record("x.jsonl"):
            async with attached() as client:
                await client.call_raw("flood", {"bytes": 200})
                await until(lambda: len(client.log_tail) == 2, "the words")
                assert client.read_log() == ["x" * 99] * 2
        with Toolkit().replay("x.jsonl") as tape:
            client = nowhere()
            await client.connect()
            await client.call_raw("flood", {"bytes": 200})
            assert [client.read_log(), client.log_tail, tape.unused] == [["x" * 99] * 2, [], []]

    asyncio.run(scenario())


def test_after_a_replay_its_servers_are_not_connected() -> None:
    async def scenario() -> None:
        await recorded()
        toolkit, client = Toolkit(), nowhere()
        with toolkit.replay("x.jsonl"):
            await client.connect()
            await toolkit.add_tool(client)
        assert not client.is_connected
        toolkit.mode = "bypass"
        response = await toolkit.call("mcp__plain__echo", text="hello")
        assert "stateful, but not connected" in response.text

    asyncio.run(scenario())


def test_a_server_that_was_not_recorded_and_a_call_that_was_not_say_so() -> None:
    async def scenario() -> None:
        await recorded()
        toolkit, client = Toolkit(), nowhere()
        toolkit.mode = "bypass"
        other = MCPClient(name="other", is_stateful=True, mcp_config=StdioMCPConfig(command="/nowhere"))
        with toolkit.replay("x.jsonl"):
            with pytest.raises(CassetteError, match="has no MCP server 'other'; it has plain"):
                await other.connect()
            await client.connect()
            await toolkit.add_tool(client)
            with pytest.raises(CassetteMissError, match='no call echo on plain\\(text="bye"\\)'):
                await toolkit.call("mcp__plain__echo", text="bye")

    asyncio.run(scenario())


def test_a_handler_of_the_users_own_is_asked_again_and_must_answer_the_same() -> None:
    async def scenario() -> None:
        await recorded()
        answers: list[dict[str, Any] | None] = [{"name": "Ada", "pin": "another"}, {"name": "Grace"}, None]

        async def again(message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
            assert (message, schema) == ("Who are you?", FORM)
            return answers.pop(0)

        toolkit, client = Toolkit(), nowhere(elicitation_handler=again)
        toolkit.mode = "bypass"
        with toolkit.replay("x.jsonl"):
            await client.connect()
            await toolkit.add_tool(client)
            response = await toolkit.call("mcp__plain__ask", schema=FORM)
            assert '"Ada"' in response.text
            for said in ("'Grace'", "None"):
                with pytest.raises(CassetteError, match=f"answers .*{said}.* now, but accept .*'Ada'.* in line"):
                    await toolkit.call("mcp__plain__ask", schema=FORM)

    asyncio.run(scenario())


def test_another_answer_of_a_handler_is_told_without_its_secrets() -> None:
    async def other(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"name": "Grace", "pin": "another-secret"}

    async def scenario() -> None:
        await recorded()
        toolkit, client = Toolkit(), nowhere(elicitation_handler=other)
        toolkit.mode = "bypass"
        with toolkit.replay("x.jsonl"):
            await client.connect()
            await toolkit.add_tool(client)
            with pytest.raises(CassetteError, match="'Grace'") as caught:
                await toolkit.call("mcp__plain__ask", schema=FORM)
        assert "another-secret" not in str(caught.value)

    asyncio.run(scenario())


def test_the_host_hears_of_questions_that_the_cassette_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Elicitation] = []

    class Host:
        async def passed_over(self, question: Elicitation) -> None:
            heard.append(question)

    async def scenario() -> None:
        await recorded()
        monkeypatch.setattr("nbtoolkit.mcp.interaction._host", Host())
        toolkit, client = Toolkit(), nowhere()
        toolkit.mode = "bypass"
        with toolkit.replay("x.jsonl"):
            await client.connect()
            await toolkit.add_tool(client)
            await toolkit.call("mcp__plain__ask", schema=FORM)

    asyncio.run(scenario())
    assert heard == [Elicitation("plain", "Who are you?", FORM)]


def test_a_server_that_dies_dies_in_the_replay_too() -> None:
    async def scenario() -> None:
        toolkit = Toolkit()
        toolkit.mode = "bypass"
        with toolkit.record("x.jsonl"):
            async with attached() as client:
                await toolkit.add_tool(client)
                before = await toolkit.call("mcp__plain__die")
        again, stand = Toolkit(), nowhere()
        again.mode = "bypass"
        with again.replay("x.jsonl"):
            await stand.connect()
            await again.add_tool(stand)
            after = await again.call("mcp__plain__die")
        assert before.state is after.state is ToolResultState.ERROR
        assert after.text == before.text

    asyncio.run(scenario())


def test_resources_and_prompts_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(client: MCPClient) -> list[Any]:
        return [
            [str(each.uri) for each in await client.list_resources()],
            [(type(each).__name__, getattr(each, "text", None)) for each in await client.read_resource("note://today")],
            [(role, getattr(each, "text", None)) for role, each in await client.get_prompt("greet", name="Ada")],
            await client.complete("day", "m", template="note://{day}"),
        ]

    async def scenario() -> None:
        toolkit = Toolkit()
        with toolkit.record("x.jsonl"):
            async with in_memory(monkeypatch, offers) as client:
                before = await look(client)
        monkeypatch.setattr(Session, "_transport", lambda self: 1 / 0)
        stand = MCPClient(name="memory", is_stateful=True, mcp_config=StdioMCPConfig(command="/nowhere"))
        with toolkit.replay("x.jsonl"):
            await stand.connect()
            assert await look(stand) == before
            with pytest.raises(CassetteMissError, match="no request read_resource on memory"):
                await stand.read_resource("note://monday")

    asyncio.run(scenario())
