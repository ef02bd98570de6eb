"""``nbtoolkit.toml``: what may stand in it, and how it is changed without losing anything.

    mode = "accept_edits"                       # in a project's file not "bypass"
    allow = [
        "Bash(git status:*)",
        {rule = "load_table(path=data/**)", definition = "sha256:…"},
    ]
    ask = ["Bash(git push:*)"]
    deny = ["Read(*.pem)"]
    working_directories = ["../shared"]         # from the file's folder

    [mcp_servers.files]                         # as MCPClient takes it
    command = "mcp-server-files"

A user's file also holds ``[accepted]``: project files by path, with the hash of the content that the person accepted.
Whatever doesn't fit is named and left out; the rest of the file counts. A change keeps comments and layout, replaces
the file in one step, and waits for another kernel's change to the same file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nbtoolkit import atomic
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tomlkit import TOMLDocument

__all__ = ["FileKind", "Problem", "RulesFile", "StoreError", "change_file", "digest", "read_rules"]

FileKind = Literal["project", "user"]

_BEHAVIORS = (PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY)
_KEYS = ("mode", "allow", "ask", "deny", "working_directories", "mcp_servers")
# A rules' file is written by people; more than this is something else under its name.
LARGEST = 1_000_000


class StoreError(DeveloperOrientedException):
    """A rules' file can't be read or written; the text says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that doesn't count, and why."""

    file: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text}"


@dataclass(slots=True)
class RulesFile:
    """A file's content, as far as it fits."""

    mode: PermissionMode | None = None
    rules: list[PermissionRule] = field(default_factory=list)
    working_directories: list[str] = field(default_factory=list)
    mcp_servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    accepted: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def digest(content: bytes) -> str:
    """What identifies a file's content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# --------------------------------------------------------------------------------------------------------- reading
def read_bytes(path: Path) -> bytes | None:
    """The file's content; None where there is no file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise StoreError(f"{str(path)!r} can't be read: {fault.strerror or fault}.") from fault
    if len(content) > LARGEST:
        raise StoreError(f"{str(path)!r} is larger than {LARGEST:,} bytes, so it is no file of rules.")
    return content


def parse_toml(content: bytes, path: Path) -> dict[str, Any]:
    """The file's content as TOML; StoreError says where it isn't."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as fault:
        raise StoreError(f"{str(path)!r} is not valid TOML: {fault}. Mend it, then reload the rules.") from fault


def read_rules(content: bytes, path: Path, kind: FileKind, source: str) -> RulesFile:
    """Take a file's content apart; StoreError where it isn't TOML at all."""
    data = parse_toml(content, path)
    found = RulesFile()

    def problem(text: str) -> None:
        found.problems.append(Problem(str(path), text))

    keys = _KEYS if kind == "project" else (*_KEYS, "accepted")
    for key in data.keys() - set(keys):
        near = get_close_matches(key, keys, n=1)
        problem(f"unknown key {key!r}.{f' Is {near[0]!r} meant?' if near else ''} Expected: {', '.join(keys)}.")
    found.mode = _mode(data.get("mode"), kind, problem)
    folder = str(path.parent)
    for behavior in _BEHAVIORS:
        for entry in _listed(data, behavior.value, problem):
            rule = _rule(entry, behavior, source, folder if kind == "project" else None, problem)
            if rule is not None:
                found.rules.append(rule)
    for entry in _listed(data, "working_directories", problem):
        if isinstance(entry, str) and entry and "\x00" not in entry:
            found.working_directories.append(str((path.parent / Path(entry).expanduser()).resolve()))
        else:
            problem(f"working_directories: expected a folder's path, got {entry!r}.")
    found.mcp_servers = _tables(data, "mcp_servers", problem)
    if kind == "user":
        accepted = data.get("accepted", {})
        if isinstance(accepted, dict):
            found.accepted = {name: value for name, value in accepted.items() if isinstance(value, str)}
    return found


def _mode(value: Any, kind: FileKind, problem: Callable[[str], None]) -> PermissionMode | None:
    if value is None:
        return None
    try:
        mode = PermissionMode(value)
    except ValueError:
        problem(f"mode: {value!r} is no mode. Expected one of {', '.join(PermissionMode)}.")
        return None
    if kind == "project" and mode is PermissionMode.BYPASS:
        problem("mode: a project's file may not set 'bypass'. Set it yourself where you mean it.")
        return None
    return mode


def _listed(data: Mapping[str, Any], key: str, problem: Callable[[str], None]) -> list[Any]:
    value = data.get(key, [])
    if isinstance(value, list):
        return value
    problem(f"{key}: expected a list, got {value!r}.")
    return []


def _rule(
    entry: Any,
    behavior: PermissionBehavior,
    source: str,
    base: str | None,
    problem: Callable[[str], None],
) -> PermissionRule | None:
    definition = None
    text = entry
    if isinstance(entry, dict):
        text, definition = entry.get("rule"), entry.get("definition")
        unknown = sorted(entry.keys() - {"rule", "definition"})
        if unknown or not isinstance(definition, str | None):
            problem(f'{behavior.value}: expected {{rule = "…", definition = "…"}}, got {entry!r}.')
            if behavior is PermissionBehavior.ALLOW:
                return None
            definition = None
    if not isinstance(text, str):
        problem(f"{behavior.value}: expected a rule's text, got {entry!r}.")
        return None
    try:
        return PermissionRule.parse(text, behavior, source, definition=definition, base=base)
    except ValueError as fault:
        problem(f"{behavior.value}: {fault}")
        return None if behavior is PermissionBehavior.ALLOW else _unclear(text, behavior, source, base)


def _unclear(text: str, behavior: PermissionBehavior, source: str, base: str | None) -> PermissionRule | None:
    """A deny or ask rule that can't be read goes on asking about every call of its tool, until it is mended."""
    name, opened, content = text.strip().partition("(")
    try:
        rule = PermissionRule.parse(name, behavior, source, base=base)
    except ValueError:
        return None
    return rule.model_copy(update={"rule_content": content.rstrip().removesuffix(")") or "?"}) if opened else rule


def _tables(data: Mapping[str, Any], key: str, problem: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        problem(f"{key}: expected a table for each server, got {value!r}.")
        return {}
    for name, table in value.items():
        if not isinstance(table, dict):
            problem(f"{key}.{name}: expected a table, got {table!r}.")
    return {name: table for name, table in value.items() if isinstance(table, dict)}


# --------------------------------------------------------------------------------------------------------- writing
@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time among the processes of this machine, without a file left behind."""
    try:
        import fcntl
    except ImportError:
        # Windows: the content is compared again before it is replaced, which leaves a moment open.
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            # A network folder may not know locks.
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def change_file(
    path: Path,
    change: Callable[[TOMLDocument, bytes | None], None],
    *,
    private: bool = False,
    then: Callable[[bytes | None, bytes], None] | None = None,
) -> None:
    """Change a file in place.

    ``change`` gets the document and the content that it was read from; what it raises leaves the file as it was.
    ``then`` gets the content before and after. Both run under the lock, and may not change a file in the same folder.
    """
    import tomlkit

    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        with _locked(target.parent):
            before = read_bytes(target)
            document = tomlkit.parse(b"" if before is None else _checked(before, target))
            change(document, before)
            after = tomlkit.dumps(document).encode()
            parse_toml(after, target)
            if after != before:
                # One that is new here is the person's own, or for whoever may read the project.
                new = 0o600 if private else 0o644
                atomic.replace(target, after, mode=new if before is None else None)
            if then is not None:
                then(before, after)
    except OSError as fault:
        raise StoreError(f"{str(path)!r} can't be written: {fault.strerror or fault}.") from fault


def _checked(content: bytes, path: Path) -> bytes:
    parse_toml(content, path)
    return content.removeprefix(b"\xef\xbb\xbf")
