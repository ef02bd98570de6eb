"""Programs whose words need more than a table to be sure that they only read: each with its own look."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nbtoolkit.permission.readonly import Reading, by_operands, could_be_option, parse_spec, scan
from nbtoolkit.permission.readonly_scripts import awk_reading, jq_reading, sed_reading
from nbtoolkit.permission.shell_argument import Argument
from nbtoolkit.permission.variable_names import changes_what_runs

__all__ = ["SPECIAL"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_ALONE_TEXT = (
    "-print -print0 -ls -prune -quit -o -or -a -and -not ! ( ) , -depth -d -mount -xdev -empty -true -false -follow "
    "-daystart -noleaf -nouser -nogroup -readable -writable -executable -ignore_readdir_race -noignore_readdir_race "
    "-H -L -P"
)
_FIND_ALONE = frozenset(_ALONE_TEXT.split())
_VALUED_TEXT = (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime "
    "-ctime -mmin -amin -cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -lname -ilname -printf "
    "-fstype -used -newermt -D"
)
_FIND_VALUED = frozenset(_VALUED_TEXT.split())
_FIND_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_FIND_FILES = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})


def _find(args: Sequence[Argument]) -> Reading | None:
    words = [each.static for each in args]
    runs = [at for at, word in enumerate(words) if word in ("-exec", "-execdir")]
    if len(runs) == 1:
        return _find_exec(args, words, runs[0])
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
            if word in _FIND_NAMES and _leaves_out(args, at):
                result.left_out.append(args[at])
            if word in _FIND_FILES:
                result.paths.append((args[at], "name"))
            at += 1
        elif folders and not word.startswith(("-", "(", "!")):
            result.paths.append((argument, "name"))
        else:
            return None
    result.default_folder = not result.paths
    return result


def _find_exec(args: Sequence[Argument], words: list[str | None], at: int) -> Reading | None:
    """A find that hands what it finds to a command that only reads; nothing but that stands behind its tests."""
    from nbtoolkit.permission.handed_on import by_find
    from nbtoolkit.permission.sweeps import find_finds

    stop = next((each for each in range(at + 1, len(words)) if words[each] in (";", "+")), None)
    if stop is None or stop != len(words) - 1 or words[at] != "-exec":
        return None
    plain = _find(args[:at])
    if plain is None or "-L" in words[:at]:
        return None
    roots = [argument for argument, _ in plain.paths if argument.static is not None and argument in _roots(args)]
    if len(roots) != len(_roots(args)) or any((each.static or "-").startswith("-") for each in roots):
        return None
    files_only = (
        "-type" in words[:at]
        and words[words.index("-type") + 1] == "f"
        and not {"-o", "-or", "!", "-not"} & set(words[:at])
    )
    (sweep, *_) = find_finds(args, prints=False)
    found = by_find(args[at + 1 : stop], roots, sweep, links=not files_only)
    if found is not None:
        found.left_out = plain.left_out
        found.paths += [(argument, how) for argument, how in plain.paths if argument not in roots]
    return found


def _roots(args: Sequence[Argument]) -> list[Argument]:
    """The folders that find begins with."""
    roots = []
    for each in args:
        word = each.static
        if word is not None and (word in ("(", "!") or (word.startswith("-") and word not in ("-H", "-L", "-P"))):
            break
        if word not in ("-H", "-L", "-P"):
            roots.append(each)
    return roots


def _leaves_out(args: Sequence[Argument], at: int) -> bool:
    """Whether a name that find looks for is one that it goes past: denied, or cut off."""
    denied = at > 1 and args[at - 2].static in ("!", "-not")
    return denied or (at + 1 < len(args) and args[at + 1].static == "-prune")


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
    if (
        found is None
        or any("env" in (each.static or "env") for each in args)
        or any(
            each.static not in ("aux", "ax", "au", "axu") and not (each.static or "x").isdigit()
            for each in found.operands
        )
    ):
        return None
    return Reading()


def _xxd(args: Sequence[Argument]) -> Reading | None:
    found = scan(parse_spec("@abCeEipuv -c= -g= -l= -s= -o=; one"), args)
    return None if found is None else by_operands(parse_spec("; one"), found)


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


def _unzip(args: Sequence[Argument]) -> Reading | None:
    """Only the list of what an archive holds."""
    words = [each.static for each in args]
    if len(words) == 2 and words[0] in ("-l", "-lv", "-v", "-Z", "-Z1", "-t") and words[1] and words[1][0] != "-":
        return Reading(paths=[(args[1], "read")])
    return None


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

SPECIAL: dict[str, _Special] = {
    "sed": sed_reading,
    "printf": _printf,
    "awk": awk_reading,
    "gawk": awk_reading,
    "mawk": awk_reading,
    "jq": jq_reading,
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
    "unzip": _unzip,
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
