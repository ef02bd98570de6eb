"""Cassettes, rules, configurations, names and lines of the magic: read, or refused by the error that is documented."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from nbtoolkit.cassette.file import Cassette
from nbtoolkit.exception import CassetteError
from nbtoolkit.mcp.imports import ConfigFileError, read_config
from nbtoolkit.mcp.naming import tool_names
from nbtoolkit.notebook.command import CommandError, parse
from nbtoolkit.notebook.completion import Known, complete
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.planned import AnswersError, parse_answers
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from nbtoolkit.permission.store import Store
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.toolkit import Toolkit
from tests.fuzz.support import (
    PIECES,
    any_texts,
    arguments,
    check_plain,
    fuzz,
    json_values,
    names,
    without_surrogates,
)
from tests.notebook.asking import Sample

if TYPE_CHECKING:
    from tests.notebook.test_magics import Desk


def spoilt(text: str, cuts: list[tuple[int, bytes]]) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    for place, piece in cuts:
        at = place % (len(data) + 1)
        data = data[:at] + piece + data[at + len(piece) % 4 :]
    return data


WOUNDS = [
    b"",
    b"\xff",
    b"\x00",
    b'"',
    b"\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b"'''",
    b"\xef\xbb\xbf",
    b"\r",
    b"null",
    b"-1",
    b"1e999",
]
cuts = st.lists(st.tuples(st.integers(0, 5_000), st.sampled_from([*WOUNDS, *(each.encode("utf-8", "replace") for each in PIECES[:6])])), max_size=4)  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ cassettes
LINES = [
    '{"nbtoolkit": "cassette", "version": 1}',
    '{"ask": "add", "arguments": {"a": 1}, "answer": "allow", "by": "person"}',
    '{"call": "add", "arguments": {"a": 1}, "state": "success", "chunks": [{"text": "3"}], "value": 3}',
    '{"call": "load", "on": "crm", "arguments": {}, "state": "error", "chunks": []}',
    '{"server": "crm", "info": {"name": "crm"}, "protocol": "2025-06-18"}',
    '{"offers": "tools", "on": "crm", "items": [{"name": "load", "inputSchema": {"type": "object"}}]}',
    '{"request": "resources/read", "on": "crm", "arguments": {"uri": "x"}, "result": {}}',
]
entries = st.one_of(
    st.sampled_from(LINES),
    st.builds(lambda kind, rest: json.dumps({kind: "add", **rest}), st.sampled_from(["ask", "call", "server", "offers", "request"]), st.dictionaries(st.sampled_from(["on", "arguments", "state", "chunks", "value", "answer", "items", "result", "by"]), json_values)),
)  # fmt: skip


def _replay(path: Path) -> None:
    toolkit = Toolkit([Sample("add", {"type": "object", "properties": {"a": {}}})])
    try:
        with toolkit.replay(path):
            response = asyncio.run(toolkit.call("add", a=1).complete())
    except CassetteError as error:
        check_plain(str(error))
        return
    response.model_dump_json()


def test_a_cassette_is_replayed_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"

    @fuzz(short=50, lines=st.lists(entries, max_size=5), cuts=cuts, head=st.booleans())
    def cassettes(lines: list[str], cuts: list[tuple[int, bytes]], head: bool) -> None:
        path.write_bytes(spoilt("\n".join([*LINES[: int(head)], *lines, ""]), cuts))
        try:
            read = Cassette.read(path)
        except CassetteError as error:
            check_plain(str(error))
        else:
            read.text()
        _replay(path)

    cassettes()


# ---------------------------------------------------------------------------------------------------------------- rules
RULES_FILE = """
mode = "accept_edits"
allow = ["Bash(git status:*)", {rule = "load(path=data/**)", definition = "sha256:abc"}, "sample(a<=3)"]
ask = ["Bash(git push:*)", "sample(a=1)"]
deny = ["Read(*.pem)", "sample(a=2)", "mcp__crm__*"]
working_directories = ["../shared"]

[mcp_servers.files]
command = "mcp-server-files"
args = ["--all"]
"""
tables = st.dictionaries(
    st.sampled_from(["mode", "allow", "ask", "deny", "working_directories", "mcp_servers", "x"]),
    json_values,
    max_size=4,
)


def _toml(table: dict[str, Any]) -> str:
    import tomlkit

    try:
        return tomlkit.dumps(without_surrogates(table))
    except Exception:  # noqa: BLE001 - what TOML can't carry
        return ""


def test_a_file_of_rules_is_read_or_among_the_problems_and_a_projects_allows_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "nbtoolkit.toml"
    tool = Sample("sample", {"type": "object", "properties": {"a": {}}})

    @fuzz(short=40, table=tables, cuts=cuts, whole=st.booleans())
    def files(table: dict[str, Any], cuts: list[tuple[int, bytes]], whole: bool) -> None:
        path.write_bytes(spoilt(RULES_FILE if whole else _toml(table), cuts))
        grants = Grants()
        store = Store(grants, tmp_path, user=tmp_path / "home" / "nbtoolkit.toml")
        for problem in store.load():
            assert problem.text if hasattr(problem, "text") else str(problem)
        assert [rule for rule in grants if rule.behavior is PermissionBehavior.ALLOW] == []
        assert all(server.waits for server in store.servers.values()) if hasattr(store, "servers") else True
        context = PermissionContext()
        for value in (1, 2, "x"):
            decision = asyncio.run(PermissionEngine(context, grants).check_permission(tool, {"a": value}))
            assert decision.behavior is not PermissionBehavior.ALLOW

    files()


@fuzz(short=60, content=any_texts, given=arguments, behavior=st.sampled_from(["allow", "ask", "deny"]))
def test_a_rule_is_read_or_refused_and_one_that_cannot_be_read_allows_nothing(
    content: str, given: dict[str, Any], behavior: str
) -> None:
    tool = Sample("sample", {"type": "object", "properties": {"a": {}}})
    kind = PermissionBehavior(behavior)
    rule = PermissionRule(tool_name="sample", rule_content=content, behavior=kind)
    context = PermissionContext(mode=PermissionMode.DEFAULT)
    getattr(context, f"{behavior}_rules")["sample"] = [rule]
    engine = PermissionEngine(context)
    decision = asyncio.run(engine.check_permission(tool, given))
    if behavior != "allow":
        assert decision.behavior is not PermissionBehavior.ALLOW
    # No other tool.
    other = asyncio.run(engine.check_permission(Sample("other"), given))
    assert other.behavior is PermissionBehavior.ASK
    try:
        again = PermissionRule.parse(str(rule), behavior)
    except ValueError:
        return
    assert again.tool_name == "sample" or str(rule) != f"sample({content})"


@fuzz(short=100, text=any_texts, lines=st.booleans())
def test_planned_answers_are_read_or_refused(text: str, lines: bool) -> None:
    try:
        parse_answers(text, lines=lines)
    except AnswersError as error:
        assert str(error)


# ------------------------------------------------------------------------------------------------------- configurations
server_entries = st.one_of(
    json_values,
    st.dictionaries(
        st.sampled_from(["command", "args", "env", "cwd", "url", "headers", "type", "disabled", "name", "transport"]),
        st.one_of(json_values, st.sampled_from(["${HOME}", "${env:X}", "${input:key}", "stdio", "http://x", "file:///x"])),
        max_size=5,
    ),
)  # fmt: skip


def test_a_configuration_of_servers_is_a_plan_or_refused(tmp_path: Path, no_network: list[object]) -> None:
    path = tmp_path / "mcp.json"

    @fuzz(short=50, servers=st.dictionaries(names, server_entries, max_size=3), key=st.sampled_from(["mcpServers", "servers", "x"]), cuts=cuts)  # fmt: skip
    def configs(servers: dict[str, Any], key: str, cuts: list[tuple[int, bytes]]) -> None:
        path.write_bytes(spoilt(json.dumps({key: servers}), cuts))
        try:
            plans = read_config(path, {"HOME": "/home/x"})
        except ConfigFileError as error:
            assert str(error)
            return
        for plan in plans:
            assert plan.name
            repr(plan)

    configs()
    assert no_network == []


NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@fuzz(short=150, server=st.text("abcXYZ019_-", min_size=1, max_size=50), tools=st.lists(names, max_size=6))
def test_every_name_of_a_server_becomes_one_that_providers_take_and_two_stay_two(server: str, tools: list[str]) -> None:
    made = tool_names(server, tools)
    assert list(made) == list(dict.fromkeys(tools))
    assert all(NAME.fullmatch(name) for name in made.values()), made
    assert len(set(made.values())) == len(made)


# ------------------------------------------------------------------------------------------------------------ the magic
WORDS = [*SPECS, *("--" + word for word in ["model", "calls", "base-url", "jsonl", "scope", "as"])]
lines = st.lists(
    st.one_of(st.sampled_from(WORDS), any_texts, st.sampled_from(["a=1", "a={x}", "$x", "a='", '"', "{", "}", "\\", "=", "--"])),
    max_size=6,
).map(" ".join)  # fmt: skip


@fuzz(short=75, line=lines, body=st.one_of(st.none(), any_texts))
def test_a_line_of_the_magic_is_a_command_or_one_error(line: str, body: str | None) -> None:
    try:
        parse(line, body, SPECS)
    except CommandError as error:
        assert "\n" not in str(error)
        check_plain(str(error))


@fuzz(short=75, line=lines, cell=st.booleans())
def test_a_line_is_completed_at_any_place(line: str, cell: bool) -> None:
    toolkit = Toolkit([Sample("sample", {"type": "object", "properties": {"a": {"enum": [1, "x y", None]}}})],
                      tool_groups=[ToolGroup("plots", "Draws.")])  # fmt: skip
    part, candidates = complete(line, Known(toolkit, {"x": 1}), cell=cell)
    assert line.endswith(part)
    assert all(isinstance(each.text, str) for each in candidates)


# They start nothing, write nothing and wait for nobody.
HARMLESS = [
    "call",
    "why",
    "schema",
    "log",
    "rules",
    "help",
    "list",
    "mode",
    "allow",
    "deny",
    "ask",
    "forget",
    "answers",
]


def test_a_line_that_is_run_shows_one_error_at_most(desk: Desk) -> None:
    @fuzz(short=25, word=st.sampled_from(HARMLESS), rest=lines)
    def run(word: str, rest: str) -> None:
        desk.toolkit.mode = PermissionMode.EXPLORE
        line = without_surrogates(f"{word} {rest}")
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(desk.shell.user_ns, "line", line)
            ran = desk.run("get_ipython().run_line_magic('toolkit', line)")
        assert ran.error is None or type(ran.error).__name__ == "CommandError", (line, ran.error)
        check_plain(ran.stdout)
        check_plain(ran.stderr)

    run()
