"""The card of an MCP server without a page: what it tells of each state, and what its buttons do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pytest

from nbtoolkit.mcp.config import StdioMCPConfig
from nbtoolkit.mcp.status import Flight, ServerStatus
from nbtoolkit.notebook.widgets.server_card import MAX_FLIGHTS, ServerCard, duration
from tests.notebook.asking import HOSTILE, Markup, models

if TYPE_CHECKING:
    from collections.abc import Iterator

STATUS = ServerStatus(
    "crm", "connected", "stdio", "crm-server", era="2025-06-18", version="1.2", pid=4711, uptime=3_700, starts=1, tools=3
)  # fmt: skip


class Server:
    """A client with a state to order."""

    name = "crm"
    execution_timeout = None
    mcp_config = StdioMCPConfig(command="crm-server", args=["--all"])

    def __init__(self) -> None:
        self.now = STATUS
        self.log: list[str] = []
        self.fault: Exception | None = None

    def status(self) -> ServerStatus:
        return self.now

    async def close(self) -> None:
        self.log.append("close")

    async def connect(self, timeout: float | None = None) -> None:
        self.log.append("connect")
        if self.fault is not None:
            raise self.fault


class Shown:
    """A card and what a person finds on it."""

    def __init__(self) -> None:
        self.server = Server()
        self.removed: list[str] = []
        self.routed: list[Any] = []
        client: Any = self.server
        self.card = ServerCard(
            client,
            start=lambda make: asyncio.run(_whole(make())),
            remove=self._remove,
            changed=self._changed,
            route=self.routed.extend,
        )

    def _changed(self) -> None:
        self.card.refresh()

    async def _remove(self, client: Any) -> None:
        self.removed.append(client.name)

    def set(self, **changes: Any) -> None:
        self.server.now = replace(self.server.now, **changes)
        self.card.refresh()

    def walk(self, widget: Any) -> Iterator[Any]:
        yield widget
        for child in getattr(widget, "children", ()):
            yield from self.walk(child)

    @property
    def page(self) -> Markup:
        return Markup("".join(each.value for each in self.walk(self.card.view) if isinstance(each, w.HTML)))

    def buttons(self) -> list[Any]:
        return [each for each in self.walk(self.card.view) if isinstance(each, w.Button)]

    def click(self, label: str) -> None:
        next(each for each in self.buttons() if each.description.startswith(f"{label}\n")).click()


async def _whole(coroutine: Any) -> None:
    await coroutine


@pytest.fixture
def shown() -> Iterator[Shown]:
    before = models()
    made = Shown()
    yield made
    made.card.close()
    assert models() == before


def test_it_tells_state_way_session_and_tools(shown: Shown) -> None:
    text = shown.page.text
    assert "crm connected" in text
    assert "crm-server --all by stdio" in text
    assert "protocol 2025-06-18 · version 1.2 · process 4711 · up 1 h 01 min" in text
    assert "3 tools" in text


def test_one_that_is_down_says_so_in_words_and_opens_its_last_lines(shown: Shown) -> None:
    shown.set(state="died", pid=None, uptime=None, tail=("loading", "Traceback: no database"))
    assert "crm down" in shown.page.text
    details = dict(shown.page.elements)["details"]
    assert "open" in details
    assert "Traceback: no database" in shown.page.text
    shown.set(state="connected")
    assert "open" not in dict(shown.page.elements)["details"]


def test_calls_under_way_have_their_progress_and_a_stop_each(shown: Shown) -> None:
    stopped: list[str] = []
    page = {"progress": 1, "total": 4, "message": "page 1"}
    flights = [Flight(name, progress=page, cancel=partial(stopped.append, name)) for name in ("sync", "export")]
    shown.set(calls=tuple(flights))
    assert "export runs" in shown.page.text
    assert "page 1 · 1 of 4" in shown.page.text
    assert dict(shown.page.elements)["progress"]["value"] == "0.250"
    assert [each.description for each in shown.buttons()][:2] == ["Stop\nsync on crm", "Stop\nexport on crm"]
    shown.click("Stop")
    assert stopped == ["sync"]
    shown.set(calls=tuple(flights[1:]))
    assert [each.description for each in shown.buttons()][:1] == ["Stop\nexport on crm"]
    shown.set(calls=())
    assert [each.description.split("\n")[0] for each in shown.buttons()] == ["Restart", "Remove"]


def test_many_calls_at_once_are_bounded(shown: Shown) -> None:
    shown.set(calls=tuple(Flight(f"call{n}") for n in range(50)))
    assert len(shown.buttons()) == MAX_FLIGHTS + 2


def test_restart_closes_and_connects_and_remove_takes_it_out(shown: Shown) -> None:
    shown.click("Restart")
    assert shown.server.log == ["close", "connect"]
    shown.click("Remove")
    assert shown.removed == ["crm"]


def test_a_server_that_does_not_start_again_says_why(shown: Shown) -> None:
    shown.server.fault = OSError(f"no such file {HOSTILE}")
    shown.click("Restart")
    assert "no such file" in shown.page.text
    assert any(attributes.get("role") == "alert" for _, attributes in shown.page.elements)
    assert not {"script", "img"} & shown.page.tags
    shown.server.fault = None
    shown.click("Restart")
    assert "no such file" not in shown.page.text


def test_a_servers_own_words_stay_text(shown: Shown) -> None:
    shown.set(title=HOSTILE, version=HOSTILE, instructions=HOSTILE, tail=(HOSTILE,), calls=(Flight(HOSTILE),))
    assert not {"script", "img"} & shown.page.tags


@pytest.mark.parametrize(("seconds", "said"), [(3, "3 s"), (90, "2 min"), (7_500, "2 h 05 min"), (200_000, "2 days")])
def test_durations_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
