"""One tool's schema as each provider gets it, with what that provider would refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import count
from nbtoolkit.tool.schemas import SchemaCache, form_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.limits import SchemaNote

__all__ = ["PROVIDERS", "Sent", "sent"]

PROVIDERS = {
    "openai": "OpenAI",
    "openai_responses": "OpenAI Responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "mcp": "MCP",
}
# More places of one change are counted.
MOST_PLACES = 8
# These have a mode that holds a model to the schema, and takes fewer schemas.
_STRICT = frozenset({"openai", "openai_responses", "anthropic"})


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes to a provider, and the lines that say what its limits changed or forbid."""

    schema: dict[str, Any]
    verdict: str
    notes: tuple[str, ...]


def sent(tool: ToolBase, form: str) -> Sent:
    """The tool's schema in one form; a ValueError names the forms that there are."""
    cache = SchemaCache()
    plain = form_of(form)
    schema = cache.schemas([tool], plain)[0]
    changed = cache.notes([tool], plain)
    verdict = f"{count(len(changed), 'change')} for this provider." if changed else "Nothing refused."
    notes = _lines(changed)
    if form in _STRICT:
        strict = form_of(form, strict=True)
        fitted = cache.fitted(tool, strict, strict=True)
        refused = [note for note in cache.notes([tool], strict, strict=True) if note not in changed]
        if not fitted.strict:
            verdict += " Strict mode can't take it."
            notes += [f"Strict mode: {line}" for line in _lines(refused)]
        elif refused:
            verdict += f" Strict mode takes it with {count(len(refused), 'change')}."
            notes += [f"Strict mode: {line}" for line in _lines(refused)]
        else:
            verdict += " Strict mode takes it too."
    return Sent(schema, verdict, tuple(notes))


def _lines(notes: Iterable[SchemaNote]) -> list[str]:
    """One line for each change, with all the places that it was made in."""
    places: dict[str, list[str]] = {}
    for note in notes:
        places.setdefault(note.text, []).append(note.where)
    return [f"{_few(where)}: {text}" if any(where) else text for text, where in places.items()]


def _few(places: list[str]) -> str:
    more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
    return ", ".join(places[:MOST_PLACES]) + more
