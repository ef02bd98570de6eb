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
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nbtoolkit.mcp import guardian
from nbtoolkit.mcp.calls import Calls
from nbtoolkit.mcp.mending import mended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nbtoolkit.mcp.config import StdioMCPConfig
    from nbtoolkit.mcp.logs import ServerLog

__all__ = ["ServerProcess", "find_command", "sdk_streams"]

logger = logging.getLogger("nbtoolkit.mcp")

# One message may be this long; a server that writes more without a line's end isn't speaking MCP.
LINE_LIMIT = 64 * 1024 * 1024
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
# After so many messages in a row the loop is given to others.
TURN = 16
CHUNK = 65536

_number = itertools.count(1)

# Set when the process is about to end.
hurry = threading.Event()


class _Watched(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells of the process's exit at once: its pipes may be held open by what it has forked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=LINE_LIMIT, loop=loop)
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

    def __init__(self, config: StdioMCPConfig, log: ServerLog) -> None:
        self.config = config
        self.log = log
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
            outgoing = _Outgoing(self, process)
            self.calls = Calls(outgoing.write, outgoing.write_now)
            yield _Incoming(self, process), outgoing
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
                    self.signal(signal.SIGKILL)
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
            cwd=_folder(self.config),
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
        self.died = await self._reap(REAP_SECONDS) and not self.stopping
        if not self.died and not self.stopping:
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
        self.signal(signal.SIGKILL)
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
        cwd=_folder(config),
        encoding_error_handler=config.encoding_error_handler,
    )
    log.begin(f"started: {config.describe()}")
    with Path(log.path or os.devnull).open("a", encoding="utf-8") as errlog:  # noqa: ASYNC230 - a local file
        async with stdio_client(parameters, errlog=errlog) as streams:
            yield streams


class _Stream:
    """What the SDK's two stream protocols have in common."""

    def __init__(self, server: ServerProcess, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.server = server
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.closed = False

    async def aclose(self) -> None:
        """Take or give no more; the process itself is ended by its owner."""
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Incoming(_Stream):
    """The server's messages, one a line."""

    def __init__(self, server: ServerProcess, process: asyncio.subprocess.Process) -> None:
        super().__init__(server, process)
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        self.taken = 0
        self._validate = jsonrpc_message_adapter.validate_json
        self._validate_object = jsonrpc_message_adapter.validate_python
        self._wrap = SessionMessage

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        errors, calls = self.server.config.encoding_error_handler, self.server.calls
        while line := await self._line():
            self.taken += 1
            if self.taken % TURN == 0:
                # Lines that are there already are read without a pause; others want the loop too.
                await asyncio.sleep(0)
            # Bytes are parsed as they are; only a lenient reading has to decode first.
            text: Any = line if errors == "strict" else line.decode("utf-8", errors)
            if calls is not None and calls.pending and calls.take(text):
                self.server.spoke = True
                continue
            try:
                message = self._validate(text, by_name=False)
            except ValueError as fault:
                other = mended(text, fault)
                if other is not None and (message := self._instead(other)) is not None:
                    if message is not other:
                        return self._wrap(message)
                    continue
                if not self.server.note_garbage(line):
                    self.server.stopping = True
                    self.server.signal(signal.SIGTERM)
                    break
                continue
            self.server.spoke = True
            return self._wrap(message)
        await self.server.over()
        if calls is not None:
            calls.close()
        raise StopAsyncIteration

    def _instead(self, other: dict[str, Any]) -> Any:
        """The message as the SDK takes it; ``other`` itself where it was one of our calls'; None where it is none."""
        if "error" in other:
            self.server.log.write("protocol", str(other["error"].get("message")))
        self.server.spoke = True
        calls = self.server.calls
        if calls is not None and calls.take_message(other):
            return other
        try:
            return self._validate_object(other, by_name=False)
        except ValueError:
            return None

    async def _line(self) -> bytes:
        try:
            return await self.stdout.readline()
        except ValueError:
            self.server.fault = f"a message was longer than {LINE_LIMIT // 1024**2} MiB"
            self.server.log.write("protocol", self.server.fault)
        except ConnectionError:
            logger.debug("the server's stdout broke", exc_info=True)
        return b""

    async def receive(self) -> Any:
        """The next message; EndOfStream when there is none any more."""
        import anyio

        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _Outgoing(_Stream):
    """Our messages to the server."""

    async def send(self, item: Any, /) -> None:
        """Write one message; BrokenResourceError when the server takes none any more."""
        import anyio

        if self.closed:
            raise anyio.ClosedResourceError
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self.write(text.encode("utf-8", self.server.config.encoding_error_handler) + b"\n")
        except (ConnectionError, RuntimeError) as error:
            raise anyio.BrokenResourceError from error

    async def write(self, line: bytes) -> None:
        """Write a line, and wait where the server is slow to read; ConnectionError when it takes none any more."""
        self.write_now(line)
        await self.stdin.drain()
        if self.stdin.is_closing():
            # It was lost with this line.
            raise ConnectionResetError

    def write_now(self, line: bytes) -> None:
        """Write a line."""
        if self.stdin.is_closing():
            raise ConnectionResetError
        self.stdin.write(line)


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


def _folder(config: StdioMCPConfig) -> Path | None:
    return None if config.cwd is None else Path(config.cwd).expanduser()


def find_command(config: StdioMCPConfig) -> str:
    """The program to start; FileNotFoundError names what is near.

    Looked for on PATH, then beside the kernel's own interpreter: what ``%pip install`` brought lies there, and that
    folder is often not on the PATH of a kernel.
    """
    if (folder := _folder(config)) is not None and not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {str(config.cwd)!r} to start it in")
    if config.command.startswith("~"):
        config = config.model_copy(update={"command": str(Path(config.command).expanduser())})
    path = (config.env or {}).get("PATH", os.environ.get("PATH", os.defpath))
    beside = str(Path(sys.executable).parent)
    if folder is not None and os.sep in config.command and not Path(config.command).is_absolute():
        return str(folder / config.command)
    found = shutil.which(config.command, path=path) or shutil.which(config.command, path=beside)
    if found is None and Path(config.command).is_file():
        raise PermissionError(f"{config.command!r} is a file, but no program that may be run")
    if found is None:
        raise FileNotFoundError(_not_found(config.command, [*path.split(os.pathsep), beside]))
    return found


# A host with a port, or one with a path behind it.
_ADDRESS = re.compile(r"[\w-]+(\.[\w-]+)*(:\d+)(/|$)|[\w-]+(\.[\w-]+)*\.[a-z]{2,}/")


def _not_found(command: str, folders: list[str]) -> str:
    import difflib

    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names.update(entry.name for entry in Path(folder).iterdir())
    near = difflib.get_close_matches(command, names, n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if _ADDRESS.match(command):
        hint = " The address of a server begins with http:// or https://."
    return f"there is no program {command!r} on PATH or beside {Path(sys.executable).name!r}.{hint}"


# --------------------------------------------------------------------------------------------------- the guardian
_guard_lock = threading.Lock()
_guard: subprocess.Popen[bytes] | None = None
_guard_pid = 0


def ensure_guardian() -> None:
    """Start the guardian of this process's servers, and end those that a dead kernel left behind."""
    global _guard, _guard_pid
    with _guard_lock:
        if _guard is not None and _guard_pid == os.getpid() and _guard.poll() is None:
            return
        guardian.sweep()
        environment = {name: value for name, value in os.environ.items() if name != guardian.MARK}
        _guard = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", guardian.__file__, str(os.getpid()), guardian.owner_mark()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        _guard_pid = os.getpid()


def dismiss_guardian() -> None:
    """At the end of the process: whatever is left now is the guardian's, which leaves at once where nothing is."""
    global _guard
    guard, _guard = _guard, None
    if guard is None or _guard_pid != os.getpid() or guard.stdin is None:
        return
    with contextlib.suppress(OSError):
        guard.stdin.close()
    # Python warns of a child that nobody has waited for.
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(HURRY_SECONDS)


def tell_guardian(line: str) -> None:
    """Tell it of a process group; one that has gone is made anew when the next server starts."""
    if _guard is None or _guard.stdin is None:
        return
    with contextlib.suppress(OSError, ValueError):
        _guard.stdin.write(f"{line}\n".encode())
        _guard.stdin.flush()
