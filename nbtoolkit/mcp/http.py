"""The HTTP half of a session: headers that may change while it runs, and what the server answered.

The SDK turns a refusal into "Server returned an error response"; the status that a person needs is kept here.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nbtoolkit.mcp.meaning import Meaning, Understood

if TYPE_CHECKING:
    import ssl

    import httpx2

    from nbtoolkit.mcp.config import HttpMCPConfig

__all__ = ["Headers", "check_headers", "http_streams", "nothing_listens"]

# A header's name is a token of RFC 9110; a value may hold anything visible, blanks and tabs, but no line's end.
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# A pool asks the system of each connection that idles, for every request, whether it is still open.
KEPT_CONNECTIONS = 20
# What is looked up where a stream broke off is known soon or not at all.
LOOK_SECONDS = 2.0
PORTS = {"http": 80, "https": 443}
_OWNED = frozenset({"connection", "content-length", "host", "transfer-encoding"})


def check_headers(headers: Mapping[str, str], what: str) -> dict[str, str]:
    """A copy of the map, or the ValueError that says which header can't be; ``what`` begins it."""
    given: Any = headers
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}s must be a dict of names and values, but got {headers!r}.")  # noqa: TRY004 - one kind of error for all
    for name, value in given.items():
        good = isinstance(name, str) and isinstance(value, str)
        if not good or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"{what} {name!r} is invalid.")
        if name.lower() in _OWNED:
            raise ValueError(f"{what} {name!r} is owned by the HTTP layer.")
    return dict(given)


@dataclass
class Headers:
    """The headers of one client: the configuration's, over them those set at run time."""

    static: dict[str, str] = field(default_factory=dict)
    runtime: dict[str, str] = field(default_factory=dict)

    def current(self) -> dict[str, str]:
        """What a request that starts now carries."""
        # Names differ by case, meaning doesn't: the later one must replace the earlier.
        merged = {name.lower(): (name, value) for name, value in (*self.static.items(), *self.runtime.items())}
        return dict(merged.values())


# A call keeps the headers it started with; the SDK hands the caller's context on to its requests.
snapshot: ContextVar[dict[str, str] | None] = ContextVar("nbtoolkit_mcp_headers", default=None)


@dataclass
class Answers:
    """What the server answered last, where that was a refusal, and who hears of a stream that broke off."""

    status: int | None = None
    reason: str = ""
    challenge: str = ""
    broke_off: Callable[[], object] = lambda: None


def _trusted() -> ssl.SSLContext | bool:
    """Whom TLS trusts, read once: a client without a session has a connection for each call, and reading takes longer."""
    if sys.platform in {"win32", "darwin"}:
        # The system itself is asked, at each handshake.
        return True
    places = tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    # Somebody may mend a file that they named, and try again.
    changed = [Path(place).stat().st_mtime_ns for place in places if place and Path(place).exists()]
    return _read_trusted(places, tuple(changed))


@functools.lru_cache(maxsize=4)
def _read_trusted(*_: object) -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _client(headers: Headers, answers: Answers, timeout: float | None, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    import httpx2

    class CarryingClient(httpx2.AsyncClient):
        """Adds the headers of now, or of the call, under those that MCP sets for each request."""

        def build_request(self, method: str, url: Any, *, headers: Any = None, **kwargs: Any) -> httpx2.Request:
            carried = snapshot.get()
            merged = httpx2.Headers(carried if carried is not None else self.carried.current())
            # MCP's own also where it has none yet: which session this is isn't the caller's to say.
            merged.pop("mcp-session-id", None)
            merged.update(headers)
            return super().build_request(method, url, headers=merged, **kwargs)

        carried: Headers

    class Stream(httpx2.AsyncByteStream):
        """A stream of events, whose end before its time is told at once: the SDK first tries to go on with it."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self.inner:
                    yield part
            except httpx2.TransportError:
                answers.broke_off()
                raise

        async def aclose(self) -> None:
            await self.inner.aclose()

    async def note(response: httpx2.Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = Stream(response.stream)
        if response.status_code >= 300:
            answers.status = response.status_code
            answers.reason = response.reason_phrase
            answers.challenge = response.headers.get("www-authenticate", "")[:200]

    client = CarryingClient(
        # No limit on reading: a tool may run as long as it likes, its own limit is execution_timeout. So calls hold
        # connections as long, and the next must not wait for one of theirs.
        timeout=httpx2.Timeout(timeout, read=None, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS),
        verify=_trusted(),
        event_hooks={"response": [note]},
        auth=auth,
    )
    client.carried = headers
    return client


async def nothing_listens(url: str) -> bool:
    """Whether the server's machine says that nobody is there; where a proxy stands between, that isn't known."""
    from urllib.request import getproxies

    if getproxies().keys() & {"http", "https", "all"}:
        return False
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS.get(parts.scheme, 80))
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError):
        return False
    writer.close()
    return False


@asynccontextmanager
async def http_streams(
    config: HttpMCPConfig,
    carried: Headers,
    answers: Answers,
    auth: httpx2.Auth | None = None,
    meaning: Meaning | None = None,
) -> AsyncIterator[Any]:
    """The SDK's transport for the URL, over a client that carries our headers."""
    meaning = meaning or Meaning()
    if config.transport == "sse":
        from mcp.client.sse import sse_client

        given = auth

        def factory(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:  # noqa: ARG001
            return _client(carried, answers, config.timeout, given)

        async with sse_client(config.url, httpx_client_factory=factory) as (incoming, outgoing):
            yield Understood(incoming, meaning), outgoing
        return
    from mcp.client.streamable_http import streamable_http_client

    async with (
        _client(carried, answers, config.timeout, auth) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=None) as (incoming, outgoing),
    ):
        yield Understood(incoming, meaning), outgoing
