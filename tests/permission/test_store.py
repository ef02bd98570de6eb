"""Rules in files: their schema, trust, and writing without losing anything."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.rule import PermissionContext, PermissionMode, PermissionRule
from nbtoolkit.permission.rules_file import digest
from nbtoolkit.permission.store import PROJECT, USER, Store, StoredServer, StoreError, find_project_file, user_file
from nbtoolkit.tool.write import Write


def allow(text: str, **options: Any) -> PermissionRule:
    return PermissionRule.parse(text, "allow", **options)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def texts(store: Store) -> list[str]:
    return sorted(f"{rule.behavior.value} {rule} ({rule.source})" for rule in store.grants)


FULL = """
    # What we agreed on in March.
    mode = "accept_edits"
    allow = [
        "Bash(git status:*)",  # looks only
        {rule = "load_table(path=data/**)", definition = "sha256:abc"},
    ]
    ask = ["Bash(git push:*)"]
    deny = ["Read(*.pem)"]
    working_directories = ["../shared"]

    [mcp_servers.files]
    command = "mcp-server-files"
"""


# --------------------------------------------------------------------------------------------------------- finding
def test_the_project_file_is_found_upwards_to_the_repositorys_root(project: Path) -> None:
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project_file(deep) == (project / "nbtoolkit.toml", False)
    write(project.parent / "nbtoolkit.toml", "")
    assert find_project_file(deep) == (project / "nbtoolkit.toml", False)
    write(project / "nbtoolkit.toml", "")
    assert find_project_file(deep) == (project / "nbtoolkit.toml", True)
    write(project / "a" / "nbtoolkit.toml", "")
    assert find_project_file(deep) == (project / "a" / "nbtoolkit.toml", True)


def test_without_a_repository_it_lies_beside_the_notebook(tmp_path: Path) -> None:
    deep = tmp_path / "a"
    deep.mkdir()
    write(tmp_path / "nbtoolkit.toml", "")
    assert find_project_file(deep) == (deep / "nbtoolkit.toml", False)


def test_the_persons_file_lies_in_the_platforms_folder(project: Path) -> None:
    found = user_file()
    assert found is not None
    assert found.is_relative_to(project.parent / "home")
    assert found.name == "nbtoolkit.toml"


# ------------------------------------------------------------------------------------------------------------ trust
def test_a_file_that_nobody_accepted_only_restricts(project: Path) -> None:
    write(project / "nbtoolkit.toml", FULL)
    store, context = Store(Grants()), PermissionContext()
    assert store.load() == []
    store.apply(context)
    assert texts(store) == ["ask Bash(git push:*) (nbtoolkit.toml)", "deny Read(*.pem) (nbtoolkit.toml)"]
    assert not store.accepted
    assert context.mode is PermissionMode.DEFAULT
    assert context.working_directories == {}
    assert context.base == str(project)
    assert store.withheld == [
        "allow Bash(git status:*)",
        "allow load_table(path=data/**)",
        f"working directory {project.parent / 'shared'}",
        "server files",
        "mode accept_edits",
    ]
    assert store.mcp_servers == {"files": StoredServer("files", {"command": "mcp-server-files"}, PROJECT, waits=True)}


def test_an_accepted_file_counts_whole_and_in_the_next_kernel_too(project: Path) -> None:
    write(project / "nbtoolkit.toml", FULL)
    store = Store(Grants())
    store.load()
    assert store.accept(store.project_digest) is None
    for each in (store, Store(Grants())):
        context = PermissionContext()
        each.load()
        each.apply(context)
        assert each.accepted
        assert "allow Bash(git status:*) (nbtoolkit.toml)" in texts(each)
        assert context.mode is PermissionMode.ACCEPT_EDITS
        assert list(context.working_directories) == [str(project.parent / "shared")]
    bound = next(rule for rule in store.grants if rule.definition)
    assert (bound.definition, bound.base) == ("sha256:abc", str(project))


def test_a_change_from_elsewhere_has_to_be_accepted_again(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", 'allow = ["a"]')
    store = Store(Grants())
    store.load()
    shown = store.project_digest
    path.write_text('allow = ["a", "b"]')
    with pytest.raises(StoreError, match="has changed since it was shown"):
        store.accept(shown)
    store.accept()
    assert texts(store) == ["allow a (nbtoolkit.toml)", "allow b (nbtoolkit.toml)"]
    path.write_text('allow = ["a", "b", "c"]')
    store.load()
    assert texts(store) == []


def test_another_projects_acceptance_says_nothing_about_this_one(project: Path) -> None:
    write(project / "nbtoolkit.toml", 'allow = ["a"]')
    Store(Grants()).accept()
    clone = project.parent / "clone"
    write(clone / "nbtoolkit.toml", 'allow = ["a"]')
    store = Store(Grants(), clone)
    store.load()
    assert not store.accepted


# ----------------------------------------------------------------------------------------------------------- schema
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('alow = ["a"]', "unknown key 'alow'. Is 'allow' meant?"),
        ("colour = 1", "unknown key 'colour'."),
        ('mode = "yolo"', "'yolo' is no mode"),
        ('mode = "bypass"', "may not set 'bypass'"),
        ('allow = "a"', "allow: expected a list"),
        ("allow = [1]", "expected a rule's text, got 1"),
        ('allow = ["load(limit=>5)"]', "'=>' is no comparison"),
        ('allow = ["Bash(ls"]', "must end with the parenthesis"),
        ('allow = [{rule = "a", until = "x"}]', "expected {rule"),
        ("working_directories = [1]", "expected a folder's path"),
        ("mcp_servers = 1", "expected a table for each server"),
        ("[mcp_servers]\nfs = 1", "mcp_servers.fs: expected a table"),
        ("[accepted]\na = 'b'", "unknown key 'accepted'"),
        ("allow = [", "is not valid TOML"),
        ("\xff", "is not valid TOML"),
    ],
)
def test_what_doesnt_fit_is_named_and_the_rest_counts(project: Path, text: str, said: str) -> None:
    broken = said == "is not valid TOML"
    head = "" if broken else 'deny = ["Read(*.pem)"]\n'
    (project / "nbtoolkit.toml").write_bytes((head + text).encode("latin-1"))
    store = Store(Grants())
    store.load()
    assert said in "\n".join(map(str, store.problems))
    assert str(project / "nbtoolkit.toml") in str(store.problems[0])
    assert texts(store) == ([] if broken else ["deny Read(*.pem) (nbtoolkit.toml)"])
    assert store.mode is None


def test_a_deny_rule_with_a_faulty_binding_still_denies(project: Path) -> None:
    write(project / "nbtoolkit.toml", 'deny = [{rule = "a", until = "x"}]')
    store = Store(Grants())
    assert store.load()
    assert texts(store) == ["deny a (nbtoolkit.toml)"]


def test_a_file_that_breaks_keeps_what_it_said_before(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", 'deny = ["a"]')
    store = Store(Grants())
    store.load()
    path.write_text("deny = [")
    assert store.load()
    assert texts(store) == ["deny a (nbtoolkit.toml)"]
    path.unlink()
    assert store.load() == []
    assert texts(store) == []


def test_the_person_may_set_bypass_for_themselves(project: Path) -> None:
    path = user_file()
    assert path is not None
    write(path, 'mode = "bypass"\nallow = ["a"]')
    store = Store(Grants())
    assert store.load() == []
    assert store.mode is PermissionMode.BYPASS
    assert texts(store) == [f"allow a ({USER})"]


def test_reloading_replaces_what_the_files_said_and_nothing_else(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", 'deny = ["a"]')
    store = Store(Grants())
    store.grants.add(allow("mine", source="kernel"))
    store.load()
    path.write_text('deny = ["b"]')
    store.load()
    assert texts(store) == ["allow mine (kernel)", "deny b (nbtoolkit.toml)"]


# ---------------------------------------------------------------------------------------------------------- writing
def test_remembering_keeps_comments_and_layout(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", FULL)
    before = path.read_text()
    store = Store(Grants())
    store.accept()
    store.remember([allow("Bash(ls:*)"), allow("f(a=1)", definition="sha256:f")], "project")
    after = path.read_text()
    for line in before.splitlines():
        assert line in after
    assert '"Bash(ls:*)"' in after
    assert 'definition = "sha256:f"' in after
    fresh = Store(Grants())
    assert fresh.load() == []
    assert fresh.accepted
    assert "allow Bash(ls:*) (nbtoolkit.toml)" in texts(fresh)
    assert [rule.definition for rule in fresh.grants if str(rule) == "f(a=1)"] == ["sha256:f"]


def test_what_is_remembered_counts_at_once_and_is_written_once(project: Path) -> None:
    store = Store(Grants())
    store.load()
    for _ in range(2):
        store.remember([allow("a")], "project")
    assert texts(store) == ["allow a (nbtoolkit.toml)"]
    assert (project / "nbtoolkit.toml").read_text().count('"a"') == 1
    assert Store(Grants()).load() == []


def test_a_new_definitions_grant_takes_the_place_of_the_old_ones(project: Path) -> None:
    store = Store(Grants())
    store.load()
    store.remember([allow("f", definition="sha256:1")], "user")
    store.remember([allow("f", definition="sha256:2")], "user")
    assert store.user_path is not None
    assert "sha256:1" not in store.user_path.read_text()


def test_a_rule_is_added_before_the_tables_of_a_file_without_rules(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", '[mcp_servers.files]\ncommand = "x"\n')
    store = Store(Grants())
    store.accept()
    store.remember([allow("a")], "project")
    fresh = Store(Grants())
    assert fresh.load() == []
    assert texts(fresh) == ["allow a (nbtoolkit.toml)"]
    assert fresh.mcp_servers["files"].table == {"command": "x"}
    assert path.read_text().count("command") == 1


def test_nothing_is_written_into_a_file_that_nobody_accepted(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", 'allow = ["theirs"]')
    store = Store(Grants())
    store.load()
    with pytest.raises(StoreError, match="isn't accepted"):
        store.remember([allow("mine")], "project")
    assert path.read_text() == 'allow = ["theirs"]'
    assert texts(store) == []


def test_a_change_under_way_from_elsewhere_is_not_accepted_with_ours(project: Path) -> None:
    store = Store(Grants())
    store.load()
    store.remember([allow("mine")], "project")
    path = project / "nbtoolkit.toml"
    path.write_text(path.read_text() + 'deny = ["theirs"]\n')
    with pytest.raises(StoreError, match="isn't accepted"):
        store.remember([allow("more")], "project")


def test_a_forgotten_rule_leaves_the_file_and_the_kernel(project: Path) -> None:
    write(project / "nbtoolkit.toml", FULL)
    store = Store(Grants())
    store.accept()
    rule = next(rule for rule in store.grants if str(rule) == "Bash(git status:*)")
    assert store.forget(rule)
    assert not store.forget(rule)
    assert not store.forget(allow("typed"))
    assert "git status" not in (project / "nbtoolkit.toml").read_text()
    fresh = Store(Grants())
    fresh.load()
    assert fresh.accepted
    assert "allow Bash(git status:*) (nbtoolkit.toml)" not in texts(fresh)


def test_a_file_keeps_its_mode_and_no_half_written_one_stays(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", "")
    path.chmod(0o640)
    store = Store(Grants())
    store.accept()
    store.remember([allow("a")], "project")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in project.iterdir() if each.name != ".git"] == ["nbtoolkit.toml"]
    assert store.user_path is not None
    assert stat.S_IMODE(store.user_path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_file_as_it_was(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Grants())
    store.load()
    store.remember([allow("a")], "project")
    before = (project / "nbtoolkit.toml").read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        store.remember([allow("b")], "project")
    assert (project / "nbtoolkit.toml").read_text() == before
    assert [each.name for each in project.iterdir() if each.name != ".git"] == ["nbtoolkit.toml"]
    assert texts(store) == ["allow a (nbtoolkit.toml)"]


def test_a_link_out_of_the_project_is_not_followed(project: Path) -> None:
    target = write(project.parent / "elsewhere.toml", "")
    (project / "nbtoolkit.toml").symlink_to(target)
    store = Store(Grants())
    store.load()
    with pytest.raises(StoreError, match="leads out of the project"):
        store.remember([allow("a")], "project")
    assert target.read_text() == ""


def test_without_a_home_that_can_be_written_acceptance_holds_for_this_kernel(project: Path) -> None:
    write(project / "nbtoolkit.toml", 'allow = ["a"]')
    blocked = write(project.parent / "home" / "file", "")
    store = Store(Grants(), user=blocked / "nbtoolkit" / "nbtoolkit.toml")
    note = store.accept()
    assert note is not None
    assert "Accepted for this kernel" in note
    assert store.accepted
    assert texts(store) == ["allow a (nbtoolkit.toml)"]
    with pytest.raises(StoreError, match="can't be written"):
        store.remember([allow("b")], "user")


@pytest.mark.parametrize("scope", ["project", "user"])
def test_two_kernels_writing_at_once_lose_nothing(project: Path, scope: str) -> None:
    store = Store(Grants())
    store.load()
    store.remember([allow("first")], "project")
    program = dedent("""
        import sys
        from nbtoolkit.permission.grants import Grants
        from nbtoolkit.permission.rule import PermissionRule
        from nbtoolkit.permission.store import Store

        store = Store(Grants())
        store.load()
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(10):
            store.remember([PermissionRule.parse(f"{sys.argv[1]}(n={number})", "allow")], sys.argv[2])
    """)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def start(name: str, scope: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", program, name, scope]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    kernels = [start("a", scope), start("b", scope)]
    for kernel in kernels:
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == "ready\n"
    for kernel in kernels:
        kernel.communicate("go\n", timeout=50)
        assert kernel.returncode == 0
    fresh = Store(Grants())
    assert fresh.load() == []
    assert fresh.accepted
    source = USER if scope == "user" else PROJECT
    assert len([rule for rule in fresh.grants if rule.source == source and rule.tool_name in {"a", "b"}]) == 20


def test_the_digest_is_of_the_files_bytes() -> None:
    assert digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_rule_that_is_removed_leaves_its_file_too(project: Path) -> None:
    grants = Grants()
    Store(grants).load()
    engine = PermissionEngine(PermissionContext(), grants)
    assert engine.store is not None
    (rule,) = engine.store.remember([allow("a")], "project")
    assert engine.remove_rule(rule)
    assert not engine.remove_rule(rule)
    assert '"a"' not in (project / "nbtoolkit.toml").read_text()
    assert list(grants) == []


def test_there_must_be_a_file_to_accept(project: Path) -> None:
    with pytest.raises(StoreError, match="to accept"):
        Store(Grants()).accept()


def test_a_home_that_nobody_has_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Grants())
    monkeypatch.setattr(store, "user_path", None)
    assert store.load() == []
    with pytest.raises(StoreError, match="no home folder"):
        store.remember([allow("a")], "user")
    assert store.remember([allow("a")], "project")
    assert store.accepted
    with pytest.raises(ValueError, match="'cell' has no file"):
        store.remember([allow("a")], "cell")


def test_a_list_that_is_none_is_not_written_to(project: Path) -> None:
    path = user_file()
    assert path is not None
    write(path, 'allow = "a"')
    store = Store(Grants())
    assert store.load()
    with pytest.raises(StoreError, match="must be a list of rules"):
        store.remember([allow("b")], "user")
    assert path.read_text() == 'allow = "a"'


def test_what_is_too_large_or_a_folder_is_no_file_of_rules(project: Path) -> None:
    path = project / "nbtoolkit.toml"
    path.write_text("#" * 1_000_001)
    assert "larger than" in str(Store(Grants()).load()[0])
    path.unlink()
    user = user_file()
    assert user is not None
    user.mkdir(parents=True)
    assert "can't be read" in str(Store(Grants()).load()[0])


def test_a_projects_server_is_listed_at_once_and_given_out_only_as_it_was_accepted(project: Path) -> None:
    path = write(project / "nbtoolkit.toml", '[mcp_servers.files]\ncommand = "x"\n')
    store = Store(Grants())
    store.load()
    assert store.mcp_servers["files"].waits
    assert store.withheld == ["server files"]
    with pytest.raises(StoreError, match="isn't accepted"):
        store.server("files")
    with pytest.raises(StoreError, match="names a server 'file'"):
        store.server("file")
    store.accept(store.project_digest)
    assert store.server("files") == {"command": "x"}
    path.write_text('[mcp_servers.files]\ncommand = "evil"\n')
    with pytest.raises(StoreError, match="isn't accepted"):
        store.server("files")


def test_a_project_that_nobody_accepted_does_not_stand_in_for_a_server_of_ones_own(project: Path) -> None:
    user = user_file()
    assert user is not None
    write(user, '[mcp_servers.files]\ncommand = "mine"\n')
    write(project / "nbtoolkit.toml", '[mcp_servers.files]\ncommand = "theirs"\n')
    store = Store(Grants())
    store.load()
    assert store.server("files") == {"command": "mine"}
    store.accept(store.project_digest)
    assert store.server("files") == {"command": "theirs"}


def test_another_conversation_gets_the_files_folders_and_mode_too(project: Path, tmp_path: Path) -> None:
    user = user_file()
    assert user is not None
    write(user, f'mode = "accept_edits"\nworking_directories = ["{tmp_path}/more"]\n')
    grants = Grants()
    store = Store(grants)
    store.load()
    second = PermissionEngine(PermissionContext(), grants)
    chosen = PermissionEngine(PermissionContext(mode=PermissionMode.EXPLORE), grants)
    given = {"file_path": str(tmp_path / "more" / "new.txt"), "content": ""}
    assert asyncio.run(second.check_permission(Write(), given)).behavior.value == "allow"
    assert asyncio.run(chosen.check_permission(Write(), given)).behavior.value == "deny"
    write(user, "")
    store.load()
    assert asyncio.run(second.check_permission(Write(), given)).behavior.value == "ask"


def test_a_deny_rule_that_cant_be_read_asks_until_it_is_mended(tmp_path: Path) -> None:
    (tmp_path / "nbtoolkit.toml").write_text('allow = ["load(limit=>9)"]\ndeny = ["load(limit=>5)", "Bash(rm"]\n')
    grants = Grants()
    problems = Store(grants, tmp_path, user=tmp_path / "none.toml").load()
    assert sorted("=>" in str(each) for each in problems) == [False, True, True]
    assert [str(rule) for rule in grants] == ["load(limit=>5)", "Bash(rm)"]


def test_kernels_that_take_turns_find_what_each_other_saved_accepted(project: Path) -> None:
    write(project / "nbtoolkit.toml", '# kept\nallow = [\n    "Bash(ls)",  # why\n]\n')
    stores = [Store(Grants()), Store(Grants())]
    for store in stores:
        store.load()
    stores[0].accept()
    for number in range(6):
        stores[number % 2].remember([allow(f"f(n={number})")], "project")
    fresh = Store(Grants())
    assert not fresh.load()
    assert fresh.accepted
    assert texts(fresh) == ["allow Bash(ls) (nbtoolkit.toml)"] + [
        f"allow f(n={number}) (nbtoolkit.toml)" for number in range(6)
    ]
    text = (project / "nbtoolkit.toml").read_text()
    assert "# kept" in text
    assert "# why" in text
    # What somebody else changes in between is accepted by neither.
    (project / "nbtoolkit.toml").write_text(text + "ask = []\n")
    for store in stores:
        with pytest.raises(StoreError, match="isn't accepted"):
            store.remember([allow("g")], "project")
