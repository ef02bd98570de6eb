"""What a chunk costs on its way through the pipeline, beyond making it, in short streams and in long ones."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError
from benchmarks.sample import chunks

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "1k": "one chunk of 1,000, beyond making it",
    "10k": "one chunk of 10,000",
    "200k": "one chunk of 200,000",
}
TARGETS = {"1k": "≤ 5 µs", "10k": "the same", "200k": "the same"}
UNIT = "µs"
_COUNTS = {"1k": 1_000, "10k": 10_000, "200k": 200_000}
# Seconds, for a whole stream of the longest if its cost grows with the square.
LONGEST = 100.0


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time a stream of texts, less the time of making as many chunks."""
    return prepared(subject, _COUNTS[case], run)


def prepared(subject: Any, count: int, run: Callable[[Any], Any]) -> Callable[[], float]:
    """The same for so many."""
    stream, chunk = getattr(subject, "stream", None), getattr(subject, "chunk", None)
    if stream is None or chunk is None:
        raise CantError
    made = subject.make([chunks])

    async def check() -> None:
        number, text = await stream(made, "chunks", json.dumps({"count": 3}))
        assert number in {3, 4}, number
        assert text == "piece 0 piece 1 piece 2 ", text

    async def through(many: int) -> float:
        gc.collect()
        began = time.process_time()
        await stream(made, "chunks", json.dumps({"count": many}))
        return time.process_time() - began

    async def making(many: int) -> float:
        gc.collect()
        began = time.process_time()
        async for text in chunks(many):
            chunk(text)
        return time.process_time() - began

    run(check())
    # Ten times as many chunks cost a subject that joins them anew each time a hundred times as much.
    if count > 100_000 and run(through(20_000)) * (count / 20_000) ** 2 > LONGEST:
        raise CantError("left out, as each chunk costs more than the one before and the stream would take minutes")

    async def once() -> float:
        return (await through(count) - await making(count)) / count

    return lambda: run(once())
