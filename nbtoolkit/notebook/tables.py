"""Lists and schemas as static displays: fixed text/plain, and text/html that stands with its styles stripped.

What varies from run to run (times, durations, sizes, ids) isn't here; it is in the widgets and in ``to_dataframe()``.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from nbtoolkit.mcp.config import hidden_args
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.fields import Field, fields, others, type_words
from nbtoolkit.notebook.text import (
    BAD,
    SOFT,
    box,
    code,
    columns,
    count,
    fold,
    one_line,
    pre,
    safe,
    settled,
    soft,
    table,
    to_json,
    visible_text,
)
from nbtoolkit.notebook.title import title
from nbtoolkit.redact import Redactor, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.notebook.schemas import Sent
    from nbtoolkit.permission.explain import Explanation
    from nbtoolkit.permission.rule import PermissionRule
    from nbtoolkit.permission.store import StoredServer
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.log import LogEntry

__all__ = [
    "Bundle",
    "explanation",
    "how",
    "log_table",
    "message",
    "rules_table",
    "schema_view",
    "servers_table",
    "tools_table",
]

Bundle = dict[str, str]

# A description's first line, as long as a table's cell is read.
LINE_LIMIT = 120
# With the mark of what was cut, as wide as a column of text becomes.
LOG_COLUMN = 58
# A list of a thousand tools is searched, not read.
MAX_ROWS = 1_000
# What somebody reads of a log at once; the rest is found by a filter.
MAX_CALLS = 200


def message(text: str) -> Bundle:
    """One line of ours, that may hold foreign words."""
    text = redact(text)
    return {"text/plain": visible_text(text), "text/html": box(f'<p style="margin:0">{safe(text)}</p>')}


def _list(
    heading: str,
    head: list[str],
    rows: list[tuple[list[str], list[str]]],
    nothing: str,
    *,
    left: int = 0,
    most: int = MAX_ROWS,
) -> Bundle:
    """A heading and a table; each row comes as text and as markup, and ``left`` others are counted below."""
    if not rows:
        return message(nothing)
    left += max(0, len(rows) - most)
    rows = rows[:most]
    more = f"{left:,} more" if left > 0 else ""
    plain = [heading, columns(head, [text for text, _ in rows], "  "), *([f"  {more}"] if more else [])]
    markup = f'<p style="margin:0"><b>{safe(heading)}</b></p>' + table(head, [cells for _, cells in rows]) + soft(more)
    return {"text/plain": "\n".join(plain), "text/html": box(markup)}


# ------------------------------------------------------------------------------------------------------------ tools


def does(tool: ToolBase) -> str:
    """Whether a tool changes things, by its own word; a server's is a claim until it is trusted."""
    if not tool.is_read_only:
        return "may change things"
    return "claims only to read" if tool.is_mcp and not getattr(tool, "trust_annotations", False) else "only reads"


def summary(tool: ToolBase, hide: Callable[[str], str] = redact) -> str:
    """The first line of a tool's description."""
    text = (tool.description or "").strip().split("\n", 1)[0]
    return settled(one_line(hide(text), LINE_LIMIT))


def tools_table(
    tools: Iterable[tuple[ToolGroup, ToolBase]],
    *,
    badge: Callable[[ToolBase], str] = does,
    off: Iterable[str] = (),
    most: int | None = None,
) -> Bundle:
    """The tools by group; ``badge`` says in a word what would happen to a call, ``off`` names the groups not active.

    ``most`` of them are listed, and the rest counted.
    """
    listed = list(tools)
    off = set(off)
    several = len({group.name for group, _ in listed}) > 1
    rows, hide = [], Redactor().text
    for group, tool in listed[:most]:
        where = [group.name + (", off" if group.name in off else "")] if several else []
        text = [tool.name, *where, settled(tool.origin), badge(tool), summary(tool, hide)]
        rows.append((text, [code(text[0]), *(soft(safe(cell)) for cell in text[1:-1]), safe(text[-1])]))
    head = [
        "Tool",
        *(["Group"] if several else []),
        "From",
        "Permission" if badge is not does else "Effect",
        "What it does",
    ]
    nothing = "No tools yet. Decorate a function with @tool to make one."
    return _list(count(len(listed), "tool"), head, rows, nothing, left=len(listed) - len(rows))


def schema_view(
    tool: ToolBase,
    *,
    group: str | None = None,
    permission: str | None = None,
    sent: Sent | None = None,
    form: str | None = None,
) -> Bundle:
    """One tool's arguments as a person reads them, and the JSON below.

    ``sent`` is what goes to the provider ``form``; with it that JSON is shown at once, below what the provider refuses.
    Without, the JSON Schema is folded away.
    """
    about = [
        settled(tool.origin),
        *([f"group {group}"] if group else []),
        does(tool),
        *([permission] if permission else []),
    ]
    meta = " · ".join(about)
    hide = Redactor()
    first, _, rest = hide.text((tool.description or "").strip()).partition("\n")
    head = f'<p style="margin:0"><b>{code(tool.name)}</b> {safe(settled(one_line(first, 400)))}</p>'
    head += f'<p style="margin:0;{SOFT}">{safe(meta)}</p>'
    said = f": {visible_text(one_line(first, 400))}" if first else ""
    plain = f"{visible_text(tool.name)}{said}\n{visible_text(meta)}"
    if sent is not None:
        text = to_json(hide.value(sent.schema), indent=2)
        notes = [settled(one_line(note, 400)) for note in sent.notes]
        said = f"{form or 'JSON'}: {sent.verdict}"
        plain += "\n" + visible_text("\n".join([said, *(f"  {note}" for note in notes)]))
        head += f'<p style="margin:4px 0 0"><b>{safe(said)}</b></p>'
        if notes:
            listed = "".join(f"<li>{safe(note)}</li>" for note in notes)
            head += f'<ul style="margin:0;padding-left:24px">{listed}</ul>'
        return {"text/plain": f"{plain}\n{visible_text(text)}", "text/html": box(head + pre(text))}
    if rest.strip():
        text = settled(one_line(rest, 2_000))
        head += f'<p style="margin:4px 0 0">{safe(text)}</p>'
        plain += f"\n{visible_text(text)}"
    rows = fields(tool.input_schema)
    if rows:
        plain += "\n" + columns(["Argument", "Value", "Type and meaning"], [_field_text(row) for row in rows], "  ")
        head += table(["Argument", "Value", "Type and meaning"], [_field_html(row) for row in rows])
    free = others(tool.input_schema)
    if free is not None:
        said = f"Takes {'other names as well' if rows else 'any names'}: {type_words(free, tool.input_schema)}."
        plain += f"\n  {visible_text(said)}"
        head += f'<p style="margin:4px 0">{soft(safe(said))}</p>'
    elif not rows:
        plain += "\n  takes no arguments"
        head += f'<p style="margin:4px 0">{soft("Takes no arguments.")}</p>'
    head += fold("JSON Schema", pre(to_json(hide.value(tool.input_schema), indent=2)))
    return {"text/plain": plain, "text/html": box(head)}


def _field_text(row: Field) -> list[str]:
    meaning = f"{row.type} · {row.description}" if row.description else row.type
    return ["  " * row.depth + row.path, row.value, settled(meaning)]


def _field_html(row: Field) -> list[str]:
    parent, dot, name = row.path.rpartition(".")
    shown = (
        f'<span style="padding-left:{16 * row.depth}px">{soft(code(parent + dot)) if parent else ""}{code(name)}</span>'
    )
    value = "<b>required</b>" if row.required else soft(safe(row.value))
    meaning = f" {soft('· ' + safe(settled(row.description)))}" if row.description else ""
    return [shown, value, safe(settled(row.type)) + meaning]


# ---------------------------------------------------------------------------------------------- log, servers, rules


def log_table(log: Iterable[LogEntry], *, of: int | None = None, gone: str = "", most: int = MAX_CALLS) -> Bundle:
    """The calls of a log by their number: what was called, what was decided, how it ended.

    ``of`` so many in all; the last ``most`` are shown, and ``gone`` tells of those that the log holds no more.
    """
    rows, hide = [], Redactor()
    hits = sorted(log, key=lambda each: each.number)
    shown_calls = hits[-most:]
    for entry in shown_calls:
        line = title(entry.tool, hide.value(entry.tool_input), entry.variables, origin=entry.origin)
        words = settled(one_line(hide.text(entry.words), LINE_LIMIT))
        state = "ok" if entry.state is ToolResultState.SUCCESS else entry.state.value
        shown = f'<span style="{BAD}">{state}</span>' if entry.state is ToolResultState.ERROR else state
        call = f"<b>{code(line.tool)}</b>{line.html(code)}"
        # As text, a row that runs over its column would push the state out of its own.
        text = [str(entry.number), one_line(line.plain, LOG_COLUMN), one_line(words, LOG_COLUMN), state]
        rows.append((text, [text[0], call, soft(safe(words)), shown]))
    some = of is not None and of != len(hits)
    heading = f"{len(hits):,} of {count(of or 0, 'call')}" if some else count(len(hits), "call")
    if len(shown_calls) < len(hits):
        heading += f", here the last {len(shown_calls):,}; --last N shows others, --jsonl PATH writes all"
    if gone:
        heading += f" ({gone})"
    nothing = "No call is like that." if some else "No calls yet."
    return _list(heading, ["#", "Call", "Decided", "State"], rows, nothing, most=most)


def servers_table(clients: Iterable[MCPClient], stored: Iterable[StoredServer] = ()) -> Bundle:
    """The MCP servers: how each is reached and whether it is connected; last those that files name and nobody used yet."""
    rows = []
    for client in clients:
        reached = settled(one_line(how(client), LINE_LIMIT))
        state = _state(client)
        rows.append(([client.name, reached, state], [f"<b>{code(client.name)}</b>", code(reached), safe(state)]))
    for each in stored:
        url, args = each.table.get("url"), each.table.get("args")
        words = [str(each.table.get("command", "")), *map(str, args if isinstance(args, list) else ())]
        reached = settled(one_line(_address(url) if isinstance(url, str) else _command(words), LINE_LIMIT))
        state = f"not before {each.source} is accepted" if each.waits else f"from {each.source}, not used yet"
        rows.append(([each.name, reached, state], [f"<b>{code(each.name)}</b>", code(reached), safe(state)]))
    return _list(count(len(rows), "MCP server"), ["Server", "How", "State"], rows, "No MCP servers yet.")


def _state(client: MCPClient) -> str:
    if not client.is_stateful:
        return "stateless"
    if not client.is_connected:
        return "closed"
    status = client.status()
    # A cassette's server was never started, so it isn't down.
    if status.state != "died" or not status.starts:
        return "connected"
    return f"down, the next call {'starts it' if status.transport == 'stdio' else 'connects'} again"


def how(client: MCPClient) -> str:
    """How a server is reached: its program and arguments, or its address without what may be a secret."""
    config = client.mcp_config
    url = getattr(config, "url", None)
    if isinstance(url, str):
        return _address(url)
    return _command([str(getattr(config, "command", "")), *(getattr(config, "args", None) or ())])


def _address(url: str) -> str:
    scheme, _, rest = re.split("[?#]", url, maxsplit=1)[0].partition("://")
    where, slash, path = rest.partition("/")
    return f"{scheme}://{where.rpartition('@')[2]}{slash}{path}"


def _command(words: list[str]) -> str:
    # The folder in which a program lies differs from machine to machine; its name doesn't.
    command, *args = hidden_args(words)
    return redact(" ".join([PurePath(command).name if "/" in command else command, *args]))


def rules_table(rules: Iterable[PermissionRule]) -> Bundle:
    """Rules in the order given, with what each does and who set it."""
    rows, hide = [], Redactor()
    for rule in rules:
        text = [hide.text(str(rule)), rule.behavior.value, settled(rule.source)]
        deny = f"<b>{text[1]}</b>" if text[1] == "deny" else text[1]
        rows.append((text, [code(text[0]), deny, soft(safe(text[2]))]))
    return _list(
        count(len(rows), "rule"),
        ["Rule", "Does", "From"],
        rows,
        "No rules yet: each call is decided by its tool and the mode.",
    )


def explanation(explained: Explanation) -> Bundle:
    """How a call would be judged: the outcome, the steps in order, the parts where there are several, and what to do."""
    verdict = _OUTCOMES.get(explained.decision.behavior.value, explained.decision.behavior.value)
    hide = Redactor()
    said = settled(hide.text(explained.decision.message))
    change = settled(hide.text(explained.change))
    steps = [settled(hide.text(step)) for step in explained.steps]
    parts = explained.subjects if len(explained.subjects) > 1 else ()
    rows = [[hide.text(each.subject.text), each.behavior.value, settled(hide.text(each.reason))] for each in parts]
    plain = [visible_text(f"{explained.tool_name}: {verdict}. {said}")]
    plain += [visible_text(f"  {number}. {step}") for number, step in enumerate(steps, 1)]
    markup = f'<p style="margin:0"><b>{code(explained.tool_name)}</b> — {verdict}. {safe(said)}</p>'
    markup += (
        '<ol style="margin:4px 0;padding-left:24px">' + "".join(f"<li>{safe(step)}</li>" for step in steps) + "</ol>"
    )
    if rows:
        plain.append(columns(["Part", "Verdict", "Why"], rows, "  "))
        markup += table(["Part", "Verdict", "Why"], [[code(row[0]), row[1], soft(safe(row[2]))] for row in rows])
    if change:
        plain.append(visible_text(f"To decide otherwise: {change}"))
        markup += f'<p style="margin:0">To decide otherwise: {safe(change)}</p>'
    return {"text/plain": "\n".join(plain), "text/html": box(markup)}


_OUTCOMES = {"allow": "allowed", "ask": "asks", "deny": "denied"}
