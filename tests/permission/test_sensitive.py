"""Which paths are sensitive, and which look like it but aren't."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.permission.rule import AdditionalWorkingDirectory, PermissionContext
from nbtoolkit.permission.sensitive import Places, inside, protect, roots, system_folder
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.write import Write


@pytest.mark.parametrize(
    "path",
    [
        "/h/.ssh/id_rsa",
        "/h/.SSH/config",
        "/h/.gnupg/x",
        "/h/.aws/credentials",
        "/h/.azure/x",
        "/h/.kube/config",
        "/h/.docker/config.json",
        "/h/.config/gcloud/x.db",
        "/h/.config/gh/hosts.yml",
        "/h/.netrc",
        "/h/.npmrc",
        "/h/.pypirc",
        "/h/.pgpass",
        "/h/.git-credentials",
        "/h/.gitconfig",
        "/p/.gitmodules",
        "/p/.git/config",
        "/p/.git/hooks/pre-commit",
        "/p/.env",
        "/p/.env.local",
        "/p/.env.production",
        "/h/.cache/huggingface/token",
        "/h/.kaggle/kaggle.json",
        "/p/kaggle.json",
        "/h/.bash_history",
        "/h/.python_history",
        "/h/.ipython/profile_default/history.sqlite",
        "/h/.bashrc",
        "/h/.zshenv",
        "/h/.profile",
        "/v/lib/python3.11/site-packages/sitecustomize.py",
        "/v/lib/python3.11/site-packages/x.pth",
        "/p/.vscode/settings.json",
        "/p/.idea/workspace.xml",
        "/h/.jupyter/jupyter_server_config.py",
        "/h/.local/share/jupyter/runtime/kernel-1.json",
        "/proc/1/environ",
        "/proc/self/environ",
        "/etc/shadow",
        "/p/nbtoolkit.toml",
        "/p/my.cassette.jsonl",
        "/h/.config/nbtoolkit/rules.toml",
    ],
)
def test_a_sensitive_place_is_known(path: str) -> None:
    assert Places().reason((path,))


@pytest.mark.parametrize(
    "path",
    [
        "/p/.github/workflows/ci.yml",
        "/p/.gitignore",
        "/p/.gitattributes",
        "/p/.env.example",
        "/p/.env/bin/python",
        "/p/environment.yml",
        "/p/model.pth",
        "/p/ssh/notes.md",
        "/h/.config/matplotlib/x",
        "/p/id_rsa.md",
        "/proc/cpuinfo",
        "/etc/hostname",
        "/p/data.csv",
    ],
)
def test_a_place_that_only_looks_like_it_is_ordinary(path: str) -> None:
    assert Places().reason((path,)) is None


def test_a_virtual_environment_called_env_is_no_secret(tmp_path: Path) -> None:
    folder = tmp_path / ".env"
    folder.mkdir()
    assert Places().reason((str(folder),))
    (folder / "pyvenv.cfg").touch()
    assert Places().reason((str(folder),)) is None


def test_what_pytorch_saves_is_asked_about_only_where_it_is_written_as_text() -> None:
    assert Places().reason(("/p/model.pth",), "read") is None
    assert Places().reason(("/p/model.pth",), "write")


def test_lists_given_replace_the_built_in_ones_but_never_the_products_own_files() -> None:
    places = Places(["*.secret"], ["vault"])
    assert places.reason(("/p/a.secret",))
    assert places.reason(("/p/vault/x",))
    assert places.reason(("/p/.env",)) is None
    assert places.reason(("/h/.ssh/x",)) is None
    assert places.reason(("/p/nbtoolkit.toml",))


def test_a_file_that_was_protected_is_the_products_own(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    protect(str(answers))
    assert Places().reason((str(answers),))


def test_a_tree_is_searched_for_sensitive_files_but_not_a_working_directorys_git(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert Places().below(str(tmp_path), skip_git_of=[str(tmp_path)]) is None
    assert Places().below(str(tmp_path))
    (tmp_path / "deep" / "er" / ".env").touch()
    found = Places().below(str(tmp_path), skip_git_of=[str(tmp_path)])
    assert found is not None
    assert found[0].endswith(".env")


def test_a_home_or_a_system_folder_is_no_working_directory_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    system_folder.cache_clear()
    for folder in ("/", "/usr", "/etc", str(tmp_path), str(tmp_path.parent)):
        assert roots(PermissionContext(working_directory=folder)) == ()
    named = PermissionContext(
        working_directory="/usr", working_directories={"x": AdditionalWorkingDirectory(path=str(tmp_path))}
    )
    assert roots(named) == (str(tmp_path.resolve()),)
    system_folder.cache_clear()


def test_inside_means_below_and_not_beside() -> None:
    assert inside("/a/b", ["/a"])
    assert inside("/a", ["/a"])
    assert not inside("/ab", ["/a"])
    assert inside("/x", ["/"])


@pytest.mark.parametrize(
    "command",
    [
        "cp tool .venv/bin/ls; ls",
        "cp tool .venv/bin/; ls",
        "mv tool .venv/bin/head",
        "mv other .venv",
        "cp -rT other .venv",
        "touch bin/cat",
        "sed -i s/a/b/ .venv/bin/ls",
    ],
)
def test_accepting_edits_lets_nothing_become_what_a_command_runs(
    project: Path, bench: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for folder in (".venv/bin", "other/bin"):
        (project / folder).mkdir(parents=True)
    for name in ("tool", ".venv/bin/ls", "other/bin/ls"):
        (project / name).touch()
    (project / "bin").symlink_to(".venv/bin")
    (project / ".venv" / "pyvenv.cfg").touch()
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    assert bench("accept_edits").verdict(Bash(), command=command) == "ask"
    assert bench("dont_ask").verdict(Bash(), command=command) == "deny"
    assert (
        bench("accept_edits", "allow Bash(cp:*)", "allow Bash(mv:*)").verdict(Bash(), command="touch tool") == "allow"
    )
    for mode, verdict in (("accept_edits", "ask"), ("dont_ask", "deny"), ("bypass", "allow")):
        found = bench(mode).verdict(Write(), file_path=".venv/bin/ls", content="x")
        assert found == verdict
    assert bench("accept_edits").verdict(Write(), file_path=".venv/notes.txt", content="x") == "allow"
    assert bench("accept_edits", "allow Write(.venv/**)").verdict(Write(), file_path="bin/x", content="x") == "allow"
