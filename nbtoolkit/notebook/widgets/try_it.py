"""Trying a tool from the panel: a form, Run, the call as it goes, and its record in the same place.

The call goes through the pipeline like any other. Pressing Run with these arguments in sight is the person's word for
them, so no card asks again, except for what no rule can silence.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.message import ToolCallBlock
from nbtoolkit.notebook.text import visible
from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.notebook.widgets.markup import soft
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.permission.approval import Approval
from nbtoolkit.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.notebook.widgets.panel import Panel
    from nbtoolkit.permission.approval import ApprovalRequest
    from nbtoolkit.tool.base import ToolBase

__all__ = ["TryIt"]


class TryIt:
    """The form for one tool, and below it what its last call gave."""

    def __init__(self, tool: ToolBase, panel: Panel) -> None:
        self._tool, self._panel = tool, panel
        self._kit = kit = Kit()
        self._call: Any = None
        self._running: Any = None
        self._form = Form(tool.input_schema, route=panel.route)
        self._run = kit.button("Run it", tool.name, "5.4em", self._pressed, "nbtk-primary")
        self._note = kit.html(soft("Runs through the toolkit, and is logged."))
        row = kit.box("nbtk-row", [self._run, self._note], row=True)
        self._result = kit.html("", layout=kit.own_layout(display="none"))
        self._place = kit.box("nbtk-result", [self._result])
        #: The root widget.
        self.view = kit.box("nbtk-try", [self._form.widget, row, self._place])

    @property
    def widgets(self) -> list[Any]:
        """All its widgets."""
        return [*self._form.widgets, *self._kit.widgets]

    # --------------------------------------------------------------------------------------------------------- a call
    def _pressed(self) -> None:
        if self._call is not None:
            return
        self._form.show_faults(())
        try:
            values = self._form.read(check=False)
            self._tool.validate_input(values)
        except FormError as fault:
            self._form.show_faults(fault.faults)
            return
        except ToolArgumentsError as fault:
            self._form.show_faults(fault.faults)
            return
        block = ToolCallBlock(name=self._tool.name, input=json.dumps(values, default=str))
        self._call = self._panel.toolkit.call_tool(block, approver=self._approve)
        self._say("Runs when the kernel is free …")
        self._panel.host(block.id, self)
        call = self._call

        async def run() -> None:
            self._say("Runs …")
            try:
                await call
            except Exception as fault:  # noqa: BLE001 - what a programmer must mend is said here too
                self._show(
                    f'<div class="nbtk-bad" role="alert">{visible(redact(f"{type(fault).__name__}: {fault}"))}</div>'
                )
            finally:
                self._call = None
                self._say("")
                self._panel.unhost(block.id)

        self._panel.start(run)

    async def _approve(self, request: ApprovalRequest) -> Approval:
        asked = hooks.default_approver
        if request.decision.bypass_immune and asked is not None:
            # What no rule can silence, a button that was pressed before it was known can't either.
            return await asked(request)
        return Approval.allow()

    # ------------------------------------------------------------------------------------- what the recorder asks for
    def show_running(self, widget: Any) -> bool:
        """Take in the view of the running call, as a card does."""
        self._running = widget
        self._place.children = (widget,)
        return True

    def record(self, bundle: Mapping[str, str]) -> None:
        """Take in the record of the call."""
        self._running = None
        self._show(bundle["text/html"])

    def _show(self, markup: str) -> None:
        self._result.value = markup
        self._result.layout.display = None
        self._place.children = (self._result,)

    def _say(self, text: str) -> None:
        self._note.value = f'<span class="nbtk-soft" role="status">{visible(text)}</span>' if text else ""

    def close(self) -> None:
        """Take it away; a call that runs goes on, and leaves its record in the log."""
        self._form.close()
        self._kit.close()
