"""The schema viewer: one tool for people, as JSON Schema, and as each provider gets it with what it would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.schemas import PROVIDERS, sent
from nbtoolkit.notebook.tables import does
from nbtoolkit.notebook.text import count, one_line, to_json, visible
from nbtoolkit.notebook.widgets.looking import LOOKING
from nbtoolkit.notebook.widgets.markup import arguments_table, code, coloured_json, heading, soft
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET
from nbtoolkit.redact import redact, redacted

if TYPE_CHECKING:
    from nbtoolkit.tool.base import ToolBase

__all__ = ["SchemaView", "tool_heading"]

PEOPLE, JSON = "For people", "JSON Schema"
DESCRIPTION_LIMIT = 4_000
# More of a server's schema than this is no longer looked through; highlighting it would cost a second.
JSON_LIMIT = 60_000


def tool_heading(tool: ToolBase, group: str | None, permission: str | None = None) -> str:
    """What it is, where it comes from, what becomes of a call, and all that it says of itself."""
    first, _, rest = redact((tool.description or "").strip()).partition("\n")
    about = [visible(one_line(tool.origin, 120)), *([f"group {visible(group)}"] if group else []), does(tool)]
    if permission:
        about.append(permission)
    head = heading(code(tool.name)) + f'<div class="nbtk-meta">{" · ".join(about)}</div>'
    head += f'<div class="nbtk-said">{visible(one_line(first, 600))}</div>' if first else ""
    if rest.strip():
        text = visible(rest.strip()[:DESCRIPTION_LIMIT])
        head += f"<details><summary>More about it</summary><pre>{text}</pre></details>"
    return head


class SchemaView:
    """The viewer of one tool; without a frame it stands below what has told the tool's name already."""

    def __init__(
        self, tool: ToolBase, group: str | None = None, permission: str | None = None, *, framed: bool = True
    ) -> None:
        self._kit = kit = Kit()
        self._tool = tool
        views = [PEOPLE, JSON, *PROVIDERS.values()]
        self._views = kit.field(
            w.RadioButtons, f"View of {tool.name}'s schema", unseen=True, options=views, value=PEOPLE,
            orientation="horizontal",
        )  # fmt: skip
        self._views.add_class("nbtk-tabs")
        self._views.observe(lambda _: self._turn(), "value")
        self._body = kit.html("", "nbtk-page")
        head = []
        if framed:
            head = [
                kit.html(SHEET + LOOKING, "nbtk-style"),
                kit.html(tool_heading(tool, group, permission), "nbtk-schema-head"),
            ]
        classes = "nbtk nbtk-card nbtk-schema nbtk-twin" if framed else "nbtk-schema"
        #: The root widget.
        self.view = kit.box(classes, [*head, self._views, self._body])
        self._turn()

    @property
    def widgets(self) -> list[Any]:
        """All widgets, for scheduling.route."""
        return list(self._kit.widgets)

    def _turn(self) -> None:
        chosen = self._views.value
        if chosen == PEOPLE:
            self._body.value = arguments_table(self._tool.input_schema)
        elif chosen == JSON:
            self._body.value = json_markup(self._tool.input_schema)
        else:
            form = next(form for form, label in PROVIDERS.items() if label == chosen)
            self._body.value = provider_markup(self._tool, form)

    def close(self) -> None:
        """Take it away."""
        self._kit.close()


def provider_markup(tool: ToolBase, form: str) -> str:
    """What one provider gets, below what it refuses."""
    try:
        given = sent(tool, form)
    except Exception as fault:  # noqa: BLE001 - a server's schema may be anything; the viewer says so
        return f'<div class="nbtk-bad">{visible(f"This schema can not be sent: {fault}")}</div>'
    notes = "".join(f"<li>{visible(one_line(note, 400))}</li>" for note in given.notes)
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f'<div class="nbtk-verdict-line">{visible(given.verdict)}</div>{listed}{json_markup(given.schema)}'


def json_markup(value: object) -> str:
    """JSON in colours; unseen characters in it are made visible."""
    text = to_json(redacted(value), indent=2)
    if len(text) > JSON_LIMIT:
        more = soft(f"… {count(len(text) - JSON_LIMIT, 'more character')}")
        return f'<pre class="nbtk-code">{visible(text[:JSON_LIMIT])}</pre>{more}'
    return f'<pre class="nbtk-code">{coloured_json(text)}</pre>'
