"""A server's question by lines to type, where no card can be shown: one prompt for each field, masked for secrets.

An empty line takes the default or leaves the field out; what doesn't fit is asked for again, with the reason.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.mcp.interaction import ElicitationAnswer, with_defaults
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.fields import type_words
from nbtoolkit.notebook.text import bounded, one_line, to_json, visible_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.notebook.server_questions import ServerQuestion

__all__ = ["type_answer"]

# As much of a server's words as is read above a prompt.
MESSAGE_LIMIT = 2_000
NAME_LIMIT = 60
ROUNDS = 5


async def type_answer(question: ServerQuestion, limit: float) -> ElicitationAnswer:
    """Ask; TimeoutError and NobodyAnswers as ``ask_by_input`` raises them."""
    server = visible_text(one_line(question.server, NAME_LIMIT))
    said = visible_text(bounded(question.message, MESSAGE_LIMIT))
    link = f"\n  {visible_text(bounded(question.url, MESSAGE_LIMIT))}" if question.url is not None else ""
    match question.kind:
        case "sign_in":
            prompt = f"The MCP server {server} wants to know who asks. {said}{link}\nAddress (empty declines): "
            address = (await scheduling.ask_by_input(prompt, timeout=limit)).strip()
            return ElicitationAnswer("accept", {"address": address}) if address else ElicitationAnswer("decline")
        case "ask_model":
            shown = visible_text(bounded(to_json(question.values, indent=2), MESSAGE_LIMIT))
            return await _choice(f"The MCP server {server} wants your model to answer:\n{shown}\nLet it?", limit)
        case "open_link":
            return await _choice(f"The MCP server {server} wants you to open a link: “{said}”{link}\nOpened it?", limit)
    answer = await _choice(f"The MCP server {server} asks: “{said}”\nAnswer?", limit)
    if answer.action != "accept":
        return answer
    return ElicitationAnswer("accept", question.typed_in(await _fields(question, limit)))


async def _choice(prompt: str, limit: float) -> ElicitationAnswer:
    said = (await scheduling.ask_by_input(f"{prompt} [y/N, c to cancel] ", timeout=limit)).strip().casefold()
    if said in {"y", "yes"}:
        return ElicitationAnswer("accept")
    return ElicitationAnswer("cancel" if said in {"c", "cancel"} else "decline")


async def _fields(question: ServerQuestion, limit: float) -> dict[str, Any]:
    from nbtoolkit.schema.given import JSONSchemaValidator

    schema = question.schema
    properties: Mapping[str, Any] = schema["properties"]
    values: dict[str, Any] = {}
    wrong: dict[str, str] = dict.fromkeys(properties, "")
    for _ in range(ROUNDS):
        for name, fault in wrong.items():
            about = properties[name] if isinstance(properties[name], dict) else {}
            line = await scheduling.ask_by_input(
                _prompt(name, about, schema, fault), timeout=limit, password=name in question.secrets
            )
            values.pop(name, None)
            if line.strip():
                values[name] = _value(line, about)
        try:
            checked: dict[str, Any] = (
                JSONSchemaValidator("form", dict(schema)).validate(with_defaults(schema, values)).json
            )
        except ToolArgumentsError as refused:
            lines = {name: [line for line in refused.faults if line.startswith(name)] for name in properties}
            found = {name: "; ".join(mine) for name, mine in lines.items() if mine}
            wrong = question.without_secrets(found or dict.fromkeys(properties, "; ".join(refused.faults)))
        else:
            return checked
    # The server says itself what doesn't fit.
    return values


def _prompt(name: str, about: Mapping[str, Any], schema: Mapping[str, Any], fault: str) -> str:
    title = about.get("title")
    label = f"{name} ({title})" if isinstance(title, str) and title.strip() and title != name else name
    words = [type_words(about, schema)]
    required = schema.get("required")
    if "default" in about:
        words.append(f"default {to_json(about['default'])}")
    elif not (isinstance(required, list) and name in required):
        words.append("may be left empty")
    wrong = f"{visible_text(one_line(fault, 300))}\n" if fault else ""
    return f"{wrong}{visible_text(one_line(label, NAME_LIMIT * 2))}, {visible_text('; '.join(words))}: "


def _value(line: str, about: Mapping[str, Any]) -> Any:
    """What a line stands for: text where the schema wants text, else JSON, else the text."""
    kind = about.get("type")
    if kind == "string":
        return line
    text = line.strip()
    if kind == "boolean" and text.casefold() in {"y", "yes", "n", "no"}:
        return text.casefold() in {"y", "yes"}
    if kind == "array" and not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        return line
