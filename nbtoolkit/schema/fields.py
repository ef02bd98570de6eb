"""The fields that a parameter gives its validator, and the names that JSON has for them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from nbtoolkit.schema.parameters import EXTRAS

if TYPE_CHECKING:
    from nbtoolkit.schema.parameters import Parameter

__all__ = ["aliases_of", "fields_of", "key_of", "said_beside"]


def fields_of(parameter: Parameter) -> list[tuple[str, Any, bool]]:
    """The fields that a parameter gives: name, hint, whether a call must hold it."""
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        if isinstance(parameter.hint, dict):
            return [(name, hint, required) for name, (hint, required) in parameter.hint.items()]
        return [(EXTRAS, dict[str, Any] if parameter.hint is Any else parameter.hint, False)]
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL and parameter.hint is Any:
        return [(parameter.name, list[Any], False)]
    return [(parameter.name, parameter.field, parameter.required)]


def key_of(name: str, hint: Any) -> str:
    """The name that JSON has for a field: an alias where ``Field()`` gives one."""
    for info in getattr(hint, "__metadata__", ()):
        if isinstance(info, FieldInfo):
            alias = info.validation_alias or info.alias
            if isinstance(alias, AliasChoices):
                alias = next((choice for choice in alias.choices if isinstance(choice, str)), None)
            if isinstance(alias, str):
                return alias
    return name


def aliases_of(hint: Any, key: str) -> list[str]:
    """Other names under which JSON may hold a field."""
    return [
        choice
        for info in getattr(hint, "__metadata__", ())
        if isinstance(info, FieldInfo) and isinstance(info.validation_alias, AliasChoices)
        for choice in info.validation_alias.choices
        if isinstance(choice, str) and choice != key
    ]


def said_beside(hint: Any) -> str:
    """What a text or a ``Doc`` in ``Annotated`` says of the field; a ``Field`` in it has the last word elsewhere."""
    for said in getattr(hint, "__metadata__", ()):
        text = getattr(said, "documentation", None) if type(said).__name__ == "Doc" else said
        if isinstance(text, str):
            return text
    return ""
