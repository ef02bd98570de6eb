"""One shell command: its output as it comes, its end certain.

Whatever happens, success, timeout, cancellation, an exception or the death of this process, nothing that the command
started is alive afterwards. On Linux that holds for whoever descends from it, since a process of ours stands between
(``process_keeper``). Elsewhere it holds for its process group; who leaves that by ``setsid`` is out of reach there.

stdout and stderr share one pipe: what was written first comes first, as in a terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from typing import TYPE_CHECKING

from nbtoolkit.tool.children import Kept, Plain, can_be_kept
from nbtoolkit.tool.screen import Screen

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from nbtoolkit.tool.children import Child

__all__ = ["Drawn", "Ended", "run_streaming"]

# What a pipe holds by default on Linux: one read empties it.
READ_SIZE = 65_536
# Read but not yet taken; a command that writes faster waits, as it would for a slow terminal.
MOST_WAITING = 4 * 1024 * 1024
# Time between asking a command to end and ending it.
GRACE = 1.0
# A background child may hold the pipe when its shell has gone; its last words get this long.
LAST_WORDS = 0.2
# An idle wait must wake up, or an interrupt that only sets a flag is seen late.
TICK = 0.25

# Set where the process between couldn't start once.
_unkept = False


class Ended:
    """How a command ended: its exit code (negative: the signal; None: nobody knows), or that its time was over."""

    __slots__ = ("code", "left", "timed_out")

    def __init__(self, code: int | None, *, timed_out: bool = False, left: int = 0) -> None:
        self.code = code
        self.timed_out = timed_out
        self.left = left
        """How many processes of the command are alive still, since this user may not end them."""


class Drawn(str):
    """A line that the command writes over and over, as it stands: a bar. It becomes text when it is done."""

    __slots__ = ()


class _Pump:
    """A thread that reads a command's output into a buffer that the loop empties."""

    def __init__(self, pipe: int, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._room = threading.Condition()
        self._parts: list[str] = []
        self._size = 0
        self._open = True
        self._drawing = ""
        self._closed = False
        self._shown = ""
        threading.Thread(target=self._read, args=(pipe,), daemon=True, name="nbtoolkit-output").start()

    def _read(self, pipe: int) -> None:
        screen = Screen()
        with contextlib.suppress(OSError):
            while data := os.read(pipe, READ_SIZE):
                text = screen.feed(data)
                self._drawing = screen.drawing
                self._put(text, len(data))
            self._drawing = ""
            self._put(screen.feed(b"", final=True), 0)
        os.close(pipe)
        with self._room:
            self._open = False
        self._wake()

    def _put(self, text: str, size: int) -> None:
        with self._room:
            while self._size > MOST_WAITING and not self._closed:
                self._room.wait(1.0)
            self._parts.append(text)
            self._size += size
        self._wake()

    def close(self) -> None:
        """Let the thread read on to the end without anybody taking it."""
        with self._room:
            self._closed = True
            self._room.notify_all()

    @property
    def drained(self) -> bool:
        """Whether all was taken, and no more will come."""
        with self._room:
            return not self._open and not self._parts

    def drawn(self) -> Drawn | None:
        """The line that is being written over, unless it is the one that was given last."""
        if not self._drawing or self._drawing == self._shown:
            return None
        self._shown = self._drawing
        return Drawn(self._shown)

    def take(self) -> str:
        """What has come."""
        with self._room:
            text = "".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._room.notify_all()
        return text


class _Run:
    """A command, the pump at its output, and the event that both set."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        mark: tuple[str, str],
        started: Callable[[int], None] | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._plain: Callable[[], Child] = lambda: Plain(argv, cwd, env, mark, self._wake, started)
        self._kept: Callable[[], Child] = lambda: Kept(argv, cwd, env, mark, self._wake)
        self._again = can_be_kept() and not _unkept
        self.child: Child = self._kept() if self._again else self._plain()
        self.pump = _Pump(self.child.output, self._wake)
        self.ended = False

    def _wake(self) -> None:
        # The loop may be gone where the call was given up.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    async def take(self, seconds: float) -> str:
        """What has come, waiting for it no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(max(0.0, seconds), TICK)):
                await self._event.wait()
        self._event.clear()
        if self.child.failed:
            self.child.end()
            self.child = self._another()
            self.pump = _Pump(self.child.output, self._wake)
        return self.pump.take()

    def _another(self) -> Child:
        """A child in the place of one that never began."""
        if self._again:
            # Where keepers come from may have been ended by another command, just then.
            self._again = False
            return self._kept()
        # The next one couldn't start either.
        global _unkept
        _unkept = True
        return self._plain()

    async def ask(self) -> None:
        """Ask it to end, and give it time for that."""
        self.child.ask()
        until = self._loop.time() + GRACE
        while not self.child.over and self._loop.time() < until:  # noqa: ASYNC110 - a process sets no event
            await asyncio.sleep(0.02)

    async def finish(self) -> tuple[str, int]:
        """End it; what it had written and nobody took yet, and how many are left."""
        left = self.child.end()
        self.ended = True
        # One who may not be ended may hold the pipe for ever.
        until = self._loop.time() + LAST_WORDS
        text = self.pump.take()
        while not self.pump.drained and self._loop.time() < until:
            await asyncio.sleep(0.005)
            text += self.pump.take()
        return text, left

    def abandon(self) -> None:
        """End it, if that isn't done: also where the one who iterates gave up, was cancelled or interrupted."""
        self.pump.close()
        if not self.ended:
            self.child.ask()
            self.child.end()


async def run_streaming(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    mark: tuple[str, str] | None = None,
    started: Callable[[int], None] | None = None,
) -> AsyncGenerator[str | Ended, None]:
    """Run, giving text as it comes, what is ``Drawn`` in between, and an ``Ended`` at last.

    ``mark`` is a variable and a value that no other process has; ``started`` is told the group, where nothing but this
    process would end it.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    run = _Run(argv, cwd, env, mark or ("NBTOOLKIT_CALL", secrets.token_hex(8)), started)
    try:
        last_words: float | None = None
        while True:
            if text := await run.take((last_words or deadline) - loop.time()):
                yield text
            if (drawn := run.pump.drawn()) is not None:
                yield drawn
            if run.child.over:
                last_words = last_words or loop.time() + LAST_WORDS
                if run.pump.drained or loop.time() >= last_words:
                    break
            elif loop.time() >= deadline:
                break
        timed_out = not run.child.over
        if timed_out:
            await run.ask()
        text, left = await run.finish()
        if text:
            yield text
        yield Ended(None if timed_out else run.child.code, timed_out=timed_out, left=left)
    finally:
        run.abandon()
