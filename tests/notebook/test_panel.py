"""The panel without a page: what it lists, what its buttons do, and that it follows the toolkit."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import ipywidgets as w
import pytest

from nbtoolkit import hooks
from nbtoolkit.message import ToolCallBlock
from nbtoolkit.notebook.badges import badge
from nbtoolkit.notebook.widgets.panel import Panel
from nbtoolkit.notebook.widgets.panel_pages import ago
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.read import Read
from nbtoolkit.tool.toolkit import Toolkit
from nbtoolkit.tool.write import Write
from tests.notebook.asking import HOSTILE, Markup, Sample, models

if TYPE_CHECKING:
    from collections.abc import Iterator


def score(rows: int = 5, kind: Literal["a", "b"] = "a") -> str:
    """Score the rows.

    Args:
        rows: How many.
    """
    return f"{rows} rows of {kind}"


def peek() -> str:
    """Look only."""
    return "seen"


def note(text: str) -> str:
    """Note a text."""
    return text


def plot() -> str:
    """Draw."""
    return "drawn"


class Recorded:
    """Stands for the recorder: hands a call's record to who shows it."""

    def __init__(self) -> None:
        self.hosts: dict[str, Any] = {}
        self.ended_calls: list[str] = []

    def started(self, call: Any) -> None: ...

    def chunk(self, call: Any, chunk: Any) -> None: ...

    def ended(self, call: Any, entry: Any, response: Any) -> None:
        self.ended_calls.append(call.name)
        if call.id in self.hosts:
            self.hosts[call.id].record({"text/html": f"<p>{response.state}: {response.text}</p>"})


class Shown:
    """A panel, and what a person finds on it."""

    def __init__(self, toolkit: Toolkit, recorder: Any = None, approver: Any = None) -> None:
        self.panel = Panel(toolkit, recorder, approver)

    def walk(self, widget: Any = None) -> Iterator[Any]:
        widget = widget or self.panel.view
        if widget.layout.display == "none":
            return
        yield widget
        for child in getattr(widget, "children", ()):
            yield from self.walk(child)

    def of(self, kind: Any) -> list[Any]:
        return [each for each in self.walk() if isinstance(each, kind)]

    @property
    def text(self) -> str:
        return Markup("".join(each.value for each in self.of(w.HTML) if "<style>" not in each.value)).text

    @property
    def select(self) -> Any:
        return self.of(w.Select)[0]

    @property
    def rows(self) -> list[str]:
        return [" ".join(label.split()) for label, _ in self.select.options]

    def pick(self, name: str) -> None:
        self.select.value = next(value for _, value in self.select.options if value[1] == name)

    def buttons(self) -> list[str]:
        return [each.description for each in self.of(w.Button)]

    def click(self, label: str) -> None:
        next(each for each in self.of(w.Button) if each.description.startswith(label)).click()

    def field(self, name: str) -> Any:
        return next(each for each in self.walk() if getattr(each, "description", "").startswith(name))

    def turn(self, part: str) -> None:
        tabs = self.of(w.RadioButtons)[0]
        tabs.value = next(value for label, value in tabs.options if label.startswith(part))

    @property
    def parts(self) -> list[str]:
        return [label for label, _ in self.of(w.RadioButtons)[0].options]


@pytest.fixture
def toolkit() -> Toolkit:
    return Toolkit(
        [score, FunctionTool(peek, is_read_only=True)],
        tool_groups=[ToolGroup("plots", "Draws.", tools=[FunctionTool(plot)])],
    )


@pytest.fixture
def shown(toolkit: Toolkit) -> Iterator[Shown]:
    before = models()
    made = Shown(toolkit)
    yield made
    made.panel.close()
    assert models() == before


# ----------------------------------------------------------------------------------------------------------- the list


def test_tools_are_listed_by_group_each_with_what_would_become_of_a_call(shown: Shown) -> None:
    assert shown.rows == [
        "basic, on (3)", "reset_tools allowed", "score asks", "peek allowed", "plots, off (1)", "plot off",
    ]  # fmt: skip
    assert shown.parts == ["Tools 4", "Servers 0", "Skills", "Rules 0", "Waiting 0", "Log 0"]


def test_they_can_be_arranged_by_source(shown: Shown) -> None:
    shown.field("Arrange").value = "by source"
    assert shown.rows[0] == "Built-in tool (1)"
    assert any(row.startswith("Function from ") and row.endswith("(3)") for row in shown.rows)


@pytest.mark.parametrize(
    ("words", "found"),
    [("SCO", ["score"]), ("look only", ["peek"]), ("plots", ["plot"]), ("off", ["plot"]), ("zzz", [])],
)
def test_the_filter_looks_through_name_group_source_permission_and_description(
    shown: Shown, words: str, found: list[str]
) -> None:
    shown.field("Filter tools").value = words
    assert [row.split()[0] for row in shown.rows if "(" not in row] == found
    if not found:
        assert "No tool is like that." in shown.text


def test_enter_in_the_filter_goes_from_hit_to_hit(shown: Shown) -> None:
    seen = []
    for _ in range(4):
        shown.field("Filter tools")._handle_custom_msg({"event": "submit"}, [])
        seen.append(shown.select.value[1])
    assert len(set(seen)) == 4


def test_a_thousand_tools_are_one_list_of_the_first_and_a_count(shown: Shown, toolkit: Toolkit) -> None:
    before = len(shown.panel.kit.widgets)
    for number in range(1_000):
        tool = Sample(f"many_{number:04}")
        toolkit.register(tool)
    shown.panel.refresh()
    assert len(shown.panel.kit.widgets) == before
    assert len(shown.rows) < 210
    assert "804 more: type to narrow the list" in shown.text
    shown.field("Filter tools").value = "many_0999"
    assert shown.rows == ["basic, on (1)", "many_0999 asks"]


def test_what_a_tool_says_of_itself_stays_text(shown: Shown, toolkit: Toolkit) -> None:
    hostile = Sample("bad", {"type": "object", "properties": {HOSTILE: {"description": HOSTILE}}}, origin=HOSTILE)
    hostile.description = HOSTILE
    toolkit.register(hostile)
    shown.panel.refresh()
    shown.pick("bad")
    markup = "".join(each.value for each in shown.of(w.HTML))
    assert not {"script", "img"} & {tag for tag, _ in Markup(markup).elements}


# ------------------------------------------------------------------------------------------------------------ a tool


def test_the_tool_that_is_picked_is_told_with_its_arguments(shown: Shown) -> None:
    shown.pick("score")
    assert "score" in shown.text
    assert "asks in mode default" in shown.text
    assert "rowsdefault 5integer · How many." in shown.text
    assert {"Try it …\nscore", "Turn off\nscore", "Full schema\nscore", "Why it asks\nscore"} <= set(shown.buttons())


def test_a_tool_is_turned_off_and_on_again(shown: Shown, toolkit: Toolkit) -> None:
    shown.pick("score")
    shown.click("Turn off")
    assert toolkit.get_tool_sync("score") is None
    assert "score off" in shown.rows
    shown.pick("score")
    shown.click("Turn on")
    assert toolkit.get_tool_sync("score") is not None
    assert "score asks" in shown.rows


def test_a_tool_that_was_off_comes_back_to_its_place(shown: Shown, toolkit: Toolkit) -> None:
    toolkit.register(note)
    shown.panel.refresh()
    before, names = shown.rows, [tool.name for tool in toolkit.group("basic").tools]
    assert names == ["score", "peek", "note"]
    for name in names[:2]:
        shown.pick(name)
        shown.click("Turn off")
    assert [row.split()[0] for row in shown.rows] == [row.split()[0] for row in before]
    for name in names[:2]:
        shown.pick(name)
        shown.click("Turn on")
    assert shown.rows == before
    assert [tool.name for tool in toolkit.group("basic").tools] == names


def test_why_it_asks_is_not_said_of_a_tool_that_was_turned_off_since(shown: Shown) -> None:
    shown.pick("score")
    shown.click("Why it asks")
    assert "A call of score is asked about" in shown.text
    shown.click("Turn off")
    assert "A call of score" not in shown.text
    shown.click("Why it's off")
    assert "A call of score is off turned off here." in shown.text


def test_a_group_is_turned_on(shown: Shown, toolkit: Toolkit) -> None:
    shown.pick("plots")
    assert "Group, off · 1 tool" in shown.text
    shown.click("Turn on\ngroup plots")
    assert toolkit.is_active(toolkit.group("plots"))
    assert "plots, on (1)" in shown.rows
    assert "plot asks" in shown.rows


def test_the_full_schema_opens_below_and_closes(shown: Shown) -> None:
    shown.pick("score")
    shown.click("Full schema")
    views = shown.of(w.RadioButtons)[1]
    views.value = "JSON Schema"
    assert '"enum"' in shown.text
    shown.click("Full schema")
    assert len(shown.of(w.RadioButtons)) == 1


def test_why_says_what_decides(shown: Shown) -> None:
    shown.pick("peek")
    shown.click("Why it's allowed")
    assert "A call of peek is allowed as read-only." in shown.text


# ------------------------------------------------------------------------------------------------------------ trying


def test_a_tool_is_tried_with_the_forms_values_and_its_record_stands_below(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorded()
    monkeypatch.setattr(hooks, "observers", [recorder])
    shown = Shown(toolkit, recorder)
    shown.pick("score")
    shown.click("Try it")
    shown.field("rows").value = "7"
    shown.click("Run it")
    assert "success: 7 rows of a" in shown.text
    assert toolkit.log[1].words == "allowed once"
    assert recorder.hosts == {}
    shown.panel.close()


def test_a_value_that_does_not_fit_is_told_and_nothing_runs(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "observers", [])
    shown = Shown(toolkit)

    def strict(rows: int) -> int:
        return rows

    toolkit.register(strict)
    shown.panel.refresh()
    shown.pick("strict")
    shown.click("Try it")
    shown.click("Run it")
    assert "rows" in "".join(each.value for each in shown.of(w.HTML) if "alert" in each.value)
    assert len(toolkit.log) == 0
    shown.panel.close()


def test_what_no_rule_can_silence_is_asked_again(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def approver(request: Any) -> Approval:
        asked.append(request.tool.name)
        return Approval.deny("no")

    monkeypatch.setattr(hooks, "default_approver", approver)
    monkeypatch.setattr(hooks, "observers", [])
    danger = Sample("danger")
    decision = PermissionDecision(PermissionBehavior.ASK, "safety", bypass_immune=True)
    monkeypatch.setattr(danger, "check_permissions", lambda *_: asyncio.sleep(0, decision))
    toolkit.register(danger)
    shown = Shown(toolkit)
    shown.pick("danger")
    shown.click("Try it")
    shown.click("Run it")
    assert asked == ["danger"]
    assert toolkit.log[1].words == "denied: “no”"
    shown.panel.close()


# -------------------------------------------------------------------------------------------------------- other parts


def test_a_rule_is_added_hit_and_forgotten(shown: Shown, toolkit: Toolkit) -> None:
    shown.turn("Rules")
    shown.field("New rule").value = "score(rows<=10)"
    shown.click("Add")
    assert [str(rule) for rule in toolkit.rules] == ["score(rows<=10)"]
    assert "score(rows<=10)allowusernever" in shown.text
    asyncio.run(toolkit.call("score").complete())
    shown.panel.refresh()
    assert "call 1" in shown.text
    shown.click("Forget")
    assert toolkit.rules == []


def test_a_rule_that_is_none_is_told(shown: Shown, toolkit: Toolkit) -> None:
    shown.turn("Rules")
    shown.field("New rule").value = "score(("
    shown.click("Add")
    assert toolkit.rules == []
    assert any('role="alert"' in each.value for each in shown.of(w.HTML))


def test_the_log_has_who_decided_and_is_filtered(shown: Shown, toolkit: Toolkit) -> None:
    asyncio.run(toolkit.call("peek").complete())
    asyncio.run(toolkit.call_tool(ToolCallBlock(name="score", input='{"rows": 3}'), approver=_allow).complete())
    shown.turn("Log")
    assert shown.text.index("score with rows 3") < shown.text.index("peek without arguments")
    assert "you" in shown.text
    shown.field("Filter calls").value = "peek"
    assert "score with rows" not in shown.text
    shown.field("Filter calls").value = "nothing like it"
    assert "No call is like that." in shown.text


def test_the_log_tells_how_long_a_call_ran_apart_from_how_long_it_was_asked_about(
    shown: Shown, toolkit: Toolkit
) -> None:
    asyncio.run(toolkit.call("peek").complete())
    entry = toolkit.log[1]
    entry.seconds, entry.waited = 27.0, 12.0
    shown.turn("Log")
    assert "15 s + 12 s asking" in shown.text
    entry.seconds, entry.waited = 12.0, 12.0
    shown.field("Filter calls").value = "peek"
    assert "0.0 s + 12 s asking" in shown.text


async def _allow(_: Any) -> Approval:
    return Approval.allow()


def test_what_waits_is_shown_by_its_own_card() -> None:
    card = w.HTML("the card")
    calls = [SimpleNamespace(id="1", card=SimpleNamespace(view=card))]
    shown = Shown(Toolkit(), approver=SimpleNamespace(pending=lambda: calls))
    assert "Waiting 1" in shown.parts
    shown.turn("Waiting")
    assert card in shown.of(w.HTML)
    calls.clear()
    assert shown.panel.look()
    assert card not in shown.of(w.HTML)
    assert "No call waits" in shown.text
    shown.panel.close()


def test_the_mode_is_set_and_followed(shown: Shown, toolkit: Toolkit) -> None:
    shown.field("Mode").value = "explore"
    assert toolkit.mode == "explore"
    assert "score denied" in shown.rows
    toolkit.mode = "default"
    shown.panel.look()
    assert shown.field("Mode").value == "default"


# ---------------------------------------------------------------------------------------------------------- following


def test_it_follows_what_cells_change_and_draws_only_then(shown: Shown, toolkit: Toolkit) -> None:
    shown.turn("Rules")
    sent: list[Any] = []
    for each in shown.panel.kit.widgets:
        each.observe(sent.append)
    shown.panel.look()
    assert sent == []
    toolkit.register(Sample("new"))
    toolkit.add_rule("peek", PermissionBehavior.DENY)
    shown.panel.look()
    assert "peekdeny" in shown.text
    assert "Rules 1" in shown.parts
    shown.turn("Tools")
    assert {"new asks", "peek denied"} <= set(shown.rows)


def test_its_thread_ends_with_it(toolkit: Toolkit) -> None:
    def following() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "nbtoolkit-panel"]

    panel = Panel(toolkit)
    panel.follow()
    (thread,) = following()
    panel.close()
    del panel
    gc.collect()
    thread.join(5)
    assert following() == []


def test_what_it_starts_has_the_context_of_the_cell_that_shows_it(shown: Shown) -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell")
    cell.set("the cell that shows it")
    shown.panel.shown()
    cell.set("another")
    seen: list[str] = []

    async def look() -> None:
        seen.append(cell.get())

    shown.panel.start(look)
    assert seen == ["the cell that shows it"]


@pytest.mark.parametrize(
    ("started", "said"),
    [("2026-01-01T11:59:58+00:00", "now"), ("2026-01-01T11:58:00+00:00", "2 min ago"), ("nonsense", "")],
)
def test_when_it_was_is_said_in_words(started: str, said: str) -> None:
    from datetime import UTC, datetime

    assert ago(started, datetime(2026, 1, 1, 12, tzinfo=UTC)) == said


# ------------------------------------------------------------------------------------------------------------- badges


@pytest.mark.parametrize("mode", ["default", "accept_edits", "explore", "bypass", "dont_ask"])
def test_the_badge_says_what_the_engine_would_decide(mode: str) -> None:
    toolkit = Toolkit([Bash(), Read(), Write(), score, FunctionTool(peek, is_read_only=True)])
    toolkit.mode = mode
    fixed = FunctionTool(plot, permission=PermissionDecision(PermissionBehavior.ALLOW, "mine"))
    toolkit.register(fixed)
    inputs: dict[str, dict[str, Any]] = {
        "Bash": {"command": "frobnicate"}, "Read": {"file_path": "a.txt"}, "Write": {"file_path": "a.txt", "content": ""},
    }  # fmt: skip
    words = {"allow": "allowed", "ask": "asks", "deny": "denied"}
    for group, tool in toolkit.all_tools_sync():
        decided = toolkit.explain_sync(tool.name, inputs.get(tool.name, {})).decision.behavior
        assert badge(toolkit, group, tool).word == words[decided.value], tool.name


@pytest.mark.parametrize("behavior", list(PermissionBehavior)[:3])
def test_the_badge_knows_rules_for_the_whole_tool(behavior: PermissionBehavior) -> None:
    toolkit = Toolkit([score])
    toolkit.add_rule("score", behavior)
    group, tool = toolkit.all_tools_sync()[0]
    assert badge(toolkit, group, tool) == ({"allow": "allowed", "ask": "asks", "deny": "denied"}[behavior], "by a rule")


def test_the_badge_tells_of_rules_for_some_calls() -> None:
    toolkit = Toolkit([score])
    toolkit.add_rule("score(rows<=10)")
    group, tool = toolkit.all_tools_sync()[0]
    assert badge(toolkit, group, tool) == ("asks", "in mode default; 1 rule for some of its calls")


def test_secrets_are_left_out_of_rules_and_log(shown: Shown, toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_API_KEY", "abcdefgh12345678")
    toolkit.add_rule("note(text=abcdefgh12345678)")
    toolkit.register(FunctionTool(note, is_read_only=True))
    asyncio.run(toolkit.call("note", text="abcdefgh12345678").complete())
    for part in ("Rules", "Log"):
        shown.turn(part)
        assert "note" in shown.text
        assert "abcdefgh" not in shown.text
    shown.turn("Rules")
    assert "abcdefgh" not in str(shown.field("Rule to forget")._options_labels)
