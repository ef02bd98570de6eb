"""One call of a client: made in the server's thread, run by the host where its tools belong.

It promises one result, whatever happens in between; that the pipeline is the toolkit's; that a call which has not begun
can be taken back, and one that has is cancelled; and progress that only grows, as the protocol wants it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from nbtoolkit import hooks
from nbtoolkit.agents.serving import forms
from nbtoolkit.message import TextBlock, ToolCallBlock, ToolCallState, ToolResultState, new_id
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.schema.repair import parse_arguments
from nbtoolkit.tool.result import ToolResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    import mcp_types

    from nbtoolkit.permission.approval import Origin
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.result import ToolChunk
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["OwnThread", "Report", "Runner", "ServedCall"]

logger = logging.getLogger("nbtoolkit.serving")

# What a report says of the text that a tool streams.
MESSAGE_CHARS = 200

Report = tuple[float, float | None, str | None]


class Runner(Protocol):
    """Where calls run: a notebook's main thread, or the server's own."""

    def submit(self, call: ServedCall) -> None:
        """Have ``call.start`` called when its place is free; asked in the server's thread."""

    def why_busy(self) -> str:
        """What keeps a call from beginning, to end a sentence with."""


class ServedCall:
    """A call of the toolkit on behalf of a client."""

    def __init__(
        self,
        toolkit: Toolkit,
        name: str,
        text: str,
        state: AgentState,
        origin: Origin,
        alone: Callable[[], asyncio.Lock],
    ) -> None:
        self.origin = origin
        self.call = toolkit.call_tool(ToolCallBlock(id=new_id(), name=name, input=text), state)
        self.future: Future[mcp_types.CallToolResult] = Future()
        self._toolkit = toolkit
        self._state = state
        self._alone = alone
        self._waits_for_its_turn = self._cancelled = False
        self._lock = threading.Lock()
        self._report: Report | None = None
        self._characters = 0
        self._wake: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """The tool's name as the client wrote it."""
        return self.call.name

    @property
    def waits_for(self) -> str | None:
        """What the call waits for once it has begun; None while its tool works."""
        if self.call.block.state is ToolCallState.ASKING:
            return "waits for an answer in the notebook"
        if self._waits_for_its_turn:
            return "waits for another call, since the tool runs alone"
        return None

    def cancel(self) -> None:
        """Take the call back, or stop it, once; from any thread."""
        if not self.future.cancel() and not self._cancelled:
            # A second time would strike in the tool's clean-up.
            self._cancelled = True
            self.call.cancel()

    def hurry(self) -> None:
        """Stop it, whatever it is doing: a person has pressed Stop."""
        self._cancelled = True
        self.call.cancel()

    @property
    def has_begun(self) -> bool:
        """Whether it has left the queue."""
        return self.future.running() or self.future.done()

    def _begin(self) -> bool:
        with self._lock:
            return not self.has_begun and self.future.set_running_or_notify_cancel()

    # ------------------------------------------------------------------ where it runs
    def start(self, loop: asyncio.AbstractEventLoop, context: Context | None = None) -> bool:
        """Begin it as a task of this loop, in the loop's thread; False where it was taken back or has begun."""
        if not self._begin():
            return False

        def settle(task: asyncio.Task[mcp_types.CallToolResult]) -> None:
            if task.cancelled():  # before its first step
                self.future.set_result(self._ended(asyncio.CancelledError()))
            else:
                self.future.set_result(task.result())

        loop.create_task(self.work(), context=context).add_done_callback(settle)
        return True

    async def runs_unasked(self) -> bool:
        """Whether it would run beside others and ask nobody, as things stand."""
        tool = self._toolkit.find_now(self.name, self._state)
        if tool is None or not tool.is_concurrency_safe:
            return False
        try:
            arguments, _ = parse_arguments(self.name, self.call.block.input)
            judged = tool.validate_input(arguments)
            judgement = await self._toolkit.engine_for(self._state).judge(tool, judged.json)
        except Exception:  # noqa: BLE001 - the pipeline will say what is wrong, in its turn
            return False
        return judgement.decision.behavior is PermissionBehavior.ALLOW

    def run_through(self, drive: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        """Run it to its end in this thread, which waits for something else; a stop is raised once it is settled."""
        if not self._begin():
            return
        try:
            result = drive(self.work())
        except BaseException as raised:
            self.future.set_result(self._ended(raised))
            raise
        self.future.set_result(result)

    async def work(self) -> mcp_types.CallToolResult:
        """Run it to its result. Nothing goes up but what ends the loop's own task."""
        hooks.caller.set(self.origin)
        try:
            tool = self._toolkit.find_now(self.name, self._state)
            if tool is None:
                # Of a server, of the toolkit, or none at all: the pipeline says which.
                tool = await self._toolkit.get_tool(self.name)
            if tool is None or tool.is_concurrency_safe:
                response = await self._run()
            else:
                self._waits_for_its_turn = True
                async with self._alone():
                    self._waits_for_its_turn = False
                    response = await self._run()
        except BaseException as raised:  # noqa: BLE001 - above this stands the loop that the kernel lives in
            return self._ended(raised)
        return forms.to_result(response, self.call.tool)

    async def _run(self) -> ToolResponse:
        response: ToolResponse | None = None
        async for item in self.call:
            if isinstance(item, ToolResponse):
                response = item
            else:
                self._chunk(item)
        if response is None:
            raise RuntimeError(f"the call {self.name!r} gave no response")
        return response

    def _ended(self, raised: BaseException) -> mcp_types.CallToolResult:
        response = self.call.response
        if response is not None and response.state is not ToolResultState.RUNNING and response.content:
            return forms.to_result(response, self.call.tool)
        if isinstance(raised, asyncio.CancelledError | KeyboardInterrupt):
            return forms.error("The call was interrupted before it ended.", ToolResultState.INTERRUPTED)
        logger.warning("the call %r raised", self.name, exc_info=raised)
        return forms.error(f"The call could not be run: {type(raised).__name__}: {raised}")

    # ------------------------------------------------------------------ progress
    def on_report(self, wake: Callable[[], None]) -> None:
        """Have a function called, from whichever thread, when there is something new to report."""
        self._wake = wake

    def take_report(self) -> Report | None:
        """The newest report that nobody has taken yet."""
        with self._lock:
            report, self._report = self._report, None
        return report

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Note how far the tool is; only the newest note is kept."""
        with self._lock:
            self._report = (progress, total, message)
        if self._wake is not None:
            self._wake()

    def _chunk(self, chunk: ToolChunk) -> None:
        snapshot: Any = chunk.metadata.get("mcp_progress")
        if isinstance(snapshot, dict):
            number = snapshot.get("progress")
            if isinstance(number, int | float):
                self.report(number, snapshot.get("total"), snapshot.get("message"))
            return
        text = "".join(block.text for block in chunk.content if isinstance(block, TextBlock))
        if text and not chunk.is_last:
            self._characters += len(text)
            self.report(self._characters, None, text.strip().rpartition("\n")[2][:MESSAGE_CHARS] or None)


class OwnThread:
    """Runs calls in the server's own loop, for a script that has no thread to spare for them."""

    def submit(self, call: ServedCall) -> None:
        """Start it at once."""
        call.start(asyncio.get_running_loop())

    def why_busy(self) -> str:
        """Nothing does."""
        return "the server is busy"
