"""The asking cell, and output below it that no other output machinery can swallow.

It promises that what is published lands below the request that was named, from any thread and inside `%%capture`, and
after what was printed before.
"""

from __future__ import annotations

import contextlib
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtoolkit.notebook.scheduling.inbox import inbox
from nbtoolkit.notebook.scheduling.kernel import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nbtoolkit.notebook.scheduling.kernel import Kernel, Message


# The request below which the current context shows what it has to, where no cell of its own asks.
place: ContextVar[Message | None] = ContextVar("nbtoolkit_place", default=None)


@dataclass(frozen=True)
class Origin:
    """The cell (or console line) that is asking."""

    parent: Message
    """Its execute_request; empty outside a kernel."""
    cell_id: str | None
    execution_count: int | None
    session: str | None
    """The front end's client session, which changes when its page is loaded again."""

    @property
    def in_kernel(self) -> bool:
        """Whether there is a request to show something below."""
        return bool(self.parent)


def origin() -> Origin:
    """Return the asking cell, with an empty parent outside a kernel."""
    current = kernel()
    parent = {} if current is None else _asking(current)
    if current is None or not parent:
        return Origin({}, None, None, None)
    return Origin(parent, cell_id(parent), current.execution_count, session(parent))


def _asking(current: Kernel) -> Message:
    """The asking cell's request.

    For a widget's callback, and for a thread whose context ipykernel 7 doesn't know, the parent is whatever message came
    last; the cell that ran last is the one whose output a person sees.
    """
    given = place.get()
    if given is not None:
        return given
    parent = current.parent()
    if _kind(parent) == "execute_request":
        return parent
    box = inbox()
    return parent if box is None else box.last_cell or parent


def _kind(message: Message) -> str:
    return str((message.get("header") or {}).get("msg_type", ""))


def cell_id(message: Message) -> str | None:
    """The notebook cell that a request came from, where the front end says so."""
    value = (message.get("metadata") or {}).get("cellId")
    return value if isinstance(value, str) else None


def session(message: Message) -> str | None:
    """The client session that a request came from."""
    value = (message.get("header") or {}).get("session")
    return value if isinstance(value, str) else None


def publish(
    data: Mapping[str, Any],
    *,
    parent: Message | None = None,
    metadata: Mapping[str, Any] | None = None,
    display_id: str | None = None,
    update: bool = False,
) -> bool:
    """Show a mime bundle below `parent` (default: the asking cell), after what was printed before.

    Works from any thread and inside `%%capture`. False, and nothing shown, outside a kernel.
    """
    current = kernel()
    if current is None:
        return False
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a stream that somebody has closed or replaced
            stream.flush()
    content = {
        "data": dict(data),
        "metadata": dict(metadata or {}),
        "transient": {} if display_id is None else {"display_id": display_id},
    }
    current.send("update_display_data" if update else "display_data", content, parent or _asking(current))
    return True
