"""Why a file can't be read, written or searched, in one line for the model: what was wrong, and what to do next."""

from __future__ import annotations

import errno
import os

__all__ = ["FileFault", "of_system", "shown"]

# A path in a message; longer ones are an attack or a slip.
LONGEST_PATH = 300


class FileFault(Exception):  # noqa: N818 - becomes a result that the model reads
    """Why a file can't be read or written as asked; written for the model."""


_NEXT = {
    errno.EACCES: "this user may not. Ask the person to allow it, or use another place",
    errno.EPERM: "this user may not. Ask the person to allow it, or use another place",
    errno.EROFS: "it lies on a read-only file system. Use another place",
    errno.ENOSPC: "the disk is full. Nothing was changed; ask the person for room, then call again",
    errno.EDQUOT: "this user's share of the disk is full. Nothing was changed; ask the person for room, then call again",
    errno.EFBIG: "it would become larger than this system lets a file be. Nothing was changed",
    errno.ENAMETOOLONG: "its name is longer than this file system takes. Give a shorter one",
    errno.ELOOP: "its links lead in a circle. Give the path of a real file",
    errno.EMFILE: "too many files are open in this process. Ask the person to close some, or to restart the kernel",
    errno.ENFILE: "too many files are open on this computer. Call again later",
    errno.EIO: "the disk couldn't be read or written. Tell the person",
    errno.ESTALE: "the server that the file lies on no longer knows it. Call again",
    errno.ETXTBSY: "it is a program that runs. End it first",
}


def shown(path: str) -> str:
    """A path in a message: quoted, on one line, its middle left out where it is long."""
    if len(path) > LONGEST_PATH:
        path = f"{path[: LONGEST_PATH // 2]}…{path[-LONGEST_PATH // 2 :]}"
    return repr(path)


def of_system(path: str, verb: str, error: OSError) -> FileFault:
    """What the system said about a path that can't be ``verb`` (opened, written, …)."""
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        above = path
        while above != (above := os.path.dirname(above)):  # noqa: PTH120
            if os.path.lexists(above) and not os.path.isdir(above):  # noqa: PTH112
                return FileFault(
                    f"{shown(path)} can't be {verb}: {shown(above)} is no folder, so nothing lies below it. Give another path."
                )
    why = _NEXT.get(error.errno or 0) or error.strerror or str(error)
    return FileFault(f"{shown(path)} can't be {verb}: {why}.")
