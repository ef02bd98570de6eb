"""What a card needs is loaded in the background where a card may come, and nowhere else."""

from __future__ import annotations

import importlib
import sys

import pytest

from nbtoolkit.notebook import scheduling, warm
from nbtoolkit.notebook.scheduling import Means, Presence
from tests.notebook.asking import models


@pytest.mark.parametrize("means", Means)
def test_the_widgets_are_loaded_in_the_background_where_they_may_be_shown(
    monkeypatch: pytest.MonkeyPatch, means: Means
) -> None:
    loaded: list[str] = []
    warm._rehearse()
    before = models()
    monkeypatch.setattr(scheduling, "presence", lambda: Presence(means, "a test"))
    monkeypatch.setattr(importlib, "import_module", loaded.append)
    thread = warm.warm()
    if means is Means.WIDGETS:
        assert thread is not None
        thread.join(10)
        assert models() == before
        assert thread.daemon
        assert "nbtoolkit.notebook.widgets.card" in loaded
    else:
        assert thread is None
        assert loaded == []


def test_every_module_that_is_loaded_in_advance_is_there() -> None:
    warm._load()
    assert set(warm.MODULES) <= set(sys.modules)


def test_what_can_not_be_loaded_is_left_to_whoever_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "MODULES", ("nbtoolkit.no_such_module", "json"))
    warm._load()
