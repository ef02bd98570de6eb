"""Options that a tool, a group, a toolkit or a call is made with: a wrong one is said at once."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import ToolCallBlock
from nbtoolkit.tool import FunctionTool, ToolBase, ToolGroup, Toolkit, ToolMiddlewareBase, tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def load(path: str, limit: int = 10) -> str:
    """Load."""
    return path * limit


class Passing(ToolMiddlewareBase):
    async def on_tool_call(self, tool: Any, input_kwargs: Any, next_handler: Any) -> AsyncGenerator[Any, None]:
        async for chunk in next_handler(**input_kwargs):
            yield chunk


@pytest.mark.parametrize("value", [-1, 0, "5", 2.5, None, True, float("nan")])
def test_the_room_of_a_result_is_a_whole_number(value: Any) -> None:
    with pytest.raises(DeveloperOrientedException, match=r"max_result_chars must be a whole number, 1 or more, but is"):
        FunctionTool(load, max_result_chars=value)
    with pytest.raises(DeveloperOrientedException, match="max_result_chars"):
        tool(toolkit=Toolkit(), max_result_chars=value)(load)


@pytest.mark.parametrize(
    "flag", ["is_concurrency_safe", "is_read_only", "is_state_injected", "thread", "is_idempotent"]
)
@pytest.mark.parametrize("value", ["no", 1, None])
def test_a_text_is_no_truth_value(flag: str, value: Any) -> None:
    """``is_read_only="no"`` would let every call run unasked."""
    options: dict[str, Any] = {flag: value}
    with pytest.raises(DeveloperOrientedException, match=f"{flag} of a FunctionTool must be True or False, but is"):
        FunctionTool(load, **options)


@pytest.mark.parametrize(("field", "value"), [("is_read_only", "no"), ("max_result_chars", -1)])
def test_a_class_of_tools_is_asked_the_same(field: str, value: Any) -> None:
    kind = type("Odd", (ToolBase,), {"name": "odd", "description": "", "input_schema": {}, field: value})
    with pytest.raises(DeveloperOrientedException, match=f"{field} of the tool 'odd'"):
        Toolkit(tools=[kind()])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"description": 5}, "description must be a text, but is 5"),
        ({"middlewares": Passing()}, "put it into one"),
        ({"middlewares": [Passing]}, r"give one made of it: Passing\(\)"),
        ({"middlewares": [load]}, "an object with an on_tool_call"),
    ],
)
def test_what_isnt_of_its_kind_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DeveloperOrientedException, match=said):
        FunctionTool(load, **options)


def test_a_function_has_one_place() -> None:
    with (
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        pytest.raises(DeveloperOrientedException, match="leave one of them out"),
    ):
        FunctionTool(load, thread=True, executor=pool)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: FunctionTool(load, name=5), "a tool's name must be a text, but is 5"),  # type: ignore[arg-type]
        (lambda: Toolkit(load), "tools must be a list, but is <function loa"),  # type: ignore[arg-type]
        (lambda: Toolkit("load"), "tools must be a list, but is 'load'; put it into one"),  # type: ignore[arg-type]
        (lambda: Toolkit(tool_groups=ToolGroup("g", "d")), "tool_groups must be a list"),  # type: ignore[arg-type]
        (lambda: Toolkit(tool_groups=[load]), "a list of ToolGroups"),  # type: ignore[list-item]
        (lambda: ToolGroup(5, "d"), "name must be a text, but is 5"),  # type: ignore[arg-type]
        (lambda: ToolGroup("g", 5), "the description of the tool group 'g' must be a text"),  # type: ignore[arg-type]
        (lambda: ToolGroup("g", "d", tools=load), "tools must be a list"),  # type: ignore[arg-type]
        (lambda: Toolkit().get_tool_schemas_sync("basic"), "groups must be a list, but is 'basic'"),
        (lambda: Toolkit().grant("load", calls="3"), "whole number of calls, not calls='3'"),  # type: ignore[arg-type]
        (lambda: Toolkit().grant("load", calls=2.5), "whole number of calls, not calls=2.5"),  # type: ignore[arg-type]
        (lambda: Toolkit().call_tool("load"), "expected a ToolCallBlock, but got 'load'"),  # type: ignore[arg-type]
        (lambda: asyncio.run(Toolkit().call_tools(["load"])), "expected a ToolCallBlock"),  # type: ignore[list-item]
        (lambda: asyncio.run(Toolkit().call_tools(ToolCallBlock(name="load"))), "a list of calls"),  # type: ignore[arg-type]
        (lambda: Toolkit().call_tool(ToolCallBlock(name="load"), state=5), "state must be an AgentState"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_a_wrong_argument_is_said_with_what_was_expected(made: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        made()


def test_a_batch_with_one_wrong_call_runs_none() -> None:
    ran: list[str] = []

    def note(what: str) -> None:
        ran.append(what)

    toolkit = Toolkit(tools=[FunctionTool(note, is_read_only=True, is_concurrency_safe=False)])
    calls: list[Any] = [ToolCallBlock(name="note", input='{"what": "first"}'), "note"]
    with pytest.raises(TypeError, match="'note'"):
        asyncio.run(toolkit.call_tools(calls))
    assert ran == []
