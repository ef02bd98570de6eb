"""Who is asked, and that the first answer counts; kernels are played by stand-ins, see tests/kernel for real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ipywidgets.widgets import widget as registry

from nbtoolkit import hooks
from nbtoolkit.notebook import questions, recorder, render, scheduling
from nbtoolkit.notebook.approver import FOR_THE_NEXT_RUN, VIEW, InlineApprover, PendingCall
from nbtoolkit.notebook.recorder import Recorder
from nbtoolkit.notebook.scheduling import Means, NobodyAnswers, Origin, Presence, Question
from nbtoolkit.notebook.widgets.card import ApprovalCard
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.planned import POLICY, parse_answers
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolResponse
from nbtoolkit.tool.toolkit import Toolkit
from tests.notebook.asking import entry, request

LIMIT = 10


class Screen:
    """A front end that shows widgets, and what is on it by display id."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.displays: dict[str, dict[str, Any]] = {}
        self.log: list[str] = []
        self.routed = 0
        self.attended = True
        monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.WIDGETS, "a test"))
        monkeypatch.setattr(scheduling, "pose", self.pose)
        monkeypatch.setattr(scheduling, "publish", self.publish)
        monkeypatch.setattr(scheduling, "route", self.route)

    async def pose(self, question: Question, *, timeout: float | None = None) -> Any:
        with question.open():
            question.present()
            if not self.attended:
                raise NobodyAnswers("no front end has answered")
            return await question.wait(timeout)

    def route(self, widgets: list[Any]) -> None:
        self.routed += len(widgets)

    def publish(self, data: Mapping[str, Any], *, parent: object = None, display_id: str, update: bool = False) -> bool:
        assert parent is not None
        self.displays[display_id] = dict(data)
        self.log.append("updated" if update else "shown")
        return True

    @property
    def cards(self) -> list[dict[str, Any]]:
        return [data for data in self.displays.values() if data]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.delenv(POLICY, raising=False)
    return Screen(monkeypatch)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POLICY, raising=False)
    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.NOBODY, "allow_stdin is false"))


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A terminal: what will be typed, in order; what was asked is put in its place."""
    monkeypatch.delenv(POLICY, raising=False)
    lines: list[str] = []

    async def ask_by_input(prompt: str, timeout: float | None = None) -> str:
        if not lines:
            raise NobodyAnswers("the input was closed")
        said = lines.pop(0)
        lines.append(prompt)
        if said == "(nothing)":
            raise TimeoutError
        return said

    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.INPUT, "a terminal"))
    monkeypatch.setattr(scheduling, "ask_by_input", ask_by_input)
    return lines


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110 - the approver announces nothing to a test
            await asyncio.sleep(0)


def asked(
    approver: InlineApprover, act: Callable[[PendingCall], object], asking: ApprovalRequest | None = None
) -> Approval:
    """The approver's answer, when ``act`` is done to the call that waits."""

    async def both() -> Approval:
        task = asyncio.ensure_future(approver(asking or request()))
        await until(approver.pending)
        act(approver.find())
        return await task

    return asyncio.run(both())


def clicks(*labels: str) -> Callable[[PendingCall], object]:
    def act(call: PendingCall) -> None:
        for label in labels:
            named = (each for each in call.card.widgets if getattr(each, "description", "").startswith(f"{label}\n"))
            next(named).click()

    return act


def on_the_page(act: Callable[[PendingCall], object]) -> Callable[[PendingCall], object]:
    """The same, by a message from the page that shows the card."""

    def heard(call: PendingCall) -> None:
        call.card._kit.heard_from = "page"
        act(call)

    return heard


def run(awaitable: Awaitable[Approval]) -> Approval:
    async def main() -> Approval:
        async with asyncio.timeout(LIMIT):
            return await awaitable

    return asyncio.run(main())


# ------------------------------------------------------------------------------------------------------------ a card


def test_a_front_end_is_shown_the_card_and_a_click_is_the_answer(screen: Screen) -> None:
    approver = InlineApprover()
    shown: list[dict[str, Any]] = []

    def look(call: PendingCall) -> None:
        shown.extend(screen.cards)
        clicks("Allow once")(call)

    assert asked(approver, look) == Approval.allow()
    assert [set(card) for card in shown] == [{VIEW, "text/plain"}]
    assert shown[0]["text/plain"].endswith(
        "(asked here: %toolkit pending shows it again, %toolkit log what became of it)"
    )
    assert screen.routed > 0
    assert approver.pending() == []


def test_the_card_stays_until_the_record_is_drawn_and_leaves_nothing_in_the_file(screen: Screen) -> None:
    approver = InlineApprover()
    asked(approver, clicks("Allow once"))
    assert len(screen.cards) == 1
    approver.ended("call-1")
    assert list(screen.displays.values()) == [{}]
    approver.ended("call-1")
    approver.ended("unknown")


def test_the_card_of_a_running_call_is_found_by_the_calls_id(screen: Screen) -> None:
    approver = InlineApprover()
    cards: list[Any] = []

    def look(call: PendingCall) -> None:
        cards.append(call.card)
        assert approver.card("call-1") is None
        clicks("Allow once")(call)

    asked(approver, look)
    assert approver.card("call-1") is cards[0]
    approver.ended("call-1")
    assert approver.card("call-1") is None


def test_a_drawer_is_routed_when_it_is_opened(screen: Screen) -> None:
    counts: list[int] = []

    def look(call: PendingCall) -> None:
        counts.extend([len(call.card.widgets), screen.routed])
        clicks("Edit")(call)
        counts.extend([len(call.card.widgets), screen.routed])
        clicks("Deny")(call)

    asked(InlineApprover(), look)
    assert counts[0] == counts[1]
    assert counts[3] >= counts[2] > counts[0]


def test_planned_answers_and_policy_are_ignored_where_somebody_can_click(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POLICY, "allow")
    approver = InlineApprover()
    approver.answers.set(parse_answers("allow", lines=False))
    assert asked(approver, clicks("Deny")) == Approval.deny()
    assert len(approver.answers) == 1


# ------------------------------------------------------------------------------------------------------------ a tray


def several(
    approver: InlineApprover, act: Callable[[list[PendingCall]], object], *asking: ApprovalRequest
) -> list[Any]:
    """What the approver answers to calls that ask at once, when ``act`` is done to them."""

    async def all_of_them() -> list[Any]:
        tasks = [asyncio.ensure_future(approver(each)) for each in asking]
        await until(lambda: len(approver.pending()) == len(asking))
        act(approver.pending())
        return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(all_of_them())


def numbered(count: int, **fields: Any) -> list[ApprovalRequest]:
    return [replace(request(**fields), id=f"call-{i}") for i in range(1, count + 1)]


def number_of(call: PendingCall) -> int | None:
    assert isinstance(call.card, ApprovalCard)
    return call.card.number


def tray_of(call: PendingCall) -> Any:
    assert call.shared is not None
    return call.shared.tray


def press(tray: Any, label: str) -> None:
    next(each for each in tray.widgets if getattr(each, "description", "").startswith(label)).click()


def test_calls_that_ask_at_once_share_one_display_and_are_answered_in_any_order(screen: Screen) -> None:
    approver = InlineApprover()

    def act(calls: list[PendingCall]) -> None:
        assert [(call.id, number_of(call)) for call in calls] == [("1", 1), ("2", 2), ("3", 3)]
        assert len(screen.cards) == 1
        clicks("Deny")(calls[2])
        clicks("Allow once")(calls[0])
        clicks("More …", "Answer instead")(calls[1])
        field = next(w for w in calls[1].card.widgets if getattr(w, "description", "").startswith("Result"))
        field.value = "42"
        clicks("Send as the result")(calls[1])

    given = several(approver, act, *numbered(3))
    assert given == [Approval.allow(), Approval.respond("42"), Approval.deny()]
    for i in range(1, 4):
        assert len(screen.cards) == 1
        approver.ended(f"call-{i}")
    assert screen.cards == []


def test_these_are_answered_together_but_not_those_that_ask_for_safetys_sake(screen: Screen) -> None:
    approver = InlineApprover()
    asking = numbered(4)
    asking[1] = replace(request(safety=True), id="call-2")

    def act(calls: list[PendingCall]) -> None:
        press(tray_of(calls[0]), "Allow 1, 3 and 4")
        assert [call.id for call in approver.pending()] == ["2"]
        clicks("Deny")(calls[1])

    allow = Approval.allow()
    assert several(approver, act, *asking) == [allow, Approval.deny(), allow, allow]


def test_a_newcomer_goes_last_and_is_no_part_of_these_until_it_is_taken_in(screen: Screen) -> None:
    approver = InlineApprover()
    late = [replace(request(), id=f"late-{i}") for i in range(2)]

    async def main() -> list[Approval]:
        tasks = [asyncio.ensure_future(approver(each)) for each in numbered(2)]
        await until(lambda: len(approver.pending()) == 2)
        first = approver.pending()[0]
        tasks.append(asyncio.ensure_future(approver(late[0])))
        await until(lambda: len(approver.pending()) == 3)
        tray = tray_of(first)
        assert approver.pending()[2].shared is first.shared
        assert len(screen.cards) == 1
        clicks("Allow once")(first)
        press(tray, "Take it in")
        tasks.append(asyncio.ensure_future(approver(late[1])))
        await until(lambda: len(approver.pending()) == 3)
        press(tray, "Deny these 2")
        assert [number_of(call) for call in approver.pending()] == [4]
        clicks("Allow once")(approver.pending()[0])
        return [await task for task in tasks]

    allow, deny = Approval.allow(), Approval.deny()
    assert asyncio.run(main()) == [allow, deny, deny, allow]


def test_a_call_that_ends_while_others_wait_keeps_its_room_and_says_where_its_record_is(screen: Screen) -> None:
    approver = InlineApprover()

    def act(calls: list[PendingCall]) -> None:
        tray = tray_of(calls[0])
        before = tray.view.children
        clicks("Allow once")(calls[0])
        approver._cards.settle(calls[0], "Allowed once · running …")
        approver.ended("call-1", {"text/html": "", "text/plain": ""})
        assert tray.view.children == before
        assert "done, its record is below" in calls[0].card._status.value
        clicks("Deny")(calls[1])
        approver._cards.settle(calls[1], "Denied")
        assert [card.number for card in tray.cards] == [2]

    several(approver, act, *numbered(2))
    approver.ended("call-2")
    assert screen.cards == []


def test_a_call_that_is_edited_in_a_tray_asks_again_in_its_place(screen: Screen) -> None:
    approver = InlineApprover()

    async def main() -> list[Approval]:
        tasks = [asyncio.ensure_future(approver(each)) for each in numbered(2)]
        await until(lambda: len(approver.pending()) == 2)
        first, second = approver.pending()
        clicks("More …", "Edit", "Check and ask again")(first)
        edited = await tasks[0]
        again = asyncio.ensure_future(approver(replace(request(), id="call-1")))
        await until(lambda: len(approver.pending()) == 2)
        new = next(call for call in approver.pending() if call is not second)
        assert tray_of(second).cards == [new.card, second.card]
        assert number_of(new) == 1
        clicks("Allow once")(new)
        clicks("Deny")(second)
        return [edited, await again, await tasks[1]]

    edited, *rest = asyncio.run(main())
    assert edited.kind == "edit"
    assert rest == [Approval.allow(), Approval.deny()]
    assert len(screen.cards) == 1
    for i in (1, 2):
        approver.ended(f"call-{i}")
    assert screen.cards == []


def test_a_card_that_stands_alone_is_not_moved_by_a_second_one(screen: Screen) -> None:
    approver = InlineApprover()

    async def main() -> None:
        tasks = [asyncio.ensure_future(approver(request()))]
        await until(approver.pending)
        tasks.append(asyncio.ensure_future(approver(replace(request(), id="call-2"))))
        await until(lambda: len(approver.pending()) == 2)
        assert [call.shared for call in approver.pending()] == [None, None]
        assert len(screen.cards) == 2
        for call in approver.pending():
            clicks("Deny")(call)
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_stopping_calls_that_ask_at_once_leaves_no_card_and_no_question(screen: Screen) -> None:
    approver = InlineApprover()

    async def main(turns: int) -> None:
        tasks = [asyncio.ensure_future(approver(each)) for each in numbered(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    for turns in range(6):
        asyncio.run(main(turns))
        assert approver.pending() == []
        for i in range(1, 4):
            approver.ended(f"call-{i}")
        assert screen.cards == []


def test_a_tray_that_nobody_can_see_goes(screen: Screen) -> None:
    screen.attended = False
    approver = InlineApprover()
    given = several_alone(approver, *numbered(2))
    assert {each.kind for each in given} == {"deny"}
    assert screen.cards == []


def several_alone(approver: InlineApprover, *asking: ApprovalRequest) -> list[Any]:
    async def main() -> list[Any]:
        return list(await asyncio.gather(*(approver(each) for each in asking)))

    return asyncio.run(main())


def test_a_tray_is_shown_again_once_and_its_records_stand_below_the_second(screen: Screen) -> None:
    approver = InlineApprover()
    parent = {"header": {"msg_id": "other"}}

    def act(calls: list[PendingCall]) -> None:
        assert approver.show_again(parent) == 2
        assert approver.show_again(parent) == 2
        assert len(screen.cards) == 2
        press(tray_of(calls[0]), "Allow these 2")

    several(approver, act, *numbered(2))
    for i in (1, 2):
        approver.ended(f"call-{i}", {"text/html": "", "text/plain": f"record {i}"})
    assert [card["text/plain"] for card in screen.cards] == ["record 1", "record 2"]


def test_an_interrupt_ends_the_wait_and_goes_on_up(screen: Screen) -> None:
    approver = InlineApprover()
    cards: list[PendingCall] = []

    async def main() -> None:
        task = asyncio.ensure_future(approver(request()))
        await until(approver.pending)
        cards.append(approver.find())
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert approver.pending() == []
    assert "Interrupted" in cards[0].card._status.value


class Stops:
    """Something that is struck by so many stops, before or after its work, and then works."""

    def __init__(self, act: Callable[..., Any], times: int = 2) -> None:
        self.act = act
        self.left = times

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            self.act(*args, **kwargs)
        if self.left >= 0:
            raise KeyboardInterrupt
        return self.act(*args, **kwargs)


def test_a_second_stop_in_the_clean_up_leaves_no_card(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    approver = InlineApprover()

    async def main() -> None:
        task = asyncio.ensure_future(approver(request()))
        await until(approver.pending)
        card: Any = approver.find().card
        monkeypatch.setattr(card, "_open", Stops(card._open))
        task.cancel()
        await task

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert approver.pending() == []
    monkeypatch.setattr(scheduling, "publish", Stops(screen.publish))
    with pytest.raises(KeyboardInterrupt):
        approver.ended("call-1")
    assert screen.cards == []
    assert "updated" in screen.log


def test_a_stop_while_the_record_is_drawn_loses_neither_the_record_nor_the_cards_end(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver = InlineApprover()
    asked(approver, clicks("Deny"))
    records: list[Any] = []
    monkeypatch.setattr(recorder, "show", lambda bundle, *_: records.append(bundle))
    monkeypatch.setattr(render, "record", Stops(render.record))
    monkeypatch.setattr(scheduling, "publish", Stops(screen.publish))
    call: Any = SimpleNamespace(id="call-1", place=None)
    noted = entry(note="kept for the cell only")
    with pytest.raises(KeyboardInterrupt):
        Recorder(approver).ended(call, noted, ToolResponse())
    assert [bundle["text/plain"] for bundle in records][1:] == ["kept for the cell only"]
    assert screen.cards == []


def test_a_question_that_nobody_answers_in_time_is_denied(screen: Screen) -> None:
    given = run(InlineApprover(ask_timeout=0.05)(request()))
    assert given == Approval.deny("Nobody answered within 0.05 s.", by="policy")


def test_an_edited_call_asks_again_in_the_first_cards_display(screen: Screen) -> None:
    approver = InlineApprover()
    asked(approver, on_the_page(clicks("Edit", "Check and ask again")))
    assert len(screen.cards) == 1
    first = screen.cards[0][VIEW]["model_id"]
    again: list[PendingCall] = []

    def look(call: PendingCall) -> None:
        again.append(call)
        root = registry._instances[first]
        assert root.children == (call.card.view,)
        assert not {"nbtk-card", "nbtk-pending"} & set(root._dom_classes)
        clicks("Allow once")(call)

    asked(approver, look)
    # A page hides a display whose widget is closed, whatever was put in its place.
    assert screen.log == ["shown"]
    approver.ended("call-1")
    assert screen.cards == []
    assert again[0].card.widgets == []
    assert first not in registry._instances


def test_the_record_takes_the_cards_place_below_its_own_cell_only(screen: Screen) -> None:
    approver = InlineApprover()
    asked(approver, on_the_page(clicks("Allow once")))
    here: dict[str, Any] = {}
    assert approver.slot("call-1", {"header": {"msg_id": "another cell"}}) is None
    slot = approver.slot("call-1", here)
    assert slot is not None
    scheduling.publish({"text/plain": "the record"}, parent=here, display_id=slot.display_id, update=True)
    approver.ended("call-1", {"text/plain": "the record"}, slot=slot)
    assert screen.displays == {slot.display_id: {"text/plain": "the record"}}


def ends(approver: InlineApprover, call_id: str) -> None:
    """What the recorder does: a record where the card or tray stands, else below."""
    slot = approver.slot(call_id, {})
    record = {"text/plain": f"record of {call_id}"}
    place = "below" if slot is None else slot.display_id
    scheduling.publish(record, parent={}, display_id=place, update=slot is not None and not slot.fresh)
    approver.ended(call_id, record, slot=slot)


def shown_once(call: PendingCall) -> None:
    """The page told that it shows it."""
    shown = call.card if call.shared is None else call.shared.tray
    shown._kit.heard_from = "page"
    shown.view._view_count = 1


@pytest.mark.parametrize("removed", [False, True])
def test_a_record_takes_the_place_of_a_card_that_was_answered_elsewhere_if_the_page_still_shows_it(
    screen: Screen, removed: bool
) -> None:
    approver = InlineApprover()

    def answered(call: PendingCall) -> None:
        shown_once(call)
        if removed:
            call.card.view._view_count = 0
        approver.approve()

    asked(approver, answered)
    ends(approver, "call-1")
    assert [data["text/plain"] for data in screen.cards] == ["record of call-1"]
    assert (len(screen.displays) == 2) == removed


@pytest.mark.parametrize("removed", [False, True])
def test_the_record_that_ends_last_takes_the_trays_place_so_that_no_empty_display_is_left(
    screen: Screen, removed: bool
) -> None:
    approver = InlineApprover()

    def answered(calls: list[PendingCall]) -> None:
        shown_once(calls[0])
        press(tray_of(calls[0]), "Allow these 3")
        if removed:
            tray_of(calls[0]).view._view_count = 0

    several(approver, answered, *numbered(3))
    for number in (2, 3, 1):
        ends(approver, f"call-{number}")
    said = [data.get("text/plain") for data in screen.displays.values()]
    # In the order in which the displays were made.
    if removed:
        assert said == [None, "record of call-1"]
    else:
        assert said == [f"record of call-{number}" for number in (1, 2, 3)]


def test_closing_denies_what_waits_and_takes_the_cards_away(screen: Screen) -> None:
    approver = InlineApprover()
    given = asked(approver, lambda _: approver.close())
    assert given.kind == "deny"
    approver.close()
    assert screen.cards == []


# ------------------------------------------------------------------------------------------------- from another place


def test_a_waiting_call_is_approved_and_rejected_by_its_id(screen: Screen) -> None:
    approver = InlineApprover()
    assert asked(approver, lambda call: approver.approve(call.id)) == Approval.allow()
    assert asked(approver, lambda _: approver.reject(None, "no")) == Approval.deny("no")
    always = asked(approver, lambda call: approver.approve(call.id, always=True))
    assert always == Approval.allow(["summarise(species=Gentoo)"], "kernel")


def test_a_card_that_was_answered_elsewhere_says_so(screen: Screen) -> None:
    approver = InlineApprover()
    cards: list[PendingCall] = []

    def act(call: PendingCall) -> None:
        cards.append(call)
        approver.reject(call.id, "later")

    asked(approver, act)
    assert "Denied: “later”" in cards[0].card._status.value


def test_always_is_refused_where_the_card_does_not_offer_it(screen: Screen) -> None:
    approver = InlineApprover()

    def act(call: PendingCall) -> None:
        with pytest.raises(LookupError, match="can't be allowed always"):
            approver.approve(call.id, always=True)
        approver.reject(call.id)

    assert asked(approver, act, request(safety=True)) == Approval.deny()


def test_a_wrong_or_missing_id_is_said_with_those_that_there_are(screen: Screen) -> None:
    approver = InlineApprover()
    with pytest.raises(LookupError, match="no call waits"):
        approver.approve()

    async def both() -> None:
        tasks = [asyncio.ensure_future(approver(request())) for _ in range(2)]
        await until(lambda: len(approver.pending()) == 2)
        with pytest.raises(LookupError, match=r"2 calls wait; say which: 1 \(summarise with .*\), 2 \("):
            approver.approve()
        with pytest.raises(LookupError, match="'7'"):
            approver.reject("7")
        approver.approve("2")
        with pytest.raises(LookupError, match="'2'"):
            approver.approve("2")
        approver.approve("1")
        await asyncio.gather(*tasks)

    asyncio.run(both())


@pytest.mark.parametrize("page", ["page-1", "page-2"])
def test_a_page_that_was_loaded_again_keeps_the_record_in_the_cards_place(screen: Screen, page: str) -> None:
    approver = InlineApprover()
    calls: list[PendingCall] = []

    def act(call: PendingCall) -> None:
        calls.append(call)
        call.question.origin = Origin({}, None, None, "page-1")
        button = next(each for each in call.card.widgets if getattr(each, "description", "").startswith("Allow once"))
        click = {"method": "custom", "content": {"event": "click"}}
        button.comm.handle_msg({"header": {"session": page}, "content": {"data": click}, "buffers": []})

    assert asked(approver, act) == Approval.allow()
    view = calls[0].card.view
    approver.ended("call-1", {"text/html": "<p>the record</p>", "text/plain": "the record"})
    assert screen.cards == []
    assert [child.value for child in view.children if child.comm is not None] == (
        ["<p>the record</p>"] if page == "page-2" else []
    )
    assert len(calls[0].card.widgets) == (2 if page == "page-2" else 0)
    approver.close()
    assert calls[0].card.widgets == []


def test_the_lines_that_say_what_waits_go_with_the_card(screen: Screen) -> None:
    approver = InlineApprover()
    parent = {"header": {"msg_id": "other"}}
    said: list[str] = []

    def act(call: PendingCall) -> None:
        for _ in range(2):
            assert questions.overtaking("%toolkit pending", parent) == {}
        said.extend(card["text/plain"] for card in screen.cards if VIEW not in card)
        approver.approve(call.id)

    before, hooks.default_approver = hooks.default_approver, approver
    try:
        asked(approver, act)
    finally:
        hooks.default_approver = before
    assert said == ["1 waits: summarise with species Gentoo, rows 5 and 1 more"] * 2
    approver.ended("call-1")
    assert screen.cards == []


def test_a_lost_card_is_shown_again_and_its_record_takes_the_second_cards_place(screen: Screen) -> None:
    approver = InlineApprover()

    def act(call: PendingCall) -> None:
        assert approver.show_again({"header": {"msg_id": "other"}}) == 1
        approver.approve(call.id)

    asked(approver, act)
    assert screen.log == ["shown", "shown"]
    first, second = screen.displays
    assert first != second
    approver.ended("call-1", {"text/plain": "the record"})
    assert screen.displays == {first: {}, second: {"text/plain": "the record"}}


# ------------------------------------------------------------------------------------------------------ without a card


@pytest.mark.usefixtures("nobody")
def test_where_nobody_is_the_planned_answers_are_given() -> None:
    approver = InlineApprover()
    approver.answers.set(parse_answers("allow, deny: no", lines=False))
    assert run(approver(request())) == Approval.allow(by="script")
    assert run(approver(request())) == Approval.deny("no", by="script")
    denied = run(approver(request()))
    assert denied == Approval.deny(
        "No planned answer is for this call, such as summarise(species=Gentoo) -> allow", by="policy"
    )


@pytest.mark.usefixtures("nobody")
def test_where_nobody_is_the_policy_comes_after_the_planned_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POLICY, "allow")
    approver = InlineApprover()
    approver.answers.set(parse_answers("deny: no", lines=False))
    assert run(approver(request())) == Approval.deny("no", by="script")
    assert run(approver(request())) == Approval.allow(by="policy")


def test_a_front_end_that_shows_no_widgets_falls_back_and_its_card_goes(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen.attended = False

    async def ask_by_input(prompt: str, timeout: float | None = None) -> str:
        return "y"

    monkeypatch.setattr(scheduling, "ask_by_input", ask_by_input)
    approver = InlineApprover()
    assert run(approver(request())) == Approval.allow()
    assert list(screen.displays.values()) == [{}]
    assert approver.pending() == []


def test_where_input_cannot_work_either_it_is_denied_with_both_reasons(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen.attended = False

    async def ask_by_input(prompt: str, timeout: float | None = None) -> str:
        raise NobodyAnswers("input() works in the main thread only")

    monkeypatch.setattr(scheduling, "ask_by_input", ask_by_input)
    given = run(InlineApprover()(request()))
    assert given == Approval.deny(
        f"Nobody can answer here: no front end has answered; input() works in the main thread only. {FOR_THE_NEXT_RUN}",
        by="policy",
    )


@pytest.mark.parametrize(
    ("said", "approval"),
    [
        ("y", Approval.allow()),
        (" YES ", Approval.allow()),
        ("a", Approval.allow(["summarise(species=Gentoo)"], "kernel")),
        ("", Approval.deny()),
        ("n", Approval.deny()),
        ("yep", Approval.deny("yep")),
        ("use the test data", Approval.deny("use the test data")),
    ],
)
def test_a_typed_answer_allows_only_where_it_says_so(typing: list[str], said: str, approval: Approval) -> None:
    typing.append(said)
    assert run(InlineApprover()(request())) == approval


def test_a_typed_question_shows_the_call_and_all_its_arguments(typing: list[str]) -> None:
    typing.append("n")
    run(InlineApprover()(request()))
    (prompt,) = typing
    assert prompt == (
        "summarise with species Gentoo, rows 5 and 1 more\n"
        "  No rule allows summarise.\n"
        '  species: "Gentoo"\n'
        "  rows: 5\n"
        "  loud: false\n"
        "Allow once? [y/N, a to allow always, or a reason to deny] "
    )


def test_a_safety_question_cannot_be_allowed_always_by_typing(typing: list[str]) -> None:
    typing.append("a")
    assert run(InlineApprover()(request(safety=True))) == Approval.deny()
    assert "always" not in typing[0]


def test_a_typed_question_that_nobody_answers_is_denied(typing: list[str]) -> None:
    typing.append("(nothing)")
    assert run(InlineApprover(ask_timeout=2)(request())) == Approval.deny("Nobody answered within 2 s.", by="policy")


# ------------------------------------------------------------------------------------------------- with its toolkit


def species(name: str, rows: int = 5) -> str:
    """Sums up a species."""
    return f"{name}: {rows}"


def in_pipeline(toolkit: Toolkit, act: Callable[[PendingCall], object], **arguments: Any) -> Any:
    approver = toolkit.approver
    assert isinstance(approver, InlineApprover)

    async def main() -> Any:
        task = asyncio.ensure_future(toolkit.call("species", **arguments))
        await until(approver.pending)
        act(approver.find())
        async with asyncio.timeout(LIMIT):
            return await task

    return asyncio.run(main())


def toolkit_with_approver() -> Toolkit:
    toolkit = Toolkit([FunctionTool(species)])
    toolkit.approver = InlineApprover(toolkit)
    return toolkit


def test_a_call_runs_with_exactly_what_the_card_showed(screen: Screen) -> None:
    toolkit = toolkit_with_approver()
    response = in_pipeline(toolkit, clicks("Allow once"), name="Gentoo")
    assert response.text == "Gentoo: 5"
    assert toolkit.log[1].words == "allowed once"


def test_edited_arguments_that_do_not_fit_are_said_on_the_card(screen: Screen) -> None:
    def act(call: PendingCall) -> None:
        clicks("Edit")(call)
        rows = next(each for each in call.card.widgets if getattr(each, "description", "") == "rows")
        rows.value = '"many"'
        clicks("Check and ask again")(call)
        assert not call.question.resolved
        said = [str(getattr(each, "value", "")) for each in call.card.widgets]
        assert any("rows: got" in each and 'role="alert"' in each for each in said)
        clicks("Deny")(call)

    in_pipeline(toolkit_with_approver(), act, name="Gentoo")


def test_the_drawer_counts_the_latest_calls_that_its_rules_cover(screen: Screen) -> None:
    toolkit = toolkit_with_approver()
    for name in ("Gentoo", "Gentoo", "Adelie"):
        in_pipeline(toolkit, clicks("Allow once"), name=name)

    def act(call: PendingCall) -> None:
        clicks("Always allow …")(call)
        said = [str(getattr(each, "value", "")) for each in call.card.widgets]
        assert any("This rule would have allowed 2 of the last 3 calls." in each for each in said)
        clicks("Deny")(call)

    in_pipeline(toolkit, act, name="Gentoo")


def test_a_mode_changed_on_the_card_decides_this_call(screen: Screen) -> None:
    toolkit = toolkit_with_approver()

    def act(call: PendingCall) -> None:
        pick = next(each for each in call.card.widgets if getattr(each, "description", "") == "Mode")
        pick.value = PermissionMode.EXPLORE
        clicks("Use explore")(call)

    response = in_pipeline(toolkit, act, name="Gentoo")
    assert toolkit.mode is PermissionMode.EXPLORE
    assert response.state == "denied"
    assert toolkit.log[1].words == "denied by mode explore"


# ------------------------------------------------------------------------------- a notebook that is saved meanwhile


def below(call: PendingCall) -> Any:
    """The words below a card, as they are there once it has waited for long."""
    [saved] = call.saved if call.shared is None else call.shared.saved
    saved._show()
    return saved


def test_a_card_that_waits_for_long_is_told_in_words_for_a_notebook_that_is_saved(screen: Screen) -> None:
    approver = InlineApprover()
    said: list[str] = []

    def answered(call: PendingCall) -> None:
        shown_once(call)
        below(call)
        said.extend(data["text/plain"] for data in screen.cards if VIEW not in data)
        approver.approve()

    asking = request(tool_input={"species": "Gentoo", "rows": 5, "loud": "sk-ant-api03-" + "a1B2c3D4" * 6})
    asked(approver, answered, asking)
    assert said[0].startswith("[summarise] with species Gentoo, rows 5 and 1 more\nnot answered yet\n")
    assert '"species": "Gentoo"' in said[0]
    assert "sk-ant" not in said[0]
    [told] = [data["text/plain"] for data in screen.cards if VIEW not in data]
    assert "answered, not at its end yet" in told
    ends(approver, "call-1")
    assert [data["text/plain"] for data in screen.cards] == ["record of call-1"]


def test_one_that_is_answered_soon_leaves_nothing_of_it(screen: Screen) -> None:
    approver = InlineApprover()
    saved: list[Any] = []

    def answered(call: PendingCall) -> None:
        shown_once(call)
        saved.extend(call.saved)
        approver.approve()

    asked(approver, answered)
    ends(approver, "call-1")
    [each] = saved
    each._show()
    assert not each._timer.is_alive() or each._timer.finished.is_set()
    assert [data["text/plain"] for data in screen.displays.values()] == ["record of call-1"]


def test_the_words_below_a_tray_tell_of_those_that_have_not_ended_and_make_room_for_a_record(screen: Screen) -> None:
    approver = InlineApprover()

    def answered(calls: list[PendingCall]) -> None:
        shown_once(calls[0])
        told.append(below(calls[0]).display_id)
        assert screen.displays[told[0]]["text/plain"].count("not answered yet") == 3
        press(tray_of(calls[0]), "Allow these 3")

    told: list[str] = []
    several(approver, answered, *numbered(3))
    assert screen.displays[told[0]]["text/plain"].count("answered, not at its end yet") == 3
    for number in (2, 1, 3):
        ends(approver, f"call-{number}")
    assert [data.get("text/plain") for data in screen.displays.values()] == [f"record of call-{n}" for n in (3, 2, 1)]
