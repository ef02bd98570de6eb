"""Record what tools and MCP servers did, and give it back without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

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

__getattr__, __dir__ = face(__name__, _HOMES)
