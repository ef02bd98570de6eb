"""toolkit.chat over both official SDKs, against a loopback endpoint that streams in their wire forms."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from openai import NotFoundError

from nbtoolkit import FunctionTool, Toolkit
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission import Approval
from tests.agents.endpoint import LoopbackModel, Script
from tests.agents.support import a_toolkit

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.agents.chat import Answer

PROVIDERS = ["openai", "anthropic"]
CALLS: tuple[Script, ...] = (
    ["Let me see.", ("add", {"a": 1}), ("delete", {"path": "x"})],
    ["It is 2, and x is gone."],
)


def url(model: LoopbackModel, provider: str) -> str:
    return f"{model.url}/v1" if provider == "openai" else model.url


def chat(toolkit: Toolkit, model: LoopbackModel, provider: str, prompt: str = "go", **options: Any) -> Answer:
    return toolkit.chat_sync(prompt, model="m", provider=provider, base_url=url(model, provider), **options)


class View:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.stop: Callable[[], None] = lambda: None
        self.asked = ""

    def opened(self, stop: Callable[[], None]) -> None:
        self.stop = stop

    def asking(self, model: str) -> None:
        self.asked = model

    def text(self, piece: str) -> None:
        self.seen.append(piece)

    def paused(self) -> None:
        self.seen.append("|")

    def closed(self, note: str) -> None:
        self.seen.append(f"[{note}]")


def whole(history: list[Any], provider: str) -> bool:
    """Whether every call in a history has its one result, right behind it."""
    open_calls: list[str] = []
    for message in history:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if message["role"] == "assistant":
            if open_calls:
                return False
            calls = message.get("tool_calls") or () if provider == "openai" else blocks
            open_calls = [each["id"] for each in calls if each["type"] in {"function", "tool_use"}]
        elif message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            for block in blocks:
                if block["type"] == "tool_result":
                    open_calls.remove(block["tool_use_id"])
            if open_calls:
                return False
    return not open_calls


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_prompt_runs_the_models_calls_until_it_makes_none(provider: str) -> None:
    toolkit, person = a_toolkit(Approval.allow())
    view = View()
    with LoopbackModel(*CALLS) as model:
        answer = chat(toolkit, model, provider, system="Be brief.", view=view)
    assert (answer.text, answer.stopped, answer.calls) == ("It is 2, and x is gone.", "done", 2)
    assert answer.tokens == 20
    assert view.seen[:3] == ["Let me", " see.", "|"]
    assert "".join(view.seen[3:]) == "It is 2, and x is gone.|[]"
    assert person.asked == [("delete", {"path": "x"})]
    assert {entry.to_dict()["asked_by"] for entry in toolkit.log} == {"m"}
    first, second = model.requests
    assert "Be brief." in json.dumps(first)
    assert [each.get("name") or each["function"]["name"] for each in first["tools"]] == [
        "add",
        "plot",
        "fail",
        "delete",
    ]
    assert second["messages"][1 if provider == "anthropic" else 2]["role"] == "assistant"
    assert "deleted x" in json.dumps(second["messages"][-1])
    assert whole(toolkit.chat.history, provider)
    assert json.loads(json.dumps(toolkit.chat.history)) == toolkit.chat.history


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_next_prompt_goes_on_and_a_reset_begins_anew(provider: str) -> None:
    toolkit, _ = a_toolkit()
    with LoopbackModel(["One."], ["Two."], ["Three."]) as model:
        chat(toolkit, model, provider)
        assert toolkit.chat_sync("and?").text == "Two."
        assert [message["role"] for message in toolkit.chat.history] == ["user", "assistant"] * 2
        toolkit.chat.reset()
        toolkit.chat_sync("anew")
    assert [len([m for m in each["messages"] if m["role"] == "user"]) for each in model.requests] == [1, 2, 1]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_denial_and_broken_arguments_go_back_to_the_model(provider: str) -> None:
    toolkit, _ = a_toolkit(Approval.deny("keep it"))
    with LoopbackModel([("delete", {"path": "x"}), ("add", '{"a": ')], ["So be it."]) as model:
        assert chat(toolkit, model, provider).text == "So be it."
    said = json.dumps(model.requests[1]["messages"])
    assert "keep it" in said
    assert "ToolJSONDecodeError" in said
    assert whole(toolkit.chat.history, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_beyond_the_budget_do_not_run_and_end_the_prompt(provider: str) -> None:
    toolkit, _ = a_toolkit()
    view = View()
    with LoopbackModel([("add", {"a": n}) for n in range(3)], ["never"]) as model:
        answer = chat(toolkit, model, provider, calls=2, view=view)
    assert (answer.stopped, answer.calls, len(model.requests)) == ("calls", 2, 1)
    assert view.seen == ["|", "[the budget of 2 calls was used up]"]
    assert "budget of calls" in json.dumps(toolkit.chat.history[-1])
    assert whole(toolkit.chat.history, provider)


def test_tokens_are_counted_where_the_server_counts_them_and_estimated_elsewhere() -> None:
    toolkit, _ = a_toolkit()
    replies: list[Script] = [["More.", ("add", {"a": n})] for n in range(9)]
    with LoopbackModel(*replies) as model:
        answer = chat(toolkit, model, "openai", tokens=25)
    assert (answer.stopped, answer.tokens, len(model.requests)) == ("tokens", 30, 3)
    assert model.requests[0]["max_tokens"] == 25
    with LoopbackModel(*replies, usage=False) as model:
        answer = chat(Toolkit([FunctionTool(int_of, is_read_only=True, name="add")]), model, "openai", tokens=200)
    assert answer.stopped == "tokens"
    assert answer.tokens >= 200


def int_of(a: int) -> int:
    """Give it back."""
    return a


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stop_gives_what_was_said_so_far(provider: str) -> None:
    toolkit, _ = a_toolkit()
    with LoopbackModel(["A long, long story."], held=0) as model:

        async def run() -> Answer:
            task = asyncio.ensure_future(
                toolkit.chat("go", model="m", provider=provider, base_url=url(model, provider), view=View())
            )
            await asyncio.to_thread(model.waiting.wait, 30)
            while not task.done():
                await asyncio.sleep(0.01)
                if toolkit.chat._task is not None:
                    await asyncio.to_thread(toolkit.chat.stop)
            return await task

        answer = asyncio.run(run())
    assert answer.stopped == "stopped"
    assert "A long, long story.".startswith(answer.text)
    assert whole(toolkit.chat.history, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_seconds_end_a_reply_but_a_persons_thinking_is_not_counted(provider: str) -> None:
    toolkit, _ = a_toolkit()

    async def slow_person(request: Any) -> Approval:
        await asyncio.sleep(1.0)
        return Approval.allow()

    with LoopbackModel([("delete", {"path": "x"})], ["A long story."], held=1) as model:
        answer = chat(toolkit, model, provider, seconds=0.9, approver=slow_person)
    assert answer.stopped == "seconds"
    assert "deleted x" in json.dumps(toolkit.chat.history)
    assert whole(toolkit.chat.history, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_cancelled_prompt_leaves_a_history_that_can_go_on(provider: str) -> None:
    toolkit, _ = a_toolkit()
    asked = asyncio.Event()

    async def nobody(request: Any) -> Approval:
        asked.set()
        await asyncio.sleep(60)
        raise AssertionError

    with LoopbackModel([("add", {"a": 1}), ("delete", {"path": "x"})]) as model:

        async def run() -> None:
            task = asyncio.ensure_future(
                toolkit.chat("go", model="m", provider=provider, base_url=url(model, provider), approver=nobody)
            )
            await asyncio.wait_for(asked.wait(), 30)
            task.cancel()
            await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(run())
    assert "interrupted" in json.dumps(toolkit.chat.history)
    assert whole(toolkit.chat.history, provider)
    assert toolkit.chat._task is None


def test_what_the_endpoint_refuses_is_raised_and_the_prompt_is_not_kept() -> None:
    toolkit, _ = a_toolkit()
    with LoopbackModel(404) as model, pytest.raises(NotFoundError, match="no such model"):
        chat(toolkit, model, "openai")
    assert toolkit.chat.history == []


def test_a_client_of_ones_own_is_used_and_left_open() -> None:
    from anthropic import AsyncAnthropic

    toolkit, _ = a_toolkit()
    with LoopbackModel(["Hello."]) as model:

        async def run() -> None:
            async with AsyncAnthropic(base_url=model.url, api_key="k") as client:
                assert (await toolkit.chat("go", model="m", client=client)).text == "Hello."
                assert not client.is_closed()

        asyncio.run(run())
    assert model.requests[0]["path"] == "/v1/messages"


def test_the_name_and_the_environment_say_where_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "NBTOOLKIT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    toolkit, _ = a_toolkit()
    with pytest.raises(DeveloperOrientedException, match="no model is named: pass model="):
        toolkit.chat_sync("go")
    with pytest.raises(DeveloperOrientedException, match="set ANTHROPIC_API_KEY or pass api_key"):
        toolkit.chat_sync("go", model="claude-x")
    with pytest.raises(ValueError, match="'other' is no provider; expected one of openai, anthropic"):
        toolkit.chat_sync("go", model="m", provider="other")
    with LoopbackModel(["One."], ["Two."], ["Three."]) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        monkeypatch.setenv("NBTOOLKIT_MODEL", "llama3:8b")
        assert Toolkit().chat_sync("go").text == "One."
        assert Toolkit().chat_sync("go", model="claude-x").text == "Two."
        assert Toolkit().chat_sync("go", model="anthropic:other").text == "Three."
    assert [(each["path"], each["model"]) for each in model.requests] == [
        ("/v1/chat/completions", "llama3:8b"),
        ("/v1/messages", "claude-x"),
        ("/v1/messages", "other"),
    ]


def test_a_history_of_one_form_is_not_sent_in_another() -> None:
    toolkit, _ = a_toolkit()
    with LoopbackModel(["One."]) as model:
        chat(toolkit, model, "openai")
        with pytest.raises(DeveloperOrientedException, match="in the form of 'openai'"):
            chat(toolkit, model, "anthropic")


def test_a_script_prints_what_the_model_says(capsys: pytest.CaptureFixture[str]) -> None:
    toolkit, _ = a_toolkit()
    with LoopbackModel(["Hello there."], [("add", {"a": 1})]) as model:
        chat(toolkit, model, "openai")
        chat(toolkit, model, "openai", calls=0)
    assert capsys.readouterr().out == "Hello there.\n[the budget of 0 calls was used up]\n"
