"""Whether a git command that only reads shows the content of a secret file that its repository tracks."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.git_stays import stays
from nbtoolkit.permission.readonly_git import git_words
from nbtoolkit.permission.trees import folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["shows_secret"]

# Files with secrets in them, as git's index has their paths: behind a slash, or behind the length of the whole.
_SECRETS = re.compile(
    rb"(?:/|\x00[\x01-\xff])((?:\.env(?:\.(?!example\x00|sample\x00|template\x00|dist\x00)[\w-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)"
    rb"|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.vault-token|\.databrickscfg|\.s3cfg|\.boto|kaggle\.json"
    rb"|application_default_credentials\.json|rclone\.conf|(?:\.ssh|\.aws|\.gnupg|\.kube)/[^\x00]+))\x00",
    re.IGNORECASE,
)
_PATCHES = re.compile(
    r"-[a-zA-Z]*[pucm]|-[LGS]|-U\d|--(?:patch|cc|unified|full-diff|pickaxe|word-diff|color-words|function-context)"
)
_NO_CONTENT = re.compile(
    r"--(?:stat|shortstat|numstat|name-only|name-status|summary|no-patch|dirstat|raw|quiet|check)|-s\Z"
)
_ENV = re.compile(r"\.env(?:\.(?!(?:example|sample|template|dist)\Z)[\w-]+)?\Z")
LARGEST_INDEX = 50_000_000


def shows_secret(args: Sequence[Argument], cwds: Sequence[str], *, added: bool = False) -> str | None:
    """The reason to ask, for git with these words in any of these folders; ``added``: the line adds files before."""
    options, rest = git_words(args[1:])
    words = [each.static for each in rest]
    if not words or options or not _shows(words[0] or "", words[1:]):
        return None
    for cwd in cwds:
        root = _root(cwd)
        name = None if root is None else _tracked_secret(root)
        if root is not None and name is None and added and words[0] != "grep":
            name = _about_to_be(root)
        if root is None or name is None or _left_out(words, name, root, cwd):
            continue
        pairs = (("HEAD", ""),) if {"--cached", "--staged"} & set(words) else ()
        plain = [word for word in words[1:] if word is None or not word.startswith("-")]
        if words[0] == "diff" and not plain and stays(os.path.join(root, name), root, pairs):  # noqa: PTH118
            # It isn't changed, so that no difference of it is shown.
            continue
        return f"it shows what git tracks, secrets among it ({name[:80]})"
    return None


def _shows(command: str, words: Sequence[str | None]) -> bool:
    given = [word or "" for word in words]
    if any(_NO_CONTENT.match(word) for word in given) and not any(_PATCHES.match(word) for word in given):
        return False
    if command in ("log", "reflog", "whatchanged", "stash"):
        return any(_PATCHES.match(word) for word in given)
    return command in ("diff", "show", "grep", "diff-tree", "cat-file")


def _left_out(words: Sequence[str | None], name: str, root: str, cwd: str) -> bool:
    """Whether it is told to look at other files only."""
    if words[0] in ("show", "cat-file") and any(":" in (word or "") for word in words[1:]):
        # One file by its name, which is looked at as a name.
        return True
    if "--" not in words:
        return False
    paths = words[words.index("--") + 1 :]
    if not paths or any(word is None or word[:1] == ":" or re.search(r"[*?\[]", word) for word in paths):
        return False
    place = os.path.join(root, name)  # noqa: PTH118
    given = [os.path.normpath(os.path.join(cwd, word or "")) for word in paths]  # noqa: PTH118
    return not any(f"{place}/".startswith(f"{each}/") for each in given)


def _root(place: str) -> str | None:
    while not os.path.lexists(os.path.join(place, ".git")):  # noqa: PTH118
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return None
        place = above
    return place


def _tracked_secret(root: str) -> str | None:
    index = os.path.join(root, ".git", "index")  # noqa: PTH118
    try:
        seen = os.stat(index)  # noqa: PTH116
    except OSError:
        return None
    return _secret_in(index, seen.st_mtime_ns, seen.st_size)


def _about_to_be(root: str) -> str | None:
    """The secret file beside the repository's others that adding all would take in: one that it doesn't ignore."""
    listing = folder(root)
    names = [] if listing is None else [each for each in listing.files if _ENV.match(each)]
    ignored: list[str] = []
    if names:
        try:
            with open(os.path.join(root, ".gitignore"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
                ignored = [line.strip().removeprefix("/") for line in file.read(100_000).splitlines()]
        except (OSError, UnicodeError):
            pass
    return next((name for name in names if not any(fnmatchcase(name, each) for each in ignored if each)), None)


@lru_cache(maxsize=16)
def _secret_in(index: str, _changed: int, size: int) -> str | None:
    if size > LARGEST_INDEX:
        return None
    try:
        with open(index, "rb") as file:  # noqa: PTH123
            content = file.read()
    except OSError:
        return None
    found = _SECRETS.search(content)
    if found is None:
        return None
    # Back to where its path begins, behind the two bytes that hold its length.
    start = found.start(1)
    while start > 0 and content[start - 1] >= 0x20:
        start -= 1
    length = len(content[start : found.end(1)])
    if start and content[start - 1] != length & 0xFF:
        start += next((at for at in range(length) if content[start + at - 1] == (length - at) & 0xFF), 0)
    return os.fsdecode(content[start : found.end(1)])
