"""What both search engines share: the question, the answer's form, and how one is told to stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from nbtoolkit.permission.sensitive import Places

__all__ = [
    "BINARY",
    "LINE_BREAK",
    "LONGEST",
    "Engine",
    "Found",
    "Mode",
    "Query",
    "Stopper",
    "base_glob",
    "no_expression",
]

# Seconds that a search may take.
LONGEST = 120.0
# Of a file that was named; others that are binary are left out.
BINARY = "{} holds binary data: matching lines in it aren't shown"
LINE_BREAK = "the pattern holds a line break, which no line holds. Set multiline to true."

Mode = Literal["files_with_matches", "content", "count"]
Found = list[tuple[str, list[str]]]


class Stopper:
    """Tells a search in a thread to end."""

    def __init__(self) -> None:
        self.stopped = False
        self.ended: str | None = None
        """Why the search ended before its end, where the engine did that by itself."""
        self.skipped: list[str] | None = None
        """The sensitive files that were come upon, where ``telling`` was set and nothing hid any."""
        self.telling = False
        self.remarks: list[str] = []
        """What is to be said beside the answer: what wasn't looked at, and why."""
        self.no_memory = False
        """Whether the search ended for want of memory."""
        self._until = time.monotonic() + LONGEST
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def watch(self, process: subprocess.Popen[bytes], seconds: float | None = None) -> threading.Timer:
        """End this process when told to stop, or when the timer that is given runs out; whoever is done cancels that."""
        seconds = LONGEST if seconds is None else seconds
        with self._lock:
            self._process = process
            if self.stopped:
                process.kill()

        def too_long() -> None:
            self.ended = f"it had run for {seconds:g} s"
            process.kill()

        timer = threading.Timer(seconds, too_long)
        timer.daemon = True
        timer.start()
        return timer

    def over(self) -> bool:
        """Whether a search without a process is to end: it was told to stop, or its time is over."""
        if self.ended is None and time.monotonic() > self._until:
            self.ended = f"it had run for {LONGEST:g} s"
        return self.stopped or self.ended is not None

    def stop(self) -> None:
        """End the search."""
        with self._lock:
            self.stopped = True
            if self._process is not None and self._process.poll() is None:
                self._process.kill()


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for below ``root``; without a ``pattern`` the files themselves."""

    root: str
    places: Places
    pattern: str = ""
    only: str | None = None
    glob: str | None = None
    name_glob: str | None = None
    type: str | None = None
    depth: int | None = None
    """How deep below ``root`` is looked; 1 is what lies in it."""
    mode: Mode = "files_with_matches"
    ignore_case: bool = False
    numbers: bool = True
    before: int = 0
    after: int = 0
    multiline: bool = False


class Engine(Protocol):
    """Finds files, and lines in them; names are relative to the root, with slashes."""

    def files(self, query: Query, stopper: Stopper) -> Iterator[str]:
        """All files that aren't ignored or sensitive, as they are found."""
        ...

    def grep(self, query: Query, stopper: Stopper) -> Found:
        """For each file with a match its name and lines (each ``:number:text``), or its count."""
        ...

    def tells(self, query: Query) -> bool:
        """Whether this search can say by the way which sensitive files it leaves out; a ``telling`` stopper makes it."""
        ...

    def skipped(self, query: Query, stopper: Stopper) -> list[str]:
        """The sensitive files and folders that a search of this root leaves out, however deep they lie."""
        ...


def base_glob(glob: str | None) -> str | None:
    """``**/*.py`` is about names only."""
    if glob is None:
        return None
    name = glob.rpartition("/")[2]
    return (
        name
        if name and name != "**" and "{" not in glob.rpartition("/")[0] and glob.count("{") == name.count("{")
        else None
    )


def no_expression(pattern: str, why: str) -> str:
    """Why a pattern can't be searched for, and how text is."""
    return (
        f"{pattern!r:.200} is no regular expression: {why}. To look for the text itself, put a backslash before "
        "each of \\ . + * ? ( ) | [ ] { } ^ $."
    )
