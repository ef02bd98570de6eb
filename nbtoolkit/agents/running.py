"""run_calls: the calls of a model's reply through the toolkit's pipeline, and the messages that answer them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.agents.reading import read_reply
from nbtoolkit.permission.approval import Origin
from nbtoolkit.schema.repair import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtoolkit.agents.dialects.base import Dialect, WireCall
    from nbtoolkit.message import ToolCallBlock
    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["agent", "blocks_of", "run_calls", "said"]


async def run_calls(
    toolkit: Toolkit, reply: Any, state: AgentState | None = None, approver: Approver | None = None
) -> list[Any]:
    """Run the calls of a reply and give the messages to append behind it, in its dialect; empty where it has none.

    ``reply``: of OpenAI (chat completions, responses), Anthropic, Gemini, or MCP, as the SDK's object, as plain dicts,
    as the calls alone, or as a stream of its pieces. TypeError for anything else; what is wrong in a call is its result.
    """
    read = await read_reply(reply)
    blocks = await blocks_of(toolkit, read.dialect, read.calls)
    with agent(read.dialect.name):
        responses = await toolkit.call_tools(blocks, state, approver)
    return read.dialect.results(list(zip(read.calls, responses, strict=True)))


async def said(reply: Any) -> list[Any]:
    """The reply itself as plain messages for the history, to stand before the results."""
    read = await read_reply(reply)
    return read.dialect.said(read.value)


async def blocks_of(toolkit: Toolkit, dialect: Dialect, calls: Sequence[WireCall]) -> list[ToolCallBlock]:
    """The calls under the toolkit's own names, where a provider's limits made others necessary."""
    made = []
    for call in calls:
        name, renamed = await toolkit.as_sent(call.name, dialect.name)
        text = _with_own_names(call.input, renamed) if renamed else call.input
        made.append(call.block(name, text))
    return made


def _with_own_names(text: str, renamed: dict[str, str]) -> str:
    arguments = read_json(text)
    if not isinstance(arguments, dict):
        return text
    return json.dumps({renamed.get(key, key): value for key, value in arguments.items()}, ensure_ascii=False)


@contextmanager
def agent(name: str) -> Iterator[None]:
    """Say of the calls inside that they are an agent's, where nothing says better."""
    if hooks.caller.get() is not None:
        yield
        return
    token = hooks.caller.set(Origin("agent", name, hooks.origin().cell))
    try:
        yield
    finally:
        hooks.caller.reset(token)
