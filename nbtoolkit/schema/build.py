"""Fields → one pydantic validator and its raw JSON schema, by the shortest public way.

Fields of nothing but JSON's own types get their core schema directly, which takes half the time; all others go through a
TypedDict, whose field names may be any text, and a TypeAdapter.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union

import typing_extensions as te
from annotated_types import BaseMetadata
from pydantic import ConfigDict, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from nbtoolkit.schema.generate import NoTitles
from nbtoolkit.schema.typed_dicts import make_typed_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Built", "build", "json_types"]

_CONFIG = ConfigDict(extra="forbid", val_json_bytes="base64", ser_json_bytes="base64", ser_json_inf_nan="strings")
_SCALARS: dict[Any, Callable[[], CoreSchema]] = {
    str: core_schema.str_schema,
    int: core_schema.int_schema,
    float: core_schema.float_schema,
    bool: core_schema.bool_schema,
    type(None): core_schema.none_schema,
}


class Built(NamedTuple):
    """A validator, its JSON schema, and the adapter where values can be dumped."""

    validator: Any
    raw: dict[str, Any]
    adapter: TypeAdapter[Any] | None


def build(fields: Mapping[str, tuple[Any, bool]]) -> Built:
    """Build the validator of field → (hint, required)."""
    simple = {name: _core(hint) for name, (hint, _) in fields.items()}
    if None not in simple.values():
        core = core_schema.typed_dict_schema(
            {
                name: core_schema.typed_dict_field(schema, required=fields[name][1])
                for name, schema in simple.items()
                if schema is not None
            },
            extra_behavior="forbid",
        )
        raw = NoTitles().generate(core)
        return Built(SchemaValidator(core), {"properties": {}, **raw}, None)
    adapter: TypeAdapter[Any] = TypeAdapter(make_typed_dict("Arguments", fields, _CONFIG))
    return Built(adapter.validator, {"properties": {}, **adapter.json_schema(schema_generator=NoTitles)}, adapter)


def _core(hint: Any) -> CoreSchema | None:
    """The core schema of JSON's own types; None for any other hint."""
    if isinstance(hint, type) and hint in _SCALARS:
        return _SCALARS[hint]()
    origin, members = te.get_origin(hint), te.get_args(hint)
    if origin is Literal and all(type(value) in (str, int) for value in members):
        return core_schema.literal_schema(list(members))
    if origin is list or (origin is dict and members[0] is str):
        inner = _core(members[-1])
        if inner is None:
            return None
        return core_schema.list_schema(inner) if origin is list else core_schema.dict_schema(_SCALARS[str](), inner)
    if origin in (Union, types.UnionType):
        choices = [_core(member) for member in members if member is not type(None)]
        known = [choice for choice in choices if choice is not None]
        if len(known) < len(choices):
            return None
        schema = known[0] if len(known) == 1 else core_schema.union_schema(list(known))
        return schema if len(known) == len(members) else core_schema.nullable_schema(schema)
    return None


def json_types(hint: Any) -> set[Any]:
    """The JSON types of Python that a hint is made of, ``list`` for any container of scalars.

    None among them stands for anything else.
    """
    try:
        if hint in _SCALARS:
            return {hint}
    except TypeError:  # unhashable metadata
        return {None}
    origin, members = te.get_origin(hint), te.get_args(hint)
    if origin in (Union, types.UnionType):
        return {kind for member in members for kind in json_types(member)}
    if origin is Literal:
        # Python's True equals 1, so numbers are compared where the JSON is at hand.
        return {str if type(value) is str else None for value in members}
    if origin is list or (origin is dict and members[0] is str):
        inner = json_types(members[-1])
        return {None} if list in inner else {list, *inner}
    if origin is Annotated:
        base, *metadata = members
        if all(isinstance(item, (FieldInfo, BaseMetadata, str)) for item in metadata):
            return json_types(base)
    return {None}
