"""What becomes of a tool whose function ``%autoreload`` gives other code: its grants end, and a line says so.

A reload changes the function in place, so the tool runs the new code with what was said of the old: its schema, and what
a person allowed of it. Looked for before and after each cell, behind what reloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nbtoolkit.notebook.notices import show_line
from nbtoolkit.notebook.text import one_line
from nbtoolkit.tool.function import FunctionTool

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["ReloadWatch"]

RULE_LIMIT = 120
NEVER = "reloaded"


class ReloadWatch:
    """Knows each tool's code as it was when it was first seen."""

    def __init__(self, shell: InteractiveShell, toolkit: Toolkit) -> None:
        self._events = shell.events
        self._toolkit = toolkit
        self._codes: WeakKeyDictionary[FunctionTool, object] = WeakKeyDictionary()

    def install(self) -> None:
        """Look from now on."""
        self._events.register("pre_run_cell", self._begins)
        self._events.register("post_run_cell", self._ended)

    def remove(self) -> None:
        """Look no more."""
        self._events.unregister("pre_run_cell", self._begins)
        self._events.unregister("post_run_cell", self._ended)

    def _begins(self, info: Any) -> None:  # noqa: ARG002 - IPython passes it
        self.look()
        before: list[Callable[..., Any]] = self._events.callbacks["pre_run_cell"]
        if before[-1] != self._begins:
            # What reloads was loaded later; from the next cell on it is looked after that.
            self._events.unregister("pre_run_cell", self._begins)
            self._events.register("pre_run_cell", self._begins)

    def _ended(self, result: Any) -> None:  # noqa: ARG002 - IPython passes it
        self.look()

    def look(self) -> None:
        """End the grants of tools whose code is another, and say so."""
        codes = self._codes
        for group in self._toolkit.tool_groups:
            for tool in group.tools:
                if isinstance(tool, FunctionTool):
                    code = getattr(tool.func, "__code__", None)
                    before = codes.setdefault(tool, code)
                    if before is not code:
                        codes[tool] = code
                        self._changed(tool)

    def _changed(self, tool: FunctionTool) -> None:
        gone = self._toolkit.grants.redefined(tool.name, NEVER)
        rules = ", ".join(one_line(str(rule), RULE_LIMIT) for rule in gone)
        ended = f" What was granted to it before holds no longer: {rules}." if gone else ""
        name = getattr(tool.func, "__name__", tool.name)
        show_line(
            f"{tool.name} was reloaded with other code.{ended} %toolkit add {name} renews what models are told of it."
        )
