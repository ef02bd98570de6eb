"""Requests, log entries and a reader of markup, for the tests of what people see."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from ipywidgets.widgets import widget as registry

from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.widgets import parts
from nbtoolkit.permission.approval import ApprovalRequest, Origin
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.subject import Step, Subject, SubjectVerdict
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.log import LogEntry
from nbtoolkit.tool.result import ToolChunk

HOSTILE = "</details></pre><script>alert(1)</script><img src=x onerror=alert(1)>\u202egnp\x1b[31m\x00"


class Sample(ToolBase):
    """A tool that only has a face."""

    def __init__(
        self, name: str = "summarise", schema: dict[str, Any] | None = None, origin: str = "Your function"
    ) -> None:
        super().__init__()
        self.name = name
        self.description = "Sums up one species.\n\nMore about it."
        self.input_schema = schema or {"type": "object", "properties": {}}
        self._origin = origin

    @property
    def origin(self) -> str:
        return self._origin

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(PermissionBehavior.ASK, "asks")

    async def call(self, **kwargs: Any) -> ToolChunk:
        return ToolChunk.of("done")


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "species": {"type": "string", "description": "Which one."},
        "rows": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5},
        "loud": {"type": "boolean", "default": False},
    },
    "required": ["species"],
}


def models() -> set[str]:
    """The widgets that are open now, without the layouts and styles that all cards share."""
    shared = {each.model_id for each in parts._common.values() if each.comm is not None}
    return set(registry._instances) - shared


def rule(text: str) -> PermissionRule:
    return PermissionRule.parse(text, PermissionBehavior.ALLOW)


def verdict(text: str, behavior: PermissionBehavior, reason: str, safety: str | None = None) -> SubjectVerdict:
    step = Step.SAFETY if safety else Step.MODE
    return SubjectVerdict(Subject(kind="command", text=text, safety=safety), behavior, reason, step)


def request(
    tool: ToolBase | None = None, tool_input: dict[str, Any] | None = None, *, safety: bool = False, **fields: Any
) -> ApprovalRequest:
    tool = tool or Sample(schema=SCHEMA)
    tool_input = {"species": "Gentoo", "rows": 5, "loud": False} if tool_input is None else tool_input
    decision = PermissionDecision(
        PermissionBehavior.ASK,
        "it reads a secret" if safety else "No rule allows summarise.",
        "safety" if safety else "default",
        bypass_immune=safety,
    )
    fields.setdefault("suggested_rules", () if safety else (rule("summarise(species=Gentoo)"),))
    fields.setdefault("decision", decision)
    return ApprovalRequest("call-1", tool, tool_input, **fields)


def entry(
    tool: str = "summarise",
    tool_input: dict[str, Any] | None = None,
    origin: str = "Your function",
    state: ToolResultState = ToolResultState.SUCCESS,
    **fields: Any,
) -> LogEntry:
    return LogEntry(
        number=fields.pop("number", 1),
        id="c0ffee",
        tool=tool,
        origin=origin,
        tool_input={} if tool_input is None else tool_input,
        asked_by=Origin("cell"),
        started_at="2026-01-01T00:00:00Z",
        state=state,
        **fields,
    )


class Markup(HTMLParser):
    """What a browser makes of markup: its elements with their attributes, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"img", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}
