"""The live view of one call: where it is, what it says, and Stop; it goes when the record comes.

Lines keep their place while a person scrolls back: the box that scrolls stays when its text is replaced. A screen reader
hears the state, not each line.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from nbtoolkit.notebook.text import count, one_line, visible, visible_text
from nbtoolkit.notebook.widgets.looking import LOOKING
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nbtoolkit.notebook.progress import Pace, Window
    from nbtoolkit.notebook.title import Title

__all__ = ["LiveView"]

ABOUT_LIMIT = 60
STOP_HELP = "Stops this call; the cell or agent goes on with the state interrupted"


class LiveView:
    """The widgets. ``stop`` is called once; ``framed`` is False inside a card, which has the title already."""

    def __init__(self, line: Title, words: str, stop: Callable[[], object], *, framed: bool = True) -> None:
        self._kit = kit = Kit()
        self._stop = stop
        self._words = words
        self._stopping = False
        self.plain = visible_text(line.plain)
        about = visible_text(one_line(line.plain, ABOUT_LIMIT))
        self._about = visible(one_line(line.plain, ABOUT_LIMIT)).replace('"', "&quot;")
        heading = f'<div role="heading" aria-level="4" class="nbtk-title">{_code(line.tool)}{line.html(_code)}</div>'
        said = [kit.html(heading)] if framed else []
        self._status = kit.html("", "nbtk-live-status")
        self._count = kit.html("", "nbtk-live-count")
        state = kit.box("nbtk-live-state", [self._status, self._count], row=True)
        self._button = kit.button("Stop", about, "4.6em", self._pressed)
        self._button.tooltip = STOP_HELP
        bar = kit.box("nbtk-live-bar", [kit.box("nbtk-live-said", [*said, state]), self._button], row=True)
        self._bar = kit.html("", "nbtk-live-progress", layout=kit.own_layout(display="none"))
        self._note = kit.html("", "nbtk-live-note", layout=kit.own_layout(display="none"))
        self._stream = kit.html("", "nbtk-stream", layout=kit.own_layout(display="none"))
        self._picture = kit.html("", "nbtk-live-picture", layout=kit.own_layout(display="none"))
        self._shown_pictures = 0
        body = kit.box("nbtk-live-body", [self._bar, self._note, self._stream, self._picture])
        # A card that takes the view in loses the body that had its sheet.
        style = kit.html(SHEET + LOOKING, "nbtk-style")
        #: The root widget.
        self.view = kit.box("nbtk nbtk-card nbtk-live" if framed else "nbtk-live", [style, bar, body])
        self._say()

    @property
    def widgets(self) -> list[Any]:
        """All widgets, for scheduling.route."""
        return list(self._kit.widgets)

    def update(self, window: Window, pace: Pace, moment: float, elapsed: float) -> None:
        """Show how things are now; what hasn't changed isn't sent."""
        said = pace.words(moment)
        if pace.total is None and elapsed >= 1:
            # Nobody knows what is left, so how long it took is told.
            said = " · ".join(filter(None, [said, _elapsed(elapsed)]))
        _set(self._count, visible(said))
        share = pace.share
        if share is not None or pace.done is not None or not window.count:
            value = "" if share is None else f' value="{share:.4f}"'
            label = f"{self._about}{': ' if said else ''}{visible(said)}".replace('"', "&quot;")
            _show(self._bar, f'<progress max="1"{value} aria-label="{label}"></progress>')
        text = window.text
        if text:
            _show(
                self._stream,
                f'<pre role="log" aria-live="off" aria-label="Output of {self._about}">{visible(text)}</pre>',
            )
        earlier = [f"{count(window.earlier, 'earlier line')} above these"] if window.earlier else []
        if window.picture is not None and window.pictures != self._shown_pictures:
            self._shown_pictures = window.pictures
            kind, data = window.picture
            _show(self._picture, _picture(kind, data))
        if window.pictures > 1:
            earlier.append(f"the latest of {window.pictures:,} pictures")
        if earlier:
            _show(self._note, f'<span class="nbtk-soft">{", ".join(earlier)}</span>')

    def _pressed(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._button.disabled = True
            self._say()
            self._stop()

    def _say(self) -> None:
        state = "stopping …" if self._stopping else "running"
        words = self._words[:1].upper() + self._words[1:]
        self._status.value = (
            f'<span role="status">{visible(f"{words} · {state}" if words else state.capitalize())}</span>'
        )

    def close(self) -> None:
        """Take it away."""
        self._kit.close()


def _code(text: str) -> str:
    return f"<code>{visible(text)}</code>"


def _elapsed(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _picture(kind: str, data: str) -> str:
    # Encoded here, so that nothing but base64 stands in the attribute.
    try:
        clean = base64.b64encode(base64.b64decode(data, validate=True)).decode()
    except (binascii.Error, ValueError):
        return ""
    return f'<img src="data:{kind};base64,{clean}" alt="Latest picture">'


def _set(widget: Any, markup: str) -> None:
    if widget.value != markup:
        widget.value = markup


def _show(widget: Any, markup: str) -> None:
    _set(widget, markup)
    if widget.layout.display is not None:
        widget.layout.display = None
