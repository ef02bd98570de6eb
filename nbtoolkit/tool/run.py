"""One call, from look-up to log: the only way that a tool runs for an agent.

look up → parse and repair → validate → judge → ask if need be → middlewares → the tool's stream → one response → log.
What a model or a person can mend is a result; what a programmer must mend raises; an interrupt or a cancellation is
recorded and goes on up. Every step of that order stands here, or for the permission in ``permit``, once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.exception import (
    AgentOrientedException,
    CassetteError,
    DeveloperOrientedException,
)
from nbtoolkit.message import TextBlock, ToolCallBlock, ToolCallState, ToolResultState, new_id, now
from nbtoolkit.schema.repair import parse_arguments
from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import open_stream
from nbtoolkit.tool.content import clean, cut, plain_text
from nbtoolkit.tool.failure import own_lines
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.log import LogEntry
from nbtoolkit.tool.opening import injected, opened
from nbtoolkit.tool.permit import RefusedCall, permit
from nbtoolkit.tool.progress import current_call
from nbtoolkit.tool.reporting import CallReports, stopped
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.stopping import Interrupted, Stoppable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator

    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver, Origin
    from nbtoolkit.permission.engine import Judgement
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.base import ChunkStream, ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["ToolCall", "new_call"]

logger = logging.getLogger("nbtoolkit")


class ToolCall(Stoppable):
    """A call under way: await it for the ToolResponse, or iterate for its chunks and the ToolResponse at the end.

    It runs once; ``cancel`` stops it from any thread and leaves its response ``interrupted``.
    """

    # Held by the class until a call has its own, since a call needs few of them.
    tool: ToolBase | None = None
    judgement: Judgement | None = None
    request: ApprovalRequest | None = None
    approval: Approval | None = None
    entry: LogEntry | None = None
    response: ToolResponse | None = None
    origin: Origin | None = None
    place: Any = None
    judged: Arguments | None = None
    # What the block's text holds, and what is allowed; they differ where the arguments were changed on the way.
    _sent: Arguments | None = None
    _allowed: Arguments | None = None
    _running = False
    _began = 0.0
    _logged = False
    _told = 0
    _reports: CallReports | None = None

    def __init__(
        self,
        toolkit: Toolkit,
        block: ToolCallBlock,
        state: AgentState | None = None,
        approver: Approver | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        self.toolkit = toolkit
        self.block = block
        if state is not None and not isinstance(state, AgentState):
            raise TypeError(f"state must be an AgentState, but is {state!r}; a conversation's permissions are in it")
        self.state = toolkit.state if state is None else state
        self.approver = approver
        # Given as an object by the programmer, else parsed from the block's raw text.
        self.arguments = arguments

    def __repr__(self) -> str:
        if self.response is None:
            return f"<call of {self.name}, not started: await it (a task takes .complete()), or use toolkit.call_sync>"
        ended = self.response.state is not ToolResultState.RUNNING
        return f"<call of {self.name}, {self.response.state.value if ended else 'under way'}>"

    @property
    def id(self) -> str:
        """The id of call and response."""
        return self.block.id

    @property
    def name(self) -> str:
        """The tool's name as it was called."""
        return self.block.name

    @property
    def tool_input(self) -> dict[str, Any]:
        """The validated arguments; what came in, before that."""
        if self.judged is not None:
            return self.judged.json
        return self.arguments if self.arguments is not None else {}

    def report(self, snapshot: dict[str, Any]) -> None:
        """Take a function's own report from any thread; ToolInterruptedError where it shall end."""
        if self._stopped or self.response is None or self.response.state is not ToolResultState.RUNNING:
            raise stopped(self.name)
        if self._reports is None:
            self._reports = CallReports(self, self._loop)
        self._reports.take(snapshot)

    def __await__(self) -> Generator[Any, None, ToolResponse]:
        return self.complete().__await__()

    def __aiter__(self) -> AsyncIterator[ToolChunk | ToolResponse]:
        return self._iterate()

    # ------------------------------------------------------------------ the two ways to consume it
    async def complete(self) -> ToolResponse:
        """Run to the end: what awaiting the call does, as a coroutine that a task can take."""
        __tracebackhide__ = True
        response, entry = self._begin()
        # What it is where even the telling of its end is interrupted.
        ended = ToolResultState.INTERRUPTED
        try:
            try:
                await self._prepare(entry)
                await self._run(response, entry)
                # Nearly always nobody cancelled it, and this costs less than a call.
                if self._task is not None and self._task.cancelling():
                    self.go_on()
            except BaseException as error:  # noqa: BLE001 - _fail sends on what isn't a result
                self._fail(error, response)
            ended = ToolResultState.SUCCESS
        finally:
            self._end(response, entry, ended)
        return response

    async def _iterate(self) -> AsyncGenerator[ToolChunk | ToolResponse, None]:
        response, entry = self._begin()
        # What it is where even the telling of its end is interrupted.
        ended = ToolResultState.INTERRUPTED
        try:
            try:
                await self._prepare(entry)
                stream = self._open(entry)
                try:
                    async for chunk in stream:
                        self._take(chunk, response)
                        if self._task is not None and self._task.cancelling() > self._before:
                            # The last words of a tool that is cancelled: the consumer gets the cancellation itself.
                            continue
                        self._given_out = True
                        yield chunk
                        self._given_out = False
                        if self._stopped:
                            raise asyncio.CancelledError
                finally:
                    self._given_out = False
                    await stream.aclose()
                self.go_on()
            except BaseException as error:  # noqa: BLE001 - _fail sends on what isn't a result
                failed = self._fail(error, response)
                yield failed
            ended = ToolResultState.SUCCESS
        finally:
            self._end(response, entry, ended)
        yield response

    def _begin(self) -> tuple[ToolResponse, LogEntry]:
        if self.response is not None:
            raise DeveloperOrientedException(
                f"the call {self.name!r} has run already; make a new one with toolkit.call_tool"
            )
        self.origin = hooks.caller.get() or hooks.origin()
        self.place = hooks.place()
        self.can_stop()
        # Read from the model's own dict, here and below: pydantic makes each other way many times slower.
        block = self.block.__dict__
        self.response = response = ToolResponse.begun(block["id"])
        self.entry = entry = LogEntry(
            self.toolkit.log.next_number(),
            block["id"],
            block["name"],
            "",
            {} if self.arguments is None else self.arguments,
            self.origin,
            now(),
        )
        self._began = time.perf_counter()
        return response, entry

    # ------------------------------------------------------------------ up to the permission
    async def _prepare(self, entry: LogEntry) -> None:
        __tracebackhide__ = True
        if self._stopped:
            raise asyncio.CancelledError
        name, state = entry.tool, self.state
        tool = self.toolkit.find_now(name, state)
        if tool is None:
            tool = await self.toolkit.find(name, state)
        self.tool = tool
        entry.origin = tool.origin
        arguments = self.arguments
        mended: tuple[str, ...] = ()
        if arguments is None:
            arguments, mended = parse_arguments(name, self.block.__dict__["input"])
            entry.tool_input = arguments
        judged = self._sent = tool.validate_input(arguments)
        entry.mended = mended + judged.mended if mended or judged.mended else ()
        self._allowed = await permit(self, tool, judged, entry)
        if self.toolkit.log.journal is not None:
            self.toolkit.log.journal.allowed(entry)
        self._running = True
        self.mark(ToolCallState.ALLOWED)
        for observer in hooks.observers:
            _tell(observer.started, self)

    # ------------------------------------------------------------------ the run
    async def _run(self, response: ToolResponse, entry: LogEntry) -> None:
        __tracebackhide__ = True
        tool, judged = self.tool, self._allowed
        usual = judged is not None and self.toolkit.tape is None
        if usual and type(tool) is FunctionTool and tool.is_concurrency_safe and not tool.middlewares:
            assert judged is not None
            # A function with nothing around it: the usual call, without the cost of a stream.
            token = current_call.set(self)
            try:
                value = await tool.value(judged, injected(self, tool))
                # Nobody looks at its one chunk, so none is made.
                text = None if hooks.observers else plain_text(value, tool.max_result_chars)
                if type(text) is str:
                    response.take_text(text, value)
                    return
                got = tool.told(value)
            finally:
                current_call.reset(token)
            if isinstance(got, ToolChunk):
                self._take(got, response)
                return
            stream = open_stream(got)
        else:
            stream = self._open(entry)
        try:
            async for chunk in stream:
                self._take(chunk, response)
        finally:
            await stream.aclose()

    def _open(self, entry: LogEntry) -> ChunkStream:
        if self.tool is None or self._allowed is None:
            raise DeveloperOrientedException("a call was opened before it was allowed")
        return opened(self, self.tool, self._allowed, entry)

    def _take(self, chunk: ToolChunk, response: ToolResponse) -> None:
        response.append_chunk(chunk)
        for observer in hooks.observers:
            _tell(observer.chunk, self, chunk)
        if self._stopped and not chunk.is_last:
            # A tool that never lets the loop run is stopped between two chunks.
            raise asyncio.CancelledError

    # ------------------------------------------------------------------ the end
    def _fail(self, error: BaseException, response: ToolResponse) -> ToolChunk:
        """The chunk that tells of the error; one that isn't a result goes on up, once it is in the response."""
        __tracebackhide__ = True
        if isinstance(error, RefusedCall):
            chunk = error.chunk
        elif isinstance(error, KeyboardInterrupt | GeneratorExit) or self.is_stop(error):
            text = _below(response, "The call was interrupted before it ended.")
            chunk = ToolChunk.of(text, ToolResultState.INTERRUPTED)
        elif isinstance(error, AgentOrientedException):
            chunk = ToolChunk.of(_below(response, str(error)), ToolResultState.ERROR)
        else:
            chunk = ToolChunk.of(_below(response, clean(cut(own_lines(error)))), ToolResultState.ERROR)
        response.append_chunk(chunk)
        if isinstance(error, KeyboardInterrupt | GeneratorExit):
            raise error
        if isinstance(error, asyncio.CancelledError):
            # Its own Stop is none from outside: whoever awaits the call goes on.
            if self.is_stop(error) and self.is_from_outside(error):
                if isinstance(error, Interrupted):
                    raise asyncio.CancelledError from None
                raise error
            self.take_back()
            return chunk
        # What a tool raises, even to leave the process, is its result; what this pipeline raises is the programmer's.
        # A cassette that doesn't fit is the programmer's wherever it is met.
        if isinstance(error, DeveloperOrientedException) and (not self._running or isinstance(error, CassetteError)):
            raise error
        return chunk

    def _end(self, response: ToolResponse, entry: LogEntry, ended: ToolResultState) -> None:
        try:
            self._record(response, entry, ended)
        except BaseException:
            # An interrupt just now must leave no call that is said to run, and none that the log doesn't hold.
            self._record(response, entry, ended, again=True)
            raise

    def _record(self, response: ToolResponse, entry: LogEntry, ended: ToolResultState, *, again: bool = False) -> None:
        """What is known of the call when it has ended; twice does no harm."""
        response.finish(ended)
        if self._reports is not None:
            self._reports.end()
        self.mark(ToolCallState.FINISHED)
        self.stops_no_more()
        entry.seconds = time.perf_counter() - self._began
        own = response.__dict__
        entry.state = own["state"]
        entry.size = response.size
        value, toolkit = own.get("_value"), self.toolkit
        if value is not None:
            toolkit.results.keep(entry.number, value)
        if not self._logged:
            # Measuring the arguments would cost more than the log does.
            as_sent = self.arguments is None and self.judged is self._sent
            toolkit.log.append(entry, chars=len(self.block.__dict__["input"]) if as_sent else None, again=again)
            self._logged = True
        if hooks.observers:
            for observer in hooks.observers[self._told :]:
                self._told += 1
                _tell(observer.ended, self, entry, response)

    def mark(self, state: ToolCallState) -> None:
        """Note how far the call has come."""
        # No validation of what is valid: pydantic's assignment would cost as much as the permission's whole judgement.
        self.block.__dict__["state"] = state


def new_call(name: str, text: str = "{}") -> ToolCallBlock:
    """A call block for the programmer's own call."""
    return ToolCallBlock(id=new_id(), name=name, input=text)


def _below(response: ToolResponse, text: str) -> str:
    """The text on a line of its own, below what the tool had given before."""
    last = response.content[-1] if response.content else None
    return f"\n{text}" if isinstance(last, TextBlock) and last.text and not last.text.endswith("\n") else text


def _tell(method: Any, *args: Any) -> None:
    try:
        method(*args)
    except Exception:
        logger.warning("an observer of tool calls failed", exc_info=True)
