"""What a saved notebook says of widgets that stood on screen when it was saved, once their kernel is gone.

A page that is opened later finds no model for them and says nothing but that. So below a card or a view that stays for a
while stands a display in words, hidden as long as the widgets live: what was asked or ran, and that it came to no end. One
that is answered sooner than that leaves nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.order import displayed
from nbtoolkit.notebook.text import bounded, box, code, fold, pre, safe, settled, soft, to_json, visible_text
from nbtoolkit.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.notebook.title import Title

__all__ = ["Saved", "words"]

# Seconds. Front ends save every two minutes. Most people answer sooner than this, and then the file holds no empty
# display in its place.
AFTER = 15.0
ARGUMENTS_LIMIT = 20_000
AGAIN = "Where no buttons stand above this, its kernel is gone: run the cell again."

# The display above is hidden where it says nothing but that its model isn't found, and this one where there is one. Records
# and prints of what ran meanwhile may stand between the two.
_STYLE = (
    "<style>"
    ".jp-OutputArea-child:has(~.jp-OutputArea-child .nbtk-saved)>.lm-Panel.jp-OutputArea-output:not(:has(*)),"
    ".jp-OutputArea-child:has(.nbtk-card)~.jp-OutputArea-child:has(.nbtk-saved){display:none}"
    "</style>"
)


def words(line: Title, tool_input: Mapping[str, Any], state: str) -> tuple[str, str]:
    """One call as text and as markup: its line, how it stands, and its arguments where the line doesn't say all."""
    plain = f"[{visible_text(line.tool)}]{line.plain.removeprefix(visible_text(line.tool))}\n{visible_text(state)}"
    markup = f'<p style="margin:0"><b>{code(line.tool)}</b>{line.html(code)} — {soft(safe(state))}</p>'
    if tool_input and not line.complete:
        given = settled(bounded(to_json(Redactor().value(dict(tool_input)), indent=2), ARGUMENTS_LIMIT))
        plain += "\n" + "\n".join(f"    {each}" for each in visible_text(given).split("\n"))
        markup += fold("Arguments", pre(given))
    return plain, markup


class Saved:
    """The words below one display of widgets; ``say`` gives them, as ``words`` does, whenever they are needed."""

    def __init__(self, display_id: str, parent: Mapping[str, Any], say: Callable[[], list[tuple[str, str]]]) -> None:
        self.display_id = f"{display_id}-saved"
        self._parent, self._said = parent, say
        self._shown = self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(AFTER, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if not self._over and self._publish(update=False):
                displayed(self.display_id)
                self._shown = True

    def say(self, said: Callable[[], list[tuple[str, str]]]) -> None:
        """Say this from now on."""
        self._said = said
        self.refresh()

    def refresh(self) -> None:
        """Say it anew, where it is said: the card was answered."""
        with self._lock:
            if self._shown and not self._over:
                self._publish(update=True)

    def _publish(self, *, update: bool) -> bool:
        said = self._said()
        plain = "\n".join([*(text for text, _ in said), AGAIN])
        markup = "".join(each for _, each in said) + f'<p style="margin:0">{soft(safe(AGAIN))}</p>'
        bundle = {"text/plain": plain, "text/html": f'{_STYLE}<div class="nbtk-saved">{box(markup)}</div>'}
        return scheduling.publish(bundle, parent=self._parent, display_id=self.display_id, update=update)

    def end(self, *, leave: bool = False) -> bool:
        """Say it no more; with ``leave`` its display stays for something else. Whether there is one."""
        with self._lock:
            self._timer.cancel()
            was, self._over, self._shown = self._shown, True, False
            if was and not leave:
                scheduling.publish({}, parent=self._parent, display_id=self.display_id, update=True)
            return was
