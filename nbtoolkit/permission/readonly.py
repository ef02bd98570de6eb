"""Which simple commands provably only read, flag by flag, and which edit files in a way that accept_edits covers.

A program that isn't here isn't called bad: it asks. A flag that isn't here makes its command ask. What a program
reads is listed too, so that the paths can be judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from nbtoolkit.permission.readonly_tables import EDITS, PROGRAMS
from nbtoolkit.permission.shell_values import Argument, changes_what_runs

__all__ = ["Access", "Reading", "Spec", "parse_spec", "reading", "scan"]

Access = Literal["read", "name", "write"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
# sed's commands that only print, delete, substitute or move between its two spaces.
_SED = re.compile(
    r"""(?:\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:\s*,\s*(?:\+?\d+|~\d+|\$|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*)?
    (?:[pPdDqQ=lhHgGxnN]|s(?P<d>[/|\#,:@!])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiI0-9]*
    |y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*(?:;|\n|\Z))+\s*\Z""",
    re.VERBOSE,
)
_AWK_UNSAFE = re.compile(
    r"system|getline|ENVIRON|PROCINFO|close|fflush|@|>|\|(?!\|)(?<!\|\|)|load|include|extension|SYMTAB|FUNCTAB"
)
_JQ_UNSAFE = re.compile(r"\benv\b|\$ENV|\binput_filename\b|\bimport\b|\binclude\b|\$__prog|\bget_search_list\b")


@dataclass(frozen=True, slots=True)
class Spec:
    """One program's flags and what its other words are."""

    alone: frozenset[str]
    valued: dict[str, str]
    optional: frozenset[str]
    operands: str
    numeric: bool = False


@dataclass(slots=True)
class Reading:
    """What a command that only reads (or only edits) looks at."""

    edits: bool = False
    paths: list[tuple[Argument, Access]] = field(default_factory=list)
    recursive: bool = False
    default_folder: bool = False
    """Whether, without a path, it works on the folder that it stands in."""
    visible: bool = False
    """Whether what is hidden stays out of a recursive read."""
    unknown_paths: bool = False


@dataclass(slots=True)
class Scan:
    """A command's words, sorted."""

    flags: dict[str, Argument | str | None] = field(default_factory=dict)
    operands: list[Argument] = field(default_factory=list)
    paths: list[tuple[Argument, Access]] = field(default_factory=list)


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


def _take(spec: Spec, flag: str, value: Argument | str, result: Scan) -> None:
    result.flags[flag] = value
    kind = spec.valued[flag]
    if kind in "<>":
        argument = value if isinstance(value, Argument) else _plain(value)
        result.paths.append((argument, "read" if kind == "<" else "write"))


def _plain(text: str) -> Argument:
    from nbtoolkit.permission.wrappers import _made

    return _made(text)


def _long(spec: Spec, word: str, args: Sequence[Argument], at: int, result: Scan) -> int | None:
    name, equals, value = word.partition("=")
    if name in spec.valued:
        if equals:
            _take(spec, name, value, result)
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
    special = _SPECIAL.get(name)
    if special is not None:
        return special(args[1:])
    spec = _spec(name)
    if spec is not None and spec.operands == "anything":
        return Reading()
    if spec is not None:
        found = scan(spec, args[1:])
        return None if found is None else _by_operands(spec, found, name)
    spec = _spec(name, edits=True)
    if spec is not None:
        found = scan(spec, args[1:])
        return None if found is None else _edit(name, found)
    if name == "git":
        from nbtoolkit.permission.readonly_git import git_reading

        return git_reading(args[1:])
    return None


def _by_operands(spec: Spec, found: Scan, name: str = "") -> Reading | None:
    kind, operands = spec.operands, found.operands
    result = Reading(paths=list(found.paths))
    if kind == "none":
        return None if operands else result
    if kind == "any":
        return result
    if kind in ("one", "onename") and len(operands) > 1:
        return None
    if kind == "text+files":
        if not any(flag in found.flags for flag in ("-e", "-f", "--regexp", "--file", "--from-file")):
            if not operands or (operands[0].static is None and could_be_option(operands[0])):
                return None if operands else result
            operands = operands[1:]
        kind = "files"
    if kind == "plus":
        # date's format: anything else would set the clock.
        return result if all((each.static or "").startswith("+") for each in operands) else None
    if kind.startswith("="):
        return result if all(each.static in kind[1:].split("|") for each in operands) else None
    access: Access = "name" if kind in ("names", "onename") else "read"
    result.paths.extend((each, access) for each in operands)
    result.recursive = access == "read" and any(
        flag in found.flags for flag in ("-r", "-R", "--recursive", "--dereference-recursive")
    )
    if name == "rg":
        result.recursive = result.visible = True
    if not operands and (access == "name" or result.recursive):
        result.default_folder = True
    return result


def _edit(name: str, found: Scan) -> Reading | None:
    if not found.operands:
        return None
    result = Reading(edits=True, paths=list(found.paths))
    # cp leaves its sources as they are; mv takes them away.
    keeps = (
        len(found.operands) - 1
        if name == "cp" and "-t" not in found.flags and "--target-directory" not in found.flags
        else 0
    )
    if name == "cp" and not keeps:
        keeps = len(found.operands) if "-t" in found.flags or "--target-directory" in found.flags else 0
    result.paths.extend((each, "read" if at < keeps else "write") for at, each in enumerate(found.operands))
    result.recursive = name != "mv" and any(
        flag in found.flags for flag in ("-r", "-R", "-a", "--recursive", "--archive")
    )
    return result


def _sed(args: Sequence[Argument]) -> Reading | None:
    spec = parse_spec(
        "@nErsuz -e= --expression= -i? --in-place? --quiet --silent --regexp-extended --separate -l= --null-data --posix --debug; files"
    )
    found = scan(spec, args)
    if found is None or "--debug" in found.flags:
        return None
    operands = list(found.operands)
    scripts = [each for flag, each in found.flags.items() if flag in ("-e", "--expression")]
    count = sum(1 for each in args if (each.static or "").startswith(("-e", "--expression", "-ne", "-nE")))
    if count > 1:
        return None
    if not scripts:
        if not operands:
            return None
        scripts = [operands.pop(0)]
    for script in scripts:
        text = script.static if isinstance(script, Argument) else script
        if text is None or not _SED.match(text):
            return None
    edits = "-i" in found.flags or "--in-place" in found.flags
    suffix = found.flags.get("-i") or found.flags.get("--in-place") or ""
    if edits and (not operands or "/" in str(suffix) or "*" in str(suffix)):
        return None
    return Reading(edits=edits, paths=[(each, "write" if edits else "read") for each in operands])


def _awk(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("-F= -v= --field-separator= --assign=; files"), args)
    if found is None or not found.operands:
        return None
    program = found.operands[0].static
    if program is None or _AWK_UNSAFE.search(program):
        return None
    for value in found.flags.values():
        text = value.static if isinstance(value, Argument) else value
        if text is None:
            return None
    return Reading(
        paths=[(each, "read") for each in found.operands[1:] if not re.match(r"[A-Za-z_]\w*=", each.static or "")]
    )


def _jq(args: Sequence[Argument]) -> Reading | None:
    found = scan(
        parse_spec(
            "@rcsSneajCM --raw-output --compact-output --slurp --sort-keys --null-input --exit-status --tab --arg= --argjson= --indent= --join-output --raw-input -R; files"
        ),
        args,
    )
    if found is None or not found.operands or "--arg" in found.flags or "--argjson" in found.flags:
        return None
    program = found.operands[0].static
    if program is None or _JQ_UNSAFE.search(program):
        return None
    return Reading(paths=[(each, "read") for each in found.operands[1:]])


_FIND_ALONE = frozenset(
    [
        "-print",
        "-print0",
        "-ls",
        "-prune",
        "-quit",
        "-o",
        "-or",
        "-a",
        "-and",
        "-not",
        "!",
        "(",
        ")",
        ",",
        "-depth",
        "-d",
        "-mount",
        "-xdev",
        "-empty",
        "-true",
        "-false",
        "-follow",
        "-daystart",
        "-noleaf",
        "-nouser",
        "-nogroup",
        "-readable",
        "-writable",
        "-executable",
        "-ignore_readdir_race",
        "-noignore_readdir_race",
        "-H",
        "-L",
        "-P",
    ]
)
_FIND_VALUED = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-regextype",
        "-type",
        "-xtype",
        "-size",
        "-mtime",
        "-atime",
        "-ctime",
        "-mmin",
        "-amin",
        "-cmin",
        "-maxdepth",
        "-mindepth",
        "-perm",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-links",
        "-inum",
        "-lname",
        "-ilname",
        "-printf",
        "-fstype",
        "-used",
        "-newermt",
        "-D",
    ]
)
_FIND_FILES = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})


def _find(args: Sequence[Argument]) -> Reading | None:
    result = Reading()
    at, folders = 0, True
    while at < len(args):
        argument = args[at]
        word = argument.static
        at += 1
        if word is None:
            if not folders or could_be_option(argument):
                return None
            result.paths.append((argument, "name"))
        elif word in _FIND_ALONE:
            folders = folders and word in ("-H", "-L", "-P")
        elif word in _FIND_VALUED or word in _FIND_FILES:
            folders = False
            if at >= len(args) or args[at].splits:
                return None
            if word in _FIND_FILES:
                result.paths.append((args[at], "name"))
            at += 1
        elif folders and not word.startswith(("-", "(", "!")):
            result.paths.append((argument, "name"))
        else:
            return None
    result.default_folder = not result.paths
    return result


def _names(args: Sequence[Argument]) -> bool:
    return all(_IDENTIFIER.match(each.static or "") and not changes_what_runs(each.static or "") for each in args)


def _read(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("@res -a= -d= -i= -n= -N= -p= -t= -u=; any"), args)
    if found is None or not _names(found.operands):
        return None
    array = found.flags.get("-a")
    text = array.static if isinstance(array, Argument) else array
    return Reading() if array is None or (text and _IDENTIFIER.match(text)) else None


def _mapfile(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("@t -d= -n= -O= -s= -u=; any"), args)
    return Reading() if found is not None and _names(found.operands) else None


def _declare(args: Sequence[Argument]) -> Reading | None:
    """Names and values that are static; the judge looks at names that change what runs."""
    named = False
    for each in args:
        word = each.static
        if word is not None and re.fullmatch(r"-[aArxilgtu]+", word):
            if "i" in word or "n" in word or "A" in word:
                return None
            continue
        name = each.values[0].text.partition("=")[0] if each.values else ""
        if each.splits and "=" not in each.word.raw:
            return None
        if not _IDENTIFIER.match(name) or changes_what_runs(name):
            return None
        named = True
    return Reading() if named else None


def _set(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    if not words or any(word is None for word in words):
        return None
    at = 0
    while at < len(words):
        word = words[at] or ""
        if word in ("-o", "+o", "-euo", "-eo", "-uo", "-exo", "-euxo"):
            if words[at + 1 : at + 2] not in (["pipefail"], ["errexit"], ["nounset"], ["noclobber"], ["noglob"]):
                return None
            at += 1
        elif not re.fullmatch(r"[-+][eufC]+", word):
            return None
        at += 1
    return Reading()


def _unset(args: Sequence[Argument]) -> Reading | None:
    rest = [each for each in args if each.static != "-v"]
    return Reading() if rest and _names(rest) else None


def _command(args: Sequence[Argument]) -> Reading | None:
    if args and args[0].static in ("-v", "-V"):
        return Reading()
    return None


def _test(args: Sequence[Argument]) -> Reading | None:
    result = Reading()
    for at, each in enumerate(args):
        word = each.static
        if word in ("-v", "-R"):
            following = args[at + 1].static if at + 1 < len(args) else ""
            if following is None or not _IDENTIFIER.match(following):
                return None
        elif word in ("-o", "-t"):
            continue
        elif (
            word is not None
            and re.fullmatch(r"-[a-hkpr-zGLNOS]", word)
            and at + 1 < len(args)
            and word not in ("-z", "-n", "-t")
        ):
            result.paths.append((args[at + 1], "name"))
    return result


def _bracket(args: Sequence[Argument]) -> Reading | None:
    return _test(args[:-1]) if args and args[-1].static == "]" else None


def _ps(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("@AaefFlux -p= -u= -U= -C= -o= --sort= --forest --no-headers; any"), args)
    if found is None or any(
        each.static not in ("aux", "ax", "au", "axu") and not (each.static or "x").isdigit() for each in found.operands
    ):
        return None
    return Reading()


def _xxd(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("@abCeEipuv -c= -g= -l= -s= -o=; one"), args)
    return None if found is None else _by_operands(parse_spec("; one"), found)


def _tar(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    if (
        len(words) == 2
        and re.fullmatch(r"-?t[vzjJ]*f", words[0] or "")
        and args[1].static
        and ":" not in args[1].static
    ):
        return Reading(paths=[(args[1], "read")])
    return None


def _printf(args: Sequence[Argument]) -> Reading | None:
    """``-v`` would set a variable."""
    first = args[0] if args else None
    return None if first is None or could_be_option(first) else Reading()


def _version_only(args: Sequence[Argument]) -> Reading | None:
    return Reading() if len(args) == 1 and args[0].static in ("--version", "-V") else None


def _pip(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    if words in (["--version"], ["-V"], ["check"]):
        return Reading()
    if words and words[0] in ("list", "freeze", "show"):
        found = scan(
            parse_spec("@lo --outdated --format= --local --user --files -f --not-required --all; any"), args[1:]
        )
        return None if found is None or "--outdated" in found.flags or "-o" in found.flags else Reading()
    return None


def _conda(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    return Reading() if words in (["list"], ["env", "list"], ["info"], ["info", "--envs"], ["--version"]) else None


def _jupyter(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    return (
        Reading()
        if words in (["--version"], ["kernelspec", "list"], ["lab", "--version"], ["notebook", "--version"])
        else None
    )


def _nothing(args: Sequence[Argument]) -> Reading | None:
    return Reading() if all(each.known and not each.values[0].pattern for each in args) else None


_Special = Callable[[Sequence[Argument]], Reading | None]

_SPECIAL: dict[str, _Special] = {
    "sed": _sed,
    "printf": _printf,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "jq": _jq,
    "find": _find,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "set": _set,
    "unset": _unset,
    "command": _command,
    "test": _test,
    "[": _bracket,
    "ps": _ps,
    "xxd": _xxd,
    "tar": _tar,
    "pip": _pip,
    "pip3": _pip,
    "conda": _conda,
    "mamba": _conda,
    "jupyter": _jupyter,
    "shift": _nothing,
    "break": _nothing,
    "continue": _nothing,
    "return": _nothing,
    "exit": _nothing,
    "wait": _nothing,
    **dict.fromkeys(
        (
            "python",
            "python3",
            "node",
            "npm",
            "ruff",
            "mypy",
            "uv",
            "cargo",
            "rustc",
            "gcc",
            "docker",
            "R",
            "julia",
        ),
        _version_only,
    ),
}
