"""The HTTP connection below the gate: a head that doesn't come, or one connection too many, is cut off."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import logging
    from collections import Counter

__all__ = ["protocol"]


def protocol(refused: Counter[str], head_seconds: float, most: int, log: logging.Logger) -> type[asyncio.Protocol]:
    """The HTTP protocol of uvicorn, with limits that it hasn't: on the time for a request's head, and on connections."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        """One connection."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.logger = log
            self._late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            _at_once(transport)
            if len(self.connections) > most:
                refused["connections"] += 1
                transport.abort()
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def _watch(self) -> None:
            """A request that is being answered is the gate's; until then its head is awaited."""
            if _answers(self):
                self._unwatch()
            elif self._late is None:
                self._late = self.loop.call_later(head_seconds, self._cut)

        def _unwatch(self) -> None:
            late, self._late = self._late, None
            if late is not None:
                late.cancel()

        def _cut(self) -> None:
            self._late = None
            if not _answers(self) and not self.transport.is_closing():
                refused["slow"] += 1
                self.transport.abort()

    return Guarded


def _answers(connection: Any) -> bool:
    cycle = connection.cycle  # None before the first request, which its annotation doesn't say
    return cycle is not None and not cycle.response_complete


def _at_once(transport: asyncio.Transport) -> None:
    """Send what is written; asyncio says so only for sockets made with TCP's number, and else each answer waits 40 ms."""
    line = transport.get_extra_info("socket")
    if line is not None:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
