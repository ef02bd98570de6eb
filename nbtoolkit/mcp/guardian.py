"""A small process of its own that ends a kernel's servers when the kernel dies, however it dies.

It runs as a script, with nothing but the standard library. Its stdin is held open by the kernel alone; lines on it name
process groups (``+123`` one that was started, ``-123`` one that has ended) and single processes with the time of their
start (``=123 4567``), such as a pool's workers, which are of the kernel's own group. At the end of the kernel they get a
moment to leave by themselves, as their stdin has ended too, then SIGTERM, then SIGKILL. On Linux every process that
carries the kernel's mark in its environment goes with them, also one that has left its group.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The mark: ``NBTOOLKIT_SERVER=<owner>#<number>``, the owner as ``owner_mark`` writes it.
MARK = "NBTOOLKIT_SERVER"

# How long servers have to leave after their stdin ended, and after SIGTERM.
GRACE_SECONDS = 0.5
TERM_SECONDS = 1.0

_PROC = Path("/proc")
# Windows knows none; servers there die with the job object that the SDK puts them in.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def started(pid: int | str) -> str | None:
    """When the process was started, in ticks since boot; None when there is none or the system doesn't say."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended, it only waits to be noticed.
    return None if len(fields) < 20 or fields[0] in "ZX" else fields[19]


def owner_mark(pid: int | None = None) -> str:
    """A name for this process that no other process has, before or after it: pid, start and pid namespace."""
    pid = os.getpid() if pid is None else pid
    try:
        namespace = str((_PROC / str(pid) / "ns/pid").readlink()).strip("pid:[]")
    except OSError:
        namespace = ""
    return f"{pid}.{started(pid) or 0}.{namespace}"


def marked() -> Iterable[tuple[int, str]]:
    """Every process of this user that carries a mark, with the mark."""
    needle = f"{MARK}=".encode()
    try:
        entries = [entry.name for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return
    for entry in entries:
        try:
            environment = (_PROC / entry / "environ").read_bytes()
        except OSError:
            continue
        for variable in environment.split(b"\0"):
            if variable.startswith(needle):
                yield int(entry), variable[len(needle) :].decode(errors="replace")


def kill_marked(prefix: str, number: int = KILL) -> int:
    """Signal every process whose mark starts so; how many there were."""
    count = 0
    for pid, mark in marked():
        if mark.startswith(prefix) and pid != os.getpid():
            count += _signal(os.kill, pid, number)
    return count


def sweep() -> int:
    """End the servers of kernels that are no more; how many processes that were."""
    namespace = owner_mark().rpartition(".")[2]
    count = 0
    for pid, mark in marked():
        owner, _, its_namespace = mark.partition("#")[0].rpartition(".")
        owner_pid, _, owner_started = owner.partition(".")
        if its_namespace != namespace or not owner_pid.isdigit() or pid == os.getpid():
            continue
        if started(owner_pid) != owner_started:
            count += _signal(os.kill, pid, KILL)
    return count


def sweep_soon() -> threading.Thread:
    """Sweep beside whatever is going on: it looks at every process there is."""
    thread = threading.Thread(target=sweep, name="nbtoolkit-sweep", daemon=True)
    thread.start()
    return thread


def _signal(function: object, pid: int, number: int) -> bool:
    try:
        function(pid, number)  # type: ignore[operator]
    except OSError:
        return False
    return True


def _watch(parent: int) -> tuple[set[int], dict[int, str]]:
    """Wait for the parent's end; the groups that were alive then, and the single processes by their start."""
    groups: set[int] = set()
    singles: dict[int, str] = {}
    sources: list[int] = [0]
    # Children that the kernel forked hold its end of the pipe too, a pidfd doesn't have that fault.
    if hasattr(os, "pidfd_open"):
        try:
            sources.append(os.pidfd_open(parent))
        except OSError:
            if os.getppid() != parent:
                return groups, singles
    buffer = b""
    while True:
        ready, _, _ = select.select(sources, [], [])
        if 0 in ready:
            data = os.read(0, 65536)
            lines = (buffer + data).split(b"\n")
            buffer = lines.pop()
            for line in lines:
                if line[:1] == b"=":
                    pid, _, since = line[1:].decode().partition(" ")
                    singles[int(pid)] = since
                else:
                    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
            if not data:
                return groups, singles
        elif ready:
            return groups, singles


def _end(groups: set[int], singles: dict[int, str], mark: str) -> None:
    def workers() -> list[int]:
        # A number may be another process's by now.
        return [pid for pid, since in singles.items() if started(pid) == since]

    def alive() -> bool:
        held = any(_signal(os.killpg, group, 0) for group in groups) or bool(workers())
        return held or any(m.startswith(mark) for _, m in marked())

    for number, seconds in ((None, GRACE_SECONDS), (signal.SIGTERM, TERM_SECONDS), (KILL, 0.0)):
        if number is not None:
            for group in groups:
                _signal(os.killpg, group, number)
            for pid in workers():
                _signal(os.kill, pid, number)
            kill_marked(mark, number)
        until = time.monotonic() + seconds
        while alive() and time.monotonic() < until:
            time.sleep(0.05)
        if not alive():
            return


def main() -> None:
    """Watch the process named by the first argument, whose mark is the second."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _end(*_watch(int(sys.argv[1])), sys.argv[2] + "#")


if __name__ == "__main__":
    main()
