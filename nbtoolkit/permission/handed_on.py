"""Commands that only read, given their files by find -exec or xargs: every file that may come counts as read.

A name with blanks, quotes or a dash in front would become other words on its way through a pipe, so that a folder that
holds one isn't known to be harmless.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.readonly import Below, Reading, reading
from nbtoolkit.permission.shell_globs import expand_files
from nbtoolkit.permission.sweeps import Sweep, find_finds, operands_of
from nbtoolkit.permission.trees import is_odd
from nbtoolkit.permission.wrapped import made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import Access
    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["by_find", "by_xargs", "passes_on", "prints"]

# Stands for whatever file is given; it is nobody's name.
_FILE = "\x01file"
_XARGS_VALUED = re.compile(r"-[nPLs]\Z|--(?:max-args|max-procs|max-lines|max-chars)\Z")
_XARGS_ALONE = re.compile(
    r"-[0rtx]+\Z|-[nPL]\d+\Z|--(?:null|no-run-if-empty|verbose|exit)\Z|--max-(?:args|procs|lines)=\d+\Z"
)
_FILTERS = frozenset({"grep", "head", "tail", "sort", "uniq", "tac"})
_FIND_PRINTS = frozenset(
    {"-printf", "-fprintf", "-ls", "-fls", "-fprint", "-exec", "-execdir", "-ok", "-okdir", "-delete"}
)
_ADDS = re.compile(r"-[a-zA-Z]*[cnHobZTdD]|--(?:count|line-number|with-filename|only-matching|null|byte-offset)")


def _given(words: Sequence[Argument], place: str | None) -> tuple[Reading, Access] | None:
    """What a command reads besides the files that it is given, and what it does with those."""
    if not words or words[0].static is None:
        return None
    if place is None:
        whole = [*words, made(_FILE)]
    else:
        if any(place in value.text for each in words for value in each.values if each.static != place):
            return None
        whole = [made(_FILE) if each.static == place else each for each in words]
    if whole[0].static == _FILE:
        return None
    found = reading(whole)
    if found is None or found.edits or found.git is not None or found.default_folder:
        return None
    access: Access = "name"
    rest: list[tuple[Argument, Access]] = []
    for argument, how in found.paths:
        if argument.static == _FILE:
            access = "read" if how == "read" else access
        elif how == "write":
            return None
        else:
            rest.append((argument, how))
    found.paths = rest
    return found, access


def by_find(command: Sequence[Argument], roots: Sequence[Argument], sweep: Sweep, *, links: bool) -> Reading | None:
    """What ``find … -exec COMMAND`` reads, where the command only reads."""
    given = _given(command, "{}")
    if given is None:
        return None
    found, access = given
    if access == "read":
        found.recursive = True
        found.below = Below(own=True, keeps=sweep.keeps, follows=links)
    found.paths += [(each, access) for each in roots or (made("."),)]
    return found


def by_xargs(args: Sequence[Argument], feeds: Sequence[Sweep] | None) -> Reading | None:
    """What ``… | xargs COMMAND`` reads, where the command only reads and what the pipe names is known."""
    if feeds is None:
        return None
    at, place = 0, None
    while at < len(args):
        word = args[at].static
        if word is None:
            return None
        if word == "-I" and at + 1 < len(args):
            place = args[at + 1].static
            at += 2
        elif word.startswith("-I"):
            place = word[2:]
            at += 1
        elif _XARGS_VALUED.match(word) and at + 1 < len(args):
            at += 2
        elif _XARGS_ALONE.match(word):
            at += 1
        elif word.startswith("-"):
            return None
        else:
            break
    given = _given(args[at:], place)
    if given is None:
        return None
    found, access = given
    found.recursive = True
    for sweep in feeds:
        found.below = Below(
            own=access == "read", keeps=sweep.keeps, follows=access == "read", plain=True, listed=access == "name"
        )
        found.paths.append((sweep.target or made("."), "read"))
    return found if len({sweep.keeps for sweep in feeds}) == 1 else None


def passes_on(args: Sequence[Argument]) -> bool:
    """Whether a command in a pipe passes some of its lines on as they are."""
    if not args or args[0].static not in _FILTERS or any(_ADDS.match(each.static or "-c") for each in args[1:]):
        return False
    found = reading(args)
    return found is not None and not found.paths and not found.recursive


def prints(args: Sequence[Argument], cwds: Sequence[str]) -> list[Sweep] | None:
    """The places below which lie all files whose names a command prints, line by line; None where nobody knows."""
    if not args or any(not each.known for each in args):
        return None
    words = [value.text for each in args[1:] for value in each.values]
    match args[0].static:
        case "find":
            return None if any(word in _FIND_PRINTS for word in words) else find_finds(args[1:])
        case "ls":
            return _listed(args[1:], words, cwds)
        case "echo" | "printf":
            return _said(args, words)
        case "git":
            return [Sweep()] if words == ["ls-files"] else None
        case "rg" | "grep":
            return _searched(args, words)
    return None


def _listed(args: Sequence[Argument], words: Sequence[str], cwds: Sequence[str]) -> list[Sweep] | None:
    """``ls`` prints names as they are given, and what lies in a folder without the folder."""
    if any(word.startswith("-") and not re.fullmatch(r"-[1AatrSUd]+", word) for word in words):
        return None
    named = operands_of(args)
    alone = any(word.startswith("-") and "d" in word for word in words)
    for each in named if not alone else ():
        for cwd in cwds:
            for value in each.values:
                files = [value.text] if value.pattern is None else expand_files(value.pattern, cwd)
                if files is None or any(os.path.isdir(os.path.join(cwd, file)) for file in files):  # noqa: PTH112, PTH118
                    return None
    return [Sweep(each) for each in named] or [Sweep()]


def _said(args: Sequence[Argument], words: Sequence[str]) -> list[Sweep] | None:
    r"""``echo`` and ``printf '%s\\n'`` of words that nothing is done with on the way."""
    rest = args[1:]
    if args[0].static == "printf":
        if words[:1] != ["%s\\n"]:
            return None
        rest, words = rest[1:], words[1:]
    if any(is_odd(word) for word in words):
        return None
    return [Sweep(each) for each in rest]


def _searched(args: Sequence[Argument], words: Sequence[str]) -> list[Sweep] | None:
    if not any(re.match(r"-[a-zA-Z]*[lL]|--files(?:-with-matches|-without-match)?\Z", word) for word in words):
        return None
    if any(re.match(r"-[a-zA-Z]*[cnobZ0]|--null|--replace|--heading|--color", word) for word in words):
        return None
    found = reading(args)
    return None if found is None else [Sweep(each) for each, how in found.paths if how == "read"] or [Sweep()]
