"""The log of calls: who called what, what was decided and by whom, how it ended.

Bounded in number and in size: the oldest go, and the count of those that went is kept. A file holds what it is asked to
``keep``, as it comes.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nbtoolkit import atomic
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.tool.journal import Journal, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from nbtoolkit.permission.approval import Approval, Origin

__all__ = ["CallLog", "LogEntry"]

# A day of a busy agent; an entry holds its arguments and no result, about 1 kB.
MAX_ENTRIES = 10_000
# All entries together, in bytes: some of them may hold whole files as arguments. The newest is kept whatever its size.
MAX_BYTES = 100_000_000
# What an entry takes beside its texts.
ENTRY_BYTES = 1_000

_SCOPE_WORDS = {
    "cell": "for the rest of this cell",
    "kernel": "for this kernel",
    "project": "for this project",
    "user": "everywhere",
}


class LogEntry:
    """One call that ended. ``waited`` and ``seconds`` are seconds, ``size`` characters of the result."""

    # Held by the class until an entry has its own, since a call needs few of them and every call makes an entry.
    mended: tuple[str, ...] = ()
    behavior: PermissionBehavior | None = None
    reason: str | None = None
    approval: Approval | None = None
    state: ToolResultState = ToolResultState.RUNNING
    waited: float = 0.0
    seconds: float = 0.0
    size: int = 0
    edited: bool = False
    note: str | None = None
    variables: Mapping[str, str] = MappingProxyType({})
    # What it takes of the log's room.
    weight: int = 0

    def __init__(
        self,
        number: int,
        id: str,  # noqa: A002
        tool: str,
        origin: str,
        tool_input: dict[str, Any],
        asked_by: Origin,
        started_at: str,
        **others: Any,
    ) -> None:
        self.number = number
        self.id = id
        self.tool = tool
        self.origin = origin
        self.tool_input = tool_input
        self.asked_by = asked_by
        self.started_at = started_at
        if others:
            for name, value in others.items():
                if name not in _LATER:
                    raise TypeError(f"a LogEntry has no {name!r}; it takes {', '.join(_LATER)}")
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<call {self.number} of {self.tool}: {self.words}, {self.state.value}>"

    @property
    def words(self) -> str:
        """What was decided, the same for a person's click and a script's answer."""
        edited = ", edited" if self.edited else ""
        if self.approval is not None:
            words = _approval_words(self.approval)
            return words + edited if self.approval.kind == "allow" else words
        if self.behavior is None:
            return "not run"
        if self.behavior is PermissionBehavior.ALLOW:
            return "allowed" + _because(self.reason) + edited
        if self.behavior is PermissionBehavior.DENY:
            return "denied" + _because(self.reason)
        return "not answered"

    @property
    def decided_by(self) -> str:
        """Who or what had the last word: ``person``, ``script``, ``policy``, or the engine's reason."""
        if self.approval is not None:
            return self.approval.by
        return self.reason or ""

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-able values."""
        return {
            "number": self.number,
            "id": self.id,
            "tool": self.tool,
            "origin": self.origin,
            "tool_input": self.tool_input,
            "asked_by": self.asked_by.kind if self.asked_by.name is None else self.asked_by.name,
            "mended": list(self.mended),
            "decision": self.words,
            "decided_by": self.decided_by,
            "note": self.note,
            "state": self.state.value,
            "started_at": self.started_at,
            "waited": round(self.waited, 6),
            "seconds": round(self.seconds, 6),
            "size": self.size,
        }


_LATER = tuple(LogEntry.__annotations__)


def _because(reason: str | None) -> str:
    if not reason:
        return ""
    if reason.startswith("Rule: "):
        return " by " + reason.removeprefix("Rule: ")
    if reason in {"read-only", "safety"}:
        return f" as {reason}" if reason == "read-only" else " for safety"
    if reason in {"default", "accept_edits", "explore", "bypass", "dont_ask"}:
        return f" by mode {reason}"
    return f": {reason}"


def _approval_words(approval: Approval) -> str:
    kind = approval.kind
    if kind == "deny":
        return f"denied: “{approval.reason}”" if approval.reason else "denied"
    if kind == "respond":
        return "answered by you"
    if kind == "edit":
        # The last word on an edited call is the answer to the question that followed.
        return "edited"
    scope = _SCOPE_WORDS.get(approval.scope)
    return "allowed once" if scope is None else f"allowed, and always {scope}"


class CallLog:
    """The calls of one toolkit, in the order in which they began; ``log[7]`` is the call number 7."""

    def __init__(self, maxlen: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._entries: deque[LogEntry] = deque()
        # Calls end in several threads.
        self._lock = threading.Lock()
        self._count = 0
        self._maxlen, self._max_bytes = _bound("maxlen", maxlen), _bound("max_bytes", max_bytes)
        #: The bytes that it holds, about.
        self.size = 0
        #: How many calls were let go, since they were the oldest of too many.
        self.dropped = 0
        self.journal: Journal | None = None

    @property
    def maxlen(self) -> int:
        """How many calls it holds at most; may be changed."""
        return self._maxlen

    @maxlen.setter
    def maxlen(self, number: int) -> None:
        self._maxlen = _bound("maxlen", number)

    @property
    def max_bytes(self) -> int:
        """How many bytes of arguments it holds at most, about; may be changed."""
        return self._max_bytes

    @max_bytes.setter
    def max_bytes(self, number: int) -> None:
        self._max_bytes = _bound("max_bytes", number)

    def next_number(self) -> int:
        """A number for a call that begins."""
        self._count += 1
        return self._count

    def append(self, entry: LogEntry, *, chars: int | None = None, again: bool = False) -> None:
        """Keep an entry; ``again`` where an interrupt may have come in the midst of that, so that it is held once.

        ``chars``: how long its arguments are as JSON, where that is known already.
        """
        weight = entry.weight = ENTRY_BYTES + (_weight(entry.tool_input) if chars is None else chars)
        with self._lock:
            entries = self._entries
            if not again or not any(each is entry for each in entries):
                entries.append(entry)
                size = self.size + weight
                if len(entries) > self._maxlen:
                    size -= entries.popleft().weight
                    self.dropped += 1
                self.size = size
                if size > self._max_bytes or len(entries) > self._maxlen:
                    self._let_go()
        if self.journal is not None:
            self.journal.ended(entry, again=again)

    def _let_go(self) -> None:
        entries = self._entries
        while len(entries) > self._maxlen or (self.size > self._max_bytes and len(entries) > 1):
            self.size -= entries.popleft().weight
            self.dropped += 1

    def keep(self, path: str | Path | None, *, durable: bool = False) -> Journal | None:
        """Write each call to a file as it is decided and as it ends; None ends that. OSError where the file can't be had.

        ``durable``: nothing runs before the disk has its line. A call whose line can't be written doesn't run.
        """
        old, self.journal = self.journal, None if path is None else Journal(path, durable=durable)
        if old is not None:
            old.close()
        return self.journal

    def __repr__(self) -> str:
        return f"CallLog({len(self):,} call{'s' if len(self) != 1 else ''})"

    @property
    def told(self) -> str:
        """That older calls were let go, and where the bound lies; empty where all are held."""
        if not self.dropped:
            return ""
        gone = "an older one was" if self.dropped == 1 else f"{self.dropped:,} older ones were"
        return f"{gone} let go: it holds {self.maxlen:,} calls and {_megabytes(self.max_bytes)}"

    def clear(self) -> None:
        """Forget all entries; the numbers go on."""
        with self._lock:
            self._entries.clear()
            self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        # They are held in the order in which they ended, which differs where they ran side by side.
        return iter(sorted(self._entries.copy(), key=_number))

    def __getitem__(self, number: int) -> LogEntry:
        for entry in reversed(self._entries):
            if entry.number == number:
                return entry
        numbers = [entry.number for entry in self]
        held = f"{numbers[0]} to {numbers[-1]}" if numbers else "none"
        raise KeyError(f"the log holds no call number {number!r}; it holds {held}")

    def to_jsonl(self, path: str | Path | None = None) -> str:
        """The entries as JSON lines, written to ``path`` where one is given."""
        text = "".join(map(line_of, self._rows()))
        if path is not None:
            atomic.replace(path, text.encode())
        return text

    def to_dataframe(self) -> pd.DataFrame:
        """The entries as a pandas DataFrame, one row each; ImportError where pandas is missing.

        ``started_at`` is a time (UTC), ``waited`` and ``seconds`` are seconds, ``size`` is characters of the result.
        """
        import pandas as pd

        frame = pd.DataFrame(self._rows(), columns=[*_EMPTY])
        frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, errors="coerce", format="ISO8601")
        return frame

    def _rows(self) -> list[dict[str, Any]]:
        """The entries as what may leave this process: without secrets."""
        # Loaded when first used: its patterns cost as much as all else here.
        from nbtoolkit.redact import Redactor

        hide = Redactor()
        return [hide.value(entry.to_dict()) for entry in self]


def _bound(name: str, number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"the log's {name} must be a whole number, 0 or more, but is {number!r}")
    return number


_number = attrgetter("number")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1_000_000 else f"{size:,} bytes"


def _weight(tool_input: dict[str, Any]) -> int:
    """About the bytes of the texts in an entry's arguments."""
    total = 0
    for value in tool_input.values():
        kind = type(value)
        if kind is str:
            total += sys.getsizeof(value)
        elif kind is dict or kind is list:
            total += _deep(value)
    return total


def _deep(value: Any) -> int:
    total, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        total += sys.getsizeof(each)
        if isinstance(each, dict):
            waiting += each.values()
            total += sum(map(sys.getsizeof, each))
        elif isinstance(each, list):
            waiting += each
    return total


_EMPTY = (
    "number",
    "id",
    "tool",
    "origin",
    "tool_input",
    "asked_by",
    "mended",
    "decision",
    "decided_by",
    "note",
    "state",
    "started_at",
    "waited",
    "seconds",
    "size",
)
