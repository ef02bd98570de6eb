"""The difference of two texts: what patch makes the second of the first with, and an end to both time and length."""

from __future__ import annotations

import random
import re
from difflib import Match, SequenceMatcher

import pytest

from nbtoolkit.tool import diffs


def patched(before: str, diff: str) -> str:
    """What ``patch`` would make; for texts without a line that looks like a header."""
    old = re.findall(r"[^\n]*\n|[^\n]+", before)
    out: list[str] = []
    at = 0
    lines = re.findall(r"[^\n]*\n", diff)[2:]
    for number, line in enumerate(lines):
        if line.startswith("@@"):
            found = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
            assert found is not None
            start = int(found[1]) - (found[2] != "0")
            out += old[at:start]
            at = start
        elif not line.startswith("\\"):
            ended = number + 1 == len(lines) or not lines[number + 1].startswith("\\")
            text = line[1:] if ended else line[1:-1]
            if line[0] in " -":
                assert old[at] == text
                at += 1
            if line[0] in " +":
                out.append(text)
    return "".join(out + old[at:])


@pytest.mark.parametrize("seed", range(60))
def test_a_difference_makes_the_second_text_of_the_first(seed: int) -> None:
    chance = random.Random(seed)
    words = chance.choice([2, 20, 2_000])
    old = [f"w{chance.randrange(words)}\n" for _ in range(chance.choice([0, 1, 5, 30, 300]))]
    new = [line for line in old if chance.random() > 0.2]
    for _ in range(chance.randrange(5)):
        new.insert(chance.randrange(len(new) + 1), f"w{chance.randrange(words)}\n")
    before, after = "".join(old), "".join(new)
    if chance.random() < 0.3:
        after = after.removesuffix("\n")
    assert patched(before, diffs.unified(before, after, "f").text) == after


def test_a_small_change_in_a_long_text_is_shown_alone() -> None:
    before = "".join(f"line {at}\n" for at in range(5_000))
    diff = diffs.unified(before, before.replace("line 2500\n", "changed\n"), "f")
    assert diffs.counted(diff.text) == (1, 1)
    assert diff.left_out == 0
    assert diff.text.startswith("--- a/f\n+++ b/f\n@@ -2498,7 +2498,7 @@\n line 2497\n")


def test_what_is_too_much_to_review_is_counted() -> None:
    diff = diffs.unified("", "x\n" * 30_000, "f")
    assert diff.text.count("\n") <= diffs.MOST_LINES + 1
    assert diff.left_out == 30_001 - (diffs.MOST_LINES - 2)
    assert diff.text.endswith(f"\\ {diff.left_out:,} more lines\n")


def test_lines_that_look_alike_a_hundred_thousand_times_are_compared_within_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    class Counting(SequenceMatcher[str]):
        def __init__(self, junk: None, old: list[str], new: list[str]) -> None:
            super().__init__(junk, old, new)
            self.sides = old, new

        def get_matching_blocks(self) -> list[Match]:
            nonlocal compared
            compared += len(self.sides[0]) * len(self.sides[1])
            return super().get_matching_blocks()

    monkeypatch.setattr(diffs, "SequenceMatcher", Counting)
    before, after = "x\n" * 100_000, "x\ny\n" * 50_000
    diffs.unified(before, after, "f")
    assert compared <= diffs.MOST_PAIRS


def test_a_line_separator_that_only_python_knows_is_a_part_of_its_line() -> None:
    diff = diffs.unified("a\u2028b\x0cc\n", "a\u2028b\x0cd\n", "f")
    assert diffs.counted(diff.text) == (1, 1)
