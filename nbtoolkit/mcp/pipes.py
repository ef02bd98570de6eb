"""A stdio server's two pipes as the SDK's pair of message streams; one message a line, the protocol is the SDK's."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from nbtoolkit.mcp.lines import Lines
from nbtoolkit.mcp.mending import mended

if TYPE_CHECKING:
    from nbtoolkit.mcp.process import ServerProcess

__all__ = ["LINE_LIMIT", "Incoming", "Outgoing"]

logger = logging.getLogger("nbtoolkit.mcp")

# One message may be this long; a server that writes more without a line's end isn't speaking MCP.
LINE_LIMIT = 64 * 1024 * 1024
# Some programs begin what they write with it.
BOM = b"\xef\xbb\xbf"
# After so many messages in a row the loop is given to others.
TURN = 16


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


class Incoming(_Stream):
    """The server's messages, one a line."""

    def __init__(self, server: ServerProcess, process: asyncio.subprocess.Process) -> None:
        super().__init__(server, process)
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        self.taken = 0
        self._lines = Lines()
        # Messages that came otherwise than one a line.
        self._waiting: deque[bytes] = deque()
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
                self._spoke()
                continue
            try:
                message = self._validate(text, by_name=False)
            except ValueError as fault:
                whole = self._lines.whole(line)
                if whole is not None:
                    self._waiting.extend(whole)
                    continue
                other = mended(text, fault)
                if other is not None and (message := self._instead(other)) is not None:
                    if message is not other:
                        return self._understood(message)
                    continue
                # What began as a message over several lines is none either.
                if not all(self.server.note_garbage(each) for each in self._lines.drop() or [line]):
                    self.server.stopping = True
                    self.server.signal(signal.SIGTERM)
                    break
                continue
            self._spoke()
            return self._understood(message)
        await self.server.over()
        if calls is not None:
            calls.close()
        raise StopAsyncIteration

    def _spoke(self) -> None:
        self.server.spoke = True
        if self._lines.held:
            # What seemed to begin as a message over several lines was none.
            for line in self._lines.drop():
                self.server.note_garbage(line)

    def _understood(self, message: Any) -> Any:
        """A message as the SDK takes it; of an answer its meaning."""
        asked, calls = self.server.asked, self.server.calls
        result, number = getattr(message, "result", None), getattr(message, "id", None)
        if type(result) is dict:
            message.result = self.server.meaning.of(result)
        elif (error := getattr(message, "error", None)) is not None and number is None:
            asked.refused(error.model_dump(), calls.waiting() if calls is not None else set())
        if number is not None and not hasattr(message, "method"):
            asked.answered(number)
        return self._wrap(message)

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
        asked, calls = self.server.asked, self.server.calls
        if asked.refusals:
            self._waiting.extend(asked.answers(calls.waiting() if calls is not None else set()))
        if self._waiting:
            return self._waiting.popleft()
        try:
            line = await self.stdout.readline()
            return line.removeprefix(BOM)
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


class Outgoing(_Stream):
    """Our messages to the server."""

    async def send(self, item: Any, /) -> None:
        """Write one message; BrokenResourceError when the server takes none any more."""
        import anyio

        if self.closed:
            raise anyio.ClosedResourceError
        message = item.message
        self.server.asked.sent(message)
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
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
