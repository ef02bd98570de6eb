"""From the hints that people write to hints that pydantic validates and JSON can carry.

`adapt` replaces what pydantic can't take by its nearest equivalent, and what JSON can't carry by a notebook variable.
"""

from __future__ import annotations

import base64
import collections
import enum
import functools
import numbers
import sys
import types
import typing
from collections import abc
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import typing_extensions as te
from annotated_types import BaseMetadata
from pydantic import (
    AfterValidator,
    BeforeValidator,
    EncodedBytes,
    Field,
    PlainSerializer,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    TypeAdapter,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json

from nbtoolkit.schema.resolving import UnresolvedError
from nbtoolkit.schema.scalars import made_of_a_scalar
from nbtoolkit.schema.typed_dicts import QUALIFIERS, has_read_only, make_typed_dict, typed_dict_fields, typed_dict_of
from nbtoolkit.schema.variables import Variable, get_variable_resolver, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["NotForJSONError", "adapt", "has_variable", "list_of"]

# What needs no further look: pydantic validates it and JSON carries it.
_PLAIN = frozenset({str, int, float, bool, type(None), list, dict, tuple, set, frozenset})
# Pydantic gives a one-shot validator for Iterable and nothing for the others; a list does for each of them.
_ITERABLES = frozenset({abc.Iterable, abc.Collection, abc.Container, abc.Reversible})
_ITERATORS = frozenset({abc.Iterator, abc.Generator})
# A dump uses the config of the thing that is dumped, and a TypedDict's isn't heeded.
_BYTES = Annotated[bytes, PlainSerializer(lambda value: base64.b64encode(value).decode(), when_used="json")]
_SUBSTITUTES: dict[Any, Any] = {
    bytes: _BYTES,
    object: Any,
    numbers.Number: float | int,
    numbers.Complex: float | int,
    numbers.Real: float | int,
    numbers.Rational: int,
    numbers.Integral: int,
    typing.LiteralString: str,
    te.LiteralString: str,
    bytearray: Annotated[_BYTES, AfterValidator(bytearray)],
}
_BYTES_LIKE = (bytes, bytearray)
_UNIONS: tuple[Any, ...] = (Union, types.UnionType)
# Pydantic compares a choice with the JSON that was sent, and only these are equal to theirs.
_SAME_IN_JSON = (str, int, float, bool, type(None))
_ALIASES = (te.TypeAliasType, getattr(typing, "TypeAliasType", te.TypeAliasType))
# What stands for another hint.
_NAMES_OF_HINTS: tuple[Any, ...] = (typing.TypeVar, typing.NewType, *_ALIASES)
# What people write who think of values.
_NO_TYPES = (list, tuple, dict, set, int, float, complex, bytes)
_MAPPINGS = frozenset({dict, collections.OrderedDict, collections.defaultdict, abc.Mapping, abc.MutableMapping})


class NotForJSONError(Exception):
    """A hint that JSON can't carry, and no notebook whose variables could stand in."""


# --------------------------------------------------------------------------------------------- what JSON can carry


def adapt(hint: Any) -> Any:
    """Give the hint that stands for ``hint`` in validation: the same, an equivalent, or a notebook variable."""
    if isinstance(hint, type) and hint in _PLAIN:
        return hint
    if isinstance(hint, (str, typing.ForwardRef)):
        raise UnresolvedError(str(hint))
    if isinstance(hint, (typing.ParamSpecArgs, typing.ParamSpecKwargs)):
        # What a decorator's function takes is anything, to whoever looks at it from outside.
        return Any
    if isinstance(hint, _NO_TYPES):
        raise NotForJSONError(f"{hint!r} is no type")
    if isinstance(hint, abc.Hashable) and _hashes(hint) and hint in _SUBSTITUTES:
        return _SUBSTITUTES[hint]
    origin = te.get_origin(hint)
    if isinstance(hint, _NAMES_OF_HINTS) or isinstance(origin, _ALIASES):
        return _adapt_named(hint)
    return _adapt_form(hint, origin)


def _adapt_form(hint: Any, origin: Any) -> Any:
    if origin is Annotated:
        return _adapt_annotated(hint)
    if origin in _UNIONS:
        return adapt(_arrays(hint)) if _is_array_like(hint) else _adapt_union(hint)
    if hint is Any:
        return hint
    if origin is Literal:
        return _adapt_choices(hint, {choice: choice for choice in te.get_args(hint)})
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and hint.__members__:
        return _adapt_choices(hint, {member: member.value for member in hint})
    if origin in QUALIFIERS:
        return adapt(te.get_args(hint)[0])
    if typed_dict_of(hint) is not None:
        return _adapt_typed_dict(hint)
    if (origin or hint) in (abc.Callable, typing.Callable, type):
        return _variable(hint, "")
    return _adapt_class(hint, origin)


def list_of(item: Any) -> Any:
    """``list[item]``, made at run time."""
    return types.GenericAlias(list, (item,))


def _hashes(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:  # an Annotated with unhashable metadata
        return False
    return True


def _adapt_choices(hint: Any, choices: dict[Any, Any]) -> Any:
    """A Literal or an enum; one with values that JSON writes in another way is read by what JSON has for them."""
    if all(type(value) in _SAME_IN_JSON or isinstance(value, enum.ReprEnum) for value in choices.values()):
        return hint if te.get_origin(hint) is Literal else _carried(hint)
    written = {}
    for choice, value in choices.items():
        try:
            written[to_json(value)] = choice
        except PydanticSerializationError:
            return _variable(hint, f"JSON has nothing for the value of {choice}")

    def read(sent: Any) -> Any:
        try:
            return written.get(to_json(sent), sent)
        except PydanticSerializationError:
            return sent

    return Annotated[hint, BeforeValidator(read)]


def _carried(hint: Any, meant: Any = None) -> Any:
    """A hint that JSON carries; ``meant`` is what the person wrote for it."""
    reason = _probe(hint)
    if reason is None:
        return hint
    made = made_of_a_scalar(hint)
    return _variable(hint if meant is None else meant, reason) if made is None else made


def _adapt_named(hint: Any) -> Any:
    """A type variable, a NewType or a type alias: what it stands for, where that stands for something else here."""
    if _is_array_like(hint):
        return adapt(_arrays(hint))
    if isinstance(hint, typing.TypeVar):
        stands_for = Union[hint.__constraints__] if hint.__constraints__ else hint.__bound__  # noqa: UP007
        if stands_for is None:
            return hint
    elif isinstance(hint, typing.NewType):
        stands_for = hint.__supertype__
    elif _probe(hint) is None:
        return hint
    else:
        alias, args = te.get_origin(hint) or hint, te.get_args(hint)
        try:
            stands_for = alias.__value__[args] if args else alias.__value__
        except NameError as error:
            raise UnresolvedError(f"NameError: {error}") from None
    try:
        adapted = adapt(stands_for)
    except RecursionError:
        return _variable(hint, "it refers to itself")
    return hint if adapted is stands_for else adapted


def _adapt_class(hint: Any, origin: Any) -> Any:
    args, meant = te.get_args(hint), hint
    if origin in _MAPPINGS and args:
        if no_key := _no_key(args[0]):
            return _variable(hint, no_key)
        if (keys := _adapt_keys(args[0])) is not args[0]:
            return origin[keys, adapt(args[1])]
    if (origin or hint) in _ITERABLES | _ITERATORS:
        items = list_of(adapt(args[0] if args else Any))
        return items if (origin or hint) in _ITERABLES else Annotated[items, AfterValidator(iter)]
    if origin is not None and args:
        if origin not in _PLAIN and _probe(origin) is not None and (reason := _probe(hint)) is not None:
            # Nothing reads such a thing from JSON, whatever it holds.
            return _variable(hint, reason)
        adapted = tuple(arg if arg is Ellipsis else adapt(arg) for arg in args)
        if any(new is not old for new, old in zip(adapted, args, strict=True)):
            hint = origin[adapted]
        elif origin in _PLAIN:
            return hint
    return _carried(hint, meant)


def _adapt_keys(hint: Any) -> Any:
    """A Literal or an enum as the keys of objects, which are texts in JSON."""
    if te.get_origin(hint) is Literal:
        choices = {choice: choice for choice in te.get_args(hint)}
    elif isinstance(hint, type) and issubclass(hint, enum.Enum) and hint.__members__:
        choices = {member: member.value for member in hint}
    else:
        return hint
    if all(isinstance(value, str) for value in choices.values()):
        return hint
    written = {to_json(value).decode().strip('"'): choice for choice, value in choices.items()}
    return Annotated[hint, BeforeValidator(lambda sent: written.get(sent, sent)), _enum_of_texts(written)]


def _enum_of_texts(texts: Iterable[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(texts)})


def _no_key(hint: Any) -> str:
    """Why objects in JSON can't have such keys; empty where they can."""
    if hint in _PLAIN and hint not in (list, dict, tuple, set, frozenset):
        return ""
    try:
        schema = TypeAdapter(hint).json_schema()
    except Exception:  # noqa: BLE001 - whatever is wrong with it is said where the whole is looked at
        return ""
    kinds = {branch.get("type") for branch in schema.get("anyOf", [schema])}
    return "keys of objects in JSON are texts" if kinds and kinds <= {"array", "object"} else ""


def _adapt_annotated(hint: Any) -> Any:
    base, *metadata = te.get_args(hint)
    if base is bytes and any(isinstance(each, EncodedBytes) for each in metadata):
        return Annotated[(bytes, *metadata, WrapValidator(_as_sent))]
    try:
        adapted = adapt(base)
    except (NotForJSONError, UnresolvedError):
        # Validators among the metadata may carry what the bare class can't.
        if _probe(hint) is None:
            return hint
        raise
    if adapted is base:
        return hint
    if has_variable(adapted) and _probe(hint) is None:
        return hint
    if isinstance(base, type) and not has_variable(adapted):
        # Limits are the plain value's that JSON has; a person's own validators get the object that is made of it.
        limits = [each for each in metadata if isinstance(each, (FieldInfo, BaseMetadata))]
        others = [each for each in metadata if not isinstance(each, (FieldInfo, BaseMetadata))]
        plain, *making = te.get_args(adapted) if te.get_origin(adapted) is Annotated else (adapted,)
        return Annotated[(plain, *limits, *making, *others)]
    return Annotated[(adapted, *metadata)]


def _as_sent(sent: Any, read: Callable[[Any], Any]) -> Any:
    """Let an encoder of the hint's own read the text that was sent, not what that text is base64 of."""
    return read(base64.b64encode(sent.encode()).decode() if isinstance(sent, str) else sent)


def _adapt_union(hint: Any) -> Any:
    members = te.get_args(hint)
    if str in members and any(member in _BYTES_LIKE for member in members):
        # A text that could also be base64 of something is a text first.
        members = tuple(sorted(members, key=lambda member: member in _BYTES_LIKE))
        hint = Union[members]  # noqa: UP007
    adapted = [adapt(member) for member in members]
    if all(new is old for new, old in zip(adapted, members, strict=True)):
        return hint
    if not any(has_variable(member) for member in adapted):
        return Union[tuple(adapted)]  # noqa: UP007 - made at run time
    # A text may name a variable or be meant as it is: a variable of the right class comes first.
    ordered = sorted((m for m in adapted if m is not type(None)), key=lambda member: not has_variable(member))
    union = ordered[0] if len(ordered) == 1 else Annotated[Union[tuple(ordered)], Field(union_mode="left_to_right")]  # noqa: UP007
    return union if len(ordered) == len(adapted) else Union[union, None]  # noqa: UP007


@typing.runtime_checkable
class ArrayLike(typing.Protocol):
    """What numpy makes an array of at once: its own arrays, a table's columns, another library's tensors."""

    def __array__(self) -> Any:
        """Numpy's protocol."""


def _is_array_like(hint: Any) -> bool:
    """Whether it is numpy's ArrayLike, or that or None: a union of protocols that no JSON could be checked by."""
    numpys = sys.modules.get("numpy.typing")
    if numpys is None:
        return False
    # Since numpy 2.5 it is an alias with a name, which unions keep.
    members = tuple(member for member in te.get_args(hint) or (hint,) if member is not type(None))
    return members == (te.get_args(numpys.ArrayLike) or (numpys.ArrayLike,))


def _arrays(hint: Any) -> Any:
    """What stands for ArrayLike: numbers, and lists of them or of such lists; in a notebook a variable's name, too."""
    number = bool | int | float
    plain: Any = list[number | list[Any]] | number
    named: Any = () if get_variable_resolver() is None else (ArrayLike,)
    nothing = (None,) if type(None) in te.get_args(hint) else ()
    return Union[(*named, plain, *nothing)]


def _adapt_typed_dict(hint: Any) -> Any:
    """Pydantic refuses typing.TypedDict before Python 3.12, and warns of fields that are read-only: make one anew."""
    kind = typed_dict_of(hint)
    foreign = typing.is_typeddict(kind) and sys.version_info < (3, 12)
    if not foreign and not has_read_only(hint) and _probe(hint) is None:
        return hint
    found = typed_dict_fields(hint)
    try:
        fields = {name: (adapt(field.hint), field.required) for name, field in found.items()}
    except RecursionError:
        if not foreign:
            return _carried(hint)
        raise NotForJSONError(
            f"{type_name(hint)} (before Python 3.12 a TypedDict that refers to itself must be typing_extensions.TypedDict)"
        ) from None
    made = make_typed_dict(kind.__name__, fields, getattr(kind, "__pydantic_config__", None))
    made.__doc__, made.__module__ = kind.__doc__, kind.__module__
    return made


def _variable(hint: Any, reason: str) -> Any:
    if get_variable_resolver() is None:
        raise NotForJSONError(f"{type_name(hint)}{f' ({reason})' if reason else ''}")
    return Annotated[Any, Variable(hint)]


def has_variable(hint: Any) -> bool:
    """Whether a notebook variable stands somewhere in the hint."""
    return any(isinstance(part, Variable) for part in _parts(hint))


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in (*te.get_args(hint), *getattr(hint, "__metadata__", ())):
        if part is not hint:
            yield from _parts(part)
    if te.is_typeddict(hint):
        for field in hint.__annotations__.values():
            yield from _parts(field)


def _probe(hint: Any) -> str | None:
    try:
        return _cached_probe(hint)
    except TypeError:  # not hashable
        return _cached_probe.__wrapped__(hint)


@functools.lru_cache(maxsize=256)
def _cached_probe(hint: Any) -> str | None:
    """Why pydantic can't validate the hint from JSON; None where it can."""
    from nbtoolkit.schema.generate import NoTitles

    try:
        TypeAdapter(hint).json_schema(schema_generator=NoTitles)
    except PydanticUndefinedAnnotation as error:
        raise UnresolvedError(str(error.message)) from None
    except PydanticUserError as error:
        if error.code == "class-not-fully-defined":
            raise UnresolvedError(error.message.split("\n")[0]) from None
        return "" if error.code == "schema-for-unknown-type" else error.message.split("\n")[0]
    except Exception as error:  # noqa: BLE001 - a class's own hooks may raise anything
        return f"{type(error).__name__}: {error}".split("\n")[0]
    return None
