"""The environment in which git, as far as it was judged to read only, runs nothing that a repository's settings name.

Where a line has other parts too, what those may need of git is left as it is: hooks, the network, upkeep. The rest is
switched off for the whole line, as an environment can't be for a part.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nbtoolkit.permission.command_subject import CommandSubject
from nbtoolkit.permission.git_settings import EXTERNAL, own_external_diff
from nbtoolkit.permission.programs import program_name
from nbtoolkit.permission.subject import Effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.subject import Subject

__all__ = ["only_reads", "quiet_git"]

# Programs that a command which only reads would start by the repository's settings.
_ALWAYS = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "interactive.diffFilter": "",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    # A folder that is made to look like a repository, by whoever may write files, would bring settings of its own.
    "safe.bareRepository": "explicit",
}
_ALONE = {
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}
_PLAIN = {"GIT_PAGER": "cat", "PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_DROPPED = ("GIT_DIFF_OPTS", "RIPGREP_CONFIG_PATH", "TAR_OPTIONS", "LESSOPEN")
# An empty diff program is an error to git, so where one is set up a plain one takes its place.
_PLAIN_DIFF = 'f() { diff -u --label "a/$1" --label "b/$1" "$2" "$5"; :; }; f'


def only_reads(parts: Sequence[Subject]) -> bool:
    """Whether every part of a line provably only reads."""
    return all(each.effect in (Effect.READ, Effect.READ_OUTSIDE) and each.safety is None for each in parts)


def _is_git(part: Subject) -> bool:
    """Whether a part runs git, itself or behind a wrapper."""
    if not isinstance(part, CommandSubject):
        return False
    return any(program_name(text) == "git" for form in part.forms if form for text in form[0][0] or ())


def quiet_git(env: dict[str, str], parts: Sequence[Subject]) -> None:
    """Change an environment so that git runs nothing for the parts of a line that only read."""
    reads = [each for each in parts if isinstance(each, CommandSubject) and each.drivers is not None]
    alone = only_reads(parts)
    if alone:
        for name in _DROPPED:
            env.pop(name, None)
        env.update(_PLAIN, GIT_NO_LAZY_FETCH="1")
    if not reads and not alone:
        if any(_is_git(each) for each in parts) and not any(each.safety for each in parts):
            # What was let through without a look at its settings reads those of a .git, which nobody else may write.
            at = int(env["GIT_CONFIG_COUNT"]) if env.get("GIT_CONFIG_COUNT", "").isdigit() else 0
            env[f"GIT_CONFIG_KEY_{at}"], env[f"GIT_CONFIG_VALUE_{at}"] = "safe.bareRepository", "explicit"
            env["GIT_CONFIG_COUNT"] = str(at + 1)
        return
    settings = {**_ALWAYS, **(_ALONE if alone else {})}
    named = {name for each in reads for name in each.drivers or ()}
    for name in sorted(named - {EXTERNAL}):
        settings[name] = _PLAIN_DIFF if name.endswith(".command") else "cat"
        settings[f"{name.rpartition('.')[0]}.cachetextconv"] = "false"
    env.update(_PLAIN)
    if EXTERNAL in named or (reads and (env.get("GIT_EXTERNAL_DIFF") or own_external_diff())):
        env["GIT_EXTERNAL_DIFF"] = _PLAIN_DIFF
    for at, (key, value) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{at}"] = key
        env[f"GIT_CONFIG_VALUE_{at}"] = value
    env["GIT_CONFIG_COUNT"] = str(len(settings))
