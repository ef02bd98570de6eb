"""Agents: the toolkit's calls in each provider's words, and in each agent library's.

``await toolkit.run_calls(reply)`` is the way in for a loop of one's own. For the libraries there is a module each:
``nbtoolkit.agents.pydantic_ai``, ``langchain``, ``openai_agents``, ``agentscope``, ``smolagents`` and ``fastmcp``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtoolkit.agents.running import run_calls as run_calls
    from nbtoolkit.agents.running import said as said

_HOMES = {"run_calls": "nbtoolkit.agents.running", "said": "nbtoolkit.agents.running"}

__all__ = ["run_calls", "said"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
