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
    """A repository whose index holds the rules' file, which has been changed since."""
    if shutil.which("git") is None:
        pytest.skip("git isn't installed")
    shutil.rmtree(project / ".git")
    (project / "nbtoolkit.toml").write_text("")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("")
    for words in (["init", "-q"], ["add", "nbtoolkit.toml", "src"]):
        git(project, *words)
    (project / "nbtoolkit.toml").write_text("# changed\n")
    return project


def git(folder: Path, *words: str) -> None:
    """Run git with a name to commit by."""
    named = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def history(repository: Path) -> Path:
    """The same with branches: one that leaves the rules' file alone, one that changes it; nothing is left to commit."""
    git(repository, "commit", "-qam", "first")
    git(repository, "branch", "-M", "main")
    for branch, name in (("alike", "src/a.py"), ("other", "nbtoolkit.toml")):
        git(repository, "checkout", "-q", "-b", branch, "main")
        (repository / name).write_text("# other\n")
        git(repository, "commit", "-qam", branch)
    git(repository, "checkout", "-q", "main")
    return repository


@pytest.mark.parametrize(
    "command",
    [
        "git checkout alike",
        "git switch alike",
        "git switch --quiet alike",
        "git merge alike",
        "git merge --ff-only alike",
        "git cherry-pick alike",
        "git reset --hard",
        "git reset --hard alike",
        "git checkout -- .",
        "git checkout alike -- .",
        "git restore .",
        "git stash",
    ],
)
def test_git_is_let_through_where_the_own_file_stays_as_it_is(history: Path, bench: Any, command: str) -> None:
    assert bench("bypass").verdict(Bash(cwd=history), command=command) == "allow"
    (history / "nbtoolkit.toml").write_text("# not committed\n")
    assert bench("bypass").verdict(Bash(cwd=history), command=command) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git checkout other",
        "git switch other",
        "git merge other",
        "git cherry-pick other",
        "git revert other",
        "git reset --hard other",
        "git checkout other -- .",
        "git checkout nowhere",
        "git checkout -f alike",
        "git checkout $(cat branch)",
        "git -C . checkout alike",
        "git restore -s other .",
        "git merge -s theirs alike",
        "git pull",
        "git rebase alike",
        "git checkout main..other",
    ],
)
def test_git_asks_where_the_own_file_may_become_another(history: Path, bench: Any, command: str) -> None:
    assert bench("bypass").verdict(Bash(cwd=history), command=command) == "ask"


def test_a_place_in_the_search_path_that_is_where_the_shell_is_counts(
    project: Path, bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Bash(cwd=project)
    (project / "src").mkdir()
    for entry in (".", "", "./"):
        monkeypatch.setenv("PATH", f"/usr/bin:{entry}")
        assert bench("accept_edits").verdict(tool, command="cp src/x ls") == "ask"
        assert bench("accept_edits").verdict(tool, command="touch src/ls") == "allow"
        assert bench("accept_edits").verdict(tool, command="touch data.csv") == "allow"
    monkeypatch.setenv("PATH", "/usr/bin:src")
    assert bench("accept_edits").verdict(tool, command="touch src/ls") == "ask"
    assert bench("accept_edits").verdict(tool, command="touch ls") == "allow"


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
    subprocess.run(["git", "rm", "-qf", "--cached", "nbtoolkit.toml"], cwd=repository, check=True)
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


@pytest.mark.parametrize("secret", [".env", "conf/.env.local", "deep/er/id_rsa"])
def test_git_asks_before_it_shows_a_secret_that_is_tracked(history: Path, bench: Any, secret: str) -> None:
    tool, place = Bash(cwd=history), history / secret
    commands = ["git log -p", "git show", "git stash show -p", "git grep foo", "git diff main", "git log -p -- ."]
    assert {bench("explore").verdict(tool, command=each) for each in commands} == {"allow"}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("KEY=1\n")
    git(history, "add", "-f", secret)
    assert bench().judge(tool, command="git diff --cached").decision.bypass_immune
    git(history, "commit", "-qm", "secret")
    for each in commands:
        decision = bench("default", "allow Bash(git:*)").judge(tool, command=each).decision
        assert decision.bypass_immune, each
        assert secret in decision.message
    for each in ("git diff", "git diff --cached", "git log", "git log -p -- src", "git show --stat", "git status"):
        assert bench().verdict(tool, command=each) == "allow", each
    place.write_text("KEY=2\n")
    assert bench().verdict(tool, command="git diff") == "ask"


def test_what_a_line_adds_to_git_is_shown_by_its_next_command(history: Path, bench: Any) -> None:
    tool = Bash(cwd=history)
    line, judge = "git add -A && git diff --cached", bench("default", "allow Bash(git add:*)")
    assert judge.verdict(tool, command=line) == "allow"
    (history / ".env").write_text("KEY=1\n")
    assert judge.judge(tool, command=line).decision.bypass_immune
    assert judge.verdict(tool, command="git add -A && git status") == "allow"
    (history / ".gitignore").write_text("*.pyc\n.env\n")
    assert judge.verdict(tool, command=line) == "allow"
