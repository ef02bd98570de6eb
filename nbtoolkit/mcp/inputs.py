"""What a configuration file wants to be told when its servers start: VS Code's ``${input:…}``.

The person is asked by the same form as for a server's own questions; what they say is kept in no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.redact import keep_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Input", "ask_inputs", "declared_inputs"]

MESSAGE = "Its configuration wants to be told this before it starts. What you fill in is kept in no file."


@dataclass(frozen=True)
class Input:
    """One thing to be told; ``options`` are all that it may be, where there are any."""

    name: str
    description: str = ""
    secret: bool = False
    default: str | None = None
    options: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """As a field of a form."""
        about: dict[str, Any] = {"type": "string"}
        if self.description:
            about["description"] = self.description
        if self.secret:
            about["writeOnly"] = True
        if self.default is not None:
            about["default"] = self.default
        if self.options:
            about["enum"] = list(self.options)
        return about


def declared_inputs(data: Any) -> dict[str, Input]:
    """What a file says of its inputs, by their names; what isn't one is passed over."""
    found: dict[str, Input] = {}
    listed = data.get("inputs") if isinstance(data, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            continue
        description, default, options = entry.get("description"), entry.get("default"), entry.get("options")
        found[entry["id"]] = Input(
            entry["id"],
            description if isinstance(description, str) else "",
            entry.get("password") is True,
            default if isinstance(default, str) else None,
            tuple(map(_value, options)) if isinstance(options, list) else (),
        )
    return found


def _value(option: Any) -> str:
    # VS Code takes texts, and labels with a value behind.
    return str(option.get("value") if isinstance(option, dict) else option)


async def ask_inputs(server: str, inputs: Sequence[Input]) -> dict[str, str] | None:
    """Ask the person; None where nobody is there, or they don't want to."""
    from nbtoolkit.mcp.interaction import Elicitation, ask_host

    schema = {
        "type": "object",
        "properties": {each.name: each.schema() for each in inputs},
        "required": [each.name for each in inputs],
    }
    answer = await ask_host(Elicitation(server, MESSAGE, schema))
    if answer.action != "accept" or any(each.name not in answer.content for each in inputs):
        return None
    told = {each.name: str(answer.content[each.name]) for each in inputs}
    for each in inputs:
        if each.secret and told[each.name]:
            keep_secret(told[each.name])
    return told
