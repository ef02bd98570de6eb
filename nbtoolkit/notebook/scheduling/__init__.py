"""Everything that nbtoolkit knows about kernels, event loops, waiting and interrupts; no other module knows any.

It promises: a cell can wait for a person, in sync and async cells and in worker threads, and a click still arrives;
cells that are queued meanwhile keep their place; the stop button ends any wait; nobody waits for somebody who can't
answer.  Where a kernel's internals aren't as expected there is no pump and no filter, and `presence` says less.

How an approver uses it, inside its coroutine (the same code under a kernel's loop, `drive` or a worker's loop)::

    who = presence()
    if who.means is Means.WIDGETS:
        question = Question(show)               # show(question, parent) publishes the prompt below that request
        card = Card(on_click=question.resolve)
        route(card.widgets)
        try:
            answer = await pose(question, timeout=ask_timeout)
        except NobodyAnswers:                   # no widget front end proved itself in time
            answer = await ask_by_input("Allow? [y/N] ", timeout=60)
"""

from __future__ import annotations

from nbtoolkit.notebook.scheduling.desk import listening, overtake
from nbtoolkit.notebook.scheduling.driver import drive
from nbtoolkit.notebook.scheduling.extension import install, uninstall
from nbtoolkit.notebook.scheduling.kernel import Message
from nbtoolkit.notebook.scheduling.nested import allow_nested_run, disallow_nested_run
from nbtoolkit.notebook.scheduling.output import Origin, origin, publish
from nbtoolkit.notebook.scheduling.people import (
    Beacon,
    Means,
    NobodyAnswers,
    Presence,
    pose,
    presence,
    route,
)
from nbtoolkit.notebook.scheduling.question import Question, pending, reshow
from nbtoolkit.notebook.scheduling.stop import stoppable
from nbtoolkit.notebook.scheduling.typed import ask_by_input
from nbtoolkit.notebook.scheduling.visitors import Visitors
from nbtoolkit.notebook.scheduling.worker import run_in_worker, run_sync

__all__ = [
    "Beacon",
    "Means",
    "Message",
    "NobodyAnswers",
    "Origin",
    "Presence",
    "Question",
    "Visitors",
    "allow_nested_run",
    "ask_by_input",
    "disallow_nested_run",
    "drive",
    "install",
    "listening",
    "origin",
    "overtake",
    "pending",
    "pose",
    "presence",
    "publish",
    "reshow",
    "route",
    "run_in_worker",
    "run_sync",
    "stoppable",
    "uninstall",
]
