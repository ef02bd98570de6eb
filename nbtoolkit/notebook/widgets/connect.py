"""How to connect to a served notebook: lines to copy, the token among them, in a card that goes and leaves nothing."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import count, visible
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ConnectCard", "ways"]

# One click marks all of it.
_COPY = "<style>.nbtk pre.nbtk-copy{user-select:all;cursor:copy;margin:0 0 8px}</style>"


def ways(name: str, url: str, headers: Mapping[str, str], stdio: Sequence[str]) -> list[tuple[str, str]]:
    """What to tell which client: a title, and the text to copy."""
    header = " ".join(f"--header {shlex.quote(f'{key}: {value}')}" for key, value in headers.items())
    entry = {"mcpServers": {name: {"type": "http", "url": url, "headers": dict(headers)}}}
    started = f"claude mcp add {name} -- {shlex.join(stdio)}"
    return [
        ("Claude Code", f"claude mcp add --transport http {name} {url} {header}"),
        ("Any client, as JSON", json.dumps(entry, indent=2)),
        ("Clients that start their servers (no token; the address may change)", started),
    ]


class ConnectCard:
    """The lines to copy, and a button that takes them away."""

    def __init__(self, tools: int, lines: Sequence[tuple[str, str]], done: Callable[[], object]) -> None:
        self._kit = kit = Kit()
        title = f'<div class="nbtk-title">{count(tools, "tool")} for MCP clients</div>'
        meta = '<div class="nbtk-meta">A click marks the whole line, to be copied to the client.</div>'
        head = kit.box("nbtk-head", [kit.html(SHEET + _COPY + title + meta)], row=True)
        parts = "".join(
            f"<details{'' if number else ' open'}><summary>{visible(name)}</summary>"
            f'<pre class="nbtk-code nbtk-copy" tabindex="0">{visible(text)}</pre></details>'
            for number, (name, text) in enumerate(lines)
        )
        said = "The token is shown here only and is not saved. This goes when a client connects; %toolkit serve shows it again."
        body = kit.box("nbtk-body", [kit.html(f'{parts}<p class="nbtk-note">{said}</p>')])
        button = kit.button("Done", "with connecting", "5em", done)
        foot = kit.box("nbtk-foot", [kit.box("nbtk-row", [button], row=True)])
        self.view = kit.box("nbtk nbtk-card", [head, body, foot])

    @property
    def widgets(self) -> list[Any]:
        """Everything in it."""
        return self._kit.widgets

    def close(self) -> None:
        """Take it away."""
        self._kit.close()
