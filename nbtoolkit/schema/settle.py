"""JSON as the function gets it: what a hint's own validators make of an argument is written back before rules see it.

A rule that names ``evil`` must also see `` Evil `` where the hint strips and lowers. Written back is only what a second
validation reads as the very same value; an argument in a language of its own (a prefix is added, an object is looked up)
stays as it was sent.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from nbtoolkit.schema.fault import nodes_at, types_of
from nbtoolkit.schema.mend import put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.schema.build import Built
    from nbtoolkit.schema.fault import Path

__all__ = ["Settler", "changing_fields"]

_MAX_READS = 200
_JSON_TYPES: dict[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object", type(None): "null",
}  # fmt: skip

# Kinds of core schema whose value has the very JSON that was sent, if the schemas inside are such.
_FAITHFUL = frozenset(
    {
        "any", "none", "bool", "int", "float", "str", "bytes", "decimal", "literal", "enum", "list", "tuple", "dict",
        "nullable", "union", "tagged-union", "default", "model", "model-fields", "model-field", "typed-dict",
        "typed-dict-field", "dataclass", "dataclass-args", "dataclass-field", "definition-ref",
    }
)  # fmt: skip
_CHANGES = ("strip_whitespace", "to_lower", "to_upper", "missing", "custom_init", "post_init")
_CONFIG = ("str_strip_whitespace", "str_to_lower", "str_to_upper")
# What holds no schema that a value is validated by.
_ASIDE = frozenset({"serialization", "metadata", "computed_fields", "default", "expected", "members", "cls"})


def changing_fields(core: Any) -> frozenset[str] | None:
    """The fields of a TypedDict's core schema whose values may differ from what is sent; None for any other schema."""
    definitions: dict[str, Any] = {}
    if core["type"] == "definitions":
        definitions = {definition["ref"]: definition for definition in core["definitions"]}
        core = core["schema"]
    if core["type"] != "typed-dict":
        return None
    return frozenset(name for name, field in core["fields"].items() if _changes(field, definitions, set()))


def _changes(node: Any, definitions: dict[str, Any], seen: set[str]) -> bool:
    if isinstance(node, dict):
        kind = node.get("type")
        if isinstance(kind, str):
            if kind not in _FAITHFUL or any(node.get(word) for word in _CHANGES):
                return True
            if kind == "enum" and any("_missing_" in vars(cls) for cls in node["cls"].__mro__ if cls is not enum.Enum):
                return True
            if any((node.get("config") or {}).get(word) for word in _CONFIG):
                return True
            if kind == "definition-ref" and node["schema_ref"] not in seen:
                seen.add(node["schema_ref"])
                return _changes(definitions.get(node["schema_ref"]), definitions, seen)
        return any(_changes(value, definitions, seen) for key, value in node.items() if key not in _ASIDE)
    if isinstance(node, (list, tuple)):
        return any(_changes(item, definitions, seen) for item in node)
    return False


class Settler:
    """Writes a valid argument as the function gets it; with a ``key``, the validator is of a dict of that one field."""

    def __init__(self, built: Built, key: str | None = None) -> None:
        self._built = built
        self._key = key

    def settle(self, sent: Any) -> Any:
        """Give the JSON to be shown and judged; what was sent where nothing else reads as the same value."""
        try:
            value = self._read(sent)
            written = self._written(value)
        except (ValidationError, PydanticSerializationError, ValueError, TypeError):
            return sent
        if _same(written, sent) or not self._admits(written, sent):
            return sent
        for attempt in (_in_order(written, sent), written):
            try:
                if _same(self._read(attempt), value):
                    return attempt
            except (ValueError, TypeError):
                continue
        # A part that can't be written back, as a secret behind its mask, must not keep the rest from it.
        groups: dict[Path, list[tuple[Path, Any]]] = {}
        for path, item in _differences(sent, written, ()):
            groups.setdefault(tuple(part for part in path if isinstance(part, str)), []).append((path, item))
        settled = copy.deepcopy(sent)
        mixed = []
        for places in groups.values():
            attempt = self._put(settled, places, value)
            if attempt is None:
                mixed += places
            else:
                settled = attempt
        self._reads = _MAX_READS
        return self._by_halves(settled, mixed, value)

    def _admits(self, written: Any, sent: Any) -> bool:
        """Whether what is written is of a type that the schema has: an object that was looked up may be of any."""
        kind, path = _JSON_TYPES.get(type(written)), () if self._key is None else (self._key,)
        if type(written) is type(sent) or kind is None:
            return True
        types = types_of(nodes_at(self._built.raw, path))
        return not types or kind in types or (kind == "integer" and "number" in types)

    def _put(self, settled: Any, places: list[tuple[Path, Any]], value: Any) -> Any:
        """Write these places back; None where that reads as another value."""
        attempt = copy.deepcopy(settled)
        for path, item in places:
            put(attempt, path, item)
        try:
            return attempt if _same(self._read(attempt), value) else None
        except (ValueError, TypeError):
            return None

    def _by_halves(self, settled: Any, places: list[tuple[Path, Any]], value: Any) -> Any:
        """Write back as many places as read as the same value."""
        self._reads -= 1
        if not places or self._reads < 0:
            return settled
        if (attempt := self._put(settled, places, value)) is not None:
            return attempt
        if len(places) == 1:
            return settled
        half = len(places) // 2
        return self._by_halves(self._by_halves(settled, places[:half], value), places[half:], value)

    def _read(self, data: Any) -> Any:
        whole = data if self._key is None else {self._key: data}
        # A value of its own: writing an iterator would use up the function's.
        return self._built.validator.validate_json(to_json(whole), strict=True, context=[])

    def _written(self, value: Any) -> Any:
        if self._built.adapter is None:
            return value if self._key is None else next(iter(value.values()))
        dumped = self._built.adapter.dump_python(
            value, mode="json", by_alias=True, round_trip=True, warnings=False, exclude_unset=True
        )
        return dumped if self._key is None else next(iter(dumped.values()))


def _same(one: Any, other: Any) -> bool:
    """Equality without truth for 1, with NaN for NaN, and only by what a class itself says of its objects."""
    if type(one) is type(other) is str:
        return bool(one == other)
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is not type(other):
        return {type(one), type(other)} == {int, float} and bool(one == other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, BaseModel):
        return _same(one.__dict__, other.__dict__) and _same(one.model_extra, other.model_extra)
    if dataclasses.is_dataclass(one) and hasattr(one, "__dict__"):
        return _same(vars(one), vars(other))
    return one is other or bool(one == other)


def _in_order(written: Any, sent: Any) -> Any:
    """What was written in the order in which it was sent: a set has none of its own."""
    if isinstance(written, dict) and isinstance(sent, dict):
        return {key: _in_order(item, sent.get(key)) for key, item in written.items()}
    if isinstance(written, list) and isinstance(sent, list) and not _same(written, sent):
        places: dict[str, list[int]] = {}
        for place, item in reversed(list(enumerate(sent))):
            places.setdefault(_orderless(item), []).append(place)
        found: list[tuple[int, str, Any]] = []
        for item in written:
            text = _orderless(item)
            if left := places.get(text):
                place = left.pop()
                found.append((place, text, _in_order(item, sent[place])))
            else:
                found.append((len(sent), text, item))
        return [item for _, _, item in sorted(found, key=lambda each: each[:2])]
    return written


def _orderless(item: Any) -> str:
    """A text that two values have in common where they differ in nothing but the order of their lists."""
    if isinstance(item, dict):
        return "{" + ",".join(f"{key!r}:{_orderless(value)}" for key, value in sorted(item.items())) + "}"
    if isinstance(item, list):
        return "[" + ",".join(sorted(map(_orderless, item))) + "]"
    return to_json(item).decode()


def _differences(sent: Any, written: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(sent, dict) and isinstance(written, dict):
        for key in sent.keys() & written.keys():
            yield from _differences(sent[key], written[key], (*path, key))
    elif isinstance(sent, list) and isinstance(written, list) and len(sent) == len(written):
        for number, (one, other) in enumerate(zip(sent, written, strict=True)):
            yield from _differences(one, other, (*path, number))
    elif path and not _same(sent, written):
        yield path, written
