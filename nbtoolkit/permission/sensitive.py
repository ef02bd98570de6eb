"""Places that nobody touches unasked: keys, tokens, start-up files, histories, and this product's own files.

``Places.reason`` names what a path holds, on the path as it was written and on the one behind every symlink; names are
compared without regard to letter case, since half of the world's file systems do. A hard link to such a file under
another name can't be seen from its path and is out of reach.
"""

from __future__ import annotations

import os
import re
import sys
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from nbtoolkit.permission import pattern
from nbtoolkit.permission.own_files import (
    OWN,
    OWN_FILE,
    OWN_GLOBS,
    is_own_name,
    protect,
    protected,
    protected_files,
    protected_paths,
)
from nbtoolkit.permission.sensitive_lists import Names
from nbtoolkit.permission.sensitive_names import FILES, FOLDERS
from nbtoolkit.permission.trees import MOST_ENTRIES, MOST_FOLDERS, Folder, folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.permission.rule import PermissionContext

__all__ = [
    "DANGEROUS_DIRECTORIES",
    "DANGEROUS_FILES",
    "Places",
    "inside",
    "protect",
    "protected",
    "resolve",
    "roots",
    "runs_by_name",
    "system_folder",
]

Access = Literal["read", "write", "name"]

DANGEROUS_DIRECTORIES: list[str] = list(FOLDERS)
DANGEROUS_FILES: list[str] = list(FILES)

# Examples without secrets, which people are meant to copy.
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_PROC = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|fd|map_files|auxv)(?:/|$)")
_GLOB = re.compile(r"[*?\[]")
# Folders in which a glob was looked at lately.
MOST_KEPT = 64
# There a file is what its name says.
_ODD_PLACES = ("/dev", "/proc", "/sys")
_SIGNS = re.compile(r"[*?\[\]{}\\!]")
# Folders that make up a system: never a working directory by default, never removed unasked.
_SYSTEM = frozenset(
    [
        "/",
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/home",
        "/lib",
        "/lib32",
        "/lib64",
        "/media",
        "/mnt",
        "/opt",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/srv",
        "/sys",
        "/tmp",  # noqa: S108 - named, not used
        "/usr",
        "/var",
        "/usr/bin",
        "/usr/lib",
        "/usr/local",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/share",
        "/var/lib",
        "/var/log",
        "/Users",
        "/Applications",
        "/Library",
        "/System",
        "/private",
        "/private/etc",
        "/private/var",
        "/private/tmp",
    ]
)
# Nobody's home, but a folder that people do start notebooks in.
_SHARED = frozenset({"/tmp", "/private/tmp"})  # noqa: S108
_OWN_NAME = re.compile(r"(?:nbtoolkit(?:\.toml)?|.*cassette.*\.jsonl)\Z", re.IGNORECASE)
_usual_hints: dict[str, tuple[Folder, tuple[str, ...]]] = {}
# So much of a name must be known to tell it by: an extension doesn't.
SHORTEST_HEAD, SHORTEST_TAIL = 3, 2


def resolve(path: str, base: str) -> tuple[str, str] | None:
    """A path from ``base`` with symlinks followed, and as it is written, made absolute; None for what is no path."""
    return pattern.resolve(path, base)


def roots(context: PermissionContext) -> tuple[str, ...]:
    """The working directories, symlinks resolved; a home or system folder only where somebody named it."""
    found = [pattern.real(each.path) for each in context.working_directories.values()]
    here = pattern.real(context.working_directory)
    if here in _SHARED or not system_folder(here):
        found.append(here)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def system_folder(path: str) -> bool:
    """Whether a resolved path is a home, a folder of the system, or holds one."""
    home = _home()
    return (
        path in _SYSTEM or path in (home, home.rstrip("/")) or home.startswith(path.rstrip("/") + "/") or _is_home(path)
    )


def runs_by_name(path: str) -> bool:
    """Whether a path lies in a folder of PATH, is one or holds one: what is put there becomes what a command runs."""
    given = os.environ.get("PATH", "")
    head, _, name = path.rpartition("/")
    if any(each in (head, path) or each.startswith(f"{path}/") for each in _program_folders(given)):
        return True
    # An entry that is empty or begins nowhere counts from wherever a shell is. A name with an ending is no command's.
    here = [each for each in given.split(os.pathsep) if not each.startswith("/")]
    if not here or "." in name.lstrip("."):
        return False
    folder = working_folder()
    return any(os.path.realpath(os.path.join(folder, each)) == head for each in here)  # noqa: PTH118


@lru_cache(maxsize=16)
def _program_folders(path: str) -> tuple[str, ...]:
    folders = [each.rstrip("/") for each in path.split(os.pathsep) if each.startswith("/") and each.strip("/")]
    return tuple(dict.fromkeys([*folders, *map(os.path.realpath, folders)]))


def working_folder() -> str:
    """Where the process is; "/" where that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"


def _is_home(path: str) -> bool:
    head, _, tail = path.rpartition("/")
    return bool(tail) and head in ("/home", "/Users")


def _home() -> str:
    return pattern.real(os.path.expanduser("~"))  # noqa: PTH111 - no error without a home


def inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a resolved path is one of the folders or below one."""
    folded = _fold(path)
    return any(folded == _fold(each) or folded.startswith(_fold(each).rstrip("/") + "/") for each in folders)


def _fold(path: str) -> str:
    return path.casefold() if sys.platform in ("darwin", "win32") else path


class Places:
    """Which paths are sensitive; lists given here replace the built-in ones, but never the product's own files."""

    def __init__(self, files: Sequence[str] | None = None, directories: Sequence[str] | None = None) -> None:
        self._files = Names(DANGEROUS_FILES if files is None else files, FILES, whole=True)
        self._folders = Names(DANGEROUS_DIRECTORIES if directories is None else directories, FOLDERS, whole=False)
        self._built_in = files is None
        # What folders hold by the usual lists is remembered for all who have those.
        self._hinted = _usual_hints if files is None and directories is None else {}
        self._alike: dict[str, tuple[Folder, frozenset[str], frozenset[str]]] = {}

    def reason(self, paths: Iterable[str], access: Access = "read") -> str | None:
        """What one of these absolute paths (resolved, as written) holds that nobody touches unasked."""
        for path in dict.fromkeys(paths):
            found = self._reason(path, access)
            if found is not None:
                return found
        return None

    def _reason(self, path: str, access: Access) -> str | None:
        if protected(path):
            return OWN
        folded = path.casefold()
        if folded.startswith("/proc/") and self._built_in and _PROC.match(folded):
            return "the environment or memory of a process"
        if (
            folded.startswith("/dev/")
            and access == "write"
            and folded.startswith(
                ("/dev/sd", "/dev/nvme", "/dev/hd", "/dev/mem", "/dev/vd", "/dev/mapper", "/dev/disk")
            )
        ):
            return "a disk itself"
        if folded.startswith(("/dev/tcp/", "/dev/udp/")):
            return "a network connection"
        found = self._folders.find(folded)
        if found is not None:
            return found[1]
        found = self._files.find(folded)
        if found is None:
            return None
        name, what = found
        if name.startswith(".env") and self._built_in:
            base = folded.rpartition("/")[2]
            if base in _EXAMPLES or (base == ".env" and os.path.isfile(os.path.join(path, "pyvenv.cfg"))):  # noqa: PTH113, PTH118
                return None
        if name == "*.pth" and self._built_in and access != "write" and not _in_site(folded):
            # Elsewhere they are what PyTorch saves.
            return None
        return what

    def could_match(self, part: str) -> str | None:
        """What a glob for one part of a path could name, where it starts with a dot as all such names do."""
        if not part.startswith(".") or not _GLOB.search(part):
            return None
        return self._folders.could_match(part.casefold()) or self._files.could_match(part.casefold())

    def could_be(self, part: str) -> str | None:
        """What a part of a path could name whose beginning or end, enough to tell it by, is all that is known of it."""
        tail, head = part.rpartition("*")[2], part.partition("*")[0]
        if len(head) < SHORTEST_HEAD and (head or len(tail) < SHORTEST_TAIL or "." in tail):
            return None
        folded = part.casefold()
        if re.match(translate(folded), OWN_FILE):
            return OWN
        return self._folders.could_match(folded) or self._files.could_match(folded)

    def spelled(self, text: str) -> str | None:
        """What sensitive name stands in a text, as a whole name or behind other letters."""
        folded = text.casefold()
        if OWN_FILE in folded:
            return OWN
        return self._files.spelled(folded) or self._folders.spelled(folded)

    def below(
        self,
        root: str,
        *,
        skip_git_of: Iterable[str] = (),
        hidden: bool = True,
        own: bool = True,
        own_only: bool = False,
        wanted: Callable[[str], bool] | None = None,
        keeps: Callable[[Sequence[str]], bool] | None = None,
    ) -> tuple[str, str] | None:
        """The first sensitive file or folder found under ``root``, and what it holds; ("", …) where it is too large.

        Not ``hidden``, hidden ones don't count but those that are ``wanted``; not ``own``, this product's own files don't.
        """
        skipped = {f"{each}/.git" for each in skip_git_of}
        inner = f"{root.rstrip('/')}/"
        if own:
            for path in protected_paths():
                left = keeps is not None and keeps(path[len(inner) :].split("/"))
                if path.startswith(inner) and not left and os.path.lexists(path):
                    return path, OWN
        seen, stack = 0, [root]
        while stack:
            place = stack.pop()
            listing = folder(place)
            if listing is None or "pyvenv.cfg" in listing.files:
                # A virtual environment: packages, with start-up files of their own.
                continue
            seen += listing.size
            if seen > MOST_ENTRIES:
                return "", f"more than {MOST_ENTRIES:,} files, too many to look through"
            start = f"{place.rstrip('/')}/"

            def shown(name: str, start: str = start) -> bool:
                return name[0] != "." or hidden or (wanted is not None and wanted(start + name))

            for name in self._hints(place, listing):
                path = start + name
                if path in skipped or not shown(name) or (keeps is not None and keeps(path[len(inner) :].split("/"))):
                    continue
                found = self.reason((path,))
                if found is not None and (own or not protected(path)) and (not own_only or protected(path)):
                    return path, found
            stack += [start + name for name in listing.folders if start + name not in skipped and shown(name)]
        return None

    def _hints(self, place: str, listing: Folder) -> tuple[str, ...]:
        """The names in a folder that may be sensitive, looked for once as long as the folder stays the same."""
        kept = self._hinted.get(place)
        if kept is not None and kept[0] is listing:
            return kept[1]
        if len(self._hinted) > MOST_FOLDERS:
            self._hinted.clear()
        every = place.casefold() in self._files.whole or place.casefold() in self._folders.whole
        names = (*listing.files, *listing.folders)
        found = names if every else tuple(name for name in names if self._sieve(name))
        self._hinted[place] = listing, found
        return found

    def alike(self, place: str, listing: Folder) -> tuple[frozenset[str], frozenset[str]] | None:
        """The files in a folder whose names say nothing, and all other names in it; None where each counts."""
        if place.startswith(_ODD_PLACES) or place.casefold() in self._files.whole | self._folders.whole:
            return None
        kept = self._alike.get(place)
        if kept is None or kept[0] is not listing:
            if len(self._alike) > MOST_KEPT:
                self._alike.clear()
            special = frozenset((*self._hints(place, listing), *listing.links, *listing.folders))
            kept = self._alike[place] = listing, frozenset(listing.files) - special, special
        return kept[1], kept[2]

    def plain(self, name: str) -> bool:
        """Whether a name says nothing by itself, in whatever folder it is."""
        return not self._sieve(name) and not is_own_name(name) and "\x00" not in name

    def _sieve(self, name: str) -> bool:
        """Whether a name may be, or end, a sensitive path."""
        return (
            name[:1] == "."
            or self._files.may_end(name)
            or self._folders.may_end(name)
            or _OWN_NAME.match(name) is not None
        )

    def skipped_names(self, root: str) -> list[str]:
        """Globs of what a search below ``root`` leaves out; examples of .env files go with the rest."""
        folder = root.rstrip("/").casefold() + "/"
        names: list[str] = []
        for each in (*self._folders.names, *self._files.names, *OWN_GLOBS):
            if each.startswith(("/", "~")):
                path = os.path.expanduser(each)  # noqa: PTH111
                if path.casefold().startswith(folder):
                    names.append("/" + path[len(folder) :])
            elif each != "*.pth":
                names.append(f"**/{each}" if "/" in each else each)
        # These are paths, not patterns.
        names += [
            "/" + _SIGNS.sub(r"\\\g<0>", each[len(folder) :]) for each in protected_files() if each.startswith(folder)
        ]
        return names

    def skips(self, path: str) -> bool:
        """Whether a search leaves a path out, as ``skipped_names`` says it."""
        name = path.rpartition("/")[2].casefold()
        if name.startswith(".env.") and self._built_in:
            return True
        return (
            not name.endswith(".pth") and (self._sieve(name) or is_own_name(name)) and self.reason((path,)) is not None
        )

    def skipped_part(self, root: str, name: str) -> str:
        """Of a sensitive file below ``root`` the part that makes it so: the folder that is sensitive as a whole, or itself."""
        at = name.find("/")
        while at > 0:
            if self.skips(f"{root}/{name[:at]}"):
                return name[:at]
            at = name.find("/", at + 1)
        return name

    def skips_below(self, root: str, folder: str) -> bool:
        """Whether a search that starts in ``folder`` below ``root`` starts in a place that it leaves out."""
        path = root
        for part in folder.split("/"):
            path = f"{path}/{part}"
            if part in ("", ".", "..", ".git") or self.skips(path):
                return True
        return False


def _in_site(folded: str) -> bool:
    return "/site-packages/" in folded or "/dist-packages/" in folded
