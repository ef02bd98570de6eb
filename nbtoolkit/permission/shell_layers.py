"""A command with all that it wraps, layer by layer: every form for deny and ask rules, the scripts in it, what is dangerous.

Allow rules look through the few wrappers that ``wrappers.allowed_form`` names; here all are looked through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit.permission.command_subject import Form, form
from nbtoolkit.permission.dangers import Runs, danger
from nbtoolkit.permission.sweeps import Sweep, sweeps
from nbtoolkit.permission.variable_names import changes_what_runs
from nbtoolkit.permission.wrappers import unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["DEEPEST", "Layers"]

# A wrapper in a wrapper in a wrapper: deeper than this nobody means it.
DEEPEST = 8


@dataclass(slots=True)
class Layers:
    """What was found in one command's layers."""

    whole: Sequence[Argument]
    folders: Sequence[str]
    cwds: tuple[str, ...]
    forms: list[Form] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Shell lines, to be judged in turn."""
    reached: int = 0
    """How many of the words lead to the innermost command's program."""
    hidden: bool = False
    """Whether it can run what nobody can tell."""
    swept: list[Sweep] = field(default_factory=list)
    commands: list[Sequence[Argument]] = field(default_factory=list)
    """Each layer's words, the outermost first."""

    def look_through(self, args: Sequence[Argument], depth: int = 0) -> str | None:
        """Take down each layer; the first reason for a safety question."""
        self.forms.append(form(args))
        self.commands.append(args)
        self.swept.extend(sweeps(args))
        if not args[0].written:
            self.hidden = True
            return danger(args, self.folders, self.cwds) or "the program that it runs isn't known until it runs"
        safety = danger(args, self.folders, self.cwds)
        self.hidden = self.hidden or isinstance(safety, Runs)
        if depth > DEEPEST:
            return safety or "it wraps too many commands"
        inner = unwrap(args)
        if inner is None:
            return safety
        safety = safety or inner.doubt
        self.hidden = self.hidden or inner.doubt is not None
        if inner.loose:
            self.reached = len(self.whole)
            self.forms.extend(form(each) for each in inner.commands)
            self.swept.extend(sweep for each in inner.commands for sweep in sweeps(each))
            return safety
        for name in inner.assignments:
            if changes_what_runs(name):
                self.hidden = True
                safety = safety or f"it sets {name}, which decides what runs"
        self.scripts.extend(inner.scripts)
        for each in inner.commands:
            index = next((at for at, word in enumerate(self.whole) if word is each[0]), None)
            self.reached = max(self.reached, len(self.whole) if index is None else index + 1)
            found = self.look_through(each, depth + 1)
            safety = safety or found
        return safety
