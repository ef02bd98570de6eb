"""What a command and its redirects do to files: read, edited, reached, as far as their words tell."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.handed_on import passes_on, prints
from nbtoolkit.permission.own_reach import own_reached, unknown_own
from nbtoolkit.permission.path_subject import READERS, WRITERS, PathSubject
from nbtoolkit.permission.shell import Part, Word
from nbtoolkit.permission.shell_argument import UNKNOWN, Argument
from nbtoolkit.permission.shell_named import MAX_NAMED, NamedJudge
from nbtoolkit.permission.shell_operators import Value
from nbtoolkit.permission.subject import Effect
from nbtoolkit.permission.sweeps import unlike
from nbtoolkit.permission.trees import holds_link, not_plain_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import Access, Reading
    from nbtoolkit.permission.shell import Redirect, ShellLine, SimpleCommand
    from nbtoolkit.permission.shell_values import Variables
    from nbtoolkit.permission.subject import Subject
    from nbtoolkit.permission.sweeps import Sweep

__all__ = ["EffectJudge", "unwritten"]


def unwritten(text: str) -> Argument:
    """A word that nobody wrote."""
    return Argument(Word(text, -1, (Part("text", text),)), (Value(text),))


class EffectJudge(NamedJudge):
    """Judges what a command does to files, given what it is known to do at all."""

    line: ShellLine
    variables: Variables
    subjects: list[Subject]
    tangled: bool
    """Whether an earlier part of the line may have moved links about, so that paths mean something else by now."""

    def looked_at(
        self, read: Reading, at: int, cwds: tuple[str, ...], args: Sequence[Argument]
    ) -> tuple[Effect, str | None, list[PathSubject]]:
        """The effect of a command that reads or edits, and its paths."""
        paths: list[PathSubject] = []
        removes = read.edits and args[0].static in ("rm", "rmdir", "mv")
        items: list[tuple[Argument, Access]] = list(read.paths)
        if read.default_folder:
            items.append((unwritten("."), "read" if read.recursive else "name"))
        items += [(each, "write") for each in self.landings(read, cwds)]
        known = not read.unknown_paths
        if len(items) > MAX_NAMED:
            # Nobody reads so many either; what the rest is counts as unknown.
            items, known = items[:MAX_NAMED], False
        for argument, access in items:
            below = read.below if read.recursive and (access == "read" or removes) else None
            subject = self.path(argument, access, at, cwds, strictly=removes, below=below)
            if subject is None:
                continue
            if self.tangled or (read.into is not None and access == "write" and self.meets_link(read, subject)):
                subject = replace(subject, exact=False, effect=Effect.OTHER, suggestion=None)
            known = known and subject.exact
            paths.append(subject)
        if read.edits and args[0].static in ("cp", "mv"):
            self.tangled = self.tangled or any(
                map(holds_link, not_plain_files({p for each in paths for p in each.paths}))
            )
        if read.edits:
            inside = known and bool(paths) and all(each.effect in (Effect.EDIT, Effect.READ) for each in paths)
            return (Effect.EDIT if inside else Effect.OTHER), None, paths
        if not known:
            paths = [replace(each, effect=Effect.OTHER) if not each.exact else each for each in paths]
            return Effect.OTHER, "which files it reads isn't known until it runs", paths
        return Effect.READ, None, paths

    def landings(self, read: Reading, cwds: tuple[str, ...]) -> list[Argument]:
        """The places inside a folder that cp and mv write to, each under its source's name."""
        if read.into is None:
            return []
        targets = [value.text for value in read.into.values if value.pattern is None and UNKNOWN not in value.text]
        targets = [each for each in targets if any(os.path.isdir(os.path.join(cwd, each)) for cwd in cwds)]  # noqa: PTH112, PTH118
        names: dict[str, None] = {}
        for argument, _ in read.paths if targets else ():
            if argument is read.into:
                continue
            for value in argument.values:
                texts = (value.text,) if value.pattern is None else self.files(value.pattern, value.text, cwds)[0]
                names.update((os.path.basename(text.rstrip("/")), None) for text in texts)  # noqa: PTH119
        texts = [os.path.join(target, name) for target in targets for name in names if name]  # noqa: PTH118
        return [replace(unwritten(texts[0]), values=tuple(map(Value, texts)))] if texts else []

    def meets_link(self, read: Reading, subject: PathSubject) -> bool:
        """Whether copying a folder over another one would write through a link in it."""
        return read.recursive and any(os.path.isdir(each) and holds_link(each) for each in subject.resolved)  # noqa: PTH112

    def own_reach(self, command: SimpleCommand, swept: Sequence[Sweep], cwds: tuple[str, ...]) -> str | None:
        """Which of the product's own files it takes away or writes over, in words."""
        if not swept:
            return None
        feeds = self.fed_by(command, cwds) if any(each.fed for each in swept) else None
        found = (own_reached(each, cwds, self.variables, self.base, feeds) for each in unlike(swept))
        return next((each for each in found if each is not None), None)

    def fed_by(self, command: SimpleCommand, cwds: tuple[str, ...]) -> list[Sweep] | None:
        """What the commands before a pipe print the names of; None where nobody knows."""
        source, after = self.line.source, command
        if "<" in source[command.start : command.end]:
            return None
        for before in reversed(self.line.commands):
            if before.end > after.start:
                continue
            # What else stands between them, the end of a group say, has more to print.
            text = source[before.start : before.end]
            if source[before.end : after.start].strip() not in ("|", "|&") or "<" in text or not before.words:
                return None
            args = [self.variables.argument(word) for word in before.words]
            if before.assignments or args[0].static in self.line.functions:
                return None
            if not passes_on(args):
                return prints(args, cwds)
            after = before
        return None

    # ---------------------------------------------------------------------------------------------- redirects
    def redirects(self, command: SimpleCommand, cwds: tuple[str, ...]) -> None:
        """Judge the files that a command's redirects read or write."""
        for redirect in command.redirects:
            subject = self.redirect(redirect, cwds)
            if subject is not None:
                self.subjects.append(subject)

    def redirect(self, redirect: Redirect, cwds: tuple[str, ...]) -> Subject | None:
        """One redirect; None for one that reaches no file."""
        if redirect.target is None:
            return None
        argument = self.variables.argument(redirect.target)
        access: Access = "write" if redirect.writes else "read"
        if not argument.known:
            if redirect.target.parts and redirect.target.parts[0].text == "/dev/fd" and len(redirect.target.parts) == 1:
                # A process substitution: its commands are judged.
                return None
            # What is known of it, or where it comes from, may make it this product's own file.
            known = self.path(argument, access, None, cwds)
            own = known is not None and known.own_file
            return PathSubject(
                kind=access,
                text=redirect.raw,
                safety="the file of a redirect isn't known until it runs",
                own_file=own or unknown_own(argument, cwds, self.variables, self.base),
                tool_names=WRITERS if access == "write" else READERS,
                exact=False,
            )
        subject = self.path(argument, access, None, cwds)
        if subject is not None and any(value.pattern is not None for value in argument.values):
            # A glob of files that are there now; there may be others by then, of such a name in that folder.
            subject = replace(subject, exact=False, suggestion=None)
        if subject is not None and self.tangled:
            subject = replace(subject, exact=False, effect=Effect.OTHER, suggestion=None)
        return None if subject is None else replace(subject, text=redirect.raw)
