"""ToolBase: what a subclass may leave out, and what it is told when it leaves out too much."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.tool.base import NextHandler, ToolBase, ToolMiddlewareBase
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.toolkit import Toolkit


class Allowed(ToolBase):
    """A tool that may always run."""

    name = "plain"
    description = "Be plain."
    input_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}  # type: ignore[misc]

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(PermissionBehavior.ALLOW, "")

    def call(self, /, **kwargs: Any) -> Any:
        return ToolChunk.of(f"ran with {kwargs}")


class Shout(ToolMiddlewareBase):
    """Marks what passes."""

    async def on_tool_call(
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
    ) -> AsyncGenerator[ToolChunk, None]:
        yield ToolChunk.of("before ", ToolResultState.RUNNING)
        async for chunk in next_handler(**input_kwargs):
            yield chunk


def run(tool: ToolBase, /, **kwargs: Any) -> str:
    return Toolkit([tool]).call_sync(tool.name, **kwargs).text


# ---------------------------------------------------------------------- what may be left out
def test_an_init_that_calls_no_other_leaves_a_tool_that_runs() -> None:
    class Own(Allowed):
        def __init__(self) -> None:
            self.mine = 1

    first, second = Own(), Own()
    assert run(first) == "ran with {}"
    first.middlewares.append(Shout())
    assert run(first) == "before ran with {}"
    assert second.middlewares == []


def test_the_middlewares_that_are_given_are_kept() -> None:
    given = [Shout()]
    tool = Allowed(middlewares=given)  # type: ignore[arg-type]
    assert tool.middlewares == given
    assert tool.middlewares is not given


def test_a_call_may_be_an_ordinary_method_that_gives_a_chunk() -> None:
    assert run(Allowed()) == "ran with {}"
    direct = asyncio.run(Allowed()())
    assert isinstance(direct, ToolChunk)


def test_arguments_may_be_called_self_and_tool() -> None:
    assert run(Allowed(), self=1, tool=2) == "ran with {'self': 1, 'tool': 2}"
    assert run(Allowed(middlewares=[Shout()]), self=1, tool=2) == "before ran with {'self': 1, 'tool': 2}"
    chunk = asyncio.run(Allowed()(self=1))
    assert isinstance(chunk, ToolChunk)
    assert chunk.content[0].text == "ran with {'self': 1}"  # type: ignore[union-attr]


# ---------------------------------------------------------------------- what a call may give
@pytest.mark.parametrize("given", ["done", None, 3, [ToolChunk.of("a")], iter([ToolChunk.of("a")])])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("middlewares", [[], [Shout()]])
def test_what_is_no_chunk_is_named_with_what_was_expected(
    given: object, asynchronous: bool, middlewares: list[ToolMiddlewareBase]
) -> None:
    class Wrong(Allowed):
        def call(self, /, **kwargs: Any) -> Any:
            async def later() -> object:
                return given

            return later() if asynchronous else given

    response = Toolkit([Wrong(middlewares)]).call_sync("plain")
    assert response.state is ToolResultState.ERROR
    assert (
        "DeveloperOrientedException: a tool's call must give a ToolChunk or an async iterator of them" in response.text
    )
    assert "but gave" in response.text
    if not middlewares:
        with pytest.raises(DeveloperOrientedException, match="must give a ToolChunk"):
            asyncio.run(Wrong()())


def test_what_is_no_chunk_in_a_stream_is_named_with_whose_it_is() -> None:
    class Words(Allowed):
        async def call(self, /, **kwargs: Any) -> Any:
            yield ToolChunk.of("a", ToolResultState.RUNNING)
            yield "words"

    class Speaks(ToolMiddlewareBase):
        async def on_tool_call(self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler) -> Any:
            yield "words"

    response = Toolkit([Words()]).call_sync("plain")
    assert response.state is ToolResultState.ERROR
    assert "a tool's call must give ToolChunks, but gave 'words'" in response.text
    response = Toolkit([Allowed([Speaks()])]).call_sync("plain")
    assert response.state is ToolResultState.ERROR
    assert "Speaks.on_tool_call must give ToolChunks, but gave 'words'" in response.text


def test_a_stream_is_a_stream_however_it_comes() -> None:
    async def chunks() -> AsyncGenerator[ToolChunk, None]:
        yield ToolChunk.of("a", ToolResultState.RUNNING)
        yield ToolChunk.of("b")

    class Streams(Allowed):
        def call(self, /, **kwargs: Any) -> Any:
            return chunks()

    class StreamsLater(Allowed):
        async def call(self, /, **kwargs: Any) -> Any:
            return chunks()

    assert run(Streams()) == run(StreamsLater()) == "ab"
    assert inspect.isasyncgen(asyncio.run(StreamsLater()()))


# ---------------------------------------------------------------------- what may not
class Model(BaseModel):
    """Arguments."""

    x: int


@pytest.mark.parametrize("missing", ["name", "description", "input_schema"])
def test_what_a_definition_lacks_is_said_when_it_is_registered(missing: str) -> None:
    fields = {"name": "t", "description": "T.", "input_schema": {"type": "object"}}
    del fields[missing]
    lacking = type("Lacking", (ToolBase,), fields)
    with pytest.raises(TypeError, match=f"the {missing} of the tool Lacking must be .*, but it is missing"):
        Toolkit([lacking()])
    with pytest.raises(TypeError, match=f"the {missing} of the tool Lacking"):
        Toolkit().register(lacking())


@pytest.mark.parametrize(
    ("field", "value", "error", "said"),
    [
        ("name", "bad name!", ValueError, r"'bad name!' is refused by LLM providers.*name='bad_name'"),
        ("name", "", ValueError, "'' is refused by LLM providers"),
        ("name", 5, TypeError, "the name of the tool Odd must be a str, but it is 5"),
        ("description", ["a"], TypeError, r"the description .* must be a str, but it is \['a'\]"),
        ("input_schema", Model, TypeError, "must be a JSON schema, a dict, but it is .*model_json_schema"),
        ("input_schema", {"type": "array"}, TypeError, "must be of the type 'object', but is of 'array'"),
    ],
)
def test_a_definition_that_no_model_can_be_told_is_refused(
    field: str, value: object, error: type[Exception], said: str
) -> None:
    odd = type("Odd", (Allowed,), {field: value})()
    toolkit = Toolkit()
    with pytest.raises(error, match=said):
        toolkit.register(odd)
    assert toolkit.get_tool_schemas_sync() == []
