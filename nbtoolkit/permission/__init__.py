"""Who may do what: rules, modes, one engine that judges a call, and the people or scripts that answer its questions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver
    from nbtoolkit.permission.engine import PermissionEngine
    from nbtoolkit.permission.rule import (
        AdditionalWorkingDirectory,
        PermissionBehavior,
        PermissionContext,
        PermissionDecision,
        PermissionMode,
        PermissionRule,
    )

__all__ = [
    "AdditionalWorkingDirectory",
    "Approval",
    "ApprovalRequest",
    "Approver",
    "PermissionBehavior",
    "PermissionContext",
    "PermissionDecision",
    "PermissionEngine",
    "PermissionMode",
    "PermissionRule",
]

_HOME = dict.fromkeys(__all__, "rule") | {
    "Approval": "approval",
    "ApprovalRequest": "approval",
    "Approver": "approval",
    "PermissionEngine": "engine",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
