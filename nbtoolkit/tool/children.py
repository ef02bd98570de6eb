"""A command as a process that can be ended with all that it started.

Two kinds: one that stands below a process of ours, which inherits whoever descends from it (Linux), and a plain child of
this process, known by its group and by a mark in its environment. Threads listen to both, and wake whoever waits.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nbtoolkit.tool.nursery import nursery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Child", "Kept", "Plain", "can_be_kept"]

# The process between has its own patience with those that don't end at once; this is more.
GOODBYE = 5.0
# One that hasn't come by the time its command is to end was stopped, or this machine hardly moves.
LAST_CALL = 1.0


class Child(Protocol):
    """A command that runs."""

    output: int
    """The descriptor that its output is read from."""
    code: int | None
    over: bool
    """Whether the shell has ended."""
    failed: bool
    """Whether it never began."""

    def ask(self) -> None:
        """Ask all of it to end."""

    def end(self) -> int:
        """End all of it; how many are left that may not be ended. Blocks, for a moment."""


class Plain:
    """A command that is a child of this process, ended by its group and by the mark in its environment."""

    failed = False

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        mark: tuple[str, str],
        wake: Callable[[], None],
        started: Callable[[int], None] | None,
    ) -> None:
        self.output, writing = os.pipe()
        self.code: int | None = None
        self.over = False
        self._mark = mark
        self._wake = wake
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a shell is the point
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=cwd,
                env={**env, mark[0]: mark[1]},
                start_new_session=os.name == "posix",
            )
        except BaseException:
            os.close(self.output)
            raise
        finally:
            os.close(writing)
        if started is not None:
            started(self._process.pid)
        threading.Thread(target=self._wait, daemon=True, name="nbtoolkit-wait").start()

    def _wait(self) -> None:
        self.code = self._process.wait()
        self.over = True
        self._wake()

    def ask(self) -> None:
        """Ask its group to end."""
        if os.name == "posix":
            _signal_group(self._process.pid, signal.SIGTERM)
        else:
            self._process.kill()

    def end(self) -> int:
        """End its group, and who carries its mark."""
        if os.name == "posix":
            _signal_group(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()
        _end_marked(self._mark)
        # A killed process is gone in no time; one that hangs in the kernel must not hang this too.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2.0)
        return 0


class Kept:
    """A command below a process that inherits all who descend from it."""

    def __init__(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], mark: tuple[str, str], wake: Callable[[], None]
    ) -> None:
        self.code: int | None = None
        self.over = False
        self.failed = False
        self._left: int | None = None
        self._keeper = self._program = 0
        self._mark = mark
        self._wake = wake
        self._channel, theirs = socket.socketpair()
        self.output, writing = os.pipe()
        try:
            umask = nursery.place(theirs, writing)
        except BaseException:
            os.close(self.output)
            self._channel.close()
            raise
        finally:
            os.close(writing)
            theirs.close()
        wanted = {
            "cwd": cwd,
            "umask": umask,
            # Pairs, since a name may be there that JSON would order otherwise.
            "env": [*env.items(), mark],
            "argv": list(argv),
        }
        self._listener = threading.Thread(
            target=self._listen, args=(json.dumps(wanted).encode(),), daemon=True, name="nbtoolkit-wait"
        )
        self._listener.start()

    def _listen(self, wanted: bytes) -> None:
        # Not as arguments: `pkill -f` in a command would find its own words there.
        with contextlib.suppress(OSError):
            self._channel.sendall(len(wanted).to_bytes(4, "big") + wanted)
            buffer = b""
            while data := self._channel.recv(4096):
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    self._heard(line[:1], int(line[1:]))
        if not self.over:
            # The command ended the process between, or that process never came to run it.
            self.failed = not self._keeper
            self.over = True
        self._wake()

    def _heard(self, word: bytes, number: int) -> None:
        if word == b"+":
            self._keeper = number
        elif word == b">":
            self._program = number
        elif word == b"=":
            self.code = number
            self.over = True
            self._wake()
        else:
            self._left = number

    def _say(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._channel.send(word)

    def ask(self) -> None:
        """Ask all who descend from it to end."""
        self._say(b"t")

    def end(self) -> int:
        """End all who descend from it."""
        self._say(b"k")
        # Before it has begun there is nothing to end.
        self._listener.join(GOODBYE if self._keeper else LAST_CALL)
        if self._left is None:
            self._end_without()
        self._channel.close()
        return self._left or 0

    def _end_without(self) -> None:
        """End them where the process between doesn't: it was ended itself, or stopped."""
        if self._listener.is_alive():
            # It has the other end of the socket still, so the number is its own.
            if self._keeper:
                with contextlib.suppress(OSError):
                    os.kill(self._keeper, signal.SIGKILL)
            else:
                nursery.kill()
            # It starts nothing for whoever has hung up.
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
            self._listener.join(GOODBYE)
        if self._program:
            _signal_group(self._program, signal.SIGKILL)
        _end_marked(self._mark)


def can_be_kept() -> bool:
    """Whether a process can stand between here."""
    return sys.platform == "linux" and bool(sys.executable)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def _end_marked(mark: tuple[str, str]) -> None:
    """Kill whoever left the group with the mark in its environment, where the system shows environments."""
    wanted = "=".join(mark).encode()
    proc = Path("/proc")
    if not (proc / "self" / "environ").exists():
        return
    me = os.getpid()
    for entry in os.scandir(proc):
        if entry.name.isdigit() and int(entry.name) != me:
            with contextlib.suppress(OSError):
                if wanted in Path(entry.path, "environ").read_bytes():
                    os.kill(int(entry.name), getattr(signal, "SIGKILL", signal.SIGTERM))
