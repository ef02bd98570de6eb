"""What one conversation has switched on and read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from nbtoolkit.permission.rule import PermissionContext

__all__ = ["AgentState", "ToolContext"]


class ToolContext(BaseModel):
    """The tool groups that are on, and the files that were read.

    ``read_files`` maps an absolute path to what identified its content when it was read; Edit and Write compare it.
    """

    model_config = ConfigDict(defer_build=True)

    activated_groups: list[str] = Field(default_factory=list)
    read_files: dict[str, Any] = Field(default_factory=dict)


class AgentState(BaseModel):
    """One agent's permissions and tool context; the notebook keeps one, a second agent may bring its own."""

    model_config = ConfigDict(defer_build=True)

    permission_context: PermissionContext = Field(default_factory=PermissionContext)
    tool_context: ToolContext = Field(default_factory=ToolContext)
