"""What is used of a kernel's inside, in one place and checked before it is used.

ipykernel has no public way to see a message that waits behind a running cell.  `Kernel` reads what versions 6.29 to 7.4
have in common; where an attribute isn't there `can_listen` is false, and nobody pumps or filters.
"""
# Everything private to ipykernel and pyzmq is touched here and nowhere else.
# ruff: noqa: SLF001

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

Message = Mapping[str, Any]
"""A Jupyter message: header, parent_header, metadata, content."""
Frames = list[Any]
"""A message as it comes off a socket."""


class Kernel:
    """The running ipykernel, as far as a waiting cell needs it."""

    def __init__(self, kernel: Any) -> None:
        self.raw = kernel
        self.session: Any = kernel.session
        self._stream: Any = None
        self._checked: bool | None = None

    # -------------------------------------------------------------- who asks
    def parent(self) -> Message:
        """The request that the current context works for: the asking cell's execute_request, as a rule."""
        return self.raw.get_parent("shell") or {}

    @property
    def execution_count(self) -> int:
        """The number of the cell that runs."""
        # IPython 9 counts on when a cell begins, 8 when it ends; both have stored its input by then.
        stored = getattr(getattr(shell(), "history_manager", None), "input_hist_raw", ())
        return max(len(stored) - 1, 1)

    def allows_input(self, parent: Message) -> bool:
        """Whether the front end that sent this request would answer an input box."""
        content = parent.get("content")
        if isinstance(content, dict) and "allow_stdin" in content:
            return bool(content["allow_stdin"])
        return bool(self.raw._allow_stdin)

    # -------------------------------------------------------------- iopub
    def send(
        self, kind: str, content: Mapping[str, Any], parent: Message, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Publish on iopub, from any thread."""
        raw = self.raw
        self.session.send(
            raw.iopub_socket, kind, content, parent=parent, ident=raw._topic(kind), metadata=metadata or {}
        )

    def status(self, state: str, parent: Message) -> None:
        """Say busy or idle for one request."""
        self.send("status", {"execution_state": state}, parent)

    # -------------------------------------------------------------- the main shell's inbound socket
    @property
    def can_listen(self) -> bool:
        """Whether this kernel's inside is as expected; ask on the main thread only."""
        if self._checked is None:
            if threading.current_thread() is not threading.main_thread():
                return False
            self._checked = self._check()
        return self._checked

    def _check(self) -> bool:
        with contextlib.suppress(Exception):
            self._stream = self._find_stream()
            return (
                self._stream._recv_callback is not None
                and callable(self._stream._run_callback)
                and int(self._stream.socket.FD) >= 0
                and all(hasattr(self.session, name) for name in ("feed_identities", "deserialize", "unpack"))
                and hasattr(self.raw.shell_handlers, "items")
                and hasattr(self.loop, "add_reader")
                and self.reply_socket is not None
            )
        return False

    def _find_stream(self) -> Any:
        """The ZMQStream that the main thread reads: a pair from the shell channel's thread in 7, the ROUTER in 6."""
        raw = self.raw
        if self._has_channel_thread:
            return raw.shell_channel_thread.manager.get_shell_channel_to_subshell_pair(None).to_stream
        return raw.shell_stream

    @property
    def _has_channel_thread(self) -> bool:
        raw = self.raw
        return getattr(raw, "shell_channel_thread", None) is not None and raw._supports_kernel_subshells

    @property
    def reply_socket(self) -> Any:
        """Where replies go, as a plain socket: a stream would send only when the kernel's loop turns."""
        raw = self.raw
        if self._has_channel_thread:
            return raw.shell_channel_thread.manager.get_subshell_to_shell_channel_socket(None)
        return raw.shell_stream.socket

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that runs cells."""
        loop: asyncio.AbstractEventLoop = self.raw.io_loop.asyncio_loop
        return loop

    @property
    def descriptor(self) -> int:
        """A file descriptor that becomes readable when the inbound socket has changed."""
        return int(self._stream.socket.FD)

    def receive(self) -> Frames | None:
        """Take the next message off the inbound socket; None when there is none."""
        import zmq

        try:
            frames: Frames = self._stream.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return None
        return frames

    def set_filter(self, make: Callable[[Callable[[Frames], Any]], Callable[[Frames], Any]]) -> Callable[[], None]:
        """Put a callback before the stream's own; returns what takes it out again."""
        stream = self._stream
        original = stream._recv_callback
        mine = make(original)
        stream.on_recv(mine, copy=False)

        def restore() -> None:
            if not stream.closed() and stream._recv_callback is mine:
                stream.on_recv(original, copy=False)

        return restore

    def give_back(self, callback: Callable[[Frames], Any], frames: Frames) -> None:
        """Hand a message to the stream's own callback, in the kernel's loop."""
        self._stream._run_callback(callback, frames)

    def rearm(self) -> None:
        """Let the stream look at its socket when the loop turns: its edge-triggered descriptor tells news only."""
        stream = self._stream
        self.raw.io_loop.add_callback(lambda: None if stream.closed() else stream.flush())

    # -------------------------------------------------------------- messages
    def peek(self, frames: Frames) -> dict[str, Any] | None:
        """Header and metadata; the signature stays unused, so that the message can still be dispatched later."""
        if len(frames) < 2:  # ipykernel 7 posts a bare "stop aborting" to itself
            return None
        try:
            _, parts = self.session.feed_identities(frames, copy=False)
            message: dict[str, Any] = self.session.deserialize(parts, content=False, copy=False)
        except Exception:  # noqa: BLE001 - the kernel logs what is wrong with it, in its turn
            return None
        return message

    def content(self, peeked: Mapping[str, Any]) -> dict[str, Any]:
        """The content of a peeked message."""
        try:
            content = self.session.unpack(peeked["content"])
        except Exception:  # noqa: BLE001 - as above
            return {}
        return content if isinstance(content, dict) else {}

    def read(self, frames: Frames) -> tuple[Any, dict[str, Any]]:
        """The whole message with the identities to reply to; it can't be dispatched again."""
        identities, parts = self.session.feed_identities(frames, copy=False)
        return identities, self.session.deserialize(parts, content=True, copy=False)

    def handle(self, identities: Any, message: dict[str, Any]) -> None:
        """Call the kernel's handler for a message, leaving the running cell the parent of its own output."""
        kind = message["header"]["msg_type"]
        result = self.raw.shell_handlers[kind](self.reply_socket, identities, message)
        if hasattr(result, "send"):  # a coroutine function without real awaits
            try:
                result.send(None)
            except StopIteration:
                return
            result.close()
            self.raw.log.warning("nbtoolkit: the handler of %s wants to wait, out of turn", kind)

    def reply(self, kind: str, content: Mapping[str, Any], identities: Any, message: Message) -> None:
        """Answer a request on the shell channel."""
        self.session.send(self.reply_socket, kind, content, parent=message, ident=identities)

    def comm(self, comm_id: object) -> Any:
        """The comm with this id, or None."""
        manager = getattr(self.raw, "comm_manager", None)
        return None if manager is None else manager.comms.get(comm_id)

    def log_error(self, what: str, error: Exception) -> None:
        """Log where the kernel logs its own troubles."""
        self.raw.log.error("nbtoolkit: %s", what, exc_info=error)

    # -------------------------------------------------------------- stdin
    def request_input(self, prompt: str, parent: Message, password: bool = False) -> Callable[[], str | None]:
        """Open the front end's input box; the function returned looks for the answer, None while there is none."""
        import zmq

        socket = self.raw.stdin_socket

        def take() -> str | None:
            while True:
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    return None
                try:
                    _, parts = self.session.feed_identities(frames)
                    return str(self.session.deserialize(parts)["content"]["value"])
                except Exception:
                    self.raw.log.warning("nbtoolkit: not an input reply", exc_info=True)

        while take() is not None:  # answers to boxes that nobody waits for any more
            pass
        content = {"prompt": prompt, "password": password}
        self.session.send(socket, "input_request", content, parent, ident=self.raw._parent_ident["shell"])
        return take

    @property
    def input_descriptor(self) -> int:
        """A file descriptor that becomes readable when an input reply may be there."""
        return int(self.raw.stdin_socket.FD)


_current: Kernel | None = None


def shell() -> Any:
    """The IPython shell of this process, or None; never starts or imports one."""
    module = sys.modules.get("IPython.core.interactiveshell")
    if module is None or not module.InteractiveShell.initialized():
        return None
    return module.InteractiveShell._instance


def is_foreign() -> bool:
    """Whether the shell belongs to a kernel that isn't ipykernel."""
    return getattr(shell(), "kernel", None) is not None and kernel() is None


def kernel() -> Kernel | None:
    """The ipykernel of this process, or None."""
    global _current
    raw = getattr(shell(), "kernel", None)
    if raw is None:
        return None
    if _current is None or _current.raw is not raw:
        if not all(hasattr(raw, name) for name in ("session", "iopub_socket", "get_parent", "_topic", "_allow_stdin")):
            return None  # another kernel that has the shell of IPython
        _current = Kernel(raw)
    return _current
