"""The server card: one MCP server's state, its calls in flight with Stop, its last words, and restart and remove."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.progress import Pace
from nbtoolkit.notebook.tables import how
from nbtoolkit.notebook.text import bounded, count, one_line, settled, tidy, visible, visible_text
from nbtoolkit.notebook.widgets.markup import bad, code, heading, soft, table
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.mcp.status import Flight, ServerStatus

    Start = Callable[[Callable[[], Coroutine[Any, Any, object]]], None]

__all__ = ["ServerCard", "duration"]

WORDS_LIMIT = 300
LINE_LIMIT = 400
# Calls of one server at once, of which each has a Stop; more are counted.
MAX_FLIGHTS = 6

_STATES = {
    "connected": "connected",
    "connecting": "connecting …",
    "died": "down",
    "closed": "closed",
    "stateless": "reached anew for each call",
}


def duration(seconds: float) -> str:
    """``12 s``, ``3 min``, ``2 h 05 min``, ``4 days``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"
    return count(int(seconds // 86_400), "day")


class ServerCard:
    """One server.

    ``start`` begins a coroutine where the kernel's cells run; ``remove`` takes the server out; ``changed`` is called
    when there is something new to draw; ``route`` with widgets that were made later.
    """

    def __init__(
        self,
        client: MCPClient,
        *,
        start: Start,
        remove: Callable[[MCPClient], Coroutine[Any, Any, object]],
        changed: Callable[[], object],
        route: Callable[[list[Any]], object] = lambda _: None,
    ) -> None:
        self.client = client
        self._start, self._remove, self._changed, self._route = start, remove, changed, route
        self._kit = kit = Kit()
        self._busy = ""
        self._fault = ""
        self._flights: dict[int, tuple[Any, Any, Flight]] = {}
        name = client.name
        self._text = kit.html("")
        self._calls = kit.box("nbtk-flights", [])
        self._restart = kit.button(
            "Restart", f"server {name}", "6.4em", lambda: self._do("restarting …", self._restarted)
        )
        self._gone = kit.button(
            "Remove", f"server {name}", "6.4em", lambda: self._do("closing …", self._removed), "nbtk-quiet"
        )
        row = kit.box("nbtk-row", [self._restart, self._gone], row=True)
        self._tail = kit.html("")
        #: The root widget.
        self.view = kit.box("nbtk-item nbtk-server", [self._text, self._calls, self._tail, row])
        self.refresh()

    @property
    def widgets(self) -> list[Any]:
        """All its widgets."""
        return list(self._kit.widgets)

    def refresh(self) -> None:
        """Draw what the server is now."""
        status = self.client.status()
        _set(self._text, self._head(status))
        self._draw_flights(status.calls)
        lines = [one_line(tidy(line), LINE_LIMIT) for line in status.tail]
        tail = ""
        if lines:
            text = visible(redact(settled("\n".join(lines))))
            # What it said last is wanted when it is down, and in the way while it works.
            opened = " open" if status.state == "died" or self._fault else ""
            more = f"; all of them: {code('%toolkit mcp log ' + status.name)}"
            tail = (
                f"<details{opened}><summary>{soft('Last lines of its log')}</summary>"
                f'<pre class="nbtk-code">{text}</pre>{soft(more[2:])}</details>'
            )
        _set(self._tail, tail)

    def _head(self, status: ServerStatus) -> str:
        state = self._busy or _STATES[status.state]
        said = bad(state) if status.state == "died" and not self._busy else f"<b>{visible(state)}</b>"
        title = f" {soft(visible(one_line(status.title, 60)))}" if status.title and status.title != status.name else ""
        rows = [["Reached", f"{code(redact(settled(how(self.client))))} {soft('by ' + status.transport)}"]]
        about = []
        if status.era:
            about.append(f"protocol {visible(status.era)}")
        if status.version:
            about.append(f"version {visible(one_line(status.version, 40))}")
        if status.pid is not None:
            about.append(f"process {status.pid}")
        if status.uptime is not None:
            about.append(f"up {duration(status.uptime)}")
        if status.starts > 1:
            about.append(f"started {status.starts} times")
        if about:
            rows.append(["Session", " · ".join(about)])
        tools = soft("not listed yet") if status.tools is None else count(status.tools, "tool")
        rows.append(["Tools", tools])
        if status.instructions:
            words = visible(one_line(status.instructions, WORDS_LIMIT))
            rows.append(["It says", soft(f"“{words}”")])
        markup = heading(f"{code(status.name)} {said}{title}", 5) + table(["", ""], rows, "nbtk-bare")
        return markup + (f'<div role="alert">{bad(self._fault)}</div>' if self._fault else "")

    def _draw_flights(self, flights: tuple[Flight, ...]) -> None:
        wanted = {flight.number: flight for flight in flights[:MAX_FLIGHTS]}
        if set(wanted) != set(self._flights):
            known = len(self._kit.widgets)
            for number in [each for each in self._flights if each not in wanted]:
                row, text, _ = self._flights.pop(number)
                for each in (*row.children, row):
                    each.close()
                    self._kit.widgets.remove(each)
                del text
            known = min(known, len(self._kit.widgets))
            for number, flight in wanted.items():
                if number not in self._flights:
                    text = self._kit.html("")
                    stop = self._kit.button(
                        "Stop",
                        f"{visible_text(one_line(flight.tool, 80))} on {self.client.name}",
                        "4.6em",
                        partial(_cancel, flight),
                    )
                    row = self._kit.box("nbtk-flight", [text, stop], row=True)
                    self._flights[number] = (row, text, flight)
            self._route(self._kit.widgets[known:])
            self._calls.children = tuple(row for row, _, _ in self._flights.values())
        now = time.monotonic()
        for number, (_, text, _) in self._flights.items():
            _set(text, _flight(wanted[number], now))

    # ---------------------------------------------------------------------------------------------------------- acts
    def _do(self, words: str, act: Callable[[], Coroutine[Any, Any, object]]) -> None:
        if self._busy:
            return
        self._busy, self._fault = words, ""
        self.refresh()

        async def run() -> None:
            try:
                await act()
            except Exception as fault:  # noqa: BLE001 - whatever ails the server is said on its card
                self._fault = bounded(redact(str(fault)) or type(fault).__name__, 600)
            finally:
                self._busy = ""
                self._changed()

        self._start(run)

    async def _restarted(self) -> None:
        await self.client.close()
        await self.client.connect(self.client.execution_timeout)

    async def _removed(self) -> None:
        await self._remove(self.client)

    def close(self) -> None:
        """Take it away."""
        self._kit.close()


def _cancel(flight: Flight) -> None:
    flight.cancel()


def _flight(flight: Flight, now: float) -> str:
    pace = Pace()
    bar = ""
    if flight.progress:
        pace.take(flight.progress, now)
        share = pace.share
        value = "" if share is None else f' value="{share:.3f}"'
        bar = f'<progress max="1"{value} aria-label="{visible(one_line(flight.tool, 60)).replace(chr(34), "&quot;")}"></progress>'
    said = pace.words(now)
    return f"{code(one_line(flight.tool, 80))} {soft(' · '.join(filter(None, ['runs', duration(flight.seconds), visible(said)])))}{bar}"


def _set(widget: Any, markup: str) -> None:
    if widget.value != markup:
        widget.value = markup
