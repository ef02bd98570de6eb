"""Grep through a tree of 25,000 files, by the clock; the floor is ripgrep itself, started and read."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {"few": "Grep 25,000 files, 250 hits (floor: `rg`)", "all": "Grep 25,000 files, each a hit"}
TARGETS = {"few": "≤ 1.25 × floor", "all": "≤ 3.5 × floor"}
UNIT = "ms"
FILES = 25_000
FOLDERS = 250


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time whole calls on a tree that goes with this process."""
    if subject.LIBRARIES[0] not in {"pydantic", "nbtoolkit"}:
        raise CantError
    folder = tempfile.TemporaryDirectory(prefix="nbtoolkit-bench-")
    root = Path(folder.name)
    for number in range(FILES):
        if number < FOLDERS:
            (root / f"part{number}").mkdir()
        rare = "a needle\n" if number % 100 == 0 else ""
        (root / f"part{number % FOLDERS}" / f"file{number}.txt").write_text(f"some hay {number}\n{rare}more hay\n")
    pattern = "needle" if case == "few" else "more hay"
    once = _bare if subject.LIBRARIES[0] == "pydantic" else _ours
    run(once(root, pattern))

    # The folder lives as long as the function that uses it.
    def timed(_folder: Any = folder) -> float:
        seconds: float = run(once(root, pattern))
        return seconds

    return timed


async def _bare(root: Path, pattern: str) -> float:
    from nbtoolkit.tool.engine_ripgrep import ripgrep

    program = ripgrep()
    assert program is not None, "ripgrep isn't there"
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        str(program), "--no-config", "-l", "--", pattern, str(root), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    took = time.perf_counter() - began
    assert out
    return took


async def _ours(root: Path, pattern: str) -> float:
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Grep, Toolkit

    toolkit = Toolkit(tools=[Grep()])
    toolkit.mode = PermissionMode.BYPASS
    began = time.perf_counter()
    answer = await toolkit.call("Grep", pattern=pattern, path=str(root))
    took = time.perf_counter() - began
    assert ".txt" in answer.text, answer.text
    return took
