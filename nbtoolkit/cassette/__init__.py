"""Record what tools and MCP servers did, and give it back without them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtoolkit.cassette.player import Replay as Replay
    from nbtoolkit.cassette.recorder import Recording as Recording
    from nbtoolkit.cassette.values import ReplayedValue as ReplayedValue

_HOMES = {
    "Recording": "nbtoolkit.cassette.recorder",
    "Replay": "nbtoolkit.cassette.player",
    "ReplayedValue": "nbtoolkit.cassette.values",
}

__all__ = ["Recording", "Replay", "ReplayedValue"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'nbtoolkit.cassette' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
