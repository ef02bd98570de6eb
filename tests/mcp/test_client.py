"""The client as a model: what it takes, what it refuses and in which words, and what it never gives away."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
from tests.mcp.support import plain, said, use

HTTP = HttpMCPConfig(url="https://example.org/mcp?key=hush", headers={"Authorization": "Bearer hush"})
STDIO = StdioMCPConfig(command="server", env={"TOKEN": "hush"})


def test_importing_the_package_and_making_a_client_loads_no_sdk() -> None:
    code = (
        "import sys; from nbtoolkit.mcp import MCPClient, StdioMCPConfig, HttpMCPConfig;"
        "MCPClient('a', True, StdioMCPConfig(command='b'));"
        "print([name for name in ('mcp', 'mcp_types', 'httpx2', 'jsonschema', 'IPython') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout == "[]\n"


def test_a_stdio_server_must_be_stateful() -> None:
    with pytest.raises(ValueError, match=r"^STDIO MCP must be stateful \(is_stateful=True\)\.$"):
        MCPClient(name="a", is_stateful=False, mcp_config=STDIO)


def test_a_name_that_providers_refuse_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^MCPClient name 'my\.server' contains characters not allowed by LLM provi"):
        MCPClient(name="my.server", is_stateful=False, mcp_config=HTTP)


def test_a_tool_can_not_be_both_shown_and_hidden() -> None:
    with pytest.raises(
        ValueError, match=r"^The tools in enable_tools and disable_tools should not overlap, but got \{'b'\}\.$"
    ):
        MCPClient(name="a", is_stateful=False, mcp_config=HTTP, enable_tools=["a", "b"], disable_tools=["b"])


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match="enabled_tools"):
        MCPClient(name="a", is_stateful=False, mcp_config=HTTP, enabled_tools=["a"])


def test_the_dump_is_the_configuration_and_loads_back() -> None:
    async def handler(message: str, schema: dict[str, object]) -> None:
        return None

    client = MCPClient(name="a", is_stateful=False, mcp_config=HTTP, enable_tools=["x"], elicitation_handler=handler)
    asyncio.run(client.set_runtime_headers({"X-Token": "secret"}))
    dump = client.model_dump(mode="json")
    assert "secret" not in str(dump)
    assert "elicitation_handler" not in dump
    again = MCPClient.model_validate(dump)
    assert again.mcp_config == HTTP
    assert again.model_dump(mode="json") == dump


def test_a_repr_hides_what_may_be_a_secret() -> None:
    for config in (HTTP, STDIO):
        client = MCPClient(name="a", is_stateful=True, mcp_config=config)
        assert "hush" not in repr(client)
        assert "hush" not in str(client)
        assert "hush" not in config.describe()
        assert "hush" not in str(client.status())


def test_a_copy_starts_without_the_live_session() -> None:
    client = plain()
    asyncio.run(client.connect())
    try:
        for other in (client.model_copy(), copy.deepcopy(client), pickle.loads(pickle.dumps(client))):
            assert other == client or other.mcp_config == client.mcp_config
            assert not other.is_connected
        assert said(asyncio.run(use(client, "echo", text="still here"))) == "still here"
    finally:
        asyncio.run(client.close())


@pytest.mark.parametrize(
    ("url", "transport"),
    [
        ("https://a.example/sse", "sse"),
        ("https://a.example/sse?key=1", "sse"),
        ("https://a.example/messages/", "sse"),
        ("https://a.example/mcp", "http"),
        ("https://a.example/mcp?next=/sse", "http"),
        ("https://a.example/sse/mcp", "http"),
    ],
)
def test_the_path_of_a_url_tells_the_transport(url: str, transport: str) -> None:
    assert HttpMCPConfig(url=url).transport == transport


def test_a_client_that_is_not_connected_says_how_to_connect() -> None:
    with pytest.raises(ConnectionError, match=r"The MCP client 'plain' is stateful, but not connected\."):
        asyncio.run(plain().list_tools())


def test_closing_what_was_never_opened_is_fine() -> None:
    asyncio.run(plain().close())


# ---------------------------------------------------------------------------------------------------- headers
@pytest.mark.parametrize("config", [STDIO, HttpMCPConfig(url="https://a.example/sse")])
def test_only_streamable_http_takes_runtime_headers(config: StdioMCPConfig | HttpMCPConfig) -> None:
    client = MCPClient(name="a", is_stateful=True, mcp_config=config)
    with pytest.raises(ValueError, match=r"^Runtime headers require a Streamable HTTP MCP client\.$"):
        asyncio.run(client.set_runtime_headers({}))


@pytest.mark.parametrize("name", ["connection", "Content-Length", "HOST", "transfer-encoding"])
def test_the_http_layers_own_headers_are_refused(name: str) -> None:
    client = MCPClient(name="a", is_stateful=True, mcp_config=HTTP)
    with pytest.raises(ValueError, match=rf"^Runtime header '{name}' is owned by the HTTP layer\.$"):
        asyncio.run(client.set_runtime_headers({"X-Good": "1", name: "x"}))


@pytest.mark.parametrize(("name", "said"), [("Host", "owned by the HTTP layer"), ("bad name", "invalid")])
def test_a_configuration_holds_no_header_that_could_not_be_sent(name: str, said: str) -> None:
    config = HttpMCPConfig(url="https://a.example/mcp", headers={name: "x"})
    with pytest.raises(ValueError, match=rf"^The configuration's header '{name}' is {said}\.$"):
        MCPClient(name="a", is_stateful=True, mcp_config=config)


@pytest.mark.parametrize(
    ("name", "value"), [("bad name", "x"), ("", "x"), ("X", "a\r\nY: b"), ("X", "a\nb"), ("Ü", "x"), ("X", "\x00")]
)
def test_a_header_that_can_not_be_sent_is_refused(name: str, value: str) -> None:
    client = MCPClient(name="a", is_stateful=True, mcp_config=HTTP)
    with pytest.raises(ValueError, match=r"^Runtime header .* is invalid\.$"):
        asyncio.run(client.set_runtime_headers({name: value}))
