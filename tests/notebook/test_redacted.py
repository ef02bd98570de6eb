"""What is shown, logged or exported holds no secret that is known as one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import ipywidgets as w
import pytest
from ipywidgets.widgets import widget as registry

from nbtoolkit import redact
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.notebook import render
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.schemas import sent
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.panel import Panel
from nbtoolkit.notebook.widgets.schema_view import SchemaView
from nbtoolkit.permission.approval import Approval
from nbtoolkit.tool import FunctionTool, Toolkit

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "correct-horse-battery"
KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34"


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


def held(text: str) -> bool:
    """Whether a secret, or an end of one, is in a text."""
    return any(part in text for each in (SECRET, KEY) for part in (each[:10], each[-10:]))


def login(password: str = SECRET, key: str = KEY) -> str:
    """Log in."""
    return "in"


login.__doc__ = f"Log in, as {SECRET} or {KEY}.\n\nArgs:\n    key: Like {KEY}, not {SECRET}."


@pytest.fixture
def no_widgets_left() -> Iterator[set[str]]:
    before = set(registry._instances)
    yield before
    for model in [each for key, each in registry._instances.items() if key not in before]:
        model.close()


def test_schemas_and_lists_show_no_default_that_is_one(toolkit: Toolkit) -> None:
    toolkit.register(login)
    (_, _), (group, tool) = toolkit.all_tools_sync()
    assert held(json.dumps(tool.input_schema)), "what goes to a model is whole"
    shown = [render.tools_table([(group, tool)]), render.schema_view(tool), render.message(f"{SECRET} and {KEY}")]
    shown += [
        render.schema_view(tool, sent=sent(tool, form), form=form) for form in ("openai", "anthropic", "gemini", "mcp")
    ]
    for bundle in shown:
        for text in bundle.values():
            assert redact.MARK in text
            assert not held(text)


def test_no_widget_of_the_panel_the_viewer_or_a_form_holds_one(toolkit: Toolkit, no_widgets_left: set[str]) -> None:
    toolkit.register(FunctionTool(login, is_read_only=True))
    toolkit.add_rule(f"login(password={SECRET})")
    toolkit.call_sync("login", password="a" * 190 + SECRET)
    tool = toolkit.all_tools_sync()[1][1]
    panel = Panel(toolkit)
    for _, number in panel._tabs.options:
        panel._tabs.value = number
    panel._tabs.value = 0
    panel._tools._pick.value = ("tool", "login")
    panel._tools._try_it()
    viewer = SchemaView(tool)
    for view in viewer._views.options:
        viewer._views.value = view
        # What a saved notebook would keep of them, where its owner saves the widgets' state.
        states = [each.get_state() for key, each in registry._instances.items() if key not in no_widgets_left]
        assert not held(json.dumps(states, default=str))
    panel.close()


def test_what_is_typed_unseen_counts_as_one(toolkit: Toolkit, no_widgets_left: set[str]) -> None:
    form = Form({"type": "object", "properties": {"pin": {"type": "string", "format": "password", "minLength": 99}}})
    box = next(each for each in form.widgets if isinstance(each, w.Password))
    box.value = "hunter2-hunter2"
    with pytest.raises(FormError) as refused:
        form.read()
    form.show_faults(refused.value.faults)
    assert "hunter2" not in "".join(each.value for each in form.widgets if isinstance(each, w.HTML))
    assert redact.redact("it was hunter2-hunter2") == f"it was {redact.MARK}"


def test_an_error_of_a_line_quotes_none(toolkit: Toolkit) -> None:
    for message, more in ((f"no tool is called {SECRET!r}", ""), ("died", f"with\n{KEY}\n{SECRET}")):
        shown = "\n".join(CommandError(message, more)._render_traceback_())
        assert redact.MARK in shown
        assert not held(shown)


@pytest.mark.parametrize("value", [SECRET, KEY, f"see {SECRET}."])
def test_no_rule_is_suggested_that_would_write_one_down(toolkit: Toolkit, value: str) -> None:
    judged = [toolkit.explain_sync("connect", {"password": password}) for password in ("plain", value)]
    assert judged[0].decision.suggested_rules
    assert not held(" ".join(map(str, judged[1].decision.suggested_rules or ())))
    assert not held(judged[1].change)


def test_a_key_that_follows_a_known_secret_directly_goes_too(toolkit: Toolkit) -> None:
    assert redact.redact(f"{SECRET}{KEY} and {KEY}{SECRET}") == f"{redact.MARK} and {redact.MARK}"
    assert redact.Redactor().pieces([SECRET[:5], SECRET[5:] + KEY[:5], KEY[5:]]) == [redact.MARK, "", ""]
