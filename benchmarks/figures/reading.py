"""Reading a window of a file, small or of a gigabyte; the floor reads the same lines and nothing else."""

from __future__ import annotations

import importlib
import itertools
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "small": "read lines 5,000 to 5,100 of 1 MB (floor: `islice` of the open file)",
    "large": "read the same lines of 1 GB",
}
TARGETS = {"small": "–", "large": "the same"}
UNIT = "ms"
LINE = b"line of a log file, with a time and some numbers: 1234567890\n"
SIZES = {"small": 2**20, "large": 2**30}
FIRST, COUNT = 5_000, 100


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time reads of a file that goes with this process."""
    if subject.LIBRARIES[0] not in {"pydantic", "nbtoolkit", "agentscope"}:
        raise CantError
    folder = tempfile.TemporaryDirectory(prefix="nbtoolkit-bench-")
    path = Path(folder.name) / "log.txt"
    block = LINE * 10_000
    with path.open("wb") as file:
        while file.tell() < SIZES[case]:
            file.write(block)
    library = subject.LIBRARIES[0]
    read = _floor if library == "pydantic" else _by(importlib.import_module(f"{library}.tool"), run)
    answer = read(path)
    assert "5000" in answer, answer[:200]

    # The folder lives as long as the function that uses it.
    def timed(_folder: Any = folder) -> float:
        began = time.process_time()
        read(path)
        return time.process_time() - began

    return timed


def _floor(path: Path) -> str:
    with path.open() as file:
        lines = itertools.islice(file, FIRST - 1, FIRST - 1 + COUNT)
        return "".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, FIRST))


def _by(tools: Any, run: Callable[[Any], Any]) -> Callable[[Path], str]:
    tool = tools.Read()

    def read(path: Path) -> str:
        chunk = run(tool(file_path=str(path), offset=FIRST, limit=COUNT))
        text: str = chunk.content[0].text
        return text

    return read
