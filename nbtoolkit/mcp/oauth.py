"""Signing in to a server: the SDK's OAuth 2.1, with a place for tokens and two ways back from the browser.

The browser may run elsewhere than the kernel, where its ``127.0.0.1`` isn't ours: so the address that it ends at can be
pasted, and where it is the same machine a listener takes it. Tokens that the server takes no longer are renewed once
before anybody is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from nbtoolkit.mcp.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext

__all__ = ["OAuthClient", "SignIn", "SignInHandler", "Tokens", "machine_oauth", "oauth"]

PAGE = "You are signed in, and can close this page."
# A browser's request line with a code in it; anything longer isn't one.
REQUEST_LIMIT = 16 * 1024


@dataclass(frozen=True)
class SignIn:
    """A server that wants to know who asks: the link to open, and where the browser will end.

    ``again`` where somebody had signed in, and what that brought is taken no longer.
    """

    server: str
    url: str
    redirect: str
    again: bool = False


@dataclass(frozen=True)
class OAuthClient:
    """How this client is known where it signs in, if it isn't to be registered on the way.

    ``client_id`` and ``client_secret`` were given by whoever runs the server, for the way back
    ``http://127.0.0.1:{port}/callback``; or ``metadata_url`` is an https address where this client describes itself. A
    ``machine`` signs in by its id and secret alone: nobody is asked.
    """

    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    metadata_url: str | None = None
    scope: str | None = None
    port: int | None = None
    machine: bool = False

    def __post_init__(self) -> None:
        if self.machine and not (self.client_id and self.client_secret):
            raise ValueError("OAuthClient(machine=True) needs client_id and client_secret, since nobody is asked.")
        if self.client_secret and not self.client_id:
            raise ValueError("OAuthClient(client_secret=…) needs the client_id that it belongs to.")


# Shows the link and gives the address that the browser ended at; None: the person doesn't want to.
SignInHandler: TypeAlias = Callable[[SignIn], Awaitable[str | None]]


class _Listener:
    """Waits on this machine for the browser to come back."""

    def __init__(self, port: int, state: str) -> None:
        self.port = port
        # Any page can send a browser here; only the one that was opened knows this.
        self.state = state
        self.arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        # A port that is taken leaves the other way: the address is pasted.
        with contextlib.suppress(OSError):
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=REQUEST_LIMIT)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ValueError, OSError):
            words = (await reader.readline()).decode("latin-1").split()
            target = words[1] if len(words) > 1 else ""
            came = urlsplit(target)
            good = came.path == "/callback" and _fields(came.query).get("state", "") == self.state
            body = PAGE if good else "Not found."
            head = f"HTTP/1.1 {'200 OK' if good else '404 Not Found'}\r\nContent-Type: text/plain\r\nConnection: close"
            writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
            if good and not self.arrived.done():
                self.arrived.set_result(target)
        writer.close()


def _fields(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def _free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def machine_oauth(url: str, client: OAuthClient) -> httpx2.Auth:
    """Sign in by id and secret, with nobody asked."""
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    return ClientCredentialsOAuthProvider(
        url, Tokens(url, client=client), str(client.client_id), str(client.client_secret), scope=client.scope
    )


def oauth(
    server: str, url: str, sign_in: SignInHandler, tokens: Tokens | None = None, client: OAuthClient | None = None
) -> httpx2.Auth:
    """Sign in when the server asks for it, and keep the tokens; ``sign_in`` is called in the portal."""
    from mcp.client.auth import OAuthClientProvider, OAuthFlowError
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

    tokens = tokens or Tokens(url, client=client)
    port = (client.port if client else None) or tokens.port() or _free_port()
    redirect = f"http://127.0.0.1:{port}/callback"
    opened: list[str] = []

    async def remember(address: str) -> None:
        opened[:] = [address]

    async def come_back() -> AuthorizationCodeResult:
        async with _Listener(port, _fields(urlsplit(opened[0]).query).get("state", "")) as listener:
            again = await tokens.get_tokens() is not None
            asked = asyncio.ensure_future(sign_in(SignIn(server, opened[0], redirect, again)))
            ways: list[asyncio.Future[Any]] = [listener.arrived, asked]
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                address: str | None = next(way.result() for way in ways if way in done)
            finally:
                asked.cancel()
        if address is None:
            raise OAuthFlowError("the sign-in was declined")
        answer = _fields(urlsplit(address.strip()).query)
        if "code" not in answer:
            raise OAuthFlowError(answer.get("error_description") or answer.get("error") or "the address holds no code")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    described = {"redirect_uris": [redirect], "client_name": "nbtoolkit", "scope": client.scope if client else None}
    metadata = OAuthClientMetadata.model_validate(described)
    metadata_url = client.metadata_url if client else None
    provider = OAuthClientProvider(url, metadata, tokens, remember, come_back, client_metadata_url=metadata_url)
    return _renewing(provider, tokens)


def _renewing(provider: OAuthClientProvider, tokens: Tokens) -> httpx2.Auth:
    """The SDK's provider, which also renews what another kernel was given, and what is refused before its time.

    By itself it knows neither when tokens out of a storage end nor where they are renewed, and asks the person at the
    first 401.
    """
    import httpx2

    class RenewingAuth(httpx2.Auth):
        requires_response_body = True

        def __init__(self) -> None:
            self.recalled = False
            self.lock = asyncio.Lock()

        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            context = provider.context
            async with self.lock:
                if not self.recalled:
                    await _recall(provider, tokens)
                    self.recalled = True
            renewable = True
            if context.current_tokens is not None and context.is_token_valid():
                # Without the SDK, which lets one request at a time through until it is answered.
                request.headers["Authorization"] = f"Bearer {context.current_tokens.access_token}"
                response = yield request
                if response.status_code not in {401, 403}:
                    return
                if response.status_code == 401 and context.can_refresh_token():
                    renewable = False
                    _renew(context, request)
            described = context.oauth_metadata
            async with contextlib.AsyncExitStack() as held:
                flow = provider.async_auth_flow(request)
                try:
                    await _be_alone(context, tokens, held)
                    outgoing = await anext(flow)
                    while True:
                        if outgoing is request:
                            # Renewed and kept, where need was.
                            await held.aclose()
                        response = yield outgoing
                        refused = outgoing is request and response.status_code == 401
                        if refused and renewable and context.can_refresh_token():
                            # Once: begun anew with tokens that have ended it renews them first.
                            renewable = False
                            await flow.aclose()
                            _renew(context, request)
                            await _be_alone(context, tokens, held)
                            flow = provider.async_auth_flow(request)
                            outgoing = await anext(flow)
                            continue
                        outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    pass
                finally:
                    await flow.aclose()
            if context.oauth_metadata is not None and context.oauth_metadata != described:
                await tokens.set_server(context.oauth_metadata.model_dump(mode="json", exclude_none=True))

    return RenewingAuth()


def _renew(context: OAuthContext, request: httpx2.Request) -> None:
    """Have the token renewed that a request was refused with; another request may have renewed it meanwhile."""
    held = context.current_tokens
    if held is not None and request.headers.get("authorization") == f"Bearer {held.access_token}":
        context.token_expiry_time = 1.0


async def _be_alone(context: OAuthContext, tokens: Tokens, held: contextlib.AsyncExitStack) -> None:
    """Before a renewal: with no other kernel at it, and with what another has brought home meanwhile."""
    if context.current_tokens is None or context.is_token_valid() or not context.can_refresh_token():
        return
    await held.enter_async_context(tokens.alone())
    kept = await tokens.get_tokens()
    if kept is not None and kept.access_token != context.current_tokens.access_token:
        context.current_tokens = kept
        context.update_token_expiry(kept)


async def _recall(provider: OAuthClientProvider, tokens: Tokens) -> None:
    """Give the provider what was kept of an earlier kernel's sign-in."""
    from mcp.shared.auth import OAuthMetadata

    context = provider.context
    with contextlib.suppress(ValueError):
        if held := await tokens.server():
            context.oauth_metadata = OAuthMetadata.model_validate(held)
    context.client_info = await tokens.get_client_info()
    kept = context.current_tokens = await tokens.get_tokens()
    if kept is not None and kept.expires_in is not None:
        context.update_token_expiry(kept)
