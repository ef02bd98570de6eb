"""From the text that a model wrote to a JSON object, with a record of what had to be repaired."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from nbtoolkit.exception import ToolJSONDecodeError

__all__ = ["parse_arguments", "read_json"]

_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n?(?P<inside>.*?)\n?\s*```\s*\Z", re.DOTALL)
# The repair library's time grows faster than its text does.
_MAX_REPAIRED = 200_000
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
    if isinstance(value, dict):
        return value, ()
    if value is None:
        return {}, ()
    if isinstance(value, str):
        # The object was encoded twice.
        inner = read_json(value)
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
    if text.count("{") > text.count("}") or text.count("[") > text.count("]"):
        # Half a command or path must not run as if it were whole.
        raise ToolJSONDecodeError(
            f"The arguments of the tool '{tool_name}' end in the middle ({error}), got {_shown(text)}. Send them again, whole."
        )
    value = read_json(text)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    # Repair makes an empty object of almost any text; then there was nothing to save.
    if isinstance(value, dict) and (value or re.fullmatch(r"[\s`\w]*\{\s*\}[\s`]*", text)):
        return value, (f"the arguments were no valid JSON ({error}) and were repaired",)
    raise ToolJSONDecodeError(
        f"The arguments of the tool '{tool_name}' are no valid JSON ({error}), got {_shown(text)}. "
        'Send one JSON object: {"name": value, …}.'
    )


def read_json(text: str) -> Any:
    """Read JSON in whatever state it is; an object that compares equal to nothing where it can't be read."""
    if fence := _FENCE.match(text):
        text = fence["inside"]
    try:
        return from_json(text)
    except ValueError:
        pass
    try:
        # Half a surrogate pair is legal for json, but nothing later could write it down.
        return _clean(json.loads(text))
    except (ValueError, RecursionError):
        pass
    if ("{" not in text and "[" not in text) or len(text) > _MAX_REPAIRED:
        return _NOTHING
    from json_repair import repair_json

    try:
        return _clean(repair_json(text, return_objects=True, skip_json_loads=True))
    except (ValueError, RecursionError, IndexError, TypeError):
        return _NOTHING


def _clean(value: Any, depth: int = 0) -> Any:
    """Replace lone surrogates; ValueError for what is nested too deeply to be written down again."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item, depth + 1) for key, item in value.items()}
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")
