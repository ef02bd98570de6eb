"""A front end with JupyterLab's habits, played over the wire, and the kernel process that it speaks to.

What matters here is what Lab does without being asked: it answers links between widgets, sends comms to one subshell per
comm target once that exists and to the main shell before, throttles a widget's changes until the kernel is idle with the
last one, drops what arrives for a cell that was run again, and connects a reloaded page with kernel_info, comm_info and a
request for the widgets' states.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.environments import KernelEnvironment

HERE = Path(__file__).parent
# No wait of a test may outlast this; a busy machine starts a kernel in 3 s.
PATIENCE = 30.0
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
REFERENCE = "IPY_MODEL_"


class KernelProcess:
    """A kernel of one environment."""

    def __init__(self, environment: KernelEnvironment, folder: Path) -> None:
        self.environment = environment
        self.folder = folder
        self._start()

    def _start(self) -> None:
        self.context = zmq.Context()
        file = str(self.folder / f"connection-{uuid.uuid4().hex}.json")
        _, connection = write_connection_file(file, key=uuid.uuid4().hex.encode())
        self.connection: dict[str, Any] = {**connection}
        argv = [part.format(connection_file=file) for part in self.environment.argv]
        env = {
            **os.environ,
            "PYTHONPATH": str(HERE),
            "JPY_PARENT_PID": str(os.getpid()),  # a kernel ends when its test run was killed
            "IPYTHONDIR": str(self.folder / "ipython"),
            "JUPYTER_PLATFORM_DIRS": "1",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        self.log = (self.folder / "kernel.log").open("ab")
        self.process = subprocess.Popen(argv, cwd=self.folder, env=env, stdout=self.log, stderr=self.log)
        self.version = self.environment.release
        page = FrontEnd(self, widgets=False)
        page.connect()
        page.run(
            "import stub, asyncio, threading, time\nfrom nbtoolkit.notebook import scheduling\nscheduling.install()"
        ).ok()
        page.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def has_subshells(self) -> bool:
        return self.version >= (7,)

    def interrupt(self) -> None:
        """Press the stop button."""
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """End the process and close what belongs to it."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self.log.close()
        self.context.destroy(linger=0)

    def restart(self) -> None:
        self.stop()
        self._start()


@dataclass
class Cell:
    """One execution, with everything that came back for it."""

    page: FrontEnd
    code: str
    msg_id: str
    cell_id: str | None
    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    disposed: bool = False
    finished: float = 0.0

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["msg_type"] in kinds]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """What stands below it: an update takes the place of the display of its id."""
        shown: list[dict[str, Any]] = []
        for kind, content in ((m["msg_type"], m["content"]) for m in self.messages):
            if kind in {"stream", "display_data", "execute_result"}:
                shown.append(content)
            elif kind == "update_display_data":
                wanted = content["transient"]["display_id"]
                shown = [
                    {**each, "data": content["data"]} if each.get("transient", {}).get("display_id") == wanted else each
                    for each in shown
                ]
        return shown

    @property
    def text(self) -> str:
        """What it printed, and the plain text of what it displayed, in order."""
        return "".join(
            content["text"] if "text" in content else content["data"].get("text/plain", "") + "\n"
            for content in self.outputs
            if "text" in content or content["data"]
        )

    @property
    def states(self) -> list[str]:
        return [content["execution_state"] for content in self.of("status")]

    @property
    def done(self) -> bool:
        return self.reply is not None and bool(self.states) and self.states[-1] == "idle"

    @property
    def views(self) -> list[str]:
        """The widgets displayed in it."""
        return [
            content["data"][WIDGET_VIEW]["model_id"]
            for content in self.outputs
            if WIDGET_VIEW in content.get("data", ())
        ]

    def wait(self, timeout: float = PATIENCE) -> Cell:
        self.page.until(lambda: self.done, f"the end of {self.code!r}", timeout)
        return self

    def ok(self) -> Cell:
        """Wait until it has ended well."""
        self.wait()
        assert self.status == "ok", self.error
        return self

    @property
    def status(self) -> str:
        return str((self.reply or {}).get("status", "running"))

    @property
    def error(self) -> str:
        """The exception's name and message."""
        reply = self.reply or {}
        return f"{reply.get('ename')}: {reply.get('evalue')}" if self.status == "error" else ""

    @property
    def ran(self) -> bool:
        """Whether the kernel has begun it."""
        return bool(self.of("execute_input"))


class FrontEnd:
    """One page that shows a notebook: one client session."""

    def __init__(
        self,
        kernel: KernelProcess,
        *,
        widgets: bool = True,
        subshells: bool = True,
        allow_stdin: bool = True,
    ) -> None:
        self.kernel = kernel
        self.widgets = widgets
        self.subshells = subshells and kernel.has_subshells
        self.allow_stdin = allow_stdin
        info = kernel.connection
        self.session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
        self.sockets = {
            name: self._socket(kind, info[f"{name}_port"])
            for name, kind in (
                ("shell", zmq.DEALER),
                ("control", zmq.DEALER),
                ("stdin", zmq.DEALER),
                ("iopub", zmq.SUB),
            )
        }
        self.poller = zmq.Poller()
        for socket in self.sockets.values():
            self.poller.register(socket, zmq.POLLIN)
        self.cells: list[Cell] = []
        self.models: dict[str, dict[str, Any]] = {}
        self.closed_models: dict[str, dict[str, Any]] = {}
        self.replies: dict[str, dict[str, Any]] = {}
        self.input_requests: list[dict[str, Any]] = []
        self.idle: set[str] = set()
        self.log: list[dict[str, Any]] = []
        self._subshell: str | None = None
        self._subshell_request: str | None = None
        self._in_flight: dict[str, str] = {}
        self._waiting_state: dict[str, dict[str, Any]] = {}

    def _socket(self, kind: int, port: int) -> zmq.Socket[bytes]:
        socket = self.kernel.context.socket(kind)
        socket.linger = 0
        if kind == zmq.DEALER:
            socket.identity = self.session.bsession
        else:
            socket.subscribe(b"")
        socket.connect(f"tcp://127.0.0.1:{port}")
        return socket

    def close(self) -> None:
        for socket in self.sockets.values():
            socket.close()

    # -------------------------------------------------------------- the wire
    def send(self, channel: str, kind: str, content: dict[str, Any], metadata: dict[str, Any] | None = None) -> str:
        message = self.session.msg(kind, content, metadata=metadata)
        if self.widgets:
            # As a page names its requests; a console's are named by a Python client.
            message["header"]["msg_id"] = message["msg_id"] = uuid.uuid4().hex
        if channel == "shell" and kind.startswith("comm_") and self._subshell is not None:
            message["header"]["subshell_id"] = self._subshell
        self.session.send(self.sockets[channel], message)
        return str(message["header"]["msg_id"])

    def until(self, condition: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
        """Live, until a condition holds; fails when it takes too long."""
        deadline = time.monotonic() + timeout
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"waited {timeout:g} s for {what}\n{self.transcript()}")
            self._live(left)

    def live(self, seconds: float) -> None:
        """Live for a while, where a test wants that nothing happens."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._live(left)

    def _live(self, seconds: float) -> None:
        for socket, _ in self.poller.poll(max(1, int(seconds * 1000))):
            channel = next(name for name, own in self.sockets.items() if own is socket)
            _, message = self.session.recv(socket, zmq.NOBLOCK)
            if message is not None:
                self._receive(channel, message)

    def sync(self, *others: FrontEnd) -> None:
        """Catch up with what arrived while another page was lived on."""
        for page in (self, *others):
            page.live(0.01)

    def _receive(self, channel: str, message: dict[str, Any]) -> None:
        message["at"] = time.monotonic()
        message["channel"] = channel
        self.log.append(message)
        kind, content = message["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id")
        if channel in {"shell", "control"}:
            self.replies[parent] = message
            if parent == self._subshell_request:
                self._subshell = content.get("subshell_id")
        if channel == "stdin":
            self.input_requests.append(message)
        for cell in self.cells:
            if cell.msg_id == parent:
                if kind == "execute_reply":
                    cell.reply = content
                else:
                    cell.messages.append(message)
        if kind == "status" and content["execution_state"] == "idle":
            self.idle.add(parent)
            self._flush_throttled(parent)
        if channel == "iopub" and self.widgets:
            getattr(self, f"_on_{kind}", lambda _: None)(content)

    def transcript(self) -> str:
        lines = [
            f"{m['channel']:7} {m['msg_type']:20} {json.dumps(m['content'], default=str)[:160]}" for m in self.log[-40:]
        ]
        return "\n".join(lines)

    # -------------------------------------------------------------- connecting
    def connect(self) -> FrontEnd:
        """Do what a page does when it opens: nothing shows before the kernel has answered."""
        deadline = time.monotonic() + PATIENCE
        asked = self.send("shell", "kernel_info_request", {})
        while asked not in self.replies or not self.idle:
            if time.monotonic() > deadline:
                raise AssertionError(f"the kernel does not answer a page that connects\n{self.transcript()}")
            self._live(0.5)
            if not self.idle and asked in self.replies:  # the subscription came late: ask again
                asked = self.send("shell", "kernel_info_request", {})
        return self

    def restore(self) -> FrontEnd:
        """Fetch the widgets that live in the kernel, as a reloaded page does."""
        asked = self.send("shell", "comm_info_request", {"target_name": "jupyter.widget"})
        self.until(lambda: asked in self.replies, "the list of comms")
        states: list[dict[str, Any]] = []

        def arrived() -> bool:
            states[:] = [
                m["content"]["data"]["states"]
                for m in self.log
                if m["msg_type"] == "comm_msg" and m["content"]["data"].get("method") == "update_states"
            ]
            return bool(states)

        # A page waits some seconds for them and then asks once more in another way.
        for last in (False, False, True):
            control = uuid.uuid4().hex
            opening = {"comm_id": control, "target_name": "jupyter.widget.control", "data": {}}
            self.send("shell", "comm_open", opening, {"version": "1.0.0"})
            self.send("shell", "comm_msg", {"comm_id": control, "data": {"method": "request_states"}})
            try:
                self.until(arrived, "the states of the widgets", PATIENCE if last else 4)
                break
            except AssertionError:
                if last:
                    raise
        for model_id, model in states[0].items():
            self.models[model_id] = dict(model["state"])
        return self

    def reload(self) -> FrontEnd:
        """Close this page and open the notebook in a new one."""
        self.close()
        page = FrontEnd(
            self.kernel, widgets=self.widgets, subshells=self.subshells, allow_stdin=self.allow_stdin
        ).connect()
        return page.restore() if self.widgets else page

    # -------------------------------------------------------------- cells
    def run(self, code: str, cell_id: str | None = None, *, silent: bool = False) -> Cell:
        """Queue a cell; one with an id that ran before is run again, and its old output is gone."""
        content = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": self.allow_stdin,
            "stop_on_error": True,
        }
        for earlier in self.cells:
            earlier.disposed |= cell_id is not None and earlier.cell_id == cell_id
        metadata = {"cellId": cell_id or uuid.uuid4().hex}
        cell = Cell(self, code, self.send("shell", "execute_request", content, metadata), cell_id)
        self.cells.append(cell)
        return cell

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Let a cell wait while the next ones are sent: all of them are queued before the first begins."""
        asked = len(self.input_requests)
        held = self.run("held_by = input()")
        self.until(lambda: len(self.input_requests) > asked, "the input box")
        yield
        self.answer("")
        held.ok()

    def answer(self, line: str) -> None:
        """Type into the input box."""
        request = self.input_requests[-1]
        self.session.send(self.sockets["stdin"], "input_reply", {"value": line}, parent=request)

    # -------------------------------------------------------------- widgets
    def _on_comm_open(self, content: dict[str, Any]) -> None:
        if content.get("target_name") != "jupyter.widget":
            return
        if self.subshells and self._subshell_request is None:
            self._subshell_request = self.send("control", "create_subshell_request", {})
        state = content["data"]["state"]
        self.models[content["comm_id"]] = state
        if state.get("_model_name") == "DirectionalLinkModel":
            (source, trait), (target, target_trait) = state["source"], state["target"]
            source, target = source.removeprefix(REFERENCE), target.removeprefix(REFERENCE)
            if source in self.models and target in self.models:  # else opened before this page was
                self.change(target, {target_trait: self.models[source][trait]})

    def _on_comm_msg(self, content: dict[str, Any]) -> None:
        if content["data"].get("method") == "update" and content["comm_id"] in self.models:
            self.models[content["comm_id"]].update(content["data"]["state"])

    def _on_comm_close(self, content: dict[str, Any]) -> None:
        if content["comm_id"] in self.models:
            self.closed_models[content["comm_id"]] = self.models.pop(content["comm_id"])

    def change(self, model_id: str, state: dict[str, Any]) -> None:
        """Change a widget as a person does; not before the kernel is idle with the last change."""
        self.models[model_id].update(state)
        if model_id in self._in_flight:
            self._waiting_state.setdefault(model_id, {}).update(state)
            return
        data = {"method": "update", "state": state, "buffer_paths": []}
        self._in_flight[model_id] = self.send("shell", "comm_msg", {"comm_id": model_id, "data": data})

    def _flush_throttled(self, parent: str) -> None:
        for model_id, msg_id in list(self._in_flight.items()):
            if msg_id == parent:
                del self._in_flight[model_id]
                if (state := self._waiting_state.pop(model_id, None)) is not None:
                    self.change(model_id, state)

    def _below(self, model_id: str) -> Iterator[str]:
        if model_id in self.models:
            yield model_id
            for child in self.models[model_id].get("children", ()):
                yield from self._below(child.removeprefix(REFERENCE))

    def on_screen(self, *cells: Cell) -> list[str]:
        """The widgets that a person sees, in all cells or these."""
        shown = cells or [cell for cell in self.cells if not cell.disposed]
        return [model for cell in shown for view in cell.views for model in self._below(view)]

    def buttons(self, description: str, *cells: Cell) -> list[str]:
        return [m for m in self.on_screen(*cells) if self.models[m].get("description") == description]

    def sees(self, description: str, *cells: Cell, count: int = 1) -> list[str]:
        """Wait until so many buttons of this name are on the screen."""
        self.until(lambda: len(self.buttons(description, *cells)) >= count, f"{count} × {description!r} on the screen")
        return self.buttons(description, *cells)

    def loses(self, description: str, *cells: Cell) -> None:
        """Wait until no such button is on the screen."""
        self.until(lambda: not self.buttons(description, *cells), f"{description!r} to go away")

    def begins(self, cell: Cell) -> None:
        """Wait until the kernel has begun a cell."""
        self.until(lambda: cell.ran, f"{cell.code!r} to begin")

    def click(self, description: str, *cells: Cell) -> str:
        """Click a button that is on the screen, when it is there; returns the message's id."""
        return self.press(self.sees(description, *cells)[-1])

    def press(self, model_id: str) -> str:
        if self._subshell_request is not None:
            # No hand is quicker than the page is with its subshell.
            self.until(lambda: self._subshell_request in self.replies, "the page's subshell")
        data = {"method": "custom", "content": {"event": "click"}}
        return self.send("shell", "comm_msg", {"comm_id": model_id, "data": data})
