"""Loads what the first card needs while nobody waits for it.

Importing the widgets takes half a second, which a person would spend looking at an empty cell, and the first of anything
takes longer than the second. Both happen in the background once the extension is loaded, and only where a front end may
show widgets: a job that runs notebooks, a terminal and a plain import load none of it.
"""

from __future__ import annotations

import importlib
import logging
import threading

from nbtoolkit.notebook import scheduling
from nbtoolkit.permission.approval import ApprovalRequest
from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision
from nbtoolkit.tool.base import ToolBase

__all__ = ["warm"]

logger = logging.getLogger("nbtoolkit")

MODULES = (
    "nbtoolkit.notebook.widgets.card",
    "nbtoolkit.notebook.widgets.tray",
    "nbtoolkit.notebook.widgets.panel",
    "pygments.lexers.shell",
    "pygments.formatters.html",
    "nbtoolkit.permission.explain",
    "nbtoolkit.schema.validator",
    "nbtoolkit.schema.build",
)


def warm() -> threading.Thread | None:
    """Begin to load; gives the thread that does it, None where there is nothing to load for."""
    if scheduling.presence().means is not scheduling.Means.WIDGETS:
        return None
    # A daemon: a kernel that is shut down meanwhile waits for nobody.
    thread = threading.Thread(target=_warm, name="nbtoolkit-warm", daemon=True)
    thread.start()
    return thread


def _warm() -> None:
    _load()
    try:
        _rehearse()
    except Exception:
        logger.debug("could not make a card in advance", exc_info=True)


def _rehearse() -> None:
    """Make a card that nobody sees: the page loads its half of the widgets, and keeps what all cards share."""
    from nbtoolkit.notebook.widgets.card import ApprovalCard
    from nbtoolkit.notebook.widgets.tray import Tray

    request = ApprovalRequest("", _Nothing(), {"value": 0}, PermissionDecision(PermissionBehavior.ASK, ""))
    cards = [ApprovalCard(request, _no, set_mode=_no, number=number) for number in (None, 1)]
    Tray(cards[1:]).close()
    for card in cards:
        card.close()


def _no(_: object) -> bool:
    return False


class _Nothing(ToolBase):
    """What the card is about."""

    name = "nothing"
    description = ""

    def __init__(self) -> None:
        super().__init__()
        self.input_schema = {"type": "object"}


def _load() -> None:
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception:
            logger.debug("could not load %s in advance", name, exc_info=True)
