"""What is shown, logged or exported holds no secret that is known as one."""

from __future__ import annotations

import json

import pytest

from nbtoolkit import redact
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.notebook import render
from nbtoolkit.permission.approval import Approval
from nbtoolkit.tool import Toolkit

SECRET = "correct-horse-battery"


def connect(password: str, note: str = "") -> str:
    """Connect."""
    return f"connected with {password} {'x' * 50_000} {password}"


@pytest.fixture
def toolkit(monkeypatch: pytest.MonkeyPatch) -> Toolkit:
    monkeypatch.setattr(redact, "_kept", {})
    monkeypatch.setenv("DATABASE_PASSWORD", SECRET)
    return Toolkit(tools=[connect])


def test_a_record_a_log_and_its_exports_hold_no_secret(toolkit: Toolkit) -> None:
    async def deny(request: object) -> Approval:
        return Approval.deny(f"not with {SECRET}")

    toolkit.mode = "bypass"
    response = toolkit.call_sync("connect", password=SECRET, note="a" * 990 + SECRET)
    toolkit.mode, toolkit.approver = "default", deny
    denied = toolkit.call_sync("connect", password="x", note=f"see {SECRET}")
    assert SECRET in response.text  # the model's own copy is untouched
    first, second = toolkit.log
    shown = [render.record(first, response), render.record(second, denied), render.log_table(toolkit.log)]
    exported = toolkit.log.to_jsonl()
    for text in (*(text for bundle in shown for text in bundle.values()), exported):
        assert redact.MARK in text
        assert SECRET[:8] not in text
        assert SECRET[-8:] not in text
    assert json.loads(exported.splitlines()[0])["tool_input"]["password"] == redact.MARK
    assert first.tool_input["password"] == SECRET


def test_rules_servers_and_explanations_show_no_secret(toolkit: Toolkit) -> None:
    args = ["--token", "abcdefgh", f"--url=https://me:{SECRET}@host/"]
    client = MCPClient(name="hub", is_stateful=True, mcp_config=StdioMCPConfig(command="/opt/x/server", args=args))
    toolkit.add_rule(f"connect(password={SECRET})")
    explained = toolkit.explain_sync("connect", {"password": SECRET})
    for bundle in (render.rules_table(toolkit.rules), render.servers_table([client]), render.explanation(explained)):
        for text in bundle.values():
            assert SECRET not in text
            assert "abcdefgh" not in text
    assert "server --token …" in render.servers_table([client])["text/plain"]


def test_a_table_holds_no_secret(toolkit: Toolkit) -> None:
    import pandas as pd

    frame = pd.DataFrame({"name": ["a"], "value": ["x" * 70 + SECRET], SECRET: [1]})
    markup = render.frame_html(frame)
    assert SECRET[:8] not in markup
    assert redact.MARK in markup
    assert SECRET not in str(toolkit.log.to_dataframe())
