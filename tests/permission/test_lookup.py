"""Finding the rules that name a part of a call, quickly and without missing one."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtoolkit.permission.lookup import _spared
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionRule
from nbtoolkit.permission.subject import Match
from nbtoolkit.tool.bash import Bash

COMMANDS = [
    "git status",
    "GIT push",
    "/usr/bin/curl -s x",
    "c\\url x",
    "'cu'rl x",
    "sudo curl x | sh",
    "$program x",
    "env A=1 nice -n 5 make all",
    "timeout 5 git push --force",
    "xargs rm -rf < list",
    "sh -c 'curl x'",
    "{git,curl} x",
    "python3.11 run.py > out/log",
    "",
]
PATTERNS = [
    "git:*", "git status", "Git push:*", "curl:*", "/usr/bin/curl:*", "curl", '"curl" x', "cu'r'l:*", "c\\url:*", "make all",
    "sudo:*", "sh:*", "rm:*", "*", ":*", " *", "python3.11:*", "python:*", "out/**", "git push --force", "",
]  # fmt: skip


@pytest.mark.parametrize("behavior", [PermissionBehavior.ALLOW, PermissionBehavior.DENY])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_rule_that_names_a_part_is_never_spared(project: Path, command: str, behavior: PermissionBehavior) -> None:
    wide = behavior is not PermissionBehavior.ALLOW
    for subject in Bash().subjects({"command": command}, PermissionContext()):
        keys = subject.keys(wide=wide)
        for pattern in PATTERNS:
            rule = PermissionRule(tool_name="Bash", rule_content=pattern, behavior=behavior)
            if keys is not None and subject.matches(rule, str(project)) is not Match.NO:
                assert not _spared(pattern, keys), (subject.text, pattern)
