"""Rules that do nothing: those that can never match, and those that another rule makes needless."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Literal

from nbtoolkit.permission.conditions import parse_content
from nbtoolkit.permission.covering import conditions_cover, path_covers
from nbtoolkit.permission.pattern import is_path_pattern, path_pattern
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.permission.engine import Judged, PermissionEngine

__all__ = ["RuleFault", "report"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY

_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*==?\s*")
_STRONGER = {ALLOW: (DENY, ASK, ALLOW), ASK: (DENY, ASK), DENY: (DENY,)}


@dataclass(frozen=True, slots=True)
class RuleFault:
    """One rule that does nothing, or not what it seems to, and why."""

    rule: PermissionRule
    kind: Literal["dead", "shadowed", "unclear"]
    text: str

    def __str__(self) -> str:
        return f"{self.rule.behavior.value} {self.rule} ({self.rule.source}): {self.text}"


def report(engine: PermissionEngine, tools: Sequence[Judged]) -> list[RuleFault]:
    """A warning for each rule of the context and the grants that does nothing with these tools."""
    context = engine.context
    own = (context.deny_rules, context.ask_rules, context.allow_rules)
    rules = [rule for by_name in own for several in by_name.values() for rule in several]
    rules += list(engine.grants)
    by_name = {tool.name: tool for tool in tools}
    servers: dict[str, list[Judged]] = {}
    for tool in tools:
        if tool.is_mcp and tool.mcp_name:
            servers.setdefault(f"mcp__{tool.mcp_name}", []).append(tool)
    faults: list[RuleFault] = []
    by_tool: dict[str, list[PermissionRule]] = {}
    for rule in rules:
        meant = [by_name[rule.tool_name]] if rule.tool_name in by_name else servers.get(rule.tool_name, [])
        fault = _alone(rule, meant, (*by_name, *servers), engine.base)
        if fault is not None:
            faults.append(fault)
        if fault is None or fault.kind != "dead":
            # A dead one shadows nothing, and is told of once.
            by_tool.setdefault(rule.tool_name, []).append(rule)
    for name, several in by_tool.items():
        named = by_name.get(name)
        covers = getattr(named, "rule_covers", None)
        paths = named is not None and _takes_paths(named)
        faults.extend(_shadowed(several, covers or partial(_covers_more, base=engine.base, paths=paths)))
    return faults


def _alone(rule: PermissionRule, tools: Sequence[Judged], names: Iterable[str], base: str) -> RuleFault | None:
    if not tools:
        near = get_close_matches(rule.tool_name.removesuffix("__*"), list(names), n=1)
        hint = f" Is {near[0]!r} meant?" if near else ""
        return RuleFault(rule, "dead", f"there is no tool or MCP server {rule.tool_name!r} here.{hint}")
    if rule.tool_name not in {tool.name for tool in tools} and rule.behavior is ALLOW and "__" in rule.tool_name[5:]:
        return RuleFault(
            rule, "dead", "a server whose name holds '__' can't be allowed as a whole; name its tools one by one."
        )
    if rule.definition is not None and all(getattr(tool, "definition_hash", None) != rule.definition for tool in tools):
        return RuleFault(rule, "dead", "it was granted to another definition of the tool, which has changed since.")
    if rule.rule_content is None:
        return None
    faults = [_content(rule, tool, rule.base or base) for tool in tools]
    return faults[0] if faults[0] is not None and all(faults) else None


def _content(rule: PermissionRule, tool: Judged, base: str) -> RuleFault | None:
    content = rule.rule_content or ""
    traits = traits_of(type(tool))
    if traits.rule_fault is not None:
        text = traits.rule_fault(tool, rule)
        return None if text is None else RuleFault(rule, "dead", text)
    if traits.subjects is not None and _takes_paths(tool):
        return _path_content(rule, tool, base)
    if traits.subjects is not None or traits.own_match:
        return None
    parsed = parse_content(content)
    if parsed.fault is not None:
        if rule.behavior is ALLOW:
            return RuleFault(rule, "dead", parsed.fault)
        return RuleFault(rule, "unclear", f"{parsed.fault} Until it is mended, every call of {tool.name!r} asks.")
    known = tool.input_schema.get("properties", {})
    for condition in parsed.conditions:
        name = condition.path[0]
        if name not in known and ".".join(condition.path) not in known:
            has = ", ".join(known) or "none"
            return RuleFault(rule, "dead", f"{tool.name!r} has no argument {name!r}; it has: {has}.")
        if condition.kind == "bare" and is_path_pattern(condition.value):
            fault = path_pattern(condition.value, base, wide=rule.behavior is not ALLOW).fault
            if fault is not None:
                return RuleFault(rule, "dead", fault)
    return None


def _takes_paths(tool: Judged) -> bool:
    """Whether a rule's content for a tool is a path pattern: for the built-ins that judge the files of their calls."""
    return traits_of(type(tool)).subjects is not None and isinstance(getattr(tool, "path_argument", None), str)


def _path_content(rule: PermissionRule, tool: Judged, base: str) -> RuleFault | None:
    content = rule.rule_content or ""
    named = _ARGUMENT.match(content)
    if named is not None and named.group(1) in tool.input_schema.get("properties", {}):
        meant = f"{rule.tool_name}({content[named.end() :]})"
        return RuleFault(rule, "dead", f"a rule for {rule.tool_name} is a path and names no argument; write {meant}.")
    fault = path_pattern(content, base, wide=rule.behavior is not ALLOW).fault
    return None if fault is None else RuleFault(rule, "dead", fault)


def _covers_more(general: PermissionRule, special: PermissionRule, *, base: str, paths: bool) -> bool:
    """Whether a rule about a path or arguments names all that another one names."""
    first, second = general.rule_content or "", special.rule_content or ""
    wide, special_wide = general.behavior is not ALLOW, special.behavior is not ALLOW
    where = general.base or base
    if where != (special.base or base):
        return False
    covers = path_covers if paths else conditions_cover
    return covers(first, second, where, wide=wide, special_wide=special_wide)


def _shadowed(
    rules: list[PermissionRule], covers: Callable[[PermissionRule, PermissionRule], bool] | None
) -> list[RuleFault]:
    faults = []
    for index, rule in enumerate(rules):
        for other_index, other in enumerate(rules):
            if other_index == index or other.behavior not in _STRONGER[rule.behavior]:
                continue
            if not _covers(other, rule, covers):
                continue
            if _covers(rule, other, covers) and other.behavior is rule.behavior and index < other_index:
                # Of two that say the same the later one is reported.
                continue
            text = f"the rule {other.behavior.value} {other} ({other.source}) comes before it."
            if other.behavior is rule.behavior:
                text = f"the rule {other} ({other.source}) already says so."
            faults.append(RuleFault(rule, "shadowed", text))
            break
    return faults


def _covers(
    general: PermissionRule,
    special: PermissionRule,
    covers: Callable[[PermissionRule, PermissionRule], bool] | None = None,
) -> bool:
    """Whether every call that the second names is one that the first names."""
    if general.definition is not None and general.definition != special.definition:
        return False
    # A rule of a block or a cell ends before the others do.
    if general.source in {"cell", "grant"} and special.source != general.source:
        return False
    if general.rule_content is None or general.rule_content == special.rule_content:
        return True
    if special.rule_content is None:
        return False
    if covers is not None:
        return covers(general, special)
    return False
