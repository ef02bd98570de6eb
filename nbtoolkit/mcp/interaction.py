"""What a server may ask of its client while it works: a form, a link, a model's answer, the roots; and its log.

A question is put where the call came from, in the caller's loop and context, so that a form or a print lands in the
right cell. A handler that the user gave answers first, then the host (a notebook); what nobody can answer is refused.
The limit of a call's time stands still while a person thinks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from nbtoolkit.mcp import taping
from nbtoolkit.redact import keep_secret
from nbtoolkit.schema.given import bounded_check
from nbtoolkit.schema.sound import sound

if TYPE_CHECKING:
    import httpx2

    from nbtoolkit.mcp.caller import Caller
    from nbtoolkit.mcp.connection import Connection
    from nbtoolkit.mcp.oauth import SignIn, SignInHandler

__all__ = [
    "Elicitation",
    "ElicitationAnswer",
    "ElicitationHandler",
    "Host",
    "Interaction",
    "SamplingHandler",
    "SamplingRequest",
    "ask_host",
    "is_secret_field",
    "pass_over",
    "set_host",
    "with_defaults",
]

logger = logging.getLogger("nbtoolkit.mcp")

T = TypeVar("T")


@dataclass(frozen=True)
class Elicitation:
    """A server's question to the person: a flat form by JSON Schema, or a link to open.

    All of it is the server's text. For a link the schema has no properties.
    """

    server: str
    message: str
    schema: dict[str, Any]
    url: str | None = None


@dataclass(frozen=True)
class ElicitationAnswer:
    """What the person did; ``cancel`` is closing the form without a choice."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SamplingRequest:
    """A server's wish for a model's answer; ``messages`` are {role, content} with MCP content as dicts."""

    server: str
    messages: list[dict[str, Any]]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None
    model_preferences: dict[str, Any] | None = None


ElicitationHandler: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any] | None]]
SamplingHandler: TypeAlias = Callable[[SamplingRequest], Awaitable[str | Mapping[str, Any]]]


class Host(Protocol):
    """Whoever can ask a person; each may be called in any thread's loop."""

    async def elicit(self, question: Elicitation) -> ElicitationAnswer:
        """Show the form or the link; decline or cancel where nobody can answer."""

    async def allow_sampling(self, request: SamplingRequest) -> bool:
        """Whether the user's own handler may answer this."""

    async def sign_in(self, request: SignIn) -> str | None:
        """Show the link and give the address that the browser ended at; None where nobody can or wants to."""


_host: Host | None = None


def set_host(host: Host | None) -> None:
    """Put servers' questions to this host, from the next connect on; None: to nobody."""
    global _host
    _host = host


async def ask_host(question: Elicitation) -> ElicitationAnswer:
    """Put a question that no server asks to the host; cancelled where there is none."""
    return ElicitationAnswer("cancel") if _host is None else await _host.elicit(question)


async def pass_over(question: Elicitation) -> None:
    """Tell the host of a question that was answered without it: a cassette held the answer."""
    passed_over = getattr(_host, "passed_over", None)
    if passed_over is not None:
        await passed_over(question)


_SECRET = re.compile(
    r"(?i)(?:^|[^a-z])(?:pass(?:word|phrase|code)?|pwd|pin|secret|token|credentials?|otp|cvv|cvc)(?:$|[^a-z])"
    r"|api.?key|private.?key|access.?key|credit.?card|card.?number"
)


def is_secret_field(name: str, about: Mapping[str, Any]) -> bool:
    """Whether what is typed into a form's field is to be masked: the schema says so, or its name or title does."""
    if about.get("format") == "password" or about.get("writeOnly") is True:
        return True
    # In userPassword the words are told apart by their capitals.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", f"{name} {about.get('title') or ''}")
    kinds = about.get("type")
    typed = any(kind in ("string", "integer", None) for kind in (kinds if isinstance(kinds, list) else [kinds]))
    return typed and _SECRET.search(words) is not None


def secret_fields(schema: Mapping[str, Any]) -> set[str]:
    """The names of a form's fields that take secrets."""
    properties = schema.get("properties")
    fields = properties.items() if isinstance(properties, Mapping) else ()
    return {name for name, about in fields if isinstance(about, Mapping) and is_secret_field(name, about)}


def with_defaults(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content, with the schema's defaults for the fields that were left out."""
    properties = schema.get("properties")
    found = dict(content)
    if isinstance(properties, Mapping):
        for name, each in properties.items():
            if isinstance(each, Mapping) and "default" in each:
                found.setdefault(name, each["default"])
    return found


# Each is itself: two of one cell would otherwise be equal.
@dataclass(eq=False)
class _Call:
    """A call under way: who made it, what is being asked because of it, and its clock where its time is limited."""

    caller: Caller
    limit: asyncio.Timeout | None = None
    questions: set[asyncio.Future[Any]] = field(default_factory=set)
    left: float | None = None

    def stop_clock(self) -> None:
        if self.limit is not None and self.limit.when() is not None and not self.limit.expired():
            when = self.limit.when()
            assert when is not None
            self.left = when - asyncio.get_running_loop().time()
            self.limit.reschedule(None)

    def start_clock(self) -> None:
        if self.limit is not None and self.left is not None and not self.questions and not self.limit.expired():
            self.limit.reschedule(asyncio.get_running_loop().time() + self.left)
            self.left = None


class Interaction:
    """The callbacks of one client, and the calls that they belong to."""

    def __init__(
        self,
        elicitation_handler: ElicitationHandler | None = None,
        sampling_handler: SamplingHandler | None = None,
        roots: list[str | Path] | None = None,
        oauth_handler: SignInHandler | None = None,
        auth: Any = None,
    ) -> None:
        self.elicitation_handler = elicitation_handler
        self.sampling_handler = sampling_handler
        self.roots = roots
        self.oauth_handler = oauth_handler
        self.own_auth = auth
        # How many questions a person has before them.
        self.asking = 0
        self._calls: list[_Call] = []
        # In the newer era a question comes in its call's own task; in the older it only comes in the session.
        self._current: ContextVar[_Call | None] = ContextVar("nbtoolkit_mcp_call", default=None)

    def callbacks(self, connection: Connection) -> dict[str, Any]:
        """The SDK client's arguments; each callback given declares a capability to the server."""

        async def log(params: Any) -> None:
            connection.log.write(str(params.level), params.data if isinstance(params.data, str) else repr(params.data))

        async def elicit(_context: Any, params: Any) -> Any:
            return await self._elicit(connection.name, params)

        async def sample(_context: Any, params: Any) -> Any:
            return await self._sample(connection.name, params)

        async def list_roots(_context: Any) -> Any:
            return self._list_roots()

        found: dict[str, Any] = {"logging_callback": log}
        if self.elicitation_handler is not None or _host is not None:
            found["elicitation_callback"] = elicit
        if self.sampling_handler is not None:
            found["sampling_callback"] = sample
        if self.roots is not None:
            found["list_roots_callback"] = list_roots
        return found

    # ------------------------------------------------------------------------------------- whose call, and its time
    @contextlib.contextmanager
    def called_by(self, caller: Caller) -> Iterator[_Call]:
        """While a call is under way, questions go to its caller."""
        call = _Call(caller)
        self._calls.append(call)
        token = self._current.set(call)
        try:
            yield call
        finally:
            self._current.reset(token)
            self._calls.remove(call)
            for question in call.questions:
                question.cancel()

    async def _put(self, make: Callable[[], Coroutine[Any, Any, T]], gone: T) -> T:
        """Ask where the call came from; a call that ends meanwhile takes its question with it."""
        call = self._current.get()
        if call not in self._calls:
            # The session's own tasks still carry the call that opened it.
            call = self._calls[-1] if self._calls else None
        question = asyncio.ensure_future(make() if call is None else call.caller.run(make))
        self.asking += 1
        if call is not None:
            call.stop_clock()
            call.questions.add(question)
        try:
            await asyncio.wait({question})
            return gone if question.cancelled() else question.result()
        finally:
            self.asking -= 1
            question.cancel()
            if call is not None:
                call.questions.discard(question)
            if call is not None and call in self._calls:
                # One that has ended has no clock any more.
                call.start_clock()

    def auth(self, server: str, url: str) -> httpx2.Auth | None:
        """How to sign in where the server asks for it; None where nobody could."""
        from nbtoolkit.mcp.oauth import OAuthClient, machine_oauth, oauth

        client = self.own_auth
        if client is not None and not isinstance(client, OAuthClient):
            given: httpx2.Auth = client
            return given
        if client is not None and client.machine:
            return machine_oauth(url, client)
        handler = self.oauth_handler or (getattr(_host, "sign_in", None) if _host is not None else None)
        if handler is None:
            return None

        async def sign_in(request: SignIn) -> str | None:
            return await self._put(lambda: _awaited(handler(request)), None)

        return oauth(server, url, sign_in, client=client)

    # ------------------------------------------------------------------------------------------------- the questions
    async def _elicit(self, server: str, params: Any) -> Any:
        import mcp_types

        url = getattr(params, "url", None)
        schema = sound(dict(getattr(params, "requested_schema", None) or {"type": "object", "properties": {}}))
        question = Elicitation(server, params.message, schema, url)
        try:
            answer = await self._put(lambda: self._answer(question), ElicitationAnswer("cancel"))
        except Exception as error:  # noqa: BLE001 - the server must get an answer, whatever ails the handler
            logger.warning("the question of the MCP server %r could not be answered: %s", server, error)
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="The question could not be answered.")
        if answer.action != "accept" or url is not None:
            return mcp_types.ElicitResult(action=answer.action)
        content = with_defaults(schema, answer.content)
        fault = _fault(schema, content)
        if fault is not None:
            logger.warning("the answer to the MCP server %r doesn't fit its form: %s", server, fault)
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=f"The answer doesn't fit: {fault}")
        return mcp_types.ElicitResult(action="accept", content=content)

    async def _answer(self, question: Elicitation) -> ElicitationAnswer:
        answer = await self._answer_now(question)
        for name, value in answer.content.items():
            if name in secret_fields(question.schema):
                keep_secret(str(value))
        if (asked := taping.questions.get()) is not None:
            asked.append((question, answer))
        return answer

    async def _answer_now(self, question: Elicitation) -> ElicitationAnswer:
        if self.elicitation_handler is not None:
            schema = question.schema if question.url is None else {**question.schema, "x-url": question.url}
            content = await self.elicitation_handler(question.message, schema)
            return ElicitationAnswer("decline") if content is None else ElicitationAnswer("accept", dict(content))
        if _host is not None:
            return await _host.elicit(question)
        return ElicitationAnswer("decline")

    async def _sample(self, server: str, params: Any) -> Any:
        import mcp_types

        request = SamplingRequest(
            server=server,
            messages=[message.model_dump(by_alias=True, exclude_none=True, mode="json") for message in params.messages],
            max_tokens=params.max_tokens,
            system_prompt=params.system_prompt,
            temperature=params.temperature,
            stop_sequences=params.stop_sequences,
            model_preferences=params.model_preferences.model_dump(by_alias=True, exclude_none=True, mode="json")
            if params.model_preferences
            else None,
        )
        refused = mcp_types.ErrorData(code=-1, message="The user declined to have a model answer this.")
        try:
            answer = await self._put(lambda: self._sampled(request), None)
            if answer is None:
                return refused
            if isinstance(answer, str):
                answer = {"content": {"type": "text", "text": answer}}
            return mcp_types.CreateMessageResult.model_validate(
                {"role": "assistant", "model": "unknown", **answer}, by_alias=True, by_name=True
            )
        except Exception as error:  # noqa: BLE001 - as above
            logger.warning("the sampling request of the MCP server %r failed: %s", server, error)
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="The model could not answer.")

    async def _sampled(self, request: SamplingRequest) -> str | Mapping[str, Any] | None:
        assert self.sampling_handler is not None
        if _host is not None and not await _host.allow_sampling(request):
            return None
        return await self.sampling_handler(request)

    def _list_roots(self) -> Any:
        import mcp_types

        roots = [Path(root).expanduser().resolve() for root in self.roots or ()]
        return mcp_types.ListRootsResult.model_validate(
            {"roots": [{"uri": root.as_uri(), "name": root.name} for root in roots]}
        )


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


def _fault(schema: dict[str, Any], content: dict[str, Any]) -> str | None:
    """What is wrong with an answer by the server's own schema; a schema that can't be read is no reason to refuse."""
    error = bounded_check(schema)(content)
    if error is None:
        return None
    where = "".join(f"{part}: " for part in error.absolute_path)
    field = next(iter(error.absolute_path), None)
    properties = schema.get("properties")
    about = properties.get(field) if isinstance(properties, Mapping) else None
    if field is not None and is_secret_field(str(field), about if isinstance(about, Mapping) else {}):
        # The message quotes the value.
        return f"{where}it breaks {error.validator!r} of the form"
    return f"{where}{error.message}"[:300]
