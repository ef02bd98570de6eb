"""JSON schemas from pydantic: no automatic titles, nothing that strict JSON can't hold."""

from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, core_schema

__all__ = ["NoTitles", "strict_json"]


class NoTitles(GenerateJsonSchema):
    """A schema generator that writes only the titles that people gave."""

    # A default that JSON can't hold is left out of the schema; that is no fault of the person who registers the tool.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own declaration

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        """Drop the titles of enums, which pydantic adds last, and show a recursive model where only a reference to it is."""
        self._enums: set[str] = set()
        result = super().generate(schema, mode)
        if self._enums:
            for node in (result, *result.get("$defs", {}).values()):
                if "enum" in node or "const" in node:
                    _drop_title(node, self._enums)
        return _shown_whole(result)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """No titles made of field names."""
        return False

    def field_is_present(self, field: Any) -> bool:
        """No field of a dataclass that nobody can give it."""
        return super().field_is_present(field) and field.get("init") is not False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Drop a title that is only the class's name."""
        return _without_name(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Drop a title that is only the class's name."""
        return _without_name(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """Drop a title that is only the class's name."""
        return _without_name(super().typed_dict_schema(schema), schema.get("cls"))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """Note the class's name, which becomes a title after this."""
        self._enums.add(schema["cls"].__name__)
        result = super().enum_schema(schema)
        if "enum" in result:
            # A member of two names is one value.
            result["enum"] = list({(type(value), repr(value)): value for value in result["enum"]}.values())
        return result

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Say base64 in JSON Schema's own word."""
        result = super().bytes_schema(schema)
        if result.get("format") == "base64url":
            del result["format"]
            result["contentEncoding"] = "base64"
        return result

    def call_schema(self, schema: core_schema.CallSchema) -> JsonSchemaValue:
        """Drop the title of a NamedTuple, which is its class's name."""
        result = super().call_schema(schema)
        result.pop("title", None)
        return result


def _shown_whole(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Put what the top level refers to there: a tool's arguments must be an object at first sight."""
    definitions = schema.get("$defs", {})
    for _ in range(len(definitions)):
        reference = schema.get("$ref", "")
        name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        if not reference.startswith("#/$defs/") or name not in definitions:
            break
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**copy.deepcopy(definitions[name]), **rest}
    return schema


def _without_name(result: JsonSchemaValue, cls: Any) -> JsonSchemaValue:
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    if cls is not None and not config.get("title"):
        _drop_title(result, {cls.__name__})
    return result


def _drop_title(node: JsonSchemaValue, names: set[str]) -> None:
    if isinstance(title := node.get("title"), str) and title in names:
        del node["title"]


def strict_json(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what JSON can't hold: numbers that aren't finite, Python objects."""
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError):
        cleaned: dict[str, Any] = _finite(to_jsonable_python(schema, fallback=str))
        return cleaned
    return schema


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items() if not _is_odd(item)}
    if isinstance(value, list):
        return [_finite(item) for item in value if not _is_odd(item)]
    return value


def _is_odd(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
