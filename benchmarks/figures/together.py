"""A thousand calls at once."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any

from benchmarks.sample import RESULT, TEXT, copies, load, load_async

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {"sync": "1,000 calls at once, sync function", "async": "1,000 calls at once, async function"}
TARGETS = {"sync": "≤ 2 × floor", "async": "≤ 2 × floor"}
UNIT = "ms"
COUNT = 1000


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time the library's own way to run many, else a task for each."""
    func, call = (load_async, subject.call_async) if case == "async" else (load, subject.call)
    funcs = copies(func, 1)
    made, name = subject.make(funcs), funcs[0].__name__
    together = getattr(subject, "together", None)

    async def run_all(texts: list[str]) -> list[Any]:
        if together is not None:
            answers: list[Any] = await together(made, name, texts)
            return answers
        return await asyncio.gather(*[asyncio.create_task(call(made, name, text)) for text in texts])

    answers = [subject.result(answer) for answer in run(run_all([TEXT] * 3))]
    assert answers == [RESULT] * 3, answers

    async def once() -> float:
        # What the rounds before left behind is theirs to clean.
        gc.collect()
        began = time.process_time()
        answers = await run_all([TEXT] * COUNT)
        took = time.process_time() - began
        assert len(answers) == COUNT
        return took

    return lambda: run(once())
