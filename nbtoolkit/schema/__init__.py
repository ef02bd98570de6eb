"""From a callable to what a model sees and sends: name, description, input schema, validated arguments.

`Signature` serves functions, `JSONSchemaValidator` tools that bring only a schema, `parse_arguments` reads the text that
a model wrote. Nothing here imports a notebook; `set_variable_resolver` is how one offers its variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.faces import face

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
    "STATE_PARAMETER": "nbtoolkit.schema.signature",
    "Arguments": "nbtoolkit.schema.arguments",
    "JSONSchemaValidator": "nbtoolkit.schema.given",
    "NoTitles": "nbtoolkit.schema.generate",
    "Signature": "nbtoolkit.schema.signature",
    "VariableResolver": "nbtoolkit.schema.variables",
    "check_name": "nbtoolkit.schema.signature",
    "get_variable_resolver": "nbtoolkit.schema.variables",
    "parse_arguments": "nbtoolkit.schema.repair",
    "set_variable_resolver": "nbtoolkit.schema.variables",
}

__getattr__, __dir__ = face(__name__, _HOMES)
