"""``%toolkit serve``: the notebook's tools for MCP clients, called on the kernel's main thread, asked about in the notebook.

It promises: calls begin between cells, or while a cell awaits; what asks is asked below the serving cell and can be
answered while no cell runs; clients hear of tools as cells are run; the saved notebook holds neither address nor token;
and nothing is left when the kernel ends.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from typing import TYPE_CHECKING, Any

from nbtoolkit.agents.serving.words import NAME
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.session import result_is_used
from nbtoolkit.notebook.text import count

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping
    from contextvars import Context

    from nbtoolkit.agents.serving.call import ServedCall
    from nbtoolkit.agents.serving.http import HTTPServer
    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.session import Session
    from nbtoolkit.notebook.widgets.connect import ConnectCard
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["STOPPED", "access", "current", "stop"]

STOPPED = "No tools are served any more."
VIEW = "application/vnd.jupyter.widget-view+json"
LOCAL = "127.0.0.1"


class _Visit:
    """A client's call, as the main thread lets it in."""

    def __init__(self, call: ServedCall) -> None:
        self._call = call

    def start(self, loop: asyncio.AbstractEventLoop, context: Context) -> bool:
        """Begin it between two cells."""
        return self._call.start(loop, context)

    def pass_by(self) -> None:
        """Run it while a sync cell waits, where nobody need be asked: the cell's own question has the person."""
        call = self._call
        if not call.has_begun and scheduling.drive(call.runs_unasked()):
            call.run_through(scheduling.drive)

    def stop(self) -> None:
        """Stop it."""
        self._call.hurry()


class KernelRunner:
    """Runs clients' calls on the main thread, when no cell keeps it."""

    def __init__(self, visitors: scheduling.Visitors, toolkit: Toolkit) -> None:
        self._visitors = visitors
        self._toolkit = toolkit

    def submit(self, call: ServedCall) -> None:
        """Let the call in when the main thread is free."""
        visit = _Visit(call)
        call.future.add_done_callback(lambda _: self._ended(visit))
        self._visitors.let_in(visit)

    def _ended(self, visit: _Visit) -> None:
        self._visitors.leave(visit)
        if self._visitors.running is None:
            # What was allowed for the rest of a cell that isn't there would hold until some cell ends.
            self._toolkit.engine.end_cell()

    def why_busy(self) -> str:
        """Which cell keeps it."""
        number = self._visitors.running
        return "the notebook's kernel is busy" + ("" if number is None else f" with cell [{number}]")


class Serving:
    """One server of one kernel, its card, and what it hangs on."""

    def __init__(self, session: Session, host: str, port: int) -> None:
        from nbtoolkit.agents.serving.http import HTTPServer

        self._events = session.shell.events
        self._visitors = scheduling.Visitors()
        self._card: ConnectCard | None = None
        self._shown: tuple[str, Mapping[str, Any]] = ("", {})
        self.server = HTTPServer(
            session.toolkit, host=host, port=port, runner=KernelRunner(self._visitors, session.toolkit), name=NAME
        ).start()
        self.server.service.on_client = lambda _: self._visitors.soon(self.hide)
        self._events.register("post_run_cell", self._cell_ended)

    def _cell_ended(self, result: Any) -> None:  # noqa: ARG002 - IPython passes it
        self.server.look()

    # ------------------------------------------------------------------ the card
    def show(self, tools: int) -> None:
        """Show how to connect below the running cell, which becomes the one that calls are asked about below."""
        self._visitors.stand_below()
        self.hide()
        if scheduling.presence().means is not scheduling.Means.WIDGETS:
            return  # where nobody could close it, it would be saved
        from nbtoolkit.notebook.widgets.connect import ConnectCard, ways

        lines = ways(NAME, self.server.url, self.server.headers, _stdio())
        self._card = card = ConnectCard(tools, lines, self.hide)
        scheduling.route(card.widgets)
        self._shown = (f"nbtoolkit-serve-{secrets.token_hex(4)}", scheduling.origin().parent)
        view = {"version_major": 2, "version_minor": 0, "model_id": card.view.model_id}
        # Its view alone: a saved notebook that it stands in reads and tests as one without it.
        scheduling.publish({VIEW: view}, parent=self._shown[1], display_id=self._shown[0])

    def hide(self) -> None:
        """Take the card away."""
        card, self._card = self._card, None
        if card is not None:
            card.close()
            scheduling.publish({}, parent=self._shown[1], display_id=self._shown[0], update=True)

    def stop(self) -> None:
        """End all of it."""
        with contextlib.suppress(ValueError):
            self._events.unregister("post_run_cell", self._cell_ended)
        self.server.stop()
        self._visitors.close()
        self.hide()


_serving: Serving | None = None


def current() -> HTTPServer | None:
    """The server of this kernel, if one runs."""
    return _serving.server if _serving is not None and _serving.server.is_running else None


def access() -> dict[str, Any] | None:
    """Address and headers, for who can run code in this kernel anyway; None where nothing is served."""
    server = current()
    return None if server is None else {"url": server.url, "headers": server.headers}


def stop() -> bool:
    """Stop serving; whether anything was served."""
    global _serving
    serving, _serving = _serving, None
    if serving is not None:
        serving.stop()
    return serving is not None


@action("serve")
def serve(session: Session, command: Command) -> HTTPServer | None:
    """Start to serve, or show again how to connect; gives the server where the line's result is used."""
    global _serving
    host, port = command.option("--host", session.evaluate), _port(command, session)
    if current() is None:
        stop()
        try:
            _serving = Serving(session, host or LOCAL, port or 0)
        except RuntimeError as error:
            raise CommandError(f"nothing can be served here: {error}") from None
        except OSError as error:
            where = f"{host or LOCAL}:{port or 'any port'}"
            raise CommandError(f"can't listen at {where}: {error.strerror or error}; choose another --port") from None
    elif (port is not None and port != current_port()) or (host is not None and host != _serving_now().server.host):
        raise CommandError("the notebook is served already, at another address; %toolkit stop comes first")
    serving = _serving_now()
    number = _tool_count(session.toolkit)
    session.say(_said(number, local=serving.server.is_local))
    serving.show(number)
    return serving.server if result_is_used() else None


def _serving_now() -> Serving:
    if _serving is None:
        raise CommandError("nothing is served")
    return _serving


def current_port() -> int | None:
    """The port that this kernel's server listens at."""
    server = current()
    return None if server is None else server.port


def _port(command: Command, session: Session) -> int | None:
    text = command.option("--port", session.evaluate)
    if text is None:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise CommandError(f"--port expects a number from 1 to 65535, but got {text!r}")
    return int(text)


def _tool_count(toolkit: Toolkit) -> int:
    return sum(toolkit.is_active(group) for group, _ in toolkit.all_tools_sync())


def _said(tools: int, *, local: bool) -> str:
    """The same text in every run: no address, no token."""
    who = "MCP clients on this machine" if local else "MCP clients that reach this machine, unencrypted"
    return (
        f"Serving {count(tools, 'tool')} to {who}, until %toolkit stop or the kernel's end. Calls that ask are shown below "
        "this cell, and %toolkit log has all of them. For code, server = %toolkit serve has .url and .headers."
    )


@action("serve stop")
def stop_serving(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """Stop serving."""
    if not stop():
        raise CommandError("nothing is served; %toolkit serve starts it")
    session.say(STOPPED)


def _stdio() -> list[str]:
    from ipykernel.connect import get_connection_file

    return [sys.executable, "-m", "nbtoolkit", "serve", "--stdio", "--kernel", get_connection_file()]
