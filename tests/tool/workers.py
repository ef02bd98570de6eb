"""What the tests let another process do; it imports next to nothing, since each worker loads it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from nbtoolkit.tool import report_progress

# Seconds that a call would take which nobody ends.
LONG = 60


def double(n: int) -> int:
    """Double it."""
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n * 2


def vanish() -> None:
    """End the process without a word."""
    os._exit(9)


def vanish_at_first(path: str, times: int) -> int:
    """Note the run, and end the process without a word so many times."""
    with Path(path).open("a") as file:
        file.write("x")
    runs = len(Path(path).read_text())
    if runs <= times:
        # What was sent before it is on its way.
        time.sleep(0.2)
        os._exit(9)
    return runs


def pid() -> int:
    """Say which process it is."""
    return os.getpid()


def count(to: int, pause: float) -> int:
    """Count, and say so."""
    for n in range(1, to + 1):
        report_progress(n, to, f"at {n}")
        time.sleep(pause)
    return to


def touch(path: str) -> None:
    """Make a file."""
    Path(path).touch()


def hold(path: str) -> None:
    """Say that it runs, and wait until the file is gone."""
    file = Path(path)
    file.touch()
    deadline = time.monotonic() + LONG
    while file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def sleep(path: str) -> None:
    """Sleep, without a look at anything."""
    # Within: the stop may come as soon as the file is there.
    try:
        Path(path).touch()
        time.sleep(LONG)
    finally:
        Path(path).write_text("ended")


def spin(path: str) -> None:
    """Compute."""
    deadline = time.monotonic() + LONG
    try:
        Path(path).touch()
        while time.monotonic() < deadline:
            # With `pass` here, a stop on CPython 3.13.0 has left the finally below out; why isn't known.
            sum(range(100))
    finally:
        Path(path).write_text("ended")


def stubborn(path: str) -> None:
    """Let nothing stop it but its own reports."""
    deadline = time.monotonic() + LONG
    try:
        try:
            Path(path).touch()
        except BaseException:  # noqa: BLE001 - it is there or comes to be
            Path(path).touch()
        while time.monotonic() < deadline:
            report_progress(1)
            try:
                time.sleep(0.01)
            except BaseException:  # noqa: BLE001 - that is what is tested
                continue
    finally:
        Path(path).write_text("ended")
