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
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import httpx2

__all__ = ["SignIn", "SignInHandler", "Tokens", "oauth"]

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


# Shows the link and gives the address that the browser ended at; None: the person doesn't want to.
SignInHandler: TypeAlias = Callable[[SignIn], Awaitable[str | None]]


class Tokens:
    """The SDK's token storage, for one server's URL."""

    def __init__(self, url: str, folder: Path | None = None) -> None:
        parts = urlsplit(url)
        self.key = hashlib.sha256(f"{parts.scheme}://{parts.netloc}{parts.path}".encode()).hexdigest()[:32]
        self.file = (folder or _folder()) / f"{self.key}.json"

    async def get_tokens(self) -> Any:
        """The tokens, if there are any."""
        from mcp.shared.auth import OAuthToken

        held = (await asyncio.to_thread(self._load)).get("tokens")
        return OAuthToken.model_validate(held) if held else None

    async def set_tokens(self, tokens: Any) -> None:
        """Keep the tokens."""
        await asyncio.to_thread(self._store, "tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> Any:
        """How this client is registered with the server."""
        from mcp.shared.auth import OAuthClientInformationFull

        held = (await asyncio.to_thread(self._load)).get("client")
        return OAuthClientInformationFull.model_validate(held) if held else None

    async def set_client_info(self, client_info: Any) -> None:
        """Keep the registration."""
        await asyncio.to_thread(self._store, "client", client_info.model_dump(mode="json", exclude_none=True))

    def forget(self) -> None:
        """Sign out: drop tokens and registration."""
        self._write({})

    def port(self) -> int | None:
        """The port that the registration names, to be used again."""
        for uri in (self._load().get("client") or {}).get("redirect_uris") or ():
            with contextlib.suppress(ValueError):
                return urlsplit(str(uri)).port
        return None

    def _load(self) -> dict[str, Any]:
        try:
            ring = _keyring()
            text = ring.get_password(SERVICE, self.key) if ring is not None else self.file.read_text("utf-8")
            held = json.loads(text or "{}")
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}

    def _store(self, name: str, value: Any) -> None:
        self._write({**self._load(), name: value})

    def _write(self, held: dict[str, Any]) -> None:
        text = json.dumps(held)
        ring = _keyring()
        if ring is not None:
            ring.set_password(SERVICE, self.key, text)
            return
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.file.with_suffix(f".{os.getpid()}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(self.file)


def _folder() -> Path:
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "nbtoolkit" / "oauth"


def _keyring() -> Any:
    """The system's keyring, where the library is there and has one to offer."""
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
        from keyring.backends import fail, null  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    ring = keyring.get_keyring()
    return None if isinstance(ring, fail.Keyring | null.Keyring) else ring


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


def oauth(server: str, url: str, sign_in: SignInHandler, tokens: Tokens | None = None) -> httpx2.Auth:
    """Sign in when the server asks for it, and keep the tokens; ``sign_in`` is called in the portal."""
    from mcp.client.auth import OAuthClientProvider, OAuthFlowError
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

    tokens = tokens or Tokens(url)
    port = tokens.port() or _free_port()
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

    metadata = OAuthClientMetadata.model_validate({"redirect_uris": [redirect], "client_name": "nbtoolkit"})
    return OAuthClientProvider(url, metadata, tokens, remember, come_back)
