"""What the file tools share: finding a file, knowing it again, its text and encoding, replacing it in one step."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import stat
import tempfile
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission import pattern
from nbtoolkit.permission.path_subject import PathSubject, path_subject
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.sensitive import DANGEROUS_DIRECTORIES, DANGEROUS_FILES, Places, roots
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.diffs import counted
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.sensitive import Access
    from nbtoolkit.permission.subject import Subject
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolMiddlewareBase

__all__ = [
    "FileChange",
    "FileFault",
    "FileTool",
    "Text",
    "decode",
    "encoding_of",
    "fingerprint",
    "here",
    "own_notebook",
    "replace_file",
]

# Text files beyond this aren't edited: nobody reviews such a change, and it is held in memory three times.
LARGEST_EDITABLE = 20 * 1024 * 1024
# Hashing more than this on every read would cost more than it tells.
LARGEST_HASHED = 8 * 1024 * 1024
# What charset detection looks at.
SAMPLE = 256 * 1024

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_COMMON = ("cp1252", "latin_1", "iso8859_15")


def _session_notebook() -> str | None:
    """The notebook that a Jupyter server says this kernel belongs to."""
    name = os.environ.get("JPY_SESSION_NAME", "")
    return name if name.endswith(".ipynb") else None


# A front end that knows better replaces it.
own_notebook: Callable[[], str | None] = _session_notebook


class FileFault(Exception):  # noqa: N818 - becomes a result that the model reads
    """Why a file can't be read or written as asked; written for the model."""


def here() -> str:
    """The folder that relative paths start from: the notebook's."""
    try:
        return os.getcwd()  # noqa: PTH109 - asked on every judgement
    except OSError:
        return "/"


# Where the path of the call under way led when it was judged. Each call runs in a task with a context of its own, so
# another call with the same path, judged while this one waits for its answer, doesn't take its place.
_NOTHING: tuple[object, str, str] = (None, "", "")
_judged: ContextVar[tuple[object, str, str]] = ContextVar("nbtoolkit_judged_path", default=_NOTHING)


class FileTool(ToolBase):
    """A tool about one path: judged by where the path leads, and run on just that place."""

    access: Access = "read"
    path_argument = "file_path"
    is_state_injected = True
    dangerous_files = DANGEROUS_FILES
    dangerous_directories = DANGEROUS_DIRECTORIES

    def __init__(
        self,
        dangerous_files: Sequence[str] | None = None,
        dangerous_directories: Sequence[str] | None = None,
        middlewares: list[ToolMiddlewareBase] | None = None,
    ) -> None:
        super().__init__(middlewares)
        if dangerous_files is not None:
            self.dangerous_files = list(dangerous_files)
        if dangerous_directories is not None:
            self.dangerous_directories = list(dangerous_directories)
        self._places = Places(dangerous_files, dangerous_directories)

    # ------------------------------------------------------------------------------------------------- judging
    def subjects(self, tool_input: dict[str, Any], context: PermissionContext) -> list[Subject]:
        """The one path, resolved; what was judged is what ``located`` gives later."""
        given = tool_input.get(self.path_argument) or "."
        subject = self._subject(given, roots(context), context.base)
        _judged.set((self, given, subject.resolved[0] if subject.resolved else ""))
        return [subject]

    def _subject(self, given: str, folders: Sequence[str], base: str) -> PathSubject:
        writes = self.access == "write"
        return path_subject(
            given,
            self.access,
            bases=(here(),),
            folders=folders,
            places=self._places,
            tool_names=("Write", "Edit") if writes else ("Read",),
            allow_names=(self.name,),
            base=base,
            tool=self.name,
        )

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """No opinion beyond the path's, but the notebook that this kernel belongs to is never written."""
        if self.access == "write":
            fault = notebook_fault(tool_input.get(self.path_argument) or "")
            if fault is not None:
                return PermissionDecision(PermissionBehavior.DENY, fault, "the open notebook")
        return PermissionDecision(PermissionBehavior.PASSTHROUGH, "")

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:  # noqa: ARG002 - the path doesn't matter
        """Whether the tool only reads."""
        return self.access == "read"

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """Whether an allow rule with this content names the path."""
        if rule_content is None:
            return True
        rule = PermissionRule(tool_name=self.name, rule_content=rule_content, behavior=PermissionBehavior.ALLOW)
        return (
            self._subject(tool_input.get(self.path_argument) or ".", (here(),), here()).matches(rule, here()).value == 2
        )

    async def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """The folder that the path lies in."""
        suggestion = self._subject(tool_input.get(self.path_argument) or ".", (), here()).suggestion
        return [] if suggestion is None else [suggestion]

    # ------------------------------------------------------------------------------------------------- running
    def located(self, given: str, *, look: bool = False) -> str:
        """The real path behind a given one; a FileFault where it leads elsewhere than when it was judged.

        A run uses the judgement up, so that a later one without a judgement isn't held to it; a mere ``look`` doesn't.
        """
        found = pattern.resolve(given, here())
        if found is None:
            raise FileFault(f"{given!r:.200} is no path. Expected the path of a file, as text.")
        tool, path, judged = _judged.get()
        if tool is not self or path != given:
            return found[0]
        if not look:
            _judged.set(_NOTHING)
        if judged and judged != found[0]:
            raise FileFault(
                f"{given!r} leads to {found[0]!r} now, but led to {judged!r} when it was judged. Nothing was done; call again."
            )
        return found[0]


def notebook_fault(given: str) -> str | None:
    """Why a path must not be written: it is the notebook that is open over this kernel."""
    name = own_notebook()
    if not name or not given:
        return None
    mine, found = pattern.resolve(name, here()), pattern.resolve(given, here())
    if mine is None or found is None or mine[0] != found[0]:
        return None
    return (
        f"{given!r} is the notebook that this kernel belongs to. It is open in a front end, which would overwrite the change "
        "or lose the person's own; ask the person to edit the cell."
    )


def opened(path: str) -> Any:
    """Open a resolved path to read, refusing what is no ordinary file or has become a link since."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise FileFault(f"{path!r} doesn't exist.{_similar(path)}") from None
    except OSError as fault:
        raise FileFault(f"{path!r} can't be opened: {fault.strerror or fault}.") from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise FileFault(f"{path!r} is a folder. Use Glob to list it.")
        if not stat.S_ISREG(kind):
            raise FileFault(f"{path!r} is no ordinary file (a device, a pipe or a socket), so it isn't read.")
        link = f"/proc/self/fd/{descriptor}"
        if os.path.lexists(link) and os.readlink(link) not in (path, f"{path} (deleted)"):  # noqa: PTH115
            raise FileFault(f"{path!r} was replaced while it was being opened. Nothing was read; call again.")
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise


def _similar(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        names = [entry.name for _, entry in zip(range(2_000), os.scandir(folder), strict=False)]
    except OSError:
        return f" The folder {folder!r} doesn't exist either." if not os.path.isdir(folder) else ""  # noqa: PTH112
    close = difflib.get_close_matches(name, names, n=3)
    return f" There is {', '.join(map(repr, close))} beside it." if close else ""


def fingerprint(path: str, data: bytes | None = None) -> dict[str, Any]:
    """What a file is known by: size, time, and its content's hash where that is cheap."""
    info = os.stat(path)  # noqa: PTH116
    known: dict[str, Any] = {"size": info.st_size, "mtime_ns": info.st_mtime_ns}
    if data is None and info.st_size <= LARGEST_HASHED:
        data = Path(path).read_bytes()
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


# ------------------------------------------------------------------------------------------------------------ text
@dataclass(frozen=True, slots=True)
class Text:
    """A file's text with what must survive an edit: encoding, byte order mark, line ends."""

    text: str
    encoding: str
    bom: bytes
    newline: str

    def encoded(self, text: str) -> bytes:
        """Other text in the same clothes; a FileFault where the encoding has no such character."""
        if self.newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", self.newline)
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as fault:
            odd = text[fault.start : fault.end]
            raise FileFault(
                f"the file is written in {self.encoding}, which has no {odd!r:.40}. Leave that character out, or convert the file first."
            ) from None


def encoding_of(sample: bytes) -> tuple[str, bytes] | None:
    """The encoding that a file's beginning shows, and its byte order mark; None for what is no text."""
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            return encoding, bom
    if b"\x00" in sample[:8192]:
        return None
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as fault:
        # A sample may end within a character.
        if fault.start < len(sample) - 4 or len(sample) < SAMPLE:
            from charset_normalizer import from_bytes

            matches = from_bytes(sample[:SAMPLE], explain=False)
            best = matches.best()
            if best is None:
                return None
            # Short texts look alike in many encodings; the common one is the better guess.
            common = next(
                (each for each in matches if each.encoding in _COMMON and each.chaos <= best.chaos + 0.02), best
            )
            return common.encoding, b""
    return "utf-8", b""


def decode(data: bytes) -> Text:
    """A whole file's text; a FileFault for what is no text."""
    found = encoding_of(data)
    if found is None:
        raise FileFault("it is no text: it holds binary data.")
    encoding, bom = found
    try:
        text = data[len(bom) :].decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise FileFault(f"it looks like {encoding} text but isn't, so it can't be edited safely.") from None
    windows = text.count("\r\n")
    # A file of mixed line ends keeps each: only one that has nothing else is turned into plain lines.
    newline = "\r\n" if windows and windows == text.count("\n") else "\n"
    return Text(text.replace("\r\n", "\n") if newline == "\r\n" else text, encoding, bom, newline)


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

    def undo(self) -> str:
        """Put the file back as it was; a FileFault where somebody changed it since."""
        try:
            now: bytes | None = Path(self.path).read_bytes()
        except FileNotFoundError:
            now = None
        if now != self.after:
            raise FileFault(
                f"{_from_here(self.path)!r} has changed since that call, so taking the call back would lose the later change."
            )
        if self.before is None:
            os.unlink(self.path)  # noqa: PTH108
            return f"removed {_from_here(self.path)}, which the call had made"
        replace_file(self.path, self.before)
        return f"restored {_from_here(self.path)}"

    def __repr__(self) -> str:
        added, removed = counted(self.diff)
        return f"<change of {os.path.basename(self.path)}: {added} added, {removed} removed>"  # noqa: PTH119


def _from_here(path: str) -> str:
    """The path as it is written in this folder: what is printed is the same on every machine."""
    folder = os.path.join(os.path.realpath(os.getcwd()), "")  # noqa: PTH109, PTH118
    return path.removeprefix(folder)


def replace_file(path: str, data: bytes, *, expected: bytes | None = None) -> None:
    """Write a resolved path in one step: whoever looks, or kills this process, finds the old file or the new one.

    Mode and, where it can, owner are kept; ``expected`` is looked at once more just before.
    """
    folder = os.path.dirname(path)  # noqa: PTH120
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        if os.path.realpath(folder) != folder:
            raise FileFault(f"{folder!r} became a link while it was written to. Nothing was written; call again.")
        old = os.stat(path, follow_symlinks=False) if os.path.lexists(path) else None  # noqa: PTH116
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise FileFault(f"{path!r} is no ordinary file, so it isn't replaced.")
        descriptor, temporary = tempfile.mkstemp(prefix=".nbtoolkit-", suffix=".tmp", dir=folder)
    except OSError as fault:
        raise FileFault(f"{path!r} can't be written: {fault.strerror or fault}.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is None:
            os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101
        else:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))  # noqa: PTH101
            if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                with contextlib.suppress(OSError):
                    os.chown(temporary, old.st_uid, old.st_gid)
        if expected is not None and Path(path).read_bytes() != expected:
            raise FileFault(f"{path!r} was changed by somebody else just now. Read it again first.")
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as fault:
        _remove(temporary)
        raise FileFault(f"{path!r} can't be written: {fault.strerror or fault}.") from None
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def _umask() -> int:
    """The process's mask; Linux tells it without changing it, which another thread would notice."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def failed(fault: Exception) -> ToolChunk:
    """A fault as the result that the model reads."""
    from nbtoolkit.message import ToolResultState

    return ToolChunk.of(str(fault), ToolResultState.ERROR)
