"""What people see of hostile names, arguments, results and annotations: no element, attribute or byte but our own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import mcp_types
import pandas as pd
import pytest
from hypothesis import strategies as st
from ipywidgets.widgets import widget as registry

from nbtoolkit.mcp.client import MCPClient
from nbtoolkit.mcp.config import StdioMCPConfig
from nbtoolkit.mcp.content import to_chunk
from nbtoolkit.mcp.status import Flight, ServerStatus
from nbtoolkit.mcp.tool import MCPTool
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultState, URLSource
from nbtoolkit.notebook import render
from nbtoolkit.notebook.progress import Pace, Window
from nbtoolkit.notebook.server_questions import ServerQuestion
from nbtoolkit.notebook.title import title
from nbtoolkit.notebook.widgets.card import ApprovalCard
from nbtoolkit.notebook.widgets.live import LiveView
from nbtoolkit.notebook.widgets.panel import Panel
from nbtoolkit.notebook.widgets.server_card import ServerCard
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.schema.sound import sound
from nbtoolkit.skill import Skill
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.toolkit import Toolkit
from tests.fuzz.support import (
    _UNSEEN,
    any_texts,
    arguments,
    check_bundle,
    check_markup,
    check_plain,
    fuzz,
    json_values,
    scalars,
    tool_schemas,
    without_surrogates,
)
from tests.notebook.asking import Sample, entry, request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.notebook.test_magics import Desk

blocks = st.one_of(
    st.builds(lambda text: TextBlock(text=text), any_texts),
    st.builds(
        lambda data, kind, name: DataBlock(source=Base64Source(data=data, media_type=kind), name=name),
        st.one_of(st.just("iVBORw0KGgo="), any_texts),
        st.one_of(st.sampled_from(["image/png", "image/svg+xml", "text/html"]), any_texts),
        st.one_of(st.none(), any_texts),
    ),
    st.builds(
        lambda url, kind, name: DataBlock(source=URLSource(url=url, media_type=kind), name=name),
        any_texts, any_texts, st.one_of(st.none(), any_texts),
    ),
)  # fmt: skip
frames = st.dictionaries(any_texts, st.lists(scalars, min_size=2, max_size=2), min_size=1, max_size=3)


def html_of(widgets: Any) -> Iterator[str]:
    for each in widgets:
        if isinstance(each, w.HTML):
            yield each.value


def check_widgets(root: Any, extra: Any = ()) -> None:
    """Every piece of markup below a widget, and every label, tooltip and option, which front ends show as text."""
    todo = [root, *extra]
    while todo:
        widget = todo.pop()
        todo += getattr(widget, "children", ())
        if isinstance(widget, w.HTML) and "<style>" not in widget.value:
            check_markup(widget.value)
        elif isinstance(widget, w.Button):
            check_plain(widget.description)
            check_plain(widget.tooltip or "")
        elif isinstance(widget, w.Select | w.Dropdown | w.RadioButtons):
            for label in widget._options_labels:
                check_plain(label)


@pytest.fixture(autouse=True)
def no_widgets_are_left() -> Iterator[None]:
    before = set(registry._instances)
    yield
    for model in [each for key, each in registry._instances.items() if key not in before]:
        model.close()


# -------------------------------------------------------------------------------------------------------------- records
@fuzz(
    short=30, name=any_texts, given=arguments, parts=st.lists(blocks, max_size=3), words=st.lists(any_texts, min_size=4, max_size=4),
    state=st.sampled_from(list(ToolResultState)[:4]), decision=st.sampled_from(["allow", "deny", None]),
)  # fmt: skip
def test_a_record_holds_nothing_but_our_own_markup(
    name: str, given: dict[str, Any], parts: list[Any], words: list[str], state: ToolResultState, decision: str | None
) -> None:
    origin, reason, note, variable = words
    approval = {"allow": Approval.allow(), "deny": Approval.deny(note), None: None}[decision]
    call = entry(
        name, given, origin=origin, state=state, reason=reason, behavior=PermissionBehavior.ASK, approval=approval,
        mended=(note,), note=note, variables=dict.fromkeys(given, variable),
    )  # fmt: skip
    check_bundle(render.record(call, ToolResponse(content=parts, state=state)))


@fuzz(short=8, frame=frames, index=st.lists(any_texts, min_size=2, max_size=2))
def test_a_records_table_holds_nothing_but_our_own_markup(frame: dict[str, list[Any]], index: list[str]) -> None:
    value = pd.DataFrame(frame, index=index)
    response = ToolResponse().append_chunk(ToolChunk.of("seen").with_value(value))
    check_bundle(render.record(entry(), response))
    response = ToolResponse().append_chunk(ToolChunk.of("seen").with_value(value[next(iter(frame))]))
    check_bundle(render.record(entry(), response))


# ---------------------------------------------------------------------------------------------------------------- cards
@fuzz(short=12, given=arguments, schema=tool_schemas, words=st.lists(any_texts, min_size=4, max_size=4))
def test_an_approval_card_holds_nothing_but_our_own_markup(
    given: dict[str, Any], schema: dict[str, Any], words: list[str]
) -> None:
    definition = mcp_types.Tool(
        name=words[0],
        description=without_surrogates(words[1]),
        input_schema=without_surrogates(schema),
        annotations=mcp_types.ToolAnnotations(title=without_surrogates(words[2]), destructive_hint=True),
    )
    client: Any = Server()
    tool = MCPTool(client, definition, "mcp__crm__sample")
    rule = PermissionRule(tool_name="mcp__crm__sample", rule_content=words[3], behavior=PermissionBehavior.ALLOW)
    asked = request(tool, without_surrogates(given), suggested_rules=(rule,))
    card = ApprovalCard(asked, lambda _: True)
    check_widgets(card.view, card.widgets)
    card.settle("allowed once")
    check_widgets(card.view)
    card.close()


@fuzz(
    short=15,
    schema=tool_schemas,
    words=st.lists(any_texts, min_size=3, max_size=3),
    kind=st.sampled_from(["question", "sign_in"]),
)
def test_a_servers_question_holds_nothing_but_our_own_markup(
    schema: dict[str, Any], words: list[str], kind: Any
) -> None:
    question = ServerQuestion(words[0], kind, words[1], schema, url=words[2])
    card = question.make_card(lambda _: True, lambda _: None)
    check_widgets(card.view, card.widgets)
    check_plain(card.plain)
    card.close()


class Server:
    """As much of a client as its card and its tools look at."""

    name = "crm"
    execution_timeout = None
    trust_annotations = False
    stream_progress = False
    mcp_config = StdioMCPConfig(command="crm-server")

    def __init__(self, status: Any = None) -> None:
        self._status = status

    def status(self) -> Any:
        return self._status


@fuzz(short=8, words=st.lists(any_texts, min_size=8, max_size=8), number=st.one_of(st.none(), st.integers(0, 10**18)))
def test_a_servers_card_holds_nothing_but_our_own_markup(words: list[str], number: int | None) -> None:
    flight = Flight(words[0], 1, 2.0, {"progress": 1.0, "total": 2.0, "message": words[1]}, lambda: None)
    status = ServerStatus(
        "crm", "died", "stdio", words[2], era=words[3], title=words[4], version=words[5], instructions=words[6],
        pid=number, tools=number, tail=(words[7],), calls=(flight,),
    )  # fmt: skip
    client: Any = Server(status)
    made: Any = ServerCard(
        client, start=lambda _: None, remove=lambda _: asyncio.sleep(0), changed=lambda: None, route=lambda _: None
    )
    check_widgets(made.view)
    made.close()


@fuzz(short=12, name=any_texts, given=arguments, lines=st.lists(any_texts, max_size=3), snapshot=st.dictionaries(st.sampled_from(["progress", "total", "message"]), json_values))  # fmt: skip
def test_a_live_view_holds_nothing_but_our_own_markup(
    name: str, given: dict[str, Any], lines: list[str], snapshot: dict[str, Any]
) -> None:
    view = LiveView(title(name, given), "allowed once", lambda: None)
    window, pace = Window(), Pace()
    for line in lines:
        window.write(line)
    pace.take(snapshot, 1.0)
    pace.take(snapshot, 9.0)
    view.update(window, pace, 10.0, 10.0)
    check_widgets(view.view, view.widgets)
    check_plain(view.plain)
    view.close()


# ------------------------------------------------------------------------------------------------- the panel and magics
names = st.text("abcXYZ_-09", min_size=1, max_size=12)


def hostile_toolkit(schema: dict[str, Any], words: list[str]) -> Toolkit:
    words = [without_surrogates(word) for word in words]
    definition = mcp_types.Tool(
        name=words[0],
        description=words[1],
        input_schema=without_surrogates(schema),
        annotations=mcp_types.ToolAnnotations(title=words[2], read_only_hint=True),
    )
    client = MCPClient(name="crm", is_stateful=True, mcp_config=StdioMCPConfig(command="crm-server"))
    group = ToolGroup("plots", words[3] or "x", instructions=words[4])
    skill = Skill(name=words[5] or "x", description=words[6], dir="/nowhere", markdown=words[7], updated_at=0.0)
    sample = Sample("sample", {**sound(schema), "type": "object"}, origin=words[7])
    sample.description = words[6]
    tools = [MCPTool(client, definition, "mcp__crm__sample"), sample]
    toolkit = Toolkit(tools, skills_or_loaders=[skill], tool_groups=[group])
    for word in words[:3]:
        with contextlib.suppress(ValueError):
            toolkit.add_rule(PermissionRule(tool_name="sample", rule_content=word, behavior=PermissionBehavior.DENY))
    response = asyncio.run(toolkit.call_tool(ToolCallBlock(name=words[0], input=words[1])).complete())
    assert response.state in (ToolResultState.ERROR, ToolResultState.DENIED)
    return toolkit


@fuzz(short=3, schema=tool_schemas, words=st.lists(any_texts, min_size=8, max_size=8))
def test_the_panel_holds_nothing_but_our_own_markup(schema: dict[str, Any], words: list[str]) -> None:
    panel = Panel(hostile_toolkit(schema, words))
    try:
        tabs = next(each for each in walk(panel.view) if isinstance(each, w.RadioButtons))
        for value in [value for _, value in tabs.options]:
            tabs.value = value
            check_widgets(panel.view)
            for select in [each for each in walk(panel.view) if isinstance(each, w.Select)]:
                for _, option in select.options:
                    select.value = option
                    check_widgets(panel.view)
    finally:
        panel.close()


def walk(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from walk(child)


LISTS = [
    "",
    "list",
    "log",
    "log 1",
    "rules",
    "schema sample",
    "why sample a=1",
    "mcp list",
    "skill list",
    "mode",
    "pending",
]


def test_what_the_magic_lists_holds_nothing_but_our_own_markup(desk: Desk) -> None:
    @fuzz(short=3, schema=tool_schemas, words=st.lists(any_texts, min_size=8, max_size=8))
    def lists(schema: dict[str, Any], words: list[str]) -> None:
        toolkit = hostile_toolkit(schema, words)
        desk.toolkit.__dict__.update(toolkit.__dict__)
        for line in LISTS:
            ran = desk.run(f"%toolkit {line}")
            assert ran.error is None or type(ran.error).__name__ == "CommandError", (line, ran.error)
            assert not (ran.stdout and _UNSEEN.search(ran.stdout)), (line, ran.stdout)
            for bundle in ran.shown:
                if "application/vnd.jupyter.widget-view+json" not in bundle:
                    check_bundle(bundle)
            check_plain(ran.stdout)

    lists()


# ---------------------------------------------------------------------------------------------------- results of servers
contents = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, any_texts),
    st.builds(lambda data, kind: {"type": "image", "data": data, "mimeType": kind}, any_texts, any_texts),
    st.builds(lambda data, kind: {"type": "audio", "data": data, "mimeType": kind}, any_texts, any_texts),
    st.builds(lambda uri, name: {"type": "resource_link", "uri": uri, "name": name}, any_texts, any_texts),
    st.builds(
        lambda uri, text: {"type": "resource", "resource": {"uri": uri, "text": text, "mimeType": text}},
        any_texts, any_texts,
    ),
    st.builds(lambda uri, blob: {"type": "resource", "resource": {"uri": uri, "blob": blob}}, any_texts, any_texts),
)  # fmt: skip


@fuzz(short=30, content=st.lists(contents, max_size=3), structured=st.one_of(st.none(), st.dictionaries(any_texts, json_values, max_size=3)), wrong=st.booleans())  # fmt: skip
def test_a_servers_result_is_a_record_of_nothing_but_our_own_markup(
    content: list[Any], structured: Any, wrong: bool
) -> None:
    raw = without_surrogates({"content": content, "structuredContent": structured, "isError": wrong})
    try:
        result = mcp_types.CallToolResult.model_validate(raw)
    except ValueError:
        # The SDK refuses it before it comes here.
        return
    response = ToolResponse().append_chunk(to_chunk(result))
    check_bundle(render.record(entry(), response))
    response.model_dump_json()
