"""What a server's lines hold that isn't one message a line, and whom a refusal is for that names no request.

Batches of the oldest era, a message that is printed over several lines, and an error whose id is null are against the
protocol of a pipe or of its era; a call that waited for what they say would wait until its time is over.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["Asked", "Lines"]

# A message over several lines begins and ends with one of these alone.
_OPENS, _CLOSES = frozenset({b"{", b"["}), frozenset({b"}", b"]"})
# A program that prints something else begins so as well.
HELD_LINES = 100_000
HELD_BYTES = 16 * 1024 * 1024
BATCH_LIMIT = 10_000
ID_DIGITS = 20


class Lines:
    """The lines that are none of the SDK's messages."""

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self._size = 0

    def whole(self, line: bytes) -> list[bytes] | None:
        """The messages that end with this line, none where it belongs to one that goes on; None: it is something else."""
        bare = line.strip()
        if self.held or (bare in _OPENS and not line[:1].isspace()):
            self.held.append(line)
            self._size += len(line)
            if line.rstrip() not in _CLOSES:
                return [] if len(self.held) < HELD_LINES and self._size < HELD_BYTES else None
            bare = b" ".join(each.strip() for each in self.held)
        elif not bare.startswith(b"["):
            return None
        try:
            found = json.loads(bare)
            messages = [each for each in (found if type(found) is list else [found]) if type(each) is dict]
            lines = [json.dumps(each).encode() + b"\n" for each in messages[: BATCH_LIMIT + 1]]
        except (ValueError, RecursionError):
            return None
        if not lines or len(lines) > BATCH_LIMIT:
            return None
        self.drop()
        return lines

    def drop(self) -> list[bytes]:
        """Hold nothing any more; what was held."""
        held, self.held, self._size = self.held, [], 0
        return held


class Asked:
    """The requests of one session that have no answer yet, and the refusals that may be for any of them."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        # What each request of the newer era carries beside its own, once the SDK has sent one.
        self.stamp: dict[str, Any] | None = None
        # Each with the requests that it may be for.
        self.refusals: list[tuple[dict[str, Any], set[int]]] = []

    def sent(self, message: Any) -> None:
        """The SDK sends a message."""
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        params = getattr(message, "params", None) or {}
        if method is not None and type(number) is int:
            self.open.add(number)
            if method == "tools/list" and type(meta := params.get("_meta")) is dict:
                self.stamp = {key: value for key, value in meta.items() if key != "progressToken"}
        elif method == "notifications/cancelled":
            self.answered(params.get("requestId"))

    def answered(self, number: object) -> None:
        """A request of this id waits no more; servers give ids back as texts, too."""
        if type(number) is str and number.isdecimal() and len(number) < ID_DIGITS:
            number = int(number)
        if type(number) is int:
            self.open.discard(number)

    def refused(self, error: dict[str, Any], others: set[int]) -> None:
        """An error came that names no request; ``others`` are open beside those that are known here."""
        self.refusals.append((error, self.open | others))

    def answers(self, others: set[int]) -> list[bytes]:
        """The refusals that can only be for one request, as answers to it."""
        left: list[tuple[dict[str, Any], set[int]]] = []
        found: list[bytes] = []
        for error, whose in self.refusals:
            still = whose & (self.open | others)
            if len(still) == 1:
                said = f"{error.get('message')} (it named no request; this is the only one it can mean)"
                answer = {"jsonrpc": "2.0", "id": still.pop(), "error": {**error, "message": said}}
                found.append(json.dumps(answer).encode() + b"\n")
            elif still:
                left.append((error, still))
        self.refusals = left
        return found
