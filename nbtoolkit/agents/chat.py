"""toolkit.chat: a small loop over the dialects, with streaming, inline approvals, stop and a budget.

A convenience, not a framework: for anything larger take an agent library and the adapter for it. The history is plain
messages of the provider's own form and always fit to go on from: every call in it has its result, whatever ended it.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from nbtoolkit import hooks
from nbtoolkit.agents.budget import MAX_CALLS, Budget, Spent, Stopped
from nbtoolkit.agents.endpoints import endpoint_for
from nbtoolkit.agents.running import agent, blocks_of
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import TextBlock, ToolResultState
from nbtoolkit.tool.result import ToolResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.agents.dialects.base import WireCall
    from nbtoolkit.agents.endpoints import Endpoint
    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.tool.run import ToolCall
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Answer", "ChatView", "Conversation"]

SPENT = {
    "calls": "the budget of {0.max_calls} calls was used up",
    "seconds": "the budget of {0.max_seconds:g} seconds was used up",
    "tokens": "the budget of {0.max_tokens} tokens was used up",
    "length": "the reply was cut at its longest",
    "stopped": "stopped by you",
}


class ChatView(Protocol):
    """Shows a conversation as it goes; records of calls are shown by whoever shows all calls."""

    def opened(self, stop: Callable[[], None]) -> None:
        """A prompt was sent; ``stop`` ends it, from any thread."""

    def asking(self, model: str) -> None:
        """A request goes out to that model."""

    def text(self, piece: str) -> None:
        """The model said more."""

    def paused(self) -> None:
        """The request is over: it has said this much, or nothing; calls follow, or the end."""

    def closed(self, note: str) -> None:
        """It is over; ``note`` says what ended it where that wasn't the model."""


class Printed:
    """A script's view: the text as it comes."""

    def __init__(self) -> None:
        self._open = False

    def opened(self, stop: Callable[[], None]) -> None:
        """Nothing to show yet."""

    def asking(self, model: str) -> None:
        """Nothing to show yet."""

    def text(self, piece: str) -> None:
        """Print it."""
        self._open = not piece.endswith("\n")
        print(piece, end="", flush=True)  # noqa: T201 - what it is for

    def paused(self) -> None:
        """End the line."""
        if self._open:
            print()  # noqa: T201
        self._open = False

    def closed(self, note: str) -> None:
        """Say what ended it."""
        if note:
            print(f"[{note}]")  # noqa: T201


@dataclass(frozen=True)
class Answer:
    """What came of a prompt: the model's last words, what ended it, and what it cost.

    ``tokens`` are as the server counts them, estimated at four characters each where it doesn't.
    """

    text: str
    stopped: Stopped
    calls: int
    tokens: int
    seconds: float = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def _ipython_display_(self) -> None:
        """Show nothing: it was shown as it came."""


class Conversation:
    """One conversation with a model that has the toolkit's tools; ``await`` what it gives for a prompt.

    ``history`` is the list of plain messages, yours to read, save, cut and set; ``reset`` empties it. ``model`` and
    ``system`` are kept from prompt to prompt.
    """

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self.history: list[Any] = []
        self.model: str | None = None
        self.system = ""
        self._endpoint: dict[str, Any] = {}
        self._dialect: str | None = None
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    def __repr__(self) -> str:
        return f"<conversation of {len(self.history)} messages with {self.model or 'no model yet'}>"

    def reset(self) -> None:
        """Begin anew; the model and the system prompt stay."""
        self.history.clear()
        self._dialect = None

    def stop(self) -> None:
        """End the prompt that is under way, from any thread; it gives its answer so far."""
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            self._stopped = True
            loop.call_soon_threadsafe(task.cancel)

    async def __call__(
        self,
        prompt: str,
        *,
        model: str | None = None,
        system: str | None = None,
        calls: int | None = MAX_CALLS,
        seconds: float | None = None,
        tokens: int | None = None,
        provider: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        approver: Approver | None = None,
        view: ChatView | None = None,
    ) -> Answer:
        """Send a prompt, run the calls that the model makes until it makes none, and give its answer.

        ``model`` by argument, else the last one's, else the environment's NBTOOLKIT_MODEL. ``calls``, ``seconds`` and
        ``tokens`` are the budget. ``provider`` is "openai" (also for what speaks like it) or "anthropic", guessed from
        the name without it; ``base_url`` and ``api_key`` are the SDKs', as are their environment variables; ``client``
        is an AsyncOpenAI or AsyncAnthropic of your own. What the endpoint refuses is raised as its SDK raises it.
        """
        if self._task is not None:
            raise DeveloperOrientedException("this conversation is busy with a prompt; await it, or stop() it first")
        name = model or self.model or os.environ.get("NBTOOLKIT_MODEL")
        if not name:
            raise DeveloperOrientedException("no model is named: pass model='…', or set NBTOOLKIT_MODEL")
        given = {"provider": provider, "base_url": base_url, "api_key": api_key, "client": client}
        if any(value is not None for value in given.values()) or model is not None:
            self._endpoint = given
        endpoint = endpoint_for(name, **self._endpoint)
        if self.history and self._dialect not in {None, endpoint.dialect.name}:
            raise DeveloperOrientedException(
                f"the history is written in the form of {self._dialect!r}, which {name!r} doesn't read; reset() it first"
            )
        self.model, self._dialect = name, endpoint.dialect.name
        if system is not None:
            self.system = system
        shown = view or (hooks.chat_view() if hooks.chat_view is not None else Printed())
        budget = Budget(calls, seconds, tokens)
        self._loop, self._task, self._stopped = asyncio.get_running_loop(), asyncio.current_task(), False
        note = ""
        before = len(self.history)
        shown.opened(self.stop)
        try:
            self.history.append({"role": "user", "content": prompt})
            stopped = await self._rounds(endpoint, budget, approver, shown)
            note = SPENT.get(stopped, "").format(budget)
            return Answer(self._last_words(before), stopped, budget.calls, budget.tokens, budget.seconds)
        except BaseException:
            if len(self.history) == before + 1:
                # Nothing came of it: asking again must not find the question twice.
                self.history.pop()
            raise
        finally:
            shown.closed(note)
            self._task = self._loop = None
            await endpoint.close()

    async def _rounds(self, endpoint: Endpoint, budget: Budget, approver: Approver | None, view: ChatView) -> Stopped:
        try:
            while True:
                spent = budget.spent()
                if spent is not None:
                    return spent
                reply = await self._reply(endpoint, budget, view)
                dialect = endpoint.dialect
                found = [dialect.read(item) for item in dialect.items(reply) or ()]
                if found or endpoint_said(dialect.said(reply)):
                    self.history += dialect.said(reply)
                if not found:
                    return "length" if endpoint.was_cut(reply) else "done"
                if await self._run(found, endpoint, budget, approver):
                    return "calls"
        except Spent:
            return "seconds"
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stopped or task is None:
                raise
            task.uncancel()
            return "stopped"

    async def _reply(self, endpoint: Endpoint, budget: Budget, view: ChatView) -> dict[str, Any]:
        toolkit = self._toolkit
        tools = await toolkit.get_tool_schemas(format=endpoint.dialect.name)
        skills = await toolkit.get_skill_instructions()
        system = "\n\n".join(part for part in (self.system, skills) if part)
        pieces: list[Any] = []
        said: list[str] = []

        async def listen() -> None:
            async for piece in endpoint.stream(system, self.history, tools, budget.tokens_left):
                pieces.append(piece)
                text = endpoint.text(piece)
                if text:
                    said.append(text)
                    view.text(text)

        view.asking(endpoint.model)
        try:
            await budget.within(listen())
        except BaseException:
            if said:
                self.history.append({"role": "assistant", "content": "".join(said)})
            raise
        finally:
            view.paused()
        reply = endpoint.dialect.gather(pieces)
        cost = endpoint.tokens(reply)
        budget.tokens += sum(map(len, map(str, (*self.history, reply)))) // 4 if cost is None else cost
        return reply

    async def _run(
        self, found: Sequence[WireCall], endpoint: Endpoint, budget: Budget, approver: Approver | None
    ) -> bool:
        """Run the calls and keep their results, whatever happens; True where the budget left some out."""
        toolkit, left = self._toolkit, budget.calls_left
        blocks = await blocks_of(toolkit, endpoint.dialect, found)
        running = [
            toolkit.call_tool(block, None, approver) for block in blocks[: len(blocks) if left is None else left]
        ]
        try:
            with agent(endpoint.model):
                await budget.within(toolkit.call_tools(running), running)
        finally:
            budget.calls += sum(1 for call in running if call.response is not None)
            responses = [_ended(call) for call in running]
            responses += [_not_run("The budget of calls is used up.") for _ in found[len(running) :]]
            self.history += endpoint.dialect.results(list(zip(found, responses, strict=True)))
        return len(running) < len(found)

    def _last_words(self, before: int) -> str:
        for message in reversed(self.history[before + 1 :]):
            if message["role"] == "assistant":
                return _text(message.get("content"))
        return ""


def endpoint_said(messages: list[Any]) -> bool:
    """Whether there is anything in what a model said; providers refuse an empty message."""
    return any(_text(message.get("content")) for message in messages)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def _ended(call: ToolCall) -> ToolResponse:
    response = call.response
    if response is None or response.state is ToolResultState.RUNNING:
        return _not_run("The call was interrupted before it ended.")
    return response


def _not_run(text: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(text=text)], state=ToolResultState.INTERRUPTED)
