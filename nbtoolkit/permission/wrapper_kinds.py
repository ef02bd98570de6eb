"""Programs that run others in a way of their own: shells, eval and trap, su, find, git, ssh, environment managers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.wrapped import Inner, all_ways, joined, script
from nbtoolkit.permission.wrapper_table import RUN, WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["SPECIAL", "shell_line", "strange_line"]

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
# git rebase's --exec and git difftool's --extcmd, shortened and joined as git takes them.
_GIT_RUNS = re.compile(
    r"(?:-[a-zA-Z]*?x(?P<short>.*)|--ex(?:e|ec|t|tc|tcm|tcmd)?(?:=(?P<long>.*))?)\Z",
    re.DOTALL,
)
_FILTERS = frozenset(
    ["--setup", *(f"--{name}-filter" for name in ("tree", "index", "msg", "env", "commit", "parent", "tag-name"))]
)


def shell_line(rest: Sequence[Argument]) -> Inner:
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
        return script(rest[at : at + 1]) if at < len(rest) else Inner(doubt="the line that it runs is missing")
    if at >= len(rest) or rest[at].static in (None, "/dev/stdin", "/dev/fd/0", "/dev/fd/63", "-", "/proc/self/fd/0"):
        return Inner(doubt="it runs whatever it is sent")
    return Inner()


def strange_line(name: str, rest: Sequence[Argument]) -> Inner:
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
    return joined(rest, appends=False) if rest else Inner()


def _trap(rest: Sequence[Argument]) -> Inner:
    if not rest or rest[0].static in ("-", "-p", "-l", ""):
        return Inner()
    return script(rest[1:] if rest[0].static == "--" else rest)


def _su(rest: Sequence[Argument]) -> Inner:
    for at, each in enumerate(rest):
        if each.static in ("-c", "--command"):
            return script(rest[at + 1 : at + 2])
        if each.static is not None and each.static.startswith("--command="):
            return Inner(scripts=[each.static.partition("=")[2]])
    return Inner(doubt="it starts a shell as somebody else")


def _runuser(rest: Sequence[Argument]) -> Inner:
    """``runuser -u USER COMMAND``, or su's form."""
    if any(each.static in ("-u", "--user") or (each.static or "").startswith(("-u", "--user=")) for each in rest):
        from nbtoolkit.permission.wrappers import wrapped

        return wrapped("runuser", WRAPPERS["runuser"], rest)
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
    return script(words[1:2]) if len(words) > 1 else Inner(doubt="it starts a shell as another group")


def _arch(rest: Sequence[Argument]) -> Inner:
    """``setarch [ARCH] [options] COMMAND``, under each of its names."""
    return all_ways(Inner(), rest)


def _find(rest: Sequence[Argument]) -> Inner | None:
    from nbtoolkit.permission.wrappers import appended

    inner, at = Inner(), 0
    while at < len(rest):
        if rest[at].static in _FIND_RUNS:
            stop = at + 1
            while stop < len(rest) and rest[stop].static not in (";", "+"):
                stop += 1
            command = tuple(rest[at + 1 : stop])
            if command:
                inner.commands.append(command)
                appended(inner, command, "{}")
            at = stop
        at += 1
    if not inner.commands and _may_run(rest):
        # No rule for find alone names what it would run.
        inner.loose = True
        return inner
    return inner if inner.commands or inner.doubt else None


def _may_run(rest: Sequence[Argument]) -> bool:
    """Whether words that aren't known may bring find a command: several at once, or the option before one."""
    unknown = [at for at, each in enumerate(rest) if not each.known]
    ends = [at for at, each in enumerate(rest) if each.static in (";", "+")]
    return any(rest[at].splits for at in unknown) or bool(unknown and ends and unknown[0] < ends[-1])


def _git(rest: Sequence[Argument]) -> Inner | None:
    words = [each.static for each in rest]
    for at, word in enumerate(words):
        following = rest[at + 1 :]
        if word == "bisect" and words[at + 1 : at + 2] == ["run"]:
            return Inner(commands=[tuple(rest[at + 2 :])])
        if word == "submodule" and "foreach" in words[at:]:
            index = words.index("foreach", at)
            return joined([each for each in rest[index + 1 :] if each.static != "--recursive"], appends=False)
        if word in _FILTERS and "filter-branch" in words:
            return script(following[:1])
        option = _GIT_RUNS.match(word or "")
        if option is not None and ("rebase" in words or "difftool" in words):
            glued = option["long"] if option["long"] is not None else option["short"]
            return Inner(scripts=[glued]) if glued else script(following[:1])
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
    return joined(command, appends=False) if command else None


def _script_command(rest: Sequence[Argument]) -> Inner | None:
    for at, each in enumerate(rest):
        if each.static in ("-c", "--command", "-qc", "-ec"):
            return script(rest[at + 1 : at + 2])
    return Inner(doubt="it starts a shell of its own")


def _run(rest: Sequence[Argument]) -> Inner | None:
    """``uv run`` and ``conda run``."""
    from nbtoolkit.permission.wrappers import option

    words = [each.static for each in rest]
    if "run" not in words[:4]:
        return None
    at = words.index("run") + 1
    while at < len(words):
        word = words[at]
        if word is None or word in ("-m", "--module", "-s", "--script", "--gui-script"):
            return all_ways(Inner(), rest[at:])
        if word == "--":
            at += 1
            break
        if not word.startswith("-"):
            break
        used = option("run", RUN, word)
        if not used:
            return all_ways(Inner(), rest[at + 1 :])
        at += used
    return Inner(commands=[tuple(rest[at:])]) if at < len(rest) else Inner()


SPECIAL: dict[str, Callable[[Sequence[Argument]], Inner | None]] = {
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
