"""What a request must be before the MCP server sees it: from this machine's names, with the token, small and prompt.

It promises that whatever is refused costs little, is counted under its reason, and tells nobody anything. A page of
another site that a browser was made to point here (DNS rebinding) comes with that site's name as Host or Origin, and is
refused by it.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

__all__ = ["PATH", "Gate", "Hosts"]

PATH = "/mcp"
# A call's arguments, with a picture or two among them.
MAX_BODY = 4 * 1024 * 1024
# A body comes from this machine in milliseconds; through a tunnel a picture takes seconds.
BODY_SECONDS = 20.0
# Of all clients together: no person's agents come near it, and a loop that has run wild is slowed.
RATE = 50.0
BURST = 200.0
# Answers that stream count too: each client holds one or two.
MAX_REQUESTS = 128

_TEXTS = {
    "host": (421, "This server answers to the names of its own machine only."),
    "origin": (403, "Pages of other sites may not call this server."),
    "token": (401, "The bearer token is missing or wrong; %toolkit serve shows it in the notebook."),
    "path": (404, f"There is nothing here; the MCP server is at {PATH}."),
    "rate": (429, "Too many requests; slow down."),
    "many": (503, "Too many requests are under way."),
    "size": (413, f"The request is larger than {MAX_BODY:,} bytes."),
    "slow": (408, f"The request was not complete within {BODY_SECONDS:g} s."),
}


class Hosts:
    """Which names of a host are this server's own."""

    def __init__(self, bound: str) -> None:
        self._names = {"localhost"}
        address = _address(bound)
        self.is_local = bound.casefold() == "localhost" or (address is not None and address.is_loopback)
        if not self.is_local:
            # Rebinding needs a name, so an address may stand for any of this machine's own.
            self._names |= {socket.gethostname().casefold(), socket.getfqdn().casefold()}
            if address is None:
                self._names.add(bound.casefold())

    def know(self, authority: str) -> bool:
        """Whether ``name``, ``name:port`` or ``[address]:port`` is one of them."""
        text = authority.strip().casefold()
        if text.startswith("["):
            name, bracket, rest = text[1:].partition("]")
            if not bracket or (rest and not _is_port(rest)):
                return False
        else:
            name, colon, port = text.partition(":")
            if colon and not _is_port(colon + port):
                return False
        address = _address(name)
        if address is not None:
            return address.is_loopback or not self.is_local
        return name.removesuffix(".") in self._names


def _is_port(text: str) -> bool:
    return text[:1] == ":" and text[1:].isascii() and text[1:].isdecimal()


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


class Gate:
    """An ASGI application in front of another; ``refused`` counts what it kept away, by reason."""

    def __init__(self, app: App, token: str, hosts: Hosts) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = hosts
        self.refused: Counter[str] = Counter()
        self.under_way: set[asyncio.Task[Any]] = set()
        self._allowance = BURST
        self._filled = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reason = self._judge(scope)
        if reason is not None:
            await self._refuse(reason, send)
            return
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            body: bytes | str = await self._body(scope, receive)
            if isinstance(body, str):
                await self._refuse(body, send)
            else:
                await self._app(scope, _replay(body, receive), send)
        finally:
            self.under_way.discard(task)

    def _judge(self, scope: Scope) -> str | None:
        given: dict[bytes, list[bytes]] = {}
        for key, value in scope["headers"]:
            given.setdefault(key, []).append(value)
        hosts, origins, tokens = (given.get(key, []) for key in (b"host", b"origin", b"authorization"))
        if len(hosts) != 1 or not self._hosts.know(hosts[0].decode("latin-1")):
            return "host"
        if len(origins) > 1 or (origins and not self._own_page(origins[0].decode("latin-1"))):
            return "origin"
        if len(tokens) != 1 or not self._right(tokens[0]):
            return "token"
        if scope["path"].rstrip("/") != PATH:
            return "path"
        if not self._spend():
            return "rate"
        if len(self.under_way) >= MAX_REQUESTS:
            return "many"
        return None

    def _own_page(self, origin: str) -> bool:
        scheme, found, authority = origin.partition("://")
        return bool(found) and scheme in {"http", "https"} and self._hosts.know(authority)

    def _right(self, header: bytes) -> bool:
        scheme, _, token = header.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)

    def _spend(self) -> bool:
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._filled) * RATE)
        self._filled = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    async def _body(self, scope: Scope, receive: Receive) -> bytes | str:
        """The whole body, or the reason why not."""
        declared = next((value for key, value in scope["headers"] if key == b"content-length"), b"0")
        if not declared.isdigit() or int(declared) > MAX_BODY:
            return "size"
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return b"".join(parts)
                    part = message.get("body", b"")
                    size += len(part)
                    if size > MAX_BODY:
                        return "size"
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            return "slow"

    async def _refuse(self, reason: str, send: Send) -> None:
        self.refused[reason] += 1
        status, text = _TEXTS[reason]
        # The connection goes with it: what follows on it is not to be read.
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        if reason == "token":
            headers.append((b"www-authenticate", b"Bearer"))
        if reason == "rate":
            headers.append((b"retry-after", b"1"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
