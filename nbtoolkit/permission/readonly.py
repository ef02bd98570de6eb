"""Which simple commands provably only read, flag by flag, and which edit files in a way that accept_edits covers.

A program that isn't here isn't called bad: it asks. A flag that isn't here makes its command ask. What a program
reads is listed too, so that the paths can be judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from nbtoolkit.permission.readonly_tables import EDITS, PROGRAMS
from nbtoolkit.permission.shell_argument import Argument
from nbtoolkit.permission.shell_outputs import DIGITS, NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BELOW", "Access", "Below", "GitReading", "Reading", "Spec", "parse_spec", "reading", "scan"]

Access = Literal["read", "name", "write"]


@dataclass(frozen=True, slots=True)
class Spec:
    """One program's flags and what its other words are."""

    alone: frozenset[str]
    valued: dict[str, str]
    optional: frozenset[str]
    operands: str
    numeric: bool = False


class Below(NamedTuple):
    """How a recursive read goes down."""

    hidden: bool = True
    """Whether it reads hidden files."""
    globs: tuple[str, ...] = ()
    """Names that it reads though they are hidden."""
    follows: bool = False
    """Whether it goes through links."""
    own: bool = True
    """Whether this product's own files count: where they are only searched they don't."""
    keeps: Callable[[Sequence[str]], bool] | None = None
    """Whether it leaves a file alone, by the parts of its path below."""
    plain: bool = False
    """Whether names must be plain, as they come out of a pipe."""
    listed: bool = False
    """Whether files are only listed or counted."""


BELOW = Below()


class GitReading(NamedTuple):
    """Which repository git reads, and how."""

    folder: Argument | None = None
    """Where it goes before it looks for one."""
    compares: bool = True
    """Whether it looks at the files of the working tree, not just at what is committed."""


@dataclass(slots=True)
class Reading:
    """What a command that only reads (or only edits) looks at."""

    edits: bool = False
    paths: list[tuple[Argument, Access]] = field(default_factory=list)
    recursive: bool = False
    default_folder: bool = False
    """Whether, without a path, it works on the folder that it stands in."""
    below: Below = BELOW
    unknown_paths: bool = False
    git: GitReading | None = None
    left_out: list[Argument] = field(default_factory=list)
    """Words that name what it leaves out, or what it looks at nothing of."""
    into: Argument | None = None
    """Where cp and mv put things, by their own names where it is a folder."""


@dataclass(slots=True)
class Scan:
    """A command's words, sorted."""

    flags: dict[str, Argument | str | None] = field(default_factory=dict)
    operands: list[Argument] = field(default_factory=list)
    paths: list[tuple[Argument, Access]] = field(default_factory=list)
    given: list[tuple[str, Argument | str]] = field(default_factory=list)
    """Every flag with a value, a repeated one too."""
    left_out: list[Argument] = field(default_factory=list)


def parse_spec(text: str) -> Spec:
    """``@abc -x= --long -f< --color? NUM ; operands``."""
    flags, _, operands = text.partition(";")
    alone: set[str] = set()
    valued: dict[str, str] = {}
    optional: set[str] = set()
    numeric = False
    for token in flags.split():
        if token == "NUM":  # noqa: S105 - a word of the table
            numeric = True
        elif token.startswith("@"):
            alone.update(f"-{letter}" for letter in token[1:])
        elif token[-1] in "=<>":
            valued[token[:-1]] = token[-1]
        elif token[-1] == "?" and token != "-?":  # noqa: S105
            optional.add(token[:-1])
        else:
            alone.add(token)
    return Spec(frozenset(alone), valued, frozenset(optional), operands.strip() or "files", numeric)


@lru_cache(maxsize=512)
def _spec(name: str, *, edits: bool = False) -> Spec | None:
    text = (EDITS if edits else PROGRAMS).get(name)
    return None if text is None else parse_spec(text)


def could_be_option(argument: Argument) -> bool:
    """Whether a word that isn't wholly known may begin with a dash, or be no word at all."""
    if argument.splits:
        return True
    if argument.texts and all(text[:1] in (DIGITS, NAMED) for text in argument.texts):
        return False
    return any(
        value.text[:1] in ("\x00", "-") or (value.pattern is not None and value.text[:1] in "*?[")
        for value in argument.values
    )


def scan(spec: Spec, args: Sequence[Argument]) -> Scan | None:
    """Sort the words after the program by a spec; None where one isn't in it."""
    result = Scan()
    at, literal = 0, False
    while at < len(args):
        argument = args[at]
        at += 1
        word = argument.static
        if (
            literal
            or word == "-"
            or (word is not None and not word.startswith("-") and not (spec.numeric and word[:1] == "+"))
        ):
            result.operands.append(argument)
            continue
        if word is None:
            # A glob's files may be called like options; the judge looks at the files themselves.
            if could_be_option(argument) and (
                argument.splits or any(v.pattern is None or v.text[:1] == "-" for v in argument.values)
            ):
                return None
            result.operands.append(argument)
            continue
        if word == "--":
            literal = True
            continue
        if spec.numeric and re.fullmatch(r"[-+]\d+", word):
            continue
        used = _long(spec, word, args, at, result) if word.startswith("--") else _short(spec, word, args, at, result)
        if used is None:
            return None
        at += used
    return result


# The readers that go into folders.
_GO_DOWN = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
# Options whose value names what is left out.
_LEAVES_OUT = frozenset({"--exclude", "--exclude-dir", "-I", "--ignore", "--hide", "-x", "-T", "--type-not"})
_GLOBS = frozenset({"-g", "--glob", "--iglob"})


def _take(spec: Spec, flag: str, value: Argument | str, result: Scan) -> None:
    result.flags[flag] = value
    result.given.append((flag, value))
    text = value.static if isinstance(value, Argument) else value
    if (
        isinstance(value, Argument)
        and text is not None
        and (flag in _LEAVES_OUT or (flag in _GLOBS and text[:1] == "!"))
    ):
        result.left_out.append(value)
    kind = spec.valued[flag]
    if kind in "<>":
        argument = value if isinstance(value, Argument) else _plain(value)
        result.paths.append((argument, "read" if kind == "<" else "write"))


def _plain(text: str) -> Argument:
    from nbtoolkit.permission.wrapped import made

    return made(text)


def _long(spec: Spec, word: str, args: Sequence[Argument], at: int, result: Scan) -> int | None:
    name, equals, value = word.partition("=")
    if name in spec.valued:
        if equals:
            _take(spec, name, value, result)
            if name in _LEAVES_OUT or (name in _GLOBS and value[:1] == "!"):
                result.left_out.append(args[at - 1])
            return 0
        if at >= len(args) or args[at].splits:
            return None
        _take(spec, name, args[at], result)
        return 1
    if name in spec.optional or (not equals and name in spec.alone):
        result.flags[name] = value
        return 0
    return None


def _short(spec: Spec, word: str, args: Sequence[Argument], at: int, result: Scan) -> int | None:
    if word in spec.alone or word in spec.optional:
        result.flags[word] = None
        return 0
    if word in spec.valued and len(word) > 2:
        # find's and java's kind of long option.
        if at >= len(args) or args[at].splits:
            return None
        _take(spec, word, args[at], result)
        return 1
    for index, letter in enumerate(word[1:], 1):
        flag = f"-{letter}"
        if flag in spec.valued:
            rest = word[index + 1 :]
            if rest:
                _take(spec, flag, rest, result)
                if flag in _LEAVES_OUT or (flag in _GLOBS and rest[:1] == "!"):
                    result.left_out.append(args[at - 1])
                return 0
            if at >= len(args) or args[at].splits:
                return None
            _take(spec, flag, args[at], result)
            return 1
        if flag in spec.optional:
            result.flags[flag] = word[index + 1 :]
            return 0
        if flag not in spec.alone:
            return None
        result.flags[flag] = None
    return 0


# ------------------------------------------------------------------------------------------------------- commands
def reading(args: Sequence[Argument]) -> Reading | None:
    """What a command reads, where it is known to do nothing else; edits of files have ``edits`` set; else None."""
    name = args[0].static if args else None
    if name is None:
        return None
    from nbtoolkit.permission.readonly_special import SPECIAL

    special = SPECIAL.get(name)
    if special is not None:
        return special(args[1:])
    spec = _spec(name)
    if spec is not None and spec.operands == "anything":
        return Reading()
    if spec is not None:
        found = scan(spec, args[1:])
        return None if found is None else by_operands(spec, found, name)
    spec = _spec(name, edits=True)
    if spec is not None:
        found = scan(spec, args[1:])
        return None if found is None else _edit(name, found)
    if name == "git":
        from nbtoolkit.permission.readonly_git import git_reading

        return git_reading(args[1:])
    return None


def by_operands(spec: Spec, found: Scan, name: str = "") -> Reading | None:
    kind, operands = spec.operands, found.operands
    result = Reading(paths=list(found.paths), left_out=found.left_out)
    if kind == "none":
        return None if operands else result
    if kind == "any":
        return result
    if kind in ("one", "onename") and len(operands) > 1:
        return None
    if kind == "text+files":
        if _pattern_first(found):
            if not operands or (operands[0].static is None and could_be_option(operands[0])):
                return None if operands else result
            operands = operands[1:]
        kind = "files"
    if kind == "plus":
        # date's format: anything else would set the clock.
        return result if all((each.static or "").startswith("+") for each in operands) else None
    if kind.startswith("="):
        return result if all(each.static in kind[1:].split("|") for each in operands) else None
    access: Access = "name" if kind in ("names", "onename", "counts") else "read"
    result.paths.extend((each, access) for each in operands)
    if access == "read" and not _goes_down(result, found, name):
        return None
    if not operands and kind != "counts" and (access == "name" or result.recursive):
        result.default_folder = True
    return result


def _goes_down(result: Reading, found: Scan, name: str) -> bool:
    """Note whether and how a reader goes into folders; False where that can't be known."""
    if name not in _GO_DOWN:
        # sort's -r is an order.
        return True
    follows = any(flag in found.flags for flag in ("-R", "--dereference-recursive")) or (
        name == "diff" and "--no-dereference" not in found.flags
    )
    result.recursive = (follows and name != "diff") or any(flag in found.flags for flag in ("-r", "--recursive"))
    result.below = Below(follows=follows, own=False)
    if name == "rg" and "--type-list" not in found.flags:
        below = _rg(found)
        if below is None:
            return False
        result.recursive, result.below = True, below
    return True


def _rg(found: Scan) -> Below | None:
    """What of the hidden files rg reads: those that a glob of its own names."""
    texts = [
        each.static if isinstance(each, Argument) else each
        for flag, each in found.given
        if flag in ("-g", "--glob", "--iglob")
    ]
    if None in texts:
        return None
    wanted = tuple(text for text in texts if text is not None and not text.startswith("!"))
    return Below(hidden=False, globs=wanted, follows="-L" in found.flags, own=False)


def _pattern_first(found: Scan) -> bool:
    return not any(flag in found.flags for flag in ("-e", "-f", "--regexp", "--file", "--files"))


def _edit(name: str, found: Scan) -> Reading | None:
    if not found.operands:
        return None
    result = Reading(edits=True, paths=list(found.paths))
    into = found.flags.get("-t") or found.flags.get("--target-directory")
    target = into if isinstance(into, Argument) or into is None else _plain(into)
    sources = len(found.operands)
    if name in ("cp", "mv") and target is None:
        sources -= 1
        target = found.operands[-1]
    if name in ("cp", "mv") and not ("-T" in found.flags or "--no-target-directory" in found.flags):
        result.into = target
    # cp leaves its sources as they are; mv takes them away.
    keeps = sources if name == "cp" else 0
    result.paths.extend((each, "read" if at < keeps else "write") for at, each in enumerate(found.operands))
    result.recursive = name != "mv" and any(
        flag in found.flags for flag in ("-r", "-R", "-a", "--recursive", "--archive")
    )
    if name == "cp" and "-L" in found.flags:
        result.below = Below(follows=True)
    return result
