"""Registry: which tools, servers and skills there are, and in which group.

Whatever comes in comes in whole or, with an error, not at all. A name belongs to one tool.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import BASIC, ResetTools, ToolGroup
from nbtoolkit.tool.making import as_tool, is_client, library_of, owner
from nbtoolkit.tool.options import listed
from nbtoolkit.tool.schemas import SchemaCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.skill import Skill, SkillLoaderBase
    from nbtoolkit.tool.making import LibraryTool

    Addable = ToolBase | MCPClient | LibraryTool | Callable[..., Any]

__all__ = ["Registry"]

T = TypeVar("T")


class Registry:
    """The groups and the registering of a Toolkit."""

    def __init__(
        self,
        tools: Sequence[ToolBase | Callable[..., Any]] | None = None,
        skills_or_loaders: Sequence[str | Path | Skill | SkillLoaderBase] | None = None,
        mcps: Sequence[MCPClient] | None = None,
        tool_groups: Sequence[ToolGroup] | None = None,
    ) -> None:
        self.state = AgentState()
        basic = ToolGroup(BASIC, skills_or_loaders=skills_or_loaders)
        self.tool_groups: list[ToolGroup] = [basic]
        self._index: dict[str, tuple[ToolBase, ToolGroup]] = {}
        # The name that each function was registered under last.
        self._functions: dict[tuple[str, ...], str] = {}
        self._schemas = SchemaCache()
        self._reset_tools = ResetTools(lambda: self.tool_groups[1:])
        self._skill_viewer: ToolBase | None = None
        self._admit([as_tool(tool) for tool in listed("tools", tools)], listed("mcps", mcps), basic)
        groups = listed("tool_groups", tool_groups)
        if any(type(group) is not ToolGroup and not isinstance(group, ToolGroup) for group in groups):
            raise TypeError(f"tool_groups must be a list of ToolGroups, but is {groups!r}")
        names = [group.name for group in groups]
        if len(set(names)) != len(names):
            raise ValueError("Tool groups must not contain duplicate tool groups.")
        for group in groups:
            self.add_group(group)

    # ------------------------------------------------------------------ groups
    def add_group(self, group: ToolGroup) -> ToolGroup:
        """Add a group; its tools come under this toolkit's names. Gives the toolkit's own copy of it."""
        if group.name == BASIC:
            raise ValueError("The 'basic' tool group is reserved: it holds what is always on. Choose another name.")
        if any(held.name == group.name for held in self.tool_groups):
            raise ValueError("Tool groups must not contain duplicate tool groups.")
        # A copy, since the same group may be given to another toolkit, which takes other tools out of it.
        own = copy.copy(group)
        own.tools, own.mcps, own.skills_or_loaders = [], [], list(group.skills_or_loaders)
        self._admit([as_tool(tool) for tool in group.tools], group.mcps, own)
        self.tool_groups.append(own)
        return own

    def group(self, name: str) -> ToolGroup:
        """The group of that name, else a KeyError that names those that exist."""
        for group in self.tool_groups:
            if group.name == name:
                return group
        held = ", ".join(group.name for group in self.tool_groups)
        raise KeyError(f"no tool group is called {name!r}; the groups are {held}")

    def activate(self, name: str) -> None:
        """Switch a group on in the notebook's own conversation."""
        active = self.state.tool_context.activated_groups
        if self.group(name).name != BASIC and name not in active:
            active.append(name)

    def deactivate(self, name: str) -> None:
        """Switch a group off; basic stays."""
        if self.group(name).name == BASIC:
            raise ValueError("The 'basic' tool group is reserved: it is always on.")
        active = self.state.tool_context.activated_groups
        if name in active:
            active.remove(name)

    def is_active(self, group: ToolGroup, state: AgentState | None = None) -> bool:
        """Whether a group is on in that conversation."""
        state = self.state if state is None else state
        return group.name == BASIC or group.name in state.tool_context.activated_groups

    def _chosen(self, groups: Sequence[str] | None, state: AgentState | None = None) -> list[ToolGroup]:
        """Basic and the groups named; None means those that are on."""
        if groups is None:
            return [group for group in self.tool_groups if self.is_active(group, state)]
        for name in listed("groups", groups):
            self.group(name)
        return [group for group in self.tool_groups if group.name == BASIC or group.name in groups]

    # ------------------------------------------------------------------ registering
    def register(self, tool: ToolBase | Callable[..., Any], group_name: str = BASIC) -> ToolBase:
        """Add one tool, or a function as one; a group that isn't there is made. The same thing replaces itself."""
        made = as_tool(tool)
        self._admit_by_name([made], (), group_name)
        return made

    async def add_tool(
        self,
        tool: Addable | Iterable[Addable],
        group_name: str = BASIC,
    ) -> None:
        """Add a tool, a function, an MCP client, or several: all of them, or with an error none."""
        self.add_tool_sync(tool, group_name)

    def add_tool_sync(
        self,
        tool: Addable | Iterable[Addable],
        group_name: str = BASIC,
    ) -> None:
        """``add_tool`` for a plain cell."""
        # A client and a callable may be iterable too, and are one thing all the same.
        one = is_client(tool) or callable(tool) or isinstance(tool, ToolBase | str) or not isinstance(tool, Iterable)
        # And so may another library's tool, where it is a pydantic model.
        one = one or library_of(tool) is not None
        several: list[Any] = [tool] if one else list(tool)  # type: ignore[arg-type]
        clients = [each for each in several if is_client(each)]
        tools = [as_tool(each) for each in several if not is_client(each)]
        self._admit_by_name(tools, clients, group_name)

    async def remove_tool(self, name: str | Iterable[str]) -> None:
        """Take tools out by name, or MCP servers with their tools; KeyError, and nothing taken out, where one isn't."""
        self.remove_tool_sync(name)

    def remove_tool_sync(self, name: str | Iterable[str]) -> None:
        """``remove_tool`` for a plain cell."""
        names = [name] if isinstance(name, str) else list(dict.fromkeys(name))
        servers = {client.name: group for group in self.tool_groups for client in group.mcps}
        for each in names:
            if each not in self._index and each not in servers:
                raise KeyError(f"no tool or MCP server is called {each!r}{self._near(each)}")
        for each in names:
            if each in self._index:
                tool, group = self._index.pop(each)
                group.tools.remove(tool)
                self._schemas.drop(tool)
            else:
                group = servers[each]
                group.mcps[:] = [client for client in group.mcps if client.name != each]

    def clear(self) -> None:
        """Take out all tools, groups, servers and skills; log, rules and mode stay."""
        self.tool_groups = [ToolGroup(BASIC)]
        self._index.clear()
        self._schemas.clear()
        self.state.tool_context.activated_groups.clear()

    def _admit_by_name(self, tools: Sequence[ToolBase], clients: Sequence[MCPClient], group_name: str) -> None:
        group = next((group for group in self.tool_groups if group.name == group_name), None)
        if group is not None:
            self._admit(tools, clients, group)
            return
        group = ToolGroup(group_name, f"The tools of the group {group_name}.")
        self._admit(tools, clients, group)
        # What replaced itself elsewhere needs no group here.
        if group.tools or group.mcps:
            self.tool_groups.append(group)

    def _admit(self, tools: Sequence[ToolBase], clients: Sequence[MCPClient], group: ToolGroup) -> None:
        """Put all of them in the group, or raise before anything has changed; the same thing replaces itself."""
        coming: dict[str, ToolBase] = {}
        for tool in tools:
            self._check_free(tool, coming, group)
            coming[tool.name] = tool
        servers = {client.name: client for client in clients}
        for client in servers.values():
            if client.is_stateful and not client.is_connected:
                raise ValueError(f"The MCP client '{client.name}' is stateful, but not connected.")
        self._check_servers(coming, servers)
        replaced = []
        for name, tool in coming.items():
            held = self._index.get(name) or self._renamed(tool)
            home = group if held is None else held[1]
            if held is None:
                home.tools.append(tool)
            elif held[0] is not tool:
                home.tools[home.tools.index(held[0])] = tool
                replaced.append((held[0], tool))
                self._index.pop(held[0].name)
            self._index[name] = (tool, home)
            if isinstance(tool, FunctionTool):
                self._functions[tool.identity] = name
        for client in servers.values():
            self._attach(client, group)
        for old, new in replaced:
            self._forget(old, new)

    def _renamed(self, tool: ToolBase) -> tuple[ToolBase, ToolGroup] | None:
        """The same function from an earlier run of its cell, under the name that it was given there."""
        func = getattr(tool, "func", None)
        if not isinstance(func, FunctionType) or "<" in func.__qualname__:
            return None
        held = self._index.get(self._functions.get(tool.identity, ""))
        before = None if held is None else getattr(held[0], "func", None)
        # One code is one run of the cell: there a function may be given several names, and a loop makes many of one.
        return held if isinstance(before, FunctionType) and before.__code__ is not func.__code__ else None

    def _check_free(self, tool: ToolBase, coming: dict[str, ToolBase], group: ToolGroup) -> None:
        name = tool.name
        if name in _OWN_NAMES:
            raise ValueError(f"the name {name!r} belongs to the toolkit's own tool; choose another one")
        held = (coming[name], group) if name in coming else self._index.get(name)
        if held is not None and held[0].identity != tool.identity:
            raise ValueError(
                f"two different tools are called {name!r}: {owner(held[0])}, in group {held[1].name!r}, and "
                f"{owner(tool)}. Give one of them another name, or remove the first."
            )

    def _check_servers(self, coming: dict[str, ToolBase], servers: dict[str, MCPClient]) -> None:
        """The names below ``mcp__SERVER__`` are that server's, whichever of the two comes first."""
        named = [*servers, *(client.name for client in self.mcps)] if servers else []
        for server in named:
            for other in named:
                if server != other and server.startswith(f"{other}__"):
                    raise ValueError(
                        f"the MCP servers {other!r} and {server!r} could give two tools one name, since all names of the "
                        f"first begin with 'mcp__{other}__' and of the second with 'mcp__{server}__'. Rename one of them."
                    )
        held = {name: tool for name, (tool, _) in self._index.items()} if servers else {}
        attached = [client.name for client in self.mcps] if coming else []
        for name, tool in {**held, **coming}.items():
            if not name.startswith("mcp__"):
                continue
            for server in (*servers, *attached):
                if name.startswith(f"mcp__{server}__") and tool.mcp_name != server:
                    raise ValueError(
                        f"two different tools could be called {name!r}: {owner(tool)}, and one of MCP server {server}, "
                        f"whose names all begin with 'mcp__{server}__'. Give the first another name."
                    )

    def _attach(self, client: MCPClient, group: ToolGroup) -> None:
        for held_by in self.tool_groups:
            for number, held in enumerate(held_by.mcps):
                if held.name == client.name:
                    held_by.mcps[number] = client
                    return
        group.mcps.append(client)

    def _forget(self, old: ToolBase, new: ToolBase) -> None:  # noqa: ARG002 - the permission looks at the new one
        """Drop what was made of a tool that another took the place of."""
        self._schemas.drop(old)

    # ------------------------------------------------------------------ what there is
    @property
    def mcps(self) -> list[MCPClient]:
        """The MCP servers of all groups."""
        return [client for group in self.tool_groups for client in group.mcps]

    def _near(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, [*self._index, *(client.name for client in self.mcps)], n=1)
        return f" Did you mean '{close[0]}'?" if close else ""


_OWN_NAMES = frozenset({ResetTools.name, "Skill"})
