"""Servers out of the configuration files of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.mcp import HttpMCPConfig, StdioMCPConfig
from nbtoolkit.mcp.imports import ConfigFileError, PlannedServer, find_configs, read_config


def written(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def one(folder: Path, entry: Any, **environment: str) -> PlannedServer:
    [server] = read_config(written(folder, ".mcp.json", {"mcpServers": {"one": entry}}), environment)
    return server


def stdio(server: PlannedServer) -> StdioMCPConfig:
    assert server.client is not None, server.problem
    assert isinstance(server.client.mcp_config, StdioMCPConfig)
    return server.client.mcp_config


FILE_SERVER = {"command": "npx", "args": ["-y", "server", "/data"], "env": {"TOKEN": "hush"}}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".mcp.json", {"mcpServers": {"fs": FILE_SERVER}}),
        ("claude_desktop_config.json", {"mcpServers": {"fs": FILE_SERVER}, "globalShortcut": ""}),
        (".vscode/mcp.json", {"servers": {"fs": {"type": "stdio", **FILE_SERVER}}, "inputs": []}),
        (".jupyter/mcp_settings.json", {"mcp_servers": [{"name": "fs", **FILE_SERVER}]}),
        (
            ".jupyter/mcp_settings.json",
            {"mcp_servers": [{"name": "fs", **FILE_SERVER, "env": [{"name": "TOKEN", "value": "hush"}]}]},
        ),
    ],
)
def test_each_programs_form_gives_the_same_server(tmp_path: Path, name: str, data: Any) -> None:
    [server] = read_config(written(tmp_path, name, data))
    assert server.name == "fs"
    assert stdio(server) == StdioMCPConfig(command="npx", args=["-y", "server", "/data"], env={"TOKEN": "hush"})
    assert server.preview == "TOKEN=… npx -y server /data"
    assert server.notes == ()


def test_a_url_with_headers_is_a_server_too(tmp_path: Path) -> None:
    entry = {"type": "http", "url": "https://a.example/mcp?key=hush", "headers": {"Authorization": "Bearer ${T}"}}
    server = one(tmp_path, entry, T="hush")
    assert server.client is not None
    assert server.client.mcp_config == HttpMCPConfig(
        url="https://a.example/mcp?key=hush", headers={"Authorization": "Bearer hush"}
    )
    assert server.preview == "https://a.example/mcp?key=… (Authorization: …)"


def test_variables_come_from_the_environment_with_defaults_as_a_shell_has_them(tmp_path: Path) -> None:
    entry = {
        "command": "${BIN:-python}",
        "args": ["${SET}", "${EMPTY:-filled}", "${env:SET}", "${UNSET:-}", "${workspaceFolder}/x", "$SET"],
    }
    server = one(tmp_path, entry, SET="value", EMPTY="")
    assert stdio(server).command == "python"
    assert stdio(server).args == ["value", "filled", "value", "", f"{tmp_path}/x", "$SET"]
    middle = {"url": "${U}/a/${V:-b}/${env:W}", "headers": {"X": "Bearer ${T}, ${T}"}}
    server = one(tmp_path, middle, U="https://h", W="w", T="t")
    assert server.client is not None
    assert server.client.mcp_config == HttpMCPConfig(url="https://h/a/b/w", headers={"X": "Bearer t, t"})
    [server] = read_config(
        written(tmp_path, "2.json", {"mcpServers": {"x": {"command": "~/s", "args": ["~/d"], "cwd": "~/c"}}})
    )
    assert (stdio(server).command, stdio(server).args) == (str(Path.home() / "s"), ["~/d"])
    assert stdio(server).cwd == Path.home() / "c"
    server = one(tmp_path, entry, SET="value", EMPTY="")
    assert "value" not in server.preview
    assert "${SET}" in server.preview


def test_a_variable_that_is_not_set_is_the_problem_of_that_server_alone(tmp_path: Path) -> None:
    data = {"mcpServers": {"bad": {"command": "a", "args": ["${NOT_SET}"]}, "good": {"command": "b"}}}
    bad, good = read_config(written(tmp_path, ".mcp.json", data), {})
    assert bad.client is None
    assert bad.problem == "the environment variable 'NOT_SET' isn't set"
    assert good.problem is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("text", "not an object"),
        ({}, "neither a command nor a url"),
        ({"command": "a", "args": "b"}, "no list of texts"),
        ({"command": "a", "disabled": True}, "disabled in the file"),
        ({"url": "ftp://a"}, "begins with 'ftp', not with http:// or https://"),
        ({"url": "http://"}, "doesn't fit"),
        ({"url": "http://a/mcp", "headers": {"Host": "b"}}, "header 'Host' is owned by the HTTP layer"),
        ({"type": "sse", "url": "https://a.example/events"}, "SSE"),
        ({"command": "a", "env": {"K": "${input:key}"}}, "wants to be told 'key' before it starts"),
    ],
)
def test_what_can_not_be_had_says_why(tmp_path: Path, entry: Any, problem: str) -> None:
    server = one(tmp_path, entry)
    assert server.client is None
    assert server.problem is not None
    assert problem in server.problem


def test_what_a_file_asks_for_is_described_and_put_in_once_it_is_told(tmp_path: Path) -> None:
    data = {
        "inputs": [
            {"type": "promptString", "id": "key", "description": "API key", "password": True},
            {"type": "pickString", "id": "zone", "options": ["a", {"label": "B", "value": "b"}], "default": "a"},
            "no input",
        ],
        "servers": {"x": {"command": "a", "args": ["--zone=${input:zone}"], "env": {"K": "${input:key}"}}},
    }
    file = written(tmp_path, "mcp.json", data)
    [server] = read_config(file)
    assert server.client is None
    assert server.problem == "it wants to be told 'zone', 'key' before it starts"
    zone, key = server.inputs
    assert zone.schema() == {"type": "string", "default": "a", "enum": ["a", "b"]}
    assert key.schema() == {"type": "string", "description": "API key", "writeOnly": True}
    [half] = read_config(file, inputs={"zone": "b"})
    assert [each.name for each in half.inputs] == ["key"]
    [told] = read_config(file, inputs={"zone": "b", "key": "hush"})
    assert (stdio(told).args, stdio(told).env) == (["--zone=b"], {"K": "hush"})
    assert "hush" not in told.preview
    assert told.inputs == ()


def test_a_secret_among_the_arguments_stays_out_of_preview_and_problem(tmp_path: Path) -> None:
    args = ["--api-key", "hush", "--token=hush", "https://u:hush@a.example/?k=hush", "--verbose", "on"]
    server = one(tmp_path, {"command": "a", "args": args, "env": {"K": "hush"}})
    assert "hush" not in server.preview
    assert "--verbose on" in server.preview
    assert "hush" not in repr(server.client)
    assert "hush" not in repr(one(tmp_path, {"command": "a", "args": ["x"], "env": {"K": "hush"}, "cwd": "c"}))


def test_permissions_that_were_given_to_another_program_are_not_taken_over(tmp_path: Path) -> None:
    server = one(tmp_path, {"command": "a", "alwaysAllow": ["delete"], "autoApprove": ["x"]})
    assert server.notes == ("not taken over: alwaysAllow, autoApprove",)
    assert server.client is not None
    assert not server.client.trust_annotations


def test_names_that_providers_refuse_are_changed_and_stay_apart(tmp_path: Path) -> None:
    data = {"mcpServers": {"My Server": {"command": "a"}, "My.Server": {"command": "b"}}}
    first, second = read_config(written(tmp_path, ".mcp.json", data))
    assert (first.name, second.name) == ("My-Server", "My-Server-2")
    assert "providers refuse 'My Server'" in first.notes[0]


def test_comments_and_trailing_commas_are_read_and_strings_are_left_alone(tmp_path: Path) -> None:
    text = """{
        // the servers
        "servers": {
            "a": {"command": "x", "args": ["http://no/comment", "/* nor */", "\\",}"], /* one */},  // two
        },
    }"""
    [server] = read_config(written(tmp_path, ".vscode/mcp.json", text))
    assert stdio(server).args == ["http://no/comment", "/* nor */", '",}']


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "[" * 100_000])
def test_a_file_without_servers_says_what_was_expected(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigFileError, match=r"no JSON|expected an object with 'mcpServers'"):
        read_config(written(tmp_path, "x.json", text))


def test_a_file_that_is_not_there_is_named_from_here_or_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir("/")
    with pytest.raises(ConfigFileError, match=r"^~/a/absent\.json can't be read"):
        read_config("~/a/absent.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigFileError, match=r"^a/absent\.json can't be read"):
        read_config(tmp_path / "a" / "absent.json")


def test_the_files_around_a_notebook_are_found_up_to_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    outside = written(tmp_path, ".mcp.json", {})
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "notebooks").mkdir()
    expected = [
        written(repository, "notebooks/.mcp.json", {}),
        written(repository, ".mcp.json", {}),
        written(repository, ".vscode/mcp.json", {}),
        written(tmp_path, "home/.cursor/mcp.json", {}),
    ]
    found = find_configs(repository / "notebooks")
    assert found == expected
    assert outside not in found
