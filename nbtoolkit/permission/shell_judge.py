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
from nbtoolkit.permission.git_settings import git_runs
from nbtoolkit.permission.git_shows import shows_secret
from nbtoolkit.permission.handed_on import by_xargs
from nbtoolkit.permission.modes import READS
from nbtoolkit.permission.own_files import OWN, OWN_FILE
from nbtoolkit.permission.programs import CODE, RUNNERS_OF_ANYTHING, family, program_name
from nbtoolkit.permission.readonly import BELOW, reading
from nbtoolkit.permission.searched import searched
from nbtoolkit.permission.shell import read_line
from nbtoolkit.permission.shell_globs import expand_files
from nbtoolkit.permission.shell_layers import Layers
from nbtoolkit.permission.shell_line_judge import LineJudge
from nbtoolkit.permission.shell_named import Programs
from nbtoolkit.permission.shell_operators import Value
from nbtoolkit.permission.shell_place import MOVERS, TRICKS
from nbtoolkit.permission.subject import Effect, Subject
from nbtoolkit.permission.unsettled import LISTS, PATH, brought, reads_paths, unsettled
from nbtoolkit.permission.variable_names import changes_what_runs
from nbtoolkit.permission.wrappers import allowed_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.path_subject import PathSubject
    from nbtoolkit.permission.readonly import Reading
    from nbtoolkit.permission.sensitive import Places
    from nbtoolkit.permission.shell import SimpleCommand
    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["judge_line"]

MAX_SCRIPTS = 4
_WORDS = re.compile(r"[\w.+-]+")


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


class _Judge(LineJudge):
    def run(self) -> None:
        line = self.line
        programs = [command.words[0].static if command.words else None for command in line.commands]
        if any(program in TRICKS for program in programs):
            # They can set any variable and go to any folder.
            self.variables.spoil([*line.loops, *(each.name for each in line.assignments())])
            self.stack = [((), (), ())]
        if any(command.repeats and program in MOVERS for command, program in zip(line.commands, programs, strict=True)):
            self.stack = [((), (), ())]
        self.problems()
        for command in line.commands:
            self.command(command)
        self.odd_names()
        self.secrets()
        self.texts()
        self.elements()
        if not self.subjects:
            # A comment, or nothing.
            self.subjects.append(CommandSubject(kind="command", text=line.source, effect=Effect.READ))

    def mentioned(self, args: Sequence[Argument], forms: Sequence[Form]) -> frozenset[str]:
        """The words in code that a command is given, where it is one that runs code."""
        programs = {family(text) for each in forms if each and each[0][0] for text in each[0][0]}
        lists = any(LISTS.match(each.static or "") for each in args[1:])
        if lists or programs & CODE or not programs.isdisjoint(("xargs", "parallel", "cpio", "pax")):
            # It runs what it is sent, or takes names from it.
            self.runs_code = True
        if not programs & RUNNERS_OF_ANYTHING:
            return frozenset()
        texts = [value.text for each in args[1:] for value in each.values] + self.line.texts
        return frozenset(
            word for text in texts for each in _WORDS.findall(text.casefold()) if (word := each.rstrip(".+-"))
        )

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
        at, own_file = len(self.subjects), False
        layers = Layers(args, self.folders, cwds, hidden=safety is not None)
        found = layers.look_through(args)
        own = self.own_reach(command, layers.swept, cwds)
        safety = own or safety or found
        program = args[0].static if args[0].written else None
        plain = not command.assignments and program is not None
        seen = allowed_form(args) if plain else ()
        allowed = form(seen) if plain else None
        reach = max(0, layers.reached - (len(args) - len(seen))) if plain else 0
        read = self.read(command, seen, cwds)
        effect = Effect.OTHER
        why = None
        paths: list[PathSubject] = []
        drivers: frozenset[str] | None = None
        if read is not None and read.git is not None:
            safety = safety or shows_secret(seen, cwds, added=self.adds(command))
            drivers, why = git_runs(read.git, cwds)
            read = None if why is not None else read
        if read is not None:
            read.recursive = read.recursive and safety is None
            effect, why, paths = self.looked_at(read, at, cwds, seen)
        loose, spelled = self.loose(layers, seen, read)
        if effect is Effect.OTHER and loose and why is None:
            why = next(iter(loose.values()))
        if spelled is not None and safety is None:
            safety = f"its words could be put together to {spelled}"
            own_file = spelled == OWN
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
            own_file=own is not None or own_file,
            why=why,
            suggestion=suggestion,
            allowed=allowed,
            forms=tuple(layers.forms),
            hidden=program is None or layers.hidden,
            reach=reach,
            loose=tuple(loose),
            drivers=drivers,
            mentions=frozenset() if read is not None else self.mentioned(args, layers.forms),
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
        last = layers.forms[-1][0][0] if layers.forms[-1] else None
        kind = "read" if read is not None and not read.edits else "other"
        outer = "" if kind == "read" else program_name(program or "")
        programs = Programs(outer, family(last[0]) if last else "")
        self.subjects += self.named(args, at, cwds, judged, programs, kind)
        self.subjects += self.searched(searched(seen or args) if read is None else (), at, cwds)
        for script in layers.scripts:
            self.script(script, cwds)
        if seen:
            self.move(seen, cwds, certain=command.joined in ("", ";") and not command.conditional)
        elif program in MOVERS:
            self.moved(())

    def loose(
        self, layers: Layers, seen: Sequence[Argument], read: Reading | None
    ) -> tuple[dict[int, str], str | None]:
        """The words that no star of an allow rule covers, by their places, with the reasons; what they could spell."""
        places = {id(each): at for at, each in enumerate(seen)}
        found: dict[int, str] = {}
        paths = False
        for layer in layers.commands:
            known = read if layer is layers.commands[-1] or len(seen) == len(layer) else None
            for word, why in unsettled(layer, known, layers.cwds, names_made=self.names_made):
                found.setdefault(places.get(id(word), len(seen)), f"{word.word.raw[:80]} {why}")
                paths = paths or why is PATH
        if read is None and len(layers.commands) > 1 and layers.commands[-2][0].static in ("xargs", "parallel"):
            inner = layers.commands[-1]
            why_brought = brought(inner)
            if why_brought is not None:
                found.setdefault(len(seen), why_brought)
            paths = paths or reads_paths(family(inner[0].static or ""))
        return found, self.spelled if paths else None

    def read(self, command: SimpleCommand, seen: Sequence[Argument], cwds: tuple[str, ...]) -> Reading | None:
        """What a command does, where it is known to only read or edit."""
        if not seen or (seen[0].static or "") in self.line.functions:
            return None
        found = reading(seen)
        if found is None and seen[0].static == "xargs":
            found = self.by_pipe(command, seen, cwds)
        if found is not None and found.edits and seen[0].static == "sed" and any(each.splits for each in seen):
            return None
        return found

    def adds(self, command: SimpleCommand) -> bool:
        """Whether the line may have git take in files before this command."""
        before = (each.words for each in self.line.commands if each.start < command.start)
        return any(
            words and words[0].static == "git" and {"add", "stage"} & {w.static for w in words} for words in before
        )

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

    def script(self, text: str, cwds: tuple[str, ...]) -> None:
        """A shell line inside the line, judged like the line."""
        if self.depth >= MAX_SCRIPTS:
            self.subjects.append(
                CommandSubject(kind="unreadable", text=text, safety="it can't be judged: shells in shells", hidden=True)
            )
            return
        inner = _Judge(read_line(text), cwds, self.folders, self.places, self.base, self.file_rules)
        inner.depth = self.depth + 1
        if self.variables.sets:
            # What it exports isn't what it was outside.
            inner.variables.spoil(())
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
