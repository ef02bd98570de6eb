"""How a git command runs another program: by an option, in any of its spellings, or by settings that nobody accepted.

git takes long options shortened and short ones joined: ``rebase --ex``, ``clone -qu``. Settings count as accepted where
they lie in a ``.git``, which is a sensitive place; a folder that only looks like a repository has its own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.git_settings import only_looks_like_one
from nbtoolkit.permission.readonly_git import CONFIG_VERBS, git_reading, git_words
from nbtoolkit.permission.shell_argument import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["git_danger"]

_HARMLESS = re.compile(
    r"(?:user\.(?:name|email)|color\.\w+|advice\.\w+|init\.defaultBranch|commit\.gpgSign|core\.(?:quotePath|abbrev|autocrlf|safecrlf)"
    r"|diff\.(?:noprefix|renames|algorithm|context)|log\.\w+|pull\.(?:rebase|ff)|push\.default|safe\.directory|gc\.auto)\Z",
    re.IGNORECASE,
)
# They are there to run what they are given, or what their input says.
_RUNNERS = frozenset({"remote-ext", "remote-fd", "merge-index", "for-each-repo"})
_REACHING = "exec upload-pack receive-pack"
_PLACES = "template separate-git-dir"
# Of each command: its short options that run a program, those that take a value, its long ones that run a program or
# bring a repository with settings of their own.
_OPTIONS: dict[str, tuple[str, str, str]] = {
    "clone": ("uc", "bjo", f"upload-pack config {_PLACES}"),
    "init": ("", "b", _PLACES),
    "fetch": ("", "jo", _REACHING),
    "pull": ("", "jo", _REACHING),
    "push": ("", "o", _REACHING),
    "ls-remote": ("", "o", _REACHING),
    "archive": ("", "o", _REACHING),
    "fetch-pack": ("", "", _REACHING),
    "send-pack": ("", "", _REACHING),
    "grep": ("O", "efABCm", "open-files-in-pager"),
    "instaweb": ("db", "pm", "httpd browser module-path"),
    # A patch writes hooks with it.
    "apply": ("", "pC", "unsafe-paths"),
    "svn": ("", "", "authors-prog"),
    "send-email": ("", "", "smtp-server to-cmd cc-cmd header-cmd sendmail-cmd"),
}


def git_danger(args: Sequence[Argument], cwds: Sequence[str]) -> str | None:
    """Why a git command asks whatever the rules say; None where it doesn't."""
    options, rest = git_words(args)
    found = _in_front(options)
    if found is not None:
        return found
    subcommand = rest[0].static if rest else None
    if subcommand is None:
        return None
    if subcommand.startswith("credential"):
        return f"git {subcommand} shows or changes saved logins"
    if subcommand in _RUNNERS:
        return f"git {subcommand} can run another program"
    words = [each.static or "" for each in rest[1:]]
    if subcommand in _OPTIONS:
        found = next((word for word in words if _runs(word, *_OPTIONS[subcommand])), None)
        if found is not None:
            return f"git {subcommand} {found[:40]} can run another program"
    if subcommand == "config":
        plain = [word for word in words if not word.startswith("-")]
        if plain[:1] == ["edit"]:
            return "git config edit runs an editor"
        if plain[:1] and plain[0] in CONFIG_VERBS:
            # The newer form, with a verb in front.
            plain = plain[1:] if plain[0] != "get" else plain[1:2]
            plain += ["", ""] if words and words[0] == "unset" and not _HARMLESS.match("".join(plain[:1])) else []
        if len(plain) > 1 and not _HARMLESS.match(plain[0]):
            return f"it sets git's {plain[0][:60]}"
    if subcommand not in ("init", "clone") and git_reading(args) is None:
        return _unaccepted(options, cwds)
    return None


def _in_front(options: Sequence[Argument]) -> str | None:
    """The options in front of the subcommand."""
    for at, each in enumerate(options):
        word = each.static or ""
        if word == "-c" or word.startswith("--config-env"):
            setting = options[at + 1].static if at + 1 < len(options) else None
            if setting is None or not _HARMLESS.match(setting.partition("=")[0]):
                return f"git -c {(setting or 'with an unknown setting')[:60]} can change what git runs"
        if word.startswith("--exec-path="):
            return "git --exec-path changes what git runs"
        if word == "--bare" or word.partition("=")[0] == "--git-dir":
            return f"git {word[:40]} can change what git runs"
    return None


def _runs(word: str, short: str, valued: str, long: str) -> bool:
    """Whether a word is an option that runs a program, or the address of one."""
    if word.startswith("ext::"):
        return True
    if not word.startswith("-") or word == "-":
        return False
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if name == "template" and equals and not value:
            # Without a template nothing comes along.
            return False
        return bool(name) and any(each.startswith(name) for each in long.split())
    for letter in word[1:]:
        if letter in short:
            return True
        if letter in valued:
            return False
    return False


def _unaccepted(options: Sequence[Argument], cwds: Sequence[str]) -> str | None:
    """The folder that only looks like a repository in which it runs."""
    words = [each.static for each in options]
    moves = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-C"]
    for cwd in cwds:
        place = cwd
        for move in moves:
            if move is None or UNKNOWN in move:
                return None
            place = os.path.join(place, os.path.expanduser(move))  # noqa: PTH111, PTH118
        if only_looks_like_one(os.path.realpath(place)):
            return "its settings come from a folder that only looks like a repository, and may run another program"
    return None
