"""One validated call's arguments: as JSON, and as the Python objects that the function wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Arguments", "copied"]


class Binder(Protocol):
    """Puts values into the places where a callable takes them."""

    keywords_only: bool

    def bind(self, values: dict[str, Any], injected: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Give positional and keyword arguments."""


class Arguments:
    """One validated call.

    ``json`` is the tool's input: repaired, validated, strict JSON, defaults filled in (one that JSON can't carry is left
    out; NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity"). It shares nothing with what the caller
    gave or with the Python objects, so either may be changed. ``mended`` says in words what was mended. ``variables``
    maps the path of an argument to the notebook's object that it names.
    """

    __slots__ = ("_binder", "_values", "json", "mended", "variables")

    def __init__(
        self,
        json: dict[str, Any],
        values: dict[str, Any],
        binder: Binder | None = None,
        mended: tuple[str, ...] = (),
        variables: dict[str, Any] | None = None,
    ) -> None:
        self.json = json
        self.mended = mended
        self.variables: dict[str, Any] = {} if variables is None else variables
        self._values = values
        self._binder = binder

    def bind(self, injected: Mapping[str, Any] | None = None) -> tuple[list[Any], dict[str, Any]]:
        """Give ``args, kwargs`` as the function wants them.

        The list and the dict are new each time, the objects in them are this validation's own: a second run of a tool
        that changes its arguments wants a second validation. An argument that was left out stays out, so that the
        function's own default applies. ``injected`` holds values for hidden parameters.
        """
        if self._binder is None:
            return [], {**self._values, **injected} if injected else dict(self._values)
        return self._binder.bind(self._values, injected or {})

    def give_to(self, func: Callable[..., Any], injected: Mapping[str, Any] | None = None) -> Any:
        """Call the function with them: what ``bind`` gives, without the copies that a call makes anyway."""
        binder = self._binder
        if not injected and (binder is None or binder.keywords_only):
            return func(**self._values)
        args, kwargs = self.bind(injected)
        return func(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Arguments({self.json!r})"


def copied(value: Any) -> Any:
    """A JSON value that shares no list or dict with the first; deepcopy costs ten times as much."""
    if type(value) is dict:
        return {key: each if type(each) in _SCALARS else copied(each) for key, each in value.items()}
    if type(value) is list:
        return [each if type(each) in _SCALARS else copied(each) for each in value]
    return value


_SCALARS = frozenset({str, int, float, bool, type(None)})
