"""Listing the schemas of 1,000 tools again, as before each of a model's turns."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from benchmarks.sample import copies, load

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {"again": "list 1,000 schemas again"}
TARGETS = {"again": "≤ 1 ms"}
UNIT = "ms"
COUNT = 1000


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time a second listing."""
    made = subject.make(copies(load, COUNT))

    async def listed() -> Any:
        found = subject.schemas(made)
        return await found if asyncio.iscoroutine(found) else found

    assert len(run(listed())) == COUNT

    async def once() -> float:
        began = time.process_time()
        await listed()
        return time.process_time() - began

    return lambda: run(once())
