"""A stdio server as a process: started, spoken to by lines, heard on stderr, and ended with all that it started.

The SDK's own stdio transport hides the process, so neither its pid nor its exit code could be told, and what a server
prints beside the protocol would be lost; this transport gives the SDK the same two streams. The protocol is the SDK's.
Servers live in sessions of their own, so an interrupt of the kernel doesn't reach them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.mcp import guardian, pipes
from nbtoolkit.mcp.calls import Calls
from nbtoolkit.mcp.guarding import dismiss_guardian, ensure_guardian, tell_guardian
from nbtoolkit.mcp.lines import Asked
from nbtoolkit.mcp.meaning import Meaning
from nbtoolkit.mcp.pipes import Incoming, Outgoing
from nbtoolkit.mcp.programs import find_command, folder_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nbtoolkit.mcp.config import StdioMCPConfig
    from nbtoolkit.mcp.logs import ServerLog

__all__ = ["ServerProcess", "describe_exit", "dismiss_guardian", "ensure_guardian", "sdk_streams", "tell_guardian"]

logger = logging.getLogger("nbtoolkit.mcp")

# Lines that aren't messages, before any message: banners are common, a program that isn't a server writes on and on.
GARBAGE_LIMIT = 500
# After its stdin ended a server may finish what it does; after SIGTERM it may clean up.
GRACE_SECONDS = 2.0
TERM_SECONDS = 1.5
# At the end of the kernel both are short: whoever shuts it down loses patience after a few seconds.
HURRY_SECONDS = 0.4
# After the end of its stdout, the exit code should be there at once.
REAP_SECONDS = 1.0
# What a process wrote before its exit is in the pipe by then.
LAST_OUTPUT_SECONDS = 0.2
# Lines that are shown of what isn't MCP.
GARBAGE_SHOWN = 5
CHUNK = 65536

_number = itertools.count(1)

# Set when the process is about to end.
hurry = threading.Event()


class _Watched(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells of the process's exit at once: its pipes may be held open by what it has forked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=pipes.LINE_LIMIT, loop=loop)
        self.exited = asyncio.Event()
        self.deaf = asyncio.Event()
        self._own_loop = loop

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, exc)
        if fd == 0:
            self.deaf.set()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()
        if self.stdout is not None:
            # What it wrote before is read still; then it is over, whoever holds the pipe.
            self._own_loop.call_later(LAST_OUTPUT_SECONDS, self.stdout.feed_eof)


class ServerProcess:
    """One run of a server; ``streams()`` is entered by the SDK's client and left when the session ends."""

    def __init__(self, config: StdioMCPConfig, log: ServerLog, meaning: Meaning | None = None) -> None:
        self.config = config
        self.log = log
        self.meaning = meaning or Meaning()
        self.asked = Asked()
        self.mark = f"{guardian.owner_mark()}#{next(_number)}"
        self.garbage: list[str] = []
        self.garbled = 0
        self.spoke = False
        # What it did that no server may do, in words.
        self.fault = ""
        # It left by itself, before anybody asked it to.
        self.died = False
        self.stopping = False
        self.ended = asyncio.Event()
        self.calls: Calls | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watched: _Watched | None = None
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def pid(self) -> int | None:
        """The process's id, once it was started."""
        return self._process.pid if self._process is not None else None

    @property
    def exit_code(self) -> int | None:
        """Its exit code; negative for the signal that ended it; None while it runs."""
        return self._process.returncode if self._process is not None else None

    @contextlib.asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Start the process and give the SDK's pair of message streams."""
        process = await self._start()
        listening = [asyncio.create_task(self._listen(process)), asyncio.create_task(self._until_deaf())]
        try:
            outgoing = Outgoing(self, process)
            self.calls = Calls(outgoing.write, outgoing.write_now, self.meaning)
            yield Incoming(self, process), outgoing
        finally:
            if self.calls is not None:
                self.calls.close()
            # Ending must come to its end also when the session was cancelled.
            ending = asyncio.ensure_future(self._stop(process))
            try:
                await asyncio.shield(ending)
            finally:
                if not ending.done():
                    ending.cancel()
                    self.signal(guardian.KILL)
                for task in listening:
                    task.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        command = find_command(self.config)
        ensure_guardian()
        from mcp.client.stdio import get_default_environment

        environment = get_default_environment() | (self.config.env or {}) | {guardian.MARK: self.mark}
        loop = asyncio.get_running_loop()
        self._transport, self._watched = await loop.subprocess_exec(
            lambda: _Watched(loop),
            command,
            *(self.config.args or ()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder_of(self.config),
            env=environment,
            start_new_session=True,
        )
        process = self._process = asyncio.subprocess.Process(self._transport, self._watched, loop)
        tell_guardian(f"+{process.pid}")
        self.log.begin(f"started, pid {process.pid}: {self.config.describe()}")
        return process

    async def over(self) -> None:
        """Its stdout has ended: the session is told, with the exit code where there is one."""
        if not self.stopping:
            await self._gone("it closed its stdout, though its process goes on")
        self.ended.set()

    async def _until_deaf(self) -> None:
        """A server that has closed its stdin takes no message any more, so it is over too."""
        assert self._watched is not None
        await self._watched.deaf.wait()
        if not self.stopping and not self.ended.is_set():
            await self._gone("it closed its stdin, though its process goes on, so it hears no more")
            self.ended.set()

    async def _gone(self, still_there: str) -> None:
        """Whether it has ended, or what it did if it goes on."""
        ended = await self._reap(REAP_SECONDS)
        # Of two that wait here the second may wake when the first has gone on to the end.
        if self.stopping:
            return
        self.died = ended
        if not ended:
            self.fault = self.fault or still_there

    def note_garbage(self, line: bytes) -> bool:
        """Keep what isn't a message; False when this can't be a server."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text.strip():
            return True
        self.garbled += 1
        if len(self.garbage) < GARBAGE_SHOWN:
            self.garbage.append(text[:200])
        self.log.write("stdout", text)
        return self.spoke or self.garbled < GARBAGE_LIMIT

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keep what the server writes on stderr."""
        assert process.stderr is not None
        with contextlib.suppress(ConnectionError):
            while data := await process.stderr.read(CHUNK):
                self.log.feed(data)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """End the process: stdin closed, a grace, SIGTERM to its group, SIGKILL to all that carries its mark."""
        if not self.ended.is_set() and self._watched is not None and self._watched.deaf.is_set():
            # A message to it failed before its stdout was seen to end, which would have told why.
            await self._gone("it closed its stdin, though its process goes on, so it hears no more")
        self.stopping = True
        assert process.stdin is not None
        process.stdin.close()
        # A server that is stuck in writing doesn't see that its stdin has ended.
        draining = asyncio.create_task(_drain(process))
        # One that has lost its way to us doesn't see that its stdin has ended.
        patient = not hurry.is_set() and not self.fault
        if not await self._reap(GRACE_SECONDS if patient else HURRY_SECONDS):
            self.signal(signal.SIGTERM)
            await self._reap(TERM_SECONDS if not hurry.is_set() else HURRY_SECONDS)
        # Also after a clean exit: what it forked may be there still.
        self.signal(guardian.KILL)
        if hurry.is_set():
            # No thread can be started any more.
            guardian.kill_marked(self.mark)
        else:
            await asyncio.to_thread(guardian.kill_marked, self.mark)
        await self._reap(REAP_SECONDS)
        draining.cancel()
        tell_guardian(f"-{process.pid}")
        # Left to the collector it would warn, where others hold the pipes still.
        if self._transport is not None:
            self._transport.close()
        self.log.note(f"ended, {describe_exit(self.exit_code)}")

    def signal(self, number: int) -> None:
        """Signal the server's whole process group."""
        assert self._process is not None
        if not hasattr(os, "killpg"):
            # Windows: the process alone, at once.
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            return
        try:
            # The leader's pid is the group's, also when the leader has gone.
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            logger.warning("the MCP server's processes (group %d) can't be signalled", self._process.pid)

    async def _reap(self, seconds: float) -> bool:
        """Whether the process ended within the time."""
        assert self._watched is not None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._watched.exited.wait(), seconds)
        return self._watched.exited.is_set()


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError, RuntimeError):
        while await process.stdout.read(CHUNK):
            pass


@contextlib.asynccontextmanager
async def sdk_streams(config: StdioMCPConfig, log: ServerLog) -> AsyncIterator[Any]:
    """The SDK's own transport, where processes can't be grouped as ours does; its job object ends them all."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=find_command(config),
        args=config.args or [],
        env=config.env,
        cwd=folder_of(config),
        encoding_error_handler=config.encoding_error_handler,
    )
    log.begin(f"started: {config.describe()}")
    with Path(log.path or os.devnull).open("a", encoding="utf-8") as errlog:  # noqa: ASYNC230 - a local file
        async with stdio_client(parameters, errlog=errlog) as streams:
            yield streams


def describe_exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "still running"
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"
    return f"exit code {code}"
