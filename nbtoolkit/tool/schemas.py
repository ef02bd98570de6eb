"""Tool schemas in the forms that models' interfaces want, cached so that listing them again costs nothing.

A cached schema is shared: its outer keys may be changed by whoever asked, its parameters refuse to be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.tool.base import ToolBase

__all__ = ["FORMATS", "FrozenDict", "FrozenList", "SchemaCache"]


def _refuse(_self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("this schema is shared by all who list the tools; change a copy.deepcopy of it instead")


class FrozenDict(dict[str, Any]):
    """A dict that refuses to change; ``copy.deepcopy`` of it is an ordinary one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self.items()),))


class FrozenList(list[Any]):
    """A list that refuses to change; ``copy.deepcopy`` of it is an ordinary one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __copy__(self) -> list[Any]:
        return list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))


def freeze(value: Any) -> Any:
    """The same JSON value, refusing to change at any depth."""
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return value


Parts = tuple[str, str, FrozenDict]


# Each takes many at once: a thousand calls of a small function would cost more than what they make.
def _openai(several: Iterable[Parts]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
        for name, description, parameters in several
    ]


def _openai_responses(several: Iterable[Parts]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "name": name, "description": description, "parameters": parameters}
        for name, description, parameters in several
    ]


def _anthropic(several: Iterable[Parts]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description, "input_schema": parameters}
        for name, description, parameters in several
    ]


def _gemini(several: Iterable[Parts]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description, "parametersJsonSchema": parameters}
        for name, description, parameters in several
    ]


def _mcp(several: Iterable[Parts]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description, "inputSchema": parameters}
        for name, description, parameters in several
    ]


Form = Callable[[Iterable[Parts]], list[dict[str, Any]]]
FORMATS: dict[str, Form] = {
    "openai": _openai,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}


class SchemaCache:
    """The frozen parts of each tool's schema, kept as long as the tool object is the same."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[ToolBase, Parts]] = {}

    def schema(self, tool: ToolBase, form: Form) -> dict[str, Any]:
        """The tool's schema in one form."""
        return self.schemas([tool], form)[0]

    def schemas(self, tools: Sequence[ToolBase], form: Form) -> list[dict[str, Any]]:
        """The tools' schemas in one form."""
        held = self._parts
        missing = [tool for tool in tools if id(tool) not in held]
        for tool in missing:
            held[id(tool)] = (tool, (tool.name, tool.description, freeze(tool.input_schema)))
        return form([held[id(tool)][1] for tool in tools])

    def drop(self, tool: ToolBase) -> None:
        """Forget one tool."""
        self._parts.pop(id(tool), None)

    def clear(self) -> None:
        """Forget all."""
        self._parts.clear()
