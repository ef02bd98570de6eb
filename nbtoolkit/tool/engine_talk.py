"""What ripgrep says beside its answer: complaints, and in its trace each path that it passes over."""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

    from nbtoolkit.tool.engine import Query

__all__ = ["Talk"]

READ_SIZE = 1 << 16

# A line of its trace: a path that was left out, and by what; an override is a glob of ours.
_PASSED_OVER = re.compile(
    rb"^rg: DEBUG\|ignore::walk\|[^|\n]*: ignoring (?:\./)?(.+?): Ignore\(IgnoreMatch\((\w+)", re.MULTILINE | re.DOTALL
)
# One that is larger than it was told to look at.
_TOO_LARGE = re.compile(
    rb"^rg: DEBUG\|ignore::walk\|[^|\n]*: ignoring (?:\./)?((?:(?!\nrg: DEBUG\|).)+): \d+ bytes$",
    re.MULTILINE | re.DOTALL,
)
_NO_MEMORY = re.compile(rb"^memory allocation of \d+ bytes failed$", re.MULTILINE)


class Talk(threading.Thread):
    """What the program writes on stderr, read to its end so that it never waits, kept up to a bound."""

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        super().__init__(daemon=True, name="nbtoolkit-search")
        self._pipe = process.stderr
        self._most = most
        self._kept: list[bytes] = []
        self.whole = True
        self.start()

    def run(self) -> None:
        """Read."""
        assert self._pipe is not None
        size = 0
        with self._pipe as pipe:
            while piece := os.read(pipe.fileno(), READ_SIZE):
                size += len(piece)
                if size <= self._most:
                    self._kept.append(piece)
                else:
                    self.whole = False

    def complaint(self) -> str:
        """What it had to say to a person."""
        lines = b"".join(self._kept).decode("utf-8", "replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith("rg: DEBUG|")).strip()

    def passed_over(self, query: Query) -> list[str] | None:
        """The sensitive ones among the paths that it passed over; None where a file's name reads like a line of the trace."""
        found: dict[str, None] = {}
        for match in _PASSED_OVER.finditer(b"".join(self._kept)):
            name = match[1].decode("utf-8", "surrogateescape")
            if not os.path.lexists(f"{query.root}/{name}"):
                return None
            if (
                match[2] == b"Override"
                and name.rpartition("/")[2] != ".git"
                and query.places.skips(f"{query.root}/{name}")
            ):
                found[query.places.skipped_part(query.root, name)] = None
        return list(found)

    def too_large(self) -> list[str]:
        """The files that it passed over as larger than it was told to look at."""
        said = b"".join(self._kept)
        return sorted({match[1].decode("utf-8", "surrogateescape") for match in _TOO_LARGE.finditer(said)})

    def no_memory(self) -> bool:
        """Whether it ended since it was given no more memory."""
        return _NO_MEMORY.search(b"".join(self._kept)) is not None
