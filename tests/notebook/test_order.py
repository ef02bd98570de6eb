"""Records of calls that run side by side stand in the order of their numbers, watched or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from nbtoolkit import hooks
from nbtoolkit.notebook import recorder as recording
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.approver import InlineApprover
from nbtoolkit.notebook.recorder import Recorder
from nbtoolkit.notebook.scheduling import Origin
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.tool.toolkit import Toolkit


class Page:
    """What stands below one cell, from the top, and what a runner that follows no updates has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, watched: bool) -> None:
        self.displays: dict[str, str] = {}
        self.first: list[str] = []
        self.updates = 0
        parent = {"header": {"msg_id": "cell"}, "content": {"allow_stdin": watched}}
        monkeypatch.setattr(scheduling, "publish", self.publish)
        monkeypatch.setattr(scheduling, "origin", lambda: Origin(parent, "a", 1, "page"))
        monkeypatch.setattr(recording, "_captured", lambda: False)

    def publish(
        self, data: Mapping[str, Any], *, parent: object = None, display_id: str | None = None, update: bool = False
    ) -> bool:
        text = data["text/plain"].splitlines()[0]
        self.displays[display_id or f"own {len(self.displays)}"] = text
        if update:
            self.updates += 1
        else:
            self.first.append(text)
        return True

    @property
    def texts(self) -> list[str]:
        return list(self.displays.values())


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    made = Recorder(InlineApprover())
    hooks.observers.append(made)
    monkeypatch.setattr(hooks, "place", made.order.place)
    yield made
    hooks.observers.remove(made)


class Race:
    """Tools whose calls end in the order that is asked for."""

    def __init__(self) -> None:
        self.gates: dict[int, asyncio.Event] = {}
        self.toolkit = Toolkit([self.run, self.outer])
        self.toolkit.mode = PermissionMode.BYPASS

    async def run(self, number: int) -> None:
        """Run until it is let go."""
        await self.gate(number).wait()

    def gate(self, number: int) -> asyncio.Event:
        return self.gates.setdefault(number, asyncio.Event())

    async def outer(self, number: int) -> None:
        """Make another call."""
        await self.toolkit.call("run", number=number)

    def ending(self, *order: int, after: Callable[[int], object] = lambda _: None) -> None:
        async def main() -> None:
            tasks = {number: asyncio.ensure_future(self.toolkit.call("run", number=number)) for number in sorted(order)}
            for number in order:
                self.gate(number).set()
                await tasks[number]
                after(number)

        asyncio.run(main())


def lines(*numbers: int) -> list[str]:
    return [f"[run] number={number}" for number in numbers]


def test_where_nobody_watches_a_record_waits_for_those_before_it(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    page = Page(monkeypatch, watched=False)
    seen: list[int] = []
    race = Race()
    race.ending(2, 1, 4, 3, after=lambda _: seen.append(len(page.first)))
    assert page.first == lines(1, 2, 3, 4)
    assert seen == [0, 2, 2, 4]
    assert [entry.tool_input["number"] for entry in race.toolkit.log] == [1, 2, 3, 4]
    assert list(race.toolkit.log.to_dataframe()["number"]) == [1, 2, 3, 4]


def test_none_is_held_back_past_the_end_of_its_cell(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    page = Page(monkeypatch, watched=False)
    Race().ending(3, 2, 1, after=lambda number: recorder.order.cell_ended() if number == 2 else None)
    assert page.first == lines(2, 3, 1)


def test_on_a_page_each_is_shown_at_once_and_put_in_order_when_the_last_has_ended(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    page = Page(monkeypatch, watched=True)
    seen: list[list[str]] = []
    Race().ending(3, 1, 2, after=lambda _: seen.append(page.texts))
    assert seen == [lines(3), lines(3, 1), lines(1, 2, 3)]


def test_records_that_come_in_order_are_never_shown_anew(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    page = Page(monkeypatch, watched=True)
    Race().ending(1, 2, 3)
    assert page.texts == lines(1, 2, 3)
    assert page.updates == 0


@pytest.mark.parametrize("watched", [True, False])
def test_the_record_of_a_call_stands_below_those_that_it_made(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, watched: bool
) -> None:
    page, race = Page(monkeypatch, watched=watched), Race()

    async def main() -> None:
        tasks = [asyncio.ensure_future(race.toolkit.call("outer", number=number)) for number in (1, 2)]
        for number in (2, 1):
            race.gate(number).set()
            await tasks[number - 1]

    asyncio.run(main())
    assert page.texts == ["[run] number=1", "[outer] number=1", "[run] number=2", "[outer] number=2"]


def test_nothing_is_remembered_of_a_cell_whose_calls_have_ended(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    Page(monkeypatch, watched=True)
    Race().ending(2, 1)
    assert recorder.order._cells == {}
