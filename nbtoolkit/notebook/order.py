"""Records in the order in which their calls began, whichever ends first.

It promises: calls of one cell that run side by side leave their records in the order of their numbers, so that two runs of
a notebook can be compared. Where nobody watches, a record waits for those before it, as long as its cell runs; on a page
each is shown when it is there, and all of them are put in order once the last has ended, so that nothing moves meanwhile.
The record of a call that another one made stands before that one's, as it ends.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import scheduling
from nbtoolkit.tool.progress import current_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Order", "Place", "displayed"]

# Displays whose place on the page is remembered: a page of cards that wait.
DISPLAYS = 1_000

_stamps: OrderedDict[str, int] = OrderedDict()
_stamp = itertools.count(1)
_lock = threading.RLock()


def displayed(display_id: str) -> None:
    """A display was shown just now, below all that its cell has shown before."""
    with _lock:
        if display_id not in _stamps:
            _stamps[display_id] = next(_stamp)
            while len(_stamps) > DISPLAYS:
                _stamps.popitem(last=False)


@dataclass(frozen=True)
class Place(scheduling.Origin):
    """The cell that a call's record belongs below, and the call's turn there."""

    turn: tuple[float, ...] = ()

    @property
    def cell(self) -> str:
        """The running of the cell, by its request."""
        return str((self.parent.get("header") or {}).get("msg_id") or "")


@dataclass(slots=True)
class _Shown:
    turn: tuple[float, ...]
    displays: Sequence[str]
    bundles: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Cell:
    """One running of a cell while calls of it are under way."""

    under_way: set[tuple[float, ...]] = field(default_factory=set)
    held: list[tuple[tuple[float, ...], Callable[[], object]]] = field(default_factory=list)
    shown: list[_Shown] = field(default_factory=list)


class Order:
    """Knows the calls that are under way below each cell."""

    def __init__(self) -> None:
        self._cells: dict[str, _Cell] = {}
        self._numbers = itertools.count(1)

    def place(self) -> scheduling.Origin:
        """The place of a call that begins now; ``ended`` follows for each."""
        here = scheduling.origin()
        caller = hooks.caller.get()
        if not here.in_kernel or (caller is not None and caller.kind == "server"):
            return here
        above = getattr(getattr(current_call.get(), "place", None), "turn", ())
        # A call comes after those that it makes: no number is greater than the last one here.
        turn = (*above[:-1], float(next(self._numbers)), math.inf)
        place = Place(here.parent, here.cell_id, here.execution_count, here.session, turn)
        with _lock:
            self._cells.setdefault(place.cell, _Cell()).under_way.add(turn)
        return place

    def put(self, place: object, show: Callable[[], object]) -> None:
        """Show a record where nobody watches: now, or once the calls before it have theirs."""
        cell = self._cells.get(place.cell) if isinstance(place, Place) else None
        if cell is None or not isinstance(place, Place) or not any(turn < place.turn for turn in cell.under_way):
            show()
            return
        with _lock:
            cell.held.append((place.turn, show))

    def shown(self, place: object, displays: Sequence[str], bundles: Sequence[Mapping[str, Any]]) -> None:
        """A page shows a record: what it consists of, and the displays that hold it."""
        cell = self._cells.get(place.cell) if isinstance(place, Place) else None
        if cell is not None and isinstance(place, Place):
            for each in displays:
                displayed(each)
            with _lock:
                cell.shown.append(_Shown(place.turn, displays, bundles))

    def ended(self, place: object) -> None:
        """A call has its record, or has none."""
        if not isinstance(place, Place):
            return
        with _lock:
            cell = self._cells.get(place.cell)
            if cell is None:
                return
            cell.under_way.discard(place.turn)
            self._let_out(cell)
            if not cell.under_way:
                del self._cells[place.cell]
                _arrange(cell, place.parent)

    def cell_ended(self) -> None:
        """Hold nothing back any longer: what is shown after the end of a cell is lost to those who run it."""
        with _lock:
            for cell in self._cells.values():
                self._let_out(cell, everything=True)

    @staticmethod
    def _let_out(cell: _Cell, *, everything: bool = False) -> None:
        cell.held.sort(key=lambda each: each[0])
        while cell.held and (everything or not any(turn < cell.held[0][0] for turn in cell.under_way)):
            # Out of the list after it is shown: a stop in between must cost no record.
            cell.held[0][1]()
            del cell.held[0]


def _arrange(cell: _Cell, parent: Mapping[str, Any]) -> None:
    """Put each record into the display that its turn is, from the top of the page."""
    places = sorted((_stamps.get(each, 0), each) for shown in cell.shown for each in shown.displays)
    now = {each: bundle for shown in cell.shown for each, bundle in zip(shown.displays, shown.bundles, strict=True)}
    wanted = [bundle for shown in sorted(cell.shown, key=lambda each: each.turn) for bundle in shown.bundles]
    for (_, display_id), bundle in zip(places, wanted, strict=True):
        if now[display_id] is not bundle:
            scheduling.publish(bundle, parent=parent, display_id=display_id, update=True)
