"""Notebook variables as arguments, for what JSON can't carry.

A parameter whose hint JSON can't carry takes the name of a variable, or ``{"$ref": n}`` for the n-th result. The notebook
offers its variables through a resolver; without one such parameters are refused when the tool is made. Private and
dunder names, IPython's own names and modules are never offered or accepted, whatever the resolver says.
"""

from __future__ import annotations

import types
import typing
from contextvars import ContextVar
from typing import Any, Protocol

from pydantic_core import PydanticCustomError, core_schema

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "NAME_OF_VARIABLE",
    "Variable",
    "VariableResolver",
    "as_handle",
    "describe",
    "find_name",
    "get_variable_resolver",
    "result_handle",
    "set_variable_resolver",
    "stand_ins",
    "type_name",
]

# IPython's own, and what ends a kernel.
_RESERVED = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


class VariableResolver(Protocol):
    """How a notebook offers its variables and results."""

    def lookup(self, name: str) -> Any:
        """Give the variable's object; a LookupError that says so where there is none."""

    def names(self, kind: type) -> list[str]:
        """List the public names that hold an instance of the class ``kind``."""

    def namespace(self) -> Mapping[str, Any]:
        """Give the namespace of the cells, where hints that are strings are looked up."""

    def result(self, number: int) -> Any:
        """Give the object that the ``number``-th call returned; a LookupError where there is none."""


NAME_OF_VARIABLE = "Name of a variable in the notebook"

# Tells whether an object stands for an instance of a class where the tool runs; set while arguments are validated.
stand_ins: ContextVar[Callable[[object, Any], bool] | None] = ContextVar("nbtoolkit_stand_ins", default=None)

_resolver: VariableResolver | None = None


def set_variable_resolver(resolver: VariableResolver | None) -> None:
    """Set where variables come from; None for a process without a notebook."""
    global _resolver
    _resolver = resolver


def get_variable_resolver() -> VariableResolver | None:
    """Where variables come from, if anywhere."""
    return _resolver


def describe(value: object) -> str:
    """What a notebook variable is, in a few words: ``DataFrame 10,000 × 12``."""
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and all(isinstance(side, int) for side in shape):
        return f"{kind} {' × '.join(f'{side:,}' for side in shape)}"
    if isinstance(value, list | dict | set | tuple | str | bytes):
        return f"{kind} of {len(value):,}"
    if kind == "Future" and isinstance(result := getattr(value, "type", None), type):
        return f"{kind} of {type_name(result)}"
    return kind


def type_name(kind: Any) -> str:
    """A class or hint as a person writes it."""
    name, args, origin = getattr(kind, "__name__", ""), typing.get_args(kind), typing.get_origin(kind)
    if name and not args and isinstance(kind, (type, typing.TypeVar, typing.NewType)):
        return str(name)
    if args and isinstance(origin, type) and origin.__module__ not in ("builtins", "collections.abc", "collections"):
        return f"{origin.__name__}[{', '.join(map(type_name, args))}]"
    return str(kind).replace("typing.", "").replace("collections.abc.", "")


def as_handle(value: Any) -> int | None:
    """The number in ``{"$ref": n}``."""
    if isinstance(value, dict) and len(value) == 1:
        number = value.get("$ref")
        if type(number) is int:
            return number
    return None


def result_handle(number: int) -> Any:
    """Give the object of a result handle; ValueError where there is none."""
    resolver = _resolver
    if resolver is None:
        raise ValueError('{"$ref": …} names a result of a notebook, and there is no notebook here')
    try:
        return resolver.result(number)
    except LookupError as error:
        raise ValueError(_text(error) or f"there is no result {number}") from None


def find_name(value: object) -> str | None:
    """The public name of a variable that holds exactly this object."""
    resolver = _resolver
    if resolver is None:
        return None
    for name in resolver.names(type(value)):
        if _is_public(name) and resolver.lookup(name) is value:
            return name
    return None


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in _RESERVED


def _text(error: LookupError) -> str:
    # str() of a KeyError is the repr of its key, which is no text for a reader.
    return error.args[0] if error.args and isinstance(error.args[0], str) and " " in error.args[0] else ""


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


class Variable:
    """Metadata for ``Annotated``: JSON holds a variable's name, Python gets its object, an instance of ``kind``."""

    __slots__ = ("kind",)

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], core_schema.CoreSchema]
    ) -> core_schema.CoreSchema:
        """Pydantic's hook for validation."""
        return core_schema.with_info_plain_validator_function(
            self._validate,
            # An object has no JSON form; the argument's JSON is what the model sent.
            serialization=core_schema.plain_serializer_function_ser_schema(lambda _: None),
        )

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> dict[str, Any]:
        """Pydantic's hook for the JSON schema."""
        return {"type": "string", "description": f"{NAME_OF_VARIABLE} holding {_a(type_name(self.kind))}"}

    def _validate(self, value: Any, info: core_schema.ValidationInfo) -> Any:
        found = self._find(value)
        if not self._fits(found):
            held, wanted = type_name(type(found)), type_name(self.kind)
            if held == wanted:
                # pandas' and polars' DataFrame have one name.
                held, wanted = (f"{getattr(each, '__module__', '?')}.{held}" for each in (type(found), self.kind))
            if held == wanted:
                raise _fault(f"its class {held} was defined anew after the tool was made: make the tool anew as well")
            raise _fault(f"it holds {_a(held)}, not {_a(wanted)}{self._hint()}")
        if isinstance(info.context, list):
            info.context.append(found)
        return found

    def _hint(self) -> str:
        holders = self._holders()
        if holders is None:
            return ""
        if not holders:
            return f"; no variable holds {_a(type_name(self.kind))}"
        more = f" and {len(holders) - 10} more" if len(holders) > 10 else ""
        return f"; these hold one: {', '.join(holders[:10])}{more}"

    def _near(self, name: str) -> list[str]:
        """The names like this one; only such as hold what is wanted, where that can be told."""
        holders = self._holders()
        if holders is None:
            holders = [each for each in _resolver.names(object) if _is_public(each)] if _resolver else []
        import difflib

        return difflib.get_close_matches(name, holders, n=3)

    def _holders(self) -> list[str] | None:
        """The public names that hold what is wanted; None where an object can't be told to be one."""
        kind = typing.get_origin(self.kind) or self.kind
        if _resolver is None or not isinstance(kind, type):
            return None
        try:
            return [name for name in _resolver.names(kind) if _is_public(name)]
        except TypeError:  # a protocol that can't be checked at run time
            return None

    def _find(self, value: Any) -> Any:
        if _resolver is None:
            raise _fault("it takes a variable of a notebook, and there is no notebook here")
        number = as_handle(value)
        if number is not None:
            try:
                return result_handle(number)
            except ValueError as error:
                raise _fault(str(error)) from None
        if not isinstance(value, str):
            raise _fault("it takes the name of a variable in the notebook")
        if not _is_public(value):
            raise _fault("only a public variable's plain name is accepted")
        try:
            found = _resolver.lookup(value)
        except LookupError as error:
            said = _text(error) or f"no variable named {value!r}"
            # The nearest name that fits is worth more than a list of all that fit.
            near = self._near(value)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else self._hint()
            raise _fault(said + hint) from None
        if isinstance(found, types.ModuleType):
            raise _fault("it is a module")
        return found

    def _fits(self, value: Any) -> bool:
        kind = typing.get_origin(self.kind) or self.kind
        if kind is Any or not isinstance(kind, type):
            return True
        if (stands_in := stand_ins.get()) is not None and stands_in(value, kind):
            return True
        try:
            return isinstance(value, kind)
        except TypeError:
            # A protocol that can't be checked at run time.
            return True


def _fault(text: str) -> PydanticCustomError:
    # The text goes in as a value: a template would read braces in it.
    return PydanticCustomError("variable", "{reason}", {"reason": text})
