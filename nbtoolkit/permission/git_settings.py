"""What a repository's own settings would run behind a git command that only reads.

A repository's settings come with it where it was unpacked or copied, and may name programs: to show a difference, to
turn a file into text, to clean a file before it is compared. Of the first two the names are given, so that they can be
overridden when the command runs; with the last, with settings that can't be read, and in submodules, whose git takes
no settings from outside, the command isn't called read-only.

The files are read as git reads them: includes, a worktree's own, a folder that only looks like a repository.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_globs import expand_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import GitReading

__all__ = ["EXTERNAL", "Settings", "git_runs", "only_looks_like_one", "own_external_diff", "settings_of"]

LARGEST = 1_000_000
MOST_INCLUDES = 10
MOST_SUBMODULES = 200

_HEADER = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\s*\]')
_ESCAPED = re.compile(r"\\(.)")
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?\Z", re.DOTALL)
_FILTER = re.compile(r"filter\.(.+)\.(?:clean|smudge|process)\Z", re.DOTALL)
EXTERNAL = "diff.external"
_DRIVER = re.compile(r"diff\.(?:external|.+\.(?:command|textconv))\Z", re.DOTALL)
_REACHES = re.compile(
    r"remote\..+\.(?:uploadpack|vcs)\Z|core\.(?:sshcommand|gitproxy|askpass)\Z|credential\.|protocol\.|url\.", re.DOTALL
)
_OFF = frozenset({"false", "no", "off", "0", ""})
# The mode of a submodule among git's entries of files.
_GITLINK = b"\x00\x00\xe0\x00"


@dataclass(frozen=True, slots=True)
class Settings:
    """What was found: the settings of diff ``drivers``, and why a command may run another program."""

    drivers: frozenset[str] = frozenset()
    comparing: str | None = None
    """Why one that looks at the files of the working tree may run something."""
    anything: str | None = None
    """Why any command may."""


_NONE = Settings()
_UNKNOWN_WHERE = "which repository it reads isn't known until it runs"


def settings_of(folder: str) -> Settings:
    """What git would find if it ran in this folder."""
    found = _repository(folder)
    if found is None:
        return _NONE
    return _settings(*found)


def git_runs(read: GitReading, cwds: Sequence[str]) -> tuple[frozenset[str], str | None]:
    """The diff programs that git's settings name in any of the folders where it may run; why it may run others."""
    places = list(cwds)
    if read.folder is not None:
        places = []
        for cwd in cwds:
            for value in read.folder.values:
                texts = [value.text] if value.pattern is None else expand_files(value.pattern, cwd)
                if texts is None or UNKNOWN in value.text:
                    return frozenset(), _UNKNOWN_WHERE
                places += [os.path.realpath(os.path.join(cwd, text)) for text in texts]  # noqa: PTH118
        if not places and cwds:
            # A glob of nothing.
            places = list(cwds)
    if not places:
        return frozenset(), _UNKNOWN_WHERE
    drivers: frozenset[str] = frozenset()
    for place in places:
        found = settings_of(place)
        why = found.comparing if read.compares else found.anything
        if why is not None:
            return drivers, why
        drivers |= found.drivers
    return drivers, None


def only_looks_like_one(folder: str) -> bool:
    """Whether git's own files would be those of a folder that isn't called ``.git``, so that anybody may write them."""
    found = None if os.environ.get("GIT_DIR") else _repository(folder)
    return found is not None and found[0] == found[1] and os.path.basename(found[0]) != ".git"  # noqa: PTH119


def own_external_diff() -> bool:
    """Whether the person's own settings name a program to show differences."""
    home = os.path.expanduser("~")  # noqa: PTH111 - no error without a home
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    entries: list[tuple[str, str]] = []
    for file in ("/etc/gitconfig", f"{config}/git/config", f"{home}/.gitconfig"):
        _collect(file, entries, 0)
    return any(name == EXTERNAL for name, _ in entries)


# ------------------------------------------------------------------------------------------------ the repository
def _repository(folder: str) -> tuple[str, str] | None:
    """The folder of git's own files, and the working tree's; None where there is none."""
    given = os.environ.get("GIT_DIR")
    if given:
        return os.path.join(folder, given), os.path.join(folder, os.environ.get("GIT_WORK_TREE") or ".")  # noqa: PTH118
    at = folder
    while True:
        git = f"{at.rstrip('/')}/.git"
        if os.path.isdir(git):  # noqa: PTH112
            return git, at
        if os.path.isfile(git):  # noqa: PTH113
            return _pointed(git), at
        if _looks_like_one(at):
            return at, at
        above = os.path.dirname(at)  # noqa: PTH120
        if above == at:
            return None
        at = above


def _looks_like_one(folder: str) -> bool:
    return os.path.lexists(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs")  # noqa: PTH112


def _pointed(file: str) -> str:
    """Where a .git file says that the repository is."""
    text = _read(file) or ""
    target = text.removeprefix("gitdir:").strip()
    return os.path.join(os.path.dirname(file), target)  # noqa: PTH118, PTH120


def _settings(git: str, tree: str) -> Settings:
    common = (_read(f"{git}/commondir") or "").strip()
    common = os.path.join(git, common) if common else git  # noqa: PTH118
    entries: list[tuple[str, str]] = []
    for file in dict.fromkeys((f"{common}/config", f"{git}/config.worktree", f"{common}/config.worktree")):
        fault = _collect(file, entries, 0)
        if fault is not None:
            return Settings(comparing=fault, anything=fault)
    names = {name for name, _ in entries}
    drivers = frozenset(name for name in names if _DRIVER.match(name))
    comparing = next((f"the repository's setting {name} runs a program" for name in names if _FILTER.match(name)), None)
    anything = None
    if any(name.endswith(".promisor") or name == "extensions.partialclone" for name in names):
        # What isn't there is fetched when it is looked at.
        reaches = next((name for name in names if _REACHES.match(name)), None)
        anything = f"the repository's setting {reaches} can run a program" if reaches else None
    return Settings(drivers, comparing or anything or _in_submodules(git, tree), anything)


# ------------------------------------------------------------------------------------------------------- settings
def _collect(file: str, entries: list[tuple[str, str]], depth: int) -> str | None:
    """Add a file's settings and those that it includes; why they aren't known, where they aren't."""
    try:
        seen = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    parsed = _parsed(file, seen.st_mtime_ns, seen.st_size, seen.st_ino)
    if parsed is None or depth > MOST_INCLUDES:
        return "the repository's settings can't be read"
    for name, value in parsed:
        entries.append((name, value))
        if name == "include.path" or (name.startswith("includeif.") and name.endswith(".path")):
            path = os.path.join(os.path.dirname(file), os.path.expanduser(value))  # noqa: PTH111, PTH118, PTH120
            fault = _collect(path, entries, depth + 1)
            if fault is not None:
                return fault
    return None


@lru_cache(maxsize=256)
def _parsed(file: str, _changed: int, _size: int, _inode: int) -> tuple[tuple[str, str], ...] | None:
    text = _read(file)
    return None if text is None else _parse(text)


def _parse(text: str) -> tuple[tuple[str, str], ...] | None:
    """Names, sections and keys in lower case, with their values; None for what isn't understood."""
    found: list[tuple[str, str]] = []
    section: str | None = None
    for line in re.sub(r"\\\r?\n", "", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        while match := _HEADER.match(rest):
            name, below = match.groups()
            # An older form writes the part below behind a dot.
            section = name.casefold() if below is None else ".".join((name.casefold(), _ESCAPED.sub(r"\1", below)))
            rest = rest[match.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        key = _KEY.match(_without_comment(rest))
        if key is None or section is None:
            return None
        value = (key.group(2) or "true").strip().strip('"') if key.group(2) is not None else "true"
        found.append((f"{section}.{key.group(1).casefold()}", value))
    return tuple(found)


def _without_comment(text: str) -> str:
    quoted = False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif char in "#;" and not quoted:
            return text[:at].rstrip()
    return text


def _read(file: str) -> str | None:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            content = opened.read(LARGEST + 1)
    except OSError:
        return None
    return None if len(content) > LARGEST else content.decode("utf-8", "surrogateescape")


# ----------------------------------------------------------------------------------------------------- submodules
def _in_submodules(git: str, tree: str) -> str | None:
    """Why git, which looks into submodules without any settings from outside, may run a program there."""
    try:
        seen = os.stat(f"{git}/index")  # noqa: PTH116
    except OSError:
        return None
    links = _links(f"{git}/index", seen.st_mtime_ns, seen.st_size)
    if links is None:
        return "the repository's index can't be read"
    for path in links:
        file = f"{tree}/{path}/.git"
        if not os.path.lexists(file):
            continue
        inner = _pointed(file) if os.path.isfile(file) else file  # noqa: PTH113
        found = _settings(inner, f"{tree}/{path}")
        if found.comparing:
            return f"in the submodule {path[:60]}, {found.comparing}"
        entries: list[tuple[str, str]] = []
        _collect(f"{inner}/config", entries, 0)
        _collect(f"{inner}/config.worktree", entries, 0)
        if any(name == "core.fsmonitor" and value.casefold() not in _OFF for name, value in entries):
            return f"in the submodule {path[:60]}, the setting core.fsmonitor runs a program"
    return None


@lru_cache(maxsize=16)
def _links(index: str, _changed: int, size: int) -> tuple[str, ...] | None:
    """The submodules in git's index."""
    if size > 50_000_000:
        return None
    try:
        with open(index, "rb") as opened:  # noqa: PTH123
            content = opened.read()
    except OSError:
        return None
    if _GITLINK not in content:
        return ()
    version = int.from_bytes(content[4:8])
    if content[:4] != b"DIRC" or version not in (2, 3):
        return None
    found: list[str] = []
    at = 12
    for _ in range(int.from_bytes(content[8:12])):
        flags = int.from_bytes(content[at + 60 : at + 62])
        start = at + 62 + (2 if version == 3 and flags & 0x4000 else 0)
        stop = content.find(b"\x00", start)
        if stop < 0:
            return None
        if content[at + 24 : at + 28] == _GITLINK:
            found.append(os.fsdecode(content[start:stop]))
        at += (stop - at + 8) // 8 * 8
    return tuple(found) if len(found) <= MOST_SUBMODULES else None
