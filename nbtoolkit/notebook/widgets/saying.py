"""What a model says, while it says it: who, the text, and Stop; it goes when the record comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.notebook.text import one_line, visible, visible_text
from nbtoolkit.notebook.widgets.looking import LOOKING
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Saying"]

NAME_LIMIT = 60
STOP_HELP = "Stops the model; the cell goes on with what it has said so far"


class Saying:
    """The widgets. ``stop`` is called once."""

    def __init__(self, model: str, stop: Callable[[], object]) -> None:
        self._kit = kit = Kit()
        self._stop = stop
        self._stopping = False
        name = one_line(model, NAME_LIMIT)
        self._name = visible(name)
        title = kit.html(f'<div role="heading" aria-level="4" class="nbtk-title"><code>{self._name}</code></div>')
        self._status = kit.html("", "nbtk-live-status")
        state = kit.box("nbtk-live-state", [self._status], row=True)
        self._button = kit.button("Stop", visible_text(name), "4.6em", self._pressed)
        self._button.tooltip = STOP_HELP
        bar = kit.box("nbtk-live-bar", [kit.box("nbtk-live-said", [title, state]), self._button], row=True)
        self._text = kit.html("", layout=kit.own_layout(display="none"))
        body = kit.box("nbtk-live-body", [self._text])
        style = kit.html(SHEET + LOOKING, "nbtk-style")
        #: The root widget.
        self.view = kit.box("nbtk nbtk-card nbtk-live", [style, bar, body])
        self._say("is thinking …")

    @property
    def widgets(self) -> list[Any]:
        """All widgets, for scheduling.route."""
        return list(self._kit.widgets)

    def update(self, markup: str) -> None:
        """Show what was said so far; the markup is safe already."""
        if self._text.value != markup:
            self._text.value = markup
        if self._text.layout.display is not None:
            self._text.layout.display = None
            if not self._stopping:
                self._say("is answering …")

    def _pressed(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._button.disabled = True
            self._say("stopping …")
            self._stop()

    def _say(self, words: str) -> None:
        self._status.value = f'<span role="status">{words[:1].upper()}{words[1:]}</span>'

    def close(self) -> None:
        """Take it away."""
        self._kit.close()
