"""Starting writers, as `writer.py` has them, and killing them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["Writers"]

ROOT = Path(__file__).parents[2]


class Writers:
    """Starts writers and kills them."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.writer"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1,
        )  # fmt: skip

    def killed(self, kind: str, folder: Path, seconds: float) -> None:
        """Let one write for so long, and kill it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{kind} {folder}\n")
        pid = int(self.process.stdout.readline())
        assert pid > 0, f"the writer of {kind} failed"
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        assert self.process.stdout.readline() == "ended\n"

    def close(self) -> None:
        """End it; a writer that is under way ends with it."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()
