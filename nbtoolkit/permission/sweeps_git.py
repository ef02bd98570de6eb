"""What git commands remove from the working tree or write over in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.readonly_git import git_words
from nbtoolkit.permission.sweeps import Sweep, operands_of, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["git_sweeps"]

# They put another state of the repository into the tree; each with the words that make it harmless.
_TREE: dict[str, re.Pattern[str] | None] = {
    "checkout": None,
    "checkout-index": None,
    "switch": None,
    "reset": None,
    "pull": None,
    "merge": None,
    "rebase": None,
    "cherry-pick": None,
    "revert": None,
    "read-tree": None,
    "am": None,
    "restore": None,
    "rm": re.compile(r"--cached\Z|-[a-zA-Z]*n"),
    "mv": re.compile(r"-[a-zA-Z]*n"),
    "apply": re.compile(r"--(?:check|stat|numstat|summary|cached)\Z"),
    "stash": re.compile(r"(?:list|show|drop|clear|create|store)\Z"),
    "bisect": re.compile(r"(?:log|terms|view|visualize)\Z"),
    "sparse-checkout": re.compile(r"list\Z"),
}
# What they change are the paths that they name.
_BY_PATH = frozenset({"rm", "mv", "restore"})
_VALUED = "-b -B -c -C -m -s -e -X --source --message --exclude --orphan --pathspec-from-file"


def git_sweeps(args: Sequence[Argument]) -> list[Sweep]:
    """The sweeps of git with these words."""
    options, rest = git_words(args)
    command = rest[0].static if rest else None
    if command is None:
        return []
    words = [each.static or "" for each in rest[1:]]
    inside = value_of(options, "-C")
    if command == "clean":
        if any(re.match(r"-[a-zA-Z]*n|--dry-run\Z", word) for word in words):
            return []
        paths = operands_of(rest[1:], "-e --exclude")
        return [Sweep(each, tracked=False, inside=inside) for each in paths] or [Sweep(tracked=False, inside=inside)]
    if command not in _TREE or _harmless(command, words):
        return []
    others = command in ("apply", "am") or value_of(options, "--work-tree", "--git-dir") is not None
    stashes = command == "stash" and any(
        re.match(r"-[a-zA-Z]*[ua]|--include-untracked\Z|--all\Z", word) for word in words
    )
    tracked = None if others or stashes else True
    named = _paths(command, rest[1:], words)
    known = all(each.static is not None for each in rest)
    between = _between(command, words) if tracked and known and not options else None
    if named is not None:
        return [Sweep(each, tracked=tracked, inside=inside, between=between) for each in named]
    return [Sweep(tracked=tracked, inside=inside, repository=True, between=between)]


def _harmless(command: str, words: Sequence[str]) -> bool:
    without = _TREE[command]
    if without is not None:
        return any(without.match(word) for word in (words[:1] if command in ("stash", "bisect") else words))
    if command == "reset":
        return not any(word in ("--hard", "--keep", "--merge") for word in words)
    if command == "restore":
        return any(word in ("--staged", "-S") for word in words) and not any(
            word in ("--worktree", "-W") for word in words
        )
    if command in ("checkout", "switch"):
        # A new branch from where one stands changes no file.
        return len(words) == 2 and words[0] in ("-b", "-B", "-c", "-C", "--orphan")
    return False


def _between(command: str, words: Sequence[str]) -> tuple[tuple[str, str], ...] | None:
    """The versions that a command goes between, ``Sweep.between``; None where it isn't known or means something else."""
    plain = [word for word in words if not _QUIET.match(word)]
    if any(word.startswith("-") and word != "--" for word in plain) or (
        any(re.match(r"--?(?:m|theirs|ours|merge|patch|source|s\b)", word) for word in words)
    ):
        return None
    if "--" in plain:
        at = plain.index("--")
        if command not in ("checkout", "restore") or at > 1:
            return None
        return tuple((each, "") for each in plain[:at])
    match command:
        case "checkout" | "switch" | "reset" | "merge" if len(plain) <= 1:
            # Without a word the index, or what was fetched last.
            target = "@{upstream}" if command == "merge" else "HEAD"
            return tuple((each, "") for each in (*(plain or [target]), "HEAD"))
        case "restore":
            return ()
        case "stash" if plain[:1] in ([], ["push"]) and len(plain) <= 1:
            return (("HEAD", ""),)
        case "stash" if plain[:1] in (["pop"], ["apply"]) and len(plain) <= 2:
            saved = plain[1] if len(plain) > 1 else "stash@{0}"
            return ((saved, f"{saved}^"), (saved, ""))
        case "cherry-pick" | "revert" if plain:
            return tuple((each, f"{each}^") for each in plain)
    return None


# They change nothing about which files are written.
_QUIET = re.compile(
    r"-[qv]\Z|--(?:quiet|verbose|progress|no-progress|ff-only|no-ff|ff|no-edit|hard|keep|index|squash|guess|no-guess|detach|worktree)\Z"
)


def _paths(command: str, args: Sequence[Argument], words: Sequence[str]) -> list[Argument] | None:
    """The paths that bound it; None where it may touch any."""
    if "--" in words and command in (*_BY_PATH, "checkout", "stash"):
        return list(args[words.index("--") + 1 :]) or None
    named = operands_of(args, _VALUED)
    if command in _BY_PATH:
        return named
    # With one word nobody can tell a branch from a path without looking.
    return named[1:] if command == "checkout" and len(named) > 1 else None
