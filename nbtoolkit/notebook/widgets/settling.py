"""All that was typed before a click, though the click may be here first.

A page holds a field's later text back while an earlier one is under way, and lets a click overtake it. What must not count
by halves asks the page back: it answers when it has sent what it held.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.scheduling.gone import close

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["when_sent"]

# Seconds. A page that has just sent a click answers in 0.1 s, a busy one in one.
LIMIT = 5.0


def when_sent(act: Callable[[], object], route: Callable[[list[Any]], object], fail: Callable[[], object]) -> None:
    """Call ``act`` once the page has sent what was typed before now, or ``fail`` if it doesn't answer."""
    source, target = w.IntText(value=1), w.IntText(value=0)
    over = threading.Lock()
    made: list[Any] = [source, target]

    def end(then: Callable[[], object]) -> None:
        if not over.acquire(blocking=False):
            return
        timer.cancel()
        for widget in made:
            for model in (widget, getattr(widget, "layout", None), getattr(widget, "style", None)):
                if model is not None:
                    close(model)
        then()

    timer = threading.Timer(LIMIT, lambda: end(fail))
    timer.daemon = True
    target.observe(lambda _: end(act), "value")
    route(made)
    # The page carries it out, after what it has to do for the messages before.
    made.append(w.jsdlink((source, "value"), (target, "value")))
    timer.start()
