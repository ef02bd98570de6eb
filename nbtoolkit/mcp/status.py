"""What there is to tell of a server at one moment, for its card and for ``%toolkit mcp list``."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.mcp.connection import Connection

__all__ = ["Flight", "ServerStatus", "status_of"]

State = Literal["connected", "connecting", "died", "closed", "stateless"]

_number = itertools.count(1)


@dataclass
class Flight:
    """A call under way; ``cancel`` stops it from any thread, and the server is told."""

    tool: str
    number: int = field(default_factory=lambda: next(_number))
    started: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] | None = None
    cancel: Callable[[], object] = lambda: None

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.started


@dataclass(frozen=True)
class ServerStatus:
    """A server's state; ``era`` is the protocol version that was agreed on, ``tools`` None until they were listed.

    ``title``, ``version`` and ``instructions`` are the server's own words.
    """

    name: str
    state: State
    transport: Literal["stdio", "http", "sse"]
    address: str
    era: str | None = None
    title: str | None = None
    version: str | None = None
    instructions: str | None = None
    pid: int | None = None
    uptime: float | None = None
    starts: int = 0
    tools: int | None = None
    calls: tuple[Flight, ...] = ()
    tail: tuple[str, ...] = ()
    log_file: str | None = None


# Enough lines for a card.
TAIL_LINES = 8


def status_of(connection: Connection) -> ServerStatus:
    """The state now; read from other threads, so nothing is asked twice."""
    session = connection.session
    client = session.client if session is not None else None
    definitions = connection.definitions
    described: dict[str, Any] = {}
    if session is not None and client is not None and session.alive:
        info = client.server_info
        described = {
            "era": client.protocol_version,
            "title": (info.title or info.name) if info is not None else None,
            "version": info.version if info is not None else None,
            "instructions": client.instructions,
            "uptime": time.monotonic() - session.opened_at,
        }
    process = session.process if session is not None else None
    return ServerStatus(
        name=connection.name,
        state=_state(connection),
        transport=connection.config.transport,
        address=connection.config.describe(),
        pid=process.pid if process is not None and process.exit_code is None else None,
        starts=connection.starts,
        tools=len(definitions) if definitions is not None else None,
        calls=tuple(connection.flights.values()),
        tail=tuple(connection.log.tail(TAIL_LINES)),
        log_file=str(connection.log.path) if connection.log.path is not None else None,
        **described,
    )


def _state(connection: Connection) -> State:
    if not connection.stateful:
        return "stateless"
    if connection.alive:
        return "connected"
    session = connection.session
    if session is not None and session.opening:
        return "connecting"
    return "died" if connection.wanted else "closed"
