"""One shell command as a process group: its output as it comes, its end certain.

Whatever happens, success, timeout, cancellation or an exception, nothing of the group is alive afterwards; on Linux
that holds for children that left the group too, unless they cleaned their environment: they carry a mark in it.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import secrets
import signal
import subprocess
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

__all__ = ["Ended", "run_streaming"]

# What a pipe holds by default on Linux: one read empties it.
READ_SIZE = 65_536
# Read but not yet taken; a command that writes faster waits, as it would for a slow terminal.
MOST_WAITING = 4 * 1024 * 1024
# Time between asking a group to end and ending it.
GRACE = 1.0
# A background child may hold the pipes when its shell has gone; its last words get this long.
LAST_WORDS = 0.2
# An idle wait must wake up, or an interrupt that only sets a flag is seen late.
TICK = 0.25

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


class Ended:
    """How a command ended: its exit code (negative: the signal), or that its time was over."""

    __slots__ = ("code", "timed_out")

    def __init__(self, code: int | None, *, timed_out: bool = False) -> None:
        self.code = code
        self.timed_out = timed_out


class _Pump:
    """Threads that read a process's pipes into a buffer that the loop empties."""

    def __init__(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()
        self._room = threading.Condition()
        self._parts: list[str] = []
        self._size = 0
        self._open = 0
        self._closed = False
        self._process = process
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                self._open += 1
                threading.Thread(target=self._read, args=(pipe,), daemon=True, name="nbtoolkit-output").start()
        threading.Thread(target=self._wait, daemon=True, name="nbtoolkit-wait").start()

    def _read(self, pipe: IO[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(pipe.fileno(), READ_SIZE):
                self._put(decoder.decode(data), len(data))
            self._put(decoder.decode(b"", final=True), 0)
        with contextlib.suppress(OSError):
            pipe.close()
        with self._room:
            self._open -= 1
        self._wake()

    def _wait(self) -> None:
        self._process.wait()
        self._wake()

    def _put(self, text: str, size: int) -> None:
        with self._room:
            while self._size > MOST_WAITING and not self._closed:
                self._room.wait(1.0)
            self._parts.append(text)
            self._size += size
        self._wake()

    def _wake(self) -> None:
        # The loop may be gone where the call was given up.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    def close(self) -> None:
        with self._room:
            self._closed = True
            self._room.notify_all()

    @property
    def drained(self) -> bool:
        with self._room:
            return not self._open and not self._parts

    async def take(self, timeout: float) -> str:
        """What has come, waiting for it no longer than ``timeout``."""
        if not self._parts:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(timeout, TICK)):
                    await self._event.wait()
        self._event.clear()
        with self._room:
            text = "".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._room.notify_all()
        return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


async def run_streaming(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    mark: tuple[str, str] | None = None,
    started: Callable[[int], None] | None = None,
) -> AsyncGenerator[str | Ended, None]:
    """Run, giving text as it comes and an ``Ended`` at last.

    ``mark`` is a variable and a value that no other process has; ``started`` is told the group.
    """
    mark = mark or ("NBTOOLKIT_CALL", secrets.token_hex(8))
    loop = asyncio.get_running_loop()
    process = subprocess.Popen(  # noqa: S603, ASYNC220 - a shell is the point; its threads keep the loop free
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**env, mark[0]: mark[1]},
        start_new_session=os.name == "posix",
    )
    if started is not None:
        started(process.pid)
    pump = _Pump(process, loop)
    ended = False
    try:
        deadline = loop.time() + timeout
        last_words: float | None = None
        while True:
            text = await pump.take(max(0.0, (last_words or deadline) - loop.time()))
            if text:
                yield text
            if process.poll() is not None:
                if pump.drained:
                    break
                last_words = last_words or loop.time() + LAST_WORDS
                if loop.time() >= last_words:
                    break
            elif loop.time() >= deadline:
                await _end_politely(process, pump, loop)
                for rest in (await pump.take(0.0), await pump.take(0.0)):
                    if rest:
                        yield rest
                ended = True
                yield Ended(None, timed_out=True)
                return
        ended = True
        _end_at_once(process, mark)
        yield Ended(process.returncode)
    finally:
        # Also where the one who iterates gave up, was cancelled or interrupted.
        if not ended:
            _signal_group(process, signal.SIGTERM)
        pump.close()
        _end_at_once(process, mark)


async def _end_politely(process: subprocess.Popen[bytes], pump: _Pump, loop: asyncio.AbstractEventLoop) -> None:
    _signal_group(process, signal.SIGTERM)
    until = loop.time() + GRACE
    while process.poll() is None and loop.time() < until:  # noqa: ASYNC110 - a process sets no event
        await asyncio.sleep(0.02)
    pump.close()


def _end_at_once(process: subprocess.Popen[bytes], mark: tuple[str, str]) -> None:
    """Kill what is left of the group, and whoever left the group with our mark in its environment."""
    _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    for pid in _marked(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    # A killed process is gone in no time; one that hangs in the kernel must not hang this too.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2.0)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.kill()


def _marked(mark: tuple[str, str]) -> list[int]:
    wanted = "=".join(mark).encode()
    found: list[int] = []
    proc = Path("/proc")
    if not (proc / "self" / "environ").exists():
        return found
    me = os.getpid()
    for entry in os.scandir(proc):
        if entry.name.isdigit() and int(entry.name) != me:
            with contextlib.suppress(OSError):
                if wanted in Path(entry.path, "environ").read_bytes():
                    found.append(int(entry.name))
    return found
