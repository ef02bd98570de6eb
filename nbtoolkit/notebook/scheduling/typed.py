"""Asking by a line of text: the front end's input box, or the terminal.

It promises to keep its own time limit, to let clicks and the stop button through meanwhile, and to say at once when
there is nobody who could type.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import sys
import threading
import time
from typing import TYPE_CHECKING

from nbtoolkit.notebook.scheduling import desk
from nbtoolkit.notebook.scheduling.driver import attend
from nbtoolkit.notebook.scheduling.kernel import is_foreign, kernel
from nbtoolkit.notebook.scheduling.latch import TICK
from nbtoolkit.notebook.scheduling.output import origin
from nbtoolkit.notebook.scheduling.people import NobodyAnswers

if TYPE_CHECKING:
    from collections.abc import Callable

# What a front end sends when the person ends the input.
END_OF_FILE = "\x04"
# How often to look for an answer where no descriptor tells of one.
LOOK_EVERY = 0.05


async def ask_by_input(prompt: str, timeout: float | None = None, *, password: bool = False) -> str:
    """Ask by the front end's input box or the terminal; main thread only. A password isn't shown while it is typed.

    NobodyAnswers where that can't work, TimeoutError when the time is up.
    """
    if threading.current_thread() is not threading.main_thread():
        raise NobodyAnswers("input() works in the main thread only")
    current = kernel()
    if current is None and is_foreign():
        return _by_builtin(prompt, password)
    if current is None:
        return await _from_terminal(prompt, timeout, password)
    parent = origin().parent
    if not current.allows_input(parent):
        raise NobodyAnswers("the front end allows no interaction (allow_stdin is false)")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with desk.listening():
        attend()
        line = await _until(current.request_input(prompt, parent, password), current.input_descriptor, timeout)
    if line == END_OF_FILE:
        raise NobodyAnswers("the input was closed")
    return line


def _by_builtin(prompt: str, password: bool) -> str:
    """The kernel's own `input`, which keeps no time limit."""
    try:
        return getpass.getpass(prompt) if password else input(prompt)
    except Exception as error:
        raise NobodyAnswers(f"input() failed: {error}") from error


async def _from_terminal(prompt: str, timeout: float | None, password: bool) -> str:
    stdin = sys.stdin
    if stdin is None or stdin.closed or not stdin.isatty():
        raise NobodyAnswers("no kernel and no terminal")
    if password:
        return getpass.getpass(prompt)  # it keeps no time limit, but the terminal quiet
    sys.stdout.write(prompt)
    sys.stdout.flush()
    if sys.platform == "win32":
        line = stdin.readline()  # a console can't be watched there
    else:
        import select

        def take() -> str | None:
            return stdin.readline() if select.select([stdin], [], [], 0)[0] else None

        line = await _until(take, stdin.fileno(), timeout)
    if not line:
        raise NobodyAnswers("the input was closed")
    return line.rstrip("\n")


async def _until(take: Callable[[], str | None], descriptor: int, timeout: float | None) -> str:
    """Wait until `take` gives a line."""
    loop = asyncio.get_running_loop()
    news = asyncio.Event()
    look_every = TICK
    try:
        loop.add_reader(descriptor, news.set)
    except (NotImplementedError, OSError):
        look_every = LOOK_EVERY
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while (line := take()) is None:
            left = look_every if deadline is None else min(look_every, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await news.wait()
            news.clear()
        return line
    finally:
        if look_every is TICK:
            loop.remove_reader(descriptor)
