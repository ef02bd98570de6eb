"""Around a call on a worker in another process: its reports go to the notebook, and the notebook's stop comes in.

Each kind of engine has a way of its own, named by the ticket that the call travels with. A pool of processes gets a pipe,
dask.distributed's events and ipyparallel's published data are there already. It promises: without a way to the notebook
the call runs as it would alone; a call that isn't to be repeated begins once, though its scheduler would begin it again
elsewhere; a stop hits the call that it was meant for and leaves the worker fit for the next one.

This module is imported on workers: it loads next to nothing.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nbtoolkit.tool.progress import current_call
from nbtoolkit.tool.reporting import stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

__all__ = ["BegunBeforeError", "run_there", "stop_here"]

# Seconds between two reports of a call: an eye sees no more of them.
_PAUSE = 0.05
# Stops of calls that haven't begun here; they come for each worker, of which one has the call.
_MOST_STOPS = 1_000
# Seconds that a call waits for the notebook to take its line.
_LINE_SECONDS = 2.0
# Seconds for a signal that this process sent itself.
_SIGNAL_SECONDS = 1.0

Ticket = dict[str, Any]


class BegunBeforeError(Exception):
    """The call began on a worker that is lost, and isn't to be repeated."""


def run_there(ticket: Ticket, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run the function as the notebook's call that the ticket names."""
    run = _RUNS[ticket["engine"]](ticket)
    token = current_call.set(run)
    try:
        return run.around(func, args, kwargs)
    finally:
        current_call.reset(token)


class _Run:
    """One call on this worker; what ``report_progress`` finds there."""

    def __init__(self, ticket: Ticket) -> None:
        self.id = str(ticket["id"])
        self.name = str(ticket["name"])
        self.ticket = ticket
        self.stopped = False
        self._held: dict[str, Any] | None = None
        self._next = 0.0

    def report(self, snapshot: dict[str, Any]) -> None:
        """Send a report, or hold it where one has just gone; raises where the call was stopped."""
        if self.stopped:
            raise stopped(self.name)
        self._held = snapshot
        moment = time.monotonic()
        if moment >= self._next:
            self._next = moment + _PAUSE
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        held, self._held = self._held, None
        if held is not None:
            # Nobody may be there any more to hear of it; the result has a way of its own.
            with suppress(Exception):
                self.send({"id": self.id, **held})

    def send(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """Let its next report raise."""
        self.stopped = True

    def around(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it."""
        try:
            return func(*args, **kwargs)
        finally:
            self.flush()


class _Interruptible(_Run):
    """A call in a worker's main thread, which a signal can end wherever it is."""

    number = signal.SIGINT

    def __init__(self, ticket: Ticket) -> None:
        super().__init__(ticket)
        self._asked = self._told = self._armed = False
        self._before: Any = None

    def around(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it; its stop is a ToolInterruptedError, and no later one can hit what runs next."""
        try:
            try:
                self.begin()
                return func(*args, **kwargs)
            finally:
                self.end()
                self.flush()
        except KeyboardInterrupt:
            # Where it came in the middle of those two; it comes once.
            self.end()
            self.flush()
            if not self.stopped:
                raise
            raise stopped(self.name) from None

    def begin(self) -> None:
        """Listen to the signal."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(self.number, self._on_signal)
            self._armed = True

    def end(self) -> None:
        """Listen no more, once a signal that is under way has come; twice does no harm."""
        if not self._armed:
            return
        deadline = time.monotonic() + _SIGNAL_SECONDS
        while self._asked and not self._told and time.monotonic() < deadline:
            with suppress(KeyboardInterrupt):
                time.sleep(0.001)
        self._armed = False
        signal.signal(self.number, signal.SIG_DFL if self._before is None else self._before)

    def stop(self) -> None:
        """Send the signal; in another thread than the call's, while ``end`` can't have run."""
        super().stop()
        if self._armed and not self._asked:
            self._asked = True
            if hasattr(signal, "pthread_kill"):
                # Unlike a mere note for the interpreter it also ends a sleep and a read.
                signal.pthread_kill(threading.main_thread().ident or 0, self.number)
            else:
                import _thread

                _thread.interrupt_main()

    def _on_signal(self, number: int, frame: Any) -> None:
        if self._asked and not self._told:
            self._told = True
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(number, frame)


# ------------------------------------------------------------------------------------------------- a pool of processes
class _PoolRun(_Interruptible):
    _line: _Line | None = None

    def begin(self) -> None:
        super().begin()
        # Without a line it runs as it would alone.
        self._line = _line(self.ticket["address"], self.ticket["key"])
        if self._line is not None:
            self._line.begin(self)

    def end(self) -> None:
        if self._line is not None:
            self._line.end(self)
        super().end()

    def send(self, message: dict[str, Any]) -> None:
        if self._line is not None:
            self._line.send(message)


class _Line:
    """This process's connection to the notebook; it stays for the calls that come."""

    def __init__(self, address: Any, key: bytes) -> None:
        from multiprocessing.connection import Client

        self._connection: Connection = Client(address, authkey=key)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._stops: deque[str] = deque(maxlen=_MOST_STOPS)
        self.closed = False
        threading.Thread(target=self._listen, name="nbtoolkit-line", daemon=True).start()

    def begin(self, run: _Run) -> None:
        with self._lock:
            if run.id in self._stops:
                run.stopped = True
                raise stopped(run.name)
            self._runs[run.id] = run

    def end(self, run: _Run) -> None:
        with self._lock:
            self._runs.pop(run.id, None)

    def send(self, message: dict[str, Any]) -> None:
        with self._sending:
            self._connection.send_bytes(json.dumps(message).encode())

    def _listen(self) -> None:
        while True:
            try:
                message = json.loads(self._connection.recv_bytes(65_536))
            except (EOFError, OSError):
                self.closed = True
                return
            with self._lock:
                self._stops.append(message["stop"])
                run = self._runs.get(message["stop"])
                if run is not None:
                    run.stop()


# By the process too: a worker may have been forked from one that had a line.
_lines: dict[tuple[int, Any], _Line] = {}


def _line(address: Any, key: bytes) -> _Line | None:
    """The line to that address, None while nobody there picks up; a call takes it in the worker's one thread for calls."""
    place = (os.getpid(), address)

    def connect() -> None:
        with suppress(OSError, EOFError, ValueError):
            _lines[place] = _Line(address, key)

    found = _lines.get(place)
    if found is None or found.closed:
        _lines.pop(place, None)
        # A notebook that is busy answers late, and no call has to wait for it.
        connecting = threading.Thread(target=connect, name="nbtoolkit-connect", daemon=True)
        connecting.start()
        connecting.join(_LINE_SECONDS)
    return _lines.get(place)


# ---------------------------------------------------------------------------------------------------- dask.distributed
# The calls that run in this worker's threads, and the stops of those that haven't begun here.
_here: dict[str, _Run] = {}
_stops: deque[str] = deque(maxlen=_MOST_STOPS)


class _DistributedRun(_Run):
    """A call in a thread of a worker: a stop reaches it at its next report."""

    _worker: Any = None

    def around(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import distributed

        self._worker = distributed.get_worker()
        if self.ticket["once"]:
            # Kept by the scheduler, which outlives a worker and begins its calls anew on another.
            begun: Any = distributed.Event(self.ticket["topic"] + self.id)  # type: ignore[no-untyped-call]
            if begun.is_set():
                raise BegunBeforeError(self.name)
            begun.set()
        self.send({"id": self.id, "begun": True})
        _here[self.id] = self
        try:
            if self.id in _stops:
                self.stopped = True
                raise stopped(self.name)
            return super().around(func, args, kwargs)
        finally:
            _here.pop(self.id, None)

    def send(self, message: dict[str, Any]) -> None:
        self._worker.log_event(self.ticket["topic"], message)


def stop_here(id: str) -> None:  # noqa: A002 - the call's
    """Stop a call that runs or will begin on this worker; the client runs it on each."""
    _stops.append(id)
    run = _here.get(id)
    if run is not None:
        run.stop()


# --------------------------------------------------------------------------------------------------------- ipyparallel
class _EngineRun(_Interruptible):
    """A call in an engine's main thread: its message is aborted first, then a signal comes.

    An engine keeps the ids of aborted messages, and the one that runs is not yet among those that it would leave out. The
    signal is one that does nothing where nobody listens to it; it may come for another engine's call.
    """

    number = getattr(signal, "SIGURG", signal.SIGINT)

    def __init__(self, ticket: Ticket) -> None:
        super().__init__(ticket)
        self._message, self._aborted = _message()

    def begin(self) -> None:
        if hasattr(signal, "SIGURG"):
            super().begin()
            # Aborted between the engine's own look and this one.
            if self._message in self._aborted:
                self.stopped = True
                raise stopped(self.name)

    def end(self) -> None:
        if self._armed:
            self._aborted.discard(self._message)
        super().end()

    def _on_signal(self, number: int, frame: Any) -> None:  # noqa: ARG002 - as the signal module calls it
        if self._armed and not self._told and self._message in self._aborted:
            self._asked = self._told = self.stopped = True
            raise KeyboardInterrupt

    def send(self, message: dict[str, Any]) -> None:
        from ipyparallel.datapub import publish_data

        publish_data({"nbtoolkit": message})


def _message() -> tuple[str, set[str]]:
    """The id of the message that is handled here, and the engine's own set of those that were aborted."""
    try:
        from ipyparallel.engine.kernel import IPythonParallelKernel

        if not IPythonParallelKernel.initialized():
            return "", set()
        kernel: Any = IPythonParallelKernel.instance()
        return str(kernel.get_parent("shell")["header"]["msg_id"]), kernel.aborted
    except (ImportError, AttributeError, KeyError, TypeError):
        # Another kind of engine: what runs there goes on.
        return "", set()


_RUNS: dict[str, type[_Run]] = {
    "ProcessPoolExecutor": _PoolRun,
    "ClientExecutor": _DistributedRun,
    "ViewExecutor": _EngineRun,
}
