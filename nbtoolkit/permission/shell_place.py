"""Where a shell stands, command by command: moved by cd and pushd, in subshells, and where nobody knows."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.modes import READS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell import SimpleCommand
    from nbtoolkit.permission.shell_argument import Argument
    from nbtoolkit.permission.subject import Subject

__all__ = ["MOVERS", "TRICKS", "Wanderer"]

MOVERS = frozenset({"cd", "pushd", "popd"})
# They can go anywhere.
TRICKS = frozenset({"eval", "source", ".", "trap"})


class Wanderer:
    """Follows a shell through a line; where it may stand in several folders, all count."""

    subjects: list[Subject]
    background: bool
    stack: list[tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]]
    """For each subshell that is open: which, where the shell may stand in it, where it stands if all went well."""

    def cwds(self, command: SimpleCommand) -> tuple[str, ...]:
        """The folders that a command may run in."""
        scope = command.scope
        while scope[: len(self.stack[-1][0])] != self.stack[-1][0]:
            self.stack.pop()
        if scope != self.stack[-1][0]:
            _, possible, _ = self.stack[-1]
            self.stack.append((scope, possible, possible))
        outer, possible, chained = self.stack[-1]
        if command.joined == "&&":
            return chained
        self.stack[-1] = (outer, possible, possible)
        return possible

    def moved(self, found: tuple[str, ...], *, certain: bool = False) -> None:
        """The shell went somewhere else, or failed to."""
        scope, possible, _ = self.stack[-1]
        if not found or not possible:
            self.stack[-1] = (scope, (), ())
            return
        union = found if certain else tuple(dict.fromkeys((*possible, *found)))
        self.stack[-1] = (scope, union if len(union) <= 8 else (), found)

    def move(self, args: Sequence[Argument], cwds: tuple[str, ...], *, certain: bool) -> None:
        """Follow the shell to another folder."""
        program = args[0].static
        if program in TRICKS or program == "popd":
            self.moved(())
        if program not in ("cd", "pushd"):
            return
        words = [each for each in args[1:] if each.static is None or not re.fullmatch(r"-[LPe@]+|--", each.static)]
        target = words[0].static if len(words) == 1 else None
        if not words:
            target = "~"
        if target is None or target == "-" or not cwds or re.match(r"[+-]\d", target):
            self.moved(())
            return
        found: list[str] = []
        for cwd in cwds:
            joined = os.path.join(cwd, os.path.expanduser(target) if not words else target)  # noqa: PTH111, PTH118
            # A shell takes ".." out of the text, the system follows links first: both count.
            found += [os.path.realpath(os.path.normpath(joined)), os.path.realpath(joined)]
        # A folder that is there will be there, unless an earlier part of the line, or one beside it, changes that.
        still = not self.background and all(each.effect in READS and each.safety is None for each in self.subjects)
        certain = certain and still and all(os.path.isdir(each) and os.access(each, os.X_OK) for each in found)  # noqa: PTH112
        self.moved(tuple(dict.fromkeys(found)), certain=certain)
