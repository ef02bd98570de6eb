"""Tool schemas in the forms that models' interfaces want, cached so that listing them again costs nothing.

Each keeps to its provider's limits. A cached schema is shared: its outer keys may be changed by whoever asked, its
parameters refuse to be.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.schema.frozen import FrozenDict, freeze

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.limits import Fitted, SchemaNote

__all__ = ["FORMATS", "Form", "SchemaCache", "form_of"]


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
    known: Iterable[str] = FORMATS
    if strict:
        from nbtoolkit.tool.limits import STRICT

        known = STRICT
    if name not in known:
        what = "schema format with a strict mode" if strict else "schema format"
        raise ValueError(f"{name!r} is no {what}; expected one of {', '.join(known)}")
    return FORMATS[name]


@dataclass(frozen=True, slots=True)
class _Listing:
    """Tools, what is told of them, and what of that their provider's limits changed.

    ``told`` are the innermost dicts that a caller may change, ``wrapped`` where each lies in another one.
    """

    tools: list[ToolBase]
    told: list[dict[str, Any]]
    wrapped: bool
    fitted: list[Fitted]

    def copies(self) -> list[dict[str, Any]]:
        """All with outer keys of their own; a copied dict costs less than one that is made key by key."""
        if self.wrapped:
            return [{"type": "function", "function": function.copy()} for function in self.told]
        return [schema.copy() for schema in self.told]


class SchemaCache:
    """The frozen parts of each tool's schema, kept as long as the tool object is the same."""

    def __init__(self) -> None:
        self._own: dict[int, tuple[ToolBase, Parts]] = {}
        self._fitted: dict[tuple[str, bool], dict[int, tuple[Parts, Fitted]]] = {}
        # The last listing in each form.
        self._last: dict[tuple[str, bool], _Listing] = {}

    def schema(self, tool: ToolBase, form: Form) -> dict[str, Any]:
        """The tool's schema in one form."""
        return self.schemas([tool], form)[0]

    def schemas(self, tools: Sequence[ToolBase], form: Form, *, strict: bool = False) -> list[dict[str, Any]]:
        """The tools' schemas in one form."""
        return self._listing(tools, form, strict=strict).copies()

    def fitted(self, tool: ToolBase, form: Form, *, strict: bool = False) -> Fitted:
        """What of the tool is sent in that form, and what had to be changed."""
        return self._fit(tool, form, strict=strict)[1]

    def notes(self, tools: Sequence[ToolBase], form: Form, *, strict: bool = False) -> list[SchemaNote]:
        """What had to be changed of the tools in that form."""
        notes = [note for fitted in self._listing(tools, form, strict=strict).fitted for note in fitted.notes]
        from nbtoolkit.tool.limits import LIMITS, STRICT, SchemaNote

        limits = (STRICT if strict else LIMITS)[form.name]
        if limits.max_tools is not None and len(tools) > limits.max_tools:
            text = f"{limits.provider} takes {limits.max_tools} tools in one request; switch groups off"
            notes.append(SchemaNote(f"{len(tools)} tools", "", text))
        return notes

    def _listing(self, tools: Sequence[ToolBase], form: Form, *, strict: bool) -> _Listing:
        """What is told of each tool; one that can't be told of costs itself, with a warning, and no other."""
        last = self._last.get((form.name, strict))
        # Identity is compared first, so a thousand tools that are the same cost next to nothing.
        if last is not None and last.tools == tools:
            return last
        found: list[tuple[Parts, Fitted]] = []
        for tool in tools:
            try:
                found.append(self._fit(tool, form, strict=strict))
            except Exception as fault:  # noqa: BLE001 - whatever ails one tool must not take the others with it
                reason = str(fault).partition("\n")[0]
                text = (
                    f"the tool {tool.name!r} is left out: its schema can't be made ({type(fault).__name__}: {reason})"
                )
                warnings.warn(text, ToolkitWarning, stacklevel=2)
        made = form.make([parts for parts, _ in found])
        wrapped = form.name == "openai"
        told = [schema["function"] for schema in made] if wrapped else made
        if strict:
            for (_, fitted), each in zip(found, told, strict=True):
                each["strict"] = fitted.strict
        listing = _Listing(list(tools), told, wrapped, [fitted for _, fitted in found])
        if len(found) == len(tools):
            self._last[form.name, strict] = listing
        return listing

    def _fit(self, tool: ToolBase, form: Form, *, strict: bool) -> tuple[Parts, Fitted]:
        held = self._fitted.setdefault((form.name, strict), {})
        if id(tool) not in held:
            name, description, own = self._parts(tool)
            from nbtoolkit.tool.limits import fit

            fitted = fit(name, own, form.name, strict=strict)
            parameters = own if fitted.parameters is own else freeze(fitted.parameters)
            held[id(tool)] = ((fitted.name, description, parameters), fitted)
        return held[id(tool)]

    def _parts(self, tool: ToolBase) -> Parts:
        held = self._own.get(id(tool))
        if held is None:
            held = self._own[id(tool)] = (tool, (tool.name, tool.description, freeze(tool.input_schema)))
        return held[1]

    def refresh(self, tool: ToolBase) -> None:
        """Forget one tool where its schema is another by now."""
        held = self._own.get(id(tool))
        if held is not None and held[1][2] != tool.input_schema:
            self.drop(tool)

    def drop(self, tool: ToolBase) -> None:
        """Forget one tool."""
        if self._own.pop(id(tool), None) is not None:
            self._last.clear()
            for held in self._fitted.values():
                held.pop(id(tool), None)

    def clear(self) -> None:
        """Forget all."""
        self._own.clear()
        self._last.clear()
        self._fitted.clear()
