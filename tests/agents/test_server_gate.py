"""Attacks on the server: each is refused before the toolkit hears of it, counted, and costs the others nothing."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.agents.serving import HTTPServer, gate, http, serve
from nbtoolkit.agents.serving.gate import Hosts
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.foreign import PATIENCE, ForeignClient, text

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "stranger", "version": "1"},
        },
    }
)


@pytest.fixture
def toolkit() -> Toolkit:
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    return Toolkit([FunctionTool(add, is_read_only=True)])


@pytest.fixture
def server(toolkit: Toolkit) -> Iterator[HTTPServer]:
    with serve(toolkit) as running:
        yield running


def request(server: HTTPServer, *, path: str = "/mcp", body: str = HELLO, **headers: str | None) -> int:
    """Send one request as it is described, nothing added but its length; the status that came back."""
    given: dict[str, str | None] = {
        "host": f"127.0.0.1:{server.port}",
        "authorization": f"Bearer {server.token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "connection": "close",
        "content-length": str(len(body)),
        **{key.replace("_", "-"): value for key, value in headers.items()},
    }
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in given.items() if value is not None)]
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as line:
        line.settimeout(PATIENCE)
        line.sendall("\r\n".join([*lines, "", body]).encode())
        return status(line)


def status(line: socket.socket) -> int:
    """The status of the answer; 0 for a connection that was cut."""
    try:
        head = line.recv(64)
    except ConnectionError:
        return 0
    return int(head.split()[1]) if head else 0


def works(server: HTTPServer) -> bool:
    """Whether a client that may call still can."""
    client = ForeignClient({"url": server.url, "headers": server.headers})
    try:
        return text(client.call("add", a=1).result(PATIENCE)) == "2"
    finally:
        client.close()


@pytest.mark.parametrize(
    ("headers", "answer", "reason"),
    [
        ({}, 200, None),
        ({"host": "localhost:9000", "origin": "http://localhost:6274"}, 200, None),
        ({"host": "[::1]:9000"}, 200, None),
        ({"authorization": None}, 401, "token"),
        ({"authorization": "Bearer wrong"}, 401, "token"),
        ({"authorization": "Bearer "}, 401, "token"),
        ({"authorization": "Basic {token}"}, 401, "token"),
        ({"authorization": "Bearer {token}x"}, 401, "token"),
        ({"host": "evil.example"}, 421, "host"),
        ({"host": "evil.example:80"}, 421, "host"),
        ({"host": "127.0.0.1.evil.example"}, 421, "host"),
        ({"host": "localhost:80@evil.example"}, 421, "host"),
        ({"host": "10.0.0.7"}, 421, "host"),
        ({"host": ""}, 421, "host"),
        ({"origin": "http://evil.example"}, 403, "origin"),
        ({"origin": "null"}, 403, "origin"),
        ({"origin": "http://localhost.evil.example"}, 403, "origin"),
        ({"origin": "file://localhost"}, 403, "origin"),
        ({"path": "/"}, 404, "path"),
        ({"path": "/mcp/../admin"}, 404, "path"),
        ({"content_length": "99999999999"}, 413, "size"),
        ({"content_length": "-1"}, 400, None),
        ({"content_type": "text/plain"}, 400, None),
    ],
)
def test_a_request_must_come_from_here_with_the_token(
    server: HTTPServer, headers: dict[str, Any], answer: int, reason: str | None
) -> None:
    filled = {key: value.format(token=server.token) if value else value for key, value in headers.items()}
    assert request(server, **filled) == answer
    assert dict(server.refused) == ({} if reason is None else {reason: 1})


def test_a_body_without_end_is_cut_at_the_limit(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_BODY", 10_000)
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {server.token}\r\n"
        "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as line:
        line.settimeout(PATIENCE)
        line.sendall(head.encode() + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"2000\r\n" + b"x" * 8192 + b"\r\n")
        assert status(line) == 413
    assert server.refused["size"] == 1


def test_who_sends_slowly_is_cut_off_and_holds_nobody_up(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.2)
    with serve(toolkit) as server:
        lines = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(40)]
        for line in lines[1:]:
            line.sendall(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ")
        # The last has the token, and a body that doesn't come.
        lines[-1].sendall(f"1\r\nauthorization: Bearer {server.token}\r\ncontent-length: 100\r\n\r\n{{".encode())
        assert works(server)
        answers = []
        for line in lines:
            line.settimeout(PATIENCE)
            answers.append(status(line))
            line.close()
        assert answers == [0] * 39 + [408]
        assert server.refused["slow"] == 40


def test_more_connections_than_anybody_needs_are_cut_off(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_CONNECTIONS", 20)
    with serve(toolkit) as server:
        lines = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(30)]
        for line in lines[20:]:
            line.settimeout(PATIENCE)
            assert status(line) == 0
        assert server.refused["connections"] == 10
        for line in lines:
            line.close()
        assert works(server)


def test_a_flood_is_slowed_and_one_without_the_token_slows_nobody(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "RATE", 0.0)
    assert server._gate is not None
    server._gate._allowance = 5
    assert [request(server, authorization="Bearer no") for _ in range(10)] == [401] * 10
    assert [request(server) for _ in range(8)] == [200] * 5 + [429] * 3
    assert server.refused == {"token": 10, "rate": 3}


def test_a_client_that_does_not_wait_for_its_answers_is_refused_more(
    toolkit: Toolkit, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def wait() -> str:
        """Wait."""
        go.wait(PATIENCE)
        return "done"

    toolkit.register(FunctionTool(wait, is_read_only=True, thread=True))
    monkeypatch.setattr("nbtoolkit.agents.serving.service.MAX_CALLS", 3)
    client = ForeignClient({"url": server.url, "headers": server.headers})
    calls = [client.call("wait") for _ in range(3)]
    deadline = time.monotonic() + PATIENCE
    while len(server.service._calls) < 3:
        assert time.monotonic() < deadline, "the calls did not arrive"
    refused = client.call("wait").result(PATIENCE)
    assert refused.is_error
    assert text(refused).startswith("3 calls wait or run here already, so 'wait' was not run.")
    go.set()
    assert [text(call.result(PATIENCE)) for call in calls] == ["done"] * 3
    monkeypatch.setattr("nbtoolkit.agents.serving.service.MAX_ARGUMENTS", 100)
    assert "characters of JSON" in text(client.call("wait", padding="x" * 200).result(PATIENCE))
    client.close()


def test_what_strangers_send_prints_nothing(server: HTTPServer, capfd: pytest.CaptureFixture[str]) -> None:
    for rubbish in (b"\x00\xff" * 50 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x" * 100_000):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as line:
            line.settimeout(PATIENCE)
            line.sendall(rubbish)
            assert status(line) in {0, 400, 421}
    assert works(server)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("bound", "name", "known"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "localhost.", True),
        ("127.0.0.1", "192.168.1.5:80", False),
        ("127.0.0.1", "0.0.0.0", False),
        ("0.0.0.0", "192.168.1.5:80", True),
        ("0.0.0.0", "evil.example", False),
        ("lab.example", "lab.example:8000", True),
        ("lab.example", "LAB.example", True),
        ("lab.example", "evil.lab.example", False),
        ("::1", "[::1]:80", True),
        ("::1", "[::1]x", False),
        ("::1", "[::1", False),
    ],
)
def test_the_names_of_this_machine(bound: str, name: str, known: bool) -> None:
    assert Hosts(bound).know(name) is known


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_lets_the_port_go(toolkit: Toolkit) -> None:
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    server = serve(toolkit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the very thing that is tested: a fork beside a thread
        child = os.fork()
    if child == 0:
        os.write(ready_write, b"1")
        os.read(go_read, 1)
        os._exit(0)
    try:
        assert os.read(ready_read, 1) == b"1"
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    finally:
        os.write(go_write, b"1")
        os.waitpid(child, 0)
        for end in (ready_read, ready_write, go_read, go_write):
            os.close(end)
