"""The panel: all that the toolkit holds, in one live object that can be displayed any number of times.

It promises: what is shown follows the toolkit within a second, whoever changes it; a part is made when it is first
opened; a thousand tools are one list. A thread looks for changes by a fingerprint that costs microseconds, as long as
the panel lives.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

import ipywidgets as w

from nbtoolkit import hooks
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.scheduling.background import start
from nbtoolkit.notebook.text import visible
from nbtoolkit.notebook.widgets.looking import LOOKING
from nbtoolkit.notebook.widgets.markup import heading
from nbtoolkit.notebook.widgets.panel_pages import LogPage, RulesPage, ServersPage, SkillsPage, WaitingPage
from nbtoolkit.notebook.widgets.panel_tools import ToolsPage
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.permission.rule import PermissionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping

    from nbtoolkit.notebook.approver import InlineApprover, PendingCall
    from nbtoolkit.notebook.recorder import Recorder
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Panel"]

logger = logging.getLogger("nbtoolkit")

# Seconds between two looks for changes: soon enough for an eye, and seldom enough to cost nothing.
LOOK_EVERY = 0.5
MODES = (
    ("default", PermissionMode.DEFAULT),
    ("accept edits", PermissionMode.ACCEPT_EDITS),
    ("explore", PermissionMode.EXPLORE),
    ("bypass", PermissionMode.BYPASS),
    ("don't ask", PermissionMode.DONT_ASK),
)


class Host(Protocol):
    """Who shows a call that was started in the panel."""

    def show_running(self, widget: Any) -> bool:
        """Take in the live view."""

    def record(self, bundle: Mapping[str, str]) -> None:
        """Take in the record."""


class Page(Protocol):
    """One part of the panel."""

    view: Any

    @property
    def title(self) -> str:
        """Its name, with a count."""

    def refresh(self) -> None:
        """Draw what is now."""

    def close(self) -> None:
        """Let go of what it opened."""


PAGES: tuple[Callable[[Panel], Page], ...] = (ToolsPage, ServersPage, SkillsPage, RulesPage, WaitingPage, LogPage)


class Panel:
    """The panel of one toolkit; ``recorder`` is told which calls are shown here."""

    def __init__(
        self, toolkit: Toolkit, recorder: Recorder | None = None, approver: InlineApprover | None = None
    ) -> None:
        self.toolkit = toolkit
        self.kit = kit = Kit()
        self.tools: list[tuple[ToolGroup, ToolBase]] = []
        self._recorder, self._approver = recorder, approver
        self._context = copy_context()
        self._lock = threading.RLock()
        self._pages: dict[int, Page] = {}
        self._hosted: dict[str, Host] = {}
        self._seen: object = None
        self._closed = False
        self._setting = self._naming = False
        self._mode = kit.field(
            w.Dropdown, "Mode", label_width="3.1em", classes="nbtk-mode", layout=kit.layout(), options=MODES,
            value=PermissionMode(toolkit.mode), tooltip="Permission mode of this notebook",
        )  # fmt: skip
        self._mode.observe(lambda change: self._mode_chosen(change["new"]), "value")
        bar = kit.box("nbtk-bar", [kit.html(heading("Toolkit", 3)), self._mode], row=True)
        self._tools = ToolsPage(self)
        self._pages[0] = self._tools
        self._titles = ["Tools", *(each.label for each in PAGES[1:])]  # type: ignore[attr-defined]
        self._tabs = kit.field(
            w.RadioButtons, "Parts of the toolkit", unseen=True, orientation="horizontal",
            options=[(title, i) for i, title in enumerate(self._titles)], value=0,
        )  # fmt: skip
        self._tabs.add_class("nbtk-tabs")
        self._tabs.observe(lambda _: self._turn(), "value")
        self._body = kit.box("nbtk-pages", [self._tools.view])
        self._fault = kit.html("")
        style = kit.html(SHEET + LOOKING, "nbtk-style")
        #: The root widget.
        self.view = kit.box("nbtk nbtk-card nbtk-panel nbtk-twin", [style, bar, self._tabs, self._body, self._fault])
        self.refresh()
        self.route(kit.widgets)

    # --------------------------------------------------------------------------------------------------- for its parts
    def route(self, widgets: list[Any]) -> None:
        """Let clicks on these widgets come through while a cell runs."""
        scheduling.route(widgets)

    def start(self, make: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Begin a coroutine where cells run, with its output below the cell that showed the panel last."""
        start(make, self._context)

    def pending(self) -> list[PendingCall]:
        """The calls that wait for an answer."""
        return [] if self._approver is None else self._approver.pending()

    def host(self, call_id: str, host: Host) -> None:
        """Have a call's live view and record shown by ``host``."""
        self._hosted[call_id] = host
        if self._recorder is not None:
            self._recorder.hosts[call_id] = host

    def unhost(self, call_id: str) -> None:
        """The call is over."""
        self._hosted.pop(call_id, None)
        if self._recorder is not None:
            self._recorder.hosts.pop(call_id, None)

    def switch_off(self, tool: ToolBase) -> None:
        """Take a tool out of what models are offered."""
        client = getattr(tool, "client", None)
        if client is None or not tool.is_mcp:
            self.toolkit.remove_tool_sync(tool.name)
            return
        name = tool.server_tool_name  # type: ignore[attr-defined]
        if client.enable_tools is not None:
            client.enable_tools = [each for each in client.enable_tools if each != name]
        else:
            client.disable_tools = [*(client.disable_tools or ()), name]
        hooks.drive(client.list_tools(refresh=True))

    def switch_on(self, tool: ToolBase, group: str, above: Collection[str]) -> None:
        """Offer it again, below the tools of its group that stood above it."""
        client = getattr(tool, "client", None)
        if client is None or not tool.is_mcp:
            self.toolkit.register(tool, group)
            tools = self.toolkit.group(group).tools
            tools.remove(tool)
            tools.insert(max((n for n, each in enumerate(tools, 1) if each.name in above), default=0), tool)
            return
        name = tool.server_tool_name  # type: ignore[attr-defined]
        if client.enable_tools is not None:
            client.enable_tools = [*client.enable_tools, name]
        else:
            client.disable_tools = [each for each in client.disable_tools or () if each != name] or None
        hooks.drive(client.list_tools(refresh=True))

    # ------------------------------------------------------------------------------------------------------- following
    def shown(self) -> None:
        """The panel is being displayed below the running cell: what it starts is output there."""
        self._context = copy_context()
        self.refresh()

    def refresh(self) -> None:
        """Draw what the toolkit is now."""
        with self._lock:
            if self._closed:
                return
            self._seen = self._fingerprint()
            self.tools = self._all_tools()
            if self._mode.value is not self.toolkit.mode:
                self._setting = True
                try:
                    self._mode.value = PermissionMode(self.toolkit.mode)
                finally:
                    self._setting = False
            self._tools.refresh()
            page = self._pages.get(self._tabs.value)
            if page is not None and page is not self._tools:
                page.refresh()
            self._name_tabs()

    def _all_tools(self) -> list[tuple[ToolGroup, ToolBase]]:
        """Every tool with its group, without a warning and a wait for each server that is down."""
        toolkit = self.toolkit
        basic = toolkit.tool_groups[0]
        own = [toolkit.get_tool_sync(name) for name in ("reset_tools", "Skill")]
        found = [(basic, tool) for tool in own if tool is not None]
        for group in toolkit.tool_groups:
            found += [(group, tool) for tool in group.tools]
            for client in group.mcps:
                if client.status().state in {"connected", "stateless"}:
                    with contextlib.suppress(Exception):
                        found += [(group, tool) for tool in hooks.drive(client.list_tools())]
        return found

    def _name_tabs(self) -> None:
        toolkit = self.toolkit
        counts = [
            len(self.tools), len(toolkit.mcps), None, len(toolkit.rules), len(self.pending()), len(toolkit.log),
        ]  # fmt: skip
        titles = [
            title if number is None else f"{title} {number:,}"
            for title, number in zip(self._titles, counts, strict=True)
        ]
        if titles != list(self._tabs._options_labels):  # noqa: SLF001 - what is on the page now
            chosen = self._tabs.value
            self._naming = True
            try:
                # One message: new options alone would turn to the first part.
                with self._tabs.hold_sync():
                    self._tabs.options = [(title, i) for i, title in enumerate(titles)]
                    self._tabs.value = chosen
            finally:
                self._naming = False

    def _fingerprint(self) -> object:
        toolkit = self.toolkit
        groups = tuple(
            (group.name, group.description, toolkit.is_active(group), tuple(map(id, group.tools)))
            for group in toolkit.tool_groups
        )
        servers = []
        for client in toolkit.mcps:
            status = client.status()
            flights = tuple((each.number, str(each.progress), int(each.seconds)) for each in status.calls)
            servers.append((client.name, status.state, status.pid, status.tools, status.tail, flights))
        log = list(toolkit.log)
        return (
            groups, tuple(servers), tuple(map(str, toolkit.rules)), str(toolkit.mode),
            (len(log), log[-1].number if log else 0), tuple(call.id for call in self.pending()),
        )  # fmt: skip

    def look(self) -> bool:
        """Draw anew where something has changed; False once the panel is closed."""
        if self._closed:
            return False
        if self._fingerprint() != self._seen:
            self.refresh()
        return True

    def follow(self) -> None:
        """Look for changes from now on, in a thread that ends with the panel."""
        threading.Thread(target=_follow, args=(weakref.ref(self),), name="nbtoolkit-panel", daemon=True).start()

    def _mode_chosen(self, mode: PermissionMode) -> None:
        if not self._setting:
            self.toolkit.mode = mode
            self.refresh()

    def _turn(self) -> None:
        with self._lock:
            number = self._tabs.value
            if number is None or self._closed or self._naming:
                return
            page = self._pages.get(number)
            known = len(self.kit.widgets)
            if page is None:
                page = self._pages[number] = PAGES[number](self)
            try:
                page.refresh()
                self._fault.value = ""
            except Exception as fault:
                logger.warning("a part of the panel could not be drawn", exc_info=True)
                self._fault.value = f'<div class="nbtk-page nbtk-bad" role="alert">{visible(str(fault))}</div>'
            self.route(self.kit.widgets[known:])
            self._body.children = (page.view,)

    def close(self) -> None:
        """Take it away wherever it is displayed."""
        with self._lock:
            self._closed = True
            for page in self._pages.values():
                page.close()
            self.kit.close()


def _follow(panel: weakref.ref[Panel]) -> None:
    tick = threading.Event()
    while not tick.wait(LOOK_EVERY):
        held = panel()
        if held is None:
            return
        try:
            if not held.look():
                return
        except RuntimeError:
            pass  # a list that another thread changed under our eyes: the next look has it whole
        except Exception:
            # Drawn again when something changes again.
            logger.warning("the panel could not be drawn", exc_info=True)
        del held
