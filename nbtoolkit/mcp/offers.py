"""What servers offer beside tools: resources, which may be subscribed to, prompts, and proposals for their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    import mcp_types

    from nbtoolkit.mcp.connection import Connection
    from nbtoolkit.mcp.session import Session
    from nbtoolkit.message import DataBlock, TextBlock

__all__ = ["Offers"]

T = TypeVar("T")


class Offers:
    """The part of an MCPClient that reads them; all that comes is the server's."""

    if TYPE_CHECKING:
        name: str
        is_stateful: bool

        @property
        def _connection(self) -> Connection: ...

        async def _fetch(self, ask: Callable[[Session], Awaitable[T]]) -> T: ...

        async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T: ...

    async def list_resources(self) -> list[mcp_types.Resource]:
        """The server's resources, all pages; none where it has none to offer."""
        return await self._fetch(lambda session: session.offered("list_resources", "resources"))

    async def list_resource_templates(self) -> list[mcp_types.ResourceTemplate]:
        """The patterns of URIs that the server can read."""
        return await self._fetch(lambda session: session.offered("list_resource_templates", "resource_templates"))

    async def read_resource(self, uri: str) -> list[TextBlock | DataBlock]:
        """A resource's contents; all of it is the server's."""
        from nbtoolkit.mcp.content import resource_block

        result = await self._fetch(lambda session: session.ask("read_resource", uri))
        return [resource_block(each) for each in result.contents]

    async def subscribe_resource(self, uri: str, on_update: Callable[[str], object]) -> None:
        """Call ``on_update(uri)`` when the resource, or a part of it, has changed, until it is unsubscribed.

        In the portal's thread, so keep it short. It goes on after a reconnect. ValueError for a client that keeps no
        session; MCPError where the server knows no subscriptions.
        """
        from nbtoolkit.mcp.caller import here

        if not self.is_stateful:
            raise ValueError(f"The MCP client {self.name!r} keeps no session that could be told (is_stateful=False).")
        await self._run(self._connection.subscribe(uri, on_update, here()))

    async def unsubscribe_resource(self, uri: str) -> None:
        """Hear no more of the resource; one that wasn't subscribed to is fine."""
        from nbtoolkit.mcp.caller import here

        await self._run(self._connection.unsubscribe(uri, here()))

    async def list_prompts(self) -> list[mcp_types.Prompt]:
        """The server's prompts, all pages; none where it has none to offer."""
        return await self._fetch(lambda session: session.offered("list_prompts", "prompts"))

    async def get_prompt(self, name: str, /, **arguments: str) -> list[tuple[str, TextBlock | DataBlock]]:
        """A prompt's messages, as pairs of role and content."""
        from nbtoolkit.mcp.content import to_block

        result = await self._fetch(lambda session: session.ask("get_prompt", name, arguments))
        return [(message.role, to_block(message.content)) for message in result.messages]

    async def complete(
        self,
        argument: str,
        value: str,
        *,
        prompt: str | None = None,
        template: str | None = None,
        given: dict[str, str] | None = None,
    ) -> list[str]:
        """The server's proposals for an argument of a prompt or of a resource template; ``given`` are the others."""
        import mcp_types

        if (prompt is None) == (template is None):
            raise ValueError("complete() takes prompt= or template=, one of the two")
        reference: mcp_types.PromptReference | mcp_types.ResourceTemplateReference
        if prompt is not None:
            reference = mcp_types.PromptReference(name=prompt)
        else:
            reference = mcp_types.ResourceTemplateReference(uri=str(template))
        pair = {"name": argument, "value": value}
        result = await self._fetch(lambda session: session.ask("complete", reference, pair, given))
        return list(result.completion.values)
