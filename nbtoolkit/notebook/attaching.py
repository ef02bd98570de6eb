"""Servers, from a configuration to tools in the toolkit: attached at once, or at first use where a rules' file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit import hooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.permission.store import StoredServer
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["attach", "attached", "restart_hint", "start", "stored"]


def attach(toolkit: Toolkit, client: MCPClient) -> None:
    """Connect, and only then close the one of that name: a server that works isn't lost to one that doesn't start."""
    held = next((each for each in toolkit.mcps if each.name == client.name), None)
    hooks.drive(client.connect(client.execution_timeout))
    try:
        hooks.drive(client.check_choice())
        toolkit.add_tool_sync(client)
    except BaseException:
        hooks.drive(client.close())
        raise
    if held is not None and held is not client:
        hooks.drive(held.close())


def attached(toolkit: Toolkit) -> dict[str, MCPClient]:
    """The servers by name: those of the toolkit, and those of single tools that were added without their server."""
    from nbtoolkit.mcp import MCPTool

    tools = [tool for group in toolkit.tool_groups for tool in group.tools]
    alone = {tool.client.name: tool.client for tool in tools if isinstance(tool, MCPTool)}
    return alone | {client.name: client for client in toolkit.mcps}


def restart_hint(get_toolkit: Callable[[], Toolkit]) -> Callable[[str], str]:
    """Says what to write to have a server again, where this toolkit knows it."""

    def hint(name: str) -> str:
        return f", or write %toolkit mcp restart {name}" if name in attached(get_toolkit()) else ""

    return hint


def stored(toolkit: Toolkit) -> dict[str, StoredServer]:
    """The servers that the project's and the person's file name and that aren't attached."""
    store = toolkit.engine.store
    here = attached(toolkit)
    return {} if store is None else {name: each for name, each in store.mcp_servers.items() if name not in here}


def start(toolkit: Toolkit, name: str) -> MCPClient:
    """Attach one of them, as its file names it now.

    StoreError where the file isn't accepted as it is, ValueError where no server can be made of what it says.
    """
    from nbtoolkit.mcp.imports import plan_server
    from nbtoolkit.permission.store import USER

    store = toolkit.engine.store
    if store is None:
        raise ValueError(f"no file of rules names a server {name!r}")
    source = store.mcp_servers[name].source
    file = store.user_path if source == USER and store.user_path is not None else store.project_path
    planned = plan_server(name, store.server(name), file)
    if planned.client is None:
        raise ValueError(f"{file.name}: server {name!r}: {planned.problem}")
    attach(toolkit, planned.client)
    return planned.client
