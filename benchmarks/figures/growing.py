"""How a cost grows with what there is: each case is one size of one curve.

A call by the number of tools; a chunk by the length of its stream; a judgement by the number of rules; a call by the
number of calls that the log holds; a server's call by the number of servers. Records in a notebook are the page's own
(``benchmarks.page``).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError, judging, servers, streaming
from benchmarks.sample import RESULT, TEXT, copies, load

if TYPE_CHECKING:
    from collections.abc import Callable

# What grows: what is timed, and the sizes.
CURVES: dict[str, tuple[str, tuple[int, ...]]] = {
    "tools": ("a call, by the number of tools", (10, 100, 1_000, 10_000)),
    "chunks": ("a chunk, by the length of its stream", (1_000, 10_000, 50_000, 200_000)),
    "rules": ("judging a command, by the number of rules", (1, 10, 100, 1_000, 10_000)),
    "log": ("a call, by the calls in the log", (0, 1_000, 10_000, 100_000)),
    "servers": ("a call of a server, by the number of servers", (1, 5, 10, 20)),
}
CASES = {f"{curve}-{size}": f"{title}: {size:,}" for curve, (title, sizes) in CURVES.items() for size in sizes}
TARGETS = dict.fromkeys(CASES, "–")
UNIT = "µs"
# Seconds for making a subject's tools; more would be spent on a figure that its smaller sizes tell already.
LONGEST = 60.0
# A round is long enough for the clock and short enough that other programs disturb few of them.
SECONDS = 0.02


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time one size of one curve."""
    curve, _, text = case.partition("-")
    size = int(text)
    if curve == "chunks":
        return streaming.prepared(subject, size, run)
    if curve == "rules":
        return judging.prepared(subject, "rules", run, size)
    if curve == "servers":
        return servers.prepared(subject, size, run)
    if curve == "tools":
        return _calls(subject, _made(subject, size), size, run)
    if subject.LIBRARIES[0] != "nbtoolkit":
        raise CantError
    made = _made(subject, 1)
    _fill(made, size, run)
    return _calls(subject, made, 1, run)


def _made(subject: Any, size: int) -> Any:
    funcs = copies(load, size)
    began = time.perf_counter()
    few = subject.make(funcs[: min(size, 100)])
    if (time.perf_counter() - began) * size / 100 > LONGEST:
        raise CantError("left out, as making so many tools would take minutes")
    return few if size <= 100 else subject.make(funcs)


def _calls(subject: Any, made: Any, size: int, run: Callable[[Any], Any]) -> Callable[[], float]:
    name = f"load_{size // 2}"
    answer = subject.result(run(subject.call(made, name, TEXT)))
    assert answer == RESULT, answer

    async def once(count: int) -> float:
        began = time.process_time()
        for _ in range(count):
            await subject.call(made, name, TEXT)
        return (time.process_time() - began) / count

    run(once(20))
    count = max(5, int(SECONDS / max(run(once(20)), 1e-6)))
    return lambda: run(once(count))


def _fill(toolkit: Any, size: int, run: Callable[[Any], Any]) -> None:
    """A log that holds so many calls and lets none go."""
    toolkit.log.maxlen = toolkit.log.max_bytes = 10**9

    async def calls() -> None:
        for number in range(size):
            await toolkit.call("load_0", path=f"data/{number}.csv", limit=5)

    run(calls())
    assert len(toolkit.log) == size
