"""Arguments of functions and MCP tools that name this product's own rules.

The built-ins know exactly which files they touch. For other tools an argument that ends in the name of the rules' file
is enough to ask as for safety, in every mode: nobody but the person may change what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OWN_FILE", "names_own_file"]

OWN_FILE = "nbtoolkit.toml"

# Arguments are JSON that a model wrote; deeper than this nobody looks.
DEEPEST = 8


def names_own_file(tool_input: Mapping[str, Any]) -> str | None:
    """The first text in the arguments that ends in the name of the rules' file."""
    for value in tool_input.values():
        # This runs on every call, most of whose arguments are short texts and numbers.
        if isinstance(value, str):
            if OWN_FILE in value[-40:].lower() and _names(value):
                return value[-200:]
        elif isinstance(value, list | dict) and (found := _inside(value, 1)) is not None:
            return found
    return None


def _inside(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value[-200:] if OWN_FILE in value[-40:].lower() and _names(value) else None
    if depth > DEEPEST or not isinstance(value, list | dict):
        return None
    for each in value.values() if isinstance(value, dict) else value:
        found = _inside(each, depth + 1)
        if found is not None:
            return found
    return None


def _names(text: str) -> bool:
    tail = text[-40:].rstrip("/\\. \t\r\n\x00").lower()
    return tail.endswith(OWN_FILE) and tail[-len(OWN_FILE) - 1 : -len(OWN_FILE)] in {"", *"/\\:= \"'"}
