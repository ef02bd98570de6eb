"""The toolkit as an MCP server: ``serve`` starts one in a background thread, ``bridge`` brings it to a client's stdio.

Every call ends in ``toolkit.call_tool`` with the origin ``server``; where it runs is the host's to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

if TYPE_CHECKING:
    from nbtoolkit.agents.serving.http import HTTPServer as HTTPServer
    from nbtoolkit.agents.serving.http import serve as serve

_HOMES = {"HTTPServer": "nbtoolkit.agents.serving.http", "serve": "nbtoolkit.agents.serving.http"}

__all__ = ["HTTPServer", "serve"]

__getattr__, __dir__ = face(__name__, _HOMES)
