"""The subcommands of ``%toolkit mcp``: attach servers, look at them, let them go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import render
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.attaching import attach, attached, stored
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.server_words import server_of
from nbtoolkit.notebook.session import Session, mistakes, one_of
from nbtoolkit.notebook.text import (
    bounded,
    box,
    code,
    columns,
    count,
    one_line,
    pre,
    safe,
    settled,
    table,
    tidy,
    visible_text,
)
from nbtoolkit.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.mcp.imports import PlannedServer
    from nbtoolkit.notebook.command import Command

__all__: list[str] = []

# The tail of a log, as long as a cell's output is read.
LOG_LIMIT = 20_000
# A command line, as long as a table's cell is read.
LINE_LIMIT = 200


@action("mcp add")
def add_server(session: Session, command: Command) -> None:
    """Attach a server and show its tools; it takes the place of one of that name."""
    with mistakes():
        client = server_of(session, command)
        attach(session.toolkit, client)
    _show_tools(session, client)


@action("mcp import")
def import_servers(session: Session, command: Command) -> None:
    """Show what configuration files hold; start of it what is asked for."""
    from nbtoolkit.mcp.imports import find_configs, read_config

    words = [word.expand(session.evaluate) for word in command.words]
    if command.has("--start") and not words:
        raise CommandError("say which file's servers to start, as in %toolkit mcp import .mcp.json --start")
    files = words[:1] or find_configs()
    if not files:
        session.say("There is no .mcp.json here, nor another file of MCP servers that is known.")
        return
    with mistakes():
        planned = [server for file in files for server in read_config(file)]
    if words[1:]:
        chosen = {one_of(name, (server.name for server in planned), f"server in {words[0]}") for name in words[1:]}
        planned = [server for server in planned if server.name in chosen]
    session.show(_planned_table(planned))
    if command.has("--start"):
        _start(session, planned)
    else:
        session.say("Nothing was started. %toolkit mcp import PATH --start starts the servers of a file.")


def _start(session: Session, planned: Sequence[PlannedServer]) -> None:
    faults: list[str] = []
    told: dict[str, str] = {}
    for each in planned:
        server = _told(each, told) if each.inputs and not each.disabled else each
        if server.client is None:
            if server.disabled:
                session.say(f"{server.name} isn't started: {server.problem}.")
            else:
                faults.append(f"The MCP server {server.name!r} can't be started: {server.problem}")
            continue
        try:
            with mistakes():
                attach(session.toolkit, server.client)
        except CommandError as fault:
            # One server that can't start costs its own tools, not the others'.
            faults.append("\n".join(filter(None, [str(fault), fault.more])))
        else:
            _show_tools(session, server.client)
    if len(faults) == 1:
        said, _, more = faults[0].partition("\n")
        raise CommandError(said, more)
    if faults:
        raise CommandError(f"{len(faults)} of {count(len(planned), 'server')} aren't started:", "\n".join(faults))


def _told(server: PlannedServer, told: dict[str, str]) -> PlannedServer:
    """The server with what its file wants to be told; ``told`` is what the person has said for others already."""
    from nbtoolkit.mcp.imports import read_config
    from nbtoolkit.mcp.inputs import ask_inputs

    missing = [each for each in server.inputs if each.name not in told]
    if missing:
        answer = hooks.drive(ask_inputs(server.name, missing))
        if answer is None:
            names = ", ".join(repr(each.name) for each in missing)
            problem = (
                f"it wants to be told {names}, and nobody said it; where nobody is there to be asked, put it into an "
                "environment variable, and ${env:NAME} into the file"
            )
            return replace(server, problem=problem)
        told.update(answer)
    with mistakes():
        return next(each for each in read_config(server.file, inputs=told) if each.name == server.name)


def _planned_table(planned: Sequence[PlannedServer]) -> Mapping[str, str]:
    rows = [
        (
            server.name,
            settled(one_line(server.preview, LINE_LIMIT)),
            settled(one_line("; ".join(filter(None, [server.problem, *server.notes])), LINE_LIMIT)),
        )
        for server in planned
    ]
    head = ["Server", "Would start or reach", "Note"]
    heading = count(len(rows), "server")
    markup = table(head, [[code(name), safe(preview), safe(note)] for name, preview, note in rows])
    return {
        "text/plain": f"{heading}\n{columns(head, [list(row) for row in rows], '  ')}",
        "text/html": box(f'<p style="margin:0"><b>{heading}</b></p>{markup}'),
    }


def _server(session: Session, command: Command, *, start: bool = True) -> MCPClient:
    """The server that the line names, by itself or by a variable."""
    return session.server(command.words[0].expand(session.evaluate), start=start)


def _show_tools(session: Session, client: MCPClient) -> None:
    tools: list[Any] = [(group, tool) for group, tool in session.tools() if tool.mcp_name == client.name]
    session.show(render.tools_table(tools))


@action("mcp list")
def list_servers(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """The servers."""
    with mistakes():
        waiting = stored(session.toolkit).values()
    session.show(render.servers_table(list(attached(session.toolkit).values()), waiting))


@action("mcp tools")
def list_server_tools(session: Session, command: Command) -> None:
    """One server's tools."""
    _show_tools(session, _server(session, command))


@action("mcp log")
def show_server_log(session: Session, command: Command) -> None:
    """What one server wrote to stderr; a server may write anything."""
    client = _server(session, command, start=False)
    text = settled(bounded(redact(tidy("\n".join(client.read_log()))), LOG_LIMIT)).strip("\n")
    if not text:
        session.say(f"The server {client.name} wrote nothing to stderr.")
        return
    session.show({"text/plain": visible_text(text), "text/html": box(pre(text))})


@action("mcp restart")
def restart_server(session: Session, command: Command) -> None:
    """Close a server and connect again."""
    client = _server(session, command)
    with mistakes():
        hooks.drive(client.close())
        hooks.drive(client.connect(client.execution_timeout))
    _show_tools(session, client)


@action("mcp remove")
def remove_server(session: Session, command: Command) -> None:
    """Close a server and take its tools out."""
    client = _server(session, command, start=False)
    alone = [tool.name for group in session.toolkit.tool_groups for tool in group.tools if tool.mcp_name == client.name]
    with mistakes():
        hooks.drive(client.close())
        here = any(each is client for each in session.toolkit.mcps)
        session.toolkit.remove_tool_sync(client.name if here else alone)
    session.say(f"Closed and removed the server {client.name}.")
