"""What a command runs besides itself, and the usual ways in which it comes to that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell import Part, Word
from nbtoolkit.permission.shell_argument import Argument
from nbtoolkit.permission.shell_operators import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Inner", "all_ways", "joined", "made", "script"]


@dataclass(slots=True)
class Inner:
    """What a wrapper runs."""

    commands: list[tuple[Argument, ...]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Shell lines, to be read in turn."""
    assignments: list[str] = field(default_factory=list)
    doubt: str | None = None
    """Why what runs isn't known before it runs."""
    loose: bool = False
    """Whether ``commands`` holds every way to read words whose options aren't known."""


def made(text: str) -> Argument:
    """A word that nobody wrote."""
    return Argument(Word(text, -1, (Part("text", text, quoted=True),)), (Value(text),))


def all_ways(inner: Inner, rest: Sequence[Argument]) -> Inner:
    """Every word could be the command's first."""
    inner.loose = True
    for at in range(min(len(rest), 12)):
        word = rest[at].static
        if word is not None and not word.startswith("-"):
            inner.commands.append(tuple(rest[at:]))
    return inner


def joined(command: Sequence[Argument], *, appends: bool) -> Inner:
    """The words are one shell line, if all of them are known."""
    texts = [each.static for each in command]
    if any(text is None for text in texts) or appends:
        inner = Inner(commands=[tuple(command)])
        inner.doubt = "the shell line that it runs isn't known until it runs"
        return inner
    return Inner(scripts=[" ".join(text for text in texts if text is not None)])


def script(rest: Sequence[Argument]) -> Inner:
    """The first word is a shell line."""
    if not rest:
        return Inner()
    static = rest[0].static
    if static is None:
        return Inner(doubt="the shell line that it runs isn't known until it runs")
    return Inner(scripts=[static])
