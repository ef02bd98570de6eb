"""Answers that a server forms amiss, read where their meaning is clear.

A null is what isn't there, content of a kind that nobody knows is shown as it came, and a tool that is none costs itself
alone. Whatever is beyond that is left to the SDK, which refuses it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    import mcp_types

__all__ = ["Meaning", "Understood", "first_of_each"]

KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})
# Of content that nobody knows so much is shown.
SHOWN_CHARS = 20_000
FAULT_CHARS = 200


class Meaning:
    """What one session takes its server's answers for."""

    def __init__(self) -> None:
        # Set once the server was seen to list tools amiss; looking at each costs too much where all are well.
        self.version: str | None = None
        #: Which tools are left out of the lists, and why.
        self.left_out: dict[str, str] = {}

    def look_at_each_tool(self, version: str) -> bool:
        """Take of the lists from now on only what is a tool; False where that is done already."""
        done, self.version = self.version is not None, version
        return not done

    def of(self, result: dict[str, Any]) -> dict[str, Any]:
        """A request's result as the protocol has it; the very same where nothing is amiss."""
        if "content" in result or "structuredContent" in result:
            return _of_call(result)
        if self.version is not None and type(result.get("tools")) is list:
            return {**result, "tools": list(self._tools(result["tools"], self.version))}
        return result

    def _tools(self, tools: list[Any], version: str) -> Iterator[Any]:
        for given in tools:
            tool = _mended(given) if type(given) is dict and _fault(given, version) else given
            if fault := _fault(tool, version):
                name = tool.get("name") if type(tool) is dict else tool
                self.left_out[f"{name!r:.100}"] = fault
            else:
                yield tool


def first_of_each(tools: list[mcp_types.Tool]) -> tuple[list[mcp_types.Tool], list[str]]:
    """The tools without those that have the name of one before them, and the names of these."""
    found: dict[str, mcp_types.Tool] = {}
    twice: dict[str, None] = {}
    for tool in tools:
        if found.setdefault(tool.name, tool) is not tool:
            twice[tool.name] = None
    return list(found.values()), list(twice)


def _of_call(result: dict[str, Any]) -> dict[str, Any]:
    content = result.get("content")
    if result.get("isError", False) is None:
        result = {key: value for key, value in result.items() if key != "isError"}
    if content is None and type(result.get("structuredContent")) is dict:
        return {**result, "content": []}
    if type(content) is list and any(type(each) is dict and _is_unknown(each.get("type")) for each in content):
        result = {**result, "content": [_shown(each) for each in content]}
    return result


def _is_unknown(kind: object) -> bool:
    return type(kind) is str and kind not in KINDS


def _shown(content: Any) -> Any:
    if type(content) is not dict or not _is_unknown(content.get("type")):
        return content
    try:
        text = json.dumps(content, ensure_ascii=False, indent=2)
    except RecursionError:
        text = "(nested too deeply to be shown)"
    if len(text) > SHOWN_CHARS:
        text = f"{text[:SHOWN_CHARS]}\n… (cut: {len(text):,} characters)"
    return {"type": "text", "text": f"[content of a kind that isn't known here, {content['type']!r:.100}]\n{text}"}


def _fault(tool: Any, version: str) -> str:
    """What is wrong with a tool by the protocol's version; nothing where it is one."""
    from mcp_types.methods import validate_server_result
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
    from pydantic import ValidationError

    around = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    page = {"tools": [tool], **(around if version in MODERN_PROTOCOL_VERSIONS else {})}
    try:
        validate_server_result("tools/list", version, page)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, each['loc'][2:]))}: {each['msg']}" for each in faults[:3])[:FAULT_CHARS]
    return ""


def _mended(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool whose arguments are an object, whatever its server says or doesn't say of them."""
    kept = {key: value for key, value in tool.items() if value is not None}
    schema = kept.setdefault("inputSchema", {})
    if type(schema) is dict and schema.get("type") != "object":
        kept["inputSchema"] = {**schema, "type": "object"}
    if type(kept.get("outputSchema")) is dict and not kept["outputSchema"]:
        # It says nothing.
        del kept["outputSchema"]
    return kept


class Understood:
    """The SDK's stream of messages, with the meaning of each answer."""

    def __init__(self, inner: Any, meaning: Meaning) -> None:
        self._inner = inner
        self._meaning = meaning

    @property
    def last_context(self) -> Any:
        """Whose context the last message came in, where the stream knows."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """The next message; EndOfStream when there is none any more."""
        item = await self._inner.receive()
        message = getattr(item, "message", None)
        result = getattr(message, "result", None)
        if message is not None and type(result) is dict:
            message.result = self._meaning.of(result)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Take no more."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
