"""Signing in: asked for once, tokens kept privately, two ways back from the browser, and a way to say no."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from nbtoolkit.exception import MCPConnectionError
from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.mcp.oauth import OAuthClient, SignIn
from nbtoolkit.mcp.tokens import Tokens
from nbtoolkit.tool.result import ToolChunk
from tests.mcp.support import PATIENCE, said, use
from tests.mcp.web import Web, serving

# Nothing has to listen there: the address is pasted.
KNOWN_PORT = 47_321


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Lets everybody in who comes back with the code."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.renewals: dict[str, RefreshToken] = {}
        self.renewed = 0
        self.resource: str | None = None

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        return self._given(str(client.client_id), authorization_code.scopes, authorization_code.resource)

    def _given(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        token, renewal = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens[token] = AccessToken(token=token, client_id=client, scopes=scopes, resource=resource)
        self.renewals[renewal] = RefreshToken(token=renewal, client_id=client, scopes=scopes)
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=3600, refresh_token=renewal)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        self.renewed += 1
        del self.renewals[refresh_token.token]
        return self._given(str(client.client_id), scopes, self.resource)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError


@contextlib.contextmanager
def guarding() -> Iterator[Web]:
    """A server that wants a sign-in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    settings = AuthSettings.model_validate(
        {
            "issuer_url": url,
            "resource_server_url": f"{url}/mcp",
            "validate_token_resource": True,
            "client_registration_options": ClientRegistrationOptions(enabled=True),
        }
    )
    provider = Provider()
    provider.resource = f"{url}/mcp"
    provider.clients["known"] = OAuthClientInformationFull(
        client_id="known",
        client_secret="s3cret-s3cret",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{KNOWN_PORT}/callback")],
        token_endpoint_auth_method="client_secret_basic",
    )
    server = MCPServer("guarded", auth_server_provider=provider, auth=settings)

    @server.tool()
    def secret() -> str:
        return "the secret"

    with serving(server.streamable_http_app(), port) as web:
        web.provider = provider  # type: ignore[attr-defined]
        yield web


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """It, and an empty place for tokens."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with guarding() as web:
        yield web


def client(web: Web, handler: Any, auth: Any = None, **options: Any) -> MCPClient:
    config = HttpMCPConfig(url=f"{web.url}/mcp", timeout=10, **options)
    return MCPClient(name="guarded", is_stateful=True, mcp_config=config, oauth_handler=handler, auth=auth)


async def way_back(request: SignIn) -> str:
    """Go where the browser goes, up to the address that it would be sent back to."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(request.url, follow_redirects=False)
        return str(answer.headers["location"])


def test_the_pasted_address_signs_in_and_the_next_client_needs_no_more(guarded: Web, tmp_path: Path) -> None:
    asked: list[SignIn] = []

    async def paste(request: SignIn) -> str:
        asked.append(request)
        return await way_back(request)

    async def scenario() -> None:
        for _ in range(2):
            async with client(guarded, paste) as made:
                assert said(await use(made, "secret")) == "the secret"
        assert len(asked) == 1
        assert asked[0].server == "guarded"

    asyncio.run(scenario())
    [file] = (tmp_path / "nbtoolkit" / "oauth").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_token_that_is_taken_no_longer_is_renewed_once_and_only_then_asked_for(guarded: Web, tmp_path: Path) -> None:
    provider: Provider = guarded.provider  # type: ignore[attr-defined]
    asked: list[SignIn] = []

    async def paste(request: SignIn) -> str:
        asked.append(request)
        return await way_back(request)

    async def scenario() -> None:
        async with client(guarded, paste) as made:
            assert said(await use(made, "secret")) == "the secret"
            provider.tokens.clear()
            assert said(await use(made, "secret")) == "the secret"
            assert (len(asked), provider.renewed) == (1, 1)
            # Nothing that it holds is taken: the person is asked, and told that it is not the first time.
            provider.tokens.clear()
            provider.renewals.clear()
            assert said(await use(made, "secret")) == "the secret"
            assert ([request.again for request in asked], provider.renewed) == ([False, True], 1)
        # The next kernel, after the end of what was kept: renewed where the server said, before the server refuses.
        [file] = (tmp_path / "nbtoolkit" / "oauth").iterdir()
        held = json.loads(file.read_text())
        assert held["server"]["token_endpoint"].startswith(guarded.url)
        file.write_text(json.dumps({**held, "ends": time.time() - 5}))
        async with client(guarded, paste) as made:
            assert said(await use(made, "secret")) == "the secret"
        assert (len(asked), provider.renewed) == (2, 2)

    asyncio.run(scenario())


def test_two_kernels_renew_one_after_the_other_and_the_second_takes_what_the_first_brought(guarded: Web) -> None:
    provider: Provider = guarded.provider  # type: ignore[attr-defined]
    asked: list[SignIn] = []

    async def paste(request: SignIn) -> str:
        asked.append(request)
        return await way_back(request)

    async def scenario() -> None:
        async with client(guarded, paste) as one, client(guarded, paste) as other:
            assert said(await use(one, "secret")) == said(await use(other, "secret")) == "the secret"
            provider.tokens.clear()
            # The first renews, and what the other holds to renew with is taken no more.
            assert said(await use(one, "secret")) == "the secret"
            assert said(await use(other, "secret")) == "the secret"
            assert (len(asked), provider.renewed) == (1, 1)
            provider.tokens.clear()
            answers = await asyncio.gather(*(use(each, "secret") for each in (one, other, one, other)))
            assert [said(answer) for answer in answers] == ["the secret"] * 4
            assert (len(asked), provider.renewed) == (1, 2)

    asyncio.run(scenario())


def test_a_renewal_that_is_given_up_while_another_kernel_renews_leaves_nothing_open(tmp_path: Path) -> None:
    def open_there() -> int:
        return sum(link.resolve() == tmp_path for link in Path("/proc/self/fd").iterdir())

    async def scenario() -> None:
        async def renew() -> None:
            async with Tokens("https://a.example/mcp", tmp_path).alone():
                raise AssertionError("the other kernel still renews")

        async with Tokens("https://a.example/mcp", tmp_path).alone():
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(renew(), 0.2)
            assert open_there() == 1
        assert open_there() == 0

    asyncio.run(scenario())


def test_a_signed_in_call_waits_for_no_other(guarded: Web) -> None:
    there, both = 0, asyncio.Event()

    async def meet(scope: Any, receive: Any, send: Any) -> None:
        """Answer no call's request before there are two: the SDK alone sends one after the other."""
        nonlocal there
        if dict(scope.get("headers") or ()).get(b"mcp-method") == b"tools/call":
            there += 1
            if there == 2:
                both.set()
            await both.wait()
        await inner(scope, receive, send)

    async def scenario() -> None:
        async with client(guarded, way_back) as made, asyncio.timeout(PATIENCE):
            found = await made.get_tool("secret")
            answers = await asyncio.gather(found(), found())
            assert {said(answer) for answer in answers if isinstance(answer, ToolChunk)} == {"the secret"}

    inner, guarded.app = guarded.app, meet
    asyncio.run(scenario())


def test_a_browser_that_any_page_has_sent_here_is_no_way_back(guarded: Web) -> None:
    async def open_browser(request: SignIn) -> str | None:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(f"{request.redirect}?code=stolen&state=guessed")
            assert answer.status_code == 404
        return await way_back(request)

    async def scenario() -> None:
        async with client(guarded, open_browser) as made:
            assert said(await use(made, "secret")) == "the secret"

    asyncio.run(scenario())


def test_a_browser_on_the_same_machine_comes_back_by_itself(guarded: Web) -> None:
    browsers: list[asyncio.Task[str]] = []

    async def browse(address: str) -> str:
        async with httpx2.AsyncClient() as browser:
            return (await browser.get(address)).text

    async def open_browser(request: SignIn) -> str | None:
        browsers.append(asyncio.create_task(browse(await way_back(request))))
        # The person pastes nothing; the form stays open until it is taken away.
        await asyncio.sleep(600)
        return None

    async def scenario() -> None:
        async with client(guarded, open_browser) as made:
            assert said(await use(made, "secret")) == "the secret"
            assert await browsers[0] == "You are signed in, and can close this page."

    asyncio.run(scenario())


def test_the_time_at_the_sign_in_is_not_the_servers(guarded: Web) -> None:
    async def slow(request: SignIn) -> str:
        await asyncio.sleep(1.5)
        return await way_back(request)

    async def scenario() -> None:
        made = client(guarded, slow)
        await made.connect(timeout=1.0)
        await made.close()

    asyncio.run(scenario())


def test_declining_is_said_in_the_error(guarded: Web) -> None:
    async def decline(request: SignIn) -> None:
        return None

    with pytest.raises(MCPConnectionError, match="the sign-in was declined"):
        asyncio.run(client(guarded, decline).connect())


def test_without_anybody_to_sign_in_the_refusal_says_what_is_missing(guarded: Web) -> None:
    with pytest.raises(MCPConnectionError, match="answered 401"):
        asyncio.run(client(guarded, None).connect())


def test_a_token_of_the_configuration_is_used_as_it_is(guarded: Web) -> None:
    async def never(request: SignIn) -> str:
        raise AssertionError("nobody asks where a token was given")

    with pytest.raises(MCPConnectionError, match="answered 401 Unauthorized: it doesn't take the Authorization header"):
        asyncio.run(client(guarded, never, headers={"authorization": "Bearer stale"}).connect())


def test_a_server_that_wants_a_token_and_knows_no_sign_in_says_where_to_put_one() -> None:
    async def never(request: SignIn) -> str:
        raise AssertionError("there is nowhere to sign in")

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            status = 401 if scope["path"] == "/mcp" else 404
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    with serving(refuse) as web:
        for handler in (never, None):
            with pytest.raises(MCPConnectionError, match=r"wants to know who asks.*headers=.*--header \"Authorization"):
                asyncio.run(client(web, handler).connect())


def test_signing_out_forgets_the_tokens(tmp_path: Path) -> None:
    async def scenario() -> None:
        tokens = Tokens("https://a.example/mcp?x=1", tmp_path)
        assert await tokens.get_tokens() is None
        await tokens.set_tokens(OAuthToken(access_token="t", token_type="Bearer"))
        assert (await Tokens("https://a.example/mcp", tmp_path).get_tokens()).access_token == "t"
        tokens.forget()
        assert await tokens.get_tokens() is None

    asyncio.run(scenario())


def test_a_client_that_was_registered_beforehand_signs_in_as_that_one(guarded: Web, tmp_path: Path) -> None:
    links: list[str] = []

    async def sign_in(request: SignIn) -> str:
        links.append(request.url)
        return await way_back(request)

    async def scenario() -> None:
        known = OAuthClient("known", "s3cret-s3cret", port=KNOWN_PORT)
        one = client(guarded, sign_in, auth=known)
        async with one:
            assert said(await use(one, "secret")) == "the secret"
        assert "client_id=known" in links[0]
        assert "s3cret" not in repr(one) + str(one.model_dump()) + repr(known)

    asyncio.run(scenario())
    [kept] = tmp_path.rglob("*.json")
    assert "s3cret" not in kept.read_text()


def test_any_way_of_signing_in_can_be_given(guarded: Web) -> None:
    class Header(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Any:
            request.headers["Authorization"] = "Bearer mine"
            yield request

    given = client(guarded, None, auth=Header())
    with pytest.raises(MCPConnectionError, match="answered 401"):
        asyncio.run(given.connect())
    assert "auth" not in given.model_dump()


@pytest.mark.parametrize("wrong", [{"machine": True}, {"client_secret": "x"}])
def test_a_half_known_client_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="client_id"):
        OAuthClient(**wrong)


class Ring(KeyringBackend):
    """A keyring in memory."""

    # Never chosen by itself.
    priority = -1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("the person has said no")
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked("the person has said no")
        self.held[service, username] = password


@pytest.fixture
def ring() -> Iterator[Ring]:
    before, made = keyring.get_keyring(), Ring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_tokens_lie_in_the_systems_keyring_where_there_is_one(ring: Ring, tmp_path: Path) -> None:
    async def scenario() -> None:
        tokens = Tokens("https://a.example/mcp", tmp_path)
        await tokens.set_tokens(OAuthToken(access_token="t", token_type="Bearer"))
        assert (await tokens.get_tokens()).access_token == "t"

    asyncio.run(scenario())
    assert list(tmp_path.iterdir()) == []
    assert [service for service, _ in ring.held] == ["nbtoolkit-mcp"]


def test_a_locked_keyring_leaves_the_file_and_an_unlocked_one_takes_over(ring: Ring, tmp_path: Path) -> None:
    async def scenario() -> None:
        await Tokens("https://a.example/mcp", tmp_path).set_tokens(OAuthToken(access_token="old", token_type="Bearer"))

    async def later() -> None:
        tokens = Tokens("https://a.example/mcp", tmp_path)
        assert (await tokens.get_tokens()).access_token == "old"
        await tokens.set_tokens(OAuthToken(access_token="new", token_type="Bearer"))
        assert (await tokens.get_tokens()).access_token == "new"

    ring.locked = True
    asyncio.run(scenario())
    [file] = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    ring.locked = False
    asyncio.run(later())
    assert list(tmp_path.iterdir()) == []


def test_tokens_that_a_keyring_does_not_take_lie_in_the_file_and_its_older_ones_count_no_more(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep(token: str) -> None:
        await Tokens("https://a.example/mcp", tmp_path).set_tokens(OAuthToken(access_token=token, token_type="Bearer"))

    async def held() -> Any:
        return await Tokens("https://a.example/mcp", tmp_path).get_tokens()

    def refuse(*_: str) -> None:
        # As Windows' does, whose errors aren't the keyring's.
        raise OSError(1783, "The stub received bad data")

    asyncio.run(keep("old"))
    with monkeypatch.context() as windows:
        windows.setattr(ring, "set_password", refuse)
        asyncio.run(keep("long" * 1000))
        assert asyncio.run(held()).access_token == "long" * 1000
        Tokens("https://a.example/mcp", tmp_path).forget()
        assert asyncio.run(held()) is None
    asyncio.run(keep("new"))
    assert list(tmp_path.iterdir()) == []
    assert asyncio.run(held()).access_token == "new"
