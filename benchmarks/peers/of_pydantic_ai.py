"""pydantic-ai: a FunctionToolset and the ToolManager that an agent's run calls its tools with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("pydantic-ai-slim", "pydantic", "pydantic-core")
IMPORT = "from pydantic_ai.toolsets import FunctionToolset"


def make(funcs: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """A toolset of these functions; its manager is made when first wanted, as a run would."""
    return {"toolset": FunctionToolset(list(funcs)), "context": None, "manager": None}


def _context(made: dict[str, Any]) -> Any:
    if made["context"] is None:
        made["context"] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    return made["context"]


async def schemas(made: dict[str, Any]) -> list[Any]:
    """What a model is told, as each step of a run collects it."""
    tools = await made["toolset"].get_tools(_context(made))
    return [tool.tool_def for tool in tools.values()]


async def call(made: dict[str, Any], name: str, text: str) -> Any:
    """Make the part that a model's reply holds, and run it."""
    if made["manager"] is None:
        made["manager"] = await ToolManager(made["toolset"]).for_run_step(_context(made))
    return await made["manager"].handle_call(ToolCallPart(tool_name=name, args=text))


call_async = call


def result(answer: Any) -> Any:
    """What the call gave."""
    return answer
