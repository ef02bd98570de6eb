"""The product's own files behind git, whose index says what a command may touch."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.permission.own_files import own_below, own_files_known
from nbtoolkit.permission.own_reach import could_be_own
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.tool.bash import Bash

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repository(project: Path) -> Path:
    """A repository whose index holds the rules' file."""
    if shutil.which("git") is None:
        pytest.skip("git isn't installed")
    shutil.rmtree(project / ".git")
    (project / "nbtoolkit.toml").write_text("")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("")
    for words in (["init", "-q"], ["add", "nbtoolkit.toml", "src"]):
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    return project


CHANGES = [
    "git checkout -- .",
    "git checkout main",
    "git switch main",
    "git restore .",
    "git restore nbtool*",
    "git reset --hard",
    "git stash",
    "git pull",
    "git merge x",
    "git rebase main",
    "git rm -r .",
    "git -C src checkout .",
    "cd src && git reset --hard HEAD~1",
]
LEAVES = [
    "git checkout -b new",
    "git checkout -- src",
    "git checkout HEAD~1 src/a.py",
    "git restore --staged .",
    "git restore src",
    "git reset",
    "git stash list",
    "git clean -fdx",
    "git commit -m x",
    "git fetch",
]


@pytest.mark.parametrize("command", CHANGES)
def test_git_asks_in_bypass_before_it_changes_a_tracked_own_file(repository: Path, bench: Any, command: str) -> None:
    assert bench("bypass").verdict(Bash(cwd=repository), command=command) == "ask"


@pytest.mark.parametrize("command", LEAVES)
def test_git_is_let_through_in_bypass_where_it_leaves_it_alone(repository: Path, bench: Any, command: str) -> None:
    assert bench("bypass").verdict(Bash(cwd=repository), command=command) == "allow"


def test_git_is_let_through_where_the_own_file_is_not_tracked(repository: Path, bench: Any) -> None:
    subprocess.run(["git", "rm", "-q", "--cached", "nbtoolkit.toml"], cwd=repository, check=True)
    tool = Bash(cwd=repository)
    assert bench("bypass").verdict(tool, command="git checkout -- .") == "allow"
    assert bench("bypass").verdict(tool, command="git clean -fd") == "ask"


def test_known_own_files_are_found_however_many_others_there_are(project: Path) -> None:
    for number in range(30):
        (project / f"d{number}" / "e").mkdir(parents=True)
    (project / "d7" / "e" / "nbtoolkit.toml").touch()
    assert list(own_below(str(project))) == [str(project / "d7" / "e" / "nbtoolkit.toml")]
    (project / "nbtoolkit.toml").touch()
    assert own_files_known([str(project / "d7")]) == [str(project / "nbtoolkit.toml")]
    assert next(own_below(str(project))) == str(project / "nbtoolkit.toml")
    assert list(own_below(str(project / "d1"))) == []


def test_what_a_folder_holds_is_seen_anew_when_it_changes(project: Path, bench: Any) -> None:
    tool, judge = Bash(cwd=project), bench("bypass")
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    for _ in range(2):
        assert judge.verdict(tool, command="rm -rf a") == "allow"
        assert bench().verdict(tool, command="grep -r x a") == "allow"
    (deep / "nbtoolkit.toml").touch()
    (deep / ".env").touch()
    assert judge.verdict(tool, command="rm -rf a") == "ask"
    assert bench().verdict(tool, command="grep -r x a") == "ask"


def test_nothing_that_is_named_among_very_many_is_lost(project: Path, bench: Any) -> None:
    (project / "nbtoolkit.toml").touch()
    many = " ".join(f"f{number}" for number in range(1_500))
    for command in (f"rm -rf {many} .", f"rm -rf {many} /", f"echo {many} | xargs rm; rm -rf {many} ../project"):
        assert bench("bypass").verdict(Bash(cwd=project), command=command) == "ask"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("{}", True),
        ("{}.toml", True),
        ("nb{}kit{}ml", True),
        ("{}nb{}{}toolkit{}", True),
        ("{}ml{}kit", False),
        ("nbtoolkit.toml{}l", False),
        # Each unknown part may be anything: to try all ways to divide the path would take longer than any call.
        ("{}" * 60 + "q", False),
        ("o{}" * 60, False),
    ],
)
def test_a_word_that_is_known_in_part_is_compared_with_the_rules_file_at_once(
    project: Path, text: str, own: bool
) -> None:
    (project / "nbtoolkit.toml").write_text("")
    assert could_be_own(text.replace("{}", UNKNOWN), [str(project)], str(project), below=False) is own
