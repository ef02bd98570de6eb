"""Registering a documented function of five parameters; with its schema, where a model is told of it at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from benchmarks.sample import copies, load

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {"lazy": "register a function", "schema": "register it and list its schema"}
TARGETS = {"lazy": "≤ 0.4 ms", "schema": "≤ 1.3 ms"}
UNIT = "ms"
# So that neither one slow function nor the registry itself decides a round.
COUNT = 50


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time ``COUNT`` new functions in a new registry."""

    async def listed(made: Any) -> Any:
        found = subject.schemas(made)
        return await found if asyncio.iscoroutine(found) else found

    told = str(run(listed(subject.make(copies(load, 1)))))
    assert "How many rows at most" in told, told

    async def once() -> float:
        funcs = copies(load, COUNT)
        began = time.process_time()
        made = subject.make(funcs)
        if case == "schema":
            await listed(made)
        return (time.process_time() - began) / COUNT

    return lambda: run(once())
