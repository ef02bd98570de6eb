"""The guardian as its kernel knows it: started with the first server, told of each group that comes and goes, dismissed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

from nbtoolkit.mcp import guardian

__all__ = ["dismiss_guardian", "ensure_guardian", "tell_guardian"]

# How long it may take to leave, once nothing is left to it.
LEAVE_SECONDS = 0.4

_guard_lock = threading.Lock()
_guard: subprocess.Popen[bytes] | None = None
_guard_pid = 0


def ensure_guardian() -> None:
    """Start the guardian of this process's servers, and end those that a dead kernel left behind."""
    global _guard, _guard_pid
    with _guard_lock:
        if _guard is not None and _guard_pid == os.getpid() and _guard.poll() is None:
            return
        guardian.sweep()
        environment = {name: value for name, value in os.environ.items() if name != guardian.MARK}
        _guard = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", guardian.__file__, str(os.getpid()), guardian.owner_mark()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        _guard_pid = os.getpid()


def dismiss_guardian() -> None:
    """At the end of the process: whatever is left now is the guardian's, which leaves at once where nothing is."""
    global _guard
    guard, _guard = _guard, None
    if guard is None or _guard_pid != os.getpid() or guard.stdin is None:
        return
    with contextlib.suppress(OSError):
        guard.stdin.close()
    # Python warns of a child that nobody has waited for.
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(LEAVE_SECONDS)


def tell_guardian(line: str) -> None:
    """Tell it of a process group; one that has gone is made anew when the next server starts."""
    if _guard is None or _guard.stdin is None:
        return
    with contextlib.suppress(OSError, ValueError):
        _guard.stdin.write(f"{line}\n".encode())
        _guard.stdin.flush()
