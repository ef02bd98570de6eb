"""ToolBase and ToolMiddlewareBase: what every tool is, and what may stand around its run.

A run is one stream of chunks. ``await tool(**arguments)`` is the unguarded way in, for the programmer who holds the
tool; an agent's calls go through Toolkit.call_tool, which asks first.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import reprlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from nbtoolkit.permission.rule import PermissionContext, PermissionDecision, PermissionRule
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.schema.given import JSONSchemaValidator

__all__ = [
    "ChunkStream",
    "NextHandler",
    "Running",
    "ToolBase",
    "ToolMiddlewareBase",
    "check_definition",
    "open_stream",
    "wrap",
]

ChunkStream = AsyncGenerator[ToolChunk, None]
NextHandler = Callable[..., ChunkStream]
Running = Awaitable["ToolChunk | ChunkStream"] | ChunkStream


class ToolMiddlewareBase:
    """Stands around a tool's run; the first registered is outermost."""

    def on_tool_call(self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler) -> ChunkStream:
        """Be an async generator of chunks; ``next_handler(**kwargs)`` gives the chunks of what lies inside.

        Other arguments than those that came in are validated and judged again. Not calling on answers in the
        tool's place; calling on twice is a retry.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement on_tool_call as an async generator")


class ToolBase:
    """One tool: what a model is told of it, who may run it, and how it runs.

    A subclass sets the class attributes and implements ``check_permissions`` and ``call``. ``tool_input`` is the
    validated JSON object, defaults filled in. Runs of a tool that isn't ``is_concurrency_safe`` take turns, whoever calls
    it (a server's don't: it takes requests as they come); text of a result past ``max_result_chars`` is cut in the middle.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    is_concurrency_safe: bool = True
    is_read_only: bool = False
    is_idempotent: bool = False
    is_state_injected: bool = False
    is_external_tool: bool = False
    is_mcp: bool = False
    mcp_name: str | None = None
    metadata_schema: dict[str, Any] | None = None
    dangerous_files: Sequence[str] = ()
    dangerous_directories: Sequence[str] = ()
    # Beyond what a built-in tool gives at most: a tool that makes its own blocks knows what it does, but a server may not.
    max_result_chars: int = 120_000
    # A sync subclass of Toolkit's pipeline asks these; see Signature for FunctionTool's own.
    _validator: JSONSchemaValidator | None = None

    def __init__(self, middlewares: list[ToolMiddlewareBase] | None = None) -> None:
        if middlewares is not None and not isinstance(middlewares, (list, tuple)):
            raise DeveloperOrientedException(f"middlewares must be a list, but is {middlewares!r}; put it into one.")
        self.middlewares = list(middlewares or ())
        for middleware in self.middlewares:
            if isinstance(middleware, type) or not callable(getattr(middleware, "on_tool_call", None)):
                made = f"; give one made of it: {middleware.__name__}()" if isinstance(middleware, type) else ""
                raise DeveloperOrientedException(
                    f"a middleware must be an object with an on_tool_call, but one is {middleware!r}{made}."
                )
            if inspect.iscoroutinefunction(getattr(middleware, "on_tool_call", None)):
                raise DeveloperOrientedException(_no_generator(middleware))

    @cached_property
    def middlewares(self) -> list[ToolMiddlewareBase]:
        """What stands around its run; also of a subclass whose __init__ calls no other."""
        return []

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        """What this tool itself says of the call; PASSTHROUGH where it has no opinion."""
        raise NotImplementedError(f"{type(self).__name__} must implement check_permissions")

    # Typed so that a subclass may name its own parameters.
    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run: a coroutine that gives a ToolChunk or a stream of them, or an async generator; keywords only."""
        raise NotImplementedError(f"{type(self).__name__} must implement call")

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:  # noqa: ARG002 - subclasses look at it
        """Whether this very call only reads."""
        return self.is_read_only

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """Whether a rule's content, the part in parentheses, covers this call."""
        from nbtoolkit.permission.matching import match_arguments

        return match_arguments(rule_content, tool_input)

    async def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """Rules that would allow calls like this one."""
        from nbtoolkit.permission.arguments import suggest_rules

        return suggest_rules(self.name, tool_input, schema=self.input_schema)

    async def check_external_result(self, result: Any) -> Any:
        """Look at a result that was handed in for an external tool; what comes back is taken."""
        return result

    @property
    def definition_hash(self) -> str:
        """What a remembered grant is bound to: it changes with name, description or schema."""
        text = json.dumps([self.name, self.description, self.input_schema], sort_keys=True, default=str)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    @property
    def identity(self) -> tuple[str, ...]:
        """Two tools of one identity are the same thing registered again."""
        return (type(self).__module__, type(self).__qualname__, self.name)

    @property
    def origin(self) -> str:
        """Where the tool comes from, as a person reads it."""
        return "Built-in tool" if type(self).__module__.startswith("nbtoolkit.") else f"Tool {type(self).__qualname__}"

    def validate_input(self, arguments: dict[str, Any]) -> Arguments:
        """Repair and validate a model's arguments; ToolArgumentsError lists all that is wrong."""
        if self._validator is None:
            from nbtoolkit.schema.given import JSONSchemaValidator

            self._validator = JSONSchemaValidator(self.name, self.input_schema)
        return self._validator.validate(arguments)

    def run(self, arguments: Arguments, injected: dict[str, Any]) -> Running:
        """``call`` with arguments that were validated already."""
        _, kwargs = arguments.bind(injected)
        running: Running = self.call(**kwargs)
        return running

    async def __call__(self, /, *args: Any, **kwargs: Any) -> ToolChunk | ChunkStream:
        """Run inside the middlewares and nothing else; a stream where there is one of either."""
        if args:
            raise TypeError(f"the tool {self.name!r} takes keyword arguments only, but got {args!r}")
        if self.middlewares:
            return wrap(self, self.middlewares, lambda **inner: open_stream(self.call(**inner)))(**kwargs)
        running: Running = self.call(**kwargs)
        return _sound(await running if isinstance(running, Awaitable) else running)


def check_definition(tool: ToolBase) -> None:
    """Whether a model can be told of a tool: TypeError for what is missing, ValueError for a name that can't be."""
    for field, kind, expected in _DEFINITION:
        value = getattr(tool, field, None)
        if not isinstance(value, kind):
            got = "it is missing" if value is None else f"it is {value!r}"
            hint = "; of a pydantic model it is given by model_json_schema()" if isinstance(value, type) else ""
            raise TypeError(
                f"the {field} of the tool {type(tool).__qualname__} must be {expected}, but {got}. Set it as an "
                f"attribute of the class or in __init__{hint}."
            )
    from nbtoolkit.schema.signature import check_name
    from nbtoolkit.tool.options import check_count, check_flags

    check_name(tool.name)
    check_flags(
        f"the tool {tool.name!r}",
        is_concurrency_safe=tool.is_concurrency_safe,
        is_read_only=tool.is_read_only,
        is_state_injected=tool.is_state_injected,
        is_external_tool=tool.is_external_tool,
    )
    check_count(f"max_result_chars of the tool {tool.name!r}", tool.max_result_chars)
    kind = tool.input_schema.get("type", "object")
    if kind != "object":
        raise TypeError(f"the input_schema of the tool {tool.name!r} must be of the type 'object', but is of {kind!r}")


_DEFINITION: tuple[tuple[str, type, str], ...] = (
    ("name", str, "a str"),
    ("description", str, "a str"),
    ("input_schema", dict, "a JSON schema, a dict"),
)


def _sound(result: Any) -> ToolChunk | ChunkStream:
    """What ``call`` gave, where a call may give it."""
    if isinstance(result, ToolChunk) or hasattr(result, "__aiter__"):
        given: ToolChunk | ChunkStream = result
        return given
    raise DeveloperOrientedException(
        f"a tool's call must give a ToolChunk or an async iterator of them, but gave {reprlib.repr(result)}; "
        "ToolChunk.of(text) makes one of a text"
    )


async def open_stream(result: Running | ToolChunk) -> ChunkStream:
    """The one form of a run: whatever ``call`` gave, as a stream that closes what it opened."""
    result = _sound(await result if isinstance(result, Awaitable) else result)
    if isinstance(result, ToolChunk):
        yield result
        return
    try:
        async for chunk in result:
            if not isinstance(chunk, ToolChunk):
                raise DeveloperOrientedException(_no_chunk("a tool's call", chunk))
            yield chunk
    finally:
        if inspect.isasyncgen(result):
            await result.aclose()


def wrap(tool: ToolBase, middlewares: list[ToolMiddlewareBase], innermost: NextHandler) -> NextHandler:
    """The onion: middlewares around ``innermost``, the first outermost."""
    handler = innermost
    for middleware in reversed(middlewares):
        handler = partial(_layer, middleware, tool, handler)
    return handler


async def _layer(
    middleware: ToolMiddlewareBase, tool: ToolBase, next_handler: NextHandler, /, **kwargs: Any
) -> ChunkStream:
    opened: list[ChunkStream] = []

    def handler(**inner: Any) -> ChunkStream:
        stream = next_handler(**inner)
        opened.append(stream)
        return stream

    stream: Any = middleware.on_tool_call(tool, kwargs, handler)
    if not hasattr(stream, "__aiter__"):
        if inspect.iscoroutine(stream):
            stream.close()
        raise DeveloperOrientedException(_no_generator(middleware))
    try:
        async for chunk in stream:
            if not isinstance(chunk, ToolChunk):
                raise DeveloperOrientedException(_no_chunk(f"{type(middleware).__name__}.on_tool_call", chunk))
            yield chunk
    finally:
        # A middleware that stops early must not leave the tool running behind it.
        if inspect.isasyncgen(stream):
            await stream.aclose()
        for inner in reversed(opened):
            await inner.aclose()


def _no_chunk(whose: str, chunk: object) -> str:
    return f"{whose} must give ToolChunks, but gave {reprlib.repr(chunk)}; ToolChunk.of(text) makes one of a text"


def _no_generator(middleware: object) -> str:
    return (
        f"{type(middleware).__name__}.on_tool_call must be an async generator, but it has no yield. Give each chunk: "
        "`async for chunk in next_handler(**input_kwargs): yield chunk`."
    )
