"""Signing in to a server: the SDK's OAuth 2.1, with a place for tokens and two ways back from the browser.

The browser may run elsewhere than the kernel, where its ``127.0.0.1`` isn't ours: so the address that it ends at can be
pasted, and where it is the same machine a listener takes it. Tokens lie in the system's keyring where there is one,
else in a file that only its owner can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

from nbtoolkit import atomic

if TYPE_CHECKING:
    import httpx2
    from pydantic import BaseModel

__all__ = ["OAuthClient", "SignIn", "SignInHandler", "Tokens", "machine_oauth", "oauth"]

logger = logging.getLogger("nbtoolkit.mcp")

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")

SERVICE = "nbtoolkit-mcp"
PAGE = "You are signed in, and can close this page."
# A browser's request line with a code in it; anything longer isn't one.
REQUEST_LIMIT = 16 * 1024


@dataclass(frozen=True)
class SignIn:
    """A server that wants to know who asks: the link to open, and where the browser will end."""

    server: str
    url: str
    redirect: str


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


class Tokens:
    """The SDK's token storage, for one server's URL."""

    def __init__(self, url: str, folder: Path | None = None, client: OAuthClient | None = None) -> None:
        parts = urlsplit(url)
        # Another client's tokens are others.
        whose = f" {client.client_id}" if client is not None and client.client_id else ""
        self.key = hashlib.sha256(f"{parts.scheme}://{parts.netloc}{parts.path}{whose}".encode()).hexdigest()[:32]
        self.client = client
        folder = folder or _folder()
        #: None where there is no home for it.
        self.file = None if folder is None else folder / f"{self.key}.json"
        # What could not be kept on the disk holds for this process.
        self._here: dict[str, Any] | None = None

    async def get_tokens(self) -> Any:
        """The tokens, if there are any."""
        from mcp.shared.auth import OAuthToken

        return _made(OAuthToken, (await asyncio.to_thread(self._load)).get("tokens"))

    async def set_tokens(self, tokens: Any) -> None:
        """Keep the tokens."""
        await asyncio.to_thread(self._store, "tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> Any:
        """How this client is registered with the server."""
        from mcp.shared.auth import OAuthClientInformationFull

        if self.client is not None and self.client.client_id:
            # Given, not registered: nothing of it is kept.
            method = "client_secret_basic" if self.client.client_secret else "none"
            return OAuthClientInformationFull(
                client_id=self.client.client_id,
                client_secret=self.client.client_secret,
                token_endpoint_auth_method=method,
            )
        return _made(OAuthClientInformationFull, (await asyncio.to_thread(self._load)).get("client"))

    async def set_client_info(self, client_info: Any) -> None:
        """Keep the registration, where it isn't one that was given."""
        if self.client is not None and self.client.client_id:
            return
        await asyncio.to_thread(self._store, "client", client_info.model_dump(mode="json", exclude_none=True))

    def forget(self) -> None:
        """Sign out: drop tokens and registration."""
        self._write({})

    def port(self) -> int | None:
        """The port that the registration names, to be used again."""
        client = self._load().get("client")
        for uri in (client.get("redirect_uris") if isinstance(client, dict) else None) or ():
            with contextlib.suppress(ValueError):
                return urlsplit(str(uri)).port
        return None

    def _load(self) -> dict[str, Any]:
        if self._here is not None:
            return self._here
        text = _from_keyring(lambda ring: ring.get_password(SERVICE, self.key))
        try:
            # Also where a keyring was locked when they were stored, or has come since.
            held = json.loads(text or ("{}" if self.file is None else self.file.read_text("utf-8")))
        except (OSError, ValueError, RecursionError):
            return {}
        return held if isinstance(held, dict) else {}

    def _store(self, name: str, value: Any) -> None:
        self._write({**self._load(), name: value})

    def _write(self, held: dict[str, Any]) -> None:
        text = json.dumps(held)

        def keep(ring: Any) -> bool:
            ring.set_password(SERVICE, self.key, text)
            return True

        if _from_keyring(keep):
            # The file of a time without a keyring is older now.
            with contextlib.suppress(OSError):
                if self.file is not None:
                    self.file.unlink(missing_ok=True)
            return
        try:
            if self.file is None:
                raise FileNotFoundError("there is no home folder")
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.replace(self.file, text.encode(), mode=0o600)
        except OSError as fault:
            # A full disk or a read-only home must not cost the sign-in that was just made.
            self._here = held
            logger.warning("a server's tokens can't be kept (%s), so the next kernel signs in anew", fault)
        else:
            self._here = None


def _made(kind: type[M], held: Any) -> M | None:
    """What was kept, as the SDK's model; None for what isn't one: the person signs in again."""
    try:
        return kind.model_validate(held) if held else None
    except ValueError:
        return None


def _folder() -> Path | None:
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
        else:
            base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    except RuntimeError:
        return None
    return base / "nbtoolkit" / "oauth"


def _from_keyring(use: Callable[[Any], T]) -> T | None:
    """What is done with the system's keyring; None where there is none, or it is locked."""
    try:
        import keyring
        from keyring.backends import fail, null
        from keyring.errors import KeyringError
    except ImportError:
        return None
    ring = keyring.get_keyring()
    if isinstance(ring, fail.Keyring | null.Keyring):
        return None
    try:
        return use(ring)
    except KeyringError:
        logger.warning("the system's keyring can't be used; tokens are kept in %s", _folder())
        return None


class _Listener:
    """Waits on this machine for the browser to come back."""

    def __init__(self, port: int) -> None:
        self.port = port
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
            good = urlsplit(target).path == "/callback"
            body = PAGE if good else "Not found."
            head = f"HTTP/1.1 {'200 OK' if good else '404 Not Found'}\r\nContent-Type: text/plain\r\nConnection: close"
            writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
            if good and not self.arrived.done():
                self.arrived.set_result(target)
        writer.close()


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
        async with _Listener(port) as listener:
            asked = asyncio.ensure_future(sign_in(SignIn(server, opened[0], redirect)))
            ways: list[asyncio.Future[Any]] = [listener.arrived, asked]
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                address: str | None = next(way.result() for way in ways if way in done)
            finally:
                asked.cancel()
        if address is None:
            raise OAuthFlowError("the sign-in was declined")
        answer = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
        if "code" not in answer:
            raise OAuthFlowError(answer.get("error_description") or answer.get("error") or "the address holds no code")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    described = {"redirect_uris": [redirect], "client_name": "nbtoolkit", "scope": client.scope if client else None}
    metadata = OAuthClientMetadata.model_validate(described)
    metadata_url = client.metadata_url if client else None
    return OAuthClientProvider(url, metadata, tokens, remember, come_back, client_metadata_url=metadata_url)
