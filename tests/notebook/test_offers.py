"""What servers offer beside tools, in a notebook: resources and prompts are listed, shown and filled in."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator

import pytest
from mcp import MCPError
from mcp.server import MCPServer

from nbtoolkit import hooks
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.tables import how
from tests.mcp.support import PLAIN, in_memory
from tests.notebook.test_magics import Desk, Ran, desk

__all__ = ["desk"]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def offering() -> MCPServer:
    server = MCPServer("offers")

    @server.resource("note://today", title="Today", mime_type="text/plain", description="<b>A note</b>")
    def today() -> str:
        return "a <i>fine</i> day"

    @server.resource("image://dot", mime_type="image/png")
    def dot() -> bytes:
        return PNG

    @server.resource("note://{day}")
    def note(day: str) -> str:
        return f"about {day}"

    @server.prompt(description="Be kind")
    def greet(name: str, tone: str = "kind") -> str:
        if name == "nobody":
            raise MCPError(-32602, "nobody\nis \x1b[31mhere")
        return f"Greet {name}, {tone}"

    return server


@pytest.fixture
def attached(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    client = in_memory(monkeypatch, offering(), "offers")
    hooks.drive(client.connect())
    desk.toolkit.add_tool_sync(client)
    yield desk
    hooks.drive(client.close())


def html(ran: Ran) -> str:
    return "".join(bundle.get("text/html", "") for bundle in ran.shown)


def test_resources_and_their_patterns_are_listed_as_what_the_server_says(attached: Desk) -> None:
    ran = attached.ok("%toolkit mcp resources offers")
    assert "3 resources of offers" in ran.text
    assert "note://{day}" in ran.text
    assert "&lt;b&gt;A note&lt;/b&gt;" in html(ran)


def test_a_text_is_shown_escaped_and_an_image_as_one(attached: Desk) -> None:
    text = attached.ok("%toolkit mcp resources offers note://today")
    assert text.text == "offers: note://today\n    a <i>fine</i> day"
    assert "a &lt;i&gt;fine&lt;/i&gt; day" in html(text)
    assert "about friday" in attached.ok("%toolkit mcp resources offers note://friday").text
    assert '<img src="data:image/png;base64,iVBOR' in html(attached.ok("%toolkit mcp resources offers image://dot"))


def test_a_prompt_is_listed_with_its_arguments_and_filled_in(attached: Desk) -> None:
    listed = attached.ok("%toolkit mcp prompts offers").text
    assert "name [tone]" in listed
    filled = attached.ok("%toolkit mcp prompts offers greet name=Ada").text
    assert filled == "offers, user\n    Greet Ada, kind"
    missing = attached.run("%toolkit mcp prompts offers greet")
    assert "the prompt 'greet' needs name=…" in str(missing.error)
    refused = attached.run("%toolkit mcp prompts offers greet name=nobody").error
    assert isinstance(refused, CommandError)
    assert "the server offers refused" in str(refused)
    assert "\x1b" not in str(refused)
    assert "\n" not in str(refused)
    assert "did you mean 'greet'" in str(attached.run("%toolkit mcp prompts offers great").error)


def test_a_resource_that_is_not_there_is_one_line(attached: Desk) -> None:
    ran = attached.run("%toolkit mcp resources offers other://nosuch")
    assert isinstance(ran.error, CommandError)
    assert str(ran.error).startswith("the server offers refused: ")
    assert "nosuch" in str(ran.error)


def test_a_servers_word_for_what_only_reads_is_taken_where_it_is_trusted(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    desk.ok("%toolkit mcp add plain {sys.executable} -S $server --trust")
    desk.ok("%toolkit call mcp__plain__echo text=hi")
    assert desk.asked == []
    desk.ok("%toolkit mcp remove plain")


def test_a_secret_among_a_commands_arguments_stays_out_of_the_list() -> None:
    config = StdioMCPConfig(command="/opt/bin/serve", args=["--api-key", "s3cret", "--port", "8"])
    assert how(MCPClient(name="x", is_stateful=True, mcp_config=config)) == "serve --api-key … --port 8"
