"""The approval card, without a page: what it shows, and what each button answers."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pandas as pd
import pytest
from ipywidgets.widgets import widget as registry

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.notebook import why
from nbtoolkit.notebook.widgets import settling
from nbtoolkit.notebook.widgets.card import ApprovalCard, settled_words
from nbtoolkit.notebook.widgets.style import WIDTHS
from nbtoolkit.permission.approval import Approval, ApprovalRequest, Origin
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import (
    PermissionBehavior,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.write import Write
from tests.notebook.asking import HOSTILE, SCHEMA, Markup, Sample, models, request, rule, verdict

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY


class Asked:
    """A card, the answers that it gave, and what a person finds on it."""

    def __init__(self, asked: ApprovalRequest | None = None, **options: Any) -> None:
        self.answers: list[Approval] = []
        self.card = ApprovalCard(asked or request(), self._answer, **options)

    def _answer(self, approval: Approval) -> bool:
        self.answers.append(approval)
        return len(self.answers) == 1

    @property
    def shown(self) -> list[Any]:
        """The widgets that are on the page, in tab order."""
        found: list[Any] = []

        def walk(widget: Any) -> None:
            classes = set(widget._dom_classes)
            if classes & {"nbtk-shut", "nbtk-hidden"}:
                return
            found.append(widget)
            for child in getattr(widget, "children", ()):
                # As the sheet has it: an answered card shows how in the place of its buttons.
                status = "nbtk-status" in child._dom_classes
                if "nbtk-acts" not in classes or status != self.waiting:
                    walk(child)

        walk(self.card.view)
        return found

    @property
    def waiting(self) -> bool:
        return "nbtk-pending" in self.card.view._dom_classes

    @property
    def buttons(self) -> list[str]:
        return [each.description.split("\n")[0] for each in self.shown if isinstance(each, ipywidgets.Button)]

    @property
    def page(self) -> Markup:
        return Markup("".join(each.value for each in self.shown if isinstance(each, ipywidgets.HTML)))

    def click(self, label: str) -> None:
        next(
            each
            for each in self.card.widgets
            if isinstance(each, ipywidgets.Button) and each.description.startswith(f"{label}\n")
        ).click()

    def field(self, name: str) -> Any:
        return next(each for each in self.card.widgets if getattr(each, "description", "").startswith(name))


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Any:
    before = set(registry._instances)
    yield
    for model in [each for key, each in registry._instances.items() if key not in before]:
        model.close()


# -------------------------------------------------------------------------------------------------------- what it says


def test_it_says_what_will_happen_who_asks_why_and_all_arguments_in_this_order() -> None:
    asked = Asked(request(origin=Origin("agent", "analyst")))
    text = asked.page.text
    told = [
        "summarise with species Gentoo, rows 5 and 1 more",
        "Your function, asked by the agent analyst: sums up one species.",
        "Asks because no rule allows summarise.",
        "ArgumentValueType and limits",
        "speciesGentoostring",
        "rows5integer, 1 to 100, the default",
        "loudfalseboolean, the default",
    ]
    at = [text.find(each) for each in told]
    assert -1 not in at
    assert at == sorted(at)
    assert asked.buttons == ["Allow once", "Always allow …", "Deny", "Edit", "Answer instead"]


def test_a_variable_is_shown_as_what_it_is_with_its_first_rows() -> None:
    frame = pd.DataFrame({"a": range(10_000)})
    asked = Asked(request(tool_input={"sales": "sales"}, variables={"sales": frame}))
    assert "variable sales, DataFrame 10,000 × 1First rows" in asked.page.text
    assert "sales (DataFrame 10,000 × 1)" in asked.page.text


def test_a_screen_reader_is_told_of_a_new_question() -> None:
    (alert,) = re.findall(r'<div role="alert">(.*?</div>)</div>', "".join(each.value for each in html_of(Asked())))
    assert Markup(alert).text == "A call waits for your answer: summarise with species Gentoo, rows 5 and 1 more"


def html_of(asked: Asked) -> list[ipywidgets.HTML]:
    return [each for each in asked.shown if isinstance(each, ipywidgets.HTML)]


def test_the_title_is_a_heading_and_the_buttons_name_their_call() -> None:
    asked = Asked()
    heading = next(attributes for _, attributes in asked.page.elements if attributes.get("role") == "heading")
    assert heading["aria-level"] == "4"
    for each in asked.card.widgets:
        if isinstance(each, ipywidgets.Button):
            assert each.description.split("\n")[1] == "summarise with species Gentoo, rows 5 and 1 more"
            assert each.layout.width or any(name in WIDTHS.values() for name in each._dom_classes)


def test_every_input_has_a_name() -> None:
    inputs = (ipywidgets.Text, ipywidgets.Textarea, ipywidgets.Dropdown, ipywidgets.Checkbox)
    asked = Asked(set_mode=lambda _: None)
    assert all(each.description for each in asked.card.widgets if isinstance(each, inputs))


def test_a_command_is_shown_whole_with_the_verdict_of_each_part() -> None:
    command = "uv run pytest -q && git push origin HEAD:main"
    asked = Asked(
        request(
            Sample("Bash", origin="Built-in tool"),
            {"command": command, "description": "Test and push"},
            subjects=(
                verdict("uv run pytest -q", ALLOW, "rule Bash(uv run pytest:*)"),
                verdict("git push", ASK, "no rule"),
            ),
        )
    )
    text = asked.page.text
    assert command in text
    assert "which says: “Test and push”" in text
    assert "uv run pytest -q✓ allowed · rule Bash(uv run pytest:*)" in text
    assert "git push? asks · no rule allows it" in text
    assert "Asks because no rule allows git push" in text


def test_what_a_server_says_stands_there_as_its_claim() -> None:
    tool = Sample("mcp__hub__create", SCHEMA, "MCP server hub")
    tool.is_mcp = True
    tool.annotations = {"readOnlyHint": False, "openWorldHint": True}  # type: ignore[attr-defined]
    tool.client = SimpleNamespace(mcp_config=SimpleNamespace(command="/opt/bin/docker", args=["run", "hub"]))  # type: ignore[attr-defined]
    text = Asked(request(tool)).page.text
    assert "create on hub with" in text
    assert "MCP server hub (docker run hub)" in text
    assert "It describes the tool: “Sums up one species. ⏎ More about it.”" in text
    assert "The server claims, unchecked: changes things · reaches the internet" in text
    assert "mode default asks before MCP tools" in text


def test_foreign_text_is_inert_wherever_it_stands() -> None:
    tool = Sample(HOSTILE, {"type": "object", "properties": {HOSTILE: {"enum": [HOSTILE]}}}, HOSTILE)
    tool.description = HOSTILE
    tool.is_mcp = True
    asked = Asked(
        request(
            tool,
            {HOSTILE: HOSTILE, "lines": f"{HOSTILE}\n" * 5, "description": HOSTILE},
            origin=Origin("agent", HOSTILE),
            subjects=(verdict(HOSTILE, ASK, HOSTILE), verdict(HOSTILE, DENY, HOSTILE)),
            decision=PermissionDecision(ASK, HOSTILE, HOSTILE),
        )
    )
    asked.card.settle(HOSTILE)
    assert "script" not in asked.page.tags
    assert "img" not in asked.page.tags
    assert not any(name.startswith("on") for _, attributes in asked.page.elements for name in attributes)
    assert not {"\u202e", "\x1b", "\x00"} & set(
        "".join(each.value for each in asked.shown if isinstance(each, ipywidgets.HTML))
    )
    assert not {"\u202e", "\x1b", "\x00"} & set(asked.card.plain)


# -------------------------------------------------------------------------------------------------------- the answers


def test_allow_once_answers_and_the_second_click_counts_no_more() -> None:
    asked = Asked()
    asked.click("Allow once")
    asked.click("Allow once")
    asked.click("Deny")
    assert asked.answers == [Approval.allow()]


def test_a_click_after_somebody_else_answered_changes_nothing() -> None:
    asked = Asked()
    asked._answer(Approval.deny())
    asked.click("Allow once")
    assert "Allow once" in asked.buttons
    assert "running" not in asked.page.text


def test_deny_takes_the_reason_if_there_is_one() -> None:
    asked = Asked()
    asked.click("Deny")
    assert asked.answers == [Approval.deny()]
    other = Asked()
    other.field("Reason").value = "  not today "
    other.click("Deny")
    assert other.answers == [Approval.deny("not today")]
    assert "Denied: “not today”" in other.page.text


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        threading.Event().wait(0.01)


def test_enter_denies_with_the_text_that_the_page_sends_behind_it() -> None:
    asked = Asked()
    reason = asked.field("Reason")
    reason._handle_custom_msg({"event": "submit"}, [])
    assert asked.answers == []
    reason.value = "not today"
    assert asked.answers == [Approval.deny("not today")]


def test_leaving_the_field_denies_nothing_and_enter_then_takes_what_was_sent() -> None:
    asked = Asked()
    reason = asked.field("Reason")
    reason.value = "no"
    assert asked.answers == []
    reason._handle_custom_msg({"event": "submit"}, [])
    wait(lambda: asked.answers)
    assert asked.answers == [Approval.deny("no")]


def test_enter_in_an_empty_reason_denies_nothing_also_not_what_is_typed_later() -> None:
    asked = Asked()
    reason = asked.field("Reason")
    reason._handle_custom_msg({"event": "submit"}, [])
    wait(lambda: asked.card._entered == 0.0)
    reason.value = "a reason that is still being written"
    assert asked.answers == []


def test_no_text_of_a_card_but_the_rules_is_sent_while_it_is_typed() -> None:
    asked = Asked()
    for label in ("Always allow …", "Edit", "Answer instead"):
        asked.click(label)
    texts = [each for each in asked.card.widgets if isinstance(each, ipywidgets.Text | ipywidgets.Textarea)]
    assert len(texts) >= 4
    # The page holds messages of one field back while the kernel is busy, and a click passes them.
    assert [each.description for each in texts if each.continuous_update] == ["Rule"]


def echo() -> None:
    """What a page does with the link that asks it back, after it has sent what it held."""
    (target,) = [
        each for each in registry._instances.values() if isinstance(each, ipywidgets.IntText) and not each.value
    ]
    target.value = 1


def test_rules_that_are_typed_count_whole_though_the_click_comes_before_their_end() -> None:
    asked = Asked(route=lambda _: None)
    asked.click("Always allow …")
    before = models()
    asked.card._kit.heard_from = "page"
    asked.field("Rule").value = "summarise"
    asked.click("Allow always")
    assert asked.answers == []
    asked.field("Rule").value = "summarise(rows<=10)"
    echo()
    assert asked.answers == [Approval.allow(["summarise(rows<=10)"], "kernel")]
    assert models() == before


def test_a_page_that_does_not_answer_is_told_and_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "LIMIT", 0.01)
    asked = Asked(route=lambda _: None)
    asked.click("Always allow …")
    asked.card._kit.heard_from = "page"
    asked.field("Rule").value = "summarise"
    said = threading.Event()
    asked.card._drawers["always"]._note.observe(lambda _: said.set(), "value")
    asked.click("Allow always")
    assert said.wait(10)
    assert asked.answers == []
    assert "press again" in asked.page.text


def test_always_gives_the_edited_rules_and_the_scope() -> None:
    asked = Asked()
    asked.click("Always allow …")
    rules = asked.field("Rule")
    assert rules.value == "summarise(species=Gentoo)"
    rules.value = "summarise(species=Gentoo)\n\nsummarise(rows<=10)\n"
    asked.field("For").value = "project"
    asked.click("Allow always")
    assert asked.answers == [Approval.allow(["summarise(species=Gentoo)", "summarise(rows<=10)"], "project")]


def test_a_rule_that_is_none_is_said_and_answers_nothing() -> None:
    asked = Asked()
    asked.click("Always allow …")
    asked.field("Rule").value = "(("
    asked.click("Allow always")
    assert asked.answers == []
    assert "doesn't start with a tool's name" in asked.page.text
    assert ("div", {"class": "nbtk-bad", "role": "alert"}) in asked.page.elements


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ((0, 0), "It ends when the function changes."),
        ((0, 1), "This rule would not have allowed the one call before this one."),
        ((1, 1), "This rule would have allowed the one call before this one."),
        ((0, 7), "This rule would have allowed none of the last 7 calls."),
        ((20, 20), "This rule would have allowed all of the last 20 calls."),
    ],
)
def test_few_calls_are_counted_in_words(counted: tuple[int, int], said: str) -> None:
    asked = Asked(counter=lambda _: counted)
    asked.click("Always allow …")
    assert asked.page.text.endswith(f"{said} It ends when the function changes." if counted[1] else said)


def test_the_drawer_says_what_the_rules_would_have_allowed() -> None:
    def counter(rules: Any) -> tuple[int, int]:
        return 4 * len(rules), 20

    asked = Asked(counter=counter)
    asked.click("Always allow …")
    assert "This rule would have allowed 4 of the last 20 calls. It ends when the function changes." in asked.page.text
    asked.field("Rule").value = "a\nb"
    assert "These rules would have allowed 8 of the last 20 calls." in asked.page.text


def test_a_safety_question_offers_no_always_and_says_why() -> None:
    asked = Asked(request(safety=True, suggested_rules=(rule("summarise"),)))
    assert asked.buttons == ["Allow once", "Deny", "Edit", "Answer instead"]
    assert not asked.card.may_remember
    assert "it reads a secret; no rule can silence this, so “Always allow” isn't offered" in asked.page.text
    assert not any("nbtk-primary" in each._dom_classes for each in asked.shown if isinstance(each, ipywidgets.Button))


def test_always_is_withheld_where_a_part_could_not_be_shown() -> None:
    asked = Asked(request(tool_input={"species": "A" * 1_000_000}))
    assert "Always allow …" not in asked.buttons
    assert "900,000 characters not shown" in asked.page.text
    assert any("too long to be shown" in each.value for each in html_of(asked))


def test_always_is_withheld_where_a_rule_holds_what_can_not_be_seen() -> None:
    asked = Asked(request(suggested_rules=(rule("summarise(species=gnp.\u202eexe)"),)))
    assert "Always allow …" not in asked.buttons
    assert "a rule for it would hold characters that can't be seen" in asked.page.text


@pytest.mark.parametrize(
    "tool_input",
    [
        {"n" * 100_000: 1},
        {"text": "x" * 1_000_000},
        {"text": "\u202e" * 1_000_000},
        {"values": list(range(200_000))},
        {f"a{i}": "y" * 99_000 for i in range(60)},
    ],
    ids=["a name", "a text", "unseen", "a list", "many"],
)
def test_a_card_is_bounded_and_remembers_nothing_of_which_a_part_is_missing(tool_input: dict[str, Any]) -> None:
    asked = Asked(request(tool_input=tool_input, suggested_rules=(rule("summarise"),)))
    assert sum(len(each.value) for each in html_of(asked)) < 4_000_000
    assert not asked.card.may_remember
    assert any("too long to be shown" in each.value for each in html_of(asked))


def test_what_is_folded_counts_as_shown() -> None:
    asked = Asked(request(tool_input={"species": "\n".join(f"line {i}" for i in range(500))}))
    assert "498 more lines" in asked.page.text
    assert "line 499" in asked.page.text
    assert "Always allow …" in asked.buttons


def test_without_a_suggested_rule_always_is_not_offered() -> None:
    assert "Always allow …" not in Asked(request(suggested_rules=())).buttons


def test_edit_answers_with_the_changed_arguments() -> None:
    asked = Asked(validate=lambda edited: edited)
    asked.click("Edit")
    asked.field("rows").value = "7"
    asked.field("loud").value = True
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit({"species": "Gentoo", "rows": 7, "loud": True})]


@pytest.mark.parametrize(
    ("drawer", "label", "written"), [("Edit", "rows", "7"), ("Edit", "rows", "x"), ("Answer instead", "Result", "none")]
)
def test_what_is_written_beside_a_call_is_not_dropped_by_allowing_it_without_a_word(
    drawer: str, label: str, written: str
) -> None:
    asked = Asked()
    asked.click(drawer)
    asked.field(label).value = written
    asked.click(drawer)
    asked.click("Allow once")
    assert asked.answers == []
    assert "would be lost. Allow once, clicked again, runs the call as it is shown above." in asked.page.text
    asked.click("Allow once")
    assert asked.answers == [Approval.allow()]


@pytest.mark.parametrize("drawer", ["Edit", "Answer instead"])
def test_a_form_in_which_nothing_was_written_holds_no_approval_up(drawer: str) -> None:
    asked = Asked()
    asked.click(drawer)
    asked.click("Allow once")
    assert asked.answers == [Approval.allow()]


def test_a_fault_stands_under_its_field_and_answers_nothing() -> None:
    def validate(edited: dict[str, Any]) -> None:
        raise ToolArgumentsError("summarise", ["rows: got 700, expected at most 100", "something else"])

    asked = Asked(validate=validate)
    asked.click("Edit")
    asked.click("Check and ask again")
    assert asked.answers == []
    alerts = [each.value for each in html_of(asked) if 'role="alert"' in each.value]
    assert [Markup(each).text for each in alerts[1:]] == ["rows: got 700, expected at most 100", "something else"]
    below = asked.shown.index(asked.field("rows")) + 1
    assert "rows: got 700" in asked.shown[below].value


def test_what_is_no_json_is_left_to_the_tool_to_refuse() -> None:
    checked: list[dict[str, Any]] = []

    def validate(edited: dict[str, Any]) -> None:
        checked.append(edited)
        raise ToolArgumentsError("summarise", ['rows: got "seven", expected integer, 1 to 100'])

    asked = Asked(validate=validate)
    asked.click("Edit")
    asked.field("rows").value = "seven"
    asked.click("Check and ask again")
    assert asked.answers == []
    assert checked[0]["rows"] == "seven"
    assert 'rows: got "seven", expected integer' in asked.page.text


def test_many_arguments_are_edited_as_one_piece_of_json() -> None:
    tool_input = {f"a{i}": i for i in range(50)}
    asked = Asked(request(tool_input=tool_input))
    asked.click("Edit")
    asked.field("JSON").value = "[1]"
    asked.click("Check and ask again")
    assert "the arguments are one JSON object" in asked.page.text
    asked.field("JSON").value = '{"a1": 5}'
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit({"a1": 5})]


def test_an_argument_that_was_left_out_stays_out_and_null_stays_null() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "integer"}},
    }
    asked = Asked(request(Sample(schema=schema), {"a": None, "b": ""}))
    asked.click("Edit")
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit({"a": None, "b": ""})]


HALF = "\ud83d \ude00 \ud800"


@pytest.mark.parametrize("many", [0, 50])
@pytest.mark.parametrize("value", [HALF, f"{HALF}\n2", {HALF: [HALF]}, "\ud83d\ude00"])
def test_text_that_has_no_utf8_can_be_asked_about_and_edited_and_is_not_changed_by_looking(
    value: Any, many: int
) -> None:
    tool_input = {"text": value, HALF: HALF, **{f"a{i}": i for i in range(many)}}
    choice = {"type": "object", "properties": {HALF: {"enum": ["a", HALF]}}}
    asked = Asked(request(Sample(HALF, choice, HALF), tool_input, suggested_rules=(rule(f"f(text={HALF})"),)))
    asked.click("Edit")
    for widget in asked.card.widgets:
        json.dumps(widget.get_state(), ensure_ascii=False, default=repr).encode()
    asked.card.plain.encode()
    assert "Always allow …" not in asked.buttons
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit(tool_input)]


def test_text_that_has_no_utf8_is_edited_as_json() -> None:
    asked = Asked(request(tool_input={"species": "a\ud800", "rows": 5}))
    asked.click("Edit")
    assert asked.field("species").value == '"a\\ud800"'
    asked.field("species").value = '"b\\ud800"'
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit({"species": "b\ud800", "rows": 5})]


def test_a_text_can_be_emptied() -> None:
    asked = Asked(request(tool_input={"species": "a", "rows": 5}))
    asked.click("Edit")
    asked.field("species").value = ""
    asked.click("Check and ask again")
    assert asked.answers == [Approval.edit({"species": "", "rows": 5})]


def test_the_person_can_give_the_result() -> None:
    asked = Asked()
    asked.click("Answer instead")
    asked.click("Send as the result")
    assert asked.answers == []
    asked.field("Result").value = "42 rows"
    asked.click("Send as the result")
    assert asked.answers == [Approval.respond("42 rows")]


def test_a_changed_mode_has_the_same_arguments_judged_again() -> None:
    chosen: list[PermissionMode] = []
    asked = Asked(set_mode=chosen.append, mode=PermissionMode.DEFAULT)
    # As the arrow keys go through the list.
    for mode in (PermissionMode.BYPASS, PermissionMode.DONT_ASK, PermissionMode.EXPLORE):
        asked.field("Mode").value = mode
    assert chosen == []
    assert asked.answers == []
    asked.click("Use explore")
    assert chosen == [PermissionMode.EXPLORE]
    assert asked.answers == [Approval.edit({"species": "Gentoo", "rows": 5, "loud": False})]
    assert "Changed mode to explore · judging again …" in asked.page.text


def test_a_mode_that_is_taken_back_changes_nothing() -> None:
    chosen: list[PermissionMode] = []
    asked = Asked(set_mode=chosen.append, mode=PermissionMode.DEFAULT)
    asked.field("Mode").value = PermissionMode.BYPASS
    assert "Use bypass" in asked.buttons
    asked.field("Mode").value = PermissionMode.DEFAULT
    assert not any(label.startswith("Use") for label in asked.buttons)
    asked.click("Use default")
    assert chosen == []
    assert asked.answers == []


def test_a_mode_can_be_changed_in_a_tray() -> None:
    chosen: list[PermissionMode] = []
    asked = Asked(set_mode=chosen.append, number=2)
    asked.click("More …")
    asked.field("Mode").value = PermissionMode.EXPLORE
    asked.click("Use explore")
    assert chosen == [PermissionMode.EXPLORE]


# --------------------------------------------------------------------------------------------------------- its states


def test_one_drawer_is_open_at_a_time() -> None:
    asked = Asked()
    asked.click("Edit")
    asked.click("Answer instead")
    assert "Check and ask again" not in asked.buttons
    assert "Send as the result" in asked.buttons
    asked.click("Answer instead")
    assert "Send as the result" not in asked.buttons


def test_answered_it_says_how_in_the_buttons_place_and_keeps_its_room() -> None:
    asked = Asked()
    asked.click("Edit")
    asked.click("Allow once")
    assert asked.buttons == []
    assert not asked.waiting
    assert asked.page.text.endswith("Allowed once · running …")


@pytest.mark.parametrize(
    ("approval", "words"),
    [
        (Approval.allow(), "Allowed once · running …"),
        (Approval.allow(scope="cell"), "Allowed, and always for the rest of this cell · running …"),
        (Approval.allow(scope="user"), "Allowed, and always everywhere · running …"),
        (Approval.deny(), "Denied"),
        (Approval.deny("no"), "Denied: “no”"),
        (Approval.edit({}), "Edited · asking again …"),
        (Approval.respond("x"), "Answered by you"),
    ],
)
def test_each_answer_has_its_words(approval: Approval, words: str) -> None:
    assert settled_words(approval) == words


def opened_and_closed() -> None:
    asked = Asked(set_mode=lambda _: None, counter=lambda _: (0, 0))
    for label in ("Always allow …", "Edit", "Answer instead"):
        asked.click(label)
    asked.card.close()


def test_closing_leaves_nothing_behind_but_what_all_cards_share() -> None:
    opened_and_closed()
    before = models()
    opened_and_closed()
    assert models() == before


def test_a_card_can_be_made_after_somebody_closed_all_widgets() -> None:
    Asked().card.close()
    ipywidgets.Widget.close_all()
    shared = [model for each in Asked().card.widgets for model in (each.layout, getattr(each, "style", None)) if model]
    assert [model for model in shared if model.comm is None] == []


def test_a_late_message_to_a_closed_card_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    from comm import get_comm_manager

    asked = Asked()
    pressed = asked.card.widgets[0].model_id
    asked.card.close()
    for comm_id in (pressed, "somebody else's"):
        get_comm_manager().get_comm(comm_id)
    assert caplog.messages == ["No such comm: somebody else's"]


def test_a_card_is_few_models_until_a_drawer_is_opened() -> None:
    Asked(set_mode=lambda _: None)
    before = models()
    made: list[Any] = []
    asked = Asked(set_mode=lambda _: None, route=made.extend)
    # Each is a message that the page takes in before anything is seen.
    assert len(models() - before) <= 15
    assert made == []
    asked.click("Edit")
    assert set(made) == set(asked.card.widgets)
    opened = len(registry._instances)
    asked.click("Edit")
    asked.click("Edit")
    assert len(registry._instances) == opened


def test_a_running_call_shows_its_view_in_the_place_of_body_and_buttons_once_it_was_answered() -> None:
    asked = Asked()
    view = ipywidgets.HTML("batch 3 of 9")
    assert not asked.card.show_running(view)
    assert "Allow once" in asked.buttons
    asked.click("Allow once")
    assert asked.card.show_running(view)
    assert "summarise with species Gentoo" in asked.page.text
    assert asked.page.text.endswith("batch 3 of 9")
    assert asked.buttons == []
    asked.card.close()
    assert not asked.card.show_running(view)


def test_a_running_call_of_a_tray_shows_its_view_in_its_buttons_room() -> None:
    asked = Asked(number=2)
    view = ipywidgets.HTML("batch 3 of 9")
    assert not asked.card.show_running(view)
    asked.click("Allow once")
    children = asked.card.view.children
    assert asked.card.show_running(view)
    assert asked.card.view.children == children
    assert view in children[-1].children


def test_in_a_tray_more_puts_no_button_where_the_pointer_is() -> None:
    asked = Asked(number=2)
    before = asked.buttons
    asked.click("More …")
    first, deny, *rest = asked.card.view.children[-1].children
    assert [first, deny.children[0]] == [asked.card._once, asked.card._no]
    assert isinstance(deny.children[1], ipywidgets.Text)
    assert before == ["Allow once", "Deny", "More …"]
    assert [each.description.split("\n")[0] for each in rest[:-1]] == ["Always allow …", "Edit", "Answer instead"]


def test_a_card_that_cannot_be_drawn_says_how_to_answer() -> None:
    plain = Asked().card.plain
    assert plain == (
        "[summarise] with species Gentoo, rows 5 and 1 more (asked here: %toolkit pending shows it again, %toolkit log what became of it)"
    )


def test_the_sheet_names_nothing_outside_the_card() -> None:
    from nbtoolkit.notebook.widgets.style import SHEET

    sheet = SHEET.removeprefix("<style>").removesuffix("</style>")
    flat = re.sub(r"@(?:media|container) \([^)]*\)\{", "", sheet)
    heads = [each.split("{")[0] for each in flat.split("}") if "{" in each]
    assert heads
    assert all(part.strip().startswith(".nbtk") for head in heads for part in split_selectors(head))
    assert "<script" not in SHEET
    assert "url(" not in SHEET


def split_selectors(head: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, char in enumerate(head):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(head[start:i])
            start = i + 1
    return [*parts, head[start:]]


def test_a_rule_names_its_source() -> None:
    named = PermissionRule.parse("summarise", ASK, "nbtoolkit.toml")
    each = verdict("summarise", ASK, "says so")
    each.rule = named
    asked = Asked(request(subjects=(each,), decision=PermissionDecision(ASK, "x", "Rule: summarise")))
    assert "Asks because the rule ask summarise (nbtoolkit.toml) says so" in asked.page.text


# ------------------------------------------------------------------------------------------------------ why it asks


def judged(tool: Any, tool_input: dict[str, Any]) -> ApprovalRequest:
    judgement = asyncio.run(PermissionEngine(PermissionContext()).judge(tool, dict(tool_input)))
    rules = tuple(judgement.decision.suggested_rules or ())
    return ApprovalRequest(
        "c", tool, tool_input, judgement.decision, judgement.subjects, suggested_rules=rules, judgement=judgement
    )


def test_a_command_is_asked_about_by_what_a_rule_would_call_it_and_the_last_step_names_that_rule() -> None:
    asked = Asked(judged(Bash(), {"command": 'git commit -am "a long message" && git push origin main'}))
    assert "Asks because no rule allows git commit and git push. Why" in asked.page.text
    assert "To decide otherwise: allow Bash(git commit:*), Bash(git push:*), under “Always allow”" in asked.page.text


def test_an_edit_is_asked_about_by_its_folder_and_the_last_step_names_the_mode() -> None:
    made = judged(Write(), {"file_path": "src/a.py", "content": "x"})
    text = Asked(made).page.text
    assert "Asks because no rule allows edits in src/. Why" in text
    assert "To decide otherwise: mode accept_edits would allow it" in text


def test_a_write_is_told_as_a_new_file_or_a_replaced_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    made = judged(Write(), {"file_path": str(path), "content": "x"})
    assert Asked(made).card.title.plain.startswith("Write creates ")
    path.write_text("y")
    assert Asked(made).card.title.plain.startswith("Write replaces ")


def test_a_function_of_the_notebook_is_told_with_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def func() -> None: ...

    compiler = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[7]") if name == __file__ else None)
    monkeypatch.setattr(why, "get_ipython", lambda: SimpleNamespace(compile=compiler))
    tool = Sample()
    tool.func = func  # type: ignore[attr-defined]
    assert "Your function, cell 7: sums up" in Asked(request(tool)).page.text
