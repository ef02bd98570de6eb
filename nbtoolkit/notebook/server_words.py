"""What a line of ``%toolkit mcp add`` says of a server: where it is, what it is told, and which of its tools count.

Words are read as a shell would: ``~`` and ``${NAME}`` are put in, also in the middle of a word, from the notebook's
variables and then from the environment; in the URL and in values of --header and --env ``$NAME`` is too. What stands in
single quotes stays as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from nbtoolkit.notebook.command import CommandError, Word, nearest
from nbtoolkit.notebook.names import is_public

if TYPE_CHECKING:
    from nbtoolkit.mcp import HttpMCPConfig, MCPClient, StdioMCPConfig
    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.session import Session

__all__ = ["server_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BRACED = re.compile(r"\$\{([^{}]+)\}")
_NAMED = re.compile(r"\$\{([^{}]+)\}|\$([^\W\d]\w*)")


def server_of(session: Session, command: Command) -> MCPClient:
    """The client that the line describes; ValueError or CommandError says what is wrong with it."""
    from nbtoolkit.mcp import MCPClient

    name, target, *words = command.words
    timeout = command.option("--timeout", session.evaluate)
    return MCPClient(
        name=_expanded(session, name, _BRACED),
        is_stateful=not command.has("--stateless"),
        mcp_config=_config(session, command, target, words),
        enable_tools=_names(command, "--enable"),
        disable_tools=_names(command, "--disable"),
        execution_timeout=None if timeout is None else _seconds(timeout),
        trust_annotations=command.has("--trust"),
    )


def _config(session: Session, command: Command, word: Word, words: list[Word]) -> StdioMCPConfig | HttpMCPConfig:
    from nbtoolkit.mcp import HttpMCPConfig, StdioMCPConfig
    from nbtoolkit.mcp.imports import first_fault

    target = _expanded(session, word, _NAMED if _SCHEME.match(word.text) else _BRACED)
    headers, env = _pairs(session, command, "--header"), _pairs(session, command, "--env")
    scheme = _SCHEME.match(target)
    if scheme is None:
        if headers:
            raise CommandError("--header is for a URL; a command takes --env KEY=VALUE")
        args = [_expanded(session, each, _BRACED) for each in words]
        return StdioMCPConfig(command=target, args=args, env=env or None)
    if scheme[1].casefold() not in {"http", "https"}:
        raise CommandError(
            f"an MCP server is reached at a URL with http:// or https://, not {scheme[0]}, or started by a command; "
            f"expected {command.spec.usage}"
        )
    if words:
        raise CommandError(f"{words[0].text!r} is too much behind a URL; expected {command.spec.usage}")
    if env:
        raise CommandError("--env is for a server that is started by a command; a URL takes --header KEY=VALUE")
    try:
        return HttpMCPConfig(url=target, headers=headers or None)
    except ValueError as error:
        raise CommandError(f"{word.text!r} doesn't do as a URL: {first_fault(error)}") from None


def _expanded(session: Session, word: Word, references: re.Pattern[str]) -> str:
    """The word with what it refers to put in."""
    if word.expression() is not None:
        return word.expand(session.evaluate)
    if word.raw.startswith("'") or "='" in word.raw or "\\" in word.raw:
        return word.text
    Word(_BRACED.sub("", word.text), word.raw).check_braces(session.evaluate)
    text = references.sub(lambda found: _value(session, found), word.text)
    return str(Path(text).expanduser()) if word.raw == "~" or word.raw.startswith("~/") else text


def _value(session: Session, found: re.Match[str]) -> str:
    braced = found[1]
    if braced is None:
        return str(session.evaluate(found[2]))
    name, given, default = braced.partition(":-")
    variables = {**session.shell.user_ns, **(session.local or {})}
    if name in variables and is_public(name, variables[name]) and not callable(variables[name]):
        value: str | None = str(variables[name])
    else:
        value = os.environ.get(name.removeprefix("env:"))
    # As a shell has it: the default also stands in for what is set to nothing.
    if given and not value:
        return default
    if value is None:
        known = nearest(name.removeprefix("env:"), [*variables, *os.environ]) or ";"
        raise CommandError(
            f"{found[0]}: neither the notebook nor the environment has {name.removeprefix('env:')!r}{known} "
            f"${{{name}:-…}} gives a default, single quotes keep it as it is"
        )
    return value


def _pairs(session: Session, command: Command, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in command.options.get(option, ()):
        pair = word.key_and_value()
        if pair is None:
            # The word itself stays out of the message: it may be a secret.
            raise CommandError(f"{option} expects KEY=VALUE, as in {option} Authorization=$token")
        key, value = pair
        # A quote that stands before the key is the value's too.
        quoted = word.raw.startswith("'")
        pairs[key] = value.text if quoted else _expanded(session, value, _NAMED)
    return pairs


def _names(command: Command, option: str) -> list[str] | None:
    words = command.options.get(option)
    if words is None:
        return None
    return [name for word in words for name in word.text.split(",") if name]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise CommandError(f"--timeout expects seconds, more than 0, but got {text!r}")
    return seconds
