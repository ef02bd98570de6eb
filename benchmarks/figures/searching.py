"""Grep and Glob through a tree of 25,000 files, by the clock; the floor is ripgrep itself, started and read."""

from __future__ import annotations

import asyncio
import functools
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "few": "Grep 25,000 files, 250 hits (floor: `rg`)",
    "all": "Grep 25,000 files, each a hit",
    "name": "Glob 25,000 files, 250 hits (floor: `rg --files`)",
    "names": "Glob 25,000 files, each a hit",
    "first": "Grep 25,000 files, 250 hits, the first call of a session",
    "first name": "Glob 25,000 files, 250 hits, the first call of a session",
}
TARGETS = {
    "few": "≤ 1.25 × floor",
    "all": "≤ 3.5 × floor",
    "name": "≤ 1.5 × floor",
    "names": "≤ 3.5 × floor",
    "first": "≤ 1.25 × floor",
    "first name": "≤ 1.5 × floor",
}
# What each tool is called with, and what ripgrep is.
CALLS: dict[str, tuple[str, str, list[str]]] = {
    "few": ("Grep", "needle", ["-l", "--", "needle"]),
    "all": ("Grep", "more hay", ["-l", "--", "more hay"]),
    "name": ("Glob", "**/file*00.txt", ["--files"]),
    "names": ("Glob", "**/*.txt", ["--files"]),
    "first": ("Grep", "needle", ["-l", "--", "needle"]),
    "first name": ("Glob", "**/file*00.txt", ["--files"]),
}
UNIT = "ms"
FILES = 25_000
FOLDERS = 250


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time whole calls on a tree that goes with this process."""
    if subject.LIBRARIES[0] not in {"pydantic", "nbtoolkit", "agentscope"}:
        raise CantError
    root = _tree()
    once = {"pydantic": _bare, "nbtoolkit": _ours, "agentscope": _theirs}[subject.LIBRARIES[0]]
    run(once(root, case))

    def timed() -> float:
        seconds: float = run(once(root, case))
        return seconds

    return timed


@functools.lru_cache(maxsize=1)
def _tree() -> Path:
    """The files, once for all cases; they go with this process."""
    root = Path(_folder().name)
    for number in range(FILES):
        if number < FOLDERS:
            (root / f"part{number}").mkdir()
        rare = "a needle\n" if number % 100 == 0 else ""
        (root / f"part{number % FOLDERS}" / f"file{number}.txt").write_text(f"some hay {number}\n{rare}more hay\n")
    return root


@functools.lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nbtoolkit-bench-")


async def _bare(root: Path, case: str) -> float:
    from nbtoolkit.tool.engine_ripgrep import ripgrep

    program = ripgrep()
    assert program is not None, "ripgrep isn't there"
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        str(program), "--no-config", *CALLS[case][2], str(root), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    took = time.perf_counter() - began
    assert out
    return took


async def _ours(root: Path, case: str) -> float:
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Glob, Grep, Toolkit

    if case.startswith("first"):
        # Nothing is known of the folder yet: what a search leaves out is looked for, not remembered.
        _kept.clear()
    if not _kept:
        _kept.append(Toolkit(tools=[Grep(), Glob()]))
        _kept[0].mode = PermissionMode.BYPASS
    name, pattern, _ = CALLS[case]
    began = time.perf_counter()
    answer = await _kept[0].call(name, pattern=pattern, path=str(root))
    took = time.perf_counter() - began
    assert ".txt" in answer.text, answer.text
    return took


async def _theirs(root: Path, case: str) -> float:
    from agentscope import tool  # type: ignore[import-not-found,unused-ignore]

    name, pattern, _ = CALLS[case]
    kind = getattr(tool, name)
    began = time.perf_counter()
    chunk = await kind()(pattern=pattern, path=str(root))
    took = time.perf_counter() - began
    assert ".txt" in chunk.content[0].text, chunk
    return took


# The tool or toolkit of this process.
_kept: list[Any] = []
