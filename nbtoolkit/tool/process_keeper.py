"""The process between a command and this one: all that the command starts stays below it, and ends with it.

It runs as a script, with nothing but the standard library; its one argument is the number of a socket. On Linux a
process can ask to inherit the orphans among its descendants; so nobody gets out from under it, whatever group, session
or environment of its own he makes himself. Over the socket it is told the program and its arguments, their length in four bytes before them. It says ``+pid`` when the program runs, ``=status`` when it
has ended and ``!count`` when nothing is left but that many who may not be ended (another user's); it hears ``t`` (ask
all to end) and ``k`` (end all), and takes the socket's end, or its parent's, for the latter.

Out of reach: what another service starts on request (``systemd-run``, ``at``, ``docker run -d``), and other users'.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

SET_CHILD_SUBREAPER = 36
# A process that was killed is gone in no time, unless it hangs in the system itself.
PATIENCE = 3.0
# One that ends by itself meanwhile can't be signalled either.
REFUSALS = 20


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


def read(channel: int) -> list[str]:
    """The program and its arguments."""
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        piece = os.read(channel, 65536)
        if not piece:
            sys.exit(0)
        data += piece
    return [os.fsdecode(each) for each in data[4:].split(b"\0")]


class Keeper:
    """One program, and who descends from it."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.program = 0
        self.alone = False

    def say(self, line: str) -> None:
        """Tell the parent, if there is one still."""
        with contextlib.suppress(OSError):
            os.write(self.channel, f"{line}\n".encode())

    def start(self, command: list[str]) -> None:
        """Start the program in a session of its own, its signals as they are for everybody."""
        told, tell = os.pipe()
        self.program = os.fork()
        if self.program == 0:
            try:
                # Not before the parent was told of it: what may have run is never started a second time.
                os.read(told, 1)
                os.dup2(1, 2)
                os.setsid()
                for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                os.execv(command[0], command)  # noqa: S606 - a program is what it is for
            except OSError as error:
                os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            finally:
                os._exit(127)
        # What is written is the command's, and ends with it.
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        self.say(f"+{self.program}")
        os.write(tell, b"g")
        os.close(told)
        os.close(tell)

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


def main() -> None:
    """Run one program and see to its end."""
    channel = int(sys.argv[1])
    os.set_inheritable(channel, False)
    command = read(channel)
    if ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    sources = [channel, woken]
    parent = os.getppid()
    # Others that were forked from the parent may hold the socket's other end; this one they can't hold.
    with contextlib.suppress(OSError, AttributeError):
        sources.append(os.pidfd_open(parent))
    keeper = Keeper(channel)
    keeper.start(command)
    while True:
        ready = select.select(sources, [], [])[0]
        if woken in ready:
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
                send(signal.SIGTERM, descendants())
                continue
        elif not set(ready) - {woken}:
            continue
        keeper.say(f"!{keeper.end()}")
        return


if __name__ == "__main__":
    main()
