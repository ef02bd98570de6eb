"""A tool's definition that changed after it was first seen, and who wants to know."""

from __future__ import annotations

import difflib
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.mcp.tool import MCPTool

__all__ = ["DefinitionChange", "observers", "tell"]

logger = logging.getLogger("nbtoolkit.mcp")

# A definition is the server's text: a diff of it stays readable and bounded.
DIFF_LINES = 60
LINE_CHARS = 300


@dataclass(frozen=True)
class DefinitionChange:
    """One tool whose name stayed and whose description or schema didn't; ``old`` and ``new`` are the tools."""

    server: str
    tool: str
    old: MCPTool
    new: MCPTool

    @property
    def diff(self) -> str:
        """What changed, line by line; all of it is the server's text."""
        lines = list(difflib.unified_diff(_lines(self.old), _lines(self.new), "before", "now", lineterm="", n=2))
        shown = [line[:LINE_CHARS] for line in lines[:DIFF_LINES]]
        if len(lines) > DIFF_LINES:
            shown.append(f"… {len(lines) - DIFF_LINES} lines more")
        return "\n".join(shown)


def _lines(tool: MCPTool) -> list[str]:
    schema: Any = json.dumps(tool.input_schema, indent=2, ensure_ascii=False, sort_keys=True, default=str)
    return [*tool.description.splitlines(), *str(schema).splitlines()]


# Called in the thread that listed the tools, once for each change: drop grants, show the diff.
observers: list[Callable[[MCPClient, DefinitionChange], None]] = []


def tell(client: MCPClient, change: DefinitionChange) -> None:
    """Tell all who want to know; what one of them raises costs nobody else anything."""
    for observer in observers:
        try:
            observer(client, change)
        except Exception:
            logger.warning("an observer of changed definitions failed", exc_info=True)
