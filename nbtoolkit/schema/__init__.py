"""From a callable to what a model sees and sends: name, description, input schema, validated arguments.

`Signature` serves functions, `JSONSchemaValidator` tools that bring only a schema, `parse_arguments` reads the text that
a model wrote. Nothing here imports a notebook; `set_variable_resolver` is how one offers its variables.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.schema.generate import NoTitles
    from nbtoolkit.schema.given import JSONSchemaValidator
    from nbtoolkit.schema.repair import parse_arguments
    from nbtoolkit.schema.signature import STATE_PARAMETER, Signature, check_name
    from nbtoolkit.schema.variables import VariableResolver, get_variable_resolver, set_variable_resolver

__all__ = [
    "STATE_PARAMETER",
    "Arguments",
    "JSONSchemaValidator",
    "NoTitles",
    "Signature",
    "VariableResolver",
    "check_name",
    "get_variable_resolver",
    "parse_arguments",
    "set_variable_resolver",
]

# Name → the module that holds it.
_HOMES = {
    "STATE_PARAMETER": "signature",
    "Arguments": "arguments",
    "JSONSchemaValidator": "given",
    "NoTitles": "generate",
    "Signature": "signature",
    "VariableResolver": "variables",
    "check_name": "signature",
    "get_variable_resolver": "variables",
    "parse_arguments": "repair",
    "set_variable_resolver": "variables",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
