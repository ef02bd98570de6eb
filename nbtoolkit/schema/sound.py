"""A schema from elsewhere with nothing in it that is no JSON Schema, so that all who read it may trust its shape.

What stands in a keyword but isn't of its kind (a list as ``properties``, a number as ``pattern``) is left out, which
every validator but the strictest does too; so is what lies deeper than any real schema. Among properties and branches
true and false are written as the objects that mean the same. A schema that is sound is given back as the object that it
is. What the keywords say isn't looked at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["sound"]

# Real ones are below 30, and who walks through a schema is allowed some steps for each level.
_MAX_DEPTH = 100


def sound(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, or a copy without what is no schema in it."""
    made: dict[str, Any] = _object(schema, 0)
    return made


class _Nothing:
    """Stands for what is left out."""


_NOTHING: Any = _Nothing()


def _schema(value: Any, depth: int) -> Any:
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        return _NOTHING
    return {} if depth > _MAX_DEPTH and value else _object(value, depth)


def _written(value: Any, depth: int) -> Any:
    if isinstance(value, bool):
        return {} if value else {"not": {}}
    return _schema(value, depth)


def _object(schema: dict[str, Any], depth: int) -> Any:
    kept: dict[str, Any] | None = None
    for key, value in schema.items():
        read = _KEYWORDS.get(key)
        if read is None:
            continue
        found = read(value, depth)
        if found is value:
            continue
        if kept is None:
            kept = dict(schema)
        if found is _NOTHING:
            del kept[key]
        else:
            kept[key] = found
    return schema if kept is None else kept


def _named(value: Any, depth: int) -> Any:
    if not isinstance(value, dict):
        return _NOTHING
    kept = {name: found for name, each in value.items() if (found := _written(each, depth + 1)) is not _NOTHING}
    same = len(kept) == len(value) and all(kept[name] is value[name] for name in value)
    return value if same else kept


def _several(value: Any, depth: int) -> Any:
    if not isinstance(value, list) or not value:
        return _NOTHING
    kept = [found for each in value if (found := _written(each, depth + 1)) is not _NOTHING]
    same = len(kept) == len(value) and all(one is other for one, other in zip(kept, value, strict=True))
    return value if same else (kept or _NOTHING)


def _one(value: Any, depth: int) -> Any:
    return _schema(value, depth + 1)


def _one_or_several(value: Any, depth: int) -> Any:
    return _several(value, depth) if isinstance(value, list) else _schema(value, depth + 1)


def _if(holds: Callable[[Any], bool]) -> Callable[[Any, int], Any]:
    return lambda value, _depth: value if holds(value) else _NOTHING


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    # Some write draft 4's true beside a minimum.
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _is_step(value: Any) -> bool:
    return _is_number(value) and not isinstance(value, bool) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and not isinstance(value, bool) and value >= 0 and value == int(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_type(value: Any) -> bool:
    return isinstance(value, str) or (_is_texts(value) and bool(value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_texts(each) for each in value.values())


_KINDS: dict[Callable[[Any, int], Any], str] = {
    _named: "properties patternProperties $defs definitions dependentSchemas",
    _several: "anyOf oneOf allOf prefixItems",
    _one: "additionalProperties additionalItems unevaluatedProperties unevaluatedItems not if then else contains "
    "propertyNames contentSchema",
    _one_or_several: "items",
    _if(_is_text): "$ref $dynamicRef $id $schema $anchor $dynamicAnchor $comment pattern title description format "
    "contentEncoding contentMediaType",
    _if(_is_number): "minimum maximum exclusiveMinimum exclusiveMaximum",
    _if(_is_step): "multipleOf",
    _if(_is_count): "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
    _if(_is_texts): "required",
    _if(_is_type): "type",
    _if(_is_list): "examples",
    _if(_is_choice): "enum",
    _if(_is_switch): "uniqueItems readOnly writeOnly deprecated",
    _if(_is_dependencies): "dependentRequired",
}
_KEYWORDS = {keyword: read for read, keywords in _KINDS.items() for keyword in keywords.split()}
