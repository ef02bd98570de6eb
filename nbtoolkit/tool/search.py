"""Glob and Grep: finding files by name and by content, with ripgrep where it is there, else with the same in Python.

Both respect .gitignore, look at hidden files, and never at sensitive ones; ripgrep runs without its user's settings,
which could make it run other programs.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.path_subject import path_subject
from nbtoolkit.permission.sensitive import inside, roots
from nbtoolkit.tool import files
from nbtoolkit.tool.engine import Query, Stopper
from nbtoolkit.tool.engine_ripgrep import engine
from nbtoolkit.tool.faults import FileFault, of_system, shown
from nbtoolkit.tool.files import FileTool, here
from nbtoolkit.tool.globbing import alternatives, glob_expression, name_filter
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.permission.path_subject import PathSubject
    from nbtoolkit.tool.base import ToolMiddlewareBase
    from nbtoolkit.tool.engine import Found, Mode

__all__ = ["Glob", "Grep"]

MOST_FILES = 100
LARGEST_RESULT = 30_000
LONGEST_LINE = 500
# Naming what a search leaves out costs a walk, and agents search the same folder again and again.
REMEMBERED = 30.0
MOST_REMEMBERED = 100

_NONE: list[str] = []
T = TypeVar("T")


class _SearchTool(FileTool):
    """What the two share: one folder, searched in a thread that stops when the call does."""

    path_argument = "path"
    is_read_only = True
    is_state_injected = False

    def __init__(
        self,
        dangerous_files: Sequence[str] | None = None,
        dangerous_directories: Sequence[str] | None = None,
        middlewares: list[ToolMiddlewareBase] | None = None,
    ) -> None:
        super().__init__(dangerous_files, dangerous_directories, middlewares)
        self._left_out: dict[tuple[str, int | None], tuple[float, list[str]]] = {}

    def _subject(self, given: str, folders: Sequence[str], base: str) -> PathSubject:
        from dataclasses import replace

        subject = path_subject(
            given,
            "read",
            bases=(here(),),
            folders=folders,
            places=self._places,
            tool_names=("Read", self.name),
            allow_names=(self.name,),
            base=base,
            text=given,
        )
        return replace(subject, recursive=True, suggestion=self._suggested(subject))

    def _suggested(self, subject: PathSubject) -> Any:
        from nbtoolkit.permission.path_subject import suggest_folder

        if subject.safety is not None or len(subject.resolved) != 1:
            return None
        # The folder itself is what was searched.
        return suggest_folder(self.name, (os.path.join(subject.resolved[0], "x"),), here())  # noqa: PTH118

    def _root(self, given: str | None) -> str:
        root = self.located(given or ".")
        if not os.path.exists(root):  # noqa: PTH110
            raise FileFault(
                f"{shown(given or '.')} doesn't exist. Expected a folder to search; Glob lists what there is."
            )
        return root

    async def _look(self, query: Query, work: Callable[[Stopper], T]) -> tuple[T, str]:
        """Search in a thread, and name the sensitive files that weren't looked at: by the way, or by a search beside it."""
        if query.glob:
            name_filter(query.glob)  # both engines refuse what is no glob
        for text in (query.pattern, query.glob, query.name_glob):
            if text and "\0" in text:
                raise FileFault(
                    f"{text!r:.200} holds a NUL character. No name has one, and a file that has is binary and not searched. Leave it out."
                )
        stopper, other = Stopper(), Stopper()
        try:
            if query.only is not None:
                return await asyncio.to_thread(work, stopper), _ended(stopper)
            began, skipped = self._left_out.get((query.root, query.depth), (-REMEMBERED, _NONE))
            now = time.monotonic()
            if now - began < REMEMBERED:
                return await asyncio.to_thread(work, stopper), _ended(stopper) + _note(_shown(query.root, skipped))
            if engine().tells(query):
                stopper.telling = True
                found = await asyncio.to_thread(work, stopper)
                names = stopper.skipped or []
                if stopper.skipped is None and stopper.ended is None:
                    names = await asyncio.to_thread(engine().skipped, query, other)
            else:
                found, names = await asyncio.gather(
                    asyncio.to_thread(work, stopper), asyncio.to_thread(engine().skipped, query, other)
                )
            names = sorted(names)
            if stopper.ended is None and other.ended is None:
                if len(self._left_out) >= MOST_REMEMBERED:
                    self._left_out.clear()
                self._left_out[query.root, query.depth] = now, names
            return found, _ended(stopper) + _note(_shown(query.root, names))
        except OSError as fault:
            raise of_system(query.root, "searched", fault) from None
        finally:
            stopper.stop()
            other.stop()


def _note(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"[not searched, as sensitive: {', '.join(map(_visible, names[:5]))}{more}]"


def _ended(stopper: Stopper) -> str:
    remarks = [f"[{_visible(each)}] " for each in stopper.remarks[:5]]
    if len(stopper.remarks) > 5:
        remarks.append(f"[{len(stopper.remarks) - 5:,} more files like these] ")
    if stopper.ended:
        remarks.append(f"[the search ended early, when {stopper.ended}: narrow it] ")
    return "".join(remarks)


def _visible(name: str) -> str:
    """A file's name on one line, whatever it holds."""
    return name if name.isprintable() else repr(name)[1:-1]


def _shown(root: str, found: Sequence[str]) -> list[str]:
    """Paths from the notebook's folder where they are in it, else in full."""
    home = os.path.realpath(here())
    if not inside(root, (home,)):
        folder = root.rstrip("/")
        return [f"{folder}/{each}" for each in found]
    prefix = os.path.relpath(root, home)
    return list(found) if prefix == "." else [f"{prefix}/{each}" for each in found]


def _newest(root: str, names: Iterable[str]) -> list[str]:
    """Newest first; equal times by name, so that the answer is always the same."""
    found: list[str] = []
    times: list[int] = []
    # Names from a folder that is open already spare the system the way to it, for every file.
    folder = os.open(root, os.O_RDONLY) if os.stat in os.supports_dir_fd else None
    lstat, add = os.lstat, times.append
    try:
        # While the search goes on: looking at a file takes longer than finding it.
        for each in names:
            found.append(each)
            try:
                add((lstat(f"{root}/{each}") if folder is None else lstat(each, dir_fd=folder)).st_mtime_ns)
            except OSError:
                add(0)
    finally:
        if folder is not None:
            os.close(folder)
    order = sorted(range(len(found)), key=found.__getitem__)
    # Sorting is stable, backwards too.
    order.sort(key=times.__getitem__, reverse=True)
    return list(map(found.__getitem__, order))


_GLOB_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "description": "The pattern, from the folder in path.",
        },
        "path": {"type": "string", "description": "The folder to search; the notebook's by default."},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


class Glob(_SearchTool):
    """Finds files by name."""

    name = "Glob"
    description = "Find files by a pattern like '**/*.py' or 'data/{a,b}-[0-9].csv', newest first. Respects .gitignore; sensitive files are left out."
    input_schema = _GLOB_INPUT

    def subjects(self, tool_input: dict[str, Any], context: Any) -> list[Any]:
        """The folder, and the one that the pattern itself leads to, where that isn't below it by its words alone."""
        subjects: list[Any] = super().subjects(tool_input, context)
        folder, _ = _fixed(tool_input["pattern"])
        if folder:
            start = _joined(tool_input.get("path"), folder)
            subject = self._subject(start, roots(context), context.base)
            self._bind(start, subject)
            if subject.resolved[:1] != tuple(f"{root.rstrip('/')}/{folder}" for root in subjects[0].resolved[:1]):
                subjects.append(subject)
        return subjects

    async def call(self, pattern: str, path: str | None = None) -> ToolChunk:
        """Find the files."""
        try:
            root = self._root(path)
            if not os.path.isdir(root):  # noqa: PTH112, ASYNC240 - one look
                raise FileFault(f"{shown(path or '.')} is a file. Expected a folder to search; use Read for a file.")
            folder, rest = _fixed(pattern)
            if folder:
                root = self.located(_joined(path, folder))
                if not os.path.isdir(root):  # noqa: PTH112, ASYNC240 - one look
                    return ToolChunk.of("No files match.", ToolResultState.SUCCESS)
            if self._places.reason((root,)) is not None:
                raise FileFault(f"{pattern!r:.200} leads into a sensitive folder. Ask the person to look there.")
            depth = None if "**" in rest else max(each.count("/") for each in alternatives(rest)) + 1
            query = Query(root, self._places, name_glob=rest, depth=depth)
            expression = glob_expression(rest, anchored=True)
            fits = None if _only_names(rest) else expression.match

            def work(stopper: Stopper) -> list[str]:
                names = engine().files(query, stopper)
                return _newest(root, names if fits is None else (each for each in names if fits(each)))

            hits, note = await self._look(query, work)
        except FileFault as fault:
            return files.failed(fault)
        found = _shown(root, hits)
        lines = list(map(_visible, found[:MOST_FILES]))
        if len(hits) > MOST_FILES:
            lines.append(f"[{len(hits) - MOST_FILES:,} more files; give a narrower pattern]")
        if not hits:
            lines.append("No files match.")
        if note:
            lines.append(note)
        chunk = ToolChunk.of("\n".join(lines), ToolResultState.SUCCESS)
        chunk.metadata["count"] = len(hits)
        return chunk.with_value(found)


def _joined(path: str | None, folder: str) -> str:
    """The folder that a pattern starts in."""
    return folder if folder.startswith("~") else os.path.join(path or ".", folder)  # noqa: PTH118


def _only_names(pattern: str) -> bool:
    """Whether a pattern looks at names alone, as the engines do by themselves."""
    return pattern.startswith("**/") and "/" not in pattern[3:] and pattern[3:] not in ("**", "")


def _fixed(pattern: str) -> tuple[str, str]:
    """The folders at a pattern's beginning that are no pattern, and the rest."""
    parts = pattern.split("/")
    at = 0
    while at < len(parts) - 1 and not any(sign in parts[at] for sign in "*?[{"):
        at += 1
    return ("/".join(parts[:at]) or ("/" if pattern.startswith("/") else "")), "/".join(parts[at:])


_GREP_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 1, "maxLength": 5000, "description": "The regular expression."},
        "path": {
            "type": "string",
            "description": "The file or folder to search; the notebook's folder by default.",
        },
        "glob": {"type": "string", "description": "Only files whose name or path fits, like '*.{py,md}'."},
        "type": {
            "type": "string",
            "pattern": "^[a-z0-9+-]+$",
            "description": "Only files of this type, like py, js or md.",
        },
        "output_mode": {"enum": ["files_with_matches", "content", "count"], "default": "files_with_matches"},
        "-i": {"type": "boolean", "default": False, "description": "Ignore letter case."},
        "-n": {"type": "boolean", "default": True, "description": "Line numbers, in content mode."},
        "-A": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Lines after each match."},
        "-B": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Lines before each match."},
        "-C": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Lines around each match."},
        "head_limit": {"type": "integer", "minimum": 1, "description": "Only the first lines or files."},
        "multiline": {
            "type": "boolean",
            "default": False,
            "description": "Let . match newlines and a match span lines.",
        },
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


class Grep(_SearchTool):
    """Searches the content of files."""

    name = "Grep"
    description = (
        "Search files for a regular expression. output_mode: files_with_matches (newest first), content (matching lines), count. "
        "Respects .gitignore; sensitive and binary files are left out."
    )
    input_schema = _GREP_INPUT

    async def call(self, pattern: str, path: str | None = None, **options: Any) -> ToolChunk:
        """Search."""
        mode: Mode = options.get("output_mode") or "files_with_matches"
        plain = mode == "files_with_matches"
        around = options.get("-C") or 0
        try:
            root = self._root(path)
            only = None
            if not os.path.isdir(root):  # noqa: PTH112, ASYNC240 - one look
                root, only = os.path.split(root)
            query = Query(
                root,
                self._places,
                pattern=pattern,
                only=only,
                glob=options.get("glob"),
                type=options.get("type"),
                mode=mode,
                ignore_case=bool(options.get("-i")),
                numbers=options.get("-n", True) is not False,
                before=options.get("-B") or around,
                after=options.get("-A") or around,
                multiline=bool(options.get("multiline")),
            )

            def work(stopper: Stopper) -> Found:
                found = engine().grep(query, stopper)
                return [(name, _NONE) for name in _newest(root, (name for name, _ in found))] if plain else found

            found, note = await self._look(query, work)
        except FileFault as fault:
            return files.failed(fault)
        limit = options.get("head_limit")
        if plain:
            hits = _shown(root, [name for name, _ in found])
            return _answer(hits, limit or MOST_FILES, note, len(hits), "files", hits)
        if mode == "count":
            found.sort()
            names = _shown(root, [name for name, _ in found])
            lines = [f"{name}:{lines[0]}" for name, (_, lines) in zip(names, found, strict=True)]
            return _answer(lines, limit or MOST_FILES * 2, note, len(lines), "files", lines)
        found.sort(key=lambda each: each[0])
        names = _shown(root, [name for name, _ in found])
        lines = []
        separate = query.before or query.after
        for name, (_, block) in zip(names, found, strict=True):
            if separate and lines:
                lines.append("--")
            lines.extend("--" if line == "--" else f"{name}{line}" for line in block)
        return _answer(lines, limit or 1_000, note, len(lines), "lines", None)


def _answer(lines: list[str], limit: int, note: str, count: int, what: str, value: Any) -> ToolChunk:
    count_is_lines = what == "lines"
    shown: list[str] = []
    size = 0
    for line in lines[:limit]:
        text = (
            line
            if len(line) <= LONGEST_LINE
            else f"{line[:LONGEST_LINE]} [… {len(line) - LONGEST_LINE:,} more characters]"
        )
        size += len(text) + 1
        if size > LARGEST_RESULT:
            break
        shown.append(text if count_is_lines else _visible(text))
    left = len(lines) - len(shown)
    if left:
        shown.append(f"[{left:,} more {what}]")
    if not lines:
        shown.append("No matches.")
    if note:
        shown.append(note.strip())
    chunk = ToolChunk.of("\n".join(shown), ToolResultState.SUCCESS)
    chunk.metadata["count"] = count
    return chunk if value is None else chunk.with_value(value)
