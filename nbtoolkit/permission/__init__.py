"""Who may do what: rules, modes, one engine that judges a call, and the people or scripts that answer its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

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

_HOMES = dict.fromkeys(__all__, "nbtoolkit.permission.rule") | {
    "Approval": "nbtoolkit.permission.approval",
    "ApprovalRequest": "nbtoolkit.permission.approval",
    "Approver": "nbtoolkit.permission.approval",
    "PermissionEngine": "nbtoolkit.permission.engine",
}

__getattr__, __dir__ = face(__name__, _HOMES)
