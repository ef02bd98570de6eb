"""Hints that are strings, evaluated: one bad hint never costs the others.

A name is looked up in the function's module, then in the scopes around it, and in the notebook's namespace for a function
of a cell. What doesn't exist yet is told, so that it can be looked up again.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import typing
from typing import TYPE_CHECKING, Any

from nbtoolkit.schema.variables import get_variable_resolver

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UnresolvedError", "innermost", "resolve"]


class UnresolvedError(Exception):
    """A hint names something that doesn't exist yet."""


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
        more = _enclosing(func, inner, scope)
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


def _enclosing(func: Any, inner: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Names of the scopes around a function, the outermost first: notebook, enclosing functions, closure, classes."""
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
    for owner in _owners(func, inner, {**scope, **names}):
        # A method called list must not stand for the type.
        names.update({n: value for n, value in vars(owner).items() if n not in scope and not hasattr(builtins, n)})
    return names


def _owners(func: Any, inner: Any, names: Mapping[str, Any]) -> list[type]:
    """The classes in whose bodies a function was written, the outermost first."""
    while isinstance(func, functools.partial):
        func = func.func
    bound = getattr(func, "__self__", None)
    if bound is not None and not isinstance(bound, types.ModuleType):
        return list(reversed((bound if isinstance(bound, type) else type(bound)).__mro__))
    owners: list[type] = []
    *path, last = getattr(inner, "__qualname__", "").rpartition("<locals>.")[2].split(".")
    found: Any = None
    for name in [*path, last] if isinstance(inner, type) else path:
        found = names.get(name) if found is None else vars(found).get(name)
        if not isinstance(found, type):
            break
        owners.append(found)
    return owners
