"""Rules that outlive the kernel: the project's ``nbtoolkit.toml`` and the person's own.

A project's file comes with the project, which may be somebody else's: until a person accepts its content, only its deny
and ask rules count. What is accepted is the hash, so a file that changes has to be accepted again; a change that this
person makes here keeps it accepted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission.own_files import OWN_FILE
from nbtoolkit.permission.rule import AdditionalWorkingDirectory, PermissionBehavior, PermissionContext, PermissionRule
from nbtoolkit.permission.rules_file import (
    Problem,
    RulesFile,
    StoreError,
    change_file,
    digest,
    read_bytes,
    read_rules,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tomlkit import TOMLDocument

    from nbtoolkit.permission.approval import Scope
    from nbtoolkit.permission.grants import Grants
    from nbtoolkit.permission.rule import PermissionMode

__all__ = ["PROJECT", "USER", "Store", "StoreError", "StoredServer", "find_project_file", "user_file"]

# The sources of rules from files, as a person reads them.
PROJECT = OWN_FILE
USER = "user file"


def find_project_file(folder: Path) -> tuple[Path, bool]:
    """The project's file and whether it exists: upwards to the repository's root, without one beside the notebook."""
    start = Path(folder).resolve()
    root = next((each for each in (start, *start.parents) if (each / ".git").exists()), None)
    for each in (start, *start.parents) if root is not None else (start,):
        if (each / OWN_FILE).is_file():
            return each / OWN_FILE, True
        if each == root:
            break
    return (root or start) / OWN_FILE, False


def user_file() -> Path | None:
    """The person's own file, in the platform's folder for configurations; None where there is no home."""
    from platformdirs import user_config_path

    try:
        folder = user_config_path("nbtoolkit", appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None
    return folder / OWN_FILE if folder.is_absolute() else None


@dataclass(frozen=True, slots=True)
class StoredServer:
    """An MCP server that a file names; one that ``waits`` may not be started before its file is accepted."""

    name: str
    table: dict[str, Any]
    source: str
    waits: bool = False


class Store:
    """Reads both files into the grants, and writes what is remembered; make one for each kernel."""

    def __init__(self, grants: Grants, folder: str | Path | None = None, *, user: Path | None = None) -> None:
        self.grants = grants
        grants.store = self
        self.folder = Path.cwd() if folder is None else Path(folder)
        self.user_path = user_file() if user is None else user
        self.project_path, _ = find_project_file(self.folder)
        self.project = RulesFile()
        self.user = RulesFile()
        self.problems: list[Problem] = []
        self.accepted = True
        self.project_digest: str | None = None
        self.loads = 0
        """How often the files were read: conversations take their working directories anew when it has changed."""
        # What was accepted while the person's own file could not be written.
        self._accepted_here: dict[str, str] = {}

    # ------------------------------------------------------------------------------------------------ reading
    def load(self) -> list[Problem]:
        """Read both files anew; a file that can't be read keeps what it said before, and is among the problems."""
        self.problems = []
        self.project_path, exists = find_project_file(self.folder)
        self._load_user()
        if exists:
            self._load_project()
        else:
            self.project, self.accepted, self.project_digest = RulesFile(), True, None
        self._fill()
        self.loads += 1
        return self.problems

    def _load_user(self) -> None:
        if self.user_path is None:
            return
        try:
            content = read_bytes(self.user_path)
            self.user = RulesFile() if content is None else read_rules(content, self.user_path, "user", USER)
        except StoreError as fault:
            self.problems.append(Problem(str(self.user_path), str(fault)))
        self.problems += self.user.problems

    def _load_project(self) -> None:
        try:
            content = read_bytes(self.project_path)
            if content is None:
                self.project, self.accepted, self.project_digest = RulesFile(), True, None
                return
            # Before it is understood: what can't be read isn't accepted either.
            self.project_digest = digest(content)
            self.accepted = self._knows(self.project_digest)
            self.project = read_rules(content, self.project_path, "project", PROJECT)
        except StoreError as fault:
            self.problems.append(Problem(str(self.project_path), str(fault)))
        self.problems += self.project.problems

    def _knows(self, content: str) -> bool:
        """Whether a person accepted this content: in this kernel, or, by their own file, in another one since."""
        key = str(self.project_path)
        return content in (self._accepted_here.get(key), self.user.accepted.get(key))

    def _fill(self) -> None:
        for source in (PROJECT, USER):
            self.grants.remove_source(source)
        self.grants.base = None if self.project_digest is None else str(self.project_path.parent)
        for rule in (*self.project.rules, *self.user.rules):
            if rule.source == USER or self.accepted or rule.behavior is not PermissionBehavior.ALLOW:
                self.grants.add(rule)

    # ---------------------------------------------------------------------------------------------- what holds
    @property
    def mode(self) -> PermissionMode | None:
        """The mode that the files ask for, the accepted project's first."""
        return (self.project.mode if self.accepted else None) or self.user.mode

    @property
    def mcp_servers(self) -> dict[str, StoredServer]:
        """The servers that the files name: to be listed, and started at first use by what ``server`` gives then.

        A project's are listed before it is accepted, but don't take the place of the person's own of the same name.
        """
        own = {name: StoredServer(name, table, USER) for name, table in self.user.mcp_servers.items()}
        theirs = {
            name: StoredServer(name, table, PROJECT, waits=not self.accepted)
            for name, table in self.project.mcp_servers.items()
            if self.accepted or name not in own
        }
        return {**own, **theirs}

    def server(self, name: str) -> dict[str, Any]:
        """The configuration of a server that is about to be started, read from its file once more.

        StoreError where there is none of this name, or a project's file isn't accepted as it is now.
        """
        self.load()
        found = self.mcp_servers.get(name)
        if found is None:
            raise StoreError(f"No file of rules names a server {name!r}.")
        if found.waits:
            raise StoreError(
                f"The server {name!r} comes with {str(self.project_path)!r}, which isn't accepted as it is. Look at what it would "
                "start, then accept the file with %toolkit rules accept."
            )
        return dict(found.table)

    @property
    def withheld(self) -> list[str]:
        """What the project's file asks for and doesn't get until it is accepted, in words."""
        if self.accepted:
            return []
        found = [f"allow {rule}" for rule in self.project.rules if rule.behavior is PermissionBehavior.ALLOW]
        found += [f"working directory {each}" for each in self.project.working_directories]
        found += [f"server {name}" for name in self.project.mcp_servers]
        return found + ([] if self.project.mode is None else [f"mode {self.project.mode.value}"])

    def apply(self, context: PermissionContext, *, mode: bool = True) -> None:
        """Give a context the files' working directories, the project's folder and, with ``mode``, their mode."""
        kept = {path: each for path, each in context.working_directories.items() if each.source not in {PROJECT, USER}}
        for rules, source, holds in ((self.project, PROJECT, self.accepted), (self.user, USER, True)):
            for path in rules.working_directories if holds else ():
                kept.setdefault(path, AdditionalWorkingDirectory(path=path, source=source))
        context.working_directories = kept
        context.project_folder = self.grants.base
        if mode and self.mode is not None:
            context.mode = self.mode

    def base_of(self, scope: Scope) -> str | None:
        """The folder that a file's relative patterns are read from; None is wherever they were written."""
        return str(self.project_path.parent) if scope == "project" else None

    # ---------------------------------------------------------------------------------------------- accepting
    def accept(self, expected: str | None = None) -> str | None:
        """A person accepts the project's file as it is; with ``expected``, only that content.

        Gives a note where it could be kept for this kernel only.
        """
        content = read_bytes(self.project_path)
        if content is None:
            raise StoreError(f"There is no {str(self.project_path)!r} to accept.")
        current = digest(content)
        if expected is not None and current != expected:
            raise StoreError(f"{str(self.project_path)!r} has changed since it was shown. Look at it again.")
        note = self._accept(current)
        self.load()
        return note

    def _accept(self, content: str) -> str | None:
        key = str(self.project_path)
        self._accepted_here[key] = content
        if self.user_path is None or self.user_path.parent.resolve() == self.project_path.parent.resolve():
            return "It can't be kept in a file of your own here: accepted for this kernel."

        def change(document: TOMLDocument, _: bytes | None) -> None:
            import tomlkit

            table = document.setdefault("accepted", tomlkit.table())
            table[key] = content

        try:
            change_file(self.user_path, change, private=True)
        except StoreError as fault:
            return f"{fault} Accepted for this kernel."
        return None

    # ------------------------------------------------------------------------------------------------ writing
    def remember(self, rules: Sequence[PermissionRule], scope: Scope) -> list[PermissionRule]:
        """Write allow rules to the project's or the person's file, and let them count at once."""
        path, source = self._target(scope)
        base = str(self.project_path.parent) if scope == "project" else None
        kept = [rule.model_copy(update={"source": source, "base": base}) for rule in rules]

        def change(document: TOMLDocument, before: bytes | None) -> None:
            if scope == "project":
                self._check_accepted(before)
            for rule in kept:
                _append(document, rule)

        self._write(path, change, scope)
        for rule in kept:
            self.grants.add(rule)
        return kept

    def forget(self, rule: PermissionRule) -> bool:
        """Take a rule out of the file that it came from; False when it came from none, or isn't there any more."""
        if rule.source not in {PROJECT, USER}:
            return False
        scope: Scope = "project" if rule.source == PROJECT else "user"
        path, _ = self._target(scope)
        gone = False

        def change(document: TOMLDocument, before: bytes | None) -> None:
            nonlocal gone
            if scope == "project" and rule.behavior is not PermissionBehavior.ALLOW:
                self._check_accepted(before)
            gone = _take_out(document, rule)

        self._write(path, change, scope)
        return bool(self.grants.remove([rule])) or gone

    def _target(self, scope: Scope) -> tuple[Path, str]:
        if scope == "project":
            folder = self.project_path.parent
            # realpath, since a link to itself would be no StoreError but a RuntimeError.
            if not Path(os.path.realpath(self.project_path)).is_relative_to(os.path.realpath(folder)):
                raise StoreError(f"{str(self.project_path)!r} is a link that leads out of the project.")
            return self.project_path, PROJECT
        if scope != "user":
            raise ValueError(f"The scope {scope!r} has no file.")
        if self.user_path is None:
            raise StoreError("There is no home folder to keep your own rules in.")
        return self.user_path, USER

    def _check_accepted(self, before: bytes | None) -> None:
        """Nothing is written into a file that nobody has accepted: it would be accepted with the rest."""
        if before is None:
            return
        self._load_user()
        if not self._knows(digest(before)):
            raise StoreError(f"{str(self.project_path)!r} isn't accepted as it is, so nothing is saved in it.")

    def _write(self, path: Path, change: Any, scope: Scope) -> None:
        if scope == "user":
            change_file(path, change, private=True)
            return

        def written(before: bytes | None, after: bytes) -> None:
            # Before another kernel may look: what this person changes in an accepted file stays accepted.
            if before is None or self._knows(digest(before)):
                self._accept(digest(after))
                self.accepted = True
            self.project_digest = digest(after)

        change_file(path, change, then=written)
        self.grants.base = str(path.parent)


def _entry(rule: PermissionRule) -> Any:
    import tomlkit

    if rule.definition is None:
        return str(rule)
    table = tomlkit.inline_table()
    table.update({"rule": str(rule), "definition": rule.definition})
    return table


def _says(entry: Any, rule: PermissionRule) -> bool:
    if isinstance(entry, str):
        return entry.strip() == str(rule) and rule.definition is None
    return isinstance(entry, dict) and entry.get("rule") == str(rule) and entry.get("definition") == rule.definition


def _append(document: TOMLDocument, rule: PermissionRule) -> None:
    import tomlkit

    key = rule.behavior.value
    if key not in document:
        document.add(key, tomlkit.array().multiline(True))
    rules = document[key]
    if not isinstance(rules, list):
        raise StoreError(f"{key!r} must be a list of rules, but it is {rules!r}.")
    if any(_says(entry, rule) for entry in rules):
        return
    # A grant for an older definition of the same tool is worth nothing beside the new one.
    for index in reversed(range(len(rules))):
        entry = rules[index]
        if rule.definition is not None and isinstance(entry, dict) and entry.get("rule") == str(rule):
            del rules[index]
    rules.append(_entry(rule))


def _take_out(document: TOMLDocument, rule: PermissionRule) -> bool:
    rules = document.get(rule.behavior.value)
    if not isinstance(rules, list):
        return False
    found = [index for index, entry in enumerate(rules) if _says(entry, rule)]
    for index in reversed(found):
        del rules[index]
    return bool(found)
