"""Import time, each in a new process, without the interpreter's own start."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {"package": "import the package", "tools": "import what a program of it needs"}
TARGETS = {"package": "≤ 1.25 × floor", "tools": "≤ 1.8 × floor"}
UNIT = "ms"
_TIMED = "import time; began = time.process_time()\n{}\nprint(time.process_time() - began)"


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time the import in a child of this environment's Python."""
    line: str = subject.IMPORT
    if case == "package" and subject.LIBRARIES[0] != "pydantic":
        line = f"import {line.split()[1].partition('.')[0]}"

    def once() -> float:
        command = [sys.executable, "-c", _TIMED.format(line)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)

    once()
    return once
