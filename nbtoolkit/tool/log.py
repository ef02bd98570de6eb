"""The journal of calls: who called what, what was decided and by whom, how it ended.

Bounded: the oldest entries go when ``maxlen`` is reached, and the count of those that went is kept.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from nbtoolkit.permission.approval import Approval, Origin

__all__ = ["CallLog", "LogEntry", "Results"]

# A day of a busy agent; an entry holds its arguments and no result, about 1 kB.
MAX_ENTRIES = 10_000
# Values are kept alive for later cells, so they are fewer than the entries that tell of them, and no more bytes than
# a notebook's machine can spare. The newest is kept whatever its size: it is somebody's `_` as well.
MAX_RESULTS = 200
MAX_RESULT_BYTES = 2_000_000_000

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
    """The calls of one toolkit, oldest first; ``log[7]`` is the call number 7."""

    def __init__(self, maxlen: int = MAX_ENTRIES) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=maxlen)
        self._count = 0

    def next_number(self) -> int:
        """A number for a call that begins."""
        self._count += 1
        return self._count

    def append(self, entry: LogEntry) -> None:
        """Keep an entry."""
        self._entries.append(entry)

    def clear(self) -> None:
        """Forget all entries; the numbers go on."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(tuple(self._entries))

    def __getitem__(self, number: int) -> LogEntry:
        for entry in reversed(self._entries):
            if entry.number == number:
                return entry
        held = f"{self._entries[0].number} to {self._entries[-1].number}" if self._entries else "none"
        raise KeyError(f"the log holds no call number {number!r}; it holds {held}")

    def to_jsonl(self, path: str | Path | None = None) -> str:
        """The entries as JSON lines, written to ``path`` where one is given."""
        text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in self._rows())
        if path is not None:
            from pathlib import Path

            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_dataframe(self) -> pd.DataFrame:
        """The entries as a pandas DataFrame, one row each; ImportError where pandas is missing."""
        import pandas as pd

        columns = [*_EMPTY]
        return pd.DataFrame(self._rows(), columns=columns)

    def _rows(self) -> list[dict[str, Any]]:
        """The entries as what may leave this process: without secrets."""
        # Loaded when first used: its patterns cost as much as all else here.
        from nbtoolkit.redact import Redactor

        hide = Redactor()
        return [hide.value(entry.to_dict()) for entry in self]


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


class Results:
    """The Python objects that calls returned, by call number; the oldest go first.

    ``size`` is what they take, in bytes, as far as that can be told without looking through them.
    """

    def __init__(self, maxlen: int = MAX_RESULTS, max_bytes: int = MAX_RESULT_BYTES) -> None:
        self._values: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._maxlen = maxlen
        self._max_bytes = max_bytes
        self.size = 0

    def keep(self, number: int, value: object) -> None:
        """Hold the value of one call."""
        values = self._values
        values[number] = value
        if type(value) not in _SMALL:
            size = self._sizes[number] = _size(value)
            self.size += size
            while self.size > self._max_bytes and len(values) > 1:
                self._drop(next(iter(values)))
        if len(values) > self._maxlen:
            self._drop(next(iter(values)))

    def _drop(self, number: int) -> None:
        del self._values[number]
        self.size -= self._sizes.pop(number, 0)

    def clear(self) -> None:
        """Let all values go."""
        self._values.clear()
        self._sizes.clear()
        self.size = 0

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[int]:
        return iter(tuple(self._values))

    def __contains__(self, number: object) -> bool:
        return number in self._values

    def __getitem__(self, number: int) -> Any:
        try:
            return self._values[number]
        except KeyError:
            held = ", ".join(map(str, self._values)) or "none"
            raise KeyError(f"no result is kept for call {number!r}; kept are {held}") from None

    def __repr__(self) -> str:
        return "Results(" + ", ".join(f"{n}: {type(v).__name__}" for n, v in self._values.items()) + ")"


_SMALL = frozenset({bool, int, float, type(None)})
_BUILT_IN = frozenset({str, bytes, list, dict, tuple, set})
# What an object's library knows at once, and how it is asked.
_ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nbytes", {}),
    ("memory_usage", {"deep": False}),
    ("estimated_size", {}),
)


def _size(value: Any) -> int:
    """An object's bytes, as far as it or its library knows them at once."""
    if type(value) not in _BUILT_IN:
        for name, arguments in _ASKED:
            try:
                told: Any = getattr(value, name, None)
                if told is None:
                    continue
                told = told(**arguments) if callable(told) else told
                return max(0, int(told.sum() if hasattr(told, "sum") else told))
            except Exception:  # noqa: BLE001, S112 - somebody's own attribute of that name
                continue
    return sys.getsizeof(value, 0)
