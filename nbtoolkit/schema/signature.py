"""A callable's name, description, input schema and validator.

Making one is cheap: names, kinds and hints are read and judged at once, so that what a programmer must mend is said at
registration; docstring, schema and validator are made when first needed.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError

from nbtoolkit.exception import DeveloperOrientedException, ToolkitWarning
from nbtoolkit.schema.frozen import freeze
from nbtoolkit.schema.parameters import Parameters
from nbtoolkit.schema.resolving import innermost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.schema.core import ModelValidator, ParametersValidator
    from nbtoolkit.schema.docstring import Docstring
    from nbtoolkit.schema.given import JSONSchemaValidator

__all__ = ["STATE_PARAMETER", "Signature", "check_name"]

STATE_PARAMETER = "_agent_state"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def check_name(name: str) -> str:
    """Give a tool's name back if providers take it; else ValueError that proposes one, TypeError for no text."""
    if not isinstance(name, str):
        raise TypeError(f"a tool's name must be a text, but is {name!r}")
    if _NAME.match(name):
        return name
    proposed = re.sub(r"[^a-zA-Z0-9_-]+", "_", name).strip("_")[:64] or "tool"
    raise ValueError(
        f"The tool name {name!r} is refused by LLM providers: 1 to 64 of the characters a-z, A-Z, 0-9, _ and - are "
        f"permitted. Give another, for example name={proposed!r}."
    )


class Signature:
    """A callable's name, description, input schema and validator.

    ``input_schema`` replaces the schema made of the hints: a dict is shown as it is and arguments are checked against it
    and the hints; of a model the function gets the fields. ``hidden`` names parameters that a model doesn't see, beside
    ``_agent_state``; the attribute holds those that the callable has.

    Raises ValueError for a name that providers refuse and DeveloperOrientedException for what can't be made a tool.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | type[BaseModel] | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        self.func = func
        self.name = check_name(_own_name(func) if name is None else name)
        if description is not None and not isinstance(description, str):
            raise DeveloperOrientedException(f"{self.name}: description must be a text, but is {description!r}.")
        self._description = description
        self._docstring: Docstring | None = None
        # A copy that refuses to change, as all schemas that are given out.
        self._given = freeze(input_schema) if isinstance(input_schema, dict) else input_schema
        input_schema = self._given
        self._parameters = Parameters(
            func, self.name, self._out_of_sight(hidden), hints=not isinstance(input_schema, type)
        )
        self.hidden = self._parameters.hidden
        self._validator: ParametersValidator | ModelValidator | None = None
        self._schema_validator: JSONSchemaValidator | None = None
        if input_schema is not None:
            self._check_given(input_schema)
        elif self._parameters.unhinted:
            names = ", ".join(self._parameters.unhinted)
            _warn(f"{self.name}: no type hint for {names}; a model can pass anything there. Give each a hint.")

    @property
    def description(self) -> str:
        """What the tool does, for a model."""
        if self._description is not None:
            return self._description
        return self._documentation().description

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments; it is shared and refuses to be changed."""
        return self._given if isinstance(self._given, dict) else self._built().schema

    def validate(self, arguments: Mapping[str, Any]) -> Arguments:
        """Validate a call; ToolArgumentsError with all faults at once."""
        if self._schema_validator is None:
            validator = self._validator
            if validator is None or self._parameters.pending:
                validator = self._built()
            return validator.validate(arguments)
        checked = self._schema_validator.validate(arguments)
        result = self._built().validate(checked.json)
        result.mended = (*checked.mended, *result.mended)
        return result

    def _built(self) -> ParametersValidator | ModelValidator:
        parameters = self._parameters
        if self._validator is not None and not (parameters.pending and parameters.resolve()):
            return self._validator
        # Imported where a schema is first wanted: making a tool needs none of it.
        from nbtoolkit.schema.core import ModelValidator, ParametersValidator

        if isinstance(self._given, type):
            self._validator = ModelValidator(parameters, self._given)
            return self._validator
        if parameters.pending and self._validator is None:
            parameters.resolve()
            for parameter in parameters.pending:
                _warn(
                    f"{self.name}: the hint of {parameter.name!r} can't be resolved ({parameter.pending}); "
                    "until it can, anything is accepted there."
                )
        self._validator = ParametersValidator(parameters, self._documentation().parameters)
        return self._validator

    def _documentation(self) -> Docstring:
        if self._docstring is None:
            from nbtoolkit.schema.docstring import Docstring, parse_docstring

            texts = [parse_docstring(text) for text in _docstrings(self.func)]
            description = next((text.description for text in texts if text.description), "")
            parameters = {name: text for parsed in reversed(texts) for name, text in parsed.parameters.items()}
            self._docstring = Docstring(description, parameters)
        return self._docstring

    def _out_of_sight(self, hidden: Collection[str]) -> set[str]:
        names = {STATE_PARAMETER, *hidden}
        if isinstance(self._given, dict) and self._given.get("additionalProperties") is False:
            # The schema's author left these out; their defaults are no arguments of the tool.
            shown = self._given.get("properties", {})
            visible = Parameters(self.func, self.name, names, hints=False).visible
            names |= {p.name for p in visible if p.name not in shown and p.kind is not inspect.Parameter.VAR_KEYWORD}
        return names

    def _check_given(self, given: Any) -> None:
        from nbtoolkit.schema.spelling import near

        parameters = self._parameters
        if isinstance(given, dict):
            from nbtoolkit.schema.given import JSONSchemaValidator
            from nbtoolkit.schema.spelling import schema_faults

            if given.get("type", "object") != "object":
                raise DeveloperOrientedException(
                    f"{self.name}: input_schema must be of type object, as arguments have names; got {given['type']!r}."
                )
            if faults := schema_faults(given):
                raise DeveloperOrientedException(f"{self.name}: input_schema can't be meant so: {'; '.join(faults)}.")
            self._schema_validator = JSONSchemaValidator(self.name, given, trusted=True)
            # A hint that can't be read yet may have another name for its parameter.
            shown = () if parameters.pending else given.get("properties", ())
            names = list(dict.fromkeys([*shown, *given.get("required", ())]))
        elif isinstance(given, type) and issubclass(given, BaseModel):
            names = list(given.model_fields)
        else:
            raise DeveloperOrientedException(
                f"{self.name}: input_schema must be a dict or a pydantic model, got {given!r}."
            )
        taken = {parameter.name for parameter in parameters.visible}
        if isinstance(given, dict):
            from nbtoolkit.schema.fields import aliases_of, fields_of, key_of

            fields = [(name, hint) for parameter in parameters.visible for name, hint, _ in fields_of(parameter)]
            taken |= {key for name, hint in fields for key in (key_of(name, hint), *aliases_of(hint, name))}
        if not parameters.takes_any_keyword and (foreign := [name for name in names if name not in taken]):
            told = [
                f"{name!r}{f' (did you mean {meant!r}?)' if (meant := near(name, taken)) else ''}" for name in foreign
            ]
            raise DeveloperOrientedException(
                f"{self.name}: input_schema has {', '.join(told)}, which the function doesn't take. "
                "Rename them there or add **kwargs to the function."
            )
        if isinstance(given, type):
            self._build_early(given)

    def _build_early(self, model: type[BaseModel]) -> None:
        """Find out at registration what is wrong with a model; one that waits for a later class is built when it's used."""
        try:
            self._built()
        except PydanticUndefinedAnnotation:
            return
        except PydanticUserError as error:
            if error.code == "class-not-fully-defined":
                return
            reason = error.message.partition("\n")[0]
            raise DeveloperOrientedException(
                f"{self.name}: input_schema={model.__name__} has no JSON schema: {reason} Give a model of fields that JSON "
                "carries."
            ) from error


def _own_name(func: Any) -> str:
    while isinstance(func, functools.partial) and not hasattr(func, "__name__"):
        func = func.func
    name = getattr(func, "__name__", None) or type(func).__name__
    if name == "<lambda>":
        raise ValueError("A lambda has no name of its own; give the tool one with name=….")
    return str(name)


def _docstrings(func: Any) -> list[str | None]:
    """The docstrings that speak of a callable, the one that describes it first."""
    while isinstance(func, functools.partial) and func.__doc__ == functools.partial.__doc__:
        func = func.func
    if isinstance(func, type):
        own = func.__doc__ or ""
        # A dataclass without a docstring has its signature for one.
        own = "" if own.startswith(f"{func.__name__}(") else own
        return [own, getattr(vars(func).get("__init__"), "__doc__", None)]
    if hasattr(func, "__name__"):
        return [func.__doc__ or innermost(func).__doc__]
    return [type(func).__doc__, type(func).__call__.__doc__]


def _warn(text: str) -> None:
    """Warn at the line outside this package that made or used the tool."""
    level, frame = 2, sys._getframe(1)  # noqa: SLF001 - the documented way to look at the caller
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("nbtoolkit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ToolkitWarning, stacklevel=level)
