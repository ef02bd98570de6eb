"""A shell line taken apart into subjects: each simple command, each path it names, each redirect.

Relative paths are judged from the folder that the shell stands in, as moved by earlier ``cd`` and ``pushd`` with a
folder that is known; where it may stand in several, all count, and where nobody knows, the path is unknown.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.command_subject import CommandSubject, Form, form, suggest
from nbtoolkit.permission.dangers import Runs, danger
from nbtoolkit.permission.git_settings import git_runs
from nbtoolkit.permission.handed_on import by_xargs
from nbtoolkit.permission.modes import READS
from nbtoolkit.permission.own_files import OWN_FILE
from nbtoolkit.permission.path_subject import PathSubject
from nbtoolkit.permission.programs import CODE, RUNNERS_OF_ANYTHING, family, program_name
from nbtoolkit.permission.readonly import BELOW, reading
from nbtoolkit.permission.readonly_tables import EDITS, PROGRAMS
from nbtoolkit.permission.searched import searched
from nbtoolkit.permission.shell import read_line
from nbtoolkit.permission.shell_effects import EffectJudge, unwritten
from nbtoolkit.permission.shell_paths import MAX_NAMED, Programs
from nbtoolkit.permission.shell_place import MOVERS, TRICKS, Wanderer
from nbtoolkit.permission.shell_values import Argument, Value, Variables, changes_what_runs, expand_files
from nbtoolkit.permission.subject import Effect, Subject
from nbtoolkit.permission.sweeps import Sweep, sweeps
from nbtoolkit.permission.trees import is_odd
from nbtoolkit.permission.wrappers import allowed_form, unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import Reading
    from nbtoolkit.permission.sensitive import Places
    from nbtoolkit.permission.shell import ShellLine, SimpleCommand

__all__ = ["judge_line"]

MAX_SCRIPTS = 4
# Longer texts are looked at in pieces.
MAX_TEXT = 100_000
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_WORDS = re.compile(r"[\w.+-]*\w")


def judge_line(
    source: str, *, cwd: str, folders: Sequence[str], places: Places, base: str = "", file_rules: bool = True
) -> list[Subject]:
    """The subjects of one command line.

    ``cwd`` is where the shell starts, ``folders`` the working directories, ``base`` where rules are read from.
    ``file_rules``: rules about files exist, so words that are nothing but ordinary paths must be subjects too.
    """
    judge = _Judge(read_line(source), (os.path.realpath(cwd),), folders, places, base, file_rules)
    judge.run()
    if OWN_FILE in source.casefold() and not any(each.own_file for each in judge.subjects):
        # What it does isn't known, but the file's name stands in it: that question is asked in every mode.
        return [replace(each, own_file=True) if each.safety else each for each in judge.subjects]
    return judge.subjects


class _Judge(EffectJudge, Wanderer):
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
        self.background = any(command.joined == "&" for command in line.commands)

    # ------------------------------------------------------------------------------------------------ the line
    def run(self) -> None:
        line = self.line
        programs = [command.words[0].static if command.words else None for command in line.commands]
        if any(program in TRICKS for program in programs):
            # They can set any variable and go to any folder.
            self.variables.spoil([*line.loops, *(each.name for each in line.assignments())])
            self.stack = [((), (), ())]
        if any(command.repeats and program in MOVERS for command, program in zip(line.commands, programs, strict=True)):
            self.stack = [((), (), ())]
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
        for command in line.commands:
            self.command(command)
        self.odd_names()
        self.secrets()
        self.texts()
        self.elements()
        if not self.subjects:
            # A comment, or nothing.
            self.subjects.append(CommandSubject(kind="command", text=line.source, effect=Effect.READ))

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

    def mentioned(self, args: Sequence[Argument], forms: Sequence[Form]) -> frozenset[str]:
        """The words in code that a command is given, where it is one that runs code."""
        programs = {family(text) for each in forms if each and each[0][0] for text in each[0][0]}
        if programs & CODE or not programs.isdisjoint(("xargs", "parallel")):
            self.runs_code = True
        if not programs & RUNNERS_OF_ANYTHING:
            return frozenset()
        texts = [value.text for each in args[1:] for value in each.values] + self.line.texts
        return frozenset(word for text in texts for word in _WORDS.findall(text.casefold()))

    # ------------------------------------------------------------------------------------------- one command
    def command(self, command: SimpleCommand) -> None:
        cwds = self.cwds(command)
        text = self.line.source[command.start : command.end].strip()
        if command.kind == "redirects":
            self.redirects(command, cwds)
            return
        if command.kind == "arithmetic" or not (command.words or command.assignments):
            if command.kind == "arithmetic":
                self.subjects.append(CommandSubject(kind="command", text=text, effect=Effect.READ))
            self.redirects(command, cwds)
            return
        safety = self.assignments(command)
        command = _reads_fields(command)
        changes = safety is not None
        args = [self.settled(self.variables.argument(word), cwds) for word in command.words]
        at = len(self.subjects)
        if command.kind == "test":
            self.subjects.append(
                CommandSubject(kind="command", text=text, effect=Effect.READ, safety=safety, hidden=changes)
            )
            self.subjects += self.named(args, at, cwds, set(), Programs("[[", "[["), "test")
        elif not args:
            effect = Effect.READ
            if any(each.name in os.environ for each in command.assignments):
                effect = Effect.OTHER
            self.subjects.append(
                CommandSubject(
                    kind="command", text=text or self.line.source, effect=effect, safety=safety, hidden=changes
                )
            )
        else:
            self.words(command, args, text, safety, cwds)
        self.redirects(command, cwds)

    def settled(self, argument: Argument, cwds: tuple[str, ...]) -> Argument:
        """An option with a glob's sign in it, as the text that it stays where no file is called like an option."""
        if argument.splits or not any(value.pattern and value.text[:1] == "-" for value in argument.values):
            return argument
        values = []
        for value in argument.values:
            plain = value.pattern is not None and value.text[:1] == "-" and bool(cwds)
            plain = plain and all(expand_files(value.pattern or "", cwd) == [] for cwd in cwds)
            values.append(Value(value.text) if plain else value)
        return replace(argument, values=tuple(values))

    def assignments(self, command: SimpleCommand) -> str | None:
        for each in _reads_fields(command).assignments:
            if changes_what_runs(each.name):
                return f"it sets {each.name}, which decides what runs"
        return None

    def words(
        self, command: SimpleCommand, args: list[Argument], text: str, safety: str | None, cwds: tuple[str, ...]
    ) -> None:
        at = len(self.subjects)
        forms: list[Form] = []
        scripts: list[str] = []
        reached, hidden = [0], [safety is not None]
        swept: list[Sweep] = []
        found = self.look_through(args, args, forms, scripts, reached, hidden, swept, cwds)
        own = self.own_reach(command, swept, cwds)
        safety = own or safety or found
        program = args[0].static if args[0].written else None
        plain = not command.assignments and program is not None
        seen = allowed_form(args) if plain else ()
        allowed = form(seen) if plain else None
        reach = max(0, reached[0] - (len(args) - len(seen))) if plain else 0
        read = reading(seen) if plain and (seen[0].static or "") not in self.line.functions else None
        if read is None and plain and seen[0].static == "xargs" and "xargs" not in self.line.functions:
            read = self.by_pipe(command, seen, cwds)
        if read is not None and read.edits and seen[0].static == "sed" and any(each.splits for each in seen):
            read = None
        effect = Effect.OTHER
        why = None
        paths: list[PathSubject] = []
        drivers: frozenset[str] | None = None
        if read is not None and read.git is not None:
            drivers, why = git_runs(read.git, cwds)
            read = None if why is not None else read
        if read is not None:
            read.recursive = read.recursive and safety is None
            effect, why, paths = self.looked_at(read, at, cwds, seen)
        suggestion = (
            suggest(seen, allowed, reach)
            if safety is None and effect not in (Effect.READ, Effect.READ_OUTSIDE)
            else None
        )
        subject = CommandSubject(
            kind="command",
            text=text,
            effect=effect,
            safety=safety,
            own_file=own is not None,
            why=why,
            suggestion=suggestion,
            allowed=allowed,
            forms=tuple(forms),
            hidden=program is None or hidden[0],
            reach=reach,
            drivers=drivers,
            mentions=frozenset() if read is not None else self.mentioned(args, forms),
        )
        if effect not in READS:
            self.answered.append((command.start, command.end))
        if suggestion is not None and not subject.covered_by(suggestion):
            subject = replace(subject, suggestion=None)
        self.subjects.append(subject)
        self.subjects.extend(paths)
        judged = {id(each) for each, _ in read.paths} if read is not None else set()
        judged.add(id(args[0]))
        judged.update(id(each) for each in (read.left_out if read is not None else ()))
        last = forms[-1][0][0] if forms and forms[-1] else None
        kind = "read" if read is not None and not read.edits else "other"
        outer = "" if kind == "read" else program_name(program or "")
        programs = Programs(outer, family(last[0]) if last else "")
        self.subjects += self.named(args, at, cwds, judged, programs, kind)
        self.subjects += self.searched(searched(seen or args) if read is None else (), at, cwds)
        for script in scripts:
            self.script(script, cwds)
        if seen:
            self.move(seen, cwds, certain=command.joined in ("", ";") and not command.conditional)
        elif program in MOVERS:
            self.moved(())

    def by_pipe(self, command: SimpleCommand, seen: Sequence[Argument], cwds: tuple[str, ...]) -> Reading | None:
        """What xargs reads with what the pipe gives it."""
        read = by_xargs(seen[1:], self.fed_by(command, cwds))
        if read is not None:
            self.fed.append(len(self.subjects))
        return read

    def searched(self, places: Sequence[Argument], at: int, cwds: tuple[str, ...]) -> list[PathSubject]:
        """The places below which a search goes through what is sensitive."""
        found = (self.path(each, "read", at, cwds, below=BELOW) for each in places)
        return [each for each in found if each is not None and each.safety is not None]

    def look_through(
        self,
        args: Sequence[Argument],
        whole: Sequence[Argument],
        forms: list[Form],
        scripts: list[str],
        reached: list[int],
        hidden: list[bool],
        swept: list[Sweep],
        cwds: tuple[str, ...],
        depth: int = 0,
    ) -> str | None:
        """Every form of a command for deny and ask rules, and the first reason for a safety question."""
        forms.append(form(args))
        swept.extend(sweeps(args))
        if not args[0].written:
            hidden[0] = True
            return danger(args, self.folders, cwds) or "the program that it runs isn't known until it runs"
        safety = danger(args, self.folders, cwds)
        hidden[0] = hidden[0] or isinstance(safety, Runs)
        if depth > 8:
            return safety or "it wraps too many commands"
        inner = unwrap(args)
        if inner is None:
            return safety
        safety = safety or inner.doubt
        hidden[0] = hidden[0] or inner.doubt is not None
        if inner.loose:
            reached[0] = len(whole)
            forms.extend(form(each) for each in inner.commands)
            swept.extend(sweep for each in inner.commands for sweep in sweeps(each))
            return safety
        for name in inner.assignments:
            if changes_what_runs(name):
                hidden[0] = True
                safety = safety or f"it sets {name}, which decides what runs"
        scripts.extend(inner.scripts)
        for each in inner.commands:
            index = next((at for at, word in enumerate(whole) if word is each[0]), None)
            reached[0] = max(reached[0], len(whole) if index is None else index + 1)
            found = self.look_through(each, whole, forms, scripts, reached, hidden, swept, cwds, depth + 1)
            safety = safety or found
        return safety

    def script(self, text: str, cwds: tuple[str, ...]) -> None:
        """A shell line inside the line, judged like the line."""
        if self.depth >= MAX_SCRIPTS:
            self.subjects.append(
                CommandSubject(kind="unreadable", text=text, safety="it can't be judged: shells in shells", hidden=True)
            )
            return
        inner = _Judge(read_line(text), cwds, self.folders, self.places, self.base, self.file_rules)
        inner.depth = self.depth + 1
        inner.run()
        offset = len(self.subjects)
        self.subjects.extend(
            each if each.within is None else replace(each, within=each.within + offset) for each in inner.subjects
        )


def _reads_fields(command: SimpleCommand) -> SimpleCommand:
    """``IFS=, read a b`` without what it sets: for this one builtin, which runs nothing, and for nothing else."""
    program = command.words[0].static if command.words else None
    if program not in ("read", "mapfile", "readarray") or not command.assignments:
        return command
    if any(each.name != "IFS" or each.value is None or each.value.static is None for each in command.assignments):
        return command
    return replace(command, assignments=[])
