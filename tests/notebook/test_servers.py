"""What the lines of ``%toolkit mcp`` say of servers: their words, their choice of tools, and servers by the way."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit import hooks
from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer, set_host
from nbtoolkit.notebook.command import parse
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.notebook.server_words import server_of
from nbtoolkit.notebook.session import Session
from tests.notebook.test_magics import PLAIN, desk

if TYPE_CHECKING:
    from tests.notebook.test_magics import Desk

__all__ = ["desk"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x ftp://localhost/mcp", "an MCP server is reached at a URL with http:// or https://, not ftp://, or started"),
        ("x http://", "'http://' doesn't do as a URL: url: "),
        ("x https://localhost/mcp --header Host=b", "The configuration's header 'Host' is owned by the HTTP layer."),
        ("x https://$hots/mcp", "the notebook has no variable 'hots'; did you mean 'host'?"),
        ("x run ${NOT_SET_HERE}/y", "${NOT_SET_HERE}: neither the notebook nor the environment has 'NOT_SET_HERE'"),
        ("x run ${sys}/y", "${sys}: neither the notebook nor the environment has 'sys'"),
        ("x localhost:8000/mcp", "The MCP server 'x' can't be reached (localhost:8000/mcp): there is no program"),
    ],
)
def test_what_can_be_no_server_is_one_line(desk: Desk, line: str, said: str) -> None:
    desk.shell.user_ns.update(host="localhost", sys=sys)
    assert desk.fault(f"%toolkit mcp add {line}").startswith(said)


@pytest.mark.parametrize(
    ("line", "config"),
    [
        ("${base}/mcp", HttpMCPConfig(url="http://here:1/mcp")),
        ("http://here:$port/${path}", HttpMCPConfig(url="http://here:1/mcp")),
        ("http://here:${port}/${NOT_SET:-mcp}", HttpMCPConfig(url="http://here:1/mcp")),
        (
            "http://here:1/mcp --header \"Authorization=Bearer $token\" --header 'X=Bearer $token'",
            HttpMCPConfig(url="http://here:1/mcp", headers={"Authorization": "Bearer s3cret", "X": "Bearer $token"}),
        ),
        (
            "run ~/a --at=${env:PLACE}/b '${port}' $ {port} \"${port} $port\" --env A=${port}x",
            StdioMCPConfig(
                command="run",
                args=[str(Path.home() / "a"), "--at=there/b", "${port}", "$", "1", "1 $port"],
                env={"A": "1x"},
            ),
        ),
    ],
)
def test_variables_are_put_into_the_words_of_a_server(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, line: str, config: Any
) -> None:
    monkeypatch.setenv("PLACE", "there")
    desk.shell.user_ns.update(base="http://here:1", port=1, path="mcp", token="s3cret")
    command = parse(f"mcp add x {line}", None, SPECS)
    assert server_of(Session(desk.shell, desk.toolkit), command).mcp_config == config


def test_a_chosen_tool_that_a_server_does_not_have_is_told_before_anything_is_attached(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    add = "%toolkit mcp add plain {sys.executable} -S $server"
    said = desk.fault(f"{add} --enable ecko,mcp__plain__die --disable xyz")
    assert said.startswith(
        "The MCP server 'plain' has no tool 'ecko', did you mean 'echo'?; no tool 'xyz', there is 'echo', "
    )
    assert desk.toolkit.mcps == []
    assert "1 tool\n" in desk.ok(f"{add} --enable mcp__plain__die").text
    desk.ok("%toolkit mcp remove plain")


def test_the_server_of_a_tool_that_was_added_alone_is_known_and_one_of_another_toolkit_is_not(desk: Desk) -> None:
    config = StdioMCPConfig(command=sys.executable, args=["-S", str(PLAIN)])
    client = MCPClient(name="alone", is_stateful=True, mcp_config=config)
    hooks.drive(client.connect())
    tool = hooks.drive(client.get_tool("echo"))
    hooks.drive(client.close())
    assert "%toolkit" not in hooks.drive(tool(text="x")).content[0].text
    desk.toolkit.add_tool_sync(tool)
    text = hooks.drive(tool(text="x")).content[0].text
    assert text.endswith("'await client.connect()' first, or write %toolkit mcp restart alone.")
    assert "closed" in desk.ok("%toolkit mcp list").text
    desk.ok("%toolkit mcp restart alone")
    desk.ok("r = %toolkit call mcp__alone__echo text=hi")
    desk.ok("%toolkit mcp remove alone")
    assert "mcp__alone__echo" not in {tool.name for _, tool in desk.toolkit.all_tools_sync()}
    assert not client.is_connected


def test_each_entry_that_can_not_be_started_is_told_and_one_that_is_switched_off_is_no_fault(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / ".mcp.json"
    desk.shell.user_ns["file"] = file
    file.write_text(json.dumps({"mcpServers": {"off": {"command": "a", "disabled": True}}}))
    assert "off isn't started: it is disabled in the file." in desk.ok("%toolkit mcp import $file --start").text
    file.write_text(json.dumps({"mcpServers": {"odd": {"command": "a", "args": ["${NOT_SET_HERE}"]}}}))
    fault = "The MCP server 'odd' can't be started: the environment variable 'NOT_SET_HERE' isn't set"
    assert desk.fault("%toolkit mcp import $file --start") == fault


def test_what_a_file_wants_to_be_told_is_asked_once_for_all_its_servers_and_shown_nowhere(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": ["-S", str(PLAIN)], "env": {"KEY": "${input:key}"}}
    inputs = [{"type": "promptString", "id": "key", "description": "API key", "password": True}]
    file.write_text(json.dumps({"inputs": inputs, "servers": {"one": entry, "two": entry}}))
    desk.shell.user_ns.update(file=file, x="one", secret="hush-hush-hush")
    assert "wants to be told 'key' before it starts" in desk.ok("%toolkit mcp import $file").text
    asked: list[Elicitation] = []

    class Person:
        async def elicit(self, question: Elicitation) -> ElicitationAnswer:
            asked.append(question)
            return ElicitationAnswer("accept", {"key": "hush-hush-hush"})

    # Nobody is there.
    set_host(None)
    fault = desk.fault("%toolkit mcp import $file $x --start")
    assert fault.startswith("The MCP server 'one' can't be started: it wants to be told 'key', and nobody said it")
    set_host(Person())  # type: ignore[arg-type]
    try:
        text = desk.ok("%toolkit mcp import $file --start").text
    finally:
        set_host(None)
    assert [(question.server, question.schema["required"]) for question in asked] == [("one", ["key"])]
    assert "hush" not in text
    configs = [client.mcp_config for client in desk.toolkit.mcps]
    assert [each.env for each in configs if each.type == "stdio_mcp"] == [{"KEY": "hush-hush-hush"}] * 2
    # A variable names a server in each of these lines.
    assert "mcp__one__echo" in desk.ok("%toolkit mcp tools $x").text
    desk.ok("%toolkit mcp log $x")
    desk.ok("%toolkit mcp restart {x}")
    desk.ok("%toolkit mcp remove $x")
    desk.ok("%toolkit mcp remove two")


HOSTILE_SERVER = PLAIN.with_name("hostile.py")
# A tag or an address of the server's that a page would take for its own.
LIVE = re.compile(r"<\s*(?:script|img|iframe|svg)\b|\bhref=[\"']?\s*javascript:", re.IGNORECASE)


@pytest.mark.filterwarnings("ignore")
def test_nothing_that_a_server_says_is_live_in_the_page_or_longer_than_a_page(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(HOSTILE_SERVER))
    lines = [
        "mcp add h {sys.executable} -S $server http://127.0.0.1:9/x",
        "list",
        "mcp list",
        "mcp tools h",
        "mcp resources h",
    ]
    lines += ["mcp prompts h", "mcp log h", "schema mcp__h__recursive", "schema mcp__h__wide"]
    desk.toolkit.mode = "bypass"
    lines += [
        f"call mcp__h__answer kind={kind!r}" for kind in ("html", "control", "error", "svg", "odd media type", "many")
    ]
    lines += ["log", "mcp remove h"]
    for line in lines:
        ran = desk.run(f"%toolkit {line}")
        assert ran.error is None, line
        # A response that is a picture alone has no text; the record of it is what "log" shows.
        assert ran.text or "kind=" in line, line
        for bundle in ran.shown:
            assert not LIVE.search(bundle.get("text/html", "")), line
            assert "\x1b" not in bundle.get("text/plain", ""), line
            assert "\u202e" not in bundle.get("text/plain", ""), line
            assert len(bundle.get("text/html", "")) < 1_000_000, line
