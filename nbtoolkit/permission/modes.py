"""The table of modes: all that makes one mode differ from another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode
from nbtoolkit.permission.subject import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MODES", "READS", "Mode"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY

READS = frozenset({Effect.READ, Effect.READ_CLAIMED, Effect.READ_OUTSIDE})


@dataclass(frozen=True, slots=True)
class Mode:
    """One row: what becomes of each effect when no rule says otherwise, and of ask rules and safety.

    ``widens`` says whether a tool's own ALLOW and allow rules count.
    """

    effects: Mapping[Effect, PermissionBehavior]
    ask_rule_reading: PermissionBehavior
    ask_rule: PermissionBehavior
    safety: PermissionBehavior
    own_files: PermissionBehavior
    widens: bool


def _row(effects: str, ask_rule_reading: str, ask_rule: str, safety: str, own_files: str, widens: bool) -> Mode:
    columns = dict(zip(Effect, map(PermissionBehavior, effects.split()), strict=True))
    word = PermissionBehavior
    return Mode(columns, word(ask_rule_reading), word(ask_rule), word(safety), word(own_files), widens)


# effects: read, read as claimed, read outside, edit inside, other.
MODES: Mapping[PermissionMode, Mode] = {
    #                                       effects                       ask rule        safety own files widens
    PermissionMode.DEFAULT: _row("allow ask   ask   ask   ask", "ask", "ask", "ask", "ask", True),
    PermissionMode.ACCEPT_EDITS: _row("allow allow ask   allow ask", "ask", "ask", "ask", "ask", True),
    PermissionMode.EXPLORE: _row("allow allow allow deny  deny", "ask", "deny", "deny", "deny", False),
    PermissionMode.BYPASS: _row("allow allow allow allow allow", "ask", "ask", "allow", "ask", True),
    PermissionMode.DONT_ASK: _row("allow deny  deny  allow deny", "deny", "deny", "deny", "deny", True),
}
