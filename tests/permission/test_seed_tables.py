"""The documents' own tables of what asks and what doesn't, row by row, with the real kinds of tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.edit import Edit
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.read import Read
from nbtoolkit.tool.search import Glob, Grep
from nbtoolkit.tool.write import Write

MODES = ("default", "accept_edits", "explore", "bypass", "dont_ask")


def get_weather(city: str) -> str:
    """The weather.

    Args:
        city: The city.
    """
    return city


class Lookup(ToolBase):
    """The documents' tool of one's own: it only looks, and says so itself."""

    name = "lookup_user"
    description = "Look a user up."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 - as people write it
    is_read_only = False

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(behavior=PermissionBehavior.ALLOW, message="Read-only lookup, allowing.")

    async def call(self) -> Any:
        raise NotImplementedError


def server_tool(*, reads: bool, trusted: bool = False) -> ToolBase:
    types = pytest.importorskip("mcp.types")
    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.mcp.config import StdioMCPConfig
    from nbtoolkit.mcp.tool import MCPTool

    client = MCPClient(name="fs", is_stateful=True, mcp_config=StdioMCPConfig(command="x"), trust_annotations=trusted)
    hints = types.ToolAnnotations(readOnlyHint=True) if reads else None
    definition = types.Tool(name="read", inputSchema={"type": "object"}, annotations=hints)
    return MCPTool(client, definition, "mcp__fs__read")


def verdicts(tool: ToolBase, work: Path, tool_input: dict[str, Any]) -> str:
    found = []
    for mode in MODES:
        context = PermissionContext(mode=PermissionMode(mode), working_directory=str(work))
        found.append(asyncio.run(PermissionEngine(context).check_permission(tool, tool_input)).behavior.value)
    return " ".join(found)


INSIDE, OUTSIDE = "notes.txt", "/srv/notes.txt"
# Each row: where it stands, the tool, its input, and the behaviour in default, accept_edits, explore, bypass, dont_ask.
ROWS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("a function asks on every call", lambda: FunctionTool(get_weather), {"city": "x"}, "ask ask deny allow deny"),
    (
        "a function's author may say that it only reads",
        lambda: FunctionTool(get_weather, is_read_only=True),
        {"city": "x"},
        "allow allow allow allow allow",
    ),
    (
        "a function's permission can be fixed",
        lambda: FunctionTool(get_weather, permission=PermissionDecision(PermissionBehavior.ALLOW, "fine")),
        {"city": "x"},
        "allow allow deny allow allow",
    ),
    (
        "and fixed to deny",
        lambda: FunctionTool(get_weather, permission=PermissionDecision(PermissionBehavior.DENY, "never")),
        {"city": "x"},
        "deny deny deny deny deny",
    ),
    ("a tool of one's own decides itself", Lookup, {}, "allow allow deny allow allow"),
    (
        "a server's hint counts in explore and accept_edits; in default it asks",
        lambda: server_tool(reads=True),
        {},
        "ask allow allow allow deny",
    ),
    ("a server's tool without the hint asks", lambda: server_tool(reads=False), {}, "ask ask deny allow deny"),
    (
        "with trust a server's reading tool is let through",
        lambda: server_tool(reads=True, trusted=True),
        {},
        "allow allow allow allow allow",
    ),
    ("Bash tells commands that read", Bash, {"command": "ls"}, "allow allow allow allow allow"),
    ("from those that don't", Bash, {"command": "make"}, "ask ask deny allow deny"),
    ("Bash: an edit inside", Bash, {"command": "touch x"}, "ask allow deny allow allow"),
    ("Read inside the working directories", Read, {"file_path": INSIDE}, "allow allow allow allow allow"),
    ("Read outside them", Read, {"file_path": OUTSIDE}, "ask ask allow allow deny"),
    ("Read of a dangerous file", Read, {"file_path": "~/.ssh/id_rsa"}, "ask ask deny allow deny"),
    (
        "Write looks whether a path lies inside",
        Write,
        {"file_path": INSIDE, "content": ""},
        "ask allow deny allow allow",
    ),
    ("or not", Write, {"file_path": OUTSIDE, "content": ""}, "ask ask deny allow deny"),
    ("Write of a dangerous file", Write, {"file_path": ".bashrc", "content": ""}, "ask ask deny allow deny"),
    (
        "Write of this product's own file",
        Write,
        {"file_path": "nbtoolkit.toml", "content": ""},
        "ask ask deny ask deny",
    ),
    (
        "Edit as Write",
        Edit,
        {"file_path": INSIDE, "old_string": "a", "new_string": "b"},
        "ask allow deny allow allow",
    ),
    ("Glob as Read", Glob, {"pattern": "*.py"}, "allow allow allow allow allow"),
    ("Grep as Read", Grep, {"pattern": "x", "path": "/srv"}, "ask ask allow allow deny"),
]


@pytest.mark.parametrize(("reason", "make", "tool_input", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_the_documents_tables_hold(
    project: Path, reason: str, make: Any, tool_input: dict[str, Any], expected: str
) -> None:
    assert verdicts(make(), project, tool_input) == expected, reason
