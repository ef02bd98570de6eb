"""The panel's tools: one filtered list of any length, and the tool or group that was picked from it.

The list is one native list box, whatever the number of tools. What is shown of a tool is made when it is picked.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.badges import Badge, badge
from nbtoolkit.notebook.tables import LINE_LIMIT, does
from nbtoolkit.notebook.text import count, one_line, visible, visible_text
from nbtoolkit.notebook.widgets.markup import arguments_table, code, heading, soft
from nbtoolkit.notebook.widgets.schema_view import SchemaView, tool_heading
from nbtoolkit.notebook.widgets.try_it import TryIt

if TYPE_CHECKING:
    from nbtoolkit.notebook.widgets.panel import Panel
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup

__all__ = ["ToolsPage"]

# A list of more rows is filtered, not scrolled; each key sends them all to the page.
MAX_ROWS = 200
# A longer name pushes its word out of the column.
NAME_WIDTH = 26
ARRANGEMENTS = ("by group", "by source")


@dataclass(frozen=True, slots=True)
class Row:
    """One tool in the list; ``found`` is what the filter looks through."""

    group: ToolGroup
    tool: ToolBase
    badge: Badge
    is_on: bool
    found: str


class ToolsPage:
    """Filter, list and detail."""

    label = "Tools"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._kit = kit = panel.kit
        self._rows: list[Row] = []
        # With the names that stood above it in its group, so that it comes back to its place.
        self._off: dict[str, tuple[ToolBase, str, frozenset[str]]] = {}
        self._below: Any = None
        self._listing = False
        self._shown: tuple[object, ...] = ()
        self._filter = kit.field(
            w.Text, "Filter tools by name, group, source, permission or description", unseen=True,
            continuous_update=True,
        )  # fmt: skip
        self._filter.observe(lambda _: self._list(), "value")
        self._filter.on_msg(lambda _, message, __: self._submitted(message))
        self._arrange = kit.field(
            w.Dropdown,
            "Arrange the tools",
            unseen=True,
            options=ARRANGEMENTS,
            layout=kit.layout(width="8.5em", flex="none"),
        )
        self._arrange.observe(lambda _: self._list(), "value")
        self._pick = kit.field(
            w.Select, "Tools", unseen=True, options=[], layout=kit.layout(width="100%", height="auto")
        )
        self._pick.observe(lambda _: self._picked(), "value")
        self._count = kit.html("", "nbtk-count")
        self._detail = kit.html("")
        self._takes = kit.html("", layout=kit.own_layout())
        self._try = kit.button("Try it …", "the tool", "6em", self._try_it, "nbtk-primary")
        self._switch = kit.button("Turn off", "the tool", "6em", self._turn)
        self._schema = kit.button("Full schema", "of the tool", "7.4em", self._full_schema, "nbtk-quiet")
        self._why = kit.button("Why", "this permission", "3.6em", self._say_why, "nbtk-quiet")
        self._acts = kit.box("nbtk-row", [self._try, self._switch, self._schema, self._why], row=True)
        self._note = kit.html("")
        self._drawer = kit.box("nbtk-below", [], layout=kit.own_layout(display="none"))
        top = kit.box("nbtk-find", [self._filter, self._arrange], row=True)
        left = kit.box("nbtk-list", [top, self._pick, self._count])
        # The acts above what may be long.
        right = kit.box("nbtk-detail", [self._detail, self._acts, self._note, self._drawer, self._takes])
        #: The root widget.
        self.view = kit.box("nbtk-split", [left, right], row=True)

    # ---------------------------------------------------------------------------------------------------------- list
    @property
    def title(self) -> str:
        """What the part is called."""
        return f"Tools {len(self._rows):,}"

    def refresh(self) -> None:
        """Read the toolkit anew."""
        toolkit = self._panel.toolkit
        held = {tool.name for _, tool in self._panel.tools}
        # A cell that was run again may have brought one back.
        self._off = {name: each for name, each in self._off.items() if name not in held}
        groups = {group.name: group for group in toolkit.tool_groups}
        listed = [(group, tool, True) for group, tool in self._panel.tools]
        for tool, name, above in self._off.values():
            if name in groups:
                mine = [n for n, (group, _, _) in enumerate(listed) if group.name == name]
                upper = [n for n in mine if listed[n][1].name in above]
                at = upper[-1] + 1 if upper else mine[0] if mine else len(listed)
                listed.insert(at, (groups[name], tool, False))
        self._rows = []
        for group, tool, is_on in listed:
            said = badge(toolkit, group, tool) if is_on else Badge("off", "turned off here")
            # Looked through and never shown, as far as a list shows it.
            about = (tool.description or "").strip().partition("\n")[0][:LINE_LIMIT]
            words = (tool.name, group.name, tool.origin, said.word, does(tool), about)
            self._rows.append(Row(group, tool, said, is_on, "\n".join(words).casefold()))
        self._filter.placeholder = f"Filter {count(len(self._rows), 'tool')}"
        self._list()

    def _list(self) -> None:
        words = self._filter.value.casefold().split()
        hits = [row for row in self._rows if all(word in row.found for word in words)]
        by_source = self._arrange.value == ARRANGEMENTS[1]
        groups: dict[str, list[Row]] = defaultdict(list)
        if not by_source and not words:
            for group in self._panel.toolkit.tool_groups:
                groups[group.name] = []
        for row in hits:
            groups[row.tool.origin if by_source else row.group.name].append(row)
        options: list[tuple[str, tuple[str, str]]] = []
        room = MAX_ROWS
        wide = max((len(row.tool.name) for row in hits[:MAX_ROWS]), default=0)
        for name, rows in groups.items():
            state = "" if by_source else ", on" if self._is_active(name) else ", off"
            options.append(
                (
                    f"{visible_text(one_line(name, 40))}{state} ({len(rows):,})",
                    ("source" if by_source else "group", name),
                )
            )
            options += [(_label(row, min(wide, NAME_WIDTH)), ("tool", row.tool.name)) for row in rows[: max(room, 0)]]
            room -= len(rows)
        more = len(hits) - MAX_ROWS
        said = f"{more:,} more: type to narrow the list" if more > 0 else "" if hits else "No tool is like that."
        _set(self._count, soft(said))
        before = self._pick.value
        if [label for label, _ in options] != list(self._pick._options_labels):  # noqa: SLF001 - what is on the page now
            self._listing = True
            try:
                # One message: new options alone would pick the first.
                with self._pick.hold_sync():
                    self._pick.options = options
                    values = [value for _, value in options]
                    first = next((value for value in values if value[0] == "tool"), values[0] if values else None)
                    self._pick.value = before if before in values else first
            finally:
                self._listing = False
        self._picked()

    def _is_active(self, name: str) -> bool:
        toolkit = self._panel.toolkit
        return any(group.name == name and toolkit.is_active(group) for group in toolkit.tool_groups)

    def _submitted(self, message: object) -> None:
        """Enter in the filter goes from hit to hit: the notebook takes the arrow keys of a list."""
        if not isinstance(message, dict) or message.get("event") != "submit":
            return
        hits = [value for _, value in self._pick.options if value[0] == "tool"]
        if hits:
            at = hits.index(self._pick.value) + 1 if self._pick.value in hits else 0
            self._pick.value = hits[at % len(hits)]

    # -------------------------------------------------------------------------------------------------------- detail
    def _row(self) -> Row | None:
        picked = self._pick.value
        if picked is None or picked[0] != "tool":
            return None
        return next((row for row in self._rows if row.tool.name == picked[1]), None)

    def _picked(self) -> None:
        if self._listing:
            return
        row, picked = self._row(), self._pick.value
        group = None
        if row is None and picked is not None and picked[0] == "group":
            group = next((each for each in self._panel.toolkit.tool_groups if each.name == picked[1]), None)
        shown = (picked, row and (id(row.tool), row.badge), group and self._group_state(group))
        if shown == self._shown:
            return
        if shown[:1] != self._shown[:1]:
            self._close_below()
        # Why it asks is said of what it was.
        _set(self._note, "")
        self._shown = shown
        for button in (self._try, self._schema, self._why):
            button.layout = self._kit.layout(width=button.layout.width, **({} if row else {"display": "none"}))
        if row is not None:
            about = row.tool.name
            for button, label in ((self._try, "Try it …"), (self._schema, "Full schema"), (self._why, _why(row.badge))):
                button.description = f"{label}\n{about}"
            self._why.layout = self._kit.layout(width=f"{len(_why(row.badge)) * 0.62 + 1:.1f}em")
            self._try.disabled = not row.is_on or row.badge.word == "off"
            self._switch.description = f"{'Turn off' if row.is_on else 'Turn on'}\n{about}"
            self._switch.layout = self._kit.layout(width="6em")
            word = f"<b>{row.badge.word}</b> {visible(row.badge.why)}"
            self._detail.value = tool_heading(row.tool, row.group.name, word)
            _set(self._takes, arguments_table(row.tool.input_schema))
        elif group is not None:
            _set(self._takes, "")
            active = self._panel.toolkit.is_active(group)
            self._switch.description = f"{'Turn off' if active else 'Turn on'}\ngroup {group.name}"
            shown_switch = {} if group.name != "basic" else {"display": "none"}
            self._switch.layout = self._kit.layout(width="6em", **shown_switch)
            self._detail.value = _group(group, active=active)
        else:
            _set(self._takes, "")
            self._switch.layout = self._kit.layout(width="6em", display="none")
            self._detail.value = _source(picked[1], self._rows) if picked else soft("Nothing is picked.")

    def _group_state(self, group: ToolGroup) -> tuple[object, ...]:
        return (self._panel.toolkit.is_active(group), len(group.tools), len(group.mcps), group.description)

    def _turn(self) -> None:
        row, toolkit = self._row(), self._panel.toolkit
        try:
            if row is None:
                name = self._pick.value[1]
                (toolkit.deactivate if self._is_active(name) else toolkit.activate)(name)
            elif row.is_on:
                mine = [each.tool.name for each in self._rows if each.group.name == row.group.name]
                self._panel.switch_off(row.tool)
                above = frozenset(mine[: mine.index(row.tool.name)])
                self._off[row.tool.name] = (row.tool, row.group.name, above)
            else:
                _, group_name, above = self._off.pop(row.tool.name)
                self._panel.switch_on(row.tool, group_name, above)
        except Exception as fault:  # noqa: BLE001 - said to the person who pressed
            _set(self._note, f'<div class="nbtk-bad" role="alert">{visible(str(fault))}</div>')
        self._panel.refresh()

    # ------------------------------------------------------------------------------------------------------- drawers
    def _put_below(self, made: Any) -> None:
        self._close_below()
        self._below = made
        self._panel.route(made.widgets)
        self._drawer.children = (made.view,)
        self._drawer.layout.display = None
        # What is opened says what the tool takes, in its own way.
        self._takes.layout.display = "none"

    def _close_below(self) -> None:
        below, self._below = self._below, None
        if below is not None:
            self._drawer.layout.display = "none"
            self._drawer.children = ()
            self._takes.layout.display = None
            below.close()

    def _try_it(self) -> None:
        row = self._row()
        if row is None:
            return
        if isinstance(self._below, TryIt):
            self._close_below()
            return
        self._put_below(TryIt(row.tool, self._panel))

    def _full_schema(self) -> None:
        row = self._row()
        if row is None:
            return
        if isinstance(self._below, SchemaView):
            self._close_below()
            return
        self._put_below(SchemaView(row.tool, framed=False))

    def _say_why(self) -> None:
        row = self._row()
        if row is None:
            return
        said = f"A call of {code(row.tool.name)} is {'asked about' if row.badge.word == 'asks' else row.badge.word} {visible(row.badge.why)}."
        example = code(f"%toolkit why {row.tool.name} key=value")
        _set(
            self._note,
            f'<div class="nbtk-note" role="status">{said} {example} says it of one call, step by step.</div>',
        )

    def close(self) -> None:
        """Let go of what was opened."""
        with contextlib.suppress(Exception):
            self._close_below()


def _label(row: Row, width: int) -> str:
    name = one_line(row.tool.name, 60)
    return f"  {visible_text(name):<{width}}  {row.badge.word}"


def _why(said: Badge) -> str:
    return {"asks": "Why it asks", "denied": "Why it's denied", "allowed": "Why it's allowed"}.get(
        said.word, "Why it's off"
    )


def _group(group: ToolGroup, *, active: bool) -> str:
    state = "on" if active else "off"
    always = ", always" if group.name == "basic" else ""
    held = [count(len(group.tools), "tool"), *([count(len(group.mcps), "server")] if group.mcps else [])]
    said = f"<div>{visible(group.description)}</div>" if group.description else ""
    rules = f'<div class="nbtk-note">{visible(group.instructions)}</div>' if group.instructions else ""
    about = f'<div class="nbtk-meta">Group, {state}{always} · {" · ".join(held)}</div>'
    return heading(code(group.name)) + about + said + rules


def _source(name: str, rows: list[Row]) -> str:
    held = sum(row.tool.origin == name for row in rows)
    return heading(visible(name)) + f'<div class="nbtk-meta">{count(held, "tool")}</div>'


def _set(widget: Any, markup: str) -> None:
    if widget.value != markup:
        widget.value = markup
