"""The panel's other parts: servers, skills, rules, what waits, the log. Each draws itself from the toolkit as it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit import hooks
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.logs import Filter, decided_by
from nbtoolkit.notebook.text import count, one_line, settled, visible, visible_text
from nbtoolkit.notebook.title import title
from nbtoolkit.notebook.widgets.markup import bad, code, soft, table
from nbtoolkit.notebook.widgets.server_card import ServerCard, duration
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.redact import redact, redacted

if TYPE_CHECKING:
    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.notebook.widgets.panel import Panel
    from nbtoolkit.tool.log import LogEntry

__all__ = ["LogPage", "RulesPage", "ServersPage", "SkillsPage", "WaitingPage", "ago"]

LINE_LIMIT = 200
# Newest first; who looks for an older one filters.
MAX_CALLS = 100
MAX_RULES = 200


def ago(started_at: str, now: datetime | None = None) -> str:
    """``2 min ago``; the time of day where it isn't today's."""
    try:
        then = datetime.fromisoformat(started_at)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.astimezone()
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    return "now" if seconds < 5 else f"{duration(seconds)} ago"


def _set(widget: Any, markup: str) -> None:
    if widget.value != markup:
        widget.value = markup


class ServersPage:
    """A card for each MCP server."""

    label = "Servers"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._cards: dict[int, ServerCard] = {}
        self._nothing = panel.kit.html("", "nbtk-page")
        self._list = panel.kit.box("", [])
        #: The root widget.
        self.view = panel.kit.box("", [self._nothing, self._list])

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"Servers {len(self._panel.toolkit.mcps)}"

    def refresh(self) -> None:
        """Draw each server as it is now."""
        clients = self._panel.toolkit.mcps
        wanted = {id(client): client for client in clients}
        if set(wanted) != set(self._cards):
            for key in [each for each in self._cards if each not in wanted]:
                self._cards.pop(key).close()
            for key, client in wanted.items():
                if key not in self._cards:
                    card = self._cards[key] = ServerCard(
                        client, start=self._panel.start, remove=self._remove, changed=self._panel.refresh,
                        route=self._panel.route,
                    )  # fmt: skip
                    self._panel.route(card.widgets)
            self._list.children = tuple(card.view for card in self._cards.values())
        else:
            for card in self._cards.values():
                card.refresh()
        hint = f"No MCP servers. {code('%toolkit mcp add NAME COMMAND …')} starts one."
        _set(self._nothing, "" if clients else soft(hint))

    async def _remove(self, client: MCPClient) -> None:
        await client.close()
        await self._panel.toolkit.remove_tool(client.name)

    def close(self) -> None:
        """Take the cards away."""
        for card in self._cards.values():
            card.close()
        self._cards.clear()


class SkillsPage:
    """The skills of all groups."""

    label = "Skills"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        #: The root widget.
        self.view = panel.kit.html("", "nbtk-page")

    @property
    def title(self) -> str:
        """What the part is called."""
        return "Skills"

    def refresh(self) -> None:
        """Read the folders of skills anew."""
        from nbtoolkit.skill import load_skills

        toolkit = self._panel.toolkit
        rows = []
        for group in toolkit.tool_groups:
            if not group.skills_or_loaders:
                continue
            state = "" if toolkit.is_active(group) else ", off"
            for skill in hooks.drive(load_skills(group.skills_or_loaders)).values():
                described = visible(settled(one_line(redact(skill.description), LINE_LIMIT)))
                rows.append([code(skill.name), soft(visible(group.name) + state), described])
        nothing = soft(f"No skills. {code('%toolkit skill add DIR')} adds those of a folder.")
        _set(self.view, table(["Skill", "Group", "What it is for"], rows) if rows else nothing)

    def close(self) -> None:
        """Nothing was opened."""


class RulesPage:
    """The rules with where they come from and their last hit; one can be added and taken out."""

    label = "Rules"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        kit = panel.kit
        self._does = kit.field(
            w.Dropdown, "What the new rule does", unseen=True, options=["allow", "ask", "deny"],
            layout=kit.layout(width="6em", flex="none"),
        )  # fmt: skip
        self._text = kit.field(
            w.Text, "New rule; Enter adds it", unseen=True, placeholder="Bash(git status:*)   load_table(path=data/**)",
            layout=kit.layout(flex="1 1 12em", width="auto"), continuous_update=True,
        )  # fmt: skip
        self._text.on_msg(lambda _, message, __: self._submitted(message))
        add = kit.button("Add", "the new rule", "4em", self._add)
        self._forget = kit.field(
            w.Dropdown, "Rule to forget", unseen=True, options=[], layout=kit.layout(flex="1 1 12em", width="auto")
        )
        forget = kit.button("Forget", "the chosen rule", "5.4em", self._forget_it)
        self._note = kit.html("")
        self._table = kit.html("")
        self._out = kit.box("nbtk-row", [self._forget, forget], row=True, layout=kit.own_layout(display="none"))
        row = kit.box("nbtk-row", [self._does, self._text, add], row=True)
        #: The root widget.
        self.view = kit.box("nbtk-page nbtk-rules", [self._table, row, self._out, self._note])

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"Rules {len(self._panel.toolkit.rules)}"

    def refresh(self) -> None:
        """Draw the rules as they are."""
        rules = self._panel.toolkit.rules
        hits: dict[str, LogEntry] = {}
        for entry in self._panel.toolkit.log:
            if entry.reason and entry.reason.startswith("Rule: "):
                hits[entry.reason.removeprefix("Rule: ")] = entry
        rows = []
        for rule in rules[:MAX_RULES]:
            does = rule.behavior.value
            shown = f"<b>{does}</b>" if does == "deny" else does
            hit = hits.get(str(rule))
            last = soft("never") if hit is None else f"{ago(hit.started_at)}, call {hit.number}"
            rows.append(
                [code(one_line(redact(str(rule)), LINE_LIMIT)), shown, soft(visible(settled(rule.source))), last]
            )
        nothing = soft("No rules: each call is decided by its tool and the mode.")
        _set(self._table, table(["Rule", "Does", "From", "Last hit"], rows, "nbtk-firstwide") if rows else nothing)
        texts = list(dict.fromkeys(str(rule) for rule in rules))
        if texts != [text for _, text in self._forget.options]:
            self._forget.options = [(visible_text(redact(text)), text) for text in texts]
            self._forget.index = 0 if texts else None
        self._out.layout.display = None if texts else "none"

    def _submitted(self, message: object) -> None:
        if isinstance(message, dict) and message.get("event") == "submit":
            self._add()

    def _add(self) -> None:
        text = self._text.value.strip()
        if not text:
            return
        try:
            self._panel.toolkit.add_rule(text, PermissionBehavior(self._does.value))
        except ValueError as fault:
            _set(self._note, f'<div role="alert">{bad(str(fault))}</div>')
            return
        self._text.value = ""
        _set(self._note, f'<div role="status" class="nbtk-soft">Added {code(redact(text))}, for this kernel.</div>')
        self._panel.refresh()

    def _forget_it(self) -> None:
        text = self._forget.value
        if text is None:
            return
        try:
            self._panel.toolkit.remove_rule(text)
            _set(self._note, f'<div role="status" class="nbtk-soft">Forgot {code(redact(text))}.</div>')
        except (KeyError, ValueError, OSError) as fault:
            _set(self._note, f'<div role="alert">{bad(str(fault.args[0] if fault.args else fault))}</div>')
        self._panel.refresh()

    def close(self) -> None:
        """Nothing was opened."""


class WaitingPage:
    """The calls that wait, with their very cards: an answer here is the answer there."""

    label = "Waiting"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._nothing = panel.kit.html("", "nbtk-page")
        self._cards = panel.kit.box("nbtk-waiting", [])
        #: The root widget.
        self.view = panel.kit.box("", [self._nothing, self._cards])

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"Waiting {len(self._panel.pending())}"

    def refresh(self) -> None:
        """Show the cards of what waits now."""
        views = tuple(call.card.view for call in self._panel.pending())
        if views != tuple(self._cards.children):
            self._cards.children = views
        _set(self._nothing, "" if views else soft("No call waits for an answer."))

    def close(self) -> None:
        """The cards are their calls'."""
        self._cards.children = ()


class LogPage:
    """The calls, newest first, with what the static table leaves out: who decided, when, and how long it took."""

    label = "Log"

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        kit = panel.kit
        self._filter = kit.field(
            w.Text, "Filter calls by tool, arguments, decision or state", unseen=True, continuous_update=True,
            placeholder="Filter calls: a tool, an argument, error, denied …",
        )  # fmt: skip
        self._filter.observe(lambda _: self.refresh(), "value")
        self._table = kit.html("")
        #: The root widget.
        self.view = kit.box("nbtk-page", [self._filter, self._table])

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"Log {len(self._panel.toolkit.log):,}"

    def refresh(self) -> None:
        """Draw the calls that the filter lets through."""
        wanted = Filter.of_words(self._filter.value.split())
        hits = [entry for entry in self._panel.toolkit.log if wanted.takes(entry)]
        rows = [_call(entry) for entry in reversed(hits[-MAX_CALLS:])]
        more = len(hits) - MAX_CALLS
        head = ["#", "Call", "Decided", "By", "State", "Took", "When"]
        said = (
            f'<div class="nbtk-note">{count(more, "earlier call")}: %toolkit log, or a filter.</div>'
            if more > 0
            else ""
        )
        log, results = self._panel.toolkit.log, self._panel.toolkit.results
        for told in (log.told, results.told):
            said += f'<div class="nbtk-note">{visible(told[:1].upper() + told[1:])}.</div>' if told else ""
        if len(results):
            kept = f"{count(len(results), 'result')} kept for later cells, {_size(results.size)}: toolkit.results[N]."
            said += f'<div class="nbtk-note">{kept}</div>'
        nothing = soft("No calls yet." if not len(self._panel.toolkit.log) else "No call is like that.")
        _set(self._table, table(head, rows, "nbtk-log") + said if rows else nothing)

    def close(self) -> None:
        """Nothing was opened."""


def _size(number: int) -> str:
    """Bytes as a person reads them."""
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= of:
            return f"{number / of:.1f} {unit}"
    return count(number, "byte")


def _call(entry: LogEntry) -> list[str]:
    line = title(entry.tool, redacted(entry.tool_input), entry.variables, origin=entry.origin)
    state = "ok" if entry.state is ToolResultState.SUCCESS else entry.state.value
    # A call's seconds hold those in which it waited for an answer.
    ran = max(entry.seconds - entry.waited, 0)
    took = duration(ran) if ran >= 10 else f"{ran:.1f} s"
    waited = soft(f" + {duration(entry.waited)} asking") if entry.waited >= 1 else ""
    return [
        str(entry.number),
        f"<b>{code(line.tool)}</b>{line.html(code)}",
        soft(visible(settled(one_line(redact(entry.words), LINE_LIMIT)))),
        soft(visible(decided_by(entry)) if entry.approval is not None else ""),
        bad(state) if entry.state is ToolResultState.ERROR else visible(state),
        soft(took) + waited,
        soft(ago(entry.started_at)),
    ]
