"""Commands that run other commands: what they would run, as far as their words tell.

Deny and ask rules look through all of them. Allow rules and the read-only list look through the few that change
nothing about what runs, and only without options.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit.permission.programs import SHELLS, STRANGE_SHELLS, family
from nbtoolkit.permission.shell import Part, Word
from nbtoolkit.permission.shell_values import UNKNOWN, Argument, Value
from nbtoolkit.permission.wrapper_table import ANY_WAY, RUN, RUNNERS, WRAPPERS, Wrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Inner", "allowed_form", "made", "unwrap"]

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(slots=True)
class Inner:
    """What a wrapper runs."""

    commands: list[tuple[Argument, ...]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Shell lines, to be read in turn."""
    assignments: list[str] = field(default_factory=list)
    doubt: str | None = None
    """Why what runs isn't known before it runs."""
    loose: bool = False
    """Whether ``commands`` holds every way to read words whose options aren't known."""


_TRANSPARENT = frozenset({"nice", "timeout", "nohup", "time", "command", "env"})
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?\Z")

# They add words to a command; one inside the other so many times is looked at as a whole no more.
_APPENDERS = frozenset({"xargs", "parallel", "find"})
MOST_APPENDERS = 8
MOST_WORDS = 400
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def made(text: str) -> Argument:
    """A word that nobody wrote."""
    return Argument(Word(text, -1, (Part("text", text, quoted=True),)), (Value(text),))


def unwrap(args: Sequence[Argument]) -> Inner | None:
    """What the command made of these words runs besides itself; None for one that runs nothing else."""
    static = args[0].static if args else None
    if static is None:
        return None
    name = family(static)
    rest = args[1:]
    if name in SHELLS:
        return _shell(rest)
    if name in STRANGE_SHELLS:
        return _strange_shell(name, rest)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(rest)
    wrapper = WRAPPERS.get(name)
    if name in ANY_WAY or name.startswith(("ld-linux", "ld.so")):
        return _all_ways(Inner(), rest)
    if wrapper is None:
        return None
    if name in RUNNERS and not any(each.static == "run" for each in rest[:3]):
        return None
    return _wrapped(name, wrapper, rest)


def _wrapped(name: str, wrapper: Wrapper, rest: Sequence[Argument]) -> Inner:
    inner = Inner()
    before, at, literal = wrapper.before, 0, False
    while at < len(rest):
        word = rest[at].static
        if word is None:
            inner.doubt = "what it runs isn't known until it runs"
            return _all_ways(inner, rest[at:])
        if not literal and ((word.startswith("-") and len(word) > 1) or word in wrapper.alone):
            if name == "env" and (re.match(r"-[0iv]*S", word) or word.startswith("--s")):
                return _split(word, rest[at + 1 :])
            if name == "flock" and word == "-c":
                return _script(rest[at + 1 : at + 2])
            literal = word == "--"
            used = 1 if literal else _option(name, wrapper, word)
            if not used:
                return _all_ways(inner, rest[at + 1 :])
            at += used
        elif wrapper.assignments and _ASSIGNMENT.match(word):
            inner.assignments.append(word.partition("=")[0])
            at += 1
        elif before:
            before -= 1
            at += 1
        else:
            break
    return _of_command(name, wrapper, inner, tuple(rest[at:]), rest[:at])


def _split(word: str, rest: Sequence[Argument]) -> Inner:
    """``env -S TEXT``: a text that becomes words, split nearly as a shell would."""
    inner = Inner(doubt="env -S splits a text into a command")
    text = word.partition("=")[2] if word.startswith("--") and "=" in word else re.sub(r"-[0iv]*S", "", word, count=1)
    if not text or (word.startswith("--s") and "=" not in word):
        if not rest or rest[0].static is None:
            return _all_ways(inner, rest[1:])
        text, rest = rest[0].static, rest[1:]
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    inner.commands.append((made("env"), *map(made, words), *rest))
    return inner


def _of_command(
    name: str, wrapper: Wrapper, inner: Inner, command: tuple[Argument, ...], options: Sequence[Argument]
) -> Inner:
    """What a wrapper does with the command behind its options."""
    if not command:
        if wrapper.appends and wrapper.joined:
            # Without a command xargs only prints; parallel runs the lines that it is sent.
            inner.doubt = "it runs whatever it is sent"
        return inner
    if name == "flock" and command[0].static == "-c":
        return _script(command[1:2])
    if wrapper.joined and "-x" not in [each.static for each in options]:
        return _joined(command, appends=wrapper.appends)
    inner.commands.append(command)
    if wrapper.appends:
        _appended(inner, command, _replaced(options))
    return inner


def _option(name: str, wrapper: Wrapper, word: str) -> int:
    """How many words an option takes; 0 for one that isn't known."""
    if word in wrapper.valued:
        return 2
    flag = word.partition("=")[0]
    known = flag in wrapper.valued or flag in wrapper.alone or word[:2] in wrapper.valued or _cluster(word, wrapper)
    if (
        known
        or (name == "nice" and re.match(r"--?\d+\Z", word))
        or (name == "xargs" and word[:2] in ("-i", "-l", "-e"))
    ):
        return 1
    return 0


def _replaced(options: Sequence[Argument]) -> str | None:
    """The text in xargs' command that its input takes the place of."""
    words = [each.static or "" for each in options]
    for at, word in enumerate(words):
        if word == "-I" and at + 1 < len(words):
            return words[at + 1]
        if word[:2] in ("-I", "-i"):
            return word[2:] or "{}"
        if word.startswith("--replace"):
            return word.partition("=")[2] or "{}"
    return None


def _cluster(word: str, wrapper: Wrapper) -> bool:
    """Whether a word is several short options at once, the last of them perhaps with its value."""
    if word.startswith("--"):
        return False
    for letter in word[1:]:
        if f"-{letter}" in wrapper.valued:
            return word[-1] != letter
        if f"-{letter}" not in wrapper.alone:
            return False
    return True


def _all_ways(inner: Inner, rest: Sequence[Argument]) -> Inner:
    """Every word could be the command's first."""
    inner.loose = True
    for at in range(min(len(rest), 12)):
        word = rest[at].static
        if word is not None and not word.startswith("-"):
            inner.commands.append(tuple(rest[at:]))
    return inner


def _appended(inner: Inner, command: Sequence[Argument], replace: str | None) -> None:
    """A command that gets words from elsewhere must have its program fixed, at every level."""
    program = command[0].static
    if program is None or (replace and replace in program):
        inner.doubt = "what it runs isn't known until it runs"
        return
    if len(command) > MOST_WORDS or sum(each.static in _APPENDERS for each in command) > MOST_APPENDERS:
        inner.doubt = "it wraps too many commands"
        return
    deeper = unwrap(command)
    if deeper is None:
        return
    named = family(program)
    text = replace or "{}"
    if deeper.doubt or (not deeper.commands and not deeper.scripts) or any(text in script for script in deeper.scripts):
        inner.doubt = f"{named} gets what it runs from elsewhere"


def _joined(command: Sequence[Argument], *, appends: bool) -> Inner:
    texts = [each.static for each in command]
    if any(text is None for text in texts) or appends:
        inner = Inner(commands=[tuple(command)])
        inner.doubt = "the shell line that it runs isn't known until it runs"
        return inner
    return Inner(scripts=[" ".join(text for text in texts if text is not None)])


def _script(rest: Sequence[Argument]) -> Inner:
    """The first word is a shell line."""
    if not rest:
        return Inner()
    static = rest[0].static
    if static is None:
        return Inner(doubt="the shell line that it runs isn't known until it runs")
    return Inner(scripts=[static])


def _shell(rest: Sequence[Argument]) -> Inner:
    """``sh -c LINE``, ``sh FILE``, or a shell that reads its lines from elsewhere."""
    at, line = 0, False
    while at < len(rest):
        word = rest[at].static
        if word is None:
            return Inner(doubt="what it runs isn't known until it runs")
        if word in ("--", "-"):
            at += 1
            break
        if not re.match(r"[-+][A-Za-z-]", word):
            break
        at += 1
        if word.startswith("--"):
            if word in ("--rcfile", "--init-file"):
                return Inner(doubt="it names a start-up file of its own")
            if word in ("--version", "--help"):
                return Inner()
            continue
        # Each o and O takes a word of its own, wherever it stands among the letters.
        line = line or "c" in word
        at += sum(word.count(letter) for letter in "oO")
    if line:
        return _script(rest[at : at + 1]) if at < len(rest) else Inner(doubt="the line that it runs is missing")
    if at >= len(rest) or rest[at].static in (None, "/dev/stdin", "/dev/fd/0", "/dev/fd/63", "-", "/proc/self/fd/0"):
        return Inner(doubt="it runs whatever it is sent")
    return Inner()


def _strange_shell(name: str, rest: Sequence[Argument]) -> Inner:
    """A shell whose lines nobody here can read."""
    words = [each.static for each in rest]
    if (
        words
        and all(word is not None for word in words)
        and not any((word or "-").startswith("-") for word in words[:1])
    ):
        return Inner()
    if words in (["--version"], ["--help"]):
        return Inner()
    return Inner(doubt=f"it runs a line of {name}")


def _eval(rest: Sequence[Argument]) -> Inner:
    return _joined(rest, appends=False) if rest else Inner()


def _trap(rest: Sequence[Argument]) -> Inner:
    if not rest or rest[0].static in ("-", "-p", "-l", ""):
        return Inner()
    return _script(rest[1:] if rest[0].static == "--" else rest)


def _su(rest: Sequence[Argument]) -> Inner:
    for at, each in enumerate(rest):
        if each.static in ("-c", "--command"):
            return _script(rest[at + 1 : at + 2])
        if each.static is not None and each.static.startswith("--command="):
            return Inner(scripts=[each.static.partition("=")[2]])
    return Inner(doubt="it starts a shell as somebody else")


def _runuser(rest: Sequence[Argument]) -> Inner:
    """``runuser -u USER COMMAND``, or su's form."""
    if any(each.static in ("-u", "--user") or (each.static or "").startswith(("-u", "--user=")) for each in rest):
        return _wrapped("runuser", WRAPPERS["runuser"], rest)
    return _su(rest)


def _later(rest: Sequence[Argument]) -> Inner | None:
    """``at`` and ``batch`` read the lines that they run later."""
    words = [each.static or "" for each in rest]
    if any(re.match(r"-[lrdcV]", word) for word in words):
        return None
    return Inner(doubt="it runs later what it is sent")


def _group(rest: Sequence[Argument]) -> Inner:
    """``sg GROUP [-c] LINE``."""
    words = [each for each in rest if each.static not in ("-", "-c")]
    return _script(words[1:2]) if len(words) > 1 else Inner(doubt="it starts a shell as another group")


def _arch(rest: Sequence[Argument]) -> Inner:
    """``setarch [ARCH] [options] COMMAND``, under each of its names."""
    return _all_ways(Inner(), rest)


def _find(rest: Sequence[Argument]) -> Inner | None:
    inner, at = Inner(), 0
    while at < len(rest):
        if rest[at].static in _FIND_RUNS:
            stop = at + 1
            while stop < len(rest) and rest[stop].static not in (";", "+"):
                stop += 1
            command = tuple(rest[at + 1 : stop])
            if command:
                inner.commands.append(command)
                _appended(inner, command, "{}")
            at = stop
        at += 1
    return inner if inner.commands or inner.doubt else None


def _git(rest: Sequence[Argument]) -> Inner | None:
    words = [each.static for each in rest]
    for at, word in enumerate(words):
        following = rest[at + 1 :]
        if word == "bisect" and words[at + 1 : at + 2] == ["run"]:
            return Inner(commands=[tuple(rest[at + 2 :])])
        if word == "submodule" and "foreach" in words[at:]:
            index = words.index("foreach", at)
            return _joined([each for each in rest[index + 1 :] if each.static != "--recursive"], appends=False)
        if word in (
            "-x",
            "--exec",
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--env-filter",
            "--commit-filter",
            "--extcmd",
        ) and ("rebase" in words or "filter-branch" in words or "difftool" in words):
            return _script(following[:1])
        if word is not None and (
            (word.startswith(("--exec=", "-x")) and "rebase" in words)
            or (word.startswith(("--extcmd=", "-x")) and "difftool" in words)
        ):
            return Inner(scripts=[word.partition("=")[2] if word.startswith("--") else word[2:]])
    return None


def _ssh(rest: Sequence[Argument]) -> Inner | None:
    valued = {f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw"}
    at = 0
    while at < len(rest):
        word = rest[at].static
        if word is None or not word.startswith("-"):
            break
        at += 2 if word in valued else 1
    command = rest[at + 1 :]
    return _joined(command, appends=False) if command else None


def _script_command(rest: Sequence[Argument]) -> Inner | None:
    for at, each in enumerate(rest):
        if each.static in ("-c", "--command", "-qc", "-ec"):
            return _script(rest[at + 1 : at + 2])
    return Inner(doubt="it starts a shell of its own")


def _run(rest: Sequence[Argument]) -> Inner | None:
    """``uv run`` and ``conda run``."""
    words = [each.static for each in rest]
    if "run" not in words[:4]:
        return None
    at = words.index("run") + 1
    while at < len(words):
        word = words[at]
        if word is None or word in ("-m", "--module", "-s", "--script", "--gui-script"):
            return _all_ways(Inner(), rest[at:])
        if word == "--":
            at += 1
            break
        if not word.startswith("-"):
            break
        used = _option("run", RUN, word)
        if not used:
            return _all_ways(Inner(), rest[at + 1 :])
        at += used
    return Inner(commands=[tuple(rest[at:])]) if at < len(rest) else Inner()


_SPECIAL = {
    "eval": _eval,
    "trap": _trap,
    "su": _su,
    "runuser": _runuser,
    "at": _later,
    "batch": _later,
    "sg": _group,
    **dict.fromkeys(
        ("setarch", "linux32", "linux64", "i386", "i686", "x86_64", "uname26", "ppc", "s390x", "arm64"), _arch
    ),
    "find": _find,
    "git": _git,
    "ssh": _ssh,
    "script": _script_command,
    **dict.fromkeys(("uv", "conda", "mamba", "micromamba"), _run),
}


def allowed_form(args: Sequence[Argument]) -> tuple[Argument, ...]:
    """The command that an allow rule must name: past nice, timeout, nohup, time, command and env without options."""
    args = tuple(args)
    while len(args) > 1 and args[0].static in _TRANSPARENT:
        name, at = args[0].static, 1
        if name == "nice" and args[1].static == "-n":
            if len(args) < 4 or not re.match(r"-?\d+\Z", args[2].static or ""):
                break
            at = 3
        elif name == "timeout":
            while at + 1 < len(args) and args[at].static in ("-k", "-s"):
                at += 2
            if at >= len(args) or not _DURATION.match(args[at].static or ""):
                break
            at += 1
        if at >= len(args):
            break
        first = args[at].static
        if first is None or first.startswith("-") or "=" in first or UNKNOWN in first:
            break
        args = args[at:]
    return args
