"""HTTP servers for the tests: a real uvicorn in a thread, which remembers the headers of each request."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn


@dataclass
class Web:
    """A server that runs; ``seen`` holds (method, JSON-RPC method or "", headers) of each request, in order."""

    port: int
    app: Any
    server: uvicorn.Server
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def headers(self, method: str, name: str) -> list[str | None]:
        return [headers.get(name) for verb, headers in self.seen if verb == method]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.seen.append((scope["method"], {k.decode(): v.decode("latin-1") for k, v in scope["headers"]}))
        await self.app(scope, receive, send)


@contextlib.contextmanager
def serving(app: Any, port: int = 0) -> Iterator[Web]:
    """Serve the ASGI app on the loopback address."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    web = Web(listener.getsockname()[1], app, None)  # type: ignore[arg-type]
    config = uvicorn.Config(web, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    web.server = uvicorn.Server(config)
    thread = threading.Thread(target=web.server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not web.server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield web
    finally:
        web.server.should_exit = True
        thread.join(10)
        listener.close()


def answering(status: int, body: bytes = b"", content_type: str = "text/plain") -> Any:
    """An app that answers everything so."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type.encode())]}
        )
        await send({"type": "http.response.body", "body": body})

    return app
