"""Files that are replaced in one step: whoever looks, or kills this process, finds the old content or the new one.

Where the system can, what isn't whole yet has no name, and a new file gets its own name at once: a kill leaves nothing
beside it. A file that takes another's place has a passing name for as long as one call of the system takes; what a kill
leaves there, the next one who writes into the folder takes away.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import re
import secrets
import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["name_it", "nameless", "passing_name", "replace", "sweep"]

_CLOSED = getattr(os, "O_CLOEXEC", 0)
# A folder of more files isn't looked through for what a kill may have left.
MOST_LOOKED_AT = 20_000
# Whether a process of another machine, or of before the last start of this one, is at work can't be told: by then it isn't.
FOREIGN_SECONDS = 3600.0

_PASSING = re.compile(r"\.nbtoolkit-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{12}\.tmp")
# Folders that this process has looked through: what is left later on is its own, which it takes away itself.
_swept: set[tuple[int, int]] = set()


def passing_name() -> str:
    """A name for a file that isn't in its place yet; it tells whose it is."""
    pid = os.getpid()
    return f".nbtoolkit-{_machine()}-{pid}-{_started(pid) or 0}-{secrets.token_hex(6)}.tmp"


def sweep(folder: str | int) -> None:
    """Take away what processes that are no more left under passing names in a folder, the first time it is written to."""
    try:
        info = os.stat(folder)  # noqa: PTH116
        if (known := (info.st_dev, info.st_ino)) in _swept:
            return
        _swept.add(known)
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, MOST_LOOKED_AT):
                match = _PASSING.fullmatch(entry.name)
                if match is not None and _is_left(match, entry):
                    os.unlink(entry.name if isinstance(folder, int) else entry.path, dir_fd=_folder(folder))
    except (OSError, TypeError, NotImplementedError):
        # Only for tidiness: where it can't be done, or not by a descriptor, the file stays.
        return


def _folder(folder: str | int) -> int | None:
    return folder if isinstance(folder, int) else None


def _is_left(match: re.Match[str], entry: os.DirEntry[str]) -> bool:
    machine, pid, since = match.groups()
    if not entry.is_file(follow_symlinks=False):
        return False
    if machine != _machine():
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > FOREIGN_SECONDS
    return (_started(int(pid)) or "0") != since if int(since) else not _is_there(int(pid))


@functools.lru_cache(maxsize=1)
def _machine() -> str:
    """This machine since its last start, and this space of process numbers."""
    told = os.uname().nodename if hasattr(os, "uname") else ""
    with contextlib.suppress(OSError):
        told += os.readlink("/proc/self/ns/pid")  # noqa: PTH115
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
            told += file.read()
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:8]


def _started(pid: int) -> str | None:
    """When a process was started, where the system tells."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def nameless(folder: int, mode: int) -> int | None:
    """A descriptor of a new file in an open folder that has no name yet; None where there is no such thing."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.lexists("/proc/self/fd"):
        return None
    try:
        return os.open(".", flag | os.O_WRONLY | _CLOSED, mode, dir_fd=folder)
    except OSError:
        # Network folders and some layered file systems have none.
        return None


def name_it(descriptor: int, name: str, folder: int) -> bool:
    """Give a nameless file a name in an open folder; False where that can't be done."""
    try:
        # A folder must be said, or Python links to the link itself.
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def replace(path: str | Path, data: bytes, *, mode: int | None = None) -> None:
    """Put a file in the old one's place, on the disk before it has the name; OSError leaves the old one as it was.

    ``mode``: what its permission bits shall be; by default the old file's, and the process's mask for a new one. What is
    no ordinary file, such as a pipe or a device, is written to as it is; a link stays, and what it leads to is replaced.
    """
    target = os.path.realpath(path)
    try:
        kind = os.stat(target).st_mode  # noqa: PTH116
    except FileNotFoundError:
        kind = None
    if kind is not None and not stat.S_ISREG(kind):
        with open(target, "wb") as file:  # noqa: PTH123
            file.write(data)
        return
    if mode is None and kind is not None:
        mode = stat.S_IMODE(kind)
    folder = os.path.dirname(target)  # noqa: PTH120
    sweep(folder)
    temporary = os.path.join(folder, passing_name())  # noqa: PTH118
    try:
        if not _written_nameless(folder, temporary, data, mode):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _CLOSED
            # Readable to others no sooner than it is meant to be.
            _fill(os.open(temporary, flags, 0o666 if mode is None else 0o600), data, mode)
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _written_nameless(folder: str, temporary: str, data: bytes, mode: int | None) -> bool:
    """Whether the whole content stands under its passing name, which it got at the very end."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    at = os.open(folder, os.O_RDONLY | _CLOSED)
    try:
        descriptor = nameless(at, 0o666 if mode is None else 0o600)
        if descriptor is None:
            return False
        held = os.dup(descriptor)
        try:
            _fill(descriptor, data, mode)
            return name_it(held, os.path.basename(temporary), at)  # noqa: PTH119
        finally:
            os.close(held)
    finally:
        os.close(at)


def _fill(descriptor: int, data: bytes, mode: int | None) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
