"""Servers that people use, from PyPI, started by their commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.message import ToolResultState
from tests.mcp.support import said, use


def test_the_time_server_tells_the_time_and_claims_to_only_read() -> None:
    async def scenario() -> None:
        config = StdioMCPConfig(command="mcp-server-time", args=["--local-timezone", "Europe/Vienna"])
        async with MCPClient(name="time", is_stateful=True, mcp_config=config) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools] == ["mcp__time__get_current_time", "mcp__time__convert_time"]
            assert all(tool.is_read_only for tool in tools)
            chunk = await use(client, "get_current_time", timezone="UTC")
            assert json.loads(said(chunk))["timezone"] == "UTC"
            assert chunk.value["timezone"] == "UTC"
            wrong = await use(client, "get_current_time", timezone="Nowhere/Land")
            assert wrong.state is ToolResultState.ERROR

    asyncio.run(scenario())


def test_the_git_server_works_on_a_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new")

    async def scenario() -> None:
        config = StdioMCPConfig(command="mcp-server-git", args=["--repository", str(tmp_path)])
        async with MCPClient(name="git", is_stateful=True, mcp_config=config) as client:
            assert "new.txt" in said(await use(client, "git_status", repo_path=str(tmp_path)))
            add = await client.get_tool("git_add")
            assert not add.is_read_only
            await add(repo_path=str(tmp_path), files=["new.txt"])
            assert "new file:   new.txt" in said(await use(client, "git_status", repo_path=str(tmp_path)))

    asyncio.run(scenario())


def command_of(pid: int | None) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].decode()


def test_what_is_installed_beside_the_kernel_is_found_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    async def scenario() -> None:
        config = StdioMCPConfig(command="mcp-server-time")
        async with MCPClient(name="time", is_stateful=True, mcp_config=config) as client:
            assert command_of(client.status().pid) == str(Path(sys.executable).parent / "mcp-server-time")

    asyncio.run(scenario())
