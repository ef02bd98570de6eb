"""The processes between commands and this one: all that a command starts stays below its keeper, and ends with it.

It runs as a script, with nothing but the standard library, once for a kernel: starting a Python takes ten times as long
as the command that most people run. It is a nursery: for each command it is sent a socket and a pipe, over the socket
that is its first argument, and forks a keeper, which has them for its own.

On Linux a process can ask to inherit the orphans among its descendants; so nobody gets out from under a keeper, whatever
group, session or environment of its own he makes himself. Over its socket it is told what to run: folder, umask,
environment and arguments, their lengths before them. It says ``+pid`` before it starts the program (what may have run is
never started a second time), ``>pid`` when it runs, ``=status`` when it has ended and ``!count`` when nothing is left but
that many who may not be ended (another user's); it hears ``t`` (ask all to end) and ``k`` (end all), and takes the
socket's end, or the kernel's, for the latter.

Out of reach: what another service starts on request (``systemd-run``, ``at``, ``docker run -d``), and other users'.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

SET_CHILD_SUBREAPER = 36
# A process that was killed is gone in no time, unless it hangs in the system itself.
PATIENCE = 3.0
# One that ends by itself meanwhile can't be signalled either.
REFUSALS = 20
# What the nursery and its keepers shrug off; a command has them as everybody does.
# By name: this runs on Linux alone, and is imported everywhere.
IGNORED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
USUAL = (*IGNORED, *(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGCHLD") if hasattr(signal, name)))


def descendants() -> list[int]:
    """Every living process below this one."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes longer to import than this to run
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        # A zombie has no children any more, and needs no ending.
        if fields[0] not in (b"Z", b"X"):
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def send(number: int, processes: list[int]) -> int:
    """Signal them; how many there were that took it."""
    count = 0
    for each in processes:
        with contextlib.suppress(OSError):
            os.kill(each, number)
            count += 1
    return count


def read(channel: int) -> dict[str, Any]:
    """What to run."""
    size = int.from_bytes(exactly(channel, 4), "big")
    wanted: dict[str, Any] = json.loads(exactly(channel, size))
    return wanted


def exactly(channel: int, size: int) -> bytes:
    """So many bytes: what is said afterwards isn't for here."""
    pieces = []
    while size > 0:
        # Whoever wanted it may have gone by now.
        if not (piece := os.read(channel, size)):
            os._exit(0)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


class Keeper:
    """One program, and who descends from it."""

    def __init__(self, channel: int, output: int) -> None:
        self.channel = channel
        self.output = output
        self.program = 0
        self.alone = False

    def say(self, line: str) -> None:
        """Tell the kernel, if there is one still."""
        with contextlib.suppress(OSError):
            os.write(self.channel, f"{line}\n".encode())

    def start(self, wanted: dict[str, Any]) -> None:
        """Start the program in a session of its own, its signals as they are for everybody."""
        # An error ends it: whoever wanted this has gone.
        os.write(self.channel, f"+{os.getpid()}\n".encode())
        name = wanted["cwd"]
        try:
            os.chdir(name)
            os.umask(wanted["umask"])
            name = wanted["argv"][0]
            self.program = os.posix_spawn(
                name,
                wanted["argv"],
                dict(wanted["env"]),
                # Its stdin is nothing, as this one's is.
                file_actions=[(os.POSIX_SPAWN_DUP2, self.output, each) for each in (1, 2)],
                setsid=True,
                setsigmask=(),
                setsigdef=USUAL,
            )
            self.say(f">{self.program}")
        except (OSError, ValueError) as error:
            os.write(self.output, f"{name}: {getattr(error, 'strerror', error)}\n".encode(errors="replace"))
            self.say("=127")
        # What is written is the command's, and ends with it; so is the folder.
        os.close(self.output)
        os.chdir("/")

    def reap(self) -> None:
        """Take leave of those that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.alone = True
                return
            if not pid:
                return
            if pid == self.program:
                self.program = 0
                self.say(f"={os.waitstatus_to_exitcode(status)}")

    def end(self) -> int:
        """End all; how many are left that may not be ended."""
        until = time.monotonic() + PATIENCE
        refused = 0
        while True:
            self.reap()
            if self.alone or time.monotonic() > until:
                return 0 if self.alone else len(descendants())
            below = descendants()
            # Held still first, so that none starts another meanwhile.
            send(signal.SIGSTOP, below)
            refused = 0 if send(signal.SIGKILL, below) else refused + 1
            if refused > REFUSALS:
                return len(below)
            select.select([], [], [], 0.002)


def wakened() -> int:
    """A descriptor that can be read when a child has ended."""
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def keep(channel: int, output: int, kernel: list[int]) -> None:
    """See one program to its end; ``kernel`` can be read when that has gone."""
    keeper = Keeper(channel, output)
    if ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return
    wanted = read(channel)
    woken = wakened()
    # Others that were forked from the kernel may hold the socket's other end; `kernel` they can't hold.
    sources = [channel, woken, *kernel]
    keeper.start(wanted)
    if not keeper.program:
        keeper.say("!0")
        return
    while True:
        ready = select.select(sources, [], [])[0]
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            keeper.reap()
            if keeper.alone:
                keeper.say("!0")
                return
        word = b""
        if channel in ready:
            with contextlib.suppress(OSError):
                word = os.read(channel, 1)
            if word == b"t":
                below = descendants()
                # Held still meanwhile: none goes on with what another's end looks like, as a pipe's reader would.
                for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
                    send(number, below)
                continue
        elif not set(ready) - {woken}:
            continue
        keeper.say(f"!{keeper.end()}")
        return


def nursery(control: socket.socket, kernel: list[int]) -> None:
    """Fork a keeper for each command, until the kernel has gone."""
    woken = wakened()
    while True:
        ready = select.select([control.fileno(), woken, *kernel], [], [])[0]
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        if control.fileno() in ready:
            word, given, _, _ = socket.recv_fds(control, 1, 2)
            if not word:
                return
            for each in given:
                os.set_inheritable(each, False)
            # Where it can't fork the socket's end says so.
            with contextlib.suppress(OSError):
                if len(given) == 2 and os.fork() == 0:
                    try:
                        os.setsid()
                        control.close()
                        keep(given[0], given[1], kernel)
                    finally:
                        os._exit(0)
            for each in given:
                os.close(each)
        elif set(ready) - {woken}:
            return


def main() -> None:
    """Keep the commands of the process whose number is the second argument, told over the socket that is the first."""
    # Its number may be larger than what can be waited for.
    control = socket.socket(fileno=os.dup(int(sys.argv[1])))
    os.close(int(sys.argv[1]))
    control.set_inheritable(False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    kernel: list[int] = []
    with contextlib.suppress(OSError, AttributeError):
        kernel.append(os.pidfd_open(int(sys.argv[2])))
    if os.getppid() != int(sys.argv[2]):
        return
    # What isn't moved about by a collector is shared with each keeper.
    gc.disable()
    gc.freeze()
    nursery(control, kernel)


if __name__ == "__main__":
    main()
