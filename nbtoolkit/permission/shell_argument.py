"""A word of a command with all that it can turn out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell_outputs import NAMED

if TYPE_CHECKING:
    from nbtoolkit.permission.shell import Word
    from nbtoolkit.permission.shell_operators import Value

__all__ = ["UNKNOWN", "Argument"]

# Stands in a text for what only running could tell.
UNKNOWN = "\x00"


@dataclass(frozen=True, slots=True)
class Argument:
    """A word with its values; ``splits`` is one that may become several words, or none."""

    word: Word
    values: tuple[Value, ...]
    splits: bool = False
    guesses: tuple[str, ...] = ()
    """What it is if the variables that nothing in the line sets are as they are now, or by the texts that stand there."""
    texts: tuple[str, ...] = ()
    """Where it isn't known to the letter, all that it can be with those variables: ``UNKNOWN`` for what may be anything,
    ``DIGITS`` and ``NAMED`` for what isn't known but for its kind."""

    @property
    def static(self) -> str | None:
        """The text, where there is exactly one."""
        if len(self.values) == 1 and not self.splits:
            value = self.values[0]
            if value.pattern is None and UNKNOWN not in value.text:
                return value.text
        return None

    @property
    def written(self) -> bool:
        """Whether the text stands there, and doesn't come out of a variable."""
        return self.static is not None and all(part.kind in ("text", "tilde") for part in self.word.parts)

    @property
    def known(self) -> bool:
        """Whether every value is known, globs aside."""
        return not self.splits and self.whole

    @property
    def whole(self) -> bool:
        """Whether every value is known, though it may be several of them."""
        return not any(UNKNOWN in value.text for value in self.values)

    @property
    def open(self) -> bool:
        """Whether it may be any name, or anything at all."""
        return any(UNKNOWN in text or NAMED in text for text in self.texts)
