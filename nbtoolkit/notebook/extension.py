"""What ``%load_ext nbtoolkit`` puts into a shell, and how it is taken out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.mcp import changes, guardian, nested
from nbtoolkit.mcp.interaction import set_host
from nbtoolkit.notebook import magics, scheduling, serving, views
from nbtoolkit.notebook.approver import InlineApprover
from nbtoolkit.notebook.chat import NotebookView
from nbtoolkit.notebook.definitions import DefinitionWatch
from nbtoolkit.notebook.namespace import NotebookVariables
from nbtoolkit.notebook.notices import show_line, show_warnings_as_lines
from nbtoolkit.notebook.permissions import withheld
from nbtoolkit.notebook.recorder import Recorder
from nbtoolkit.notebook.reloads import ReloadWatch
from nbtoolkit.notebook.server_questions import ServerQuestions
from nbtoolkit.notebook.warm import warm
from nbtoolkit.permission.approval import Origin
from nbtoolkit.permission.store import Store
from nbtoolkit.schema import set_variable_resolver
from nbtoolkit.tool.decorator import tool

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Extension"]


class Extension:
    """One shell's nbtoolkit."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._toolkit = hooks.get_toolkit()
        self._approver = InlineApprover(self._toolkit)
        self._recorder = Recorder(self._approver)
        self._definitions = DefinitionWatch(self._toolkit)
        self._reloads = ReloadWatch(shell, self._toolkit)
        self._given: dict[str, Any] = {}
        self._before: dict[str, Any] = {}

    def load(self) -> None:
        """Register with the hooks below, the shell and its namespace."""
        scheduling.install()
        names = ("drive", "origin", "place", "stoppable", "default_approver", "chat_view")
        self._before = {name: getattr(hooks, name) for name in names}
        hooks.stoppable = scheduling.stoppable
        self._undo_warnings = show_warnings_as_lines()
        hooks.drive = scheduling.drive
        hooks.origin = _origin
        hooks.place = self._recorder.order.place
        hooks.chat_view = NotebookView
        hooks.default_approver = self._approver
        hooks.observers.append(self._recorder)
        self._unwatch = self._recorder.live.watch()
        changes.observers.append(self._definitions)
        set_host(ServerQuestions(self._approver))
        set_variable_resolver(NotebookVariables(self._shell, self._toolkit))
        magics.register(self._shell, hooks.get_toolkit)
        self._shell.events.register("post_run_cell", self._cell_ended)
        self._reloads.install()
        for name, value in {"toolkit": self._toolkit, "tool": tool}.items():
            if name not in self._shell.user_ns:
                self._shell.user_ns[name] = self._given[name] = value
        self._read_rules()
        # Servers of kernels that were killed together with their guardian.
        guardian.sweep_soon()
        warm()

    def _read_rules(self) -> None:
        """Take the rules of the project's file and the person's own, and say what of them doesn't hold."""
        context = self._toolkit.state.permission_context
        context.working_directory = str(Path.cwd())
        store = Store(self._toolkit.grants, context.working_directory)
        notes = [str(problem) for problem in store.load()]
        store.apply(context)
        notes += withheld(store)
        for note in notes:
            show_line(note)

    def unload(self) -> None:
        """Take everything back, but what the user put in its place since."""
        serving.stop()
        for name, value in self._given.items():
            if self._shell.user_ns.get(name) is value:
                del self._shell.user_ns[name]
        self._shell.events.unregister("post_run_cell", self._cell_ended)
        self._reloads.remove()
        magics.unregister(self._shell)
        set_variable_resolver(None)
        hooks.observers.remove(self._recorder)
        self._unwatch()
        changes.observers.remove(self._definitions)
        set_host(None)
        self._undo_warnings()
        for name, value in self._before.items():
            setattr(hooks, name, value)
        views.close()
        self._approver.close()
        scheduling.uninstall()
        nested.undo()  # what was beneath the scheduling's own asyncio.run

    def _cell_ended(self, result: Any) -> None:  # noqa: ARG002 - IPython passes it
        self._toolkit.engine.end_cell()
        self._recorder.order.cell_ended()


def _origin() -> Origin:
    here = scheduling.origin()
    if not here.in_kernel:
        return Origin("script")
    cell = None if here.execution_count is None else str(here.execution_count)
    return Origin("cell", cell=cell)
