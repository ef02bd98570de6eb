"""Whether a sweep reaches one of this product's own files that exists: that is asked in every mode.

What can't be known before it runs counts where it comes out of a pipe, a substitution or a loop over one, and could be
such a file; a name from ``mktemp`` isn't one.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.git_stays import stays
from nbtoolkit.permission.own_files import OWN, OWN_FILE, is_own_name, own_below, own_files_known, protected
from nbtoolkit.permission.sensitive import resolve
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_globs import expand_files, has_magic
from nbtoolkit.permission.trees import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.permission.shell_argument import Argument
    from nbtoolkit.permission.shell_values import Variables
    from nbtoolkit.permission.sweeps import Sweep

__all__ = ["could_be_own", "own_reached", "unknown_own"]

# So many are looked at one by one.
FEW = 6
# What a fresh name comes from, and what only counts or tells the time.
_FRESH = re.compile(
    r"[\"']?(?:\$\(|`)\s*(?:mktemp|date|whoami|hostname|uname|id|nproc|basename \"?\$0)\b[^;|&`]*(?:\)|`)[\"']?\Z"
)
_DOTS = re.compile(r"[./]*\Z")
_HIDES = ("$(", "`", "<(")


def own_reached(
    sweep: Sweep, cwds: Sequence[str], variables: Variables, base: str, feeds: Sequence[Sweep] | None
) -> str | None:
    """What own file a sweep reaches, in words; ``feeds``: what the pipe gives it, None where nobody knows."""
    if sweep.inside is not None:
        moved = sweep.inside.static
        cwds = () if moved is None else tuple(_path(moved, each) for each in cwds)
    if sweep.fed:
        if feeds is None:
            return _unknown(cwds, base)
        return next((found for each in feeds if (found := own_reached(each, cwds, variables, base, None))), None)
    if sweep.repository:
        return _first((_root(each) for each in cwds), sweep, (*cwds, base)) if cwds else _unknown(cwds, base)
    if sweep.target is None:
        return _first(cwds, sweep, (*cwds, base)) if cwds else _unknown(cwds, base)
    places, unknown = _places(sweep.target, cwds)
    if sweep.of:
        return _landed(sweep, places, cwds)
    found = _first(places, sweep, (*cwds, base))
    if found is not None:
        return found
    for text in unknown:
        if could_be_own(text, cwds, base, below=sweep.below) and _from_elsewhere(sweep.target, variables):
            return _unknown(cwds, base, sweep.keeps)
    if not cwds and any(
        _globs_own(value.pattern) if value.pattern is not None else sweep.below and _DOTS.match(value.text)
        for value in sweep.target.values
    ):
        # Wherever it is, it may be around one.
        return _unknown(cwds, base)
    return None


def unknown_own(argument: Argument, cwds: Sequence[str], variables: Variables, base: str) -> bool:
    """Whether what isn't known of a word before it runs may make it the path of an own file."""
    texts = [value.text for value in argument.values if UNKNOWN in value.text]
    return any(could_be_own(text, cwds, base, below=False) for text in texts) and _from_elsewhere(argument, variables)


def could_be_own(text: str, cwds: Sequence[str], base: str, *, below: bool) -> bool:
    """Whether a text with something unknown in it could be the path of an own file, or of a folder around it."""
    first, *rest = text.split(UNKNOWN)
    for path in own_files_known((*cwds, base)):
        candidates = [path]
        while below and candidates[-1] != "/":
            candidates.append(os.path.dirname(candidates[-1]))  # noqa: PTH120
        for each in candidates:
            spelled = [each, *(os.path.relpath(each, cwd) for cwd in cwds)]
            if any(_can_be(one, first, rest) or _can_be(f"./{one}", first, rest) for one in spelled):
                return True
    return False


def _can_be(path: str, first: str, rest: Sequence[str]) -> bool:
    """Whether a path is those pieces, with anything between two of them; by hand, since many of them would be for ever."""
    if not rest:
        return path == first
    *between, last = rest
    end = len(path) - len(last)
    if end < len(first) or not path.startswith(first) or not path.endswith(last):
        return False
    at = len(first)
    for piece in between:
        found = path.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _unknown(cwds: Sequence[str], base: str, keeps: Callable[[Sequence[str]], bool] | None = None) -> str | None:
    for path in own_files_known((*cwds, base)):
        if keeps is None or not keeps(path.split("/")):
            return f"what it changes isn't known until it runs, and could be {OWN} ({_name(path)})"
    return None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _path(text: str, cwd: str) -> str:
    pair = resolve(text, cwd)
    return cwd if pair is None else pair[0]


def _places(argument: Argument, cwds: Sequence[str]) -> tuple[list[str], list[str]]:
    """The places that a word can be, and the texts of it that aren't known."""
    found: list[str] = []
    unknown: list[str] = []
    texts: Sequence[str]
    for value in argument.values:
        if UNKNOWN in value.text:
            unknown.append(value.text)
            continue
        for cwd in cwds or (("/",) if value.text.startswith("/") else ()):
            texts = [value.text]
            if value.pattern is not None:
                texts = _doubtful(expand_files(value.pattern, cwd) or texts, cwd)
            found += [pair[at] for text in texts if (pair := resolve(text, cwd)) is not None for at in (0, 1)]
    for guess in argument.guesses:
        for cwd in cwds or ("/",):
            texts = (expand_files(guess, cwd) or [guess]) if has_magic(guess) else [guess]
            found += [pair[0] for text in texts if (pair := resolve(text, cwd)) is not None]
    return list(dict.fromkeys(found)), unknown


def _doubtful(texts: Sequence[str], cwd: str) -> Sequence[str]:
    """Of the files that a glob found those that may be an own file or hold one: by their names, as folders or links."""
    if len(texts) < FEW:
        return texts
    found: list[str] = []
    folders: dict[str, frozenset[str] | None] = {}
    for text in texts:
        head, slash, name = text.rpartition("/")
        if head not in folders:
            listing = folder(os.path.join(cwd, head + slash or "."))  # noqa: PTH118
            folders[head] = None if listing is None else frozenset((*listing.links, *listing.folders))
        doubtful = folders[head]
        if doubtful is None or not name or name in doubtful or is_own_name(name) or protected(f"/{name}"):
            found.append(text)
    return found or texts[:1]


def _first(places: Iterable[str], sweep: Sweep, near: Sequence[str]) -> str | None:
    for place in dict.fromkeys(places):
        found = own_below(place, near) if sweep.below or protected(place) else ()
        for path in found:
            parts = os.path.relpath(path, place).split("/")
            if sweep.keeps is not None and sweep.keeps(parts):
                continue
            if sweep.tracked is not None and _tracked(path) not in (None, sweep.tracked):
                continue
            if sweep.between is not None and stays(path, _root(os.path.dirname(path)), sweep.between):  # noqa: PTH120
                continue
            return f"it reaches {OWN} ({_name(path)})"
    return None


def _landed(sweep: Sweep, places: Sequence[str], cwds: Sequence[str]) -> str | None:
    """Whether what is copied holds an own file, or falls on one."""
    for source in sweep.of:
        found, unknown = _places(source, cwds)
        written = [value.text for value in source.values]
        whole = not sweep.lands or any(text.endswith(("/.", "/..")) or text in (".", "..") for text in written)
        for path in found:
            held = next(own_below(path), None)
            if held is not None:
                return f"it reaches {OWN} ({_name(held)})"
            for place in places:
                landing = place if whole or not os.path.isdir(place) else f"{place.rstrip('/')}/{_name(path)}"  # noqa: PTH112
                if protected(landing) or (not os.path.lexists(path) and next(own_below(landing), None)):
                    return f"it reaches {OWN} ({_name(landing)})"
        if (unknown or any(":" in text for text in written)) and any(next(own_below(place), None) for place in places):
            return f"what it copies isn't known until it runs, and could fall on {OWN}"
    return None


def _from_elsewhere(argument: Argument, variables: Variables) -> bool:
    """Whether what is unknown in a word comes from another command, a pipe or a caller, and isn't a fresh name."""
    raw = argument.word.raw
    if any(sign in raw for sign in _HIDES):
        return not _FRESH.match(raw)
    for part in argument.word.parts:
        if part.kind == "var" and (part.text.isdigit() or part.text in "@*"):
            return True
        if part.kind == "var" and variables.assigned(part.text):
            sources = variables.sources(part.text)
            if not sources or not all(_FRESH.match(word.raw) for word in sources):
                return True
        if part.kind == "unknown" and not part.text:
            return True
    return False


def _globs_own(pattern: str) -> bool:
    from fnmatch import fnmatchcase

    last = pattern.rstrip("/").rpartition("/")[2]
    return fnmatchcase(OWN_FILE, last)


# ----------------------------------------------------------------------------------------------------------- git
def _root(folder: str) -> str:
    """The repository's folder, itself where there is none."""
    at = folder
    while True:
        if os.path.lexists(os.path.join(at, ".git")):  # noqa: PTH118
            return at
        above = os.path.dirname(at)  # noqa: PTH120
        if above == at:
            return folder
        at = above


def _tracked(path: str) -> bool | None:
    """Whether git's index holds a file; None where nobody can tell at a glance."""
    root = _root(os.path.dirname(path))  # noqa: PTH120
    index = os.path.join(root, ".git", "index")  # noqa: PTH118
    try:
        seen = os.stat(index)  # noqa: PTH116
    except OSError:
        return None if os.path.isfile(os.path.join(root, ".git")) else False  # noqa: PTH113, PTH118
    content = _index(index, seen.st_mtime_ns, seen.st_size)
    if content is None or content[4:8] == b"\x00\x00\x00\x04":
        return None
    return os.fsencode(os.path.relpath(path, root)) + b"\x00" in content


@lru_cache(maxsize=4)
def _index(path: str, _changed: int, size: int) -> bytes | None:
    if size > 50_000_000:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return None
