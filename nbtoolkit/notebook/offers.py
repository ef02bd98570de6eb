"""The subcommands for what MCP servers offer beside tools: resources and prompts, listed, read and shown.

All of it is the server's text: escaped and bounded; an image is shown, an address is never fetched.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import render
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.session import Session, mistakes, one_of
from nbtoolkit.notebook.text import box, code, columns, count, one_line, safe, table, visible_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.notebook.command import Command

__all__: list[str] = []

# As much of a description as a row is read for.
LINE_LIMIT = 200


@action("mcp resources")
def resources(session: Session, command: Command) -> None:
    """List a server's resources, or show one."""
    client = session.server(command.words[0].text)
    if len(command.words) > 1:
        uri = command.words[1].expand(session.evaluate)
        with _asking(client):
            blocks = hooks.drive(client.read_resource(uri))
        session.show(render.contents([(f"{client.name}: {uri}", blocks)]))
        return
    with _asking(client):
        found = hooks.drive(client.list_resources())
        patterns = hooks.drive(client.list_resource_templates())
    rows = [(str(each.uri), each.mime_type, each.title or each.name, each.description) for each in found]
    rows += [(each.uri_template, each.mime_type, each.title or each.name, each.description) for each in patterns]
    session.show(_listed(client.name, "resource", ["URI", "Kind", "Name", "It says"], rows))


@action("mcp prompts")
def prompts(session: Session, command: Command) -> None:
    """List a server's prompts, or fill one in."""
    client = session.server(command.words[0].text)
    with _asking(client):
        found = {each.name: each for each in hooks.drive(client.list_prompts())}
    if len(command.words) == 1:
        rows = [
            (
                each.name,
                " ".join(_argument(argument) for argument in each.arguments or ()),
                each.title,
                each.description,
            )
            for each in found.values()
        ]
        session.show(_listed(client.name, "prompt", ["Prompt", "Arguments", "Name", "It says"], rows))
        return
    name = one_of(command.words[1].text, found, f"prompt of {client.name}")
    arguments: dict[str, str] = {}
    for word in command.words[2:]:
        pair = word.key_and_value()
        if pair is None:
            raise CommandError(f"{word.text!r} is no argument; expected key=value")
        arguments[pair[0]] = pair[1].expand(session.evaluate)
    known = {argument.name: argument for argument in found[name].arguments or ()}
    missing = [each.name for each in known.values() if each.required and each.name not in arguments]
    if missing:
        raise CommandError(f"the prompt {name!r} needs {', '.join(f'{each}=…' for each in missing)}")
    with _asking(client):
        messages = hooks.drive(client.get_prompt(name, **arguments))
    session.show(render.contents([(f"{client.name}, {role}", [block]) for role, block in messages]))


@contextmanager
def _asking(client: MCPClient) -> Iterator[None]:
    """Make one line also of a server's refusal, which is its text, and of an answer that doesn't come."""
    from mcp import MCPError

    with mistakes():
        try:
            yield
        except MCPError as error:
            said = visible_text(one_line(error.message, LINE_LIMIT))
            raise CommandError(f"the server {client.name} refused: {said}") from None
        except TimeoutError:
            raise CommandError(f"the server {client.name} gave no answer in time") from None


def _argument(argument: Any) -> str:
    return str(argument.name) if argument.required else f"[{argument.name}]"


def _listed(server: str, what: str, head: list[str], rows: Sequence[Sequence[str | None]]) -> Mapping[str, str]:
    heading = f"{count(len(rows), what)} of {server}"
    if not rows:
        return {"text/plain": f"The server {server} offers no {what}s."}
    lines = [[one_line(cell or "", LINE_LIMIT) for cell in row] for row in rows]
    markup = table(head, [[code(line[0]), *map(safe, line[1:])] for line in lines])
    plain = columns(head, [[visible_text(cell) for cell in line] for line in lines], "  ")
    return {
        "text/plain": f"{heading}\n{plain}",
        "text/html": box(f'<p style="margin:0"><b>{safe(heading)}</b></p>{markup}'),
    }
