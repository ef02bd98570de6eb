"""How a server is reached: a command to start, or a URL.

The models hold what a person wrote and nothing live. Values that may be secrets (environment, headers, a URL's query)
are kept out of every repr.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HttpMCPConfig", "MCPConfig", "StdioMCPConfig", "hidden_args", "hidden_url"]

# Options whose value is likely a secret.
_SECRET = re.compile(r"(?i)(token|secret|passw|api-?_?key|credential|auth)")


class StdioMCPConfig(BaseModel):
    """A server that is started as a process and spoken to over its stdin and stdout.

    The process gets a handful of environment variables (PATH, HOME, USER …) and those of ``env``, nothing else.
    """

    model_config = ConfigDict(extra="forbid")

    type: Literal["stdio_mcp"] = "stdio_mcp"
    command: str = Field(min_length=1)
    args: list[str] | None = None
    env: dict[str, str] | None = None
    cwd: str | Path | None = None
    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"

    @property
    def transport(self) -> Literal["stdio", "http", "sse"]:
        """How messages travel."""
        return "stdio"

    def describe(self) -> str:
        """The command as a person reads it; values of the environment are hidden."""
        import shlex

        env = "".join(f"{name}=… " for name in self.env or ())
        return env + shlex.join(hidden_args([self.command, *(self.args or ())]))

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in _hiding(super().__repr_args__(), "env"):
            yield name, hidden_args(value) if name == "args" and value else value


class HttpMCPConfig(BaseModel):
    """A server behind a URL: streamable HTTP, or SSE where the path ends in ``/sse`` or ``/messages/``.

    ``timeout`` is in seconds and bounds connecting and each request that isn't a tool's run.
    """

    model_config = ConfigDict(extra="forbid")

    type: Literal["http_mcp"] = "http_mcp"
    url: str = Field(pattern=r"^[hH][tT][tT][pP][sS]?://[^\s]+$")
    headers: dict[str, str] | None = None
    timeout: float | None = Field(default=30.0, gt=0)

    @property
    def transport(self) -> Literal["stdio", "http", "sse"]:
        """How messages travel."""
        path = urlsplit(self.url).path
        return "sse" if path.endswith(("/sse", "/messages/")) else "http"

    def describe(self) -> str:
        """The URL as a person reads it, without what may be a secret in it."""
        names = ", ".join(f"{name}: …" for name in self.headers or ())
        return hidden_url(self.url) + (f" ({names})" if names else "")

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in _hiding(super().__repr_args__(), "headers"):
            yield name, hidden_url(value) if name == "url" else value


MCPConfig = Annotated[StdioMCPConfig | HttpMCPConfig, Field(discriminator="type")]


def _hiding(args: Iterable[tuple[str | None, Any]], secret: str) -> Iterable[tuple[str | None, Any]]:
    for name, value in args:
        yield name, dict.fromkeys(value, "…") if name == secret and value else value


def hidden_args(words: list[str]) -> list[str]:
    """The words of a command, without the values of options that sound like secrets."""
    shown: list[str] = []
    hide = False
    for word in words:
        option, given, _ = word.partition("=")
        if hide and not word.startswith("-"):
            shown.append("…")
        elif given and _SECRET.search(option):
            shown.append(f"{option}=…")
        else:
            shown.append(hidden_url(word) if "://" in word else word)
        hide = not given and word.startswith("-") and _SECRET.search(word) is not None
    return shown


def hidden_url(url: str) -> str:
    """A URL without its user, and with the values of its query hidden."""
    parts = urlsplit(url)
    query = "&".join(f"{pair.partition('=')[0]}=…" for pair in parts.query.split("&") if pair)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))
