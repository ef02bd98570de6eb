"""Tool schemas in the forms that models' interfaces want, cached so that listing them again costs nothing.

Each keeps to its provider's limits. A cached schema is shared: its outer keys may be changed by whoever asked, its
parameters refuse to be.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from nbtoolkit.tool.limits import LIMITS, STRICT, Fitted, SchemaNote, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.tool.base import ToolBase

__all__ = ["FORMATS", "Form", "FrozenDict", "FrozenList", "SchemaCache", "form_of"]


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
        # Left out, this interface would take it for true.
        {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}
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


@dataclass(frozen=True, slots=True)
class Form:
    """One provider's form of a tool, by the name that ``format=`` takes."""

    name: str
    make: Callable[[Iterable[Parts]], list[dict[str, Any]]]


FORMATS: dict[str, Form] = {
    name: Form(name, make)
    for name, make in (
        ("openai", _openai),
        ("openai_responses", _openai_responses),
        ("anthropic", _anthropic),
        ("gemini", _gemini),
        ("mcp", _mcp),
    )
}


def form_of(name: str, *, strict: bool = False) -> Form:
    """The form of that name; ValueError that lists those that there are, or that have a strict mode."""
    known = STRICT if strict else FORMATS
    if name not in known:
        what = "schema format with a strict mode" if strict else "schema format"
        raise ValueError(f"{name!r} is no {what}; expected one of {', '.join(known)}")
    return FORMATS[name]


class SchemaCache:
    """The frozen parts of each tool's schema, kept as long as the tool object is the same."""

    def __init__(self) -> None:
        self._own: dict[int, tuple[ToolBase, Parts]] = {}
        self._fitted: dict[tuple[str, bool], dict[int, tuple[Parts, Fitted]]] = {}

    def schema(self, tool: ToolBase, form: Form) -> dict[str, Any]:
        """The tool's schema in one form."""
        return self.schemas([tool], form)[0]

    def schemas(self, tools: Sequence[ToolBase], form: Form, *, strict: bool = False) -> list[dict[str, Any]]:
        """The tools' schemas in one form."""
        held = self._fit(tools, form, strict=strict)
        made = form.make([held[id(tool)][0] for tool in tools])
        if strict:
            for tool, schema in zip(tools, made, strict=True):
                (schema["function"] if form.name == "openai" else schema)["strict"] = held[id(tool)][1].strict
        return made

    def fitted(self, tool: ToolBase, form: Form, *, strict: bool = False) -> Fitted:
        """What of the tool is sent in that form, and what had to be changed."""
        return self._fit([tool], form, strict=strict)[id(tool)][1]

    def notes(self, tools: Sequence[ToolBase], form: Form, *, strict: bool = False) -> list[SchemaNote]:
        """What had to be changed of the tools in that form."""
        held = self._fit(tools, form, strict=strict)
        notes = [note for tool in tools for note in held[id(tool)][1].notes]
        limits = (STRICT if strict else LIMITS)[form.name]
        if limits.max_tools is not None and len(tools) > limits.max_tools:
            text = f"{limits.provider} takes {limits.max_tools} tools in one request; switch groups off"
            notes.append(SchemaNote(f"{len(tools)} tools", "", text))
        return notes

    def _fit(self, tools: Sequence[ToolBase], form: Form, *, strict: bool) -> dict[int, tuple[Parts, Fitted]]:
        held = self._fitted.setdefault((form.name, strict), {})
        for tool in [tool for tool in tools if id(tool) not in held]:
            name, description, own = self._parts(tool)
            fitted = fit(name, own, form.name, strict=strict)
            parameters = own if fitted.parameters is own else freeze(fitted.parameters)
            held[id(tool)] = ((fitted.name, description, parameters), fitted)
        return held

    def _parts(self, tool: ToolBase) -> Parts:
        held = self._own.get(id(tool))
        if held is None:
            held = self._own[id(tool)] = (tool, (tool.name, tool.description, freeze(tool.input_schema)))
        return held[1]

    def drop(self, tool: ToolBase) -> None:
        """Forget one tool."""
        if self._own.pop(id(tool), None) is not None:
            for held in self._fitted.values():
                held.pop(id(tool), None)

    def clear(self) -> None:
        """Forget all."""
        self._own.clear()
        self._fitted.clear()
