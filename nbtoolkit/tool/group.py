"""ToolGroup, tools that are switched on together, and ResetTools, the tool by which a model switches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.options import check_text, listed
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.skill import Skill, SkillLoaderBase
    from nbtoolkit.state import AgentState

__all__ = ["BASIC", "ResetTools", "ToolGroup"]

# Always on; what a Toolkit's own arguments hold goes here.
BASIC = "basic"


class ToolGroup:
    """Tools, MCP servers and skills under one name, that a model switches on by its description.

    ``instructions`` are given to the model when it switches the group on.
    """

    def __init__(
        self,
        name: str,
        description: str | None = None,
        instructions: str | None = None,
        tools: Sequence[ToolBase] | None = None,
        skills_or_loaders: Sequence[str | Path | Skill | SkillLoaderBase] | None = None,
        mcps: Sequence[MCPClient] | None = None,
    ) -> None:
        check_text("a tool group's name", name)
        check_text(f"the description of the tool group {name!r}", description or "")
        if not name:
            raise ValueError(f"a tool group needs a name, but got {name!r}")
        if not description and name != BASIC:
            raise ValueError(f"the tool group {name!r} needs a description: it is what a model decides by")
        self.name = name
        self.description = description or "Always on."
        self.instructions = instructions
        self.tools: list[ToolBase] = listed("tools", tools)
        self.skills_or_loaders: list[str | Path | Skill | SkillLoaderBase] = []
        if skills_or_loaders:
            from nbtoolkit.skill import checked_sources

            self.skills_or_loaders = checked_sources(skills_or_loaders)
        self.mcps: list[MCPClient] = listed("mcps", mcps)

    def __repr__(self) -> str:
        return f"ToolGroup({self.name!r}, {len(self.tools)} tools, {len(self.mcps)} MCP servers)"


class ResetTools(ToolBase):
    """Sets which groups are on: the final state, not a change."""

    name = "reset_tools"
    is_read_only = True
    is_state_injected = True
    is_concurrency_safe = False
    description = (
        "Choose which tool groups are active. The arguments are the final state: a group that is left out or false is "
        "switched off. Answers with the instructions of the groups that are on."
    )

    def __init__(self, groups: Callable[[], Sequence[ToolGroup]]) -> None:
        super().__init__()
        self._groups = groups

    @property
    def input_schema(self) -> dict[str, Any]:  # type: ignore[override]
        """One boolean for each group."""
        properties = {
            group.name: {"type": "boolean", "description": group.description, "default": False}
            for group in self._groups()
        }
        return {"type": "object", "properties": properties, "additionalProperties": False}

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """Always allowed: it runs nothing."""
        return PermissionDecision(PermissionBehavior.ALLOW, "Switching groups runs nothing.")

    def validate_input(self, arguments: dict[str, Any]) -> Arguments:
        """Take what came: the call itself names the groups that don't exist."""
        from nbtoolkit.schema.arguments import Arguments

        return Arguments(dict(arguments), dict(arguments))

    async def call(self, /, *, _agent_state: AgentState, **groups: Any) -> ToolChunk:
        """Switch the groups."""
        known = {group.name: group for group in self._groups()}
        unknown = sorted(set(groups) - set(known))
        if unknown:
            text = f"Invalid group name(s): {', '.join(unknown)}. The groups are: {', '.join(known)}."
            return ToolChunk.of(text, ToolResultState.ERROR)
        wrong = {name: value for name, value in groups.items() if not isinstance(value, bool)}
        if wrong:
            said = ", ".join(f"{name} is {value!r}" for name, value in wrong.items())
            return ToolChunk.of(f"Each group is true or false, but {said}.", ToolResultState.ERROR)
        active = [name for name in known if groups.get(name)]
        _agent_state.tool_context.activated_groups[:] = active
        if not active:
            return ToolChunk.of("Only the basic group is active now.")
        lines = [f"Active groups: {', '.join(active)}."]
        lines += [f"\n## {name}\n{known[name].instructions}" for name in active if known[name].instructions]
        return ToolChunk.of("\n".join(lines))
