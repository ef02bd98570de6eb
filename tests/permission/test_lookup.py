"""Finding the rules that name a part of a call, quickly and without missing one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionRule
from nbtoolkit.permission.rule_index import RuleIndex
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
                assert rule in RuleIndex([rule]).select(keys), (subject.text, pattern)


def test_a_rule_that_is_added_or_removed_among_many_counts_at_once(project: Path) -> None:
    engine = PermissionEngine(PermissionContext(working_directory=str(project)))
    for number in range(50):
        engine.add_rule(f"Bash(program{number}:*)", "allow")

    def verdict() -> str:
        return asyncio.run(engine.check_permission(Bash(), {"command": "deploy now"})).behavior.value

    assert verdict() == "ask"
    rule = engine.add_rule("Bash(deploy:*)", "allow")
    assert verdict() == "allow"
    engine.add_rule("Bash(deploy now)", "deny")
    assert verdict() == "deny"
    engine.remove_rule(PermissionRule.parse("Bash(deploy now)", "deny"))
    engine.remove_rule(rule)
    assert verdict() == "ask"


def test_the_first_of_several_rules_that_name_a_command_is_the_one_that_is_told(project: Path) -> None:
    engine = PermissionEngine(PermissionContext(working_directory=str(project)))
    for number in range(20):
        engine.add_rule(f"Bash(program{number}:*)", "deny")
    for text in ("Bash(make all:*)", "Bash", "Bash(make:*)"):
        engine.add_rule(text, "deny")
    decision = asyncio.run(engine.check_permission(Bash(), {"command": "make all"}))
    assert decision.decision_reason == "Rule: Bash(make all:*)"
    decision = asyncio.run(engine.check_permission(Bash(), {"command": "make clean"}))
    assert decision.decision_reason == "Rule: Bash"
