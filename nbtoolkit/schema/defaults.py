"""Defaults as JSON: of parameters, of nested models, and of a server's schema."""

from __future__ import annotations

import copy
import inspect
import json
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["JSON_TYPES", "default_json", "has_nested_defaults", "overlay", "property_names"]

MISSING: Any = inspect.Parameter.empty
JSON_TYPES = frozenset({str, int, float, bool, type(None), list, dict})


def default_json(default: Any) -> Any:
    """The JSON of a default; MISSING where JSON can't carry it (NaN, a sentinel, an object)."""
    try:
        value = to_jsonable_python(default, by_alias=True, bytes_mode="base64", fallback=_plain)
        json.dumps(value, allow_nan=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        return MISSING
    return value


def _plain(value: Any) -> Any:
    """What a number of numpy's is; its arrays are no defaults that a model could be told."""
    if getattr(value, "shape", None) == () and callable(item := getattr(value, "item", None)):
        return item()
    raise TypeError(f"an object of type {type(value).__name__} has no JSON form")


def _objects(schema: Any, top: bool = True) -> Iterator[dict[str, Any]]:
    """Every object schema with properties below the top one."""
    if isinstance(schema, dict):
        if not top and isinstance(schema.get("properties"), dict):
            yield schema
        for value in schema.values():
            yield from _objects(value, top=False)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value, top=False)


def has_nested_defaults(schema: dict[str, Any]) -> bool:
    """Whether something below the top level may be left out."""
    return any(
        node["properties"].keys() - set(node.get("required", ()))
        for node in _objects({"root": schema["properties"], "$defs": schema.get("$defs")})
    )


def property_names(schema: dict[str, Any]) -> frozenset[str]:
    """Every name that a nested object may have, but for write-only ones: a secret isn't written out."""
    nested = {"root": schema["properties"], "$defs": schema.get("$defs")}
    return frozenset(
        name
        for node in _objects(nested)
        for name, value in node["properties"].items()
        if not (isinstance(value, dict) and value.get("writeOnly"))
    )


def overlay(data: Any, full: Any, given: Any, known: frozenset[str]) -> None:
    """Fill into ``data``, in place, the defaults that validation added.

    ``full`` is the dump of the validated value, ``given`` its dump without what wasn't set. What was sent stays as it was
    sent: a dump isn't always what a second validation would take.
    """
    if isinstance(data, dict) and isinstance(full, dict):
        given = given if isinstance(given, dict) else {}
        # A dataclass doesn't know what was set: there a key is a default when all that was sent is found again.
        plain = data.keys() <= full.keys()
        for key, value in full.items():
            if key in data:
                overlay(data[key], value, given.get(key), known)
            elif key in known and (key not in given or plain):
                data[key] = copy.deepcopy(value)
    elif isinstance(data, list) and isinstance(full, list) and len(data) == len(full):
        if not isinstance(given, list) or len(given) != len(data):
            given = full
        for item, whole, part in zip(data, full, given, strict=True):
            overlay(item, whole, part, known)
