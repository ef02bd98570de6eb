"""The values that calls returned, kept for later cells and calls by the calls' numbers.

Bounded in number and in size: the oldest go, and the count of those that went is kept.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Results"]

# Values are kept alive for later cells, so they are fewer than the log's entries that tell of them, and no more bytes
# than a notebook's machine can spare. The newest is kept whatever its size: it is somebody's `_` as well.
MAX_RESULTS = 200
MAX_RESULT_BYTES = 2_000_000_000


class Results:
    """The Python objects that calls returned, by call number; the oldest go first.

    ``size`` is what they take, in bytes, as far as that can be told without looking through them.
    """

    def __init__(self, maxlen: int = MAX_RESULTS, max_bytes: int = MAX_RESULT_BYTES) -> None:
        # Each with its size. A plain dict would walk over all that has gone to find its oldest.
        self._held: OrderedDict[int, tuple[Any, int]] = OrderedDict()
        self._maxlen = maxlen
        self._max_bytes = max_bytes
        self.size = 0
        #: How many went to make room.
        self.gone = 0

    @property
    def told(self) -> str:
        """What became of the results that are kept no more; empty while all are."""
        if not self.gone:
            return ""
        most = f"{self._maxlen:,} at most, and {self._max_bytes / 1e9:g} GB"
        return f"the results of the first {self.gone:,} went to make room: kept are {most}"

    def keep(self, number: int, value: object) -> None:
        """Hold the value of one call."""
        held = self._held
        if number in held:
            self.size -= held.pop(number)[1]
        size = 0 if type(value) in _SMALL else _size(value)
        held[number] = (value, size)
        self.size += size
        while len(held) > self._maxlen or (self.size > self._max_bytes and len(held) > 1):
            self.size -= held.popitem(last=False)[1][1]
            self.gone += 1

    def clear(self) -> None:
        """Let all values go."""
        self._held.clear()
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[int]:
        return iter(tuple(self._held))

    def __contains__(self, number: object) -> bool:
        return number in self._held

    def __getitem__(self, number: int) -> Any:
        try:
            return self._held[number][0]
        except KeyError:
            held = _runs(sorted(self._held)) or "none"
            why = f" ({self.told})" if self.gone else ""
            raise KeyError(f"no result is kept for call {number!r}; kept are {held}{why}") from None

    def __repr__(self) -> str:
        return "Results(" + ", ".join(f"{n}: {type(v).__name__}" for n, (v, _) in self._held.items()) + ")"


def _runs(numbers: list[int]) -> str:
    """``1 to 3, 7, 8``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    between = {True: " to ", False: ", "}
    return ", ".join(between[run[-1] - run[0] > 1].join(map(str, run)) for run in runs)


_SMALL = frozenset({bool, int, float, type(None)})
_BUILT_IN = frozenset({str, bytes, list, dict, tuple, set})
# What an object's library knows at once, and how it is asked.
_ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nbytes", {}),
    ("memory_usage", {"deep": False}),
    ("estimated_size", {}),
)


def _size(value: Any) -> int:
    """An object's bytes, as far as it or its library knows them at once."""
    if type(value) not in _BUILT_IN:
        for name, arguments in _ASKED:
            try:
                told: Any = getattr(value, name, None)
                if told is None:
                    continue
                told = told(**arguments) if callable(told) else told
                return max(0, int(told.sum() if hasattr(told, "sum") else told))
            except Exception:  # noqa: BLE001, S112 - somebody's own attribute of that name
                continue
    return sys.getsizeof(value, 0)
