"""Live widgets beside the static display that a saved notebook keeps.

The static display comes first and is the same on every machine; where a front end shows widgets, they follow in a
display of their own and take its place on the page. A saved notebook, a test and a page without the kernel have the
static one.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import scheduling

if TYPE_CHECKING:
    from nbtoolkit.notebook.session import Session
    from nbtoolkit.notebook.tables import Bundle
    from nbtoolkit.notebook.widgets.panel import Panel
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup

__all__ = ["close", "show_panel", "show_schema", "still"]

VIEW = "application/vnd.jupyter.widget-view+json"
# A page that is opened later finds no model for the widgets, and says so: an output that is a panel with words alone. The
# rule goes with the static display, which is what is meant to be seen then; a page that strips styles shows no widgets.
_STILL = (
    "<style>.jp-OutputArea-child:has(.nbtk-still)+.jp-OutputArea-child>.lm-Panel.jp-OutputArea-output:not(:has(*))"
    "{display:none}</style>"
)
# Each is a dozen widgets that live in the kernel; the oldest go.
MAX_VIEWERS = 20

_panels: list[Panel] = []
_viewers: deque[Any] = deque()


def show_panel(session: Session, static: Bundle) -> None:
    """Show the one panel of the toolkit."""
    if not _show_static(session, static):
        return
    panel = next((each for each in _panels if each.toolkit is session.toolkit), None)
    if panel is None:
        from nbtoolkit.notebook.approver import InlineApprover
        from nbtoolkit.notebook.recorder import Recorder
        from nbtoolkit.notebook.widgets.panel import Panel

        approver = hooks.default_approver
        recorder = next((each for each in hooks.observers if isinstance(each, Recorder)), None)
        panel = Panel(session.toolkit, recorder, approver if isinstance(approver, InlineApprover) else None)
        _panels.append(panel)
        panel.follow()
    panel.shown()
    _show_widget(panel.view)


def show_schema(session: Session, tool: ToolBase, group: ToolGroup, static: Bundle) -> None:
    """Show one tool's schema viewer."""
    if not _show_static(session, static):
        return
    from nbtoolkit.notebook.badges import badge
    from nbtoolkit.notebook.widgets.schema_view import SchemaView

    said = badge(session.toolkit, group, tool)
    viewer = SchemaView(tool, group.name, f"{said.word} {said.why}")
    scheduling.route(viewer.widgets)
    _viewers.append(viewer)
    while len(_viewers) > MAX_VIEWERS:
        _viewers.popleft().close()
    _show_widget(viewer.view)


def _show_static(session: Session, static: Bundle) -> bool:
    """Show what is saved, the same with and without a page; whether there is a front end for more."""
    # The sheet of the widgets that follow hides it, as long as they live.
    session.show(still(static))
    return scheduling.presence().means is scheduling.Means.WIDGETS and not _captured()


def still(static: Bundle) -> Bundle:
    """The static display as it is saved: with the rule for pages that have no kernel."""
    return {**static, "text/html": f'{_STILL}<div class="nbtk-still">{static["text/html"]}</div>'}


def _captured() -> bool:
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell is not None and isinstance(shell.display_pub, CapturingDisplayPublisher)


def _show_widget(view: Any) -> None:
    # Nothing beside the widget, so that a test which compares saved outputs has nothing to compare.
    scheduling.publish({VIEW: {"version_major": 2, "version_minor": 0, "model_id": view.model_id}})


def close() -> None:
    """Take all of them away."""
    for each in (*_panels, *_viewers):
        with contextlib.suppress(Exception):
            each.close()
    _panels.clear()
    _viewers.clear()
