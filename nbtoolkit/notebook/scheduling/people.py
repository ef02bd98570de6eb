"""Whether anybody is there who could answer, and putting a question to them.

It promises never to wait for somebody who can't answer: a front end that allows no interaction is believed at once, and
one that could show a button proves it by firing a beacon.  The beacon proves that a front end is attached, not that the
prompt is on its screen; the prompt can be shown again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import os
import re
import sys
import threading
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.notebook.scheduling.gone import close
from nbtoolkit.notebook.scheduling.inbox import MARK
from nbtoolkit.notebook.scheduling.kernel import is_foreign, kernel
from nbtoolkit.notebook.scheduling.latch import Latch
from nbtoolkit.notebook.scheduling.output import origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtoolkit.notebook.scheduling.question import Question

# A beacon's models can reach the front end before it has its subshell, and are then throttled: try fresh ones.
BEACON_EVERY = 1.0
# A busy page on a slow line answers the first beacon in 0.06-0.3 s, one that is just loading in 1.3-3 s.
ATTEND = 8.0
# A client session that was waited for in vain, a console's say, is not waited for so long again.
ATTEND_AGAIN = 1.5
# A request that a Python client sent comes from a console or from `jupyter run`, which gives a cell 10 s in all; pages
# name their requests otherwise.
ATTEND_PYTHON = 3.0
_PYTHON_CLIENT = re.compile(r".+_\d+_\d+")
# Client sessions are forgotten beyond this: a notebook has one for each time its page was loaded.
REMEMBERED = 32


class Means(Enum):
    """How a question could reach a person."""

    WIDGETS = "widgets"
    INPUT = "input"
    NOBODY = "nobody"


class Presence(NamedTuple):
    """What is known before any widget exists, and why."""

    means: Means
    reason: str


class NobodyAnswers(LookupError):  # noqa: N818 - it is no error of anybody's
    """No front end proved that it can show the question, or `input()` isn't possible; str() is the reason."""


def presence() -> Presence:
    """Say at once whether anybody could answer: WIDGETS means worth trying, and only a beacon proves it."""
    current = kernel()
    if current is None:
        if is_foreign():
            return Presence(Means.INPUT, "a kernel that is not ipykernel")
        if sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty():
            return Presence(Means.INPUT, "a terminal without a kernel")
        return Presence(Means.NOBODY, "no kernel and no terminal")
    if not current.allows_input(origin().parent):
        return Presence(Means.NOBODY, "the front end allows no interaction (allow_stdin is false)")
    if _run_by_jupyter_run():
        # It says that it allows input, shows no widgets, and ends with an error when it is asked for a line.
        return Presence(Means.NOBODY, "jupyter run passes no answer on")
    if importlib.util.find_spec("ipywidgets") is None:
        return Presence(Means.INPUT, "ipywidgets is not installed in the kernel's environment")
    return Presence(Means.WIDGETS, "the front end allows interaction")


@functools.cache
def _run_by_jupyter_run() -> bool:
    """Whether the process that started this kernel is ``jupyter run``; its requests look like a console's."""
    try:
        import psutil

        words = psutil.Process(os.getppid()).cmdline()
    except Exception:  # noqa: BLE001 - a process that is gone, or that may not be looked at
        return False
    return any(Path(word).stem in {"jupyter-run", "jupyter-run-script"} for word in words[:2])


# ------------------------------------------------------------------ widgets
def route(widgets: Iterable[Any]) -> None:
    """Let the front end's messages to these widgets come to where the current thread's wait can see them.

    For every widget of a card that a person can act on, before it is shown.
    """
    current = kernel()
    to_main = current is not None and threading.current_thread() is threading.main_thread() and bool(current.can_listen)
    for widget in widgets:
        comm = getattr(widget, "comm", None)
        if comm is None:
            continue
        with contextlib.suppress(AttributeError):  # a comm of another kernel, with slots
            setattr(comm, MARK, True)
        if hasattr(comm, "_reply_subshell_for"):
            # ipykernel 7.4 sends replies to the shell that used the comm last, whatever the front end asked for.
            comm._reply_subshell_for = _to_main_shell if to_main else _as_asked  # noqa: SLF001


def _to_main_shell(_data: object, _default: str | None) -> str | None:
    return None


def _as_asked(_data: object, default: str | None) -> str | None:
    return default


class Beacon:
    """Hidden linked widgets that only a widget front end, and nothing else, fires."""

    def __init__(self) -> None:
        self._fired = Latch()
        self._widgets: list[Any] = []

    async def seen(self, timeout: float = ATTEND) -> bool:
        """Wait until a front end has answered, with fresh models every second; False when the time is up."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            self._light()
            with contextlib.suppress(TimeoutError):
                await self._fired.wait(min(BEACON_EVERY, left))
                return True
        return False

    def _light(self) -> None:
        import ipywidgets

        source, target = ipywidgets.IntText(value=1), ipywidgets.IntText(value=0)
        target.observe(lambda _: self._fired.set(True), "value")
        route([source, target])  # before the link exists, which makes the front end answer
        self._widgets += [source, target, ipywidgets.jsdlink((source, "value"), (target, "value"))]

    def close(self) -> None:
        """Take the hidden widgets away."""
        widgets, self._widgets = self._widgets, []
        for widget in widgets:
            with contextlib.suppress(Exception):
                close(widget)


# Whether a client session's front end has fired a beacon.
_proven: dict[str, bool] = {}


async def pose(question: Question, *, timeout: float | None = None, attend: float = ATTEND) -> Any:
    """Show a question, make sure that a widget front end is there, and wait for the answer.

    NobodyAnswers when no front end fired a beacon within `attend` seconds (one that already did in this client
    session isn't waited for), TimeoutError after `timeout` seconds with a person present.
    """
    __tracebackhide__ = True  # IPython leaves it out
    with question.open():
        question.present()
        proven = _proven.get(question.origin.session or "")
        if not proven:
            limits = [attend, timeout, ATTEND_AGAIN if proven is False else None]
            message = str((question.origin.parent.get("header") or {}).get("msg_id", ""))
            limits.append(ATTEND_PYTHON if _PYTHON_CLIENT.fullmatch(message) else None)
            await _attended(question, min(limit for limit in limits if limit is not None))
        return await question.wait(timeout)


async def _attended(question: Question, limit: float) -> None:
    """Return when a front end has proved itself or the answer is there already."""
    __tracebackhide__ = True
    beacon = Beacon()
    answer = asyncio.ensure_future(question.wait())
    fired = asyncio.ensure_future(beacon.seen(limit))
    try:
        await asyncio.wait({answer, fired}, return_when=asyncio.FIRST_COMPLETED)
        if fired.done() and (error := fired.exception()) is not None:
            raise NobodyAnswers(f"ipywidgets does not work here: {error!r}") from error
        if fired.done() and question.origin.session is not None:
            _remember(question.origin.session, fired.result())
        if not question.resolved and fired.done() and not fired.result():
            raise NobodyAnswers(f"no front end that shows widgets has answered within {limit:g} s")
    finally:
        for task in (answer, fired):
            task.cancel()
        await asyncio.gather(answer, fired, return_exceptions=True)
        beacon.close()


def _remember(session: str, proven: bool) -> None:
    _proven[session] = proven
    while len(_proven) > REMEMBERED:
        del _proven[next(iter(_proven))]
