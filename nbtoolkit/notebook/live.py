"""Live views of running calls: what comes is gathered as it comes, and drawn as often as an eye can see.

A chunk costs its call an append. One thread, which lives while there is something to draw, makes the views and fills
them, so that they move while the kernel's main thread is busy in a tool. A call that is over soon has no view.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from nbtoolkit.message import TextBlock
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.order import displayed
from nbtoolkit.notebook.progress import Pace, Window
from nbtoolkit.notebook.saved import Saved, words
from nbtoolkit.notebook.title import title
from nbtoolkit.redact import redacted
from nbtoolkit.tool import progress as reports

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.notebook.widgets.live import LiveView
    from nbtoolkit.tool.progress import Progress
    from nbtoolkit.tool.result import ToolChunk
    from nbtoolkit.tool.run import ToolCall

__all__ = ["Feed", "LiveCalls"]

logger = logging.getLogger("nbtoolkit")

# Seconds: ten pictures a second look like movement, and cost a page little.
EVERY = 0.1
# A call that is over before this goes straight to its record.
SHOW_AFTER = 0.3
# One that says nothing for so long shows at least that it runs, and its Stop.
SILENT_AFTER = 2.0
VIEW = "application/vnd.jupyter.widget-view+json"


class Holder(Protocol):
    """What can take a view in: the answered card of the call, or the panel that it was started in."""

    def show_running(self, widget: Any) -> bool:
        """Take the widget in; False where that isn't possible any more."""


class Feed:
    """What one call has given and nobody has drawn yet, and its view once there is one.

    ``card`` finds the answered card of a call; the view goes into it, and without one it is a display of its own.
    """

    def __init__(self, call: ToolCall, card: Callable[[str], Holder | None]) -> None:
        self.call = call
        self.pieces: deque[str | dict[str, Any] | ToolChunk | None] = deque()
        self.snapshots: deque[dict[str, Any]] = deque(maxlen=1)
        self.view: LiveView | None = None
        self.display_id: str | None = None
        self._card = card
        self._window, self._pace = Window(), Pace()
        self._lock = threading.Lock()
        self._saved: Saved | None = None
        self._listening: contextlib.ExitStack = contextlib.ExitStack()
        self._over = False
        self._spoke = False
        # A person's thinking is no running.
        waited = call.entry.waited if call.entry is not None else 0.0
        self.began = call._began + waited  # noqa: SLF001 - the one clock of a call

    def report(self, snapshot: dict[str, Any]) -> None:
        """A report of progress, from any thread."""
        self.snapshots.append(snapshot)

    def draw(self) -> None:
        """Take in what has come, and show it once the call has run for a while."""
        with self._lock:
            if self._over:
                return
            now = time.perf_counter()
            news = self._take_in(now)
            elapsed = now - self.began
            if self.view is None:
                if elapsed < (SHOW_AFTER if self._spoke else SILENT_AFTER):
                    return
                self._open()
            elif not news and not self._ticks(elapsed):
                return
            if self.view is not None:
                self.view.update(self._window, self._pace, now, elapsed)

    def _take_in(self, now: float) -> bool:
        news = bool(self.pieces) or bool(self.snapshots)
        texts: list[str] = []
        while self.pieces:
            piece = self.pieces.popleft()
            if isinstance(piece, dict):
                piece = self._said(piece, now)
            if isinstance(piece, str):
                texts.append(piece)
            elif piece is not None:
                self._window.write("".join(texts))
                texts.clear()
                self._window.take(piece)
                snapshot = piece.metadata.get("mcp_progress")
                if isinstance(snapshot, dict):
                    self._pace.take(snapshot, now)
        self._window.write("".join(texts))
        while self.snapshots:
            self._pace.take(self.snapshots.popleft(), now)
        self._spoke = self._spoke or news
        return news

    def _said(self, snapshot: dict[str, Any], now: float) -> str | None:
        """A report between the texts: the line that it stands for, or None where it tells how far the call is."""
        message = snapshot.get("message")
        if snapshot.get("total") is None and isinstance(message, str) and not getattr(self.call.tool, "is_mcp", False):
            # The end of a function's long text is held back; what goes by is still seen here.
            return f"{message}\n"
        self._pace.take(snapshot, now)
        return None

    def _ticks(self, elapsed: float) -> bool:
        """Whether a second has gone by since the last drawing: the time that is left, or that it took, moves."""
        return int(elapsed) != int(elapsed - EVERY)

    def _open(self) -> None:
        call = self.call
        place = call.place
        entry = call.entry
        if entry is None or place is None or not place.in_kernel:
            self._over = True
            return
        if scheduling.presence().means is not scheduling.Means.WIDGETS and not _shows_widgets(place):
            self._over = True
            return
        from nbtoolkit.notebook.widgets.live import LiveView

        line = title(entry.tool, redacted(entry.tool_input), entry.variables, origin=entry.origin)

        def make(*, framed: bool) -> LiveView:
            view = LiveView(line, entry.words, call.cancel, framed=framed)
            scheduling.route(view.widgets)
            return view

        self._listening.enter_context(scheduling.listening())
        card = self._card(call.id)
        if card is not None:
            self.view = make(framed=False)
            if card.show_running(self.view.view):
                return
            self.view.close()
        self.view = view = make(framed=True)
        self.display_id = f"nbtoolkit-live-{call.id}"
        shown = {"version_major": 2, "version_minor": 0, "model_id": view.view.model_id}
        bundle = {VIEW: shown, "text/plain": f"{view.plain} (runs; %toolkit log tells how it ended)"}
        scheduling.publish(bundle, parent=place.parent, display_id=self.display_id)
        displayed(self.display_id)
        self._saved = Saved(
            self.display_id, place.parent, lambda: [words(line, entry.tool_input, "not at its end yet")]
        )

    def end(self) -> str | None:
        """Draw no more; gives the display that the record can take the place of."""
        self._over = True
        with self._lock:
            self._listening.close()
        return self.display_id

    def close(self) -> None:
        """Take the view away, once the record is there."""
        if self._saved is not None:
            self._saved.end()
        view, self.view = self.view, None
        if view is not None:
            view.close()


def _shows_widgets(place: Any) -> bool:
    """Whether the cell's own request came from a front end that allows interaction: the thread here has no request."""
    content = place.parent.get("content") or {}
    return bool(content.get("allow_stdin"))


class LiveCalls:
    """The feeds of all running calls, and the thread that draws them."""

    def __init__(self, card: Callable[[str], Holder | None]) -> None:
        self._card = card
        self._feeds: dict[str, Feed] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self) -> Callable[[], None]:
        """Observe what runs report; gives the function that takes it back."""
        reports.observers.append(self.report)
        return lambda: reports.observers.remove(self.report)

    def started(self, call: ToolCall) -> None:
        """Listen to the progress of a tool that may take its time; the usual function costs nothing here."""
        if call.tool is not None and call.tool.is_mcp:
            self._open(call)

    def report(self, progress: Progress) -> None:
        """Take a run's report of how far it is; an observer for ``nbtoolkit.tool.progress``."""
        call = progress.call
        if call is None or progress.ended:
            return
        feed = self._feeds.get(call.id) or self._open(call)
        feed.report({"progress": progress.progress, "total": progress.total, "message": progress.message})

    def chunk(self, call: ToolCall, chunk: ToolChunk) -> None:
        """Take a piece; a call of one piece ends with it and needs no view."""
        feed = self._feeds.get(call.id)
        if feed is None:
            if chunk.__dict__["is_last"]:
                return
            feed = self._open(call)
        # From the instance's own dict, as everything that each piece goes through: pydantic's way takes six times as long.
        fields = chunk.__dict__
        content = fields["content"]
        if len(content) == 1 and type(content[0]) is TextBlock and not fields["metadata"]:
            # The text alone: the garbage collector would walk over each chunk that is kept, again and again.
            feed.pieces.append(content[0].__dict__["text"])
        elif not content:
            feed.pieces.append(fields["metadata"].get("mcp_progress"))
        else:
            feed.pieces.append(chunk)

    def end(self, call: ToolCall) -> Feed | None:
        """The call is over: its feed, if it had one, for its display and to close it."""
        if not self._feeds:
            return None
        feed = self._feeds.pop(call.id, None)
        if feed is None:
            return None
        feed.end()
        return feed

    def _open(self, call: ToolCall) -> Feed:
        feed = self._feeds[call.id] = Feed(call, self._card)
        self._begin_drawing()
        return feed

    def _begin_drawing(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._draw, name="nbtoolkit-live", daemon=True)
                self._thread.start()

    def _draw(self) -> None:
        while True:
            time.sleep(EVERY)
            for feed in list(self._feeds.values()):
                try:
                    feed.draw()
                except Exception:
                    # A view that can't be drawn must not cost the call anything.
                    logger.warning("a live view could not be drawn", exc_info=True)
                    self._feeds.pop(feed.call.id, None)
            with self._lock:
                if not self._feeds:
                    self._thread = None
                    return
