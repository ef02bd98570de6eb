"""The files of a glob are judged by folder where they are alike: what comes of it is what each by itself would give."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.permission import own_reach, shell_paths
from nbtoolkit.tool.bash import Bash

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["a.csv", "b.csv", "c.csv", "d.csv", "e.key", "f.csv", "g.txt", "h.csv", "i.csv", "j.csv"]
ODD = [".env", "-x.csv", "id_rsa", "nbtoolkit.toml", "x.lock", "cassette.jsonl", "my key.csv", "site.pth"]
COMMANDS = [
    "cat *",
    "cat *.csv",
    "wc -l *",
    "ls *",
    "rm *.csv",
    "rm -r *",
    "cp *.csv out",
    "mv *.csv out",
    "cp * /srv",
    "sed -i s/a/b/ *",
    "sort *.csv",
    "tar cf x.tar *",
    "cat sub/*",
    "cat */*",
    "cat ?.csv",
    "cat [a-d].csv",
    'for f in *; do cat "$f"; done',
    "chmod +x *",
    "cat < *.csv",
    "find * -delete",
]
RULES = [
    (),
    ("deny Read(*.key)",),
    ("deny Read(sub/**)", "allow Bash(cat:*)"),
    ("ask Write(*.lock)", "allow Bash(rm:*)"),
    ("deny Write(./out/c.csv)", "allow Write(./out/**)", "allow Bash(tar:*)"),
]


@pytest.mark.parametrize("seed", range(3))
def test_files_that_are_judged_together_are_judged_like_each_by_itself(
    project: Path, bench: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    (project / "out").mkdir()
    (project / "sub").mkdir()
    for folder in (project, project / "sub"):
        for name in chance.sample(NAMES, 9) + chance.sample(ODD, 2 if seed else 0):
            (folder / name).write_text("a\n")
        if chance.random() < 0.5:
            (folder / "k.csv").symlink_to("/etc/hostname")
        if chance.random() < 0.3:
            (project / "out" / "b.csv").unlink(missing_ok=True)
            (project / "out" / "b.csv").symlink_to("/etc/hostname")
    tool = Bash(cwd=project)

    def verdicts() -> dict[tuple[str, str, int], tuple[str, bool]]:
        found = {}
        for mode in ("default", "accept_edits"):
            for at, rules in enumerate(RULES):
                judge = bench(mode, *rules)
                for command in COMMANDS:
                    decision = judge.judge(tool, command=command).decision
                    found[command, mode, at] = decision.behavior.value, decision.bypass_immune
        return found

    together = verdicts()
    monkeypatch.setattr(shell_paths, "FEW", 10**9)
    monkeypatch.setattr(own_reach, "FEW", 10**9)
    assert together == verdicts()


def test_a_glob_sees_what_came_to_its_folder_since(project: Path, bench: Any) -> None:
    for name in NAMES:
        (project / name).write_text("a\n")
    os.utime(project, (1, 1))
    tool, judge = Bash(cwd=project), bench("accept_edits")
    for command in ("cat *", "rm *", "cat *.csv"):
        assert judge.verdict(tool, command=command) == "allow"
    (project / "z.csv").symlink_to("/etc/hostname")
    for command in ("cat *", "cat *.csv"):
        assert judge.verdict(tool, command=command) == "ask"
