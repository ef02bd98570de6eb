"""What `%load_ext` changes in a running kernel, and how it is taken back."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from typing import TYPE_CHECKING

from nbtoolkit.notebook.scheduling import inbox as inboxes
from nbtoolkit.notebook.scheduling.nested import allow_nested_run, disallow_nested_run

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_undo: list[Callable[[], None]] = []


def install() -> None:
    """Prepare the running kernel, once: `%load_ext` calls it; harmless outside a kernel."""
    if _undo:
        return
    allow_nested_run()
    _undo.append(disallow_nested_run)
    box = inboxes.inbox()
    if box is None:
        return
    _undo.append(inboxes.remove)
    _share_display_publisher(_undo)
    if threading.current_thread() is threading.main_thread():
        _wake_on_signals(box.kernel.loop, _undo)


def uninstall() -> None:
    """Take back what `install` changed."""
    while _undo:
        _undo.pop()()
    inboxes.remove()  # also one that a wait has put in place by itself


def _wake_on_signals(loop: asyncio.AbstractEventLoop, undo: list[Callable[[], None]]) -> None:
    """Let the stop button wake the kernel's loop.

    ipykernel turns SIGINT in an async cell into a callback of its loop, and Python goes back to sleep in select().
    """
    inner, outer = socket.socketpair()
    inner.setblocking(False)
    outer.setblocking(False)
    before = signal.set_wakeup_fd(outer.fileno(), warn_on_full_buffer=False)
    if before != -1:  # somebody else's
        signal.set_wakeup_fd(before)
        inner.close()
        outer.close()
        return

    def drain() -> None:
        with contextlib.suppress(BlockingIOError):
            inner.recv(4096)

    loop.add_reader(inner.fileno(), drain)

    def restore() -> None:
        if signal.set_wakeup_fd(-1) not in {-1, outer.fileno()}:
            return
        loop.remove_reader(inner.fileno())
        inner.close()
        outer.close()

    undo.append(restore)


def _share_display_publisher(undo: list[Callable[[], None]]) -> None:
    """Let messages be handled under `%%capture`, whose publisher lacks what ipykernel calls for each message."""
    from IPython.core.displaypub import CapturingDisplayPublisher

    if hasattr(CapturingDisplayPublisher, "set_parent"):
        return

    def set_parent(self: object, parent: object) -> None:
        """Captured output has no parent."""

    CapturingDisplayPublisher.set_parent = set_parent  # type: ignore[attr-defined]

    def restore() -> None:
        del CapturingDisplayPublisher.set_parent  # type: ignore[attr-defined]

    undo.append(restore)
