"""The files that a glob on a command line names, as they are now."""

from __future__ import annotations

import fnmatch
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.trees import folder as listed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["expand_files", "has_magic"]

# A glob with more hits is judged as unknown.
MOST_FILES = 2_000
# Each multiplies the folders to look into.
MOST_GLOB_PARTS = 2

_MAGIC = re.compile(r"[*?\[]")


def expand_files(pattern: str, folder: str) -> list[str] | None:
    """The files that a glob names, from ``folder``, hidden ones where the pattern says so; None for too many."""
    parts = pattern.replace("[^", "[!").split("/")
    if sum(map(has_magic, parts)) > MOST_GLOB_PARTS:
        return None
    found = [("/" if pattern.startswith("/") else "")]
    for at, part in enumerate(parts):
        if not part:
            if at == len(parts) - 1:
                # Behind a slash at the end only folders count.
                found = [each for each in found if os.path.isdir(os.path.join(folder, each))]  # noqa: PTH112, PTH118
            continue
        if not has_magic(part):
            ahead = [f"{each}{part}" for each in found]
            if at:
                ahead = [each for each in ahead if os.path.lexists(os.path.join(folder, each))]  # noqa: PTH118
        else:
            matches = _matcher(part)
            ahead = []
            for each in found:
                listing = listed(os.path.join(folder, each or "."))  # noqa: PTH118
                if listing is None:
                    continue
                ahead += [each + name for names in (listing.files, listing.folders) for name in names if matches(name)]
                if len(ahead) > MOST_FILES:
                    return None
        found = ahead if at == len(parts) - 1 else [f"{each}/" for each in ahead]
    if has_magic(parts[-1]):
        # A folder's own list says that they are there.
        return found
    return [each for each in found if each and os.path.lexists(os.path.join(folder, each))]  # noqa: PTH118


@lru_cache(maxsize=256)
def _matcher(part: str) -> Callable[[str], bool]:
    """Whether a name is one that a part of a glob names; hidden ones only where it begins so."""
    hidden = part.startswith(".")
    head, star, tail = part.partition("*")
    if star and not has_magic(head + tail):
        # The usual kind, by a quicker way.
        least = len(head) + len(tail)
        return lambda name: (
            (hidden or name[0] != ".") and len(name) >= least and name.startswith(head) and name.endswith(tail)
        )
    match = re.compile(fnmatch.translate(part)).match
    return lambda name: (hidden or name[0] != ".") and match(name) is not None


def has_magic(text: str) -> bool:
    """Whether a text holds a glob's signs."""
    return _MAGIC.search(text) is not None
