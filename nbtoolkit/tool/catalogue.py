"""Catalogue: looking tools up, and what a model is told of them and of the skills.

One server that is down, or one tool that can't be told of, costs itself and no other.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit import hooks
from nbtoolkit.exception import ToolGroupInactiveError, ToolkitWarning, ToolNotFoundError
from nbtoolkit.tool.group import BASIC, ToolGroup
from nbtoolkit.tool.registry import Registry
from nbtoolkit.tool.schemas import form_of

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence
    from pathlib import Path

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.skill import Skill, SkillLoaderBase
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.limits import SchemaNote

__all__ = ["Catalogue"]

T = TypeVar("T")


class Catalogue(Registry):
    """The looking up and telling of a Toolkit."""

    # ------------------------------------------------------------------ looking up
    def find_now(self, name: str, state: AgentState | None = None) -> ToolBase | None:
        """The registered tool of that name in an active group; None where ``find`` has to look further or to say why."""
        held = self._index.get(name)
        if held is None:
            held = self._known_of_servers(name) if name.startswith("mcp__") else None
        if held is None:
            return None
        tool, group = held
        return tool if group.name == BASIC or self.is_active(group, state) else None

    def _known_of_servers(self, name: str) -> tuple[ToolBase, ToolGroup] | None:
        """A server's tool, where its list is known: nothing is asked, however many tools there are."""
        for group in self.tool_groups:
            for client in group.mcps:
                if (tool := client.known_tool(name)) is not None:
                    return tool, group
        return None

    async def find(self, name: str, state: AgentState | None = None) -> ToolBase:
        """The tool of that name in an active group; ToolNotFoundError or ToolGroupInactiveError."""
        held = self._index.get(name)
        if held is None:
            held = await self._find_elsewhere(name)
        tool, group = held
        if not self.is_active(group, state):
            raise ToolGroupInactiveError(
                f"The tool '{name}' in group '{group.name}' is currently inactive. You should first activate the "
                "group by calling the 'reset_tools' tool."
            )
        return tool

    async def _find_elsewhere(self, name: str) -> tuple[ToolBase, ToolGroup]:
        basic = self.tool_groups[0]
        if name == self._reset_tools.name and len(self.tool_groups) > 1:
            return self._reset_tools, basic
        # Its own answer tells more than that there is no such tool, where the skills have gone since.
        if name == "Skill" and any(group.skills_or_loaders for group in self.tool_groups):
            return self._viewer(), basic
        down: dict[str, Exception] = {}
        if name.startswith("mcp__"):
            for group in self.tool_groups:
                for client in group.mcps:
                    for tool in await self._tools_of(client, down):
                        if tool.name == name:
                            return tool, group
        for server, error in down.items():
            if name.startswith(f"mcp__{server}__"):
                # That it doesn't exist would be more than anybody knows.
                raise ToolNotFoundError(
                    f"The tool named '{name}' was not found, since its server couldn't list its tools: {error}"
                )
        raise ToolNotFoundError(f"The tool named '{name}' doesn't exist.{self._near(name)}")

    async def _tools_of(self, client: MCPClient, down: dict[str, Exception] | None = None) -> Sequence[ToolBase]:
        """A server's tools; one that is ``down`` costs its own tools, with a warning, and no others."""
        try:
            tools = await client.list_tools()
        except Exception as error:  # noqa: BLE001 - whatever ails one server must not take the others with it
            warnings.warn(f"the MCP server {client.name!r} is left out: {error}", ToolkitWarning, stacklevel=3)
            if down is not None:
                down[client.name] = error
            return ()
        # One that was registered by itself is listed where it was put.
        return [tool for tool in tools if tool.name not in self._index]

    async def _meta_tools(self, groups: Iterable[ToolGroup]) -> list[ToolBase]:
        """The toolkit's own tools, where these groups give them something to do."""
        found: list[ToolBase] = []
        if len(self.tool_groups) > 1:
            found.append(self._reset_tools)
        sources = [each for group in groups for each in group.skills_or_loaders]
        if sources:
            from nbtoolkit.skill import load_skills

            if await load_skills(sources):
                found.append(self._viewer())
        return found

    def _viewer(self) -> ToolBase:
        if self._skill_viewer is None:
            from nbtoolkit.skill import SkillViewer

            self._skill_viewer = SkillViewer(self._skill_sources)
        return self._skill_viewer

    def _skill_sources(self, state: AgentState | None) -> list[str | Path | Skill | SkillLoaderBase]:
        return [each for group in self._chosen(None, state) for each in group.skills_or_loaders]

    async def all_tools(self) -> list[tuple[ToolGroup, ToolBase]]:
        """Every tool with its group, active or not, in the order of registration."""
        found = [(self.tool_groups[0], meta) for meta in await self._meta_tools(self.tool_groups)]
        for group in self.tool_groups:
            found.extend((group, tool) for tool in group.tools)
            for client in group.mcps:
                found.extend((group, tool) for tool in await self._tools_of(client))
        return found

    def all_tools_sync(self) -> list[tuple[ToolGroup, ToolBase]]:
        """``all_tools`` for a plain cell."""
        return self._run(self.all_tools())

    async def get_tool(self, name: str) -> ToolBase | None:
        """The tool of that name, in whatever group, or None."""
        held = self._index.get(name)
        if held is not None:
            return held[0]
        try:
            return (await self._find_elsewhere(name))[0]
        except ToolNotFoundError:
            return None

    def get_tool_sync(self, name: str) -> ToolBase | None:
        """``get_tool`` for a plain cell."""
        return self._run(self.get_tool(name))

    async def check_tool_available(self, name: str, groups: Sequence[str] | None = None) -> bool:
        """Whether a tool can be called when these groups are on; None means those that are on now."""
        held = self._index.get(name)
        if held is None:
            try:
                held = await self._find_elsewhere(name)
            except ToolNotFoundError:
                return False
        group = held[1]
        return self.is_active(group) if groups is None else group.name == BASIC or group.name in groups

    async def get_tool_schemas(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
        *,
        strict: bool = False,
    ) -> list[dict[str, Any]]:
        """The schemas of basic and of the groups named; None means those that are on now.

        ``format``: openai, openai_responses, anthropic, gemini or mcp. ``strict`` asks OpenAI and Anthropic to hold the
        model to the schema, for the tools that their strict mode can take. What a provider's limits changed is in
        ``schema_notes``. The parameters are shared and refuse to be changed; ``copy.deepcopy`` gives ordinary ones.
        """
        form = form_of(format, strict=strict)
        return self._schemas.schemas(await self.listed(groups), form, strict=strict)

    async def schema_notes(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
        *,
        strict: bool = False,
    ) -> list[SchemaNote]:
        """What a provider's limits changed in the schemas that ``get_tool_schemas`` gives for the same arguments."""
        form = form_of(format, strict=strict)
        return self._schemas.notes(await self.listed(groups), form, strict=strict)

    async def listed(self, groups: Sequence[str] | None = None, state: AgentState | None = None) -> list[ToolBase]:
        """The tools of basic and of the groups named, as a model is told of them; None means those that are on."""
        chosen = self._chosen(groups, state)
        # Groups come and change their descriptions.
        self._schemas.drop(self._reset_tools)
        tools = await self._meta_tools(chosen)
        for group in chosen:
            tools += group.tools
            for client in group.mcps:
                tools += await self._tools_of(client)
        return tools

    def get_tool_schemas_sync(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
        *,
        strict: bool = False,
    ) -> list[dict[str, Any]]:
        """``get_tool_schemas`` for a plain cell."""
        return self._run(self.get_tool_schemas(groups, format, strict=strict))

    def schema_notes_sync(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
        *,
        strict: bool = False,
    ) -> list[SchemaNote]:
        """``schema_notes`` for a plain cell."""
        return self._run(self.schema_notes(groups, format, strict=strict))

    async def as_sent(self, name: str, format: str) -> tuple[str, dict[str, str]]:  # noqa: A002
        """The tool's own name for one that was sent in that form, and its own argument names for the sent ones."""
        if name not in self._index and name[:1] == "_" and name[1:] in self._index:
            name = name[1:]
        held = self._index.get(name)
        tool = held[0] if held is not None else await self.get_tool(name)
        return name, {} if tool is None else self._schemas.fitted(tool, form_of(format)).renamed

    async def get_skill_instructions(self, groups: Sequence[str] | None = None, state: AgentState | None = None) -> str:
        """The index of the skills of basic and the groups named, for a system prompt; empty without skills.

        None means the groups that are on in that conversation, by default the notebook's own.
        """
        sources = [each for group in self._chosen(groups, state) for each in group.skills_or_loaders]
        if not sources:
            return ""
        from nbtoolkit.skill import skill_index

        return await skill_index(sources)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        result: T = hooks.drive(coroutine)
        return result
