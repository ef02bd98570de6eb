"""The notebook's end of what goes on beside a call on another process: its reports come in, its stop goes out.

One carrier for each kind of engine. What an engine can't carry isn't carried, and the call runs all the same: each
carrier says what its stop reaches.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
import weakref
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import ToolInterruptedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future
    from multiprocessing.connection import Connection

__all__ = ["Carried", "carried", "executor_of", "runner"]

# A report is a line of text and two numbers.
_LARGEST = 65_536
# Seconds between two looks at what an engine has published.
_LOOK = 0.2
# Seconds for an engine to hear of a stop; it does so beside whatever it runs.
_TOLD_SECONDS = 5.0


class Carried:
    """One call on an engine: the ticket that it travels with, and what comes of it. This one carries nothing."""

    def __init__(self, name: str, report: Callable[[dict[str, Any]], None], *, once: bool) -> None:
        self.id = secrets.token_hex(8)
        self.name = name
        self.ticket: dict[str, Any] | None = None
        self.begun = 0
        self._report = report
        self.once = once

    def follow(self, future: Future[Any]) -> None:
        """The call was handed over."""

    def stop(self, future: Future[Any]) -> None:
        """Stop it, as far as the engine can; blocks nobody."""

    def end(self) -> None:
        """It has ended, or nobody waits for it any more."""

    def heard(self, message: dict[str, Any]) -> None:
        """A message of the worker's, which may be any other code there."""
        if message.get("begun"):
            self.begun += 1
        elif "progress" in message:
            # Stopped meanwhile: the worker will hear of that.
            with suppress(ToolInterruptedError):
                self._report({key: message.get(key) for key in ("progress", "total", "message")})


def carried(
    executor: Executor, engine: str, name: str, report: Callable[[dict[str, Any]], None], *, once: bool
) -> Carried:
    """What carries a call's reports and its stop for this kind of engine."""
    try:
        return _KINDS.get(engine, _plain)(executor, name, report, once)
    except OSError:
        # No place for a pipe: the call itself needs none.
        return Carried(name, report, once=once)


def runner(engine: str, name: str) -> Callable[..., Any]:
    """What runs a function with its ticket on a worker; an engine shows it by the tool's name."""
    if engine == "ProcessPoolExecutor":
        from nbtoolkit.tool.worker import run_there

        return run_there
    # As if a cell had defined it, so that it travels as code: an engine's environment may lack nbtoolkit.
    travels = FunctionType(_there.__code__, {"__builtins__": __builtins__, "__name__": "__main__"}, name)
    travels.__module__ = "__main__"
    travels.__qualname__ = name
    return travels


def _there(ticket: Any, func: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        from nbtoolkit.tool.worker import run_there
    except ImportError:
        # A worker of an environment without nbtoolkit runs the function as it would alone.
        return func(*args, **kwargs)
    return run_there(ticket, func, *args, **kwargs)


def _plain(_executor: Executor, name: str, report: Any, once: bool) -> Carried:
    return Carried(name, report, once=once)


# ------------------------------------------------------------------------------------------------- a pool of processes
class _ByPipe(Carried):
    """A stop ends a call that runs, also where it sleeps or reads; one that waits in the pool's queue never begins."""

    def __init__(self, name: str, report: Any, office: _Office, *, once: bool) -> None:
        super().__init__(name, report, once=once)
        self._office = office
        self.ticket = {"engine": "ProcessPoolExecutor", "id": self.id, "name": name, **office.where}
        office.calls[self.id] = self

    def follow(self, future: Future[Any]) -> None:  # noqa: ARG002 - others look at it
        # Not before: a pool that forks does so at its first call, and a process with more threads forks less well.
        self._office.open()

    def stop(self, future: Future[Any]) -> None:
        if not future.done():
            self._office.stop(self.id)

    def end(self) -> None:
        self._office.calls.pop(self.id, None)


class _Office:
    """Where the processes of this notebook's pools connect to: for this user on this machine, with a key."""

    def __init__(self) -> None:
        from multiprocessing.connection import Listener

        key = secrets.token_bytes(32)
        self._listener = Listener(authkey=key)
        self.where = {"address": self._listener.address, "key": key}
        self.calls: weakref.WeakValueDictionary[str, Carried] = weakref.WeakValueDictionary()
        self._workers: set[Connection] = set()
        self._stops: list[str] = []
        self._lock = threading.Lock()
        self._opened = False

    def open(self) -> None:
        with self._lock:
            if not self._opened:
                self._opened = True
                threading.Thread(target=self._accept, name="nbtoolkit-workers", daemon=True).start()

    def _accept(self) -> None:
        from multiprocessing import AuthenticationError

        while True:
            try:
                worker = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):
                continue
            except OSError:
                return  # closed: the process ends
            with self._lock:
                self._workers.add(worker)
                stops = list(self._stops)
            for each in stops:
                self._send(worker, each)
            threading.Thread(target=self._hear, args=(worker,), name="nbtoolkit-worker", daemon=True).start()

    def _hear(self, worker: Connection) -> None:
        with worker:
            while True:
                try:
                    message = json.loads(worker.recv_bytes(_LARGEST))
                except (EOFError, OSError, ValueError):
                    break
                call = self.calls.get(str(message.get("id"))) if isinstance(message, dict) else None
                if call is not None:
                    call.heard(message)
            with self._lock:
                self._workers.discard(worker)

    def stop(self, id: str) -> None:  # noqa: A002 - the call's
        with self._lock:
            # For the worker that has the call and is only now about to connect.
            self._stops = [*self._stops[-100:], id]
            workers = list(self._workers)
        for worker in workers:
            self._send(worker, id)

    def _send(self, worker: Connection, id: str) -> None:  # noqa: A002 - the call's
        with suppress(OSError, ValueError):
            worker.send_bytes(json.dumps({"stop": id}).encode())


_office: tuple[int, _Office] | None = None
_making = threading.Lock()


def _by_pipe(_executor: Executor, name: str, report: Any, once: bool) -> Carried:
    global _office
    with _making:
        # A forked process has an office of its own.
        if _office is None or _office[0] != os.getpid():
            _office = (os.getpid(), _Office())
    return _ByPipe(name, report, _office[1], once=once)


# ---------------------------------------------------------------------------------------------------- dask.distributed
class _ByEvents(Carried):
    """A stop takes a waiting call back, and reaches a running one at its next report: it runs in a worker's thread."""

    def __init__(self, name: str, report: Any, client: Any, desk: _Desk | None, *, once: bool) -> None:
        super().__init__(name, report, once=once)
        self._client, self._desk = client, desk
        # Also where nobody hears its reports: the call must know whether it has begun before.
        self._topic = _a_topic() if desk is None else desk.topic
        self.ticket = {"engine": "ClientExecutor", "id": self.id, "name": name, "topic": self._topic, "once": once}
        if desk is not None:
            desk.calls[self.id] = self

    def _can_ask(self) -> bool:
        return self._client is not None and self._client.status == "running"

    def stop(self, future: Future[Any]) -> None:  # noqa: ARG002 - others look at it
        from nbtoolkit.tool.worker import stop_here

        if self._can_ask():
            # In the client's own loop, where its methods are coroutines.
            self._client.loop.add_callback(partial(self._client.run, stop_here, self.id, on_error="ignore"))

    def end(self) -> None:
        if self._desk is not None:
            self._desk.calls.pop(self.id, None)
        if self.once and self._can_ask():
            self._client.loop.add_callback(self._forget)

    async def _forget(self) -> None:
        from distributed import Event

        event: Any = Event(self._topic + self.id, client=self._client)  # type: ignore[no-untyped-call]
        with suppress(Exception):  # the scheduler may be gone
            await event.clear()


def _a_topic() -> str:
    return f"nbtoolkit-{secrets.token_hex(8)}"


class _Desk:
    """What one client's workers send."""

    def __init__(self, client: Any) -> None:
        self.topic = _a_topic()
        self.calls: weakref.WeakValueDictionary[str, Carried] = weakref.WeakValueDictionary()
        client.subscribe_topic(self.topic, self._heard)

    def _heard(self, event: tuple[float, Any]) -> None:
        message = event[1]
        call = self.calls.get(str(message.get("id"))) if isinstance(message, dict) else None
        if call is not None:
            call.heard(message)


_desks: weakref.WeakKeyDictionary[Any, _Desk] = weakref.WeakKeyDictionary()
# The clients whose executors were made here, by them.
_clients: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def executor_of(client: Any) -> Executor:
    """A client's executor, which doesn't say itself whose it is."""
    made: Executor = client.get_executor()
    _clients[made] = client
    return made


def _by_events(executor: Executor, name: str, report: Any, once: bool) -> Carried:
    client = _clients.get(executor)
    if client is None:
        from distributed import Client

        # The notebook's newest. Were it another scheduler's, reports would go unheard, and no call would be any other's.
        with suppress(ValueError):
            client = Client.current()  # type: ignore[no-untyped-call]
    if client is None:
        return _ByEvents(name, report, None, None, once=once)
    with _making:
        desk = _desks.get(client)
        if desk is None:
            desk = _desks[client] = _Desk(client)
    return _ByEvents(name, report, client, desk, once=once)


# --------------------------------------------------------------------------------------------------------- ipyparallel
class _ByData(Carried):
    """A stop takes a waiting call back, and ends one that runs by a signal, whichever of the view's engines has it."""

    def __init__(self, name: str, report: Any, view: Any, *, once: bool) -> None:
        super().__init__(name, report, once=once)
        self._view = view
        self._over = threading.Event()
        self.ticket = {"engine": "ViewExecutor", "id": self.id, "name": name}

    def follow(self, future: Future[Any]) -> None:
        if hasattr(future, "metadata"):
            future.add_done_callback(lambda _: self._over.set())
            threading.Thread(target=self._look, args=(future,), name="nbtoolkit-engine", daemon=True).start()

    def _look(self, future: Any) -> None:
        last: Any = None
        while True:
            over = self._over.wait(_LOOK)
            with suppress(Exception):  # an engine that is lost has no more to say
                data = future.metadata["data"] or {}
                message = data.get("nbtoolkit")
                if isinstance(message, dict) and message is not last:
                    last = message
                    self.heard(message)
            if over:
                return

    def stop(self, future: Future[Any]) -> None:
        # A future of ipyparallel's is cancelled with the wait for it, whatever the engines do.
        told: Any = None
        with suppress(Exception):  # the client was closed, or no engine is left
            told = self._view.abort([future], block=False)
        if told is not None and hasattr(signal, "SIGURG"):
            threading.Thread(target=self._wake, args=(told,), name="nbtoolkit-stop", daemon=True).start()

    def _wake(self, told: Future[Any]) -> None:
        """Signal the engines once they know which call is meant: the one that runs it ends it, the others hear nothing."""
        with suppress(Exception):
            with suppress(TimeoutError):  # one of them is lost
                told.result(_TOLD_SECONDS)
            self._view.client.send_signal("SIGURG", targets=self._view.targets, block=False)

    def end(self) -> None:
        self._over.set()


def _by_data(executor: Executor, name: str, report: Any, once: bool) -> Carried:
    view: Any = getattr(executor, "view", None)
    return _ByData(name, report, view, once=once)


_KINDS: dict[str, Callable[[Executor, str, Any, bool], Carried]] = {
    "ProcessPoolExecutor": _by_pipe,
    "ClientExecutor": _by_events,
    "ViewExecutor": _by_data,
}
