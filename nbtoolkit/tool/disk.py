"""Files on the disk: opened for what they were judged to be, known again, replaced in one step, put back.

A path that was judged is opened without following a link in its last part, and what was opened is looked at once more;
folders are held open while a file in them is replaced. So what was approved is what is touched, whoever moves things
about in the meantime.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import io
import os
import stat
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from nbtoolkit import atomic
from nbtoolkit.tool.diffs import counted
from nbtoolkit.tool.faults import FileFault, of_system, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtoolkit.state import AgentState

__all__ = [
    "FileChange",
    "FileFault",
    "Holder",
    "check_read",
    "fingerprint",
    "held",
    "opened",
    "other_names",
    "read_whole",
    "remember",
    "replace_file",
    "written",
]

# Hashing more than this on every read would cost more than it tells.
LARGEST_HASHED = 8 * 1024 * 1024

_CLOSED = getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_HELD = os.rename in os.supports_dir_fd and os.stat in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


# --------------------------------------------------------------------------------------------------------- reading
def opened(path: str, verb: str = "read", given: str | None = None) -> IO[bytes]:
    """Open a resolved path to read, refusing what is no ordinary file or has become a link since.

    ``verb`` says what isn't done with such a file, ``given`` how it was named.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | _CLOSED)
    except FileNotFoundError:
        raise FileFault(f"{_linked(given, path)}{shown(path)} doesn't exist.{_similar(path)}") from None
    except OSError as fault:
        if stat.S_ISSOCK(_mode(path)):
            raise FileFault(_odd(path, verb)) from None
        raise of_system(path, "opened", fault) from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise FileFault(f"{shown(path)} is a folder, not a file. Use Glob to list it, or give a file's path.")
        if not stat.S_ISREG(kind):
            raise FileFault(_odd(path, verb))
        if not _still(descriptor, path):
            raise FileFault(f"{path!r} was replaced while it was being opened. Nothing was read; call again.")
        return _File(descriptor, "rb")
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise


class _File(io.FileIO):
    """One that has nothing to give now, as a log of the system's may, is at its end: nobody waits for it."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size) or b""


def _odd(path: str, verb: str) -> str:
    return f"{shown(path)} is no ordinary file (a device, a pipe or a socket), so it isn't {verb}. Give the path of a file."


def _mode(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mode  # noqa: PTH116
    except OSError:
        return 0


def _linked(given: str | None, path: str) -> str:
    """A word about a link that leads nowhere."""
    try:
        link = given is not None and os.path.islink(os.path.expanduser(given))  # noqa: PTH111, PTH114
    except (OSError, ValueError):
        return ""
    return f"{shown(given)} is a link to {shown(path)}, and " if link and given is not None else ""


def _still(descriptor: int, path: str) -> bool:
    """Whether a descriptor is what its path says; Linux tells."""
    link = f"/proc/self/fd/{descriptor}"
    return not os.path.lexists(link) or os.readlink(link) in (path, f"{path} (deleted)")  # noqa: PTH115


def _similar(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        names = [entry.name for _, entry in zip(range(2_000), os.scandir(folder), strict=False)]
    except OSError:
        return f" The folder {shown(folder)} doesn't exist either." if not os.path.isdir(folder) else ""  # noqa: PTH112
    close = difflib.get_close_matches(name, names, n=3)
    return f" There is {', '.join(map(repr, close))} beside it." if close else ""


def read_whole(path: str, most: int, what: str, given: str | None = None) -> bytes:
    """All of a resolved path; a FileFault, with ``what`` isn't done then, for one of more than ``most`` bytes."""
    with opened(path, what, given) as file:
        pieces = [file.read(most + 1)]
        while pieces[-1] and sum(map(len, pieces)) <= most:
            pieces.append(file.read(most + 1))
    data = b"".join(pieces)
    if len(data) > most:
        raise FileFault(
            f"{shown(path)} is larger than {most // 2**20} MB, so it isn't {what} as text. Use Bash, or a program, to change it."
        )
    return data


# ------------------------------------------------------------------------------------------------------ known again
def fingerprint(file: IO[bytes], since: os.stat_result) -> dict[str, Any]:
    """What an open file is known by, whose content was shown: size, time, and its hash where that is cheap.

    One that changed ``since`` is known by nothing: what was shown may not be what is there, so nothing may build on it.
    """
    data = None
    if since.st_size <= LARGEST_HASHED:
        file.seek(0)
        data = file.read(LARGEST_HASHED + 1)
    now = os.fstat(file.fileno())
    if (now.st_size, now.st_mtime_ns) != (since.st_size, since.st_mtime_ns):
        return {"size": -1, "mtime_ns": -1}
    return _known(now, data)


def written(path: str, data: bytes) -> dict[str, Any]:
    """What a file is known by into which ``data`` was just written."""
    return _known(os.stat(path, follow_symlinks=False), data)  # noqa: PTH116


def _known(info: os.stat_result, data: bytes | None) -> dict[str, Any]:
    known: dict[str, Any] = {"size": info.st_size, "mtime_ns": info.st_mtime_ns}
    if data is not None and len(data) <= LARGEST_HASHED:
        known["sha256"] = hashlib.sha256(data).hexdigest()
    return known


def remember(state: AgentState | None, path: str, known: dict[str, Any]) -> None:
    """Note that a file was read in this conversation."""
    if state is not None:
        state.tool_context.read_files[path] = known


def check_read(state: AgentState | None, path: str, data: bytes) -> None:
    """A FileFault where a file wasn't read in this conversation, or isn't what was read."""
    if state is None:
        return
    known = state.tool_context.read_files.get(path)
    if known is None:
        raise FileFault(f"{path!r} has not been read yet in this conversation. Read it first, then write to it.")
    if "sha256" in known:
        same = known["sha256"] == hashlib.sha256(data).hexdigest()
    else:
        info = os.stat(path)  # noqa: PTH116
        same = (known.get("size"), known.get("mtime_ns")) == (info.st_size, info.st_mtime_ns)
    if not same:
        raise FileFault(
            f"{path!r} has changed since it was read, by the person or another program. Read it again first."
        )


# --------------------------------------------------------------------------------------------------------- writing
@dataclass(frozen=True, slots=True)
class FileChange:
    """What one call did to one file; the value of Write's and Edit's result. ``undo`` takes it back."""

    path: str
    before: bytes | None
    after: bytes
    diff: str
    left_out: int = 0
    """Lines of the difference that are not in ``diff``, as too many to review."""
    folders: tuple[str, ...] = ()
    """The folders that the call made, outermost first."""

    def undo(self) -> str:
        """Put the file back as it was; a FileFault where somebody changed it since."""
        folder, file = os.path.split(self.path)
        name = repr(_from_here(self.path))
        try:
            with held(folder) as holder:
                now = _content(file, holder)
                if now == self.before and self.before != self.after:
                    raise FileFault(f"{name} is as it was before that call, so there is nothing to take back.")
                if now is None:
                    raise FileFault(f"{name} is gone, so there is nothing to take back.")
                if now != self.after:
                    raise FileFault(
                        f"{name} has changed since that call, so taking the call back would lose the later change."
                    )
                if self.before is None:
                    os.unlink(_at(file, holder), dir_fd=holder.descriptor)
        except FileNotFoundError:
            raise FileFault(f"{name} is gone, so there is nothing to take back.") from None
        except OSError as fault:
            if fault.errno in (errno.ELOOP, errno.EISDIR, errno.ENOTDIR):
                raise FileFault(
                    f"{name} is no longer the file that the call wrote, so nothing was taken back."
                ) from None
            raise of_system(self.path, "taken back", fault) from None
        if self.before is not None:
            replace_file(self.path, self.before, expected=self.after)
            return f"restored {_from_here(self.path)}"
        _unmake(self.folders)
        return f"removed {_from_here(self.path)}, which the call had made"

    def __repr__(self) -> str:
        added, removed = counted(self.diff)
        return f"<change of {os.path.basename(self.path)}: {added} added, {removed} removed>"  # noqa: PTH119


def other_names(path: str) -> str:
    """A word about a file's other names: they go on naming what it was."""
    try:
        many = os.stat(path).st_nlink > 1  # noqa: PTH116
    except OSError:
        return ""
    return " It had other names (hard links); they keep the old content." if many else ""


def _from_here(path: str) -> str:
    """The path as it is written in this folder: what is printed is the same on every machine."""
    with contextlib.suppress(OSError):
        return path.removeprefix(os.path.join(os.path.realpath(os.getcwd()), ""))  # noqa: PTH109, PTH118
    return path


def replace_file(path: str, data: bytes, *, expected: bytes | None = None, new: bool = False) -> tuple[str, ...]:
    """Write a resolved path in one step: whoever looks, or kills this process, finds the old file or the new one.

    Mode and, where it can, owner are kept. ``expected`` is what must stand there just before; with ``new`` nothing may.
    Gives the folders that it had to make, outermost first.
    """
    folder, name = os.path.split(path)
    made: list[str] = []
    done = False
    try:
        _make(folder, made)
        with held(folder) as holder:
            old = _look(name, holder)
            if old is not None and new:
                raise FileFault(f"{path!r} was created by somebody else just now. Read it first.")
            if old is not None and not stat.S_ISREG(old.st_mode):
                raise FileFault(_odd(path, "replaced"))
            atomic.sweep(folder if holder.descriptor is None else holder.descriptor)
            temporary = atomic.passing_name()
            try:
                placed = _fill(temporary, name if new else None, data, old, holder)
                if expected is not None and _content(name, holder) != expected:
                    raise FileFault(f"{path!r} was changed by somebody else just now. Read it again first.")
                if not placed:
                    _put(temporary, name, holder, new=new)
                done = True
            except FileExistsError:
                raise FileFault(f"{path!r} was created by somebody else just now. Read it first.") from None
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(_at(temporary, holder), dir_fd=holder.descriptor)
    except OSError as fault:
        raise of_system(path, "written", fault) from None
    finally:
        if not done:
            _unmake(made)
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Holder:
    """A folder that is held open, so that names in it can't come to mean others; where that can't be done, its path."""

    folder: str
    descriptor: int | None

    def path(self) -> str:
        """What a program may be started in: the folder that is held, whatever its name has come to mean."""
        link = f"/proc/self/fd/{self.descriptor}"
        return link if self.descriptor is not None and os.path.lexists(link) else self.folder


@contextlib.contextmanager
def held(folder: str) -> Iterator[Holder]:
    """Hold a resolved folder open; a FileFault where it has become a link since."""
    changed = FileFault(f"{shown(folder)} became a link just now. Nothing was done; call again.")
    if not _HELD:
        if os.path.realpath(folder) != folder:
            raise changed
        yield Holder(folder, None)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _CLOSED)
    try:
        if os.path.realpath(folder) != folder or not _still(descriptor, folder):
            raise changed
        yield Holder(folder, descriptor)
    finally:
        os.close(descriptor)


def _make(folder: str, made: list[str]) -> None:
    """Make a folder and those that it lies in, outermost first, noting each in ``made``."""
    missing: list[str] = []
    at = folder
    while at and not os.path.lexists(at):
        missing.append(at)
        at = os.path.dirname(at)  # noqa: PTH120
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each)  # noqa: PTH102
            made.append(each)


def _unmake(folders: Sequence[str]) -> None:
    """Take folders away again, innermost first; one that holds something else by now stays."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106


def _at(name: str, holder: Holder) -> str:
    return name if holder.descriptor is not None else os.path.join(holder.folder, name)  # noqa: PTH118


def _look(name: str, holder: Holder) -> os.stat_result | None:
    try:
        return os.stat(_at(name, holder), dir_fd=holder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _content(name: str, holder: Holder) -> bytes | None:
    try:
        with os.fdopen(
            os.open(_at(name, holder), os.O_RDONLY | _NO_LINK | _CLOSED, dir_fd=holder.descriptor), "rb"
        ) as f:
            return f.read()
    except FileNotFoundError:
        return None


def _fill(temporary: str, new: str | None, data: bytes, old: os.stat_result | None, holder: Holder) -> bool:
    """Write the new file beside the old one, all of it, and give it the old one's mode and owner.

    One that takes no other's place gets its own name, ``new``, at once where the system can do that: then it is true.
    """
    # A new file gets what the process's mask leaves; a secret one is never readable to others, not for a moment.
    mode = 0o666 if old is None else 0o600
    if holder.descriptor is not None and (nameless := atomic.nameless(holder.descriptor, mode)) is not None:
        with os.fdopen(nameless, "wb") as file:
            _pour(file, data, old)
            if atomic.name_it(nameless, new or temporary, holder.descriptor):
                return new is not None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _CLOSED
    with os.fdopen(os.open(_at(temporary, holder), flags, mode, dir_fd=holder.descriptor), "wb") as file:
        _pour(file, data, old)
    return False


def _pour(file: IO[bytes], data: bytes, old: os.stat_result | None) -> None:
    file.write(data)
    file.flush()
    if old is not None:
        if hasattr(os, "fchown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(OSError):
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
    os.fsync(file.fileno())


def _put(temporary: str, name: str, holder: Holder, *, new: bool) -> None:
    """Give the file its name; one that is new must not take another's place, even by a hair."""
    source, target, at = _at(temporary, holder), _at(name, holder), holder.descriptor
    if new and hasattr(os, "link"):
        try:
            os.link(source, target, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            # This file system has no second names: a look just before must do.
            if _look(name, holder) is not None:
                raise FileExistsError from None
        else:
            return
    os.replace(source, target, src_dir_fd=at, dst_dir_fd=at)
