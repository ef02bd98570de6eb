"""Words of a command that aren't known until it runs, and could then mean what an allow rule is not about.

An option that runs a program, or a path that is sensitive: where the program is known to take such and a word could
be one, a rule that ends in a star doesn't cover it. Behind ``--``, as the value of an option, or where what begins
the word shows that it is none, it is what the rule is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.awk_program import read_awk
from nbtoolkit.permission.dangers import endangering_option, takes_endangering_words
from nbtoolkit.permission.programs import family
from nbtoolkit.permission.readonly import parse_spec
from nbtoolkit.permission.readonly_git import git_words
from nbtoolkit.permission.readonly_scripts import awk_words
from nbtoolkit.permission.readonly_tables import EDITS, PROGRAMS
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_globs import expand_files
from nbtoolkit.permission.shell_outputs import NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.readonly import Reading, Spec
    from nbtoolkit.permission.shell import ShellLine
    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["LISTS", "OPTION", "PATH", "brought", "makes_options", "reads_paths", "unsettled"]

OPTION = "isn't known until it runs and could be an option that runs a program"
SCRIPT = "names a program in a file, which may do anything"
LISTED = "has it read the names of files that aren't known until it runs"
PATH = "isn't known until it runs and could be any file"

# Readers and writers of files that the tables of what only reads don't have.
_MORE = frozenset(
    [
        "bat",
        "batcat",
        "zcat",
        "zless",
        "zgrep",
        "bzcat",
        "bzless",
        "xzcat",
        "lzcat",
        "gunzip",
        "gzip",
        "zip",
        "unzip",
        "7z",
        "tar",
        "cpio",
        "rsync",
        "scp",
        "sftp",
        "install",
        "ln",
        "xxd",
        "strings",
        "iconv",
        "dos2unix",
        "unix2dos",
        "csvlook",
        "csvcut",
        "csvgrep",
        "csvstat",
        "csvjson",
        "mlr",
        "xsv",
        "qsv",
        "yq",
        "xmllint",
        "pygmentize",
        "pandoc",
        "view",
        "vim",
        "vi",
        "nvim",
        "nano",
        "emacs",
        "code",
        "open",
        "xdg-open",
        "gpg",
        "openssl",
        "split",
        "csplit",
        "patch",
        "ed",
        "tee",
        "truncate",
        "shred",
        "dd",
        "chmod",
        "chown",
        "chgrp",
        "sed",
        "awk",
        "gawk",
        "mawk",
        "jq",
        "most",
        "pg",
        "lnav",
        "glow",
        "delta",
        "difft",
        "vimdiff",
        "meld",
    ]
)
_READERS = (
    frozenset(
        name
        for table in (PROGRAMS, EDITS)
        for name, spec in table.items()
        if parse_spec(spec).operands in ("files", "one", "text+files")
    )
    | _MORE
)
# Of git's commands those whose words, whatever they are, run nothing and show nothing.
_GIT_PLAIN = frozenset(
    [
        "add",
        "commit",
        "checkout",
        "switch",
        "branch",
        "tag",
        "merge",
        "stash",
        "reset",
        "restore",
        "rm",
        "mv",
        "status",
        "cherry-pick",
        "revert",
        "describe",
        "rev-parse",
        "worktree",
    ]
)
# Of git's commands those that run what some of their words say.
_GIT_RUNNING = frozenset({"rebase", "bisect", "submodule", "filter-branch", "difftool"})
# Options before which a word is what they are given, where all that stands before them is known too.
_VALUED: dict[str, Spec] = {
    name: parse_spec(spec)
    for name, spec in {
        "git commit": "@asqvnep -m= -F< -C= -c= --message= --all --amend --no-edit --no-verify --signoff --allow-empty "
        "--author= --date= --quiet --verbose --file<",
        "git tag": "@afs -m= --message= --annotate --force --sign",
        "git stash": "@uaqkp -m= --message=",
        "git push": "@fuqvn --force --force-with-lease --set-upstream --tags --all --quiet",
        "tar": "@cxtzjJvpk -f= -C= --exclude= --gzip --create --extract --file= --directory=",
        "rsync": "@avzPnruhtlpo --exclude= --include= --delete --archive --dry-run --progress",
        "curl": "@sSfLkvIigO -X= -H= -A= -m= -w= --request= --header= --max-time= --silent --location --fail --show-error",
        "wget": "@qcn -O= -P= --quiet --timeout= --tries=",
        "ssh": "@46AaCfGgKkMNnqsTtVvXxYy -p= -l=",
        "make": "@kBsniq -j= -C=",
        "docker": "-t= --tag= --name= -e= --env= -p= -w= --rm --no-cache -it -i -d",
        "man": "-s=",
        "zip": "@rqju9 -x=",
        **{name: PROGRAMS[name] for name in ("sort", "rg", "less")},
    }.items()
}
_NO_END_OF_OPTIONS = frozenset(
    {"find", "java", "gcc", "g++", "cc", "c++", "clang", "clang++", "dd", "awk", "gawk", "mawk"}
)
_AWK_FILE = re.compile(r"-[fEil]|--(?:file|exec|include|load)\b")
_FROM_FILE = {
    "sed": re.compile(r"-[nErsuz]*f|--file\b"),
    "jq": re.compile(r"-[a-zA-Z]*f|--from-file\b"),
    **dict.fromkeys(("awk", "gawk", "mawk"), _AWK_FILE),
}
# Options that read the names of files from a file, or from what is sent.
LISTS = re.compile(r"-[a-zA-Z]*T-?\Z|-@\Z|--(?:files0?-from|pathspec-from-file|arg-file|input-file)")
_LISTERS = {
    "tar": re.compile(r"-[a-zA-Z]*T|--files-from|[a-zA-Z]*T[a-zA-Z]*\Z"),
    "rsync": re.compile(r"--files-from"),
    "sort": re.compile(r"--files0-from"),
    "zip": re.compile(r"-@\Z"),
    "7z": re.compile(r"@|-i@"),
    **dict.fromkeys(("cpio", "pax"), re.compile(r"-[a-zA-Z]*[ow]|--create\Z")),
}
# Their words before the files are little programs.
_SCRIPTED = frozenset({"sed", "awk", "gawk", "mawk", "jq"})
_FIND_VALUED = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?regex|x?type|size|[mac]time|[mac]min|maxdepth|mindepth|newer\w*|user|group|perm)\Z"
)


def unsettled(
    args: Sequence[Argument], read: Reading | None, cwds: Sequence[str], *, names_made: bool
) -> list[tuple[Argument, str]]:
    """The words of a command that no star of an allow rule covers, each with the reason.

    ``read``: what it is known to do at all. ``names_made``: whether the line makes files that are called like options.
    """
    static = args[0].static
    name = "" if static is None else family(static)
    dangerous = takes_endangering_words(name) and not _plain_git(name, args)
    found: list[tuple[Argument, str]] = []
    if dangerous:
        found += [(each, OPTION) for each in args[1:] if _globs_option(each, cwds, names_made=names_made)]
        found += [(each, OPTION) for each in (_git_pieces(args) if name == "git" else ())]
    if read is None and name in ("awk", "gawk", "mawk") and (program := _awk(args)) is not None:
        found.append((program, PATH))
    lists = _LISTERS.get(name)
    if lists is not None:
        found += [
            (each, LISTED)
            for at, each in enumerate(args[1:])
            if lists.match(each.static or "") and (at == 0 or (each.static or "")[:1] in ("-", "@"))
        ]
    if read is None and name in _SCRIPTED:
        found += [(each, SCRIPT) for each in args[1:] if _FROM_FILE[name].match(each.static or "")]
    open_words = [each for each in args[1:] if each.open]
    if not open_words:
        return found
    if read is not None:
        reached = {id(each) for each, access in read.paths if access != "name"}
        return [(each, PATH) for each in open_words if id(each) in reached]
    ends = -1 if name in _NO_END_OF_OPTIONS else next((at for at, each in enumerate(args) if each.static == "--"), -1)
    before = args if ends < 0 else args[:ends]
    early = {id(each) for each in before}
    values = _values(name, before)
    for each in open_words:
        if id(each) in values or _given(name, each):
            continue
        if dangerous and id(each) in early and _may_be_option(name, each):
            found.append((each, OPTION))
        elif reads_paths(name) or _sends_file(name, each):
            found.append((each, PATH))
    return found


def _awk(args: Sequence[Argument]) -> Argument | None:
    """The program, where it decides by itself which files are read."""
    words = awk_words(args[1:])
    program = words.operands[0] if words is not None and words.operands else None
    if program is None or program.static is None:
        return None
    return program if read_awk(program.static).fault is not None else None


def brought(args: Sequence[Argument]) -> str | None:
    """Why words that a pipe brings to a command, behind its own, are none that a rule covers."""
    static = args[0].static if args else None
    name = "" if static is None else family(static)
    if not takes_endangering_words(name) or _plain_git(name, args):
        return None
    ends = name not in _NO_END_OF_OPTIONS and any(each.static == "--" for each in args)
    return (
        None if ends else f"what {name} is given isn't known until it runs and could be an option that runs a program"
    )


def makes_options(line: ShellLine) -> bool:
    """Whether a line names a file that is called like an option, which a later glob of it would find."""
    for command in line.commands:
        words = [each.static or "" for each in command.words]
        ends = words.index("--") if "--" in words else len(words)
        targets = [each.target.static or "" for each in command.redirects if each.target is not None]
        if any("/-" in each for each in (*words, *targets)) or any(
            each[:1] == "-" for each in (*words[ends + 1 :], *targets)
        ):
            return True
    return False


def reads_paths(name: str) -> bool:
    """Whether a program opens the files that its words name."""
    return name in _READERS


def _may_be_option(name: str, argument: Argument) -> bool:
    for text in argument.texts:
        if UNKNOWN not in text and NAMED not in text:
            continue
        start = re.split(f"[{UNKNOWN}{NAMED}]", text)[0]
        if argument.splits and UNKNOWN in text:
            return True
        if text[:1] == UNKNOWN or name in _SCRIPTED:
            return True
        if start[:1] in ("-", "+") and not ("=" in start and start[:2] == "--" and not endangering_option(name, start)):
            return True
    return False


def _given(name: str, argument: Argument) -> bool:
    """Whether it is the value of an option that is known, joined to it by an equals sign."""
    spec = _VALUED.get(name)
    return spec is not None and all(
        text[:2] == "--" and "=" in text and text.partition("=")[0] in spec.valued for text in argument.texts
    )


def _sends_file(name: str, argument: Argument) -> bool:
    """Of curl: words with an at sign name a file whose content is sent."""
    return name == "curl" and any(
        re.search(f"(?:^|=)[@<][^{UNKNOWN}{NAMED}]*[{UNKNOWN}{NAMED}]", text) for text in argument.texts
    )


def _plain_git(name: str, args: Sequence[Argument]) -> bool:
    if name != "git":
        return False
    _, rest = git_words(args[1:])
    return bool(rest) and rest[0].static in _GIT_PLAIN


def _git_pieces(args: Sequence[Argument]) -> list[Argument]:
    """The words that the shell splits, of a git command that may run what they hold."""
    split = [each for each in args[1:] if each.splits and each.guesses]
    pieces = {piece for each in split for guess in each.guesses for piece in guess.split()}
    return split if _GIT_RUNNING & {*pieces, *(each.static or "" for each in args[1:])} else []


def _values(name: str, args: Sequence[Argument]) -> set[int]:
    """The words that are the values of options, as far as all before them is known."""
    if name == "find":
        return _find_values(args)
    at, spec = 1, _VALUED.get(name)
    if name == "git" and len(args) > 1:
        at, spec = 2, _VALUED.get(f"git {args[1].static}")
    found: set[int] = set()
    if spec is None:
        return found
    while at < len(args):
        word = args[at].static
        if word is None and (args[at].splits or _may_be_option(name, args[at])):
            break
        at += 1
        if word is None or not word.startswith("-") or word == "-":
            continue
        takes = _takes(spec, word)
        if takes is None:
            break
        if takes and at < len(args):
            if not args[at].splits:
                found.add(id(args[at]))
            at += 1
    return found


def _takes(spec: Spec, word: str) -> bool | None:
    """Whether an option takes the next word; None where it isn't known."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        if name in spec.valued:
            return not equals
        return False if name in spec.alone or name in spec.optional else None
    if word in spec.alone or (word in spec.valued and len(word) > 2):
        return word in spec.valued
    for index, letter in enumerate(word[1:], 1):
        if f"-{letter}" in spec.valued:
            return index == len(word) - 1
        if f"-{letter}" not in spec.alone:
            return None
    return False


def _find_values(args: Sequence[Argument]) -> set[int]:
    found: set[int] = set()
    at = 1
    while at < len(args):
        word = args[at].static
        at += 1
        if word is not None and _FIND_VALUED.match(word) and at < len(args):
            if not args[at].splits:
                found.add(id(args[at]))
            at += 1
    return found


def _globs_option(argument: Argument, cwds: Sequence[str], *, names_made: bool) -> bool:
    """Whether a glob may find a file that is called like an option."""
    for value in argument.values:
        if value.pattern is None or value.text[:1] not in ("*", "?", "["):
            continue
        if names_made or not cwds or "/" in value.pattern:
            if "/" not in value.pattern:
                return True
            continue
        for cwd in cwds:
            files = expand_files(value.pattern, cwd)
            if files is None or any(each.startswith("-") for each in files):
                return True
    return False
