"""A path that a call reads or changes, as a subject of judgement."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.permission.pattern import absolute, path_pattern
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.sensitive import inside, protected, resolve, runs_by_name, system_folder
from nbtoolkit.permission.subject import Effect, Match, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.sensitive import Access, Places

__all__ = ["READERS", "WRITERS", "PathSubject", "path_subject", "suggest_folder"]

READERS = ("Read",)
WRITERS = ("Write", "Edit")

_VERBS = {"read": "reads", "write": "changes", "name": "names"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSubject(Subject):
    """``paths`` are all that the path can be: symlinks resolved, as written, from every folder it may start at.

    ``exact`` is false where other paths are possible too; then only deny and ask rules may name it.
    """

    paths: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    exact: bool = True
    allow_names: tuple[str, ...] | None = None
    """The tools whose allow rules count, where that is less than ``tool_names``."""
    recursive: bool = False
    """Whether everything below the path is meant too."""

    def matches(self, rule: PermissionRule, base: str) -> Match:
        """A path glob; to allow it must name every place that the path can be."""
        content = rule.rule_content or ""
        wide = rule.behavior is not PermissionBehavior.ALLOW
        pattern = path_pattern(content, base, wide=wide)
        if wide:
            if pattern.matches(*self.paths):
                return Match.YES
            if not self.exact or (self.recursive and _reaches_below(content, base, self.resolved)):
                return Match.UNKNOWN
            return Match.NO
        if self.allow_names is not None and rule.tool_name not in self.allow_names:
            return Match.NO
        if not self.exact or not self.resolved or pattern.fault:
            return Match.NO
        return Match.YES if all(pattern.matches(each) for each in self.resolved) else Match.NO


def _reaches_below(content: str, base: str, folders: Sequence[str]) -> bool:
    """Whether a pattern may name something below one of these folders; yes where it isn't bound to a place."""
    text = content.strip()
    if not re.match(r"/|\.{1,2}(?:/|$)|~", text):
        return True
    fixed = re.split(r"[*?\[{\\]", text, maxsplit=1)[0]
    if fixed != text:
        fixed = fixed.rpartition("/")[0] or "/"
    found = resolve(fixed, base)
    if found is None:
        return True
    return any(inside(folder, found) or inside(place, (folder,)) for folder in folders for place in found)


def path_subject(
    path: str,
    access: Access,
    *,
    bases: Sequence[str],
    folders: Sequence[str],
    places: Places,
    within: int | None = None,
    tool_names: tuple[str, ...] | None = None,
    text: str | None = None,
    base: str = "",
    strictly: bool = False,
    allow_names: tuple[str, ...] | None = None,
    tool: str | None = None,
) -> PathSubject:
    """Judge one path: where it leads from each of ``bases``, whether that is sensitive, whether it is inside.

    ``strictly``: a working directory itself doesn't count as inside. ``tool`` names the rule to suggest.
    """
    found = [resolve(path, each) for each in bases]
    pairs = [each for each in found if each is not None]
    resolved = tuple(dict.fromkeys(each[0] for each in pairs))
    paths = tuple(dict.fromkeys(each for pair in pairs for each in pair))
    names = tool_names if tool_names is not None else READERS if access != "write" else WRITERS
    if not pairs or len(pairs) < len(found) or not bases:
        # Where it leads can't be followed; what it is called may say enough.
        called = [] if "\x00" in path else [absolute(path, each) for each in bases or ("/",)]
        what = places.reason(called, access)
        return PathSubject(
            kind=access,
            text=text or path,
            safety=None if what is None else f"it {_VERBS[access]} {what} ({_shown(path)})",
            own_file=any(protected(each) for each in called),
            within=within,
            tool_names=names,
            exact=False,
            why=f"nobody can tell where {path!r:.80} leads",
        )
    what = places.reason(paths, access)
    is_inside = all(inside(each, folders) for each in resolved)
    itself = strictly and is_inside and any(each in folders for each in resolved)
    is_inside = is_inside and not itself
    runs = False
    if access == "write":
        # A link or a file that is one name of several lies inside by its name; where it leads counts too.
        lexical = [os.path.join(os.path.realpath(os.path.dirname(each)), os.path.basename(each)) for _, each in pairs]  # noqa: PTH118, PTH119, PTH120
        is_inside = is_inside and all(inside(each, folders) for each in lexical)
        runs = is_inside and any(runs_by_name(each) for each in (*paths, *lexical))
        effect = Effect.EDIT if is_inside and not runs else Effect.OTHER
    else:
        effect = Effect.READ if is_inside else Effect.READ_OUTSIDE
    own = any(protected(each) for each in paths)
    suggestion = None
    if what is None and tool is not None:
        suggestion = suggest_folder(tool, resolved, base)
    why = None
    if not is_inside:
        why = f"{text or path} is {'a working directory itself' if itself else 'outside the working directories'}"
    elif runs:
        why = f"what lies in {text or path} runs by its name"
    return PathSubject(
        kind=access,
        text=text or path,
        effect=effect,
        safety=None if what is None else f"it {_VERBS[access]} {what} ({_shown(path)})",
        own_file=own,
        why=why,
        suggestion=suggestion,
        tool_names=names,
        allow_names=allow_names,
        within=within,
        paths=paths,
        resolved=resolved,
    )


def _shown(path: str) -> str:
    return path if len(path) <= 80 else f"…{path[-78:]}"


def suggest_folder(tool: str, resolved: Sequence[str], base: str) -> PermissionRule | None:
    """A rule for the folder that a path lies in, relative to where rules are read from if it lies there.

    Where that would be all of the project, a home or a folder of the system, it is for the file alone.
    """
    if len(resolved) != 1:
        return None
    path = resolved[0]
    folder = os.path.dirname(path)  # noqa: PTH120
    base = os.path.realpath(base) if base else ""
    if base and inside(folder, (base,)):
        below = os.path.relpath(folder, base)
        text = f"./{below}/**" if below != "." else f"./{path.rpartition('/')[2]}"
    elif system_folder(folder):
        text = path
    else:
        text = f"{folder}/**"
    if any(char in text.removesuffix("**") for char in "*?[]{}\\()"):
        return None
    rule = PermissionRule(tool_name=tool, rule_content=text, behavior=PermissionBehavior.ALLOW)
    return rule if path_pattern(text, base or "/", wide=False).matches(path) else None
