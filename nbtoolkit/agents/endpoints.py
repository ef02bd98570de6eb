"""Where ``toolkit.chat`` sends its requests: an OpenAI-compatible or an Anthropic endpoint, through the official SDK.

Local servers (Ollama, vLLM, llama.cpp) are reached by ``base_url``, or by the SDKs' own environment variables.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from nbtoolkit.agents.adapting import missing
from nbtoolkit.agents.dialects.base import plain
from nbtoolkit.agents.reading import DIALECTS
from nbtoolkit.exception import DeveloperOrientedException

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from nbtoolkit.agents.dialects.base import Dialect

__all__ = ["Endpoint", "endpoint_for"]

PROVIDERS = ("openai", "anthropic")
# Anthropic wants a limit for each reply; a long answer with its calls stays below this.
REPLY_TOKENS = 8_192


class Endpoint(Protocol):
    """One model at one place, for one prompt."""

    dialect: Dialect
    model: str

    def stream(
        self, system: str, messages: list[Any], tools: list[dict[str, Any]], most: int | None
    ) -> AsyncIterator[Mapping[str, Any]]:
        """The pieces of the reply; ``most`` tokens at most, where the budget says so."""

    def text(self, piece: Mapping[str, Any]) -> str:
        """The text that a piece adds to what the model says."""

    def tokens(self, reply: Mapping[str, Any]) -> int | None:
        """What the whole request cost, where the server says so."""

    def was_cut(self, reply: Mapping[str, Any]) -> bool:
        """Whether the reply ended at a limit of its length."""

    async def close(self) -> None:
        """Close what it opened."""


def endpoint_for(
    model: str,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    client: Any = None,
) -> Endpoint:
    """The endpoint of a model.

    ``provider`` is openai (also for all that speak like it) or anthropic; without one a name that begins with
    "openai:" or "anthropic:" says it, one that begins with "claude" is Anthropic's, and any other OpenAI's.
    """
    head, colon, rest = model.partition(":")
    if provider is None and colon and head in PROVIDERS:
        provider, model = head, rest
    if provider is None and client is not None:
        provider = type(client).__module__.partition(".")[0]
    if provider is None:
        provider = "anthropic" if model.startswith("claude") else "openai"
    if provider not in PROVIDERS:
        raise ValueError(f"{provider!r} is no provider; expected one of {', '.join(PROVIDERS)}")
    made: type[_OpenAI | _Anthropic] = _Anthropic if provider == "anthropic" else _OpenAI
    return made(model, base_url, api_key, client)


def _key(given: str | None, variables: tuple[str, ...], base_url: str | None) -> str | None:
    """The key; a local server takes any, but the SDKs insist on one."""
    if given is not None or any(os.environ.get(name) for name in variables):
        return given
    if base_url is not None:
        return "not-needed"
    raise DeveloperOrientedException(
        f"no key for the model's provider: set {variables[0]} or pass api_key=…; for a server of your own pass "
        "base_url='http://…'"
    )


class _Speaker:
    """A model behind a provider's client; one that was made here is closed here."""

    def __init__(self, model: str, base_url: str | None, api_key: str | None, client: Any) -> None:
        self.model = model
        self._own = client is None
        self._client = self._made(base_url, api_key) if client is None else client

    def _made(self, base_url: str | None, api_key: str | None) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        if self._own:
            await self._client.close()


class _OpenAI(_Speaker):
    dialect = DIALECTS["openai"]

    def _made(self, base_url: str | None, api_key: str | None) -> Any:
        try:
            from openai import AsyncOpenAI
        except ImportError as error:
            raise missing("openai", "chat") from error
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        return AsyncOpenAI(base_url=base_url, api_key=_key(api_key, ("OPENAI_API_KEY",), base_url))

    async def stream(
        self, system: str, messages: list[Any], tools: list[dict[str, Any]], most: int | None
    ) -> AsyncIterator[Mapping[str, Any]]:
        before = [{"role": "system", "content": system}] if system else []
        options: dict[str, Any] = {"tools": tools} if tools else {}
        if most is not None:
            # OpenAI's own newer models refuse the name that all other servers know.
            own = self._client.base_url.host == "api.openai.com"
            options["max_completion_tokens" if own else "max_tokens"] = most
        stream = await self._client.chat.completions.create(
            model=self.model,
            messages=[*before, *messages],
            stream=True,
            stream_options={"include_usage": True},
            **options,
        )
        async with stream:
            async for piece in stream:
                yield plain(piece)

    def text(self, piece: Mapping[str, Any]) -> str:
        for choice in (piece.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            return str(delta.get("content") or delta.get("refusal") or "")
        return ""

    def tokens(self, reply: Mapping[str, Any]) -> int | None:
        usage = reply.get("usage") or {}
        total = usage.get("total_tokens")
        return int(total) if total is not None else None

    def was_cut(self, reply: Mapping[str, Any]) -> bool:
        return bool(reply["choices"][0].get("finish_reason") == "length")


class _Anthropic(_Speaker):
    dialect = DIALECTS["anthropic"]

    def _made(self, base_url: str | None, api_key: str | None) -> Any:
        try:
            from anthropic import AsyncAnthropic
        except ImportError as error:
            raise missing("anthropic", "chat") from error
        base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
        key = _key(api_key, ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), base_url)
        return AsyncAnthropic(base_url=base_url, api_key=key)

    async def stream(
        self, system: str, messages: list[Any], tools: list[dict[str, Any]], most: int | None
    ) -> AsyncIterator[Mapping[str, Any]]:
        options: dict[str, Any] = {"tools": tools} if tools else {}
        if system:
            options["system"] = system
        stream = await self._client.messages.create(
            model=self.model,
            messages=messages,
            max_tokens=REPLY_TOKENS if most is None else min(most, REPLY_TOKENS),
            stream=True,
            **options,
        )
        async with stream:
            async for piece in stream:
                yield plain(piece)

    def text(self, piece: Mapping[str, Any]) -> str:
        delta = piece.get("delta") or {}
        return str(delta.get("text") or "") if delta.get("type") == "text_delta" else ""

    def tokens(self, reply: Mapping[str, Any]) -> int | None:
        usage = reply.get("usage") or {}
        counted = [value for key, value in usage.items() if key.endswith("_tokens") and isinstance(value, int)]
        return sum(counted) if counted else None

    def was_cut(self, reply: Mapping[str, Any]) -> bool:
        return reply.get("stop_reason") == "max_tokens"
