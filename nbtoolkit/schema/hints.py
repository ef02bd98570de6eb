"""From the hints that people write to hints that pydantic validates and JSON can carry.

`resolve` evaluates hints that are strings, one bad hint never costing the others; `adapt` replaces what pydantic can't
take by its nearest equivalent, and what JSON can't carry by a notebook variable.
"""

from __future__ import annotations

import base64
import collections
import enum
import functools
import inspect
import numbers
import sys
import types
import typing
from collections import abc
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import typing_extensions as te
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    TypeAdapter,
)
from pydantic_core import PydanticSerializationError, to_json

from nbtoolkit.schema.variables import Variable, get_variable_resolver, type_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import ConfigDict

__all__ = [
    "NotForJSONError",
    "UnresolvedError",
    "adapt",
    "has_variable",
    "innermost",
    "is_unpack",
    "list_of",
    "make_typed_dict",
    "resolve",
    "typed_dict_fields",
]

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
_UNIONS: tuple[Any, ...] = (Union, types.UnionType)
_REQUIRED: tuple[Any, ...] = (typing.Required, te.Required)
_NOT_REQUIRED: tuple[Any, ...] = (typing.NotRequired, te.NotRequired)
_QUALIFIERS: frozenset[Any] = frozenset({te.ReadOnly, typing.Final, te.Final, *_REQUIRED, *_NOT_REQUIRED})
# Pydantic compares a choice with the JSON that was sent, and only these are equal to theirs.
_SAME_IN_JSON = (str, int, float, bool, type(None))
_MAPPINGS = frozenset({dict, collections.OrderedDict, collections.defaultdict, abc.Mapping, abc.MutableMapping})


class UnresolvedError(Exception):
    """A hint names something that doesn't exist yet."""


class NotForJSONError(Exception):
    """A hint that JSON can't carry, and no notebook whose variables could stand in."""


# ------------------------------------------------------------------------------------------- hints that are strings


def innermost(func: Any) -> Any:
    """The function or class inside partials, bound methods, decorators and callable objects."""
    while True:
        if isinstance(func, functools.partial):
            func = func.func
        elif isinstance(func, types.MethodType):
            func = func.__func__
        elif hasattr(func, "__wrapped__"):
            func = func.__wrapped__
        elif isinstance(func, type) or hasattr(func, "__globals__"):
            return func
        elif isinstance(call := inspect.getattr_static(type(func), "__call__", None), types.FunctionType):
            func = call
        else:
            return func


def resolve(func: Any, annotations: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Evaluate annotations in the function's module, its enclosing scopes or the notebook's namespace.

    Returns the hints, and for each name that couldn't be evaluated (yet) the reason.
    """
    if all(isinstance(hint, type) for hint in annotations.values()):
        return dict(annotations), {}
    inner = innermost(func)
    scope = getattr(inner, "__globals__", None)
    if scope is None:
        scope = vars(sys.modules.get(getattr(inner, "__module__", ""), types))
    try:
        return _evaluate(inner, annotations, scope, {}), {}
    except Exception:  # noqa: BLE001 - an annotation may hold any expression
        more = _enclosing(inner)
    hints: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    for name, annotation in annotations.items():
        try:
            hints.update(_evaluate(inner, {name: annotation}, scope, more))
        except Exception as error:  # noqa: BLE001 - an annotation may hold any expression
            unresolved[name] = f"{type(error).__name__}: {error}"
    return hints, unresolved


def _evaluate(
    inner: Any, annotations: Mapping[str, Any], scope: dict[str, Any], more: Mapping[str, Any]
) -> dict[str, Any]:
    holder = types.SimpleNamespace(__annotations__=dict(annotations), __module__=inner.__module__)
    # Python 3.12's first releases don't look at a function's own type parameters.
    own = {parameter.__name__: parameter for parameter in getattr(inner, "__type_params__", ())}
    return typing.get_type_hints(holder, scope, {**more, **own}, include_extras=True)


def _enclosing(inner: Any) -> dict[str, Any]:
    """Names of the scopes around a function, the outermost first: notebook, enclosing functions, closure."""
    names: dict[str, Any] = {}
    resolver = get_variable_resolver()
    if resolver is not None and getattr(inner, "__module__", None) == "__main__":
        names.update(resolver.namespace())
    qualified = getattr(inner, "__qualname__", "")
    if ".<locals>." in qualified:
        frames = []
        frame = inspect.currentframe()
        while frame is not None:
            if qualified.startswith(f"{frame.f_code.co_qualname}.<locals>.") and frame.f_globals is getattr(
                inner, "__globals__", None
            ):
                frames.append(frame)
            frame = frame.f_back
        for outer in reversed(frames):
            names.update(outer.f_locals)
    for name, cell in zip(
        getattr(getattr(inner, "__code__", None), "co_freevars", ()),
        getattr(inner, "__closure__", None) or (),
        strict=False,
    ):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    return names


# --------------------------------------------------------------------------------------------- what JSON can carry


def adapt(hint: Any) -> Any:
    """Give the hint that stands for ``hint`` in validation: the same, an equivalent, or a notebook variable."""
    if isinstance(hint, type) and hint in _PLAIN:
        return hint
    if isinstance(hint, (str, typing.ForwardRef)):
        raise UnresolvedError(str(hint))
    if isinstance(hint, abc.Hashable) and _hashes(hint) and hint in _SUBSTITUTES:
        return _SUBSTITUTES[hint]
    origin = te.get_origin(hint)
    if origin is Annotated:
        return _adapt_annotated(hint)
    if origin in _UNIONS:
        return _adapt_union(hint)
    if hint is Any:
        return hint
    if origin is Literal:
        return _adapt_choices(hint, {choice: choice for choice in te.get_args(hint)})
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and hint.__members__:
        return _adapt_choices(hint, {member: member.value for member in hint})
    if origin in _QUALIFIERS:
        return adapt(te.get_args(hint)[0])
    if te.is_typeddict(hint):
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


def _carried(hint: Any) -> Any:
    reason = _probe(hint)
    return hint if reason is None else _variable(hint, reason)


def _adapt_class(hint: Any, origin: Any) -> Any:
    args = te.get_args(hint)
    if origin in _MAPPINGS and args and (reason := _no_key(args[0])):
        return _variable(hint, reason)
    if (origin or hint) in _ITERABLES | _ITERATORS:
        items = list_of(adapt(args[0] if args else Any))
        return items if (origin or hint) in _ITERABLES else Annotated[items, AfterValidator(iter)]
    if origin is not None and args:
        adapted = tuple(arg if arg is Ellipsis else adapt(arg) for arg in args)
        if any(new is not old for new, old in zip(adapted, args, strict=True)):
            hint = origin[adapted]
        elif origin in _PLAIN:
            return hint
    return _carried(hint)


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
    return Annotated[(adapted, *metadata)]


def _adapt_union(hint: Any) -> Any:
    members = te.get_args(hint)
    adapted = [adapt(member) for member in members]
    if all(new is old for new, old in zip(adapted, members, strict=True)):
        return hint
    if not any(has_variable(member) for member in adapted):
        return Union[tuple(adapted)]  # noqa: UP007 - made at run time
    # A text may name a variable or be meant as it is: a variable of the right class comes first.
    ordered = sorted((m for m in adapted if m is not type(None)), key=lambda member: not has_variable(member))
    union = ordered[0] if len(ordered) == 1 else Annotated[Union[tuple(ordered)], Field(union_mode="left_to_right")]  # noqa: UP007
    return union if len(ordered) == len(adapted) else Union[union, None]  # noqa: UP007


def is_unpack(hint: Any) -> bool:
    """Whether the hint is ``Unpack[…]``, typing's or typing_extensions'."""
    return te.get_origin(hint) in (typing.Unpack, te.Unpack)


def typed_dict_fields(hint: Any) -> dict[str, tuple[Any, bool]]:
    """Field → (hint, required) of a TypedDict of either kind."""
    fields = {}
    for name, field in te.get_type_hints(hint, include_extras=True).items():
        required = name in hint.__required_keys__
        # Under `from __future__ import annotations` the class itself doesn't know about its fields' qualifiers.
        bare = field
        while (origin := te.get_origin(bare)) in _QUALIFIERS:
            required = origin in _REQUIRED or (required and origin not in _NOT_REQUIRED)
            bare = te.get_args(bare)[0]
        fields[name] = (bare, required)
    return fields


def _adapt_typed_dict(hint: Any) -> Any:
    """Pydantic refuses typing.TypedDict before Python 3.12: make it one of typing_extensions."""
    if not (typing.is_typeddict(hint) and sys.version_info < (3, 12)) and _probe(hint) is None:
        return hint
    try:
        fields = {name: (adapt(field), required) for name, (field, required) in typed_dict_fields(hint).items()}
    except RecursionError:
        raise NotForJSONError(
            f"{type_name(hint)} (before Python 3.12 a TypedDict that refers to itself must be typing_extensions.TypedDict)"
        ) from None
    made = make_typed_dict(hint.__name__, fields, getattr(hint, "__pydantic_config__", None))
    made.__doc__, made.__module__ = hint.__doc__, hint.__module__
    return made


def make_typed_dict(name: str, fields: Mapping[str, tuple[Any, bool]], config: ConfigDict | None = None) -> Any:
    """Make a TypedDict of field → (hint, required); a field's name may be any text."""
    make: Any = te.TypedDict
    made = make(name, {key: hint if required else te.NotRequired[hint] for key, (hint, required) in fields.items()})
    if config is not None:
        made.__pydantic_config__ = config
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
