"""Plain JSON schemas in pydantic's engine: those of which every word can be translated.

It judges as jsonschema does, but that 1.0 is no integer (the mending makes it one), in a thirtieth of the time; and where
Jupyter is installed, importing jsonschema alone takes seconds.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import CoreSchema, SchemaError, SchemaValidator, core_schema

__all__ = ["quick_validator"]

# Words that say nothing about validity.
_REMARKS = frozenset(
    {
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
        "contentEncoding", "contentMediaType", "$comment", "$schema", "$id", "$defs", "definitions",
    }
)  # fmt: skip
_MAX_NODES = 1_000
_MAX_DEPTH = 20


class _UnknownError(Exception):
    """A word that isn't translated."""


def quick_validator(schema: dict[str, Any], root: dict[str, Any]) -> SchemaValidator | None:
    """Translate a schema, whose references are looked up in ``root``; None where something in it isn't plain."""
    try:
        return SchemaValidator(_Translation(root).of(schema, 0))
    except (_UnknownError, SchemaError, TypeError, ValueError, KeyError, AttributeError):
        return None


class _Translation:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def of(self, schema: Any, depth: int) -> CoreSchema:
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise _UnknownError
        if schema is True:
            return core_schema.any_schema()
        words = {key: value for key, value in schema.items() if key not in _REMARKS and not key.startswith("x-")}
        if not words:
            return core_schema.any_schema()
        if words.keys() == {"$ref"}:
            return self.of(self._referred(words["$ref"]), depth + 1)
        if words.keys() == {"allOf"} and len(words["allOf"]) == 1:
            return self.of(words["allOf"][0], depth + 1)
        if words.keys() == {"anyOf"}:
            return core_schema.union_schema([self.of(branch, depth + 1) for branch in words["anyOf"]])
        kind = words.pop("type", None)
        if "enum" in words or "const" in words:
            return self._choice(words, kind)
        if isinstance(kind, list):
            # The other words belong to one of the types or another; each ignores those of the rest.
            if words:
                raise _UnknownError
            return core_schema.union_schema([self.of({"type": one}, depth + 1) for one in kind])
        return self._typed(kind, words, depth)

    def _referred(self, reference: str) -> Any:
        kind, _, name = reference.removeprefix("#/").partition("/")
        if not reference.startswith("#/") or kind not in ("$defs", "definitions") or "/" in name or "~" in name:
            raise _UnknownError
        return self._root[kind][name]

    def _choice(self, words: dict[str, Any], kind: Any) -> CoreSchema:
        choices = words.pop("enum") if "enum" in words else [words.pop("const")]
        # Numbers and booleans equal each other in Python and not in JSON.
        if words or kind not in (None, "string") or not all(isinstance(choice, str) for choice in choices):
            raise _UnknownError
        return core_schema.literal_schema(choices)

    def _typed(self, kind: Any, words: dict[str, Any], depth: int) -> CoreSchema:
        if kind == "object":
            return self._object(words, depth)
        made: Any
        if kind == "array":
            items = self.of(words.pop("items", True), depth + 1)
            made = core_schema.list_schema(
                items, min_length=words.pop("minItems", None), max_length=words.pop("maxItems", None)
            )
        elif kind == "string":
            made = core_schema.str_schema(
                min_length=words.pop("minLength", None),
                max_length=words.pop("maxLength", None),
                pattern=words.pop("pattern", None),
                regex_engine="rust-regex",
            )
        elif kind in ("integer", "number"):
            make: Any = core_schema.int_schema if kind == "integer" else core_schema.float_schema
            names = (("minimum", "ge"), ("maximum", "le"), ("exclusiveMinimum", "gt"), ("exclusiveMaximum", "lt"))
            made = make(**{short: words.pop(name) for name, short in names if name in words})
        elif kind in ("boolean", "null"):
            made = core_schema.bool_schema() if kind == "boolean" else core_schema.none_schema()
        else:
            raise _UnknownError
        if words:
            raise _UnknownError
        return made  # type: ignore[no-any-return]

    def _object(self, words: dict[str, Any], depth: int) -> CoreSchema:
        properties = words.pop("properties", {})
        required = set(words.pop("required", ()))
        more = words.pop("additionalProperties", True)
        if words or not required <= properties.keys():
            raise _UnknownError
        extras = self.of(more, depth + 1) if isinstance(more, dict) else None
        return core_schema.typed_dict_schema(
            {
                name: core_schema.typed_dict_field(self.of(inner, depth + 1), required=name in required)
                for name, inner in properties.items()
            },
            extra_behavior="forbid" if more is False else "allow",
            extras_schema=extras,
        )
