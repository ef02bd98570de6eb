"""Servers behind a URL: stateful, stateless and SSE; headers that change; refusals in words; lost sessions."""

from __future__ import annotations

import asyncio
import datetime
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore2
import mcp_types
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context

from nbtoolkit.exception import MCPConnectionError, ToolkitWarning
from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.mcp.http import _read_trusted
from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.result import ToolChunk
from tests.mcp.support import said, until, use
from tests.mcp.web import Web, answering, serving

release = threading.Event()
HOUR = datetime.timedelta(hours=1)


def build() -> MCPServer:
    server = MCPServer("web")

    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    async def wait(ctx: Context) -> str:
        """Wait until the test lets go, then say which token this very request carried."""
        while not release.is_set():  # noqa: ASYNC110 - the test lets go from another loop
            await asyncio.sleep(0.005)
        return (ctx.headers or {}).get("x-token", "none")

    @server.tool()
    async def count(ctx: Context) -> str:
        for n in range(3):
            await ctx.report_progress(n + 1, 3, f"step {n + 1}")
            await asyncio.sleep(0.02)
        return "counted"

    return server


@pytest.fixture
def web() -> Iterator[Web]:
    release.clear()
    with serving(build().streamable_http_app()) as served:
        yield served
        release.set()


@pytest.fixture
def legacy() -> Iterator[Web]:
    """Answer the newer era's first question as servers of the older one do."""
    release.clear()
    inner = build().streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        if headers.get(b"mcp-method") == b"server/discover":
            await answering(400)(scope, receive, send)
        else:
            await inner(scope, receive, send)

    with serving(app) as served:
        yield served
        release.set()


def client(web: Web, path: str = "/mcp", stateful: bool = True, **options: Any) -> MCPClient:
    config = HttpMCPConfig(url=web.url + path, headers=options.pop("headers", None), timeout=10)
    return MCPClient(name="web", is_stateful=stateful, mcp_config=config, **options)


@pytest.mark.parametrize("era", ["web", "legacy"])
def test_a_stateful_server_is_used_across_loops(era: str, request: pytest.FixtureRequest) -> None:
    served = request.getfixturevalue(era)
    made = client(served)
    asyncio.run(made.connect())
    assert (made.status().era == "2026-07-28") is (era == "web")
    assert said(asyncio.run(use(made, "echo", text="hi"))) == "hi"
    asyncio.run(made.close())


@pytest.mark.parametrize("era", ["web", "legacy"])
def test_a_stateless_server_needs_no_connect(era: str, request: pytest.FixtureRequest) -> None:
    made = client(request.getfixturevalue(era), stateful=False)
    assert next(tool.name for tool in asyncio.run(made.list_tools())) == "mcp__web__echo"
    assert said(asyncio.run(use(made, "echo", text="hi"))) == "hi"
    assert not made.is_connected
    asyncio.run(made.connect())
    assert made.status().state == "stateless"


def test_a_call_without_a_session_subscribes_to_nothing_and_reads_no_certificates_again(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = httpcore2.default_ssl_context

    def reading(**options: Any) -> ssl.SSLContext:
        read.append("read")
        return real(**options)

    monkeypatch.setattr(httpcore2, "default_ssl_context", reading)
    _read_trusted.cache_clear()

    async def scenario() -> None:
        made = client(web, stateful=False)
        found = await made.get_tool("echo")
        for chunk in await asyncio.gather(*(found(text=str(number)) for number in range(3))):
            assert isinstance(chunk, ToolChunk)
            assert chunk.state == ToolResultState.SUCCESS

    asyncio.run(scenario())
    assert len(read) == 1
    assert "subscriptions/listen" not in web.headers("POST", "mcp-method")
    assert "tools/call" in web.headers("POST", "mcp-method")


def test_what_a_server_says_amiss_is_understood_over_http_as_well() -> None:
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "free"}, {"name": "number", "inputSchema": 5}]},
        "tools/call": {"content": [{"type": "hologram", "data": "light"}], "isError": None},
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await answering(200)(scope, receive, send)
            return
        body, more = b"", scope["method"] == "POST"
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        message = json.loads(body or b"{}")
        result = answers.get(message.get("method"))
        if result is None:
            # No stream by GET, no newer era; and what tells needs no answer.
            await answering(202 if "id" not in message and message else 405)(scope, receive, send)
            return
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        await answering(200, reply, "application/json")(scope, receive, send)

    async def scenario(web: Web) -> None:
        made = client(web)
        await made.connect()
        try:
            with pytest.warns(ToolkitWarning, match="'number' is left out"):
                assert [tool.server_tool_name for tool in await made.list_tools()] == ["free"]
            shown = await use(made, "free")
            assert shown.state == ToolResultState.SUCCESS
            assert "isn't known here, 'hologram'" in said(shown)
            assert '"data": "light"' in said(shown)
        finally:
            await made.close()

    with serving(app) as web:
        asyncio.run(scenario(web))


def test_any_number_of_calls_wait_at_once_and_longer_than_connecting_may_take() -> None:
    count, there, all_there = 130, 0, asyncio.Event()
    server = MCPServer("crowd")

    @server.tool()
    async def wait() -> str:
        """Wait until all are here: a call that had to wait for another's connection would never come."""
        nonlocal there
        there += 1
        if there == count:
            all_there.set()
        await all_there.wait()
        return "here"

    async def scenario(web: Web) -> None:
        made = client(web)
        await made.connect()
        try:
            found = await made.get_tool("wait")
            chunks = await asyncio.gather(*(found() for _ in range(count)))
            assert {said(chunk) for chunk in chunks if isinstance(chunk, ToolChunk)} == {"here"}
        finally:
            await made.close()

    with serving(server.streamable_http_app()) as web:
        asyncio.run(scenario(web))


def test_a_call_without_a_session_lists_no_tools_again_and_its_result_is_checked_all_the_same() -> None:
    tool = mcp_types.Tool(
        name="lie",
        input_schema={"type": "object"},
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    )
    lists: list[str] = []
    answers: list[dict[str, Any]] = [{"n": 1}, {"n": "many"}]

    async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
        lists.append("listed")
        return mcp_types.ListToolsResult(tools=[tool])

    async def call_tool(context: Any, params: Any) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(content=[], structured_content=answers.pop(0))

    async def scenario(web: Web) -> None:
        made = client(web, stateful=False)
        found = await made.get_tool("lie")
        assert len(lists) == 1
        good = await found()
        assert isinstance(good, ToolChunk)
        assert good.value == {"n": 1}
        bad = await found()
        assert isinstance(bad, ToolChunk)
        assert "answered amiss: Invalid structured content returned by tool lie: 'many' is not of type" in said(bad)
        assert len(lists) == 1

    server = Server("liar", on_list_tools=list_tools, on_call_tool=call_tool)
    with serving(server.streamable_http_app()) as web:
        asyncio.run(scenario(web))


def test_an_sse_server_works() -> None:
    with serving(build().sse_app()) as web:
        made = client(web, "/sse?key=x", headers={"X-Token": "static"})
        asyncio.run(made.connect())
        assert said(asyncio.run(use(made, "echo", text="hi"))) == "hi"
        assert set(web.headers("POST", "x-token")) == {"static"}
        asyncio.run(made.close())


def test_progress_comes_over_http(web: Web) -> None:
    async def scenario() -> None:
        made = client(web, stream_progress=True)
        await made.connect()
        stream = await (await made.get_tool("count"))()
        chunks = [chunk async for chunk in stream]  # type: ignore[union-attr]
        *progress, last = chunks
        assert [chunk.metadata["mcp_progress"]["message"] for chunk in progress] == ["step 1", "step 2", "step 3"]
        assert progress[-1].metadata["mcp_progress"] == {"progress": 3.0, "total": 3.0, "message": "step 3"}
        assert said(last) == "counted"
        await made.close()

    asyncio.run(scenario())


# ----------------------------------------------------------------------------------------------------- headers
@pytest.mark.parametrize("stateful", [True, False])
def test_runtime_headers_reach_the_next_request_and_an_empty_map_leaves_the_static_ones(
    web: Web, stateful: bool
) -> None:
    async def scenario() -> None:
        made = client(web, stateful=stateful, headers={"X-Token": "static", "X-Other": "kept"})
        if stateful:
            await made.connect()
        release.set()
        heard = [said(await use(made, "wait"))]
        await made.set_runtime_headers({"x-token": "second"})
        heard.append(said(await use(made, "wait")))
        await made.set_runtime_headers({"X-Another": "third"})
        heard.append(said(await use(made, "wait")))
        await made.set_runtime_headers({})
        heard.append(said(await use(made, "wait")))
        assert heard == ["static", "second", "static", "static"]
        assert set(web.headers("POST", "x-other")) == {"kept"}
        await made.close()

    asyncio.run(scenario())


def test_a_call_under_way_keeps_the_headers_that_it_started_with(legacy: Web) -> None:
    async def scenario() -> None:
        made = client(legacy, headers={"X-Token": "old"})
        await made.connect()
        await made.list_tools()
        waiting = asyncio.ensure_future(use(made, "wait"))
        await until(lambda: made.status().calls, "the call")
        before = len(legacy.seen)
        await until(lambda: len(legacy.seen) >= before, "the request")
        await made.set_runtime_headers({"X-Token": "new"})
        after = asyncio.ensure_future(use(made, "wait"))
        await asyncio.sleep(0)
        release.set()
        assert said(await waiting) == "old"
        assert said(await after) == "new"
        await made.close()

    asyncio.run(scenario())


def test_a_call_that_is_cancelled_later_sends_its_cancellation_with_its_own_headers(legacy: Web) -> None:
    async def scenario() -> None:
        made = client(legacy, headers={"X-Token": "old"})
        await made.connect()
        await made.list_tools()
        sent = len(legacy.headers("POST", "x-token"))
        waiting = asyncio.ensure_future(use(made, "wait"))
        await until(lambda: len(legacy.headers("POST", "x-token")) > sent, "the request")
        await made.set_runtime_headers({"X-Token": "new"})
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await until(lambda: len(legacy.headers("POST", "x-token")) > sent + 1, "the cancellation")
        assert legacy.headers("POST", "x-token")[sent + 1] == "old"
        await made.close()

    asyncio.run(scenario())


def test_the_get_stream_keeps_the_headers_that_it_began_with_and_close_carries_the_newest(legacy: Web) -> None:
    async def scenario() -> None:
        made = client(legacy, headers={"X-Token": "old"})
        await made.connect()
        await until(lambda: legacy.headers("GET", "x-token"), "the GET stream")
        await made.set_runtime_headers({"X-Token": "new"})
        await use(made, "echo", text="hi")
        assert legacy.headers("GET", "x-token") == ["old"]
        await made.close()
        assert legacy.headers("DELETE", "x-token") == ["new"]

    asyncio.run(scenario())


def test_no_session_but_its_own_is_named_to_a_server_that_gave_none(legacy: Web) -> None:
    made = client(legacy, stateful=False, headers={"mcp-session-id": "written"})
    asyncio.run(made.set_runtime_headers({"Mcp-Session-Id": "forged"}))
    assert said(asyncio.run(use(made, "echo", text="hi"))) == "hi"
    assert not {"written", "forged"}.intersection(legacy.headers("POST", "mcp-session-id"))


def test_the_protocols_own_headers_always_win(legacy: Web) -> None:
    async def scenario() -> None:
        made = client(legacy)
        await made.connect()
        await made.set_runtime_headers({"Mcp-Session-Id": "forged", "Content-Type": "text/plain", "X-Token": "t"})
        assert said(await use(made, "echo", text="hi")) == "hi"
        assert "forged" not in legacy.headers("POST", "mcp-session-id")
        assert legacy.headers("POST", "content-type")[-1] == "application/json"
        assert legacy.headers("POST", "x-token")[-1] == "t"
        await made.close()

    asyncio.run(scenario())


# ---------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize("stateful", [True, False])
@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "Authorization"), (403, "aren't allowed"), (404, "no MCP server at that path"), (500, "500")],
)
def test_a_refusal_names_the_status_and_what_to_do(status: int, words: str, stateful: bool) -> None:
    with serving(answering(status)) as web:
        made = client(web, stateful=stateful)
        with pytest.raises(MCPConnectionError, match=rf"can't be reached .*answered {status}.*") as caught:
            asyncio.run(made.connect())
        assert words in str(caught.value)


def test_a_refusal_of_an_sse_server_names_the_status_too() -> None:
    with serving(answering(401)) as web, pytest.raises(MCPConnectionError, match="answered 401"):
        asyncio.run(client(web, "/sse").connect())


def test_a_page_that_is_no_mcp_server_is_said_to_be_none() -> None:
    page = answering(200, b"<html>hello</html>", "text/html")
    with serving(page) as web, pytest.raises(MCPConnectionError, match="text/html"):
        asyncio.run(client(web).connect())


def test_a_port_where_nothing_listens_is_said_to_be_silent() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = MCPClient(name="a", is_stateful=True, mcp_config=HttpMCPConfig(url=f"http://127.0.0.1:{port}/mcp"))
    with pytest.raises(MCPConnectionError, match="nothing listens there"):
        asyncio.run(made.connect())


def test_plain_http_where_https_was_asked_for_is_named(web: Web) -> None:
    config = HttpMCPConfig(url=web.url.replace("http://", "https://") + "/mcp")
    with pytest.raises(MCPConnectionError, match="TLS: "):
        asyncio.run(MCPClient(name="a", is_stateful=True, mcp_config=config).connect())


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[int]:
    """A port behind TLS with a certificate of nobody's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + HOUR)
    signed = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False).sign(key, SHA256())
    pem = signed.public_bytes(Encoding.PEM)
    pem += key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "both.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ("https", "TLS: the certificate isn't trusted (self-signed certificate)"),
        ("http", "the connection ended without an answer; does it want https?"),
    ],
)
def test_a_certificate_that_is_not_trusted_and_http_where_https_is_wanted_are_named(
    untrusted: int, scheme: str, words: str
) -> None:
    config = HttpMCPConfig(url=f"{scheme}://localhost:{untrusted}/mcp", timeout=10)
    with pytest.raises(MCPConnectionError) as caught:
        asyncio.run(MCPClient(name="tls", is_stateful=True, mcp_config=config).connect())
    assert words in str(caught.value)


def test_a_server_that_never_answers_is_given_up_after_the_timeout() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        config = HttpMCPConfig(url=f"http://127.0.0.1:{mute.getsockname()[1]}/mcp", timeout=0.3)
        with pytest.raises(MCPConnectionError, match=r"no answer within 0\.3 s"):
            asyncio.run(MCPClient(name="a", is_stateful=True, mcp_config=config).connect())


# ------------------------------------------------------------------------------------------------ lost sessions
def test_a_session_that_the_server_forgot_is_begun_anew_and_the_call_runs() -> None:
    release.clear()
    inner = build().streamable_http_app()
    forget = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        if headers.get(b"mcp-method") == b"server/discover":
            await answering(400)(scope, receive, send)
        elif forget.is_set() and headers.get(b"mcp-session-id"):
            forget.clear()
            await answering(404)(scope, receive, send)
        else:
            await inner(scope, receive, send)

    with serving(app) as web:
        made = client(web)
        asyncio.run(made.connect())
        assert said(asyncio.run(use(made, "echo", text="one"))) == "one"
        forget.set()
        assert said(asyncio.run(use(made, "echo", text="two"))) == "two"
        assert made.status().starts == 2
        asyncio.run(made.close())


def test_a_server_that_went_away_fails_its_calls_and_is_reached_again_when_it_is_back() -> None:
    release.clear()

    async def scenario() -> None:
        with serving(build().streamable_http_app()) as first:
            made = client(first)
            await made.connect()
            waiting = asyncio.ensure_future(use(made, "wait"))
            await until(lambda: made.status().calls, "the call")
            await asyncio.sleep(0)
            first.server.force_exit = True
        chunk = await asyncio.wait_for(waiting, 20)
        assert chunk.state is ToolResultState.ERROR
        down = await use(made, "echo", text="down")
        assert down.state is ToolResultState.ERROR
        assert "nothing listens there" in said(down)
        with serving(build().streamable_http_app(), port=first.port):
            assert said(await use(made, "echo", text="back")) == "back"
            await made.close()

    asyncio.run(scenario())


def test_calls_that_wait_do_not_hold_up_others(web: Web) -> None:
    async def scenario() -> None:
        made = client(web)
        await made.connect()
        await made.list_tools()
        waiting = [asyncio.ensure_future(use(made, "wait")) for _ in range(60)]
        heard = await asyncio.gather(*(use(made, "echo", text=str(n)) for n in range(30)))
        assert [said(chunk) for chunk in heard] == [str(n) for n in range(30)]
        release.set()
        assert {said(chunk) for chunk in await asyncio.gather(*waiting)} == {"none"}
        await made.close()

    asyncio.run(scenario())


class Dying(http.server.BaseHTTPRequestHandler):
    """A server that could go on with a stream, and dies in the midst of a call's."""

    def do_GET(self) -> None:
        self.send_error(405)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "dying", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "die", "inputSchema": {"type": "object"}}]},
        }
        if message["method"] == "tools/call":
            # Closing alone leaves it open while the other thread waits for it.
            server: Any = self.server
            server.socket.shutdown(socket.SHUT_RDWR)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"id: 1\ndata:\n\n")
            return
        if message["method"] not in results:
            self.send_error(202 if "id" not in message else 400)
            return
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def test_a_call_is_told_of_its_servers_death_before_anybody_tries_to_go_on_with_its_stream() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dying)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    async def scenario() -> None:
        config = HttpMCPConfig(url=f"http://127.0.0.1:{server.server_port}/mcp", timeout=10)
        async with MCPClient(name="dying", is_stateful=True, mcp_config=config) as made:
            chunk = await use(made, "die")
            assert chunk.state is ToolResultState.ERROR
            assert "nothing listens there. The next call connects again." in said(chunk)

    asyncio.run(scenario())
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stream_that_ends_before_the_answer_is_no_refusal() -> None:
    inner = build().streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        first = await receive() if scope["type"] == "http" else None
        if first is not None and b'"tools/call"' in first.get("body", b""):
            await answering(200, b"", "text/event-stream")(scope, receive, send)
            return
        waiting = [] if first is None else [first]

        async def reading() -> Any:
            return waiting.pop() if waiting else await receive()

        await inner(scope, reading, send)

    async def scenario(made: MCPClient) -> None:
        await made.connect()
        lost = await use(made, "echo", text="hi")
        await made.close()
        assert lost.state is ToolResultState.ERROR
        assert "before its answer came, so whether the call was carried out isn't known" in said(lost)

    with serving(app) as web:
        asyncio.run(scenario(client(web)))
