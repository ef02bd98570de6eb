"""The difference of two texts as ``diff -u`` shows it, in bounded time and length.

difflib finds it; lines that are there just once on both sides cut a long text into pieces for it first, since its own
time grows with the square of the changes.
"""

from __future__ import annotations

from bisect import bisect_left
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Diff", "counted", "unified"]

CONTEXT = 3
# Pairs of lines that difflib may look at in the pieces together, about 3 µs each where it takes longest; the pieces
# behind that are shown as replaced.
MOST_PAIRS = 1_500_000
# More than anybody reviews; what is left out is counted.
MOST_LINES = 20_000
MOST_CHARACTERS = 2_000_000


class Diff(NamedTuple):
    """The text, and how many of its lines were left out as too many."""

    text: str
    left_out: int


def unified(before: str, after: str, name: str) -> Diff:
    """The difference of two texts; empty where they are the same."""
    if before == after:
        return Diff("", 0)
    old, new = _lines(before), _lines(after)
    shown = [f"--- a/{name}\n", f"+++ b/{name}\n"]
    size = left_out = 0
    for line in _hunks(old, new):
        if left_out or len(shown) >= MOST_LINES or size + len(line) > MOST_CHARACTERS:
            left_out += 1
            continue
        size += len(line)
        shown.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    if left_out:
        shown.append(f"\\ {left_out:,} more lines\n")
    return Diff("".join(shown), left_out)


def counted(diff: str) -> tuple[int, int]:
    """How many lines a diff adds and removes."""
    lines = diff.split("\n")[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: other ends of lines that Python knows are text to everybody else."""
    lines = text.split("\n")
    last = lines.pop()
    lines = [f"{line}\n" for line in lines]
    return [*lines, last] if last else lines


class _Matcher(SequenceMatcher[str]):
    """difflib's, with the matching blocks already found."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, [], [], autojunk=False)
        self.a, self.b = old, new
        self._found = _blocks(old, new)

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:  # type: ignore[override]
        return self._found


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _Matcher(old, new).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for kind, old_at, old_to, new_at, new_to in group:
            if kind == "equal":
                for line in old[old_at:old_to]:
                    yield f" {line}"
                continue
            for line in old[old_at:old_to]:
                yield f"-{line}"
            for line in new[new_at:new_to]:
                yield f"+{line}"


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _blocks(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """(start in old, start in new, length) of what is the same, in order, an empty one last."""
    most = min(len(old), len(new))
    head = 0
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    blocks = [(0, 0, head)]
    at, at_new, pairs = head, head, MOST_PAIRS
    for stop, stop_new in [
        *_anchors(old, new, head, len(old) - tail, len(new) - tail),
        (len(old) - tail, len(new) - tail),
    ]:
        size = (stop - at) * (stop_new - at_new)
        if 0 < size <= pairs:
            pairs -= size
            matcher = SequenceMatcher(None, old[at:stop], new[at_new:stop_new])
            blocks += [(at + each.a, at_new + each.b, each.size) for each in matcher.get_matching_blocks()]
        at, at_new = stop, stop_new
    blocks += [(len(old) - tail, len(new) - tail, tail)]
    return [*_merged(blocks), (len(old), len(new), 0)]


def _merged(blocks: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbours as one: the pieces' borders are no borders of the difference."""
    out: list[tuple[int, int, int]] = []
    for at, at_new, size in blocks:
        if not size:
            continue
        if out and (out[-1][0] + out[-1][2], out[-1][1] + out[-1][2]) == (at, at_new):
            out[-1] = (out[-1][0], out[-1][1], out[-1][2] + size)
        else:
            out.append((at, at_new, size))
    return out


def _anchors(old: list[str], new: list[str], start: int, stop: int, stop_new: int) -> list[tuple[int, int]]:
    """Places where the same line, unique on both sides, stands in the same order: the longest such row."""
    once, once_new = _unique(old, start, stop), _unique(new, start, stop_new)
    pairs = [(at, once_new[line]) for line, at in once.items() if line in once_new]
    ends: list[int] = []
    holders: list[int] = []
    before: list[int] = []
    for index, (_, at_new) in enumerate(pairs):
        place = bisect_left(ends, at_new)
        before.append(holders[place - 1] if place else -1)
        if place == len(ends):
            ends.append(at_new)
            holders.append(index)
        else:
            ends[place], holders[place] = at_new, index
    row: list[tuple[int, int]] = []
    index = holders[-1] if holders else -1
    while index >= 0:
        row.append(pairs[index])
        index = before[index]
    return row[::-1]


def _unique(lines: list[str], start: int, stop: int) -> dict[str, int]:
    """Each line that is there once, with its place, in order."""
    seen: dict[str, int] = {}
    for at in range(start, stop):
        line = lines[at]
        seen[line] = -1 if line in seen else at
    return {line: at for line, at in seen.items() if at >= 0}
