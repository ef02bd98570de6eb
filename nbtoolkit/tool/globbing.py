"""Globs and .gitignore files as regular expressions over relative paths with slashes."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.tool.faults import FileFault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["IgnoreFile", "alternatives", "glob_expression", "ignored", "name_filter"]

MOST_ALTERNATIVES = 200


@lru_cache(maxsize=512)
def glob_expression(glob: str, *, anchored: bool) -> re.Pattern[str]:
    """A glob: ``*`` within one part, ``**`` over any, ``?``, ``[ab]``, ``[!a]``, ``{a,b}``.

    Not ``anchored``, a glob without a slash fits a name at any depth, and one with a slash a path from the root.
    """
    expressions = []
    fault = _unclosed(glob)
    if fault:
        raise FileFault(
            f"{glob!r:.200} can't be read as a glob: {fault}. To mean such a character itself, put it into brackets, like '[[]'."
        )
    for each in alternatives(glob):
        text = each.removeprefix("./")
        if not anchored:
            rooted = "/" in text
            text = text.lstrip("/")
            text = text if rooted else f"**/{text}"
        expressions.append(_translate(text))
    try:
        return re.compile("(?:" + "|".join(expressions) + r")\Z", re.DOTALL)
    except re.error:
        raise FileFault(f"the pattern {glob!r} can't be read as a glob.") from None


def name_filter(glob: str) -> Callable[[str], bool]:
    """Whether a name fits a glob that isn't anchored; one that begins with ``!`` leaves out what the rest of it names."""
    if not glob.startswith("!"):
        glob = f"{glob}**" if glob.endswith("/") else glob
        expression = glob_expression(glob, anchored=False)
        return lambda name: expression.match(name) is not None
    # What lies below a folder of that name is left out with it.
    bare = glob[1:].rstrip("/")
    below = f"{bare}/**" if "/" in bare else f"**/{bare}/**"
    left_out = [glob_expression(each, anchored=False) for each in (bare, below)]
    return lambda name: not any(each.match(name) for each in left_out)


def _unclosed(glob: str) -> str:
    """What in a glob is opened and not closed, as ripgrep sees it too."""
    at = braces = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "\\":
            at += 1
        elif char == "[":
            end = glob.find("]", at + (2 if glob[at : at + 1] in ("!", "^") else 1))
            if end < 0:
                return "a '[' isn't closed"
            at = end + 1
        elif char == "{":
            braces += 1
        elif char == "}":
            braces -= 1
            if braces < 0:
                return "a '}' closes nothing"
    return "a '{' isn't closed" if braces else ""


def alternatives(text: str) -> list[str]:
    """``{a,b}`` written out, nested ones too."""
    done: list[str] = []
    todo = [text]
    while todo:
        each = todo.pop()
        opened = _first_braces(each)
        if opened is None:
            done.append(each)
        else:
            start, end, parts = opened
            todo.extend(each[:start] + part + each[end:] for part in reversed(parts))
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            raise FileFault(f"the pattern {text!r:.200} stands for more than {MOST_ALTERNATIVES} patterns.")
    return done


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    start = -1
    nested = 0
    parts: list[str] = []
    last = 0
    skip = False
    for at, char in enumerate(text):
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char == "{":
            if start < 0:
                start, last = at, at + 1
            else:
                nested += 1
        elif start >= 0 and char == "," and not nested:
            parts.append(text[last:at])
            last = at + 1
        elif start >= 0 and char == "}":
            if nested:
                nested -= 1
            else:
                return start, at + 1, [*parts, text[last:at]]
    return None


def _translate(glob: str) -> str:
    """The expression for a glob, its time in proportion to glob and path.

    What stands between two stars is taken where it comes first, for good: whatever follows begins with a star, so a later
    place could serve it no better. So no place is tried twice, however many stars there are.
    """
    parts = glob.split("/")
    first, *others = _between(parts, "**")
    if not others:
        return "/".join(map(_part, parts))
    out = [f"{_part(part)}/" for part in first]
    for at, between in enumerate(others):
        if at < len(others) - 1:
            if between:
                out.append("(?>(?:[^/]+/)*?" + "".join(f"{_part(part)}/" for part in between) + ")")
        elif between:
            out.append("(?:[^/]+/)*" + "/".join(map(_part, between)))
        else:
            out.append(".*")
    return "".join(out)


def _between(items: list[str], star: str) -> list[list[str]]:
    """What stands before, between and behind the stars."""
    found: list[list[str]] = [[]]
    for each in items:
        if each == star:
            found.append([])
        else:
            found[-1].append(each)
    return found


def _part(part: str) -> str:
    first, *others = _between(_signs(part), "*")
    out = ["".join(first)]
    out += [f"(?>[^/]*?{''.join(each)})" for each in others[:-1] if each]
    if others:
        out.append("[^/]*" + "".join(others[-1]))
    return "".join(out)


def _signs(part: str) -> list[str]:
    """The expressions for a part's signs, each for one character, and a star for any number."""
    out: list[str] = []
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            out.append("*")
        elif char == "?":
            out.append("[^/]")
        elif char == "\\" and at < len(part):
            out.append(re.escape(part[at]))
            at += 1
        elif char == "[":
            end = part.find("]", at + (2 if part[at : at + 1] in ("!", "^") else 1))
            if end < 0:
                out.append(r"\[")
                continue
            inner = part[at:end]
            at = end + 1
            negated = inner[:1] in ("!", "^")
            inner = re.sub(r"([\\\[\]&~|])", r"\\\1", inner[1:] if negated else inner)
            out.append(f"(?!/)[{'^' if negated else ''}{inner}]")
        else:
            out.append(re.escape(char))
    return out


class IgnoreFile:
    """One .gitignore: rules for paths below its folder, the last that fits decides."""

    __slots__ = ("folder", "rules")

    def __init__(self, folder: str, text: str) -> None:
        self.folder = folder
        self.rules: list[tuple[re.Pattern[str], bool, bool]] = []
        for line in text.splitlines():
            rule = _ignore_rule(line)
            if rule is not None:
                self.rules.append(rule)

    def decides(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether an absolute path is ignored, kept (False), or not named here (None)."""
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        for expression, keeps, only_folders in reversed(self.rules):
            if (is_folder or not only_folders) and expression.match(relative):
                return not keeps
        return None


def _ignore_rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    text = re.sub(r"(?<!\\)\s+$", "", line)
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    text = text[1:] if keeps else text
    only_folders = text.endswith("/")
    text = text.rstrip("/") if only_folders else text
    if not text:
        return None
    rooted = "/" in text
    text = text.lstrip("/")
    try:
        return re.compile(_translate(text if rooted else f"**/{text}") + r"\Z", re.DOTALL), keeps, only_folders
    except re.error:
        return None


def ignored(files: Sequence[IgnoreFile], path: str, *, is_folder: bool) -> bool:
    """What the nearest .gitignore with an opinion says."""
    for each in reversed(files):
        said = each.decides(path, is_folder=is_folder)
        if said is not None:
            return said
    return False
