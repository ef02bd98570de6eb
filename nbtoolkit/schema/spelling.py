"""What is provably wrong in a JSON schema that a programmer wrote: misspelt words and types, values of the wrong kind.

JSON Schema lets unknown words pass, so that a misspelt one is a rule that never holds. A word is taken for misspelt only
where it is one slip away from a known one; any other may be somebody's own remark.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["near", "schema_faults"]

_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
# What people write for a type, beside slips: Python's and other languages' names.
_MEANT = {
    "str": "string", "text": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean",
    "dict": "object", "list": "array", "tuple": "array", "set": "array", "none": "null", "nonetype": "null",
}  # fmt: skip
# Where schemas stand: one, a list of them, or each under a name.
_ONE = frozenset(
    {
        "items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_TEXTS = frozenset({"title", "description", "$comment", "$ref", "$id", "$anchor", "$schema", "pattern", "format"})
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)
_NUMBERS = frozenset({"minimum", "maximum", "multipleOf"})
_FLAGS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly"})
_KNOWN = (
    _ONE
    | _LIST
    | _NAMED
    | _TEXTS
    | _COUNTS
    | _NUMBERS
    | _FLAGS
    | {"type", "enum", "const", "default", "examples", "required", "dependentRequired", "dependencies"}
    # Earlier drafts have truth values in the place of these numbers.
    | {"exclusiveMinimum", "exclusiveMaximum", "contentEncoding", "contentMediaType"}
    | {"$vocabulary", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"}
)
# Other dialects' own words, one slip away from one of these.
_FOREIGN = frozenset({"id", "example", "note"})
# Schemas nest; deeper ones are no person's.
_MAX_DEPTH = 60


def near(word: str, words: Iterable[str]) -> str:
    """The one of the words that is one slip away, or the same but for its case and dashes; empty where none is."""
    plain = _plain(word)
    for known in words:
        if _plain(known) == plain or (min(len(known), len(word)) > 2 and _is_one_slip(word, known)):
            return known
    return ""


def schema_faults(schema: dict[str, Any]) -> list[str]:
    """What is wrong, one line each with its place and the word that was meant."""
    return list(_faults(schema, "", 0))


def _faults(schema: Any, where: str, depth: int) -> Iterator[str]:
    if isinstance(schema, bool) or depth > _MAX_DEPTH:
        return
    if not isinstance(schema, dict):
        yield f"{where or 'it'} must be a schema, a dict or a bool, but is {reprlib.repr(schema)}"
        return
    for word, value in schema.items():
        place = f"{where}.{word}" if where else str(word)
        if word in _NAMED:
            yield from _named(value, place, depth)
        elif word in _LIST or (word == "items" and isinstance(value, list)):
            if not isinstance(value, list):
                yield f"{place} must be a list of schemas, but is {reprlib.repr(value)}"
                continue
            for number, each in enumerate(value):
                yield from _faults(each, f"{place}[{number}]", depth + 1)
        elif word in _ONE:
            yield from _faults(value, place, depth + 1)
        else:
            yield from _word(word, value, where, place)


def _named(value: Any, place: str, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} must be a dict of schemas by their names, but is {reprlib.repr(value)}"
        return
    for name, each in value.items():
        yield from _faults(each, f"{place}.{name}", depth + 1)


def _word(word: Any, value: Any, where: str, place: str) -> Iterator[str]:
    if word == "type":
        for kind in value if isinstance(value, list) else [value]:
            if kind not in _TYPES:
                yield f"{place} is {kind!r}, which is no type{_hint(_type_meant(kind))}; types are {', '.join(_TYPES)}"
    elif word == "required" and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        yield f"{place} must be a list of names, but is {reprlib.repr(value)}"
    elif word == "enum" and not isinstance(value, list):
        yield f"{place} must be a list of values, but is {reprlib.repr(value)}"
    elif word in _TEXTS and not isinstance(value, str):
        yield f"{place} must be a text, but is {reprlib.repr(value)}"
    elif word in _COUNTS and not (_is_number(value) and value >= 0 and value == int(value)):
        yield f"{place} must be a whole number, 0 or more, but is {reprlib.repr(value)}"
    elif word in _NUMBERS and not _is_number(value):
        yield f"{place} must be a number, but is {reprlib.repr(value)}"
    elif word in _FLAGS and not isinstance(value, bool):
        yield f"{place} must be true or false, but is {reprlib.repr(value)}"
    elif word not in _KNOWN and word not in _FOREIGN and (meant := near(str(word), sorted(_KNOWN))):
        yield f"{word!r} in {where or 'its top level'} is no word of JSON Schema{_hint(meant)}"


def _type_meant(kind: Any) -> str:
    if isinstance(kind, type):
        kind = kind.__name__
    return _MEANT.get(str(kind).lower(), "") or near(str(kind), _TYPES)


def _hint(word: str) -> str:
    return f"; did you mean {word!r}?" if word else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace("$", "")


def _is_one_slip(one: str, other: str) -> bool:
    """Whether one letter more, less or other, or two that changed places, makes one word of the other."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, end = one[start:], other[start:]
    if rest[1:] == end[1:] or rest[1:] == end or rest == end[1:]:
        return True
    return len(rest) > 1 and rest[:2] == end[1::-1] and rest[2:] == end[2:]
