"""A repository's own settings run nothing behind a git command that is let through as read-only: tried with real git.

Every program that a repository can name here writes a file. A command that is allowed runs, and may not have made it.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.permission.git_settings import settings_of
from nbtoolkit.tool.bash import Bash

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git isn't installed")

READS = [
    "git status",
    "git diff",
    "git log -p",
    "git show",
    "git blame a.csv",
    "git log --format=%s",
    "git stash list",
]
# What a repository's settings say, and whether a command that compares files is then still let through.
SETTINGS = {
    "a program for differences": ("[diff]\n external = {evil}", True),
    "a driver's program": ('[diff "x"]\n command = {evil}', True),
    "a driver's program, written on one line": ('[diff "x"] Command = {evil}', True),
    "a driver's program, in the old form": ("[diff.x]\n\tcommand={evil} # so", True),
    "a driver that makes text": ('[diff "x"]\n textconv = {evil}\n cachetextconv = true', True),
    "a filter": ('[filter "x"]\n clean = {evil}\n smudge = {evil}\n required', False),
    "a filter that stays": ('[Filter "x"]\n proCess = {evil}', False),
    "a filter over two lines": ('[filter "x"]\n clean = \\\n  {evil}', False),
    "a watcher of files": ("[core]\n fsmonitor = {evil}", True),
    "hooks": ("[core]\n hooksPath = {folder}/hooks", True),
    "a pager": ("[core]\n pager = {evil}\n[pager]\n log = {evil}\n diff = {evil}", True),
    "signatures": ("[log]\n showSignature = true\n[gpg]\n program = {evil}\n[format]\n pretty = %G? %s", True),
    "an alias": ("[alias]\n status = !{evil}\n diff = !{evil}\n log = !{evil}", True),
    "a file that it includes": ("[include]\n path = {folder}/more", False),
    "a file that it includes for a reason": ('[includeIf "gitdir:/"]\n path = {folder}/more', False),
    "a setting that nobody reads so": ("[core]\n = x\n", False),
}


def run(*words: str, cwd: Path) -> None:
    named = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *named, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    """A repository with two commits, a change, and a script that tells when it runs."""
    shutil.rmtree(project / ".git")
    evil = project.parent / "evil"
    evil.write_text(f"#!/bin/sh\necho ran >> {project.parent}/ran\ncat\n")
    evil.chmod(0o755)
    hooks = project.parent / "hooks"
    hooks.mkdir()
    shutil.copy(evil, hooks / "post-index-change")
    (project.parent / "more").write_text(f'[filter "x"]\n clean = {evil}\n')
    run("init", "-q", cwd=project)
    (project / ".gitattributes").write_text("* diff=x filter=x\n")
    for text in ("a\n", "b\n"):
        (project / "a.csv").write_text(text)
        run("add", ".", cwd=project)
        run("commit", "-qm", text, cwd=project)
    (project / "a.csv").write_text("c\n")
    return project


def add(repository: Path, settings: str, file: str = ".git/config") -> None:
    folder = repository.parent
    with (repository / file).open("a") as opened:
        opened.write(settings.format(evil=folder / "evil", folder=folder) + "\n")


def call(bench: Any, cwd: Path, command: str, *rules: str) -> str:
    """Judge a command, and run it if it is allowed; nothing of the repository may then have run."""
    tool = Bash(cwd=cwd)
    behavior: str = bench("default", *rules).verdict(tool, command=command)
    if behavior == "allow":

        async def through() -> None:
            async for _ in tool.call(command):
                pass

        asyncio.run(through())
        ran = sorted(cwd.parent.glob("ran"))
        assert not ran, command
    return behavior


@pytest.mark.parametrize("name", SETTINGS)
def test_an_allowed_command_runs_nothing_of_the_repositorys(repository: Path, bench: Any, name: str) -> None:
    settings, compares = SETTINGS[name]
    add(repository, settings)
    if settings.startswith("[core]\n = "):
        assert call(bench, repository, "git status") == "ask"
        return
    found = {command: call(bench, repository, command) for command in READS}
    assert found["git log --format=%s"] == "allow"
    assert found["git log -p"] == found["git show"] == found["git stash list"] == "allow"
    assert found["git status"] == found["git diff"] == found["git blame a.csv"] == ("allow" if compares else "ask")


@pytest.mark.parametrize(
    "command",
    [
        "git -C ../project diff",
        "cd sub && git -C .. status",
        "cd ../project; git diff",
        "pushd ../project && git status",
        "for d in ../proj*; do git -C $d status; done",
        "cd sub 2>/dev/null || true; git diff",
        "make; git diff",
        "git diff | cat; make",
        "echo $(git status)",
        "timeout 5 git diff",
    ],
)
@pytest.mark.parametrize("name", ["a driver's program", "hooks", "a watcher of files", "a filter"])
def test_no_way_round_reaches_them(repository: Path, bench: Any, command: str, name: str) -> None:
    (repository.parent / "Makefile").touch()
    add(repository, SETTINGS[name][0])
    (repository / "sub").mkdir()
    assert call(bench, repository, command, "allow Bash(make:*)") == ("ask" if name == "a filter" else "allow")


def test_what_isnt_known_before_it_runs_is_asked_about(repository: Path, bench: Any) -> None:
    for command in ("cd $(echo ..) && git status", 'cd "$where" && git diff', 'git -C "$where" diff'):
        assert call(bench, repository, command) == "ask"


def test_a_worktrees_own_settings_count(repository: Path, bench: Any) -> None:
    run("worktree", "add", "-q", "../other", cwd=repository)
    run("config", "extensions.worktreeConfig", "true", cwd=repository)
    other = repository.parent / "other"
    assert call(bench, other, "git status") == "allow"
    add(repository, SETTINGS["a filter"][0], ".git/worktrees/other/config.worktree")
    assert call(bench, other, "git status") == "ask"
    add(repository, SETTINGS["a driver's program"][0])
    (other / "a.csv").write_text("d\n")
    assert call(bench, other, "git log -p") == "allow"


@pytest.mark.parametrize("name", ["a watcher of files", "a filter"])
def test_submodules_whose_git_hears_of_no_environment_are_asked_about(repository: Path, bench: Any, name: str) -> None:
    inner = repository.parent / "inner"
    inner.mkdir()
    run("init", "-q", cwd=inner)
    (inner / "x").write_text("x\n")
    run("add", ".", cwd=inner)
    run("commit", "-qm", "x", cwd=inner)
    run("submodule", "add", "-q", str(inner), "sub", cwd=repository)
    assert call(bench, repository, "git status") == "allow"
    add(repository, SETTINGS[name][0], ".git/modules/sub/config")
    (repository / "sub" / ".gitattributes").write_text("* filter=x\n")
    (repository / "sub" / "x").write_text("y\n")
    assert call(bench, repository, "git status") == "ask"
    assert call(bench, repository, "git log") == "allow"


@pytest.mark.parametrize(
    "command", ["git -C fake x", "cd fake && git x", "timeout 5 git -C fake x", "git -C fake x; ls"]
)
def test_no_rule_lets_a_folder_that_only_looks_like_a_repository_name_an_alias(
    repository: Path, bench: Any, command: str
) -> None:
    rules = ("allow Bash(git:*)", "allow Bash(mv:*)")
    (repository / "fake").mkdir()
    run("init", "-q", "--bare", ".", cwd=repository / "fake")
    add(repository, "[alias]\n x = !{evil}", "fake/config")
    assert call(bench, repository, command, *rules) == "ask"
    # One that is made by the line itself isn't there to be seen.
    (repository / "fake").rename(repository / "hidden")
    assert call(bench, repository, f"mv hidden fake && {command}", *rules) == "allow"


def test_a_folder_that_only_looks_like_a_repository_has_no_say(repository: Path, bench: Any) -> None:
    fake = repository / "fake"
    fake.mkdir()
    run("init", "-q", "--bare", ".", cwd=fake)
    add(repository, "[core]\n bare = false\n worktree = ..\n" + SETTINGS["a watcher of files"][0], "fake/config")
    for command in ("cd fake && git status", "git -C fake diff", "make; cd fake; git diff"):
        call(bench, repository, command, "allow Bash(make:*)")
    add(repository, SETTINGS["a filter"][0], "fake/config")
    assert call(bench, repository, "cd fake && git status") == "ask"


def test_the_settings_of_a_clean_repository_are_none(repository: Path) -> None:
    run("remote", "add", "origin", "https://example.org/x.git", cwd=repository)
    found = settings_of(str(repository))
    assert (found.drivers, found.comparing, found.anything) == (frozenset(), None, None)


def test_a_partial_clone_whose_remote_runs_a_program_is_asked_about(repository: Path, bench: Any) -> None:
    add(repository, '[remote "o"]\n url = x:y\n promisor = true')
    assert call(bench, repository, "git log -p") == "allow"
    add(repository, '[remote "o"]\n uploadpack = {evil}')
    assert call(bench, repository, "git log -p") == "ask"
