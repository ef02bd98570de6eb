"""What a callable takes: its parameters, which of them a model sees, and how values get into their places."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import Annotated, Any

import typing_extensions as te
from pydantic import Field
from pydantic.fields import FieldInfo

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.schema.hints import NotForJSONError, adapt, list_of
from nbtoolkit.schema.resolving import UnresolvedError, innermost, resolve
from nbtoolkit.schema.typed_dicts import is_unpack, typed_dict_fields

if te.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["EXTRAS", "MISSING", "Parameter", "Parameters"]

MISSING: Any = inspect.Parameter.empty
# The field that holds what ``**kwargs`` takes; no parameter can have this name.
EXTRAS = "**"

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _infos(hint: Any) -> list[FieldInfo]:
    return [info for info in getattr(hint, "__metadata__", ()) if isinstance(info, FieldInfo)]


class Parameter:
    """One parameter that a model sees."""

    __slots__ = ("annotation", "default", "hint", "kind", "name", "pending")

    def __init__(self, name: str, kind: inspect._ParameterKind, annotation: Any, default: Any) -> None:
        self.name = name
        self.kind = kind
        self.annotation = annotation  # resolved, as the person wrote it
        self.hint: Any = Any  # adapted
        self.default = default
        self.pending = ""  # why the hint couldn't be used yet

    @property
    def field(self) -> Any:
        """The hint for the validator, with what a ``Field()`` given as the default says."""
        if isinstance(self.default, FieldInfo):
            return Annotated[self.hint, self.default]
        if self.default is not MISSING and any(not info.is_required() for info in _infos(self.hint)):
            # Two defaults: the function's own is the one that a direct call would use.
            return Annotated[self.hint, Field(default=self.default)]
        return self.hint

    @property
    def has_field_default(self) -> bool:
        """Whether pydantic fills the default in, because the function can't."""
        return any(not info.is_required() for info in _infos(self.field))

    @property
    def required(self) -> bool:
        """Whether a call must hold the argument."""
        if self.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            return False
        return (self.default is MISSING or isinstance(self.default, FieldInfo)) and not self.has_field_default


class Parameters:
    """The parameters of a callable; iterates over those that a model sees.

    ``hidden`` holds the names that the callable takes and a model doesn't see. Raises DeveloperOrientedException for a
    callable without a readable signature and for hints that nothing can carry.
    """

    def __init__(self, func: Callable[..., Any], name: str, hidden: Collection[str], *, hints: bool = True) -> None:
        self.name = name
        self.func = func
        signature = _signature(func, name)
        # What partial fixes by name is fixed: a model must not undo it.
        fixed = func.keywords if isinstance(func, functools.partial) else {}
        self._all = [p for p in signature.parameters.values() if p.name not in fixed]
        if _dispatches(func) and self._all and self._all[0].kind in _POSITIONAL:
            self._all[0] = self._all[0].replace(kind=inspect.Parameter.POSITIONAL_ONLY)
        self.hidden = frozenset(p.name for p in self._all if p.name in hidden)
        shown = [_overloaded(func, p) for p in self._all if p.name not in self.hidden]
        # Names that ``**kwargs`` must not carry: the callable, or what it wraps, would take them for its own parameters.
        named = (p.name for p in self._all if p.kind not in (p.POSITIONAL_ONLY, p.VAR_KEYWORD))
        self.out_of_reach = frozenset({EXTRAS, *hidden, *fixed, *named})
        self.unhinted = [_starred(p) for p in shown if p.annotation is MISSING]
        self.visible = [Parameter(p.name, p.kind, p.annotation, p.default) for p in shown]
        self.keywords_only = all(p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in self._all)
        # Those whose hints name something that doesn't exist yet; until then they accept anything.
        self.pending: list[Parameter] = []
        self.takes_any_keyword = any(p.kind is p.VAR_KEYWORD for p in self._all)
        if hints:
            self.resolve()

    def resolve(self) -> bool:
        """Resolve the hints that aren't yet; tells whether one could be."""
        todo = [
            p
            for p in self.visible
            if p.hint is Any and p.annotation is not MISSING and (p.pending or p.annotation is not Any)
        ]
        hints, unresolved = resolve(self.func, {p.name: p.annotation for p in todo})
        refused: list[str] = []
        progress = False
        for parameter in todo:
            parameter.pending = unresolved.get(parameter.name, "")
            if parameter.pending:
                continue
            hint = hints[parameter.name]
            try:
                parameter.hint = _field_hint(parameter, hint)
            except UnresolvedError as error:
                parameter.pending = str(error)
            except NotForJSONError as error:
                refused.append(f"{parameter.name!r}: {error}")
            else:
                parameter.annotation = hint
                progress = True
        self.pending = [parameter for parameter in self.visible if parameter.pending]
        if refused:
            one = len(refused) == 1
            raise DeveloperOrientedException(
                f"{self.name}: JSON can't carry the parameter{'' if one else 's'} {', '.join(refused)}. Ways out: in a notebook, "
                "%load_ext nbtoolkit first, then such a parameter takes the name of a variable; fix the value with "
                f"functools.partial({self.name}, {refused[0].split(chr(39))[1]}=…); or take something that JSON carries (a "
                "path, an id, a list) and make the object inside the function."
            )
        return progress

    def bind(self, values: Mapping[str, Any], injected: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Put values into their places."""
        if self.keywords_only:
            return [], {**values, **injected} if injected else dict(values)
        given = {**values, **injected}
        extras = given.pop(EXTRAS, {})
        args: list[Any] = []
        rest = next((p.name for p in self._all if p.kind is p.VAR_POSITIONAL), None)
        more = given.pop(rest, ()) if rest is not None else ()
        positional = [p for p in self._all if p.kind in _POSITIONAL]
        if not more:
            positional = [p for p in positional if p.kind is p.POSITIONAL_ONLY]
        while positional and positional[-1].name not in given and not more:
            positional.pop()
        # What was left out before one that is given by position needs its own default.
        args.extend(given.pop(p.name, p.default) for p in positional)
        args.extend(more)
        return args, {**extras, **given}


def _field_hint(parameter: Parameter, hint: Any) -> Any:
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        several = _unpacked(hint)
        return (
            list_of(adapt(hint)) if several is None else list if te.get_origin(several) is not tuple else adapt(several)
        )
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return adapt(hint)
    bare = te.get_args(hint)[0] if te.get_origin(hint) is Annotated else hint
    if is_unpack(bare):
        fields = typed_dict_fields(te.get_args(bare)[0])
        return {name: (adapt(field.hint), field.required) for name, field in fields.items()}
    return types.GenericAlias(dict, (str, adapt(hint)))


def _unpacked(hint: Any) -> Any:
    """What a star or ``Unpack`` stands before in a hint; None where neither does."""
    if is_unpack(hint):
        return te.get_args(hint)[0]
    return types.GenericAlias(tuple, te.get_args(hint)) if getattr(hint, "__unpacked__", False) else None


def _dispatches(func: Any) -> bool:
    """Whether functools chooses the function by its first argument, which it then takes by position alone."""
    while isinstance(func, functools.partial):
        func = func.func
    return isinstance(func, types.FunctionType) and hasattr(func, "register") and hasattr(func, "__wrapped__")


def _is_static(func: Any) -> bool:
    """Whether a function that calls its first parameter self is a static method all the same."""
    *path, name = func.__qualname__.split(".")
    found: Any = types.SimpleNamespace(**getattr(func, "__globals__", {}))
    for part in path:
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return isinstance(found, type) and isinstance(vars(found).get(name), staticmethod)


def _overloaded(func: Any, parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter with the hints of the overloads together, where the function that they stand for has none."""
    if parameter.annotation is not MISSING or not isinstance(inner := innermost(func), types.FunctionType):
        return parameter
    several = [inspect.signature(each).parameters.get(parameter.name) for each in typing.get_overloads(inner)]
    hints = [each.annotation for each in several if each is not None]
    if not hints or MISSING in hints:
        return parameter
    return parameter.replace(annotation=typing.Union[tuple(hints)])  # noqa: UP007 - made at run time


def _starred(parameter: inspect.Parameter) -> str:
    stars = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    return repr(stars + parameter.name)


def _signature(func: Any, name: str) -> inspect.Signature:
    if not callable(func):
        hint = " (use the method of the class or of an object)" if isinstance(func, (classmethod, property)) else ""
        raise DeveloperOrientedException(f"{func!r} can't be called, so it can't be a tool{hint}.")
    try:
        signature = inspect.signature(func)
    except (ValueError, TypeError) as error:
        raise DeveloperOrientedException(
            f"{name}: {func!r} has no readable signature ({error}). Wrap it in a function with hints."
        ) from error
    first = next(iter(signature.parameters), "")
    if isinstance(func, types.FunctionType) and first in ("self", "cls"):
        inner = innermost(func)
        owner = getattr(inner, "__qualname__", "").rpartition(".")[0]
        if _dispatches(func) and not hasattr(func, "dispatch"):
            # A singledispatchmethod of an object: its signature is the function's in the class.
            return signature.replace(parameters=list(signature.parameters.values())[1:])
        if owner and not owner.endswith("<locals>") and not _is_static(inner):
            raise DeveloperOrientedException(
                f"{name}: {inner.__qualname__} is a method without its object. Make a tool of an object's method: "
                f"{owner.rpartition('.')[2]}(…).{inner.__name__}."
            )
    return signature
