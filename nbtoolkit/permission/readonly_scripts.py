"""Programs that are given a little program of their own, which must be seen to do nothing but read: sed, awk, jq."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.awk_program import read_awk
from nbtoolkit.permission.readonly import Reading, Scan, parse_spec, scan
from nbtoolkit.permission.shell_argument import Argument
from nbtoolkit.permission.wrapped import made

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["awk_reading", "awk_words", "jq_reading", "sed_reading"]

# Names of copies that nothing reads by itself.
_BACKUPS = frozenset({"", "~", ".bak", ".backup", ".orig", ".old", ".tmp"})
# sed's commands that only print, delete, substitute or move between its two spaces.
_SED = re.compile(
    r"""(?:\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:\s*,\s*(?:\+?\d+|~\d+|\$|/(?:[^/\\\n]|\\.)*/))?\s*!?\s*)?
    (?:[pPdDqQ=lhHgGxnN]|s(?P<d>[/|\#,:@!])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpiI0-9]*
    |y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*(?:;|\n|\Z))+\s*\Z""",
    re.VERBOSE,
)
_JQ_UNSAFE = re.compile(
    r"(?<!\.)\benv\b|\.\.env\b|\$ENV|\binput_filename\b|\bimport\b|\binclude\b|\$__prog|\bget_search_list\b"
)


def sed_reading(args: Sequence[Argument]) -> Reading | None:
    """What a sed command reads or edits, where its script does nothing else."""
    spec = parse_spec(
        "@nErsuz -e= --expression= -i? --in-place? --quiet --silent --regexp-extended --separate -l= --null-data --posix --debug; files"
    )
    found = scan(spec, args)
    if found is None or "--debug" in found.flags:
        return None
    operands = list(found.operands)
    scripts = [each for flag, each in found.given if flag in ("-e", "--expression")]
    if not scripts:
        if not operands:
            return None
        scripts = [operands.pop(0)]
    for script in scripts:
        text = script.static if isinstance(script, Argument) else script
        if text is None or not _SED.match(text):
            return None
    edits = "-i" in found.flags or "--in-place" in found.flags
    if not edits:
        return Reading(paths=[(each, "read") for each in operands])
    suffix = str(found.flags.get("-i") or found.flags.get("--in-place") or "")
    if not operands or "/" in suffix or "*" in suffix:
        return None
    backups = [] if suffix in _BACKUPS else [_with(each, suffix) for each in operands]
    if None in backups:
        return None
    written = [*operands, *(each for each in backups if each is not None)]
    return Reading(edits=True, paths=[(each, "write") for each in written])


def _with(argument: Argument, suffix: str) -> Argument | None:
    """The copy that sed keeps of a file, under a name that something else may look for."""
    static = argument.static
    return None if static is None else made(static + suffix)


def awk_words(args: Sequence[Argument]) -> Scan | None:
    """The words of an awk command, sorted; None where one isn't known."""
    return scan(parse_spec("-F= -v= --field-separator= --assign=; files"), args)


def awk_reading(args: Sequence[Argument]) -> Reading | None:
    """What an awk command reads, where its program does nothing else."""
    found = awk_words(args)
    if found is None or not found.operands:
        return None
    text = found.operands[0].static
    program = None if text is None else read_awk(text)
    if program is None or program.fault is not None:
        return None
    for value in found.flags.values():
        text = value.static if isinstance(value, Argument) else value
        if text is None:
            return None
    read = [each for each in found.operands[1:] if not re.match(r"[A-Za-z_]\w*=", each.static or "")]
    return Reading(paths=[*((each, "read") for each in read), *((made(each), "write") for each in program.written)])


def jq_reading(args: Sequence[Argument]) -> Reading | None:
    """What a jq command reads, where its filter does nothing else."""
    rest: list[Argument] = []
    files: list[Argument] = []
    at = 0
    while at < len(args):
        word = args[at].static
        if word in ("--arg", "--argjson", "--slurpfile", "--rawfile") and at + 2 < len(args):
            # A name, and a text or a file.
            if any(each.splits for each in args[at + 1 : at + 3]):
                return None
            files += [args[at + 2]] if word.endswith("file") else []
            at += 3
        else:
            rest.append(args[at])
            at += 1
    found = scan(
        parse_spec(
            "@rcsSneajCMR --raw-output --compact-output --slurp --sort-keys --null-input --exit-status --tab --indent= "
            "--join-output --raw-input --color-output --monochrome-output; files"
        ),
        rest,
    )
    if found is None or not found.operands:
        return None
    program = found.operands[0].static
    if program is None or _JQ_UNSAFE.search(program):
        return None
    # The filter names keys: .env is one, too.
    return Reading(paths=[(each, "read") for each in (*found.operands[1:], *files)], left_out=found.operands[:1])
