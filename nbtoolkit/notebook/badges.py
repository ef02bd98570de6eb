"""One word on a tool: what would become of a call of it, as far as that can be said without its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbtoolkit.permission.modes import MODES
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode
from nbtoolkit.permission.subject import Effect

if TYPE_CHECKING:
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Badge", "badge"]

# Built-ins that change files and nothing else; mode accept_edits allows them inside the working directories.
_EDITS = frozenset({"Write", "Edit"})
_WORDS = {
    PermissionBehavior.ALLOW: "allowed",
    PermissionBehavior.ASK: "asks",
    PermissionBehavior.DENY: "denied",
    PermissionBehavior.PASSTHROUGH: "asks",
}


class Badge(NamedTuple):
    """The word, and why: ``asks`` ``in mode default``."""

    word: str
    why: str


def badge(toolkit: Toolkit, group: ToolGroup, tool: ToolBase) -> Badge:
    """What becomes of a call of this tool that no rule for certain arguments and no safety question is about."""
    if not toolkit.is_active(group):
        return Badge("off", f"with its group {group.name}")
    mode = toolkit.mode
    by_rule = _rules(toolkit, tool)
    if PermissionBehavior.DENY in by_rule:
        return Badge("denied", "by a rule")
    if PermissionBehavior.ASK in by_rule:
        row = MODES[mode]
        return Badge(_WORDS[row.ask_rule], "by a rule")
    effect = _effect(tool)
    if effect is Effect.READ:
        return Badge("allowed", "as read-only")
    own = getattr(tool, "permission", None)
    row = MODES[mode]
    if own is not None and own.behavior is PermissionBehavior.DENY:
        return Badge("denied", "by its own word")
    if row.widens and own is not None and own.behavior is PermissionBehavior.ALLOW:
        return Badge("allowed", "by its own word")
    if row.widens and PermissionBehavior.ALLOW in by_rule:
        return Badge("allowed", "by a rule")
    word = _WORDS[row.effects[effect]]
    some = _some_rules(toolkit, tool)
    return Badge(word, f"in mode {PermissionMode(mode).value}" + (f"; {some}" if some else ""))


def _effect(tool: ToolBase) -> Effect:
    if tool.is_read_only:
        claimed = tool.is_mcp and not getattr(tool, "trust_annotations", False)
        return Effect.READ_CLAIMED if claimed else Effect.READ
    if tool.name in _EDITS and tool.origin == "Built-in tool":
        return Effect.EDIT
    return Effect.OTHER


def _is_about(rule_tool: str, tool: ToolBase) -> bool:
    return rule_tool == tool.name or (tool.mcp_name is not None and rule_tool == f"mcp__{tool.mcp_name}")


def _rules(toolkit: Toolkit, tool: ToolBase) -> set[PermissionBehavior]:
    """What rules say of the whole tool."""
    return {rule.behavior for rule in toolkit.rules if rule.rule_content is None and _is_about(rule.tool_name, tool)}


def _some_rules(toolkit: Toolkit, tool: ToolBase) -> str:
    """How many rules are about some of its calls."""
    found = [rule for rule in toolkit.rules if rule.rule_content is not None and _is_about(rule.tool_name, tool)]
    if not found:
        return ""
    return f"{len(found)} rule{'s' if len(found) != 1 else ''} for some of its calls"
