"""The paths that a shell line's words name, each with all that it can turn out to be."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.own_files import OWN, is_own_name
from nbtoolkit.permission.path_subject import READERS, WRITERS, PathSubject, path_subject
from nbtoolkit.permission.pattern import path_pattern
from nbtoolkit.permission.sensitive import protected, resolve
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_globs import expand_files
from nbtoolkit.permission.subject import Effect
from nbtoolkit.permission.trees import folder, holds_link, holds_odd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.readonly import Access, Below
    from nbtoolkit.permission.sensitive import Places
    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["PathJudge"]

_DEVICES = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|random|urandom|full|fd/\d+)\Z")
_EFFECTS = {Effect.READ: 0, Effect.EDIT: 1, Effect.READ_OUTSIDE: 2}


# So many are judged one by one.
FEW = 6


class PathJudge:
    """Judges words as paths, from every folder that the shell may stand in."""

    def __init__(self, folders: Sequence[str], places: Places, base: str, *, file_rules: bool) -> None:
        self.folders = folders
        self.places = places
        self.base = base
        self.file_rules = file_rules

    def path(
        self,
        argument: Argument,
        access: Access,
        within: int | None,
        cwds: tuple[str, ...],
        *,
        strictly: bool = False,
        below: Below | None = None,
        names: tuple[str, ...] | None = None,
    ) -> PathSubject | None:
        """One word as a path; the worst of all that it can be. ``below``: what lies below it is read or copied too."""
        raw = argument.word.raw
        known = argument.known
        all_texts: list[str] = []
        for value in argument.values:
            texts: Sequence[str] = (value.text,)
            if value.pattern is not None and UNKNOWN not in value.text:
                part = next((p for p in value.text.split("/") if self.places.could_match(p)), None)
                if part is not None:
                    safety = f"it names {self.places.could_match(part)} ({raw[:80]})"
                    return PathSubject(
                        kind=access, text=raw, safety=safety, within=within, tool_names=names or READERS, exact=False
                    )
                texts, complete = self.files(value.pattern, value.text, cwds, listed=access == "name" and names is None)
                known = known and complete
            all_texts += [each for each in texts if each or len(argument.values) == 1]
        found = self.several(all_texts, access, within, cwds, strictly=strictly, below=below, names=names, raw=raw)
        for guess in argument.guesses:
            subject = self.place(guess, access, within, cwds, strictly=strictly, below=None, names=names, raw=raw)
            if subject is not None and subject.safety is not None:
                found.append(subject)
        if not known:
            worst = max((each for each in found if each.safety), key=lambda each: each.own_file, default=None)
            return worst or PathSubject(
                kind=access,
                text=raw,
                within=within,
                tool_names=names or (WRITERS if access == "write" else READERS),
                exact=False,
                why=f"where {raw[:80]} leads isn't known until it runs",
            )
        if not found:
            return None
        worst = max(
            found,
            key=lambda each: (each.own_file, each.safety is not None, not each.exact, _EFFECTS.get(each.effect, 3)),
        )
        if len(found) == 1:
            return worst
        paths = tuple(dict.fromkeys(path for each in found for path in each.paths))
        resolved = tuple(dict.fromkeys(path for each in found for path in each.resolved))
        return replace(worst, text=raw, paths=paths, resolved=resolved, suggestion=None)

    def several(
        self,
        texts: Sequence[str],
        access: Access,
        within: int | None,
        cwds: tuple[str, ...],
        *,
        strictly: bool,
        below: Below | None,
        names: tuple[str, ...] | None,
        raw: str,
    ) -> list[PathSubject]:
        """Several texts as paths, those that are alike as one."""
        one_by_one, alike = (texts, []) if len(texts) < FEW or len(cwds) != 1 else self.alike(texts, cwds[0])
        found: list[PathSubject] = []
        for first, others in alike:
            subject = self.place(first, access, within, cwds, strictly=strictly, below=None, names=names, raw=raw)
            if subject is not None and self.file_rules:
                subject = _with_siblings(subject, others)
            if subject is not None:
                found.append(subject)
        for text in one_by_one:
            if text == "-" and access == "read":
                continue
            subject = self.place(text, access, within, cwds, strictly=strictly, below=below, names=names, raw=raw)
            if subject is not None:
                found.append(subject)
        return found

    def alike(self, texts: Sequence[str], cwd: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
        """Texts that must be judged one by one, and of each folder the files that differ by names which say nothing."""
        single: list[str] = []
        folders: dict[str, list[str]] = {}
        for text in texts:
            head, slash, name = text.rpartition("/")
            if UNKNOWN in text or name in ("", ".", "..", "-") or (name[0] == "~" and not slash):
                single.append(text)
            else:
                folders.setdefault(head + slash, []).append(name)
        groups: list[tuple[str, list[str]]] = []
        for head, names in folders.items():
            place = os.path.realpath(os.path.join(cwd, head))  # noqa: PTH118
            listing = folder(place)
            alike = None if listing is None or len(names) < FEW else self.places.alike(place, listing)
            if alike is None:
                single += [head + name for name in names]
                continue
            usual, special = alike
            plain = [
                name
                for name in names
                if (name in usual and not is_own_name(name)) or (name not in special and self.places.plain(name))
            ]
            if len(plain) < len(names):
                seen = set(plain)
                single += [head + name for name in names if name not in seen]
            if plain:
                groups.append((head + plain[0], plain))
        return single, groups

    def place(
        self,
        text: str,
        access: Access,
        within: int | None,
        cwds: tuple[str, ...],
        *,
        strictly: bool = False,
        below: Below | None,
        names: tuple[str, ...] | None,
        raw: str,
    ) -> PathSubject | None:
        """One text as a path. What is unknown in it is taken as a star."""
        if UNKNOWN in text:
            for part in text.split("/"):
                if part.strip(UNKNOWN) and (what := self.part_reason(part) or self.whole_reason(text)):
                    return PathSubject(
                        kind=access,
                        text=raw,
                        safety=f"it names {what} ({raw[:80]})",
                        own_file=what == OWN,
                        within=within,
                        tool_names=names or READERS,
                        exact=False,
                    )
            return None
        if _DEVICES.match(text):
            return None
        subject = path_subject(
            text,
            access,
            bases=cwds if cwds or not text.startswith("/") else ("/",),
            folders=self.folders,
            places=self.places,
            within=within,
            tool_names=names,
            text=raw,
            base=self.base,
            strictly=strictly,
            tool=("Write" if access == "write" else "Read") if within is None or names is None else None,
        )
        if not cwds and subject.safety is None and not text.startswith("/"):
            # Wherever it is, its name may say enough.
            wherever = os.path.normpath(f"/{text}")
            what = self.places.reason((wherever,), access)
            if what is not None:
                subject = replace(subject, safety=f"it names {what} ({text[:80]})", own_file=protected(wherever))
        if below is not None and subject.safety is None:
            subject = self.everything_below(subject, below)
        return subject

    def sensitive_one(self, text: str, cwds: tuple[str, ...]) -> bool:
        """Whether a file that a glob found is a sensitive one."""
        pairs = [resolve(text, cwd) for cwd in cwds or ("/",)]
        return any(pair is not None and self.places.reason(pair, "name") is not None for pair in pairs)

    def part_reason(self, part: str) -> str | None:
        """What one part of a path could name, what is unknown in it taken as a star."""
        if UNKNOWN not in part:
            return self.places.reason((f"/{part}",), "name")
        star = part.replace(UNKNOWN, "*")
        return self.places.could_match(star) or self.places.could_be(star)

    def whole_reason(self, text: str) -> str | None:
        """A process's number is all that is unknown in /proc/$$/environ."""
        guess = text.replace(UNKNOWN, "0")
        return self.places.reason((os.path.normpath(guess if guess.startswith("/") else f"/{guess}"),), "name")

    def everything_below(self, subject: PathSubject, below: Below) -> PathSubject:
        """The folder with all that is in it, where that is read or copied too."""
        subject = replace(subject, recursive=True)
        for root in subject.resolved:
            if not os.path.isdir(root):  # noqa: PTH112
                continue
            own = self.places.below(root, own_only=True) if subject.kind == "write" else None
            if own is not None and own[0]:
                shown = os.path.relpath(own[0], root)
                safety = f"it removes {subject.text}, which holds {own[1]} ({shown[:80]})"
                return replace(subject, safety=safety, own_file=True)
            found = None
            if not below.listed:
                found = self.places.below(
                    root,
                    skip_git_of=self.folders,
                    hidden=below.hidden,
                    own=below.own,
                    wanted=_wanted(below, root),
                    keeps=below.keeps,
                )
            if found is None and below.follows and holds_link(root, below.keeps):
                found = "", "a link, which it goes through"
            if found is None and below.plain and holds_odd(root, below.keeps):
                found = "", "a name that a pipe would make other words of"
            if found is None:
                continue
            path, what = found
            if not path:
                return replace(subject, exact=False, effect=Effect.OTHER, why=f"{subject.text} holds {what}")
            shown = os.path.relpath(path, root)
            return replace(subject, safety=f"it goes through {subject.text}, which holds {what} ({shown[:80]})")
        return subject

    def files(
        self, pattern: str, text: str, cwds: tuple[str, ...], *, listed: bool = False
    ) -> tuple[Sequence[str], bool]:
        """The files that a glob names, or itself where there are none; and whether those are all.

        ``listed``: they are only listed or counted, so that the sensitive ones among them don't count: what is called by
        its own name is another matter.
        """
        if not cwds and not pattern.startswith("/"):
            return (), False
        found: list[str] = []
        for cwd in cwds or ("/",):
            each = expand_files(pattern, cwd)
            if each is None:
                return (), False
            found.extend(each)
        if listed:
            doubtful = set(self.alike(found, cwds[0])[0] if len(cwds) == 1 else found)
            found = [each for each in found if each not in doubtful or not self.sensitive_one(each, cwds)]
        if any(name.startswith("-") for name in found):
            # A file's name that a program would read as an option.
            return found, False
        return (found or (text,)), True


def _wanted(below: Below, root: str) -> Callable[[str], bool] | None:
    """Whether a hidden file is read after all, as a glob on the command line names it."""
    if not below.globs:
        return None
    patterns = [path_pattern(each.removeprefix("/"), root, wide=True) for each in below.globs]
    return lambda path: any(each.fault is not None or each.matches(path) for each in patterns)


def _with_siblings(subject: PathSubject, names: Sequence[str]) -> PathSubject:
    """A file's subject as that of several in its folder."""
    paths = [f"{path.rpartition('/')[0]}/{name}" for path in subject.paths for name in names]
    resolved = [f"{path.rpartition('/')[0]}/{name}" for path in subject.resolved for name in names]
    return replace(subject, paths=tuple(dict.fromkeys(paths)), resolved=tuple(dict.fromkeys(resolved)), suggestion=None)
