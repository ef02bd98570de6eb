"""What a server tells of by itself: that its tools changed, or a resource that was subscribed to.

In the older eras the session hears of lists without asking and each resource is subscribed to by a request; in the newer
one both come by one stream, which is opened again with what it is to tell of, and when it was lost.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import mcp

__all__ = ["Watch", "Watcher"]

logger = logging.getLogger("nbtoolkit.mcp")

# A stream that was lost is opened again, at first soon.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0


class Watch:
    """What one client wants to hear of; it outlives the sessions."""

    def __init__(self, on_tools_changed: Callable[[], None]) -> None:
        self.on_tools_changed = on_tools_changed
        self.resources: dict[str, list[Callable[[str], object]]] = {}

    def updated(self, uri: str) -> None:
        """A resource has changed; those that subscribed to it, or to what it is a part of, are told."""
        for watched, callbacks in list(self.resources.items()):
            if uri != watched and not uri.startswith(watched.rstrip("/") + "/"):
                continue
            for callback in list(callbacks):
                try:
                    callback(uri)
                except Exception:
                    logger.warning("a function that is told of %r failed", uri, exc_info=True)


class Watcher:
    """One session's ear."""

    def __init__(self, client: mcp.Client, watch: Watch) -> None:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        self._client = client
        self._watch = watch
        self._modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        tools = client.server_capabilities.tools
        self._tools = tools is not None and bool(tools.list_changed)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Hear of the tools, and again of all that the client has subscribed to."""
        if self._modern:
            self._listen()
            return
        for uri in list(self._watch.resources):
            try:
                await self._request(uri, subscribe=True)
            except Exception:
                # It was there in the session before; a server may have lost it.
                logger.warning("the resource %r can't be subscribed to again", uri, exc_info=True)

    async def change(self, uri: str, *, subscribe: bool) -> None:
        """Subscribe to one resource more, or to one less; MCPError where the server has no such thing."""
        if self._modern:
            await self.stop()
            self._listen()
        else:
            await self._request(uri, subscribe=subscribe)

    async def stop(self) -> None:
        """Hear no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _request(self, uri: str, *, subscribe: bool) -> None:
        import mcp_types

        request: Any
        if subscribe:
            request = mcp_types.SubscribeRequest(params=mcp_types.SubscribeRequestParams(uri=uri))
        else:
            request = mcp_types.UnsubscribeRequest(params=mcp_types.UnsubscribeRequestParams(uri=uri))
        await self._client.session.send_request(request, mcp_types.EmptyResult)

    def _listen(self) -> None:
        if self._tools or self._watch.resources:
            self._task = asyncio.create_task(self._hear(list(self._watch.resources)))

    async def _hear(self, uris: list[str]) -> None:
        from mcp.client.subscriptions import ResourceUpdated

        pause, lost = FIRST_PAUSE, False
        while True:
            try:
                async with self._client.listen(tools_list_changed=self._tools, resource_subscriptions=uris) as stream:
                    pause = FIRST_PAUSE
                    if lost:
                        # Nobody told of what changed meanwhile.
                        self._watch.on_tools_changed()
                        for uri in uris:
                            self._watch.updated(uri)
                    async for event in stream:
                        if isinstance(event, ResourceUpdated):
                            self._watch.updated(str(event.uri))
                        else:
                            self._watch.on_tools_changed()
            except Exception:
                logger.debug("the server's stream of changes was lost", exc_info=True)
            lost = True
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
