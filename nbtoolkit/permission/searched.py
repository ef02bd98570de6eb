"""Where a search goes down, hidden files and all, that isn't known to do nothing else: what lies there is read.

What is known to only read tells by itself; this is for the rest, which a rule may let through.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.programs import family
from nbtoolkit.permission.readonly_git import git_words
from nbtoolkit.permission.sweeps import has_flag, operands_of
from nbtoolkit.permission.wrapped import made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["searched"]

_GREP = r"-[a-zA-Z]*[rR]|--(?:r|dereference-r|directories=r)|-d=?recurse\Z|recurse\Z"
_RG = r"-[a-zA-Z0-9]*[u.]|--(?:hid|unr)"
_HIDDEN: dict[str, str] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    "rg": _RG,
    "ag": r"-[a-zA-Z]*[ua]|--(?:hid|unr|all)",
    "ugrep": r"-[a-zA-Z]*[rR.]|--",
}
_GIVEN = r"-[a-zA-Z]*[ef]|--(?:regexp|file)\b|--files\Z"
_VALUED = "-e -f -A -B -C -m -g -t -T -d -D --regexp --file --include --exclude --exclude-dir --glob --type --max-count"


def searched(args: Sequence[Argument]) -> list[Argument]:
    """The places below which it reads every file; none where it doesn't go down, or leaves hidden files alone."""
    name = family(args[0].static or "") if args else ""
    rest = list(args[1:])
    if name == "git":
        options, rest = git_words(rest)
        command, rest = rest[0].static if rest else None, rest[1:]
        if command == "diff" and has_flag(rest, r"--no-i"):
            return operands_of(rest)
        if command != "grep" or not has_flag(rest, r"--(?:un|no-i)"):
            return []
        start = next((options[at + 1] for at, each in enumerate(options[:-1]) if each.static == "-C"), made("."))
    elif name in _HIDDEN and has_flag(rest, _HIDDEN[name]):
        start = made(".")
    else:
        return []
    operands = operands_of(rest, _VALUED)
    places = operands if has_flag(rest, _GIVEN) else operands[1:]
    return [each for each in places if re.match(r":|--\Z", each.static or "") is None] or [start]
