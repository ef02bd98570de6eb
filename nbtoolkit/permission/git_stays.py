"""Whether a git command that puts another state into the tree leaves one file as it is.

git itself is asked, by one command that only looks things up in the repository and runs nothing of its settings: the
file must be as the index has it, and each pair of versions that the command goes between must be one.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["stays"]

LONGEST_WAIT = 1.0
LARGEST = 1_000_000
_REVISION = re.compile(r"[\w@][\w./@{}~^+-]*\Z")
_LOOK = ("git", "--no-optional-locks", "--literal-pathspecs", "cat-file", "--batch-check=%(objectname)")


def stays(path: str, root: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether ``path`` is what the index of the repository at ``root`` has, and the same in both of each pair.

    A revision is as git reads it, "" the index. False where anything isn't known.
    """
    name = os.path.relpath(path, root)
    revisions = list(dict.fromkeys(("", *(each for pair in pairs for each in pair))))
    if "\n" in name or not all(not each or (_REVISION.match(each) and ".." not in each) for each in revisions):
        return False
    found = _hashes(root, [f"{each}:{name}" for each in revisions])
    if found is None:
        return False
    hashes = dict(zip(revisions, found, strict=True))
    return _is(path, hashes[""]) and all(hashes[a] == hashes[b] is not None for a, b in pairs)


def _hashes(root: str, names: Sequence[str]) -> list[str | None] | None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            _LOOK,
            input="".join(f"{each}\n" for each in names),
            capture_output=True,
            text=True,
            cwd=root,
            env=environment,
            timeout=LONGEST_WAIT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return None
    lines = done.stdout.splitlines()
    if len(lines) != len(names):
        return None
    return [line if re.fullmatch(r"[0-9a-f]{40,64}", line) else None for line in lines]


def _is(path: str, wanted: str | None) -> bool:
    """Whether a file's content has this hash."""
    try:
        if wanted is None or os.path.islink(path) or os.path.getsize(path) > LARGEST:  # noqa: PTH114, PTH202
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read()
    except OSError:
        return False
    kind = hashlib.sha1 if len(wanted) == 40 else hashlib.sha256
    return kind(b"blob %d\x00" % len(content) + content, usedforsecurity=False).hexdigest() == wanted
