"""One record for each call, under the cell that made it; it stands when the card and the live view are gone."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import render, scheduling, tables
from nbtoolkit.notebook.finish import finish
from nbtoolkit.notebook.live import LiveCalls
from nbtoolkit.notebook.order import Order
from nbtoolkit.notebook.pending import Slot
from nbtoolkit.notebook.scheduling.stopped import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.notebook.approver import InlineApprover
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.result import ToolChunk, ToolResponse
    from nbtoolkit.tool.run import ToolCall

__all__ = ["Recorder", "again", "is_recorded"]

# For `%toolkit log N`, the oldest go first: as many as a page is looked through, as much as a few images take.
MAX_RECORDS = 200
MAX_CHARACTERS = 10_000_000

_kept: OrderedDict[str, dict[str, str]] = OrderedDict()


def again(entry: LogEntry) -> dict[str, str]:
    """The record of a call that ended; without its result where that isn't kept any more."""
    kept = _kept.get(entry.id)
    if kept is not None:
        return kept
    from nbtoolkit.tool.result import ToolResponse

    bundle, note = render.record(entry, ToolResponse()), tables.message("Its result is no longer kept.")
    return {
        kind: f"{text}\n{note[kind]}" if kind == "text/plain" else text + note[kind] for kind, text in bundle.items()
    }


def _keep(call_id: str, bundle: dict[str, str]) -> None:
    _kept[call_id] = bundle
    _kept.move_to_end(call_id)
    size = sum(_size(each) for each in _kept.values())
    while len(_kept) > MAX_RECORDS or size > MAX_CHARACTERS:
        size -= _size(_kept.popitem(last=False)[1])


def _size(bundle: dict[str, str]) -> int:
    return sum(map(len, bundle.values()))


class Recorder:
    """Draws the record of each call as it ends, and takes its card away right after."""

    def __init__(self, approver: InlineApprover) -> None:
        self._approver = approver
        #: Who shows a call in a place of its own, by the call's id: a panel that a tool is tried in.
        self.hosts: dict[str, Any] = {}
        #: In what order the records of a cell stand.
        self.order = Order()
        self.live = live = LiveCalls(lambda call_id: self.hosts.get(call_id) or approver.card(call_id))
        # Straight on, since each chunk of each call comes this way.
        self.started: Callable[[ToolCall], None] = live.started
        self.chunk: Callable[[ToolCall, ToolChunk], None] = live.chunk

    def ended(self, call: ToolCall, entry: LogEntry, response: ToolResponse) -> None:
        """Show the record first and close the card then, so that nothing jumps."""
        where = call.place
        shown: list[dict[str, str]] = []
        feed = self.live.end(call)
        # Clients call as they like: `%toolkit log` has their records, and the serving cell's output stays what it was.
        served = entry.asked_by.kind == "server"
        host = self.hosts.get(call.id)
        display_id = feed.display_id if feed is not None else None
        slot = None
        if where is not None and where.in_kernel and not served and host is None and not _captured():
            # Where the card stood: nothing moves, and a saved notebook holds no empty display.
            slot = self._approver.slot(call.id, where.parent)

        def record() -> None:
            if not shown:
                bundle = render.record(entry, response)
                _keep(entry.id, bundle)
                bundles = [bundle, tables.message(entry.note)] if entry.note and not served else [bundle]
                if host is not None:
                    host.record(bundle)
                elif not served:
                    self._show(call, bundles, slot or (None if display_id is None else Slot(display_id)))
                elif display_id is not None:
                    scheduling.publish({}, parent=where.parent, display_id=display_id, update=True)
                if host is not None and len(bundles) > 1:
                    show(bundles[1], where)
                shown.append(bundle)
            if feed is not None:
                feed.close()
            response.recorded(_Shown(shown[0], _cell(where)).again)
            self._approver.ended(call.id, None if served else shown[0], slot=slot)
            self.order.ended(where)

        going_up = sys.exc_info()[1]
        if isinstance(going_up, KeyboardInterrupt | asyncio.CancelledError):
            shorten(going_up)
        finish(record)

    def _show(self, call: ToolCall, bundles: list[dict[str, str]], slot: Slot | None) -> None:
        """Show a record, and what is to be said below it, where its turn is."""
        where: Any = call.place
        if where is None or not where.in_kernel or _captured():
            _show_all(bundles, where, slot)
        elif slot is None and not (where.parent.get("content") or {}).get("allow_stdin"):
            # Nobody watches, and who runs notebooks without a person may not follow a display that changes.
            self.order.put(where, lambda: _show_all(bundles, where))
        else:
            slots = [slot or Slot(f"nbtoolkit-record-{call.id}", fresh=True)]
            slots += [Slot(f"nbtoolkit-note-{call.id}", fresh=True)] * (len(bundles) - 1)
            for bundle, each in zip(bundles, slots, strict=True):
                show(bundle, where, each)
            self.order.shown(where, [each.display_id for each in slots], bundles)


class _Shown:
    """Where a record is on screen: at the end of that cell its response shows nothing more."""

    def __init__(self, bundle: dict[str, str], cell: str) -> None:
        self._bundle = bundle
        self._cell = cell

    def again(self, _: ToolResponse) -> None:
        here = scheduling.origin()
        if _cell(here) != self._cell:
            show(self._bundle, here)
            self._cell = _cell(here)
        elif not here.in_kernel:
            # A terminal has written Out[n] already; what follows mustn't be nothing.
            print("(shown above)")  # noqa: T201


def _show_all(bundles: list[dict[str, str]], where: Any, slot: Slot | None = None) -> None:
    for number, bundle in enumerate(bundles):
        show(bundle, where, slot if number == 0 else None)


def is_recorded(response: ToolResponse) -> bool:
    """Whether a call's record was shown when it ended."""
    return isinstance(getattr(response.__dict__.get("_record"), "__self__", None), _Shown)


def _cell(origin: Any) -> str:
    """The running of a cell, by its message, in a terminal by its number: the same cell run again is another one."""
    header = origin.parent.get("header") or {} if origin is not None else {}
    return str(header.get("msg_id") or getattr(_shell(), "execution_count", ""))


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _captured() -> bool:
    """Whether what is displayed now goes to ``%%capture``."""
    from IPython.core.displaypub import CapturingDisplayPublisher

    shell = _shell()
    return shell is not None and isinstance(shell.display_pub, CapturingDisplayPublisher)


def show(bundle: dict[str, str], origin: Any, slot: Slot | None = None) -> None:
    """Show a bundle under its cell; inside ``%%capture`` it is captured, in a terminal it is text.

    ``slot`` is a display that it takes the place of, so that a saved notebook holds no empty one.
    """
    from IPython.display import display

    captured = _captured()
    parent = origin.parent if origin is not None and origin.in_kernel else None
    display_id = None if slot is None else slot.display_id
    update = slot is not None and not slot.fresh
    if captured and update:
        scheduling.publish({}, parent=parent, display_id=display_id, update=True)
    if captured or not scheduling.publish(bundle, parent=parent, display_id=display_id, update=update):
        display(bundle, raw=True)  # type: ignore[no-untyped-call]
