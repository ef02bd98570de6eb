"""Arguments of functions and MCP tools that name this product's own rules.

The built-ins know exactly which files they touch. For other tools an argument that ends in the name of the rules' file
is enough to ask as for safety, in every mode: nobody but the person may change what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["OWN_FILE", "names_own_file"]

OWN_FILE = "nbtoolkit.toml"

# Arguments are JSON that a model wrote; deeper than this nobody looks.
DEEPEST = 8


def names_own_file(value: Any, depth: int = 0) -> str | None:
    """The first text in an argument that ends in the name of the rules' file."""
    if isinstance(value, str):
        # The cheap look first: this runs on every call.
        tail = value[-40:].rstrip("/\\. \t\r\n\x00").lower()
        if tail.endswith(OWN_FILE) and (len(tail) == len(OWN_FILE) or tail[-len(OWN_FILE) - 1] in "/\\:= \"'"):
            return value[-200:]
        return None
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list):
        return None
    for each in value:
        found = names_own_file(each, depth + 1) if isinstance(each, str | list | Mapping) else None
        if found is not None:
            return found
    return None
