"""The subcommands of ``%toolkit mcp``: attach servers, look at them, let them go."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import render
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.session import Session, mistakes
from nbtoolkit.notebook.text import bounded, box, pre, settled, tidy, visible_text

if TYPE_CHECKING:
    from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
    from nbtoolkit.notebook.command import Command

__all__: list[str] = []

# The tail of a log, as long as a cell's output is read.
LOG_LIMIT = 20_000


@action("mcp add")
def add_server(session: Session, command: Command) -> None:
    """Attach a server and show its tools; one of that name is closed first."""
    from nbtoolkit.mcp import MCPClient

    name, *words = (word.expand(session.evaluate) for word in command.words)
    timeout = command.option("--timeout", session.evaluate)
    with mistakes():
        client = MCPClient(
            name=name,
            is_stateful=not command.has("--stateless"),
            mcp_config=_config(session, command, words),
            enable_tools=_names(command, "--enable"),
            disable_tools=_names(command, "--disable"),
            execution_timeout=None if timeout is None else _seconds(timeout),
        )
    held = next((each for each in session.toolkit.mcps if each.name == name), None)
    if held is not None:
        hooks.drive(held.close())
    with mistakes():
        hooks.drive(client.connect())
        session.toolkit.add_tool_sync(client)
    _show_tools(session, client)


def _config(session: Session, command: Command, words: list[str]) -> StdioMCPConfig | HttpMCPConfig:
    from nbtoolkit.mcp import HttpMCPConfig, StdioMCPConfig

    target, *args = words
    headers, env = _pairs(session, command, "--header"), _pairs(session, command, "--env")
    if target.casefold().startswith(("http://", "https://")):
        if args:
            raise CommandError(f"{args[0]!r} is too much behind a URL; expected {command.spec.usage}")
        if env:
            raise CommandError("--env is for a server that is started by a command; a URL takes --header KEY=VALUE")
        return HttpMCPConfig(url=target, headers=headers or None)
    if headers:
        raise CommandError("--header is for a URL; a command takes --env KEY=VALUE")
    return StdioMCPConfig(command=target, args=args, env=env or None)


def _pairs(session: Session, command: Command, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in command.options.get(option, ()):
        pair = word.key_and_value()
        if pair is None:
            # The word itself stays out of the message: it may be a secret.
            raise CommandError(f"{option} expects KEY=VALUE, as in {option} Authorization=$token")
        pairs[pair[0]] = pair[1].expand(session.evaluate)
    return pairs


def _names(command: Command, option: str) -> list[str] | None:
    words = command.options.get(option)
    if words is None:
        return None
    return [name for word in words for name in word.text.split(",") if name]


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if (seconds := float(text)) > 0:
            return seconds
    raise CommandError(f"--timeout expects seconds, more than 0, but got {text!r}")


def _show_tools(session: Session, client: MCPClient) -> None:
    tools: list[Any] = [(group, tool) for group, tool in session.tools() if tool.mcp_name == client.name]
    session.show(render.tools_table(tools))


@action("mcp list")
def list_servers(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """The servers."""
    session.show(render.servers_table(session.toolkit.mcps))


@action("mcp tools")
def list_server_tools(session: Session, command: Command) -> None:
    """One server's tools."""
    _show_tools(session, session.server(command.words[0].text))


@action("mcp log")
def show_server_log(session: Session, command: Command) -> None:
    """What one server wrote to stderr; a server may write anything."""
    client = session.server(command.words[0].text)
    text = settled(bounded(tidy("\n".join(client.log_tail)), LOG_LIMIT)).strip("\n")
    if not text:
        session.say(f"The server {client.name} wrote nothing to stderr.")
        return
    session.show({"text/plain": visible_text(text), "text/html": box(pre(text))})


@action("mcp restart")
def restart_server(session: Session, command: Command) -> None:
    """Close a server and connect again."""
    client = session.server(command.words[0].text)
    with mistakes():
        hooks.drive(client.close())
        hooks.drive(client.connect())
    _show_tools(session, client)


@action("mcp remove")
def remove_server(session: Session, command: Command) -> None:
    """Close a server and take its tools out."""
    client = session.server(command.words[0].text)
    with mistakes():
        hooks.drive(client.close())
        session.toolkit.remove_tool_sync(client.name)
    session.say(f"Closed and removed the server {client.name}.")
