"""From the text that a model wrote to a JSON object, with a record of what had to be repaired.

A repair never completes what was cut off and never drops a part: then the model is told to send it again.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from nbtoolkit.exception import ToolJSONDecodeError
from nbtoolkit.schema.broken import BrokenError, holds, pieces

__all__ = ["paired", "parse_arguments", "read_json"]

_LANGUAGE = re.compile(r"[\w-]+(?=\s)")
# The repair library's time grows faster than its text does.
_MAX_REPAIRED = 64_000
# Of texts within the arguments there may be many.
_MAX_REPAIRED_WITHIN = 8_000
_MAX_SHOWN = 200
_MAX_DEPTH = 150
_NOTHING: Any = object()


def parse_arguments(tool_name: str, text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read raw model text as a JSON object; returns it and what was mended, in words.

    Empty text and ``null`` mean no arguments. Raises ToolJSONDecodeError for what isn't an object and can't be read as
    one.
    """
    try:
        value = from_json(text)
    except ValueError as error:
        return _repair(tool_name, text, error)
    except TypeError:
        # Half a surrogate pair: a text that can't be written down.
        return parse_arguments(tool_name, paired(text))
    if isinstance(value, dict):
        return value, ()
    if value is None:
        return {}, ()
    if isinstance(value, str):
        # The object was encoded twice.
        inner = read_json(value, _MAX_REPAIRED)
        if isinstance(inner, dict):
            return inner, ("the arguments were sent as a JSON string and read as the object in it",)
        if not value.strip():
            return {}, ()
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0], ("the arguments were sent as a list of one and read as the object in it",)
    raise ToolJSONDecodeError(
        f"The arguments of the tool '{tool_name}' must be a JSON object, got {_shown(text)}. "
        'Send them as {"name": value, …}.'
    )


def _repair(tool_name: str, text: str, error: ValueError) -> tuple[dict[str, Any], tuple[str, ...]]:
    if not text.strip():
        return {}, ()
    try:
        value = _read(text, _MAX_REPAIRED)
    except BrokenError as reason:
        raise ToolJSONDecodeError(
            f"The arguments of the tool '{tool_name}' are no valid JSON ({error}) and weren't repaired: {reason}. Got "
            f'{_shown(text)}. Send them again as one whole JSON object: {{"name": value, …}}.'
        ) from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    # Repair makes an empty object of almost any text; then there was nothing to save.
    if isinstance(value, dict) and (value or re.fullmatch(r"[\s`\w]*\{\s*\}[\s`]*", text)):
        return value, (f"the arguments were no valid JSON ({error}) and were repaired",)
    raise ToolJSONDecodeError(
        f"The arguments of the tool '{tool_name}' are no valid JSON ({error}), got {_shown(text)}. "
        'Send one JSON object: {"name": value, …}.'
    )


def read_json(text: str, most: int = _MAX_REPAIRED_WITHIN) -> Any:
    """Read JSON in whatever state it is; an object that compares equal to nothing where it can't be read."""
    try:
        return _read(text, most)
    except BrokenError:
        return _NOTHING


def _read(text: str, most: int) -> Any:
    """Read JSON in whatever state it is, whole; BrokenError where something would be lost or guessed."""
    try:
        return from_json(text)
    except ValueError:
        pass
    except TypeError:
        return _read(paired(text), most)
    if len(text) > most:
        raise BrokenError(f"with {len(text):,} characters it is too long for that")
    text = _without_fence(text)
    try:
        # Half a surrogate pair and a line break in a string are legal for json, but nothing later could write the first.
        return _clean(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        pass
    found = pieces(text)
    from json_repair import repair_json

    try:
        value = _clean(repair_json(text, return_objects=True, skip_json_loads=True))
    except (ValueError, RecursionError, IndexError, TypeError):
        raise BrokenError("nothing can be read from it") from None
    if not holds(value, found):
        raise BrokenError("it can be read in more than one way")
    return value


def _without_fence(text: str) -> str:
    inside = text.strip()
    if len(inside) < 6 or not (inside.startswith("```") and inside.endswith("```")):
        return text
    inside = inside[3:-3]
    language = _LANGUAGE.match(inside)
    return inside[language.end() :] if language else inside


def _clean(value: Any, depth: int = 0) -> Any:
    """Replace lone surrogates; ValueError for what is nested too deeply to be written down again."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return paired(value)
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        cleaned = {_clean(key): _clean(item, depth + 1) for key, item in value.items()}
        if len(cleaned) < len(value):
            raise ValueError("two names are one without the halves of characters in them")
        return cleaned
    return value


def paired(text: str) -> str:
    """The text with a mark in the place of half a surrogate pair, and whole pairs as the character that they mean."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")
