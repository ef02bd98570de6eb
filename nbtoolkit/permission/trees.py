"""Folders as they are on disk, remembered: a tree that was looked through once costs a glance at each folder from then on.

A folder is read again when its time of change is another one, or so recent that it may have changed twice within it.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["MOST_ENTRIES", "Folder", "folder", "holds_link", "holds_odd", "is_odd", "not_plain_files"]

# A tree with more entries isn't searched to its end; what wasn't seen isn't called clean either.
MOST_ENTRIES = 50_000
# The memory of about a hundred thousand files; past it everything is forgotten, as starting over is cheap.
MOST_FOLDERS = 20_000
# Within so much of its own clock's grain a folder can change without its time doing so.
GRAIN_NS = 100_000_000


class Folder(NamedTuple):
    """What lies in a folder: names of files, of folders, and of those among the files that are links."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...]
    odd: bool
    """Whether a name holds what would make other words of it in a pipe."""

    @property
    def size(self) -> int:
        """How many entries there are."""
        return len(self.files) + len(self.folders)


_ODD = re.compile(r"[\s'\"\\]|\A-")
_seen: dict[str, tuple[int, int, Folder]] = {}


def is_odd(name: str) -> bool:
    """Whether a name holds blanks, quotes or a backslash, or begins like an option."""
    return _ODD.search(name) is not None


def folder(path: str) -> Folder | None:
    """What lies in a folder, links to folders among its files; None where it can't be read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - called for each folder of a tree
    except OSError:
        return None
    kept = _seen.get(path)
    if kept is not None and kept[0] == found.st_mtime_ns and kept[1] == found.st_ino:
        return kept[2]
    now = time.time_ns()
    files: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_symlink():
                    links.append(entry.name)
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    files.append(entry.name)
    except OSError:
        return None
    odd = any(is_odd(name) for names in (files, folders) for name in names)
    result = Folder(tuple(files), tuple(folders), tuple(links), odd)
    if now - found.st_mtime_ns > GRAIN_NS:
        if len(_seen) > MOST_FOLDERS:
            _seen.clear()
        _seen[path] = found.st_mtime_ns, found.st_ino, result
    return result


def _any_below(path: str, holds: Callable[[Folder], bool]) -> bool:
    """Whether any folder from this one down is such; so is a tree that is too large to look through."""
    seen, stack = 0, [path]
    while stack:
        place = stack.pop()
        listing = folder(place)
        if listing is None:
            continue
        seen += listing.size
        if seen > MOST_ENTRIES or holds(listing):
            return True
        stack += [f"{place}/{name}" for name in listing.folders]
    return False


def holds_odd(path: str, keeps: Callable[[Sequence[str]], bool] | None = None) -> bool:
    """Whether a folder holds a name that isn't plain."""

    def odd(listing: Folder) -> bool:
        if not listing.odd:
            return False
        files = (name for name in listing.files if is_odd(name))
        return any(map(is_odd, listing.folders)) or any(keeps is None or not keeps([name]) for name in files)

    return _any_below(path, odd)


def holds_link(path: str, keeps: Callable[[Sequence[str]], bool] | None = None) -> bool:
    """Whether a file is a symlink or a folder holds one: where it is copied or moved to, paths mean something else."""
    if os.path.islink(path):  # noqa: PTH114
        return True
    return _any_below(path, lambda listing: any(keeps is None or not keeps([name]) for name in listing.links))


def not_plain_files(paths: Iterable[str]) -> list[str]:
    """Of many paths those that are folders or links, or can't be told, as the lists of their folders say."""
    found: list[str] = []
    doubtful: dict[str, frozenset[str] | None] = {}
    for path in paths:
        head, _, name = path.rpartition("/")
        if head not in doubtful:
            listing = folder(head or "/")
            doubtful[head] = None if listing is None else frozenset((*listing.folders, *listing.links))
        names = doubtful[head]
        if names is None or name in names:
            found.append(path)
    return found
