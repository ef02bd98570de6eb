"""What a shell line as a whole is asked about: what can't be read, what it redefines, sets, shows and spells."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.command_subject import CommandSubject
from nbtoolkit.permission.path_subject import PathSubject
from nbtoolkit.permission.readonly_tables import EDITS, PROGRAMS
from nbtoolkit.permission.shell_effects import EffectJudge, unwritten
from nbtoolkit.permission.shell_named import MAX_NAMED, Programs
from nbtoolkit.permission.shell_place import MOVERS, Wanderer
from nbtoolkit.permission.shell_values import Variables
from nbtoolkit.permission.subject import Effect, Subject
from nbtoolkit.permission.trees import is_odd
from nbtoolkit.permission.unsettled import makes_options
from nbtoolkit.permission.variable_names import changes_what_runs
from nbtoolkit.permission.wrappers import unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.sensitive import Places
    from nbtoolkit.permission.shell import ShellLine

__all__ = ["LineJudge"]

# Longer texts are looked at in pieces.
MAX_TEXT = 100_000
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
# What stands between the pieces of a name that is put together.
_BETWEEN = re.compile(r"[\s'\"\\,()\[\]]+")


class LineJudge(EffectJudge, Wanderer):
    """Judges a line but for its commands one by one, and keeps what they tell each other."""

    def __init__(
        self,
        line: ShellLine,
        cwds: tuple[str, ...],
        folders: Sequence[str],
        places: Places,
        base: str,
        file_rules: bool,
    ) -> None:
        super().__init__(folders, places, base, file_rules=file_rules)
        self.line = line
        self.depth = 0
        self.subjects: list[Subject] = []
        self.variables = Variables(line, cwds[0] if cwds else "")
        self.stack = [((), cwds, cwds)]
        self.tangled = False
        self.runs_code = False
        self.answered: list[tuple[int, int]] = []
        self.fed: list[int] = []
        self.names_made = makes_options(line)
        self.background = any(command.joined == "&" for command in line.commands)

    def problems(self) -> None:
        """What can't be read, and what changes the meaning of the rest."""
        line = self.line
        for problem in line.problems:
            self.subjects.append(
                CommandSubject(
                    kind="unreadable", text=line.source, safety=f"it can't be judged: {problem}", hidden=True
                )
            )
        for name in line.functions:
            if (
                name in PROGRAMS
                or name in EDITS
                or name in MOVERS
                or unwrap([unwritten(name), unwritten("x")]) is not None
                or name == "git"
            ):
                self.subjects.append(
                    CommandSubject(
                        kind="command", text=f"{name}()", safety=f"it changes what {name} means", hidden=True
                    )
                )
        for name in {*line.loops, *line.spoilt, *line.arithmetic}:
            if changes_what_runs(name):
                self.subjects.append(
                    CommandSubject(
                        kind="command", text=line.source, safety=f"it sets {name}, which decides what runs", hidden=True
                    )
                )
        doubtful = [name for name in line.arithmetic if not name or not self.variables.only_numbers(name)]
        if doubtful:
            self.subjects.append(
                CommandSubject(
                    kind="arithmetic",
                    text=line.source,
                    why="its arithmetic evaluates a value that isn't known to be a number",
                    hidden=True,
                )
            )

    def odd_names(self) -> None:
        """Names that the line itself makes, and that would become other words in its pipes to xargs."""
        if not self.fed:
            return
        edits = [each for each in self.subjects if each.effect is Effect.EDIT]
        moves = any(each.words and each.words[0].static in ("cp", "mv") for each in self.line.commands)
        paths = [path for each in edits if isinstance(each, PathSubject) for path in each.paths]
        names = [path.removeprefix(folder) for path in paths for folder in self.folders if path.startswith(folder)]
        if (edits and moves) or any(is_odd(part) for name in names for part in name.split("/")):
            for at in self.fed:
                why = "which files it reads isn't known until it runs"
                self.subjects[at] = replace(self.subjects[at], effect=Effect.OTHER, why=why)

    def secrets(self) -> None:
        """A question about each secret that a line shows or keeps, unless a command that asks by itself is given it."""
        told = set()
        for at, name in self.line.expanded:
            if (
                name not in told
                and _SECRET.search(name)
                and (name in os.environ or not self.variables.assigned(name))
                and not any(start <= at <= end for start, end in self.answered)
            ):
                told.add(name)
                self.subjects.append(
                    CommandSubject(kind="variable", text=f"${name}", why=f"it reads the variable {name}")
                )

    def texts(self) -> None:
        """What a program that runs code is sent counts as its words do."""
        if not self.line.texts or not self.runs_code:
            return
        code = Programs("", "python")
        for text in self.line.texts:
            for at in range(0, len(text), MAX_TEXT):
                word = unwritten(text[at : at + MAX_TEXT])
                self.subjects += [
                    replace(each, within=None)
                    for each in self.named_in(word.values[0].text, word, 0, self.stack[-1][1], code)
                    if each.safety
                ]

    def elements(self) -> None:
        """The words of arrays: what names a sensitive place there is about to name it to a command."""
        different = {word.raw: word for word in self.line.elements}
        if len(different) > MAX_NAMED:
            self.subjects.append(
                CommandSubject(
                    kind="unreadable", text=self.line.source, safety="it names too much to be judged", hidden=True
                )
            )
        for word in list(different.values())[:MAX_NAMED]:
            argument = self.variables.argument(word)
            for value in argument.values:
                found = self.place(value.text, "name", None, self.stack[-1][1], below=None, names=None, raw=word.raw)
                if found is not None and found.safety is not None:
                    self.subjects.append(found)

    @property
    def spelled(self) -> str | None:
        """What sensitive name the line holds in pieces, blanks and quotes left out."""
        return self.places.spelled(_BETWEEN.sub("", self.line.source))
