"""Loaded into the kernels under test: the smallest card and approver upon the scheduling API."""

from __future__ import annotations

from typing import Any

from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.scheduling import Means, NobodyAnswers

VIEW = "application/vnd.jupyter.widget-view+json"
# Short, for a test that waits for nobody; long enough for a front end on a busy machine.
ATTEND = 3.0


async def ask(name: str, timeout: float | None = None, attend: float = ATTEND) -> str:
    """Ask whether `name` may run, by buttons, by input or by policy; says what was decided and how."""
    who = scheduling.presence()
    if who.means is Means.NOBODY:
        return f"{name}: denied, {who.reason}"
    if who.means is Means.WIDGETS:
        try:
            return f"{name}: {await by_buttons(name, timeout, attend)}"
        except NobodyAnswers as nobody:
            reason = str(nobody)
        except TimeoutError:
            return f"{name}: denied, time is up"
    else:
        reason = who.reason
    try:
        line = await scheduling.ask_by_input(f"{name}? ", timeout=attend)
    except (NobodyAnswers, TimeoutError) as nobody:
        return f"{name}: denied, {reason}; {nobody!r}"
    return f"{name}: {'allowed' if line == 'y' else 'denied'} by input"


async def by_buttons(name: str, timeout: float | None, attend: float) -> str:
    """Show two buttons and wait for one of them."""
    import ipywidgets

    def show(_: scheduling.Question, parent: Any) -> None:
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        scheduling.publish({VIEW: view, "text/plain": f"[{name}?]"}, parent=parent)

    question = scheduling.Question(show)
    allow = ipywidgets.Button(description=f"Allow {name}")
    deny = ipywidgets.Button(description=f"Deny {name}")
    box = ipywidgets.VBox([allow, deny])
    allow.on_click(lambda _: question.resolve("allowed"))
    deny.on_click(lambda _: question.resolve("denied"))
    scheduling.route([allow, deny, box])
    try:
        return str(await scheduling.pose(question, timeout=timeout, attend=attend))
    finally:
        for widget in (allow, deny, box):
            widget.close()


def ask_sync(name: str, timeout: float | None = None, attend: float = ATTEND) -> str:
    """Ask from a plain cell."""
    return scheduling.drive(ask(name, timeout, attend))
