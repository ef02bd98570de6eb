"""What a page still says to a widget that is gone: the second half of a double click, a field that loses its focus.

It promises: nothing of it is a warning below somebody's cell. It is nobody's fault; what is said of other widgets stands.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

__all__ = ["close"]

# More widgets than a page can be about to speak to.
REMEMBERED = 2_000
_gone: OrderedDict[str, None] = OrderedDict()
# Where the package `comm` says that it doesn't know one.
_comms = logging.getLogger("Comm")


def close(widget: Any) -> None:
    """Close a widget, and expect late messages to it."""
    comm_id = getattr(widget.comm, "comm_id", None)
    if comm_id is not None:
        if _unwanted not in _comms.filters:
            _comms.addFilter(_unwanted)
        _gone[comm_id] = None
        while len(_gone) > REMEMBERED:
            _gone.popitem(last=False)
    widget.close()


def _unwanted(record: logging.LogRecord) -> bool:
    """Whether the record may be seen."""
    arguments = record.args
    return not (isinstance(arguments, tuple) and len(arguments) == 1 and str(arguments[0]) in _gone)
