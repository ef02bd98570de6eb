"""Files of rules and cassettes that are garbage: each is said in a line, allows nothing, and isn't written over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from nbtoolkit import hooks
from nbtoolkit.exception import CassetteError
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.extension import Extension
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.proof.plan import LIMIT, LONG, Plan

pytestmark = pytest.mark.timeout(LIMIT)

RULES: dict[str, bytes] = {
    "bytes": bytes(range(256)),
    "NUL": b'allow = ["work"]\x00',
    "a NUL in a rule": b'allow = ["work\\u0000"]\n',
    "empty": b"",
    "half a line": b'allow = ["wor',
    "wrong types": b'allow = "work"\nask = 3\ndeny = [4, [], {}]\nmode = []\nworking_directories = {}\nmcp_servers = "x"\n',
    "wrong tables": b"[mcp_servers]\none = 1\n[mcp_servers.two]\ncommand = {}\nargs = 4\n[accepted]\nx = []\n",
    "twice": b'mode = "explore"\nmode = "bypass"\n',
    "bypass": b'mode = "bypass"\n',
    "10 MB": b'allow = ["work"]\n' + b"# x\n" * 2_500_000,
    "deep": b"allow = " + b"[" * 50_000,
    "UTF-16": 'allow = ["work"]'.encode("utf-16"),
    "rules that are none": b'allow = ["", "(", "work(", "work(a", "work(path=", "mcp__", "Bash(:*)", "\\n"]\n',
    "many rules": b"allow = [" + b'"none(x=1)",' * (30_000 if LONG else 3_000) + b"]",
}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[InteractiveShell]:
    monkeypatch.setattr(hooks, "_toolkit", None)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def work(a: int = 1) -> int:
    """Work."""
    return a


@pytest.mark.parametrize("where", ["project", "own"] if LONG else ["project"])
@pytest.mark.parametrize("kind", [*RULES, "a folder", "a link to itself", "not to be read"])
def test_a_broken_file_of_rules_is_said_and_allows_nothing(
    shell: InteractiveShell, tmp_path: Path, kind: str, where: str, plan: Plan
) -> None:
    file = (tmp_path / "project" if where == "project" else tmp_path / "config" / "nbtoolkit") / "nbtoolkit.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a folder":
        file.mkdir()
    elif kind == "a link to itself":
        file.symlink_to(file)
    elif kind == "not to be read":
        # /proc/self/mem is a file that nobody can read from its beginning.
        file.symlink_to("/proc/self/mem")
    else:
        file.write_bytes(RULES[kind])
    before = file.read_bytes() if kind in RULES else None
    extension = Extension(shell)
    with capture_output() as loaded:
        extension.load()
    try:
        toolkit = hooks.get_toolkit()
        toolkit.register(FunctionTool(work), "basic")
        scope = "project" if where == "project" else "user"

        async def approver(_: ApprovalRequest) -> Approval:
            return Approval.allow(rule="work", scope=scope)  # type: ignore[arg-type]

        toolkit.approver = approver
        said = loaded.stdout + "".join(each.data.get("text/plain", "") for each in loaded.outputs)
        assert "Traceback" not in said
        assert len(said) < 20_000, "garbage isn't repeated at length"
        harmless = {"empty", "many rules"} | ({"bypass"} if where == "own" else set())
        assert (
            bool(said.strip()) or kind in harmless or (where == "project" and kind in {"a folder", "a link to itself"})
        )
        if kind != "bypass" or where == "project":
            judged = toolkit.explain_sync("work", {})
            assert judged.decision.behavior is PermissionBehavior.ASK
            with capture_output():
                response = toolkit.call_sync("work")
            assert response.state is ToolResultState.SUCCESS
            entry = list(toolkit.log)[-1]
            assert entry.words.startswith("allowed")
            if kind not in {"empty", "many rules", "rules that are none", "a NUL in a rule", "wrong tables", "bypass"}:
                # It can't be kept there, which is said; what was there is there still.
                if before is not None:
                    assert file.read_bytes() == before
                assert entry.note or kind == "a folder", entry.words
        with capture_output() as shown:
            for line in ("rules", "rules reload", "mcp list", ""):
                shell.run_line_magic("toolkit", line)
        assert "Traceback" not in shown.stdout + shown.stderr
    finally:
        extension.unload()
    plan.count("broken files of rules")


def lines_of(path: Path) -> list[bytes]:
    toolkit = Toolkit(tools=[FunctionTool(work)])
    toolkit.mode = "bypass"
    with toolkit.record(path):
        for number in range(3):
            toolkit.call_sync("work", a=number)
    return path.read_bytes().splitlines(keepends=True)


def _with(line: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(line), **changes}).encode() + b"\n"


BREAKS: dict[str, Callable[[list[bytes]], bytes]] = {
    "truncated in a line": lambda lines: b"".join(lines)[:-20],
    "no head": lambda lines: b"".join(lines[1:]),
    "empty": lambda lines: b"",
    "garbage": lambda lines: bytes(range(256)) * 100,
    "garbage behind the head": lambda lines: lines[0] + bytes(range(256)),
    "another version": lambda lines: _with(lines[0], version=99) + b"".join(lines[1:]),
    "another kind of file": lambda lines: b'{"cells": [], "nbformat": 4}\n',
    "NULs": lambda lines: b"".join(lines) + b"\x00" * 4096,
    "a list": lambda lines: lines[0] + b"[1, 2]\n",
    "deep": lambda lines: lines[0] + b'{"call": "work", "arguments": ' + b"[" * 100_000 + b"\n",
    "no arguments": lambda lines: lines[0] + b'{"call": "work"}\n',
    "a name that is none": lambda lines: lines[0] + b'{"call": {}, "arguments": {}}\n',
}
SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "no result": lambda line: b'{"call": "work", "arguments": {"a": 1}}\n',
    "a result that is none": lambda line: _with(line, result=7),
    "blocks that are none": lambda line: _with(line, result={"content": [{"type": "nothing"}], "state": "success"}),
    "a state that is none": lambda line: _with(line, result={"content": [], "state": "fine"}),
    "a stream that is none": lambda line: b'{"call": "work", "arguments": {"a": 1}, "stream": {"a": 1}}\n',
}


@pytest.mark.parametrize("kind", BREAKS)
def test_a_broken_cassette_is_an_error_in_one_line_and_nothing_runs(tmp_path: Path, kind: str, plan: Plan) -> None:
    path = tmp_path / "calls.jsonl"
    broken = BREAKS[kind](lines_of(path))
    path.write_bytes(broken)
    toolkit = Toolkit(tools=[FunctionTool(work)])
    for use in (lambda: toolkit.replay(path), lambda: toolkit.record(path, update=True)):
        with pytest.raises(CassetteError) as raised:
            use()
        assert "calls.jsonl" in str(raised.value)
        assert len(str(raised.value)) < 1_000
    assert toolkit.tape is None
    assert path.read_bytes() == broken, "what can't be read isn't written over"
    plan.count("broken cassettes")


@pytest.mark.parametrize("kind", SPOILT)
def test_an_entry_that_is_spoilt_is_an_error_that_names_its_line(tmp_path: Path, kind: str, plan: Plan) -> None:
    path = tmp_path / "calls.jsonl"
    lines = lines_of(path)
    at = next(number for number, line in enumerate(lines) if json.loads(line).get("arguments") == {"a": 1})
    lines[at] = SPOILT[kind](lines[at])
    path.write_bytes(b"".join(lines))
    ran: list[int] = []

    def work(a: int = 1) -> int:
        """Work."""
        ran.append(a)
        return a

    toolkit = Toolkit(tools=[FunctionTool(work)])
    toolkit.mode = "bypass"
    with toolkit.replay(path):
        assert toolkit.call_sync("work", a=0).text == "0"
        with pytest.raises(CassetteError, match=f"line {at + 1} "):
            toolkit.call_sync("work", a=1)
    assert ran == []
    plan.count("broken cassettes")


def test_keys_that_stand_twice_are_taken_as_json_takes_them_and_entries_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    lines = lines_of(path)
    twice = lines[1].replace(b'"arguments": {"a": 0}', b'"arguments": {"a": 5, "a": 0}')
    path.write_bytes(b"".join([lines[0], twice, lines[2], lines[2]]))
    toolkit = Toolkit(tools=[FunctionTool(work)])
    toolkit.mode = "bypass"
    with toolkit.replay(path):
        assert [toolkit.call_sync("work", a=number).text for number in (0, 1, 1)] == ["0", "1", "1"]
