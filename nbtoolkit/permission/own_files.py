"""This product's own files: which they are, where they lie, and which arguments name them.

The built-ins know exactly which files they touch. For functions and MCP tools an argument that ends in the name of the
rules' file is enough to ask as for safety, in every mode: nobody but the person may change what is allowed.
"""

from __future__ import annotations

import os
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission import pattern
from nbtoolkit.permission.trees import MOST_FOLDERS, Folder, folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

__all__ = [
    "OWN",
    "OWN_FILE",
    "OWN_GLOBS",
    "is_own_name",
    "names_own_file",
    "own_below",
    "own_files_known",
    "protect",
    "protected",
    "protected_files",
    "protected_paths",
]

OWN_FILE = "nbtoolkit.toml"
# What a question calls them.
OWN = "nbtoolkit's own rules and records"

# Arguments are JSON that a model wrote; deeper than this nobody looks.
DEEPEST = 8


_OWN_FILES = re.compile(
    r"(?:^|/)(?:nbtoolkit\.toml|[^/]*cassette[^/]*\.jsonl)$|(?:^|/)(?:\.nbtoolkit|\.config/nbtoolkit)(?:/|$)"
)
OWN_GLOBS = (OWN_FILE, "*cassette*.jsonl", ".nbtoolkit", ".config/nbtoolkit")
# A larger tree isn't searched to its end for files that nobody has told of; those that are known count however deep.
MOST_ENTRIES = 20_000

# Nobody keeps a project there, and a look through them would take its time.
_SYSTEM = frozenset({"/", "/home", "/Users", "/var", "/tmp"})  # noqa: S108 - named, not used
_NO_PROJECTS = ("/usr", "/bin", "/sbin", "/lib", "/etc", "/proc", "/sys", "/dev", "/boot", "/System", "/Library")

# By the path in lower case, the path.
_protected: dict[str, str] = {}
_protected_names: set[str] = set()


# --------------------------------------------------------------------------------------------------- which and where
def protect(path: str) -> None:
    """Count this file as the product's own: a cassette, a file of answers, the user's rules."""
    found = pattern.real(os.path.abspath(path))  # noqa: PTH100 - realpath's partner
    folded = found.casefold()
    _protected[folded] = found
    _protected_names.add(folded.rpartition("/")[2])


def protected(path: str) -> bool:
    """Whether a path (absolute) is one of the product's own files."""
    folded = path.casefold()
    return folded in _protected or _OWN_FILES.search(folded) is not None


def protected_files() -> Collection[str]:
    """The files that ``protect`` was told of, in lower case."""
    return _protected.keys()


def protected_paths() -> Collection[str]:
    """The same files as they were named."""
    return _protected.values()


def is_own_name(name: str) -> bool:
    """Whether a file that ``protect`` was told of has this name."""
    return name.casefold() in _protected_names


def own_files_known(folders: Iterable[str]) -> list[str]:
    """The own files that exist where they usually are: from these folders upwards, in the home, where somebody told."""
    home = os.path.expanduser("~")  # noqa: PTH111 - no error without a home
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")  # noqa: PTH118
    found = [os.path.join(config, "nbtoolkit"), os.path.join(home, ".nbtoolkit"), *_protected.values()]  # noqa: PTH118
    found.append(os.path.join(home, "Library", "Application Support", "nbtoolkit", OWN_FILE))  # noqa: PTH118
    for each in dict.fromkeys(folders):
        at = each
        while at:
            found.append(f"{at.rstrip('/')}/{OWN_FILE}")
            at = "" if at == "/" or os.path.lexists(f"{at}/.git") else os.path.dirname(at)  # noqa: PTH120
    return [each for each in dict.fromkeys(map(pattern.real, found)) if os.path.lexists(each)]


def own_below(root: str, near: Iterable[str] = ()) -> Iterator[str]:
    """The own files at and below a place that exist, first those known from there and from the folders ``near``."""
    if protected(root):
        if os.path.lexists(root):
            yield root
        return
    if not os.path.isdir(root):  # noqa: PTH112
        return
    inner = root.rstrip("/") + "/"
    known = [each for each in own_files_known((root, *near)) if f"{each}/".startswith(inner)]
    yield from known
    if root in _SYSTEM or any(root.startswith(each) for each in _NO_PROJECTS):
        return
    seen, waiting = 0, deque([root])
    while waiting and seen <= MOST_ENTRIES:
        place = waiting.popleft()
        listing = folder(place)
        if listing is None:
            continue
        seen += listing.size
        start = place.rstrip("/") + "/"
        for name in (*_own_names(place, listing), *(each for each in listing.folders if each in _OWN_FOLDERS)):
            path = start + name
            if protected(path) and path not in known:
                yield path
        waiting.extend(start + name for name in listing.folders if name != ".git")


_OWN_FOLDERS = frozenset({".nbtoolkit", "nbtoolkit"})
_OWN_NAME = re.compile(r"nbtoolkit\.toml\Z|.*cassette.*\.jsonl\Z", re.IGNORECASE)
_hinted: dict[str, tuple[Folder, tuple[str, ...]]] = {}


def _own_names(place: str, listing: Folder) -> tuple[str, ...]:
    """The names in a folder that are own files', looked for once as long as the folder stays the same."""
    kept = _hinted.get(place)
    if kept is not None and kept[0] is listing:
        return kept[1]
    if len(_hinted) > MOST_FOLDERS:
        _hinted.clear()
    found = tuple(name for name in listing.files if _OWN_NAME.match(name))
    _hinted[place] = listing, found
    return found


# ------------------------------------------------------------------------------------------------ which arguments name
def names_own_file(tool_input: Mapping[str, Any]) -> str | None:
    """The first text in the arguments that ends in the name of the rules' file."""
    for value in tool_input.values():
        # This runs on every call, most of whose arguments are short texts and numbers.
        if isinstance(value, str):
            if OWN_FILE in value[-40:].lower() and _names(value):
                return value[-200:]
        elif isinstance(value, list | dict) and (found := _inside(value, 1)) is not None:
            return found
    return None


def _inside(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value[-200:] if OWN_FILE in value[-40:].lower() and _names(value) else None
    if depth > DEEPEST or not isinstance(value, list | dict):
        return None
    for each in value.values() if isinstance(value, dict) else value:
        found = _inside(each, depth + 1)
        if found is not None:
            return found
    return None


def _names(text: str) -> bool:
    tail = text[-40:].rstrip("/\\. \t\r\n\x00").lower()
    return tail.endswith(OWN_FILE) and tail[-len(OWN_FILE) - 1 : -len(OWN_FILE)] in {"", *"/\\:= \"'"}
