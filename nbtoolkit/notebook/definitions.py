"""What happens in a notebook when a server's tool is no longer what it was: its grants end, and the change is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import box, one_line, pre, safe, settled, visible_text

if TYPE_CHECKING:
    from nbtoolkit.mcp.changes import DefinitionChange
    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.permission.rule import PermissionRule
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["DefinitionWatch"]

# Rules are as long as the arguments that they name.
RULE_LIMIT = 120


class DefinitionWatch:
    """An observer of changed definitions, for one toolkit."""

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit

    def __call__(self, client: MCPClient, change: DefinitionChange) -> None:  # noqa: ARG002 - observers get both
        """Drop what was granted to the tool as it was, and show what is different now."""
        from IPython.display import display

        gone = self._toolkit.engine.redefined(change.new)
        display(_view(change, gone), raw=True)  # type: ignore[no-untyped-call]


def _view(change: DefinitionChange, gone: list[PermissionRule]) -> dict[str, Any]:
    head = f"The MCP server {change.server} has changed its tool {change.tool}."
    if gone:
        rules = ", ".join(one_line(str(rule), RULE_LIMIT) for rule in gone)
        head += f" What was granted to it before holds no longer: {rules}"
    diff = settled(change.diff)
    return {
        "text/plain": f"{visible_text(head)}\n{visible_text(diff)}",
        "text/html": box(f'<p style="margin:0">{safe(head)}</p>{pre(diff)}'),
    }
