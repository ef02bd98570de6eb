"""A list of sensitive names, held against paths."""

from __future__ import annotations

import os
import re
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Names"]

# No system opens a longer one.
LONGEST_PATH = 4_096
_GLOB = re.compile(r"[*?\[]")


class Names:
    """One list of names: the last part of a path, several last parts, or an absolute path; globs are allowed."""

    def __init__(self, names: Iterable[str], words: dict[str, str], *, whole: bool) -> None:
        self.names = list(names)
        self._whole = whole
        self._exact: dict[str, tuple[str, str]] = {}
        self._long: list[tuple[str, str, str]] = []
        self._globs: list[tuple[re.Pattern[str], str, str]] = []
        self._ends: set[str] = set()
        self.whole: set[str] = set()
        """Folders of which every file counts."""
        ends: list[str] = []
        for name in self.names:
            folded = os.path.expanduser(name).casefold().rstrip("/")  # noqa: PTH111
            what = words.get(name, "what its owner listed as sensitive")
            end = folded.rpartition("/")[2]
            if end == "*":
                self.whole.add(folded.rpartition("/")[0])
            elif _GLOB.search(end):
                ends.append(translate(end))
            else:
                self._ends.add(end)
            if _GLOB.search(folded):
                self._globs.append(
                    (re.compile(("" if folded.startswith("/") else r"(?:.*/)?") + translate(folded)), name, what)
                )
            elif "/" in folded:
                self._long.append((folded if folded.startswith("/") else f"/{folded}", name, what))
            else:
                self._exact[folded] = (name, what)

        spelled = [re.escape(each) for each in self._exact if len(each) > 3 and not _GLOB.search(each)]
        self._spelled = re.compile(rf"({'|'.join(spelled)})(?!\w)" if spelled else r"(?!)")
        self._end_globs = re.compile("|".join(ends) or r"(?!)")

    def may_end(self, name: str) -> bool:
        """Whether a name is the last part of one of these."""
        folded = name.casefold()
        return folded in self._ends or self._end_globs.match(folded) is not None

    def find(self, folded: str) -> tuple[str, str] | None:
        """The name that covers a path, and what it holds."""
        parts = folded.split("/")
        exact = self._exact
        if self._whole:
            last = exact.get(parts[-1])
            # A file's name further up is a folder of that name: a virtual environment called .env, say.
            if last is not None:
                return last
        else:
            for part in parts:
                if part in exact:
                    return exact[part]
        for suffix, name, what in self._long:
            fits = folded.endswith(suffix) if self._whole else f"{suffix}/" in f"{folded}/"
            if fits and (not name.startswith("/") or folded.startswith(suffix)):
                return name, what
        if self._globs:
            tail = parts[-1]
            for expression, name, what in self._globs:
                target = folded if "/" in name else tail
                if expression.match(target) or (not self._whole and any(expression.match(p) for p in _heads(folded))):
                    return name, what
        return None

    def spelled(self, folded: str) -> str | None:
        """What a name of this list that stands in a text holds."""
        match = self._spelled.search(folded)
        return None if match is None else self._exact[match.group(1)][1]

    def could_match(self, part: str) -> str | None:
        """What a glob for one part of a path could name."""
        wanted = re.compile(translate(part))
        for name, what in self._exact.values():
            if wanted.match(name.casefold()):
                return what
        for suffix, _name, what in self._long:
            # ".c*" doesn't name .config/gcloud unless the rest of the path does too; the walk over files tells.
            if suffix.count("/") == 1 and wanted.match(suffix.lstrip("/")):
                return what
        return ".env and its like" if wanted.match(".env.local") and self._whole else None


def _heads(path: str) -> list[str]:
    """A path and all that it lies in."""
    heads = []
    path = path[:LONGEST_PATH]
    while path and path != "/":
        heads.append(path)
        path = path.rpartition("/")[0]
    return heads
