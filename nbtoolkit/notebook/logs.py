"""Looking for calls in the log: by words, tool, state, and who decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit.message import ToolResultState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtoolkit.tool.log import LogEntry

__all__ = ["STATES", "Filter", "decided_by"]

STATES = tuple(state.value for state in ToolResultState if state is not ToolResultState.RUNNING)

_BY = {"person": "you", "script": "a planned answer", "policy": "nobody there", "": ""}


def decided_by(entry: LogEntry) -> str:
    """Who had the last word, for a person."""
    if entry.approval is not None:
        return _BY.get(entry.decided_by, entry.decided_by)
    reason = entry.reason or ""
    return "a rule" if reason.startswith("Rule: ") else reason.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Filter:
    """What an entry must be like; an empty one takes all."""

    tools: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    decided: str = ""
    words: tuple[str, ...] = field(default=())

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Filter:
        """Each word must be found somewhere: in the tool, the arguments, the decision, or as the state."""
        return cls(words=tuple(word.casefold() for word in words))

    def takes(self, entry: LogEntry) -> bool:
        """Whether an entry is one of these."""
        if self.tools and entry.tool not in self.tools:
            return False
        if self.states and entry.state.value not in self.states:
            return False
        if self.decided and self.decided.casefold() not in entry.words.casefold():
            return False
        if not self.words:
            return True
        text = f"{entry.tool}\n{entry.words}\n{entry.state.value}\n{decided_by(entry)}\n{entry.tool_input}".casefold()
        return all(word in text for word in self.words)
