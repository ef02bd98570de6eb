"""A function that a reload gave other code: its tool says so, and what was granted to it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.notebook import reloads
from nbtoolkit.notebook.reloads import ReloadWatch
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.tool.toolkit import Toolkit
from tests.notebook.asking import rule

if TYPE_CHECKING:
    from collections.abc import Callable


class Events:
    """Stands for a shell's events, and for the shell."""

    def __init__(self) -> None:
        self.callbacks: dict[str, list[Callable[..., Any]]] = {"pre_run_cell": [], "post_run_cell": []}
        self.events = self

    def register(self, event: str, function: Callable[..., Any]) -> None:
        self.callbacks[event].append(function)

    def unregister(self, event: str, function: Callable[..., Any]) -> None:
        self.callbacks[event].remove(function)

    def trigger(self, event: str) -> None:
        for function in self.callbacks[event][:]:
            function(None)


def sell(a: int) -> int:
    """Sell."""
    return a


def sell_anew(a: int, b: int = 5) -> int:
    return a + b


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(reloads, "show_line", lines.append)
    return lines


def test_grants_end_with_the_code_that_they_were_given_for(said: list[str]) -> None:
    def scale(a: int) -> int:
        return a

    toolkit = Toolkit([scale])
    tool = toolkit.get_tool_sync("scale")
    assert tool is not None
    events = Events()
    watch = ReloadWatch(events, toolkit)  # type: ignore[arg-type]
    watch.install()
    events.trigger("post_run_cell")
    granted = rule("scale(a=1)").model_copy(update={"definition": tool.definition_hash})
    toolkit.grants.add(granted)
    toolkit.add_rule("scale(a=2)", PermissionBehavior.ALLOW)

    # Loaded later, as %autoreload is, it comes behind us once.
    events.register("pre_run_cell", lambda _: None)
    events.trigger("pre_run_cell")
    assert events.callbacks["pre_run_cell"][-1] == watch._begins
    assert said == []

    def reload(_: object) -> None:
        scale.__code__ = sell_anew.__code__

    events.callbacks["pre_run_cell"].insert(0, reload)
    events.trigger("pre_run_cell")
    (line,) = said
    assert line.startswith(
        "scale was reloaded with other code. What was granted to it before holds no longer: scale(a=1)."
    )
    assert line.endswith("%toolkit add scale renews what models are told of it.")
    # What was typed by hand stays.
    assert [str(each) for each in toolkit.rules] == ["scale(a=2)"]
    events.trigger("post_run_cell")
    assert len(said) == 1
    watch.remove()
    assert watch._begins not in events.callbacks["pre_run_cell"]


def test_a_tool_that_is_defined_anew_is_no_reload(said: list[str]) -> None:
    toolkit = Toolkit([sell])
    watch = ReloadWatch(Events(), toolkit)  # type: ignore[arg-type]
    watch.look()
    toolkit.register(sell)
    watch.look()
    watch.look()
    assert said == []
