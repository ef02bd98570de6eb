"""Skills: folders with a SKILL.md that a model reads before it does a kind of work.

A folder that can't be read as a skill costs itself, with a warning that says why, and no other.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import SkillNotFoundError, ToolkitWarning
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.state import AgentState

__all__ = [
    "LocalSkillLoader",
    "Skill",
    "SkillLoaderBase",
    "SkillViewer",
    "checked_sources",
    "load_skills",
    "skill_index",
]

SKILL_FILE = "SKILL.md"
# What a model can read in one go; a longer skill belongs into several files.
MAX_SKILL_BYTES = 1_000_000
# A link that leads to half the disk isn't followed to its end.
MAX_FOLDERS = 10_000
# A value that begins with none of the signs that mean something else than a text.
_PLAIN = re.compile(r"^([\w-]+): +([^\s\"'|>\[{&*!%#@`].*)$", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """One skill: ``markdown`` is SKILL.md without its front matter, ``updated_at`` the file's time in seconds."""

    name: str
    description: str
    dir: str
    markdown: str
    updated_at: float = 0.0


class SkillLoaderBase(ABC):
    """Where skills come from."""

    @abstractmethod
    async def list_skills(self) -> list[Skill]:
        """Give all skills there are now."""


class LocalSkillLoader(SkillLoaderBase):
    """The skill of a folder and, with ``scan_subdir``, those of all folders below; changed files are read again.

    Linked folders are followed; one that is reached twice is read once.
    """

    def __init__(self, directory: str | Path, scan_subdir: bool = False) -> None:
        self.directory = Path(directory).expanduser()
        self.scan_subdir = scan_subdir
        self._cache: dict[Path, tuple[tuple[int, int], Skill | None]] = {}

    async def list_skills(self) -> list[Skill]:
        """Read what is there, in the order of the folders' names."""
        if not self.directory.is_dir():
            _warn(f"there is no folder {str(self.directory)!r} to load skills from")
            return []
        found = (self._load(path) for path in self._files())
        return [skill for skill in found if skill is not None]

    def _files(self) -> list[Path]:
        if not self.scan_subdir:
            here = self.directory / SKILL_FILE
            return [here] if here.is_file() else []
        found: list[Path] = []
        seen: set[str] = set()
        for root, folders, files in os.walk(self.directory, followlinks=True):
            folders.sort()
            real = os.path.realpath(root)
            if real in seen:
                folders.clear()  # a link that leads back up would be followed for ever
                continue
            if len(seen) >= MAX_FOLDERS:
                _warn(f"only the first {MAX_FOLDERS:,} folders below {str(self.directory)!r} were searched for skills")
                break
            seen.add(real)
            if SKILL_FILE in files:
                found.append(Path(root) / SKILL_FILE)
        return found

    def _load(self, path: Path) -> Skill | None:
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            held = self._cache.get(path)
            if held is None or held[0] != stamp:
                held = self._cache[path] = (stamp, _parse(path, stat.st_mtime, stat.st_size))
            return held[1]
        except (OSError, UnicodeDecodeError) as error:
            _warn(f"the skill {str(path)!r} can't be read: {error}")
            return None


def _parse(path: Path, updated_at: float, size: int) -> Skill | None:
    if size > MAX_SKILL_BYTES:
        _warn(f"the skill {str(path)!r} is left out: {size:,} bytes, where {MAX_SKILL_BYTES:,} is the most")
        return None
    # utf-8-sig drops the byte order mark that would hide the front matter's first line.
    text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    front, body = _split(text)
    if front is None:
        _warn(f"the skill {str(path)!r} is left out: it doesn't begin with front matter between two lines of ---")
        return None
    import yaml

    fields: Any
    try:
        fields = yaml.safe_load(front)
    except yaml.YAMLError as error:
        try:
            fields = yaml.safe_load(_quoted(front))
        except yaml.YAMLError:
            _warn(f"the skill {str(path)!r} is left out: its front matter is no YAML ({' '.join(str(error).split())})")
            return None
    fields = fields if isinstance(fields, dict) else {}
    missing = [name for name in ("name", "description") if not fields.get(name)]
    if missing:
        _warn(f"the skill {str(path)!r} is left out: its front matter lacks {' and '.join(missing)}")
        return None
    return Skill(str(fields["name"]).strip(), str(fields["description"]).strip(), str(path.parent), body, updated_at)


def _quoted(front: str) -> str:
    """Front matter with its plain one-line values in quotes: people write colons into a description."""
    return _PLAIN.sub(lambda line: f"{line[1]}: {json.dumps(line[2].rstrip(), ensure_ascii=False)}", front)


def _split(text: str) -> tuple[str | None, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).lstrip("\n")
    return None, text


def _warn(text: str) -> None:
    warnings.warn(text, ToolkitWarning, stacklevel=2)


async def load_skills(sources: Sequence[str | Path | Skill | SkillLoaderBase]) -> dict[str, Skill]:
    """All skills by name; of two with one name the first counts, with a warning that names both folders."""
    found: dict[str, Skill] = {}
    for source in sources:
        for skill in await _skills_of(source):
            held = found.setdefault(skill.name, skill)
            if held != skill:
                where = f"the one in {held.dir!r} counts, not {skill.dir!r}"
                if held.dir == skill.dir:
                    where = f"the first counts, and both are said to lie in {held.dir!r}"
                _warn(f"two skills are called {skill.name!r}: {where}")
    return found


def checked_sources(
    sources: Iterable[str | Path | Skill | SkillLoaderBase],
) -> list[str | Path | Skill | SkillLoaderBase]:
    """The same as a list; TypeError names what no skill can come from."""
    if isinstance(sources, str | os.PathLike):
        raise TypeError(f"expected a list of folders, skills and loaders, but got {sources!r}; put it into a list")
    listed = list(sources)
    for source in listed:
        if not isinstance(source, str | os.PathLike | Skill | SkillLoaderBase):
            raise TypeError(f"{source!r} is no skill: expected a folder's path, a Skill or a SkillLoaderBase object")
    return listed


_loaders: dict[str, LocalSkillLoader] = {}


async def _skills_of(source: str | Path | Skill | SkillLoaderBase) -> list[Skill]:
    if isinstance(source, Skill):
        return [source]
    # Not a loader's repr, which may hold its address.
    where = repr(str(source)) if isinstance(source, str | os.PathLike) else type(source).__name__
    try:
        given: list[Any] = list(await _loader_of(source).list_skills())
    except Exception as error:  # noqa: BLE001 - whatever ails one loader must not take the others' skills with it
        _warn(f"the skills of {where} are left out: {type(error).__name__}: {error}")
        return []
    skills = [each for each in given if isinstance(each, Skill)]
    if len(skills) < len(given):
        _warn(f"{where} gave something else than Skill objects, which is left out")
    return skills


def _loader_of(source: str | Path | SkillLoaderBase) -> SkillLoaderBase:
    if isinstance(source, SkillLoaderBase):
        return source
    folder = Path(source).expanduser().absolute()
    loader = _loaders.setdefault(str(folder), LocalSkillLoader(folder))
    # A folder that is no skill itself is taken for one that holds skills.
    loader.scan_subdir = not (folder / SKILL_FILE).is_file()
    return loader


async def skill_index(sources: Sequence[str | Path | Skill | SkillLoaderBase]) -> str:
    """The list of skills for a system prompt, with how to read one; empty where there is none."""
    skills = await load_skills(sources)
    if not skills:
        return ""
    lines = [f"- {name}: {' '.join(skill.description.split())}" for name, skill in skills.items()]
    head = "# Skills\nBefore you begin with work that one of these covers, read it with the tool `Skill` by its name."
    return "\n".join([head, *lines])


class SkillViewer(ToolBase):
    """Gives a model the text of one skill."""

    name = "Skill"
    description = "Read a skill: instructions for one kind of work, with the folder that its files lie in."
    is_read_only = True
    # Which groups are on, and so which skills there are, differs from one conversation to the next.
    is_state_injected = True

    def __init__(self, sources: Callable[[AgentState | None], Sequence[str | Path | Skill | SkillLoaderBase]]) -> None:
        super().__init__()
        self._sources = sources

    input_schema: dict[str, Any] = {  # noqa: RUF012 - the base declares it
        "type": "object",
        "properties": {"skill": {"type": "string", "description": "The skill's name, as the index has it."}},
        "required": ["skill"],
        "additionalProperties": False,
    }

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """Always allowed: it only reads what the user put there."""
        return PermissionDecision(PermissionBehavior.ALLOW, "Reading a skill runs nothing.")

    async def call(self, /, *, skill: str, _agent_state: AgentState | None = None) -> ToolChunk:
        """Read the skill."""
        skills = await load_skills(self._sources(_agent_state))
        held = skills.get(skill)
        if held is None:
            import difflib

            close = difflib.get_close_matches(skill, list(skills), n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise SkillNotFoundError(f"Skill '{skill}' not found.{hint}")
        return ToolChunk.of(f"Folder of this skill: {held.dir}\n\n{held.markdown}")
