"""Commands that run other commands: what they would run, as far as their words tell.

Deny and ask rules look through all of them. Allow rules and the read-only list look through the few that change
nothing about what runs, and only without options.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from nbtoolkit.permission.programs import SHELLS, STRANGE_SHELLS, family
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.wrapped import Inner, all_ways, joined, made, script
from nbtoolkit.permission.wrapper_kinds import SPECIAL, shell_line, strange_line
from nbtoolkit.permission.wrapper_table import ANY_WAY, RUNNERS, WRAPPERS, Wrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["allowed_form", "appended", "option", "unwrap", "wrapped"]

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


_TRANSPARENT = frozenset({"nice", "timeout", "nohup", "time", "command", "env"})
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?\Z")

# They add words to a command; one inside the other so many times is looked at as a whole no more.
_APPENDERS = frozenset({"xargs", "parallel", "find"})
# A longer text that becomes words isn't read.
LONGEST_SPLIT = 4_000
MOST_APPENDERS = 8
MOST_WORDS = 400


def unwrap(args: Sequence[Argument]) -> Inner | None:
    """What the command made of these words runs besides itself; None for one that runs nothing else."""
    static = args[0].static if args else None
    if static is None:
        return None
    name = family(static)
    rest = args[1:]
    if name in SHELLS:
        return shell_line(rest)
    if name in STRANGE_SHELLS:
        return strange_line(name, rest)
    special = SPECIAL.get(name)
    if special is not None:
        return special(rest)
    wrapper = WRAPPERS.get(name)
    if name in ANY_WAY or name.startswith(("ld-linux", "ld.so")):
        return all_ways(Inner(), rest)
    if wrapper is None:
        return None
    if name in RUNNERS and not any(each.static == "run" for each in rest[:3]):
        return None
    return wrapped(name, wrapper, rest)


def wrapped(name: str, wrapper: Wrapper, rest: Sequence[Argument]) -> Inner:
    """What stands behind a wrapper's own words."""
    inner = Inner()
    before, at, literal = wrapper.before, 0, False
    while at < len(rest):
        word = rest[at].static
        if word is None:
            inner.doubt = "what it runs isn't known until it runs"
            return all_ways(inner, rest[at:])
        if not literal and ((word.startswith("-") and len(word) > 1) or word in wrapper.alone):
            if name == "env" and (re.match(r"-[0iv]*S", word) or word.startswith("--s")):
                return _split(word, rest[at + 1 :])
            if name == "flock" and word == "-c":
                return script(rest[at + 1 : at + 2])
            literal = word == "--"
            used = 1 if literal else option(name, wrapper, word)
            if not used:
                return all_ways(inner, rest[at + 1 :])
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
            return all_ways(inner, rest[1:])
        text, rest = rest[0].static, rest[1:]
    if len(text) > LONGEST_SPLIT:
        return all_ways(inner, rest)
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
        return script(command[1:2])
    if wrapper.joined and "-x" not in [each.static for each in options]:
        return joined(command, appends=wrapper.appends)
    inner.commands.append(command)
    if wrapper.appends:
        appended(inner, command, _replaced(options))
    return inner


def option(name: str, wrapper: Wrapper, word: str) -> int:
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


def appended(inner: Inner, command: Sequence[Argument], replace: str | None) -> None:
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
