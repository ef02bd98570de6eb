"""What a server may ask of its client while it works: elicitation, sampling, roots, log messages.

A question is put where the call came from: in the caller's loop and context, so that a form or a print lands in the
right cell. What nobody can answer is refused.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.mcp.connection import Connection

__all__ = ["Interaction"]


class Interaction:
    """The callbacks of one client."""

    def callbacks(self, connection: Connection) -> dict[str, Any]:
        """The SDK client's arguments; each callback given declares a capability."""

        async def log(params: Any) -> None:
            connection.log.write(str(params.level), str(params.data))

        return {"logging_callback": log}

    @contextlib.contextmanager
    def called_by(self, caller: Any) -> Iterator[None]:  # noqa: ARG002
        """While a call is under way, questions go to its caller."""
        yield
