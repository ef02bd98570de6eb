"""What a command removes or writes over without naming each file: a folder with all in it, whatever an archive holds.

Only the words are looked at, not the disk; ``own_reach`` asks whether one of this product's own files lies there.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.permission.programs import CODE, family

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["Sweep", "find_finds", "has_flag", "operands_of", "sweeps", "value_of"]

# They change the files that they are given.
_WRITERS = frozenset(
    [
        "rm",
        "mv",
        "cp",
        "unlink",
        "shred",
        "srm",
        "truncate",
        "tee",
        "dd",
        "ln",
        "install",
        "touch",
        "chmod",
        "chown",
        "chgrp",
        "chattr",
        "setfacl",
        "trash",
        "trash-put",
        "rimraf",
        "del",
        "rename",
        "prename",
        "mmv",
        "sponge",
        "patch",
        "rmdir",
        "rsync",
    ]
)
# Past so many places nobody looks at each.
MOST = 200
# A command in a command in a command: deeper than this nobody means it.
DEEPEST = 8
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rRa][a-zA-Z]*\Z|--recursive\Z|--archive\Z|--mirror\Z")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Files that one command takes away or overwrites.

    ``target`` is a place, None the folder that the command runs in. ``below``: all below it counts, not just itself.
    ``of`` are folders whose content is put there: only what they hold is overwritten. ``keeps`` says of a path's parts
    below the target whether the command leaves it alone; ``tracked`` whether only files in git's index count, or only
    others.
    """

    target: Argument | None = None
    below: bool = True
    of: tuple[Argument, ...] = ()
    keeps: Callable[[Sequence[str]], bool] | None = None
    tracked: bool | None = None
    inside: Argument | None = None
    """A folder that the command goes to before, as ``git -C`` does."""
    fed: bool = False
    """Whether what it takes comes out of a pipe or another command."""
    lands: bool = False
    """Whether each of ``of`` comes to lie in the target, under its own name."""
    repository: bool = False
    """Whether the target is the whole repository around the folder."""
    between: tuple[tuple[str, str], ...] | None = None
    """The versions that git goes between: where each pair is alike, a file that wasn't changed stays as it is."""


def sweeps(args: Sequence[Argument]) -> list[Sweep]:
    """The sweeps of a command made of these words, without what it runs besides itself."""
    static = args[0].static if args else None
    if static is None:
        return []
    name = family(static)
    if name == "git":
        from nbtoolkit.permission.sweeps_git import git_sweeps

        return git_sweeps(args[1:])
    check = _CHECKS.get(name)
    return [] if check is None else check(name, args[1:])


def unlike(swept: Sequence[Sweep]) -> list[Sweep]:
    """Those that differ, by what they name; of very many the first, and one that may be anything."""
    kept: dict[object, Sweep] = {}
    for each in swept:
        plain = each.keeps is None and not each.of and each.inside is None
        key = (each.target.values, each.target.guesses, each.below, each.tracked) if plain and each.target else id(each)
        kept.setdefault(key, each)
    found = list(kept.values())
    return found if len(found) <= MOST else [*found[:MOST], Sweep(fed=True)]


def operands_of(args: Sequence[Argument], valued: str = "") -> list[Argument]:
    """The words that are no options; one behind an option that takes a value is none either."""
    found, at, literal = [], 0, False
    takes = set(valued.split())
    while at < len(args):
        word = args[at].static
        if not literal and word == "--":
            literal = True
        elif not literal and word is not None and word.startswith("-") and len(word) > 1:
            at += word in takes
        else:
            found.append(args[at])
        at += 1
    return found


def has_flag(args: Sequence[Argument], expression: str) -> bool:
    """Whether a word begins as the expression says."""
    return any(each.static is not None and re.match(expression, each.static) for each in args)


def value_of(args: Sequence[Argument], *names: str) -> Argument | None:
    """The word behind an option, or what stands behind its equals sign or its letter."""
    from nbtoolkit.permission.wrapped import made

    for at, each in enumerate(args):
        word = each.static or (each.values[0].text if each.values else "")
        for name in names:
            if word == name and at + 1 < len(args):
                return args[at + 1]
            if name.startswith("--") and word.startswith(f"{name}="):
                return made(word[len(name) + 1 :])
            if not name.startswith("--") and word.startswith(name) and len(word) > len(name):
                return made(word[len(name) :])
    return None


# -------------------------------------------------------------------------------------------- files and folders
def _rm(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    below = any(each.static is not None and _RECURSIVE.match(each.static) for each in args)
    return [Sweep(each, below) for each in operands_of(args)]


def _all(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    return [Sweep(each) for each in operands_of(args)]


def _each(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    return [Sweep(each, below=False) for each in operands_of(args)]


def _owner(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    below = any(each.static is not None and re.match(r"-[a-zA-Z]*R|--recursive\Z", each.static) for each in args)
    return [Sweep(each, below) for each in operands_of(args)[1:]]


def _in_place(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    if not any(each.static is not None and _IN_PLACE.match(each.static) for each in args):
        return []
    return [Sweep(each, below=False) for each in operands_of(args, "-e -E -f --expression --file")]


def _mv(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    into = value_of(args, "-t", "--target-directory")
    operands = operands_of(args, "-t -S --target-directory --suffix")
    sources = operands if into is not None else operands[:-1]
    target = into if into is not None else operands[-1] if operands else None
    found = [Sweep(each) for each in sources]
    if target is not None and sources:
        lands = not has_flag(args, r"-[a-zA-Z]*T|--no-target")
        found.append(Sweep(target, of=tuple(sources), lands=lands))
    return found


def _cp(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    found = _mv("mv", args)
    return [each for each in found if each.of]


def _rsync(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    operands = operands_of(
        args, "-e -f --rsh --exclude --include --filter --exclude-from --include-from --files-from --log-file -T -B -M"
    )
    if len(operands) < 2 or has_flag(args, r"-[a-zA-Z]*n|--dry-run\Z|--list-only\Z"):
        return []
    if re.match(r"[^/]*:", operands[-1].values[0].text if operands[-1].values else ""):
        # Another computer's files.
        return []
    found = []
    if has_flag(args, r"--del"):
        found.append(Sweep(operands[-1]))
    if has_flag(args, r"--remove-source-files"):
        found += [Sweep(each) for each in operands[:-1]]
    return [*found, Sweep(operands[-1], of=tuple(operands[:-1]), lands=True)]


def _unpack(name: str, args: Sequence[Argument]) -> list[Sweep]:
    words = [each.static or "" for each in args]
    if name in ("tar", "bsdtar", "gtar"):
        first = words[0] if words else ""
        takes = "x" in first.lstrip("-") if not first.startswith("--") else False
        if not takes and not has_flag(args, r"--(?:extract|get)\Z|-[a-zA-Z]*x"):
            return []
        if has_flag(args, r"--to-(?:command|stdout)|--to-c|-[a-zA-Z]*O\Z"):
            return []
        return [Sweep(value_of(args, "-C", "--directory", "--cd"))]
    if name == "unzip":
        if has_flag(args, r"-[a-zA-Z]*[lptvZz]"):
            return []
        return [Sweep(value_of(args, "-d"))]
    if name in ("7z", "7za", "7zr", "7zz", "unrar", "rar"):
        if not words or words[0] not in ("x", "e"):
            return []
        return [Sweep(value_of(args, "-o", "-op"))]
    if name == "cpio":
        return [Sweep(value_of(args, "-D", "--directory"))] if has_flag(args, r"-[a-zA-Z]*i|--extract") else []
    # patch
    return [] if has_flag(args, r"--dry-run") else [Sweep(value_of(args, "-d", "--directory"))]


def _wget(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    if not has_flag(args, r"-[a-zA-Z]*[rmN]|--recursive|--mirror|--timestamping|--content-disposition"):
        return []
    return [Sweep(value_of(args, "-P", "--directory-prefix"))]


# --------------------------------------------------------------------------------------------------------- find
def _find(_name: str, args: Sequence[Argument]) -> list[Sweep]:
    words = [each.static for each in args]
    acts = "-delete" in words
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            command = args[at + 1 :]
            acts = acts or _changes(command)
    return find_finds(args, prints=False) if acts else []


def _changes(command: Sequence[Argument], depth: int = 0) -> bool:
    """Whether a command that gets files from elsewhere changes them."""
    from nbtoolkit.permission.wrappers import unwrap

    if depth > DEEPEST:
        return True
    command = command[:MOST]
    stop = next((at for at, each in enumerate(command) if each.static in (";", "+")), len(command))
    words = command[:stop]
    if not words or words[0].static is None:
        return bool(words)
    name = family(words[0].static)
    if name in _WRITERS or (
        name in ("sed", "perl", "ruby", "gawk", "awk") and any(_IN_PLACE.match(each.static or "") for each in words)
    ):
        return True
    inner = unwrap(words) if name not in CODE or name in ("sh", "bash", "dash", "zsh", "ksh") else None
    if inner is None:
        return False
    if any(re.search(r"\b(?:rm|mv|cp|shred|truncate|tee|sed|unlink|chmod|dd|ln)\b|>", each) for each in inner.scripts):
        return True
    return any(_changes(each, depth + 1) for each in inner.commands)


def find_finds(args: Sequence[Argument], *, prints: bool = True) -> list[Sweep]:
    """All that a find command's tests let through, to be printed or to be acted on, below each of its folders."""
    roots, at = [], 0
    while at < len(args):
        word = args[at].static
        if word is not None and ((word.startswith("-") and word not in ("-H", "-L", "-P")) or word in ("(", "!")):
            break
        if word not in ("-H", "-L", "-P"):
            roots.append(args[at])
        at += 1
    keeps = _keeps([each.static for each in args[at:]], _PRINTS if prints else _ACTS)
    if not roots:
        return [Sweep(keeps=keeps)]
    return [Sweep(each, keeps=keeps) for each in roots]


def _keeps(words: Sequence[str | None], actions: frozenset[str]) -> Callable[[Sequence[str]], bool] | None:
    """Whether a path is left alone: each way through the tests to an action must pass a name that the path hasn't."""
    if any(word is None for word in words):
        return None
    pieces: list[list[str]] = [[]]
    for at, word in enumerate(words):
        if word in ("!", "-not") and at + 1 < len(words) and words[at + 1] == "(":
            return None
        if word in ("-o", "-or", ","):
            pieces.append([])
        else:
            pieces[-1].append(word or "")
    names: list[str] = []
    # A find without an action prints what gets through to its end.
    always = not any(word in actions for word in words)
    for piece in pieces:
        acts = next((at for at, word in enumerate(piece) if word in actions), None)
        if acts is None and not always and not any(word in ("(", ")") for word in piece):
            continue
        before = piece if acts is None else piece[:acts]
        found = [
            before[at + 1]
            for at, word in enumerate(before[:-1])
            if word in ("-name", "-iname") and (at == 0 or before[at - 1] not in ("!", "-not"))
        ]
        if found:
            names.append(found[0])
        elif not (acts is not None and piece[acts] == "-delete" and _folders(before)):
            return None
    expressions = [re.compile(fnmatch.translate(each.casefold())) for each in names]
    return lambda parts: not any(one.match(part.casefold()) for one in expressions for part in parts)


def _folders(before: Sequence[str]) -> bool:
    """Whether only folders get through, which -delete takes when they are empty."""
    return any(
        before[at : at + 2] == ["-type", "d"] and (at == 0 or before[at - 1] != "!") for at in range(len(before))
    )


_ACTS = frozenset({"-delete", "-exec", "-execdir", "-ok", "-okdir"})
_PRINTS = frozenset({"-print", "-print0", "-printf", "-ls"})


# -------------------------------------------------------------------------------------------------------- others
def _xargs(name: str, args: Sequence[Argument]) -> list[Sweep]:
    from nbtoolkit.permission.wrapped import made
    from nbtoolkit.permission.wrappers import unwrap

    inner = unwrap([made(name), *args])
    if inner is None or not any(_changes(each) for each in inner.commands):
        return []
    return [Sweep(fed=True)]


_CHECKS: dict[str, Callable[[str, Sequence[Argument]], list[Sweep]]] = {
    name: check
    for names, check in (
        ("rm", _rm),
        ("shred srm unlink truncate tee touch sponge rename prename mmv rmdir", _each),
        ("trash trash-put rimraf del", _all),
        ("chmod chown chgrp chattr setfacl", _owner),
        ("sed perl ruby gawk awk", _in_place),
        ("mv", _mv),
        ("cp install scp ditto", _cp),
        ("rsync", _rsync),
        ("tar bsdtar gtar unzip 7z 7za 7zr 7zz unrar rar cpio patch", _unpack),
        ("wget", _wget),
        ("find", _find),
        ("xargs parallel", _xargs),
    )
    for name in names.split()
}
