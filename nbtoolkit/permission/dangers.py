"""Commands that ask whatever the rules say: destructive ones, options that run programs, what shows the environment.

Each check takes a command's words and gives the reason to ask, or None.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.dangers_git import git_danger
from nbtoolkit.permission.programs import CODE, family
from nbtoolkit.permission.running_options import RUNS, names_program
from nbtoolkit.permission.sensitive import inside, resolve, system_folder
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_operators import Value
from nbtoolkit.permission.variable_names import changes_what_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["Runs", "danger", "endangering_option", "takes_endangering_words"]


MOST_TARGETS = 400


class Runs(str):
    """A reason that is about another program being run, which deny and ask rules may name."""

    __slots__ = ()


_ALWAYS: dict[str, str] = {
    name: reason
    for names, reason in (
        (
            "mkfs fdisk sfdisk cfdisk parted sgdisk wipefs blkdiscard mkswap lvremove vgremove pvremove zpool mdadm cryptsetup",
            "it changes disks",
        ),
        ("shutdown reboot halt poweroff init telinit kexec", "it stops the computer"),
        ("shred srm", "it destroys files for good"),
        ("userdel groupdel deluser useradd adduser visudo passwd chpasswd usermod vipw", "it changes who may log in"),
        ("insmod modprobe rmmod killall5", "it changes the running system"),
        ("alias enable shopt", Runs("it changes what commands mean")),
        ("history fc", Runs("it reads or repeats the shell's history")),
    )
    for name in names.split()
}

_SED_RUNS = re.compile(
    r"(?:^|[;{}\n\d$/!,\s])e(?:\s|$|;|})|[^\w\s][gpiIm\d]*e[gpiIm\d]*\s*(?:$|[;}\n])|(?:^|[;{}\n\d$/!,\s])[rRwW]\s*[/~.]"
)
# A star in the ending of a copy's name is the file's own name, and a slash another folder.
_SED_COPY = re.compile(r"(?:-[nErsuz]*i|--in-place=)[^=]*[*/]")
# The whole of it: one variable by its name is an ordinary question.
_SHOWS = re.compile(
    r"os\.environ\b(?!\s*(?:\[|\.get|\.setdefault))|process\.env\b(?!\s*[.\[])|%ENV\b|ENV\.to_|Sys\.getenv\(\)"
)
_JQ_SHOWS = re.compile(r"(?<![.\w$\"'-])(?:env|\$ENV)\b(?!\s*(?:\.\s*[\w\"]|\[\s*\"|:))")
# An index is evaluated, whatever quotes it wore.
_EVALUATES = re.compile(r"\[[^\]]*[$`(]")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*\Z|--recursive\Z")


def danger(args: Sequence[Argument], folders: Sequence[str], cwds: Sequence[str]) -> str | None:
    """The first reason why this command asks whatever the rules say."""
    static = args[0].static
    if static is None:
        return None
    if not static.isascii():
        return Runs(f"the name of its program, {static!r}, holds letters that look like others")
    name = family(static)
    words = [each.static for each in args[1:]]
    found = _ALWAYS.get(name) or (_ALWAYS["mkfs"] if name.startswith("mkfs.") else None)
    if found is not None:
        return found
    if name in ("source", ".") and words and re.match(r"/dev/(?:fd/|stdin)", words[0] or ""):
        return Runs("it runs whatever it is sent")
    if name in CODE and any(_SHOWS.search(word) for word in words if word):
        return "it shows the whole environment"
    check = _CHECKS.get(name)
    if check is not None and (found := check(name, args[1:], words, folders, cwds)) is not None:
        return found
    runs = RUNS.get(name)
    if runs is not None:
        # A variable's text becomes several words where it isn't quoted.
        several = (piece for each in args[1:] if each.splits for guess in each.guesses for piece in guess.split())
        for word in (*words, *several):
            if word is not None and names_program(word, *runs):
                return Runs(f"{name} {word[:40]} can run another program")
    return None


# They are asked about for other reasons than a word that may be an option.
_NO_OPTIONS = frozenset(
    {
        "kill",
        "wait",
        "env",
        "export",
        "declare",
        "typeset",
        "readonly",
        "local",
        "set",
        "compgen",
        "printenv",
        "test",
        "[",
    }
)


def takes_endangering_words(name: str) -> bool:
    """Whether a program is known to take options that run another one, or words that decide what runs."""
    return name in RUNS or (name in _CHECKS and name not in _NO_OPTIONS)


def endangering_option(name: str, word: str) -> bool:
    """Whether a word is an option of a program that runs another one; also where nobody can tell."""
    runs = RUNS.get(name)
    return runs is None or name == "git" or names_program(word, *runs)


def _environment(name: str, args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    plain = [word for word in words if word is None or not word.startswith("-")]
    if name in ("printenv", "set") and (name != "set" or not words) and not plain:
        return "it shows the whole environment"
    splits = any(re.match(r"-[0iv]*S|--s", word or "") for word in words)
    if name == "env" and not splits and all(word is not None and (word[:1] == "-" or "=" in word) for word in words):
        return "it shows the whole environment"
    if name in ("export", "declare", "typeset", "readonly") and not plain:
        return "it shows the whole environment"
    if name == "compgen":
        return "it shows the names of the environment"
    if name == "set" and any(re.match(r"[-+]\w*[ak]|(?:allexport|keyword)\Z", word or "") for word in words):
        return Runs("it changes what other commands are given")
    if name in ("read", "mapfile", "readarray", "getopts", "printf"):
        set_by_name = words
        if name == "printf":
            joined = [(words[0] or "").removeprefix("-v")] if words and (words[0] or "").startswith("-v") else []
            set_by_name = words[1:2] if joined == [""] else [*joined]
        if any(_EVALUATES.search(word) for word in set_by_name if word):
            return Runs("an index in a name that it sets can run a program")
        return next(
            (
                Runs(f"it sets {word}, which decides what runs")
                for word in set_by_name
                if word and changes_what_runs(word)
            ),
            None,
        )
    if name in ("export", "declare", "typeset", "readonly", "local", "unset"):
        return _assigns(args)
    return None


def _jq(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    return "it shows the whole environment" if any(_JQ_SHOWS.search(word) for word in words if word) else None


def _ps(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    """Its ``e`` without a dash shows each process's environment; with one it means all processes."""
    value = False
    for word in words:
        if word is None:
            value = False
        elif value or word.startswith("-"):
            if "environ" in word:
                return "it shows the environment of programs"
            value = not value and not word.startswith("--") and word[-1] in "oOpuUCGgtskq"
        elif re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", word):
            return "it shows the environment of programs"
        else:
            value = word[-1:] in ("o", "O", "p", "U", "t", "k")
    return None


def _wait(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    for at, word in enumerate(words):
        name = words[at + 1] if word == "-p" and at + 1 < len(words) else (word or "").removeprefix("-p")
        if (word is None or word.startswith("-p")) and (name is None or changes_what_runs(name)):
            return Runs("it sets a variable that decides what runs")
    return None


def _tar(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    first = words[0] if words else ""
    if first is not None and re.match(r"[a-zA-Z]*[IF][a-zA-Z]*\Z", first):
        return Runs(f"tar {first[:40]} can run another program")
    return None


def _test(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-v", "-R")]
    if any(name is None or _EVALUATES.search(name) for name in names):
        return Runs("an index in a name that it looks for can run a program")
    return None


def _make(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    """Other variables of make's are its makefile's own affair."""
    for at, word in enumerate(words):
        text = word or ""
        if re.match(r"(?:SHELL|MAKEFLAGS|PATH|LD_\w+|BASH_ENV|ENV)[:?+!]*=", text):
            return Runs(f"it sets {text.partition('=')[0]}, which decides what runs")
        option = re.match(r"(?:-f|--(?:make)?file(?:=|\Z))", text)
        if option is not None:
            given = text[option.end() :] or (words[at + 1] if at + 1 < len(words) else None) or ""
            if re.match(r"-\Z|/dev/(?:stdin|fd/)", given):
                return Runs("it runs whatever it is sent")
    return None


def _assigns(args: Sequence[Argument]) -> str | None:
    for each in args:
        if each.static is not None and each.static.startswith("-"):
            continue
        for value in each.values:
            variable = value.text.partition("=")[0]
            if _EVALUATES.search(variable):
                return Runs("an index in a name that it sets can run a program")
            if (
                UNKNOWN in variable
                or (each.splits and "=" not in value.text)
                or (value.pattern is not None and "=" not in value.text)
            ):
                return Runs("what it sets isn't known until it runs")
            if changes_what_runs(variable):
                return Runs(f"it sets {variable}, which decides what runs")
    return None


def _rm(
    name: str, args: Sequence[Argument], words: list[str | None], folders: Sequence[str], cwds: Sequence[str]
) -> str | None:
    if "--no-preserve-root" in words:
        return "it removes a folder of the system"
    recursive = name in ("mv", "rmdir") or any(word is not None and _RECURSIVE.match(word) for word in words)
    if not recursive:
        return None
    targets = args[:-1] if name == "mv" and len(args) > 1 else args
    found = _system_target(targets, folders, cwds)
    return f"it {'moves' if name == 'mv' else 'removes'} {found}" if found else None


def _owner(
    _name: str, args: Sequence[Argument], words: list[str | None], _folders: Sequence[str], cwds: Sequence[str]
) -> str | None:
    if not any(word is not None and _RECURSIVE.match(word) for word in words):
        return None
    found = _system_target(args[1:], (), cwds)
    return f"it changes who may use {found}" if found else None


def _find(
    _name: str, args: Sequence[Argument], words: list[str | None], _folders: Sequence[str], cwds: Sequence[str]
) -> str | None:
    if "-delete" not in words:
        return None
    found = _system_target([each for each in args if each.static and not each.static.startswith("-")], (), cwds)
    return f"it removes files below {found}" if found else None


def _system_target(args: Sequence[Argument], folders: Sequence[str], cwds: Sequence[str]) -> str | None:
    """A system's or home folder among the words, or one that holds a working directory."""
    if len(args) > MOST_TARGETS:
        return "more places than anybody reads"
    for each in args:
        texts = [value.text for value in each.values if UNKNOWN not in value.text] + list(each.guesses)
        for text in texts:
            if text and not text.startswith("-"):
                found = _system_folder(text, folders, cwds)
                if found is not None:
                    return found
    return None


def _system_folder(text: str, folders: Sequence[str], cwds: Sequence[str]) -> str | None:
    head, _, tail = text.rstrip("/").rpartition("/")
    everything = tail in ("*", ".*", "{*,.*}", "**")
    folder = (head or ("/" if text.startswith("/") else ".")) if everything else text
    starts = cwds or (("/",) if folder.startswith("/") else ())
    for path in (each for cwd in starts for each in resolve(folder, cwd) or ()):
        if system_folder(path):
            return f"{path}, a folder of the system or a home"
        if not everything and any(inside(each, (path,)) for each in folders):
            return f"{path}, which holds a working directory"
    return None


def _dd(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    if any(word is None or re.match(r"of=/dev/(?!null|stdout|stderr)", word) for word in words):
        return "it writes to a device"
    return None


def _kill(_name: str, _args: Sequence[Argument], words: list[str | None], *_: object) -> str | None:
    return "it ends every process" if len(words) > 1 and "-1" in words[1:] else None


def _git(
    _name: str, args: Sequence[Argument], _words: list[str | None], _folders: Sequence[str], cwds: Sequence[str]
) -> str | None:
    found = git_danger(args, cwds)
    if found is None and any(each.splits for each in args):
        found = git_danger([piece for each in args for piece in _pieces(each)], cwds)
    return None if found is None else Runs(found)


def _pieces(argument: Argument) -> list[Argument]:
    """The words that a variable's or a list's text becomes where the shell splits it."""
    if not argument.splits or not argument.guesses:
        return [argument]
    pieces = [piece for guess in argument.guesses for piece in guess.split()]
    return [replace(argument, values=(Value(piece),), splits=False, guesses=(), texts=()) for piece in pieces]


def _sed(_name: str, args: Sequence[Argument], _words: list[str | None], *_: object) -> str | None:
    from nbtoolkit.permission.readonly import reading
    from nbtoolkit.permission.wrapped import made

    if reading([made("sed"), *args]) is not None:
        return None
    if any(each.static is not None and _SED_COPY.match(each.static) for each in args):
        return "the copy that sed keeps may be any file"
    if any(each.static is not None and _SED_RUNS.search(_sed_script(each.static)) for each in args):
        return Runs("the sed script can run a program or reach another file")
    return None


def _sed_script(word: str) -> str:
    """The script in a word: an option's own letters are none."""
    return re.sub(r"\A-(?:[a-zA-Z]*e|-expression=)|\A-[a-zA-Z]*\Z", "", word)


def _awk(_name: str, args: Sequence[Argument], _words: list[str | None], *_: object) -> str | None:
    from nbtoolkit.permission.awk_program import read_awk
    from nbtoolkit.permission.readonly_scripts import awk_words

    words = awk_words(args)
    programs = words.operands[:1] if words is not None else args
    for each in programs:
        text = each.static
        if text is not None and (words is not None or re.search(r"[{}()|]|BEGIN|END", text)):
            program = read_awk(text)
            if program.fault is not None and program.serious:
                return Runs(program.fault)
    return None


_Check = "Callable[[str, Sequence[Argument], list[str | None], Sequence[str], Sequence[str]], str | None]"

_CHECKS: dict[str, Callable[..., str | None]] = {
    name: check
    for names, check in (
        (
            "printenv env set export declare typeset readonly local compgen unset read mapfile readarray getopts printf",
            _environment,
        ),
        ("jq gojq jaq", _jq),
        ("ps", _ps),
        ("test [", _test),
        ("make gmake", _make),
        ("wait", _wait),
        ("rm rmdir mv", _rm),
        ("chmod chown chgrp", _owner),
        ("find", _find),
        ("dd", _dd),
        ("kill", _kill),
        ("git", _git),
        ("sed", _sed),
        ("tar", _tar),
        ("awk gawk mawk nawk original-awk goawk", _awk),
    )
    for name in names.split()
}
