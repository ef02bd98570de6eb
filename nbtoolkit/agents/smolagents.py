"""The toolkit's tools for smolagents' agents.

    agent = CodeAgent(tools=tools(), model=model)

smolagents calls tools by Python names and without await; each call blocks until it is answered. A failure or a denial
is raised, as smolagents tells its model of a tool's exceptions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.agents.adapting import Caller, missing
from nbtoolkit.agents.dialects.base import is_bad, text_of

try:
    from smolagents import Tool
except ImportError as error:
    raise missing("smolagents", "smolagents") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import Approver
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["SmolagentsTool", "tools"]

_KINDS = frozenset({"string", "boolean", "integer", "number", "array", "object", "null"})


def tools(
    toolkit: Toolkit | None = None,
    *,
    groups: Sequence[str] | None = None,
    state: AgentState | None = None,
    approver: Approver | None = None,
    values: bool = False,
) -> list[SmolagentsTool]:
    """The toolkit's tools (the notebook's own where none is given) that are on, as smolagents takes them.

    ``values`` gives the agent's code the Python object that a tool returned, where it would get the text for a model.
    """
    caller = Caller("smolagents", toolkit, groups=groups, state=state, approver=approver)
    found: list[ToolBase] = hooks.drive(caller.tools())
    return [SmolagentsTool(tool, caller, values=values) for tool in found]


class SmolagentsTool(Tool):  # type: ignore[misc, unused-ignore] # untyped where it isn't installed
    """One tool."""

    name = "tool"
    description = "A tool of nbtoolkit."
    inputs: dict[str, Any] = {}  # noqa: RUF012 - each instance sets its own, and the library's class asks for it
    output_type = "any"
    skip_forward_signature_validation = True

    def __init__(self, tool: ToolBase, caller: Caller, *, values: bool) -> None:
        self.name = re.sub(r"\W", "_", tool.name)
        if self.name[:1].isdigit():
            self.name = f"_{self.name}"
        self.description = tool.description or tool.name
        self.inputs = _inputs(tool.input_schema)
        self.output_type = "any" if values else "string"
        self._own_name = tool.name
        self._caller = caller
        self._values = values
        super().__init__()

    def forward(self, **arguments: Any) -> Any:
        """Run through the pipeline; RuntimeError carries a failure or a denial."""
        response = hooks.drive(self._caller.call(self._own_name, arguments))
        if is_bad(response):
            raise RuntimeError(text_of(response))
        return response.value if self._values and response.value is not None else text_of(response)


def _inputs(schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    inputs: dict[str, Any] = {}
    for name, given in schema.get("properties", {}).items():
        node = given if isinstance(given, dict) else {}
        kind = node.get("type")
        several = kind if isinstance(kind, list) else [kind]
        known = [each for each in several if each in _KINDS]
        inputs[name] = {
            "type": "any" if not known else known[0] if len(known) == 1 else known,
            "description": str(node.get("description") or name),
        }
        if name not in required:
            inputs[name]["nullable"] = True
    return inputs
