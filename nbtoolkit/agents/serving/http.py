"""The server in a thread of its own: started and stopped from anywhere, gone with its process.

It promises: 127.0.0.1 unless another address is asked for; a random token; a bound on connections, on how long a request
may take to arrive, and on what is open at once; nothing on disk; that ``stop`` ends it within seconds, calls under way
included; and that a forked child doesn't hold its port.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import secrets
import socket
import threading
import weakref
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtoolkit.agents.serving.gate import PATH, Gate, Hosts
from nbtoolkit.agents.serving.service import Service
from nbtoolkit.agents.serving.words import NAME
from nbtoolkit.exception import DeveloperOrientedException

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Coroutine
    from concurrent.futures import Future

    from nbtoolkit.agents.serving.call import Runner
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["HTTPServer", "serve"]

logger = logging.getLogger("nbtoolkit.serving")
# What strangers send is no news for a notebook's output; whoever wants to see it gives this a handler.
_wire = logging.getLogger("nbtoolkit.serving.wire")
_wire.addHandler(logging.NullHandler())
_wire.propagate = False

T = TypeVar("T")

LOCAL = "127.0.0.1"
# A request's head comes at once, or somebody holds the line.
HEAD_SECONDS = 10.0
# Longer than clients keep a connection that they may use again.
KEEP_ALIVE_SECONDS = 75
# Clients hold a handful each.
MAX_CONNECTIONS = 256
# A client that is started for each call, and doesn't take leave, leaves one behind each time.
MAX_SESSIONS = 1000
START_SECONDS = 15.0
# An answer that streams has nothing more to say when the server stops.
STOP_SECONDS = 5.0

_servers: weakref.WeakSet[HTTPServer] = weakref.WeakSet()


class HTTPServer:
    """One toolkit at one address; ``start`` it, ``stop`` it, or use it in a ``with`` block."""

    def __init__(
        self,
        toolkit: Toolkit,
        *,
        host: str = LOCAL,
        port: int = 0,
        runner: Runner | None = None,
        name: str = NAME,
        token: str | None = None,
    ) -> None:
        self.service = Service(toolkit, runner, name=name)
        self.host = host
        self.port = port
        self.token = secrets.token_urlsafe(32) if token is None else token
        self._hosts = Hosts(host)
        self._gate: Gate | None = None
        self._socket: socket.socket | None = None
        self._uvicorn: Any = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()
        self._failure: BaseException | None = None

    def __repr__(self) -> str:
        return f"<MCP server of {self.service.name!r}, {'running' if self.is_running else 'stopped'}>"

    @property
    def is_running(self) -> bool:
        """Whether it takes calls."""
        return self._thread is not None and self._thread.is_alive() and self._pid == os.getpid()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self._hosts.is_local

    @property
    def url(self) -> str:
        """Where it is, for a client on this machine."""
        host = self.host if self.host not in {"0.0.0.0", "::", ""} else LOCAL  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}{PATH}"

    @property
    def headers(self) -> dict[str, str]:
        """What a client sends with every request."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def refused(self) -> Counter[str]:
        """How many requests were refused, by reason: host, origin, token, path, rate, many, size, slow."""
        from collections import Counter

        return Counter() if self._gate is None else self._gate.refused

    # ------------------------------------------------------------------ start and stop
    def start(self) -> HTTPServer:
        """Listen; OSError where the address can't be had."""
        if self._thread is not None:
            raise DeveloperOrientedException("this server has been started before; make a new one")
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._socket = socket.create_server((self.host, self.port), family=family)
        self.port = self._socket.getsockname()[1]
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="nbtoolkit-serving", daemon=True)
        self._thread.start()
        _servers.add(self)
        if not ready.wait(START_SECONDS) or self._failure is not None:
            self.stop()
            raise DeveloperOrientedException(f"the MCP server did not start: {self._failure!r}") from self._failure
        return self

    def _run(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:  # whoever started it is told
            self._failure = error
            if ready.is_set():
                logger.warning("the MCP server ended", exc_info=error)
        finally:
            ready.set()
            self._close_socket()

    async def _serve(self, ready: threading.Event) -> None:
        import uvicorn

        from nbtoolkit.agents.serving.wire import protocol

        self._loop = asyncio.get_running_loop()
        app = self.service.server().streamable_http_app(
            streamable_http_path=PATH,
            transport_security=None,
            host="",
            max_sessions=MAX_SESSIONS,
        )
        self._gate = gate = Gate(app, self.token, self._hosts)
        config = uvicorn.Config(
            gate,
            http=protocol(gate.refused, HEAD_SECONDS, MAX_CONNECTIONS, _wire),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
        )
        self._uvicorn = server = uvicorn.Server(config)
        running = asyncio.ensure_future(server.serve(sockets=[self._socket] if self._socket is not None else None))
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.005)
        ready.set()
        await running

    def stop(self) -> None:
        """End it, calls under way included; from any thread, and harmless where it has ended."""
        _servers.discard(self)
        thread, loop = self._thread, self._loop
        if self._pid != os.getpid():
            return
        self.service.close()
        if thread is not None and thread.is_alive():
            if loop is not None:
                with contextlib.suppress(RuntimeError):  # it has just ended
                    loop.call_soon_threadsafe(self._end)
            if thread is not threading.current_thread():
                thread.join(STOP_SECONDS)
        self._close_socket()

    def _end(self) -> None:
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        for task in list(self._gate.under_way) if self._gate is not None else ():
            task.cancel()

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Self:
        if self._thread is None:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ------------------------------------------------------------------ from other threads
    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T] | None:
        """Run a coroutine in the server's thread; None, and nothing run, where that has ended."""
        loop = self._loop
        if loop is not None and self.is_running:
            with contextlib.suppress(RuntimeError):
                return asyncio.run_coroutine_threadsafe(coroutine, loop)
        coroutine.close()
        return None

    def look(self) -> Future[bool] | None:
        """Tell the clients of what has changed among the tools, if anything has."""
        return self.submit(self.service.look())

    def _let_go(self) -> None:
        """In a forked child: the port and the connections are the parent's."""
        descriptors = [] if self._socket is None else [self._socket.fileno()]
        connections = getattr(getattr(self._uvicorn, "server_state", None), "connections", ())
        for connection in list(connections):
            line = connection.transport.get_extra_info("socket")
            if line is not None:
                descriptors.append(line.fileno())
        for descriptor in descriptors:
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)


def serve(toolkit: Toolkit, *, host: str = LOCAL, port: int = 0, runner: Runner | None = None) -> HTTPServer:
    """Serve a toolkit in a background thread; ``.url`` and ``.headers`` are what a client needs.

    Without a runner its calls run in that thread, and ask whoever the toolkit's approver asks.
    """
    return HTTPServer(toolkit, host=host, port=port, runner=runner).start()


def _stop_all() -> None:
    for server in list(_servers):
        server.stop()


def _in_child() -> None:
    for server in list(_servers):
        server._let_go()  # noqa: SLF001 - of this module
    _servers.clear()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
