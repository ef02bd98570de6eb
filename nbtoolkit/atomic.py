"""Files that are replaced in one step: whoever looks, or kills this process, finds the old content or the new one.

Where the system can, what isn't whole yet has no name, so that a kill leaves nothing beside the file either.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["name_it", "nameless", "replace"]

_CLOSED = getattr(os, "O_CLOEXEC", 0)


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
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:80]}.{secrets.token_hex(6)}.tmp")  # noqa: PTH118
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
