"""One call by name, from a model's JSON text to a result that a model can read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError
from benchmarks.sample import RESULT, TEXT, copies, load, load_async

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "sync": "call a sync function",
    "async": "call an async function",
    "many": "call one of 1,000 functions",
}
TARGETS = {"sync": "≤ 3 × floor", "async": "≤ 3 × floor", "many": "the same"}
UNIT = "µs"
# A round is long enough for the clock and short enough that other programs disturb few of them.
SECONDS = 0.02


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time calls in a row in one loop."""
    func = load_async if case == "async" else load
    call = subject.call_async if case == "async" else subject.call
    if call is None:
        raise CantError
    funcs = copies(func, 1000 if case == "many" else 1)
    made, name = subject.make(funcs), funcs[len(funcs) // 2].__name__
    answer = subject.result(run(call(made, name, TEXT)))
    assert answer == RESULT, answer

    async def once(count: int) -> float:
        began = time.process_time()
        for _ in range(count):
            await call(made, name, TEXT)
        return (time.process_time() - began) / count

    run(once(20))
    count = max(5, int(SECONDS / max(run(once(20)), 1e-6)))
    return lambda: run(once(count))
