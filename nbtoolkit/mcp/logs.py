"""What a server writes beside the protocol: its stderr, its log messages, and when it came and went.

One file for each server and process, 0600, rotated once; the tail is kept in memory for errors and for the server's
card. A server can write as much as it likes: neither grows without bound.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

__all__ = ["ServerLog", "log_folder"]

# A file is turned over at this size, and one older file is kept.
FILE_LIMIT = 1024 * 1024
# The tail in memory: lines, and characters of a line.
TAIL_LINES = 200
LINE_LIMIT = 2000
# Logs of earlier kernels are kept for a week.
KEEP_SECONDS = 7 * 24 * 3600


def log_folder() -> Path | None:
    """Where the logs lie, by the platform's custom; None where there is no home."""
    try:
        return _base() / "nbtoolkit" / "mcp"
    except RuntimeError:
        return None


def _base() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir())
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Logs"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


class ServerLog:
    """The log of one server in one process."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name
        folder = folder or log_folder()
        self.path: Path | None = None if folder is None else folder / f"{name}-{os.getpid()}.log"
        self.lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._partial = b""
        self._of_run = 0
        self._size = 0

    def tail(self, count: int = TAIL_LINES) -> list[str]:
        """The last lines."""
        return list(self.lines)[-count:]

    def begin(self, text: str) -> None:
        """A start: what the server writes from now on are the words of this run."""
        self.feed(b"\n" if self._partial else b"")
        self._of_run = 0
        self.note(text)

    def last_words(self, count: int) -> list[str]:
        """The last lines of this run that say something."""
        lines = list(self.lines)[-self._of_run :] if self._of_run else []
        if self._partial:
            lines.append(self._partial.decode("utf-8", "replace"))
        return [line for line in lines if line.strip()][-count:]

    def feed(self, data: bytes) -> None:
        """Take raw stderr."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LINE_LIMIT:
            whole.append(self._partial)
            self._partial = b""
        # Of a flood only the end can be seen anyway; the file gets it all, turned over.
        self._store(data)
        for line in whole[-TAIL_LINES:]:
            self._append(line[:LINE_LIMIT].decode("utf-8", "replace").rstrip("\r"))

    def write(self, source: str, text: str) -> None:
        """Take a line that isn't stderr, marked with where it comes from."""
        line = f"[{source}] {text[:LINE_LIMIT]}"
        self._append(line)
        self._store(f"{line}\n".encode("utf-8", "replace"))

    def note(self, text: str) -> None:
        """Take a line of ours; it stands in the file alone, the tail is the server's."""
        self._store(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n".encode("utf-8", "replace"))

    def _append(self, line: str) -> None:
        self.lines.append(line)
        self._of_run = min(self._of_run + 1, TAIL_LINES)

    def _store(self, data: bytes) -> None:
        if self.path is None or not data:
            return
        try:
            if self._size == 0:
                self._prepare(self.path)
            if self._size + len(data) > FILE_LIMIT:
                self.path.replace(self.path.with_suffix(".old"))
                self._size = 0
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, data[-FILE_LIMIT:])
            finally:
                os.close(descriptor)
            self._size += max(1, len(data[-FILE_LIMIT:]))
        except OSError:
            # A full disk or a read-only home must not cost the server; the tail is in memory.
            self.path = None

    def _prepare(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent not in _swept:
            _swept.add(path.parent)
            # Beside the first server's start: there may be hundreds of old logs.
            threading.Thread(target=_sweep, args=(path.parent,), name="nbtoolkit-logs", daemon=True).start()
        with contextlib.suppress(OSError):
            self._size = path.stat().st_size


# The folders whose old logs this process has removed.
_swept: set[Path] = set()


def _sweep(folder: Path) -> None:
    """Remove the logs that nobody has written to for long."""
    oldest = time.time() - KEEP_SECONDS
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.endswith((".log", ".old")) and entry.stat().st_mtime < oldest:
                    Path(entry.path).unlink()
