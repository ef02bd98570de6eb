"""The log in a file as it grows: what was decided of a call before it runs, and how it ended.

Append-only, one JSON object a line, each line written by one call of the system: whatever kills this process, no call
has run whose decision doesn't stand there, no line is lost that was written, and none stands twice. ``durable`` also
waits until the disk has each line. A call whose line can't be written, on a full disk, doesn't run. A line that a kill
has cut short is ended by the next kernel that opens the file, and ``read`` counts it. Secrets are left out; the file is
its owner's alone to read.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import AgentOrientedException

if TYPE_CHECKING:
    from nbtoolkit.tool.log import LogEntry

__all__ = ["Journal", "JournalError", "line_of", "read"]

# Ends that could not be written wait for the next line; their calls have run, and the log in memory holds them.
MAX_WAITING = 10_000
# Looked through for a line that an interrupt may have cut off from its caller.
LAST = 1_000_000


class JournalError(AgentOrientedException):
    """A call didn't run, since its decision could not be written down first."""


class Journal:
    """One open file; thread-safe."""

    def __init__(self, path: str | Path, *, durable: bool = False) -> None:
        self.path = Path(path).expanduser().absolute()
        self.durable = durable
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        # Windows would write other ends of lines, and pass the file on to no child anyway.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o600)
        if self._last(1) not in (b"", b"\n"):
            self._append("\n")
        if durable:
            _sync_folder(self.path.parent)

    def __repr__(self) -> str:
        return f"<journal {str(self.path)!r}{', durable' if self.durable else ''}>"

    def close(self) -> None:
        """Write to it no more."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def allowed(self, entry: LogEntry) -> None:
        """Write what was decided of a call that is about to run; JournalError where that can't be done."""
        told = entry.to_dict()
        keys = ("number", "id", "tool", "origin", "tool_input", "asked_by", "decision", "decided_by", "started_at")
        try:
            self._write(line_of(_hidden({"event": "allowed", **{key: told[key] for key in keys}})))
        except OSError as fault:
            raise JournalError(
                f"The call was not run: what was decided can't be written to {str(self.path)!r} ({fault.strerror or fault})."
            ) from None

    def ended(self, entry: LogEntry, *, again: bool = False) -> None:
        """Write how a call ended; where that can't be done now, it is done with the next line.

        ``again`` where an interrupt may have come in the midst of that: it stands there once.
        """
        if again and self._holds(entry):
            return
        line = line_of(_hidden({"event": "ended", **entry.to_dict()}))
        try:
            self._write(line)
        except OSError:
            with self._lock:
                if len(self._waiting) < MAX_WAITING:
                    self._waiting.append(line)

    def _holds(self, entry: LogEntry) -> bool:
        """Whether the call's end is among the last lines."""
        with self._lock:
            last = self._last(LAST)
        return any(b'"event": "ended"' in line and entry.id.encode() in line for line in last.split(b"\n"))

    def _last(self, size: int) -> bytes:
        """So many bytes of the file's end; what is appended goes behind them all the same."""
        os.lseek(self._descriptor, max(0, os.fstat(self._descriptor).st_size - size), os.SEEK_SET)
        last = b""
        while len(last) < size and (more := os.read(self._descriptor, size - len(last))):
            last += more
        return last

    def _write(self, line: str) -> None:
        with self._lock:
            self._append(line)
            # One that is too long for the room there is holds nobody up.
            with contextlib.suppress(OSError):
                while self._waiting:
                    self._append(self._waiting[0])
                    del self._waiting[0]

    def _append(self, line: str) -> None:
        """One whole line, or none of it."""
        if self._descriptor < 0:
            raise OSError("it was closed")
        data = line.encode()
        before = os.fstat(self._descriptor).st_size
        written = os.write(self._descriptor, data)
        if written < len(data):
            # A full disk takes a part: without that it would be half a line for good.
            try:
                while written < len(data):
                    written += os.write(self._descriptor, data[written:])
            except OSError:
                os.ftruncate(self._descriptor, before)
                raise
        if self.durable:
            os.fsync(self._descriptor)


def line_of(row: dict[str, Any]) -> str:
    """A row as one line of JSON that is UTF-8, also where a text in it can't be."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # half characters
        text = json.dumps(row, default=str)
    return text + "\n"


def read(path: str | Path) -> tuple[list[dict[str, Any]], int]:
    """The rows of a journal, and how many lines in it are cut short."""
    rows: list[dict[str, Any]] = []
    cut = 0
    for line in Path(path).expanduser().read_bytes().split(b"\n"):
        if not line:
            continue
        try:
            row = json.loads(line)
        except ValueError:
            cut += 1
            continue
        rows.append(row)
    return rows, cut


def _hidden(row: dict[str, Any]) -> dict[str, Any]:
    from nbtoolkit.redact import Redactor

    hidden: dict[str, Any] = Redactor().value(row)
    return hidden


def _sync_folder(folder: Path) -> None:
    """Let the disk have the new file's name as well."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
