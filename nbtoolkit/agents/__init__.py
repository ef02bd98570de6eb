"""Agents: the toolkit's calls in each provider's words, and in each agent library's.

``await toolkit.run_calls(reply)`` is the way in for a loop of one's own. For the libraries there is a module each:
``nbtoolkit.agents.pydantic_ai``, ``langchain``, ``openai_agents``, ``agentscope``, ``smolagents`` and ``fastmcp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

if TYPE_CHECKING:
    from nbtoolkit.agents.running import run_calls as run_calls
    from nbtoolkit.agents.running import said as said

_HOMES = {"run_calls": "nbtoolkit.agents.running", "said": "nbtoolkit.agents.running"}

__all__ = ["run_calls", "said"]

__getattr__, __dir__ = face(__name__, _HOMES)
