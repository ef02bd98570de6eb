"""What the tests let another process do; it imports next to nothing, since each worker loads it."""

from __future__ import annotations

import os


def double(n: int) -> int:
    """Double it."""
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n * 2


def vanish() -> None:
    """End the process without a word."""
    os._exit(9)
