"""How long a proof is, its seed, and what it counted: one setting chooses between the long form and a short slice.

``NBTOOLKIT_PROOF=long`` runs everything as `make proof` does; without it each proof takes a slice of a second or a few.
``NBTOOLKIT_PROOF_SEED`` repeats a run's random moments; the seed stands above the counts.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LONG = os.environ.get("NBTOOLKIT_PROOF", "") == "long"
SEED = int(os.environ.get("NBTOOLKIT_PROOF_SEED", "0") or 0) or random.SystemRandom().randrange(1, 10**6)
# Seconds for one proof.
LIMIT = 900 if LONG else 240
# Two cores that others use too; nothing here takes longer unless it hangs.
PATIENCE = 60.0
# Memory that a process's own housekeeping moves up and down, in bytes.
NOISE = 24 * 2**20


class Plan:
    """Counts and measurements of one run."""

    def __init__(self) -> None:
        #: What was done, by kind.
        self.counts: Counter[str] = Counter()
        #: What was measured, in words.
        self.figures: dict[str, str] = {}

    def pick(self, short: T, long: T) -> T:
        """The one that this run wants."""
        return long if LONG else short

    def chance(self, name: str) -> random.Random:
        """Random numbers of a name, the same for one seed."""
        return random.Random(f"{SEED} {name}")

    def count(self, kind: str, number: int = 1) -> None:
        """So many more were done."""
        self.counts[kind] += number

    def figure(self, name: str, text: str) -> None:
        """Say what was measured."""
        self.figures[name] = text


def until(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait for something that happens in another process or thread."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"{what} didn't happen in {patience:g} s"
        time.sleep(0.005)


def resident(pid: int | None = None) -> int:
    """The memory of a process that is its own, in bytes."""
    text = Path(f"/proc/{pid or 'self'}/statm").read_text().split()
    return int(text[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid: int | None = None) -> int:
    """How many files a process has open."""
    return len(list(Path(f"/proc/{pid or 'self'}/fd").iterdir()))
