"""What servers ask a person: the card's words and answers, what is masked, and the same by lines to type."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ipywidgets as w
import pytest

from nbtoolkit import redact
from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer, Interaction, SamplingRequest
from nbtoolkit.mcp.oauth import SignIn
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.approver import VIEW, InlineApprover, PendingCall
from nbtoolkit.notebook.scheduling import Means, Presence
from nbtoolkit.notebook.server_questions import ServerQuestions
from nbtoolkit.permission.planned import POLICY, parse_answers
from nbtoolkit.tool.progress import current_call
from tests.notebook.asking import request
from tests.notebook.test_approver import LIMIT, Screen, clicks, ends, shown_once, until

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "default": "Ada"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "apiKey": {"type": "string", "minLength": 8},
    },
    "required": ["name", "age"],
}
SECRET = "hunter2-hunter2"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.delenv(POLICY, raising=False)
    return Screen(monkeypatch)


def asked(ask: Callable[[ServerQuestions], Any], *acts: Callable[[PendingCall], object]) -> Any:
    """What the server is told, when these things are done to its card in turn."""
    approver = InlineApprover()

    async def both() -> Any:
        async with asyncio.timeout(LIMIT):
            task = asyncio.ensure_future(ask(ServerQuestions(approver)))
            for act in acts:
                await until(approver.pending)
                act(approver.find())
                await asyncio.sleep(0)
            return await task

    return asyncio.run(both())


def form(schema: dict[str, Any] | None = None) -> Callable[[ServerQuestions], Any]:
    question = Elicitation("crm", "Who are you?", schema or FORM)
    return lambda questions: questions.elicit(question)


def link(url: str) -> Callable[[ServerQuestions], Any]:
    return lambda questions: questions.elicit(Elicitation("crm", "Sign the form", {}, url))


def fills(**values: Any) -> Callable[[PendingCall], object]:
    def act(call: PendingCall) -> None:
        for name, value in values.items():
            field(call, name).value = value

    return act


def field(call: PendingCall, name: str) -> Any:
    kinds = (w.Text, w.Password, w.Textarea, w.Dropdown)
    return next(each for each in call.card.widgets if isinstance(each, kinds) and each.description == name)


def markup(call: PendingCall) -> str:
    return "".join(each.value for each in call.card.widgets if isinstance(each, w.HTML))


def both(*acts: Callable[[PendingCall], object]) -> Callable[[PendingCall], object]:
    return lambda call: [act(call) for act in acts]


# -------------------------------------------------------------------------------------------------------------- a form
def test_a_form_is_sent_with_what_was_typed_and_its_defaults(screen: Screen) -> None:
    answer = asked(form(), both(fills(age="36"), clicks("Send")))
    assert answer == ElicitationAnswer("accept", {"name": "Ada", "age": 36})
    assert screen.cards == []


@pytest.mark.parametrize(("button", "action"), [("Decline", "decline"), ("Cancel", "cancel")])
def test_a_form_can_be_declined_or_cancelled(screen: Screen, button: str, action: Any) -> None:
    assert asked(form(), clicks(button)) == ElicitationAnswer(action)


def test_no_word_of_the_card_speaks_of_a_call_that_is_allowed(screen: Screen) -> None:
    seen: list[str] = []

    def look(call: PendingCall) -> None:
        seen.extend(each.description.split("\n")[0] for each in call.card.widgets if isinstance(each, w.Button))
        seen.append(call.plain)
        clicks("Decline")(call)

    asked(form(), look)
    assert seen[:3] == ["Send", "Decline", "Cancel"]
    assert (
        seen[3]
        == "[crm asks you a question] Who are you? (asked here: %toolkit pending shows it again, %toolkit log what became of it)"
    )


def test_what_does_not_fit_is_said_at_its_field_and_nothing_is_sent(screen: Screen) -> None:
    seen: list[str] = []

    def wrong(call: PendingCall) -> None:
        fills(age="200")(call)
        clicks("Send")(call)
        seen.append(markup(call))

    answer = asked(form(), wrong, both(fills(age="20"), clicks("Send")))
    assert "age" in seen[0]
    assert 'role="alert"' in seen[0]
    assert answer.content["age"] == 20


def test_a_secret_is_masked_and_stands_nowhere_but_in_the_answer(screen: Screen) -> None:
    seen: list[Any] = []

    def look(call: PendingCall) -> None:
        masked = field(call, "apiKey")
        seen.extend((masked, call))
        fills(age="36", apiKey="short")(call)
        clicks("Send")(call)
        assert "short" not in markup(call)
        assert "doesn&#x27;t fit" in markup(call)
        fills(apiKey=SECRET)(call)
        clicks("Send")(call)

    answer = asked(form(), look)
    masked, call = seen
    assert isinstance(masked, w.Password)
    assert answer.content["apiKey"] == SECRET
    assert masked.value == ""
    assert SECRET not in call.plain + str(screen.displays)
    assert redact.redact(f"the server said {SECRET}") == "the server said [redacted]"


@pytest.mark.parametrize(
    ("name", "about", "secret"),
    [
        ("password", {"type": "string"}, True),
        ("userPassword", {"type": "string"}, True),
        ("x", {"type": "string", "format": "password"}, True),
        ("x", {"type": "string", "writeOnly": True}, True),
        ("github_token", {"type": "string"}, True),
        ("x", {"type": "string", "title": "Your API key"}, True),
        ("name", {"type": "string"}, False),
        ("passenger", {"type": "string"}, False),
        ("max_tokens", {"type": "integer"}, False),
        ("pinned", {"type": "string"}, False),
        ("remember_password", {"type": "boolean"}, False),
        ("password", {"type": ["string", "null"]}, True),
        ("password", {"type": ["object"]}, False),
        ("password", {"type": {}}, False),
    ],
)
def test_a_field_is_masked_by_its_format_or_its_name(name: str, about: dict[str, Any], secret: bool) -> None:
    from nbtoolkit.mcp.interaction import is_secret_field

    assert is_secret_field(name, about) is secret


def test_a_secret_that_breaks_the_servers_form_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"name": "Ada", "age": 1, "apiKey": "hunter2"}

    class Params:
        message, requested_schema = "Who?", FORM

    with caplog.at_level(logging.DEBUG):
        answer = asyncio.run(Interaction(elicitation_handler=handler)._elicit("crm", Params()))
    assert answer.message == "The answer doesn't fit: apiKey: it breaks 'minLength' of the form"
    assert "hunter2" not in caplog.text


# -------------------------------------------------------------------------------------------------------------- a link
def test_a_link_stands_there_whole_and_opens_in_its_own_tab_without_a_way_back(screen: Screen) -> None:
    seen: list[str] = []
    answer = asked(
        link("https://example.org/form?a=1&b=2"), both(lambda call: seen.append(markup(call)), clicks("I opened it"))
    )
    assert answer == ElicitationAnswer("accept")
    assert (
        '<a href="https://example.org/form?a=1&amp;b=2" target="_blank" rel="noopener noreferrer" class="nbtk-link">'
        "Open the link</a>, which leads to <b>example.org</b>."
    ) in seen[0]
    assert "Mind:" not in seen[0]


@pytest.mark.parametrize(
    ("url", "warning"),
    [
        ("http://example.org/", "it isn't encrypted"),
        ("https://github.com@evil.example/", "what stands before the @ is not where it leads"),
        ("https://gіthub.com/", "its letters may look like another name's"),
    ],
)
def test_a_person_is_told_what_is_odd_about_a_link(screen: Screen, url: str, warning: str) -> None:
    seen: list[str] = []
    assert asked(link(url), both(lambda call: seen.append(markup(call)), clicks("Decline"))).action == "decline"
    assert warning in seen[0]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://", 'https://"><script>', "x"])
def test_what_is_no_web_address_is_shown_and_never_a_link_that_runs(screen: Screen, url: str) -> None:
    seen: list[str] = []
    asked(link(url), both(lambda call: seen.append(markup(call)), clicks("Cancel")))
    assert "<script" not in seen[0]
    assert 'href="javascript' not in seen[0]
    assert "<pre" in seen[0]


# ------------------------------------------------------------------------------------------------------- a model, a sign-in
@pytest.mark.parametrize(("button", "allowed"), [("Let it answer", True), ("Decline", False)])
def test_a_person_sees_what_the_model_would_be_asked_and_decides(screen: Screen, button: str, allowed: bool) -> None:
    message = {"role": "user", "content": {"type": "text", "text": "Tell me <b>all</b>"}}
    wish = SamplingRequest("crm", [message], 100, system_prompt="Be brief")
    seen: list[str] = []
    look = both(lambda call: seen.append(markup(call)), clicks(button))
    assert asked(lambda questions: questions.allow_sampling(wish), look) is allowed
    assert "Be brief" in seen[0]
    assert "Tell me &lt;b&gt;all" in seen[0]


def test_a_sign_in_goes_on_with_the_address_that_was_pasted(screen: Screen) -> None:
    wish = SignIn("crm", "https://auth.example/authorize", "http://127.0.0.1:9/callback")
    too_early = clicks("Continue")
    paste = both(fills(Address=" http://127.0.0.1:9/callback?code=x "), clicks("Continue"))
    answer = asked(lambda questions: questions.sign_in(wish), too_early, paste)
    assert answer == "http://127.0.0.1:9/callback?code=x"
    assert asked(lambda questions: questions.sign_in(wish), clicks("Decline")) is None


# --------------------------------------------------------------------------------------------------- by commands, by lines
def test_a_command_sends_the_form_as_it_is_filled_or_declines(screen: Screen) -> None:
    full = {"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}, "required": ["name"]}
    answer = asked(form(full), lambda call: call.question.resolve(_approval("allow")))
    assert answer == ElicitationAnswer("accept", {"name": "Ada"})
    assert asked(form(full), lambda call: call.question.resolve(_approval("deny"))).action == "decline"


def test_a_form_that_lacks_something_is_asked_for_again(screen: Screen) -> None:
    seen: list[str] = []
    answer = asked(
        form(),
        lambda call: call.question.resolve(_approval("allow")),
        both(lambda call: seen.append(call.card.question.message), fills(age="3"), clicks("Send")),  # type: ignore[union-attr]
    )
    assert seen == ["Who are you? (Fill in 'age'.)"]
    assert answer.content == {"name": "Ada", "age": 3}


def _approval(kind: str) -> Any:
    from nbtoolkit.permission.approval import Approval

    return Approval.allow() if kind == "allow" else Approval.deny()


def test_lines_are_asked_for_field_by_field_and_secrets_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POLICY, raising=False)
    lines = ["y", "", "old", SECRET, "36"]
    prompts: list[tuple[str, bool]] = []

    async def ask_by_input(prompt: str, timeout: float | None = None, *, password: bool = False) -> str:
        prompts.append((prompt, password))
        return lines.pop(0)

    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.INPUT, "a terminal"))
    monkeypatch.setattr(scheduling, "ask_by_input", ask_by_input)
    answer = asyncio.run(form()(ServerQuestions(InlineApprover())))
    assert answer == ElicitationAnswer("accept", {"name": "Ada", "age": 36, "apiKey": SECRET})
    assert [password for _, password in prompts] == [False, False, False, True, False]
    assert prompts[0][0] == "The MCP server crm asks: “Who are you?”\nAnswer? [y/N, c to cancel] "
    assert prompts[1][0].startswith('name (Your name), string; default "Ada": ')
    assert "age" in prompts[4][0].splitlines()[0]


@pytest.mark.parametrize(("line", "action"), [("", "decline"), ("n", "decline"), ("c", "cancel")])
def test_an_empty_line_declines_and_c_cancels(monkeypatch: pytest.MonkeyPatch, line: str, action: str) -> None:
    monkeypatch.delenv(POLICY, raising=False)

    async def ask_by_input(prompt: str, timeout: float | None = None, *, password: bool = False) -> str:
        return line

    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.INPUT, "a terminal"))
    monkeypatch.setattr(scheduling, "ask_by_input", ask_by_input)
    assert asyncio.run(form()(ServerQuestions(InlineApprover()))).action == action


def test_where_nobody_is_a_question_is_cancelled_unless_an_answer_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POLICY, "allow")
    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.NOBODY, "allow_stdin is false"))
    approver = InlineApprover()
    questions = ServerQuestions(approver)
    assert asyncio.run(form()(questions)) == ElicitationAnswer("cancel")
    approver.answers.set(parse_answers('mcp__crm__question -> edit {"name": "Bob", "age": 5}', lines=True))
    assert asyncio.run(form()(questions)) == ElicitationAnswer("accept", {"name": "Bob", "age": 5})


@pytest.mark.parametrize("line", ['mcp__crm__question -> edit {"name": "Ada"}', 'edit {"name": "Ada"}'])
def test_a_planned_answer_is_not_left_over_where_a_cassette_answered(line: str) -> None:
    approver = InlineApprover()
    approver.answers.set(parse_answers(line, lines=True))
    asyncio.run(ServerQuestions(approver).passed_over(Elicitation("crm", "Who are you?", FORM)))
    assert approver.answers.faults() == []


# ------------------------------------------------------------------------------------------------------- in its call
class InACall:
    """A call that a person allowed, or a rule, in which a server asks twice."""

    def __init__(self, screen: Screen, *, by_card: bool) -> None:
        self.screen, self.by_card = screen, by_card
        self.approver = InlineApprover()
        self.seen: list[list[str]] = []

    async def ask(self) -> None:
        answer = asyncio.ensure_future(form({"type": "object"})(ServerQuestions(self.approver)))
        await until(self.approver.pending)
        call = self.approver.find()
        if not self.by_card:
            shown_once(call)
        self.seen.append([text for text in map(kind, self.screen.displays.values()) if text])
        clicks("Send")(call)
        await answer

    def run(self) -> None:
        async def main() -> None:
            async with asyncio.timeout(LIMIT):
                if self.by_card:
                    allowed = asyncio.ensure_future(self.approver(request()))
                    await until(self.approver.pending)
                    shown_once(self.approver.find())
                    clicks("Allow once")(self.approver.find())
                    await allowed
                current_call.set(SimpleNamespace(id="call-1"))
                await self.ask()
                await self.ask()

        asyncio.run(main())


def kind(data: dict[str, Any]) -> str:
    return "" if not data else "widgets" if VIEW in data else str(data["text/plain"])


def test_a_question_is_shown_in_the_card_of_the_call_that_it_came_up_in(screen: Screen) -> None:
    call = InACall(screen, by_card=True)
    call.run()
    assert call.seen == [["widgets"], ["widgets"]]
    card = call.approver.card("call-1")
    assert card is not None
    assert not any("nbtk-card" in each._dom_classes for each in card.view.children)
    ends(call.approver, "call-1")
    assert [data["text/plain"] for data in screen.displays.values()] == ["record of call-1"]


def test_where_the_call_has_no_card_its_record_takes_the_questions_place(screen: Screen) -> None:
    call = InACall(screen, by_card=False)
    call.run()
    assert call.seen == [["widgets"], ["crm asks you a question: answered, the call goes on", "widgets"]]
    ends(call.approver, "call-1")
    said = [data["text/plain"] for data in screen.displays.values() if data]
    assert said == ["record of call-1"]
