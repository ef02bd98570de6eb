"""TypedDicts of typing and of typing_extensions, read field by field and made anew."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NamedTuple

import typing_extensions as te

from nbtoolkit.schema.resolving import UnresolvedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ConfigDict

__all__ = [
    "QUALIFIERS",
    "Field",
    "has_read_only",
    "is_unpack",
    "make_typed_dict",
    "typed_dict_fields",
    "typed_dict_of",
]

_REQUIRED: tuple[Any, ...] = (typing.Required, te.Required)
_NOT_REQUIRED: tuple[Any, ...] = (typing.NotRequired, te.NotRequired)
_READ_ONLY = te.ReadOnly
QUALIFIERS: frozenset[Any] = frozenset({_READ_ONLY, typing.Final, te.Final, *_REQUIRED, *_NOT_REQUIRED})


class Field(NamedTuple):
    """One field: its hint without qualifiers, whether it must be there, and whether it may not be written."""

    hint: Any
    required: bool
    read_only: bool


def is_unpack(hint: Any) -> bool:
    """Whether the hint is ``Unpack[…]``, typing's or typing_extensions'."""
    return te.get_origin(hint) in (typing.Unpack, te.Unpack)


def typed_dict_of(hint: Any) -> Any:
    """The TypedDict that a hint is, with its type parameters given or not; None for any other hint."""
    made = te.get_origin(hint) or hint
    return made if te.is_typeddict(made) else None


def typed_dict_fields(hint: Any) -> dict[str, Field]:
    """The fields of a TypedDict of either kind; UnresolvedError where one names something that doesn't exist yet."""
    made = typed_dict_of(hint)
    given = dict(zip(getattr(made, "__parameters__", ()), te.get_args(hint), strict=False))
    try:
        hints = te.get_type_hints(made, include_extras=True)
    except NameError as error:
        raise UnresolvedError(f"NameError: {error}") from None
    fields = {}
    for name, field in hints.items():
        required, read_only = name in made.__required_keys__, False
        # Under `from __future__ import annotations` the class itself doesn't know about its fields' qualifiers.
        bare = field
        origin: Any
        while (origin := te.get_origin(bare)) in QUALIFIERS:
            required = origin in _REQUIRED or (required and origin not in _NOT_REQUIRED)
            read_only = read_only or origin is _READ_ONLY
            bare = te.get_args(bare)[0]
        fields[name] = Field(_filled(bare, given), required, read_only)
    return fields


def has_read_only(hint: Any) -> bool:
    """Whether a field may not be written, as far as the fields can be read."""
    try:
        return any(field.read_only for field in typed_dict_fields(hint).values())
    except UnresolvedError:
        # One that refers to itself within a function is read by pydantic alone.
        return False


def _filled(hint: Any, given: Mapping[Any, Any]) -> Any:
    """The hint with what was given for type parameters in their places."""
    if not given:
        return hint
    if isinstance(hint, typing.TypeVar):
        return given.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(each, each) for each in parameters)] if parameters else hint


def make_typed_dict(name: str, fields: Mapping[str, tuple[Any, bool]], config: ConfigDict | None = None) -> Any:
    """Make a TypedDict of field → (hint, required); a field's name may be any text."""
    make: Any = te.TypedDict
    made = make(name, {key: hint if required else te.NotRequired[hint] for key, (hint, required) in fields.items()})
    if config is not None:
        made.__pydantic_config__ = config
    return made
