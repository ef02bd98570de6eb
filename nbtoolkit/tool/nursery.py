"""Where commands' keepers come from: one small process, started with a kernel's first command and ended with the kernel.

A keeper is as this process is, in what a command has from whoever starts it: users and groups, capabilities, limits,
cores, priority, control group. The nursery took them over when it was started; where any of them changed since, another
one is started.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["Nursery", "nursery"]

# How long it may take to leave at the end of this process, which it sees too.
LEAVE_SECONDS = 0.4
SCRIPT = str(Path(__file__).with_name("process_keeper.py"))

# What a status names that a child takes over, and that may change. The mask of files is told with each command.
_TAKEN_OVER = (
    b"Uid",
    b"Gid",
    b"Groups",
    b"Cap",
    b"NoNewPrivs",
    b"Seccomp",
    b"Cpus_allowed",
    b"Mems_allowed",
    b"SigBlk",
)


class Nursery:
    """The process that forks keepers, as this one knows it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._like: tuple[object, ...] = ()

    def place(self, channel: socket.socket, output: int) -> int:
        """Have a keeper made that is told what to do over ``channel``, its command writing to ``output``.

        Gives the mask of files that this process has now. OSError where there can't be one.
        """
        like, mask = _state()
        with self._lock:
            if self._process is None or self._process.poll() is not None or self._like != like:
                self._start(like)
            try:
                self._hand_over(channel, output)
            except OSError:
                # A command ended it.
                self._start(like)
                self._hand_over(channel, output)
        return mask

    def _hand_over(self, channel: socket.socket, output: int) -> None:
        assert self._control is not None
        socket.send_fds(self._control, [b"c"], [channel.fileno(), output])

    def _start(self, like: tuple[object, ...]) -> None:
        self._leave()
        self._control, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", SCRIPT, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # What a Python has to say that can't start is nobody's.
                stderr=subprocess.DEVNULL,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except BaseException:
            self._control.close()
            self._control = None
            raise
        finally:
            theirs.close()
        self._like = like

    def _leave(self) -> None:
        """Let it go: keepers that it has made stay with their commands."""
        process, self._process = self._process, None
        if self._control is not None:
            self._control.close()
            self._control = None
        if process is None:
            return
        for _ in range(2):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE_SECONDS)
                return
            process.kill()

    def end(self) -> None:
        """Let it go; the next command starts another."""
        with self._lock:
            self._leave()

    def kill(self) -> None:
        """End it where it doesn't answer, before it does what it was told."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
            self._leave()

    def forget(self) -> None:
        """In a process that was forked: it is the other one's."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            # Not this one's child, so it isn't waited for.
            self._process.returncode = 0
        self._process = self._control = None


def _state() -> tuple[tuple[object, ...], int]:
    """What a child takes over from this process, and its mask of files."""
    taken: list[object] = []
    mask = 0o022
    for line in _file("status").splitlines():
        if line.startswith(_TAKEN_OVER):
            taken.append(line)
        elif line.startswith(b"Umask"):
            mask = int(line.split()[1], 8)
    taken += [_file("limits"), _file("cgroup"), _file("oom_score_adj"), os.getpriority(os.PRIO_PROCESS, 0)]
    return tuple(taken), mask


def _file(name: str) -> bytes:
    try:
        with open(f"/proc/self/{name}", "rb") as file:  # noqa: PTH123 - asked for with each command
            return file.read()
    except OSError:
        return b""


nursery = Nursery()
atexit.register(nursery.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=nursery.forget)
