"""FunctionTool, a tool made of any callable: what it promises to a model, and its run here or elsewhere."""

from __future__ import annotations

import hashlib
import inspect
import threading
from contextlib import suppress
from functools import partial
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.schema.resolving import innermost
from nbtoolkit.schema.signature import STATE_PARAMETER, Signature
from nbtoolkit.schema.variables import stand_ins
from nbtoolkit.tool.base import ChunkStream, ToolBase, ToolMiddlewareBase
from nbtoolkit.tool.content import MAX_RESULT_CHARS, to_chunk
from nbtoolkit.tool.generators import stream_async, stream_elsewhere, stream_here
from nbtoolkit.tool.options import check_count, check_flags
from nbtoolkit.tool.own_thread import in_thread
from nbtoolkit.tool.progress import current_call
from nbtoolkit.tool.stream import Gathered, to_the_end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from concurrent.futures import Executor

    from pydantic import BaseModel

    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.elsewhere import Cluster
    from nbtoolkit.tool.result import ToolChunk

__all__ = ["FunctionTool"]

_ASK = PermissionDecision(PermissionBehavior.ASK, "A function may do anything, so each call is asked about.")


class FunctionTool(ToolBase):
    """A Python callable as a tool.

    ``thread=True`` runs a sync function in a worker thread, ``executor`` on any concurrent.futures.Executor, or on a
    dask.distributed client; else it runs in the thread that called. A function that makes an executor is called when it is first needed, and again where
    that one is lost. A call whose worker is lost is an error, unless ``is_idempotent`` says that running it twice does
    no more than once: then it is run again, three times at most. Where the executor is a dask.distributed client's, a
    variable that holds a Future stands in for its result, and an ipyparallel Reference for what the engine has under
    that name. A generator's text is bounded like any result; its value is kept whole up to about
    20 MB of text, else not at all. ValueError for a name that providers refuse, DeveloperOrientedException for a
    function that can't be a tool as it is, such as one with a parameter that JSON can't carry outside a notebook.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        name: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | type[BaseModel] | None = None,
        is_concurrency_safe: bool = True,
        is_read_only: bool = False,
        is_state_injected: bool = False,
        middlewares: list[ToolMiddlewareBase] | None = None,
        permission: PermissionDecision | None = None,
        *,
        thread: bool = False,
        executor: Executor | Cluster | Callable[[], Executor | Cluster] | None = None,
        max_result_chars: int = MAX_RESULT_CHARS,
        is_idempotent: bool = False,
    ) -> None:
        super().__init__(middlewares)
        check_flags(
            "a FunctionTool",
            is_concurrency_safe=is_concurrency_safe,
            is_read_only=is_read_only,
            is_state_injected=is_state_injected,
            thread=thread,
            is_idempotent=is_idempotent,
        )
        check_count("max_result_chars", max_result_chars)
        if thread and executor is not None:
            raise DeveloperOrientedException(
                "thread=True and an executor are two places for one function; leave one of them out."
            )
        if permission is not None and not isinstance(permission, PermissionDecision):
            raise DeveloperOrientedException(
                f"permission must be a PermissionDecision, got {permission!r}. Write, for example, "
                'permission=PermissionDecision(PermissionBehavior.ALLOW, "why").'
            )
        self.func = func
        self.signature = Signature(
            func,
            name=name,
            description=description,
            input_schema=input_schema,
            hidden=(STATE_PARAMETER,) if is_state_injected else (),
        )
        self.name = self.signature.name
        if is_state_injected and STATE_PARAMETER not in self.signature.hidden and not _takes_any_keyword(func):
            raise DeveloperOrientedException(
                f"{self.name}: is_state_injected=True, but the function doesn't take {STATE_PARAMETER}. Add the "
                f"parameter {STATE_PARAMETER}: AgentState to it, or leave is_state_injected out."
            )
        if executor is not None:
            from nbtoolkit.tool import elsewhere

            self._source = elsewhere.Source(executor)
            if (kind := _unpicklable(func)) and elsewhere.is_elsewhere(executor):
                raise DeveloperOrientedException(
                    f"{self.name} is {kind}, which can't come back from another process. Return the finished value, a "
                    "list say, or give it thread=True instead of a pool of processes."
                )
        self.is_concurrency_safe = is_concurrency_safe
        self.is_read_only = is_read_only
        self.is_state_injected = is_state_injected
        self.is_idempotent = is_idempotent
        self.permission = permission
        self.thread = thread
        self.executor = executor
        self.max_result_chars = max_result_chars
        self._definition_hash: str | None = None
        self._origin = ""

    # Looked up late: a thousand tools are registered for the ten that a session calls.
    @property
    def description(self) -> str:  # type: ignore[override]
        """What a model is told that the tool does."""
        return self.signature.description

    @property
    def input_schema(self) -> dict[str, Any]:  # type: ignore[override]
        """The JSON Schema of the arguments."""
        return self.signature.input_schema

    @property
    def definition_hash(self) -> str:
        """What a remembered grant is bound to: it changes with the signature or the source."""
        if self._definition_hash is None:
            code = hashlib.sha256(super().definition_hash.encode())
            code.update(_source(self.func).encode())
            self._definition_hash = "sha256:" + code.hexdigest()
        return self._definition_hash

    @property
    def identity(self) -> tuple[str, ...]:
        """Module and qualified name: a cell that is run again defines the same thing."""
        func = self.func
        while isinstance(func, partial):
            func = func.func
        named = func if hasattr(func, "__qualname__") else type(func)
        return (str(getattr(named, "__module__", "")), str(getattr(named, "__qualname__", self.name)))

    @property
    def origin(self) -> str:
        """Where the tool comes from, as a person reads it."""
        if not self._origin:
            module = self.identity[0]
            self._origin = "Your function" if module == "__main__" else f"Function from {module}"
        return self._origin

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """The decision that was fixed for this tool, else ASK."""
        return self.permission or _ASK

    def validate_input(self, arguments: dict[str, Any]) -> Arguments:
        """Repair and validate a model's arguments; ToolArgumentsError lists all that is wrong."""
        if self.executor is None:
            return self.signature.validate(arguments)
        from nbtoolkit.tool import elsewhere

        token = stand_ins.set(partial(elsewhere.stands_in, self._source.get()))
        try:
            return self.signature.validate(arguments)
        finally:
            stand_ins.reset(token)

    def call(self, /, **kwargs: Any) -> Awaitable[ToolChunk | ChunkStream]:
        """Validate the arguments and run the function."""
        injected = {}
        if self.is_state_injected and STATE_PARAMETER in kwargs:
            injected[STATE_PARAMETER] = kwargs.pop(STATE_PARAMETER)
        return self.run(self.validate_input(kwargs), injected)

    async def run(self, arguments: Arguments, injected: dict[str, Any]) -> ToolChunk | ChunkStream:
        """Run the function with arguments that were validated already."""
        return self.told(await self.value(arguments, injected))

    async def value(self, arguments: Arguments, injected: dict[str, Any]) -> Any:
        """Run the function with arguments that were validated already, and give what it gives."""
        if self.thread or self.executor is not None:
            args, kwargs = arguments.bind(injected)
            value = await self._elsewhere(self.func, *args, **kwargs)
        elif hooks.stoppable is None:
            value = arguments.give_to(self.func, injected)
        else:
            with hooks.stoppable():
                value = arguments.give_to(self.func, injected)
        kind = type(value)
        if kind is CoroutineType or (kind not in _PLAIN and inspect.isawaitable(value)):
            value = await value
        return value

    def told(self, value: Any) -> ToolChunk | ChunkStream:
        """What the function gave, for a model: one chunk, or a stream of them."""
        kind = type(value)
        if kind is not AsyncGeneratorType and kind is not GeneratorType:
            return to_chunk(value, self.max_result_chars)
        gathered, call = Gathered(self.max_result_chars), current_call.get()
        if kind is AsyncGeneratorType:
            stream = stream_async(value, gathered, call)
        elif self.thread or self.executor is not None:
            stream = stream_elsewhere(value, gathered, call, self._elsewhere, self._close_soon)
        else:
            stream = stream_here(value, gathered, call)
        return to_the_end(stream, gathered)

    async def _elsewhere(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self.executor is None:
            return await in_thread(partial(func, *args, **kwargs), self.name)
        from nbtoolkit.tool import elsewhere

        return await elsewhere.run(
            self._source, func, args, kwargs, self.name, is_idempotent=self.is_idempotent and func is self.func
        )

    def _close_soon(self, generator: Generator[Any, Any, Any]) -> None:
        if self.executor is None:
            threading.Thread(target=_close, args=(generator,), name=f"nbtoolkit-close-{self.name}", daemon=True).start()
            return
        with suppress(RuntimeError):  # a pool that was shut down
            self._source.get().submit(_close, generator)


_PLAIN = frozenset({str, int, float, bool, dict, list, tuple, type(None)})


def _unpicklable(func: Callable[..., Any]) -> str:
    inner = innermost(func)
    if inspect.isgeneratorfunction(inner):
        return "a generator"
    return "async" if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner) else ""


def _close(generator: Generator[Any, Any, Any]) -> None:
    with suppress(Exception):
        generator.close()


def _takes_any_keyword(func: Callable[..., Any]) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(func).parameters.values())


def _source(func: Callable[..., Any]) -> str:
    target = inspect.unwrap(func) if not isinstance(func, partial) else func.func
    try:
        return inspect.getsource(target)
    except (OSError, TypeError):
        code = getattr(target, "__code__", None)
        return "" if code is None else code.co_code.hex() + repr(code.co_consts)
