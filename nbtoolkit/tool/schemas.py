"""Tool schemas in the forms that models' interfaces want, cached so that listing them again costs nothing.

A cached schema is shared: its outer keys may be changed by whoever asked, its parameters refuse to be.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

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


def _openai(parts: Parts) -> dict[str, Any]:
    name, description, parameters = parts
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _openai_responses(parts: Parts) -> dict[str, Any]:
    name, description, parameters = parts
    return {"type": "function", "name": name, "description": description, "parameters": parameters}


def _anthropic(parts: Parts) -> dict[str, Any]:
    name, description, parameters = parts
    return {"name": name, "description": description, "input_schema": parameters}


def _gemini(parts: Parts) -> dict[str, Any]:
    name, description, parameters = parts
    return {"name": name, "description": description, "parametersJsonSchema": parameters}


def _mcp(parts: Parts) -> dict[str, Any]:
    name, description, parameters = parts
    return {"name": name, "description": description, "inputSchema": parameters}


FORMATS: dict[str, Callable[[Parts], dict[str, Any]]] = {
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

    def schema(self, tool: ToolBase, form: Callable[[Parts], dict[str, Any]]) -> dict[str, Any]:
        """The tool's schema in one form."""
        held = self._parts.get(id(tool))
        if held is None:
            held = (tool, (tool.name, tool.description, freeze(tool.input_schema)))
            self._parts[id(tool)] = held
        return form(held[1])

    def drop(self, tool: ToolBase) -> None:
        """Forget one tool."""
        self._parts.pop(id(tool), None)

    def clear(self) -> None:
        """Forget all."""
        self._parts.clear()
