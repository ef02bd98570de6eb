"""Where a server's tokens lie: in the system's keyring where there is one, else in a file that only its owner can read.

When they end and where they are renewed is kept beside them, so that the next kernel renews them without a question.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from nbtoolkit import atomic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pydantic import BaseModel

    from nbtoolkit.mcp.oauth import OAuthClient

__all__ = ["Tokens"]

logger = logging.getLogger("nbtoolkit.mcp")

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")

SERVICE = "nbtoolkit-mcp"
# Another kernel's renewal is one request; how often it is looked whether it has come to its end.
RENEWAL_SECONDS = 30.0
LOOK_SECONDS = 0.05


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

        held = await asyncio.to_thread(self._load)
        tokens = _made(OAuthToken, held.get("tokens"))
        ends = held.get("ends")
        if tokens is not None and isinstance(ends, int | float):
            # What was said when they were given is over by now, or nearly.
            tokens.expires_in = int(ends - time.time())
        return tokens

    async def set_tokens(self, tokens: Any) -> None:
        """Keep the tokens."""
        ends = None if tokens.expires_in is None else time.time() + tokens.expires_in
        kept = {"tokens": tokens.model_dump(mode="json", exclude_none=True), "ends": ends}
        await asyncio.to_thread(self._store, kept)

    async def server(self) -> dict[str, Any]:
        """What the authorization server said of itself, as it was kept."""
        held = (await asyncio.to_thread(self._load)).get("server")
        return held if isinstance(held, dict) else {}

    async def set_server(self, metadata: dict[str, Any]) -> None:
        """Keep what the authorization server says of itself: it names the place where tokens are renewed."""
        await asyncio.to_thread(self._store, {"server": metadata})

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
        await asyncio.to_thread(self._store, {"client": client_info.model_dump(mode="json", exclude_none=True)})

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Renew alone among the kernels of this machine: most servers take a renewal's token once, and all for stolen else.

        Where there are no locks, or another takes too long, it is as without.
        """
        handle = None
        try:
            with contextlib.suppress(ImportError, OSError):
                import fcntl

                if self.file is not None:
                    self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    # The folder itself, so nothing is left behind.
                    handle = os.open(self.file.parent, os.O_RDONLY)
                    for _ in range(round(RENEWAL_SECONDS / LOOK_SECONDS)):
                        try:
                            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                            break
                        except BlockingIOError:
                            await asyncio.sleep(LOOK_SECONDS)
            yield
        finally:
            # Also where whoever waited has been cancelled.
            if handle is not None:
                os.close(handle)

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
        try:
            # It is there only where the keyring didn't take what was stored last, so what the keyring has is older.
            text = None if self.file is None else self.file.read_text("utf-8")
        except (OSError, ValueError):
            text = None
        text = text or _from_keyring(lambda ring: ring.get_password(SERVICE, self.key))
        try:
            held = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return {}
        return held if isinstance(held, dict) else {}

    def _store(self, values: dict[str, Any]) -> None:
        self._write({**self._load(), **values})

    def _write(self, held: dict[str, Any]) -> None:
        text = json.dumps(held)

        def keep(ring: Any) -> bool:
            ring.set_password(SERVICE, self.key, text)
            return True

        if _from_keyring(keep):
            # The file of a time without a keyring, or when it was locked, is older now.
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
    except ImportError:
        return None
    try:
        ring = keyring.get_keyring()
        return None if isinstance(ring, fail.Keyring | null.Keyring) else use(ring)
    except Exception as fault:  # noqa: BLE001 - Windows' has errors of its own, such as for tokens longer than it takes
        logger.warning(
            "the system's keyring can't be used (%s); tokens are kept in %s", type(fault).__name__, _folder()
        )
        return None
