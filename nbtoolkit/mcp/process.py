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
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.mcp import guardian

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nbtoolkit.mcp.config import StdioMCPConfig
    from nbtoolkit.mcp.logs import ServerLog

__all__ = ["ServerProcess", "find_command"]

logger = logging.getLogger("nbtoolkit.mcp")

# One message may be this long; a server that writes more without a line's end isn't speaking MCP.
LINE_LIMIT = 64 * 1024 * 1024
# Lines that aren't messages, before any message: banners are common, a program that isn't a server writes on and on.
GARBAGE_LIMIT = 500
# After its stdin ended a server may finish what it does; after SIGTERM it may clean up.
GRACE_SECONDS = 2.0
TERM_SECONDS = 1.5
# After the end of its stdout, the exit code should be there at once.
REAP_SECONDS = 1.0
POLL_SECONDS = 0.02

_number = itertools.count(1)


class ServerProcess:
    """One run of a server; ``streams()`` is entered by the SDK's client and left when the session ends."""

    def __init__(self, config: StdioMCPConfig, log: ServerLog) -> None:
        self.config = config
        self.log = log
        self.mark = f"{guardian.owner_mark()}#{next(_number)}"
        self.process: asyncio.subprocess.Process | None = None
        self.garbage: list[str] = []
        self.garbled = 0
        self.spoke = False
        # It left by itself, before anybody asked it to.
        self.died = False
        self._stopping = False
        self.ended = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The process's id, once it was started."""
        return self.process.pid if self.process is not None else None

    @property
    def exit_code(self) -> int | None:
        """Its exit code; negative for the signal that ended it; None while it runs."""
        return self.process.returncode if self.process is not None else None

    @contextlib.asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Start the process and give the SDK's pair of message streams."""
        import anyio
        from mcp.shared.message import SessionMessage

        await self._start()
        to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](64)
        outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](64)
        tasks = [
            asyncio.create_task(self._read(to_session)),
            asyncio.create_task(self._write(from_session)),
            asyncio.create_task(self._listen()),
        ]
        try:
            yield incoming, outgoing
        finally:
            # Ending must come to its end also when the session was cancelled.
            ending = asyncio.ensure_future(self._stop())
            try:
                await asyncio.shield(ending)
            finally:
                if not ending.done():
                    ending.cancel()
                    self._signal(signal.SIGKILL)
                for task in tasks:
                    task.cancel()
                for stream in (to_session, incoming, outgoing, from_session):
                    stream.close()

    async def _start(self) -> None:
        command = find_command(self.config)
        ensure_guardian()
        from mcp.client.stdio import get_default_environment

        environment = get_default_environment() | (self.config.env or {}) | {guardian.MARK: self.mark}
        self.process = await asyncio.create_subprocess_exec(
            command,
            *(self.config.args or ()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.config.cwd,
            env=environment,
            limit=LINE_LIMIT,
            start_new_session=True,
        )
        tell_guardian(f"+{self.process.pid}")
        self.log.begin(f"started, pid {self.process.pid}: {self.config.describe()}")

    async def _read(self, to_session: Any) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        assert self.process is not None
        assert self.process.stdout is not None
        errors = self.config.encoding_error_handler
        try:
            while line := await self.process.stdout.readline():
                try:
                    # Bytes are parsed as they are; only a lenient reading has to decode first.
                    text: Any = line if errors == "strict" else line.decode("utf-8", errors)
                    message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValueError:
                    if not self._note_garbage(line):
                        self._stopping = True
                        self._signal(signal.SIGTERM)
                        break
                    # Lines that are there already are read without a pause; others want the loop too.
                    await asyncio.sleep(0)
                    continue
                self.spoke = True
                await to_session.send(SessionMessage(message))
        except ValueError:
            self._note_garbage(b"(a line of more than %d bytes)" % LINE_LIMIT)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            logger.debug("the session closed before its server's stdout", exc_info=True)
        finally:
            if not self._stopping:
                self.died = await self._reap(REAP_SECONDS) and not self._stopping
            self.ended.set()
            # The session sees the end and fails every call under way.
            to_session.close()
        # A server that is stuck in writing doesn't see that its stdin has ended.
        with contextlib.suppress(ConnectionError, ValueError):
            while await self.process.stdout.read(65536):
                pass

    def _note_garbage(self, line: bytes) -> bool:
        """Keep what isn't a message; False when this can't be a server."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text.strip():
            return True
        self.garbled += 1
        if len(self.garbage) < 5:
            self.garbage.append(text[:200])
        self.log.write("stdout", text[:2000])
        return self.spoke or self.garbled < GARBAGE_LIMIT

    async def _write(self, from_session: Any) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        errors = self.config.encoding_error_handler
        try:
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                self.process.stdin.write(text.encode("utf-8", errors) + b"\n")
                await self.process.stdin.drain()
        except (ConnectionError, RuntimeError):
            logger.debug("the server closed its stdin", exc_info=True)
            from_session.close()

    async def _listen(self) -> None:
        """Keep what the server writes on stderr."""
        assert self.process is not None
        assert self.process.stderr is not None
        with contextlib.suppress(ConnectionError):
            while data := await self.process.stderr.read(65536):
                self.log.feed(data)

    async def _stop(self) -> None:
        """End the process: stdin closed, a grace, SIGTERM to its group, SIGKILL to all that carries its mark."""
        assert self.process is not None
        self._stopping = True
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not await self._reap(GRACE_SECONDS if self.exit_code is None else 0.0):
            self._signal(signal.SIGTERM)
            await self._reap(TERM_SECONDS)
        # Also after a clean exit: what it forked may be there still.
        self._signal(signal.SIGKILL)
        if sys.platform == "linux":
            await asyncio.to_thread(guardian.kill_marked, self.mark)
        await self._reap(REAP_SECONDS)
        tell_guardian(f"-{self.process.pid}")
        self.log.note(f"ended, {describe_exit(self.exit_code)}")

    def _signal(self, number: int) -> None:
        assert self.process is not None
        try:
            # The leader's pid is the group's, also when the leader has gone.
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            logger.warning("the MCP server's processes (group %d) can't be signalled", self.process.pid)

    async def _reap(self, seconds: float) -> bool:
        """Whether the process ended within the time; its pipes may be held open by others still."""
        assert self.process is not None
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self.process.returncode is None:
            if loop.time() >= until:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True


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


def find_command(config: StdioMCPConfig) -> str:
    """The program to start; FileNotFoundError names what is near.

    Looked for on PATH, then beside the kernel's own interpreter: what ``%pip install`` brought lies there, and that
    folder is often not on the PATH of a kernel.
    """
    path = (config.env or {}).get("PATH", os.environ.get("PATH", os.defpath))
    beside = str(Path(sys.executable).parent)
    if config.cwd is not None and os.sep in config.command and not Path(config.command).is_absolute():
        return str(Path(config.cwd) / config.command)
    found = shutil.which(config.command, path=path) or shutil.which(config.command, path=beside)
    if found is None:
        raise FileNotFoundError(_not_found(config.command, [*path.split(os.pathsep), beside]))
    return found


def _not_found(command: str, folders: list[str]) -> str:
    import difflib

    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names.update(entry.name for entry in Path(folder).iterdir())
    near = difflib.get_close_matches(command, names, n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
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


def tell_guardian(line: str) -> None:
    """Tell it of a process group; one that has gone is made anew when the next server starts."""
    if _guard is None or _guard.stdin is None:
        return
    with contextlib.suppress(OSError, ValueError):
        _guard.stdin.write(f"{line}\n".encode())
        _guard.stdin.flush()
