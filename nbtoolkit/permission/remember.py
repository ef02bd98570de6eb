"""Keeping what a person allowed beyond one call, for as long as they said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.permission.arguments import move_content, moved
from nbtoolkit.permission.grants import CELL, KERNEL
from nbtoolkit.permission.pattern import slashes
from nbtoolkit.permission.traits import traits_of

if TYPE_CHECKING:
    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Scope
    from nbtoolkit.permission.engine import Judged, PermissionEngine
    from nbtoolkit.permission.rule import PermissionRule

__all__ = ["Remembered", "remember"]

# Their contents are path patterns, which mean another place when they are read from another folder.
_PATH_TOOLS = frozenset({"Read", "Write", "Edit", "Glob", "Grep"})


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is kept, for how long; ``note`` tells the person where that isn't what they asked for."""

    rules: tuple[PermissionRule, ...] = ()
    scope: Scope = "call"
    note: str | None = None


def remember(engine: PermissionEngine, approval: Approval, request: ApprovalRequest) -> Remembered:
    """Keep the approval's rules, or the suggested ones; what can't be saved holds for this kernel, and a note says so."""
    if approval.kind != "allow" or approval.scope == "call":
        return Remembered()
    if request.decision.bypass_immune:
        return Remembered(note="A safety question is asked every time: nothing was remembered.")
    rules = [_bound(rule, request.tool) for rule in approval.rules or request.suggested_rules]
    if not rules:
        return Remembered(note="No rule would allow this call next time: nothing was remembered.")
    scope, note = approval.scope, None
    if scope in {"project", "user"}:
        if approval.by != "person":
            note = f"Only a person may write to the {scope}'s file: remembered for this kernel."
        elif engine.store is None:
            note = f"There is no file for the {scope} here: remembered for this kernel."
        else:
            from nbtoolkit.permission.store import StoreError

            try:
                saved = [
                    rebased(rule, engine.base, engine.store.base_of(scope), plain=_plain(rule, request))
                    for rule in rules
                ]
                return Remembered(tuple(engine.store.remember(saved, scope)), scope)
            except StoreError as fault:
                note = f"{fault} Remembered for this kernel instead."
        scope = "kernel"
    source = CELL if scope == "cell" else KERNEL
    kept = tuple(rule.model_copy(update={"source": source}) for rule in rules)
    for rule in kept:
        engine.grants.add(rule)
    return Remembered(kept, scope, note)


def _bound(rule: PermissionRule, tool: Judged) -> PermissionRule:
    """A function's or MCP tool's grant ends when its definition changes; a built-in's patterns say all there is."""
    if rule.tool_name != tool.name or rule.definition is not None or traits_of(type(tool)).subjects is not None:
        return rule
    return rule.model_copy(update={"definition": getattr(tool, "definition_hash", None)})


def _plain(rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Whether the rule's content is conditions on arguments."""
    return rule.tool_name == request.tool.name and traits_of(type(request.tool)).subjects is None


def rebased(rule: PermissionRule, old: str, new: str | None, *, plain: bool = False) -> PermissionRule:
    """The rule as it reads from another folder; with ``plain`` its content is conditions on arguments."""
    content = rule.rule_content
    if new is None or content is None or slashes(old) == slashes(new):
        return rule
    if plain:
        text = move_content(content, old, new)
    elif rule.tool_name in _PATH_TOOLS and "/" in content and not content.startswith(("/", "~")):
        text = moved(content, old, new)
    else:
        return rule
    return rule if text == content else rule.model_copy(update={"rule_content": text})
