"""The built half of a signature: one pydantic validator and one JSON schema for all parameters of a callable.

All arguments are the fields of one TypedDict, whose field names may be any text. A call of nothing but scalars is
validated as it is; any other goes through its JSON text.
"""

from __future__ import annotations

import copy
from math import isfinite
from typing import Any

import typing_extensions as te
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_json

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.schema.arguments import Arguments, Binder
from nbtoolkit.schema.build import Built, build, json_types
from nbtoolkit.schema.defaults import JSON_TYPES, MISSING, default_json
from nbtoolkit.schema.exact import inexact, with_own_reading
from nbtoolkit.schema.fault import Problem
from nbtoolkit.schema.fields import aliases_of, fields_of, key_of, said_beside
from nbtoolkit.schema.frozen import freeze
from nbtoolkit.schema.generate import NoTitles, strict_json
from nbtoolkit.schema.hints import has_variable
from nbtoolkit.schema.parameters import EXTRAS, Parameters
from nbtoolkit.schema.settle import Settler, changing_fields
from nbtoolkit.schema.validator import Outcome, TextValidator, name_odd_floats
from nbtoolkit.schema.variables import NAME_OF_VARIABLE, as_handle, get_variable_resolver, result_handle

if te.TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ModelValidator", "ParametersValidator"]


class ParametersValidator(TextValidator):
    """Validates calls of a callable by its hints."""

    def __init__(self, parameters: Parameters, documented: Mapping[str, str]) -> None:
        self._parameters = parameters
        self._hints: dict[str, Any] = {}
        self._keys: dict[str, str] = {}
        plain: dict[str, Any] = {}
        fields: dict[str, tuple[Any, bool]] = {}
        for parameter in parameters.visible:
            for name, hint, required in fields_of(parameter):
                self._hints[name] = hint
                fields[name] = (hint, required)
                self._keys[name] = name if name == EXTRAS else key_of(name, hint)
            if parameter.default is not MISSING and not isinstance(parameter.default, FieldInfo):
                plain[parameter.name] = parameter.default
        built = build(fields)
        properties = built.raw["properties"]
        defaults = {key: node["default"] for key, node in properties.items() if "default" in node}
        defaults |= {self._keys[name]: default for name, default in plain.items()}
        defaults = {key: value for key, default in defaults.items() if (value := default_json(default)) is not MISSING}
        refused = _refused(built.validator, defaults)
        # Defaults that only the function can make: an argument that equals one counts as left out.
        self._strip = {
            key: defaults[key]
            for key in {*refused, *(self._keys[name] for name, value in plain.items() if type(value) not in JSON_TYPES)}
            if key in defaults
        }
        # The arguments in their order, with what stands for those that are left out.
        self._template: dict[str, Any] = {}
        for name, key in self._keys.items():
            if key not in properties:
                continue
            node = _documented(properties[key], said_beside(self._hints[name]) or documented.get(name, ""))
            node.pop("default", None)
            if key in defaults:
                node = _or_default(node, defaults[key]) if key in refused else node
                node["default"] = defaults[key]
            properties[key] = node
            if name != EXTRAS and (key in defaults or key in built.raw.get("required", ())):
                self._template[key] = defaults.get(key)
        super().__init__(parameters.name, built, freeze(_root_schema(built.raw, open_ended=EXTRAS in fields)))
        # Optional arguments without a JSON default have no place there; where there are any, the order is made up later.
        self._order = [] if self._template.keys() == properties.keys() - {EXTRAS} else list(self._keys.values())
        self._copies = any(isinstance(value, (dict, list)) for value in self._template.values())
        self._factories = {
            self._keys[p.name]: p.name
            for p in parameters.visible
            if p.name in self._keys and p.has_field_default and self._keys[p.name] not in self._template
        }
        self._open = frozenset(name for name, hint in self._hints.items() if hint is Any)
        self._variables = frozenset(name for name, hint in self._hints.items() if has_variable(hint))
        self._loose: Built | None = None
        self._changing = _changing(built, self._hints)
        self._settlers: dict[str, Settler] = {}
        self.free = _with_own_reading(built, self._keys)
        self._aliases = {
            alias: self._keys[name]
            for name, hint in self._hints.items()
            for alias in aliases_of(hint, self._keys[name])
        }
        self._validate_python = built.validator.validate_python
        # Whether a valid call's values are their own JSON; lists and dicts among them are copied.
        kinds = {name: json_types(hint) for name, hint in self._hints.items()}
        # What ``**kwargs`` takes is one field here and many arguments in JSON, so its name must never be read from a call.
        self._flat = (
            EXTRAS not in self._hints
            and not self._factories
            and all(self._keys[name] == name for name in self._hints)
            and all(None not in kind for kind in kinds.values())
        )
        self._floats = tuple(name for name, kind in kinds.items() if float in kind)
        self._containers = tuple(name for name, kind in kinds.items() if list in kind)
        self._shared = not (self._copies or self._containers or self._floats or self._order)

    # ---------------------------------------------------------------------------------------------------- validation

    def validate(self, arguments: Mapping[str, Any]) -> Arguments:
        """Validate a call; ToolArgumentsError with all faults."""
        if self._flat:
            try:
                given = self._validate_python(self._stripped(arguments) if self._strip else arguments, strict=True)
            except ValidationError:
                pass
            else:
                data = {**self._template, **given}
                if not self._shared:
                    data = self._separate(data, given)
                return Arguments(data, given, self._parameters)
        return super().validate(arguments)

    def _separate(self, data: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """Leave nothing that JSON and values, or two calls, have in common."""
        for name in self._containers:
            held = given.get(name)
            if held is not None and type(held) in _CONTAINERS:
                data[name] = held.copy()
        if self._copies:
            for name, default in self._template.items():
                if name not in given and isinstance(default, (list, dict)):
                    data[name] = copy.deepcopy(default)
        for name in self._floats:
            value = data.get(name)
            if isinstance(value, float):
                if not isfinite(value):
                    name_odd_floats(data)
            elif type(value) in _CONTAINERS:
                name_odd_floats(value)
        return self._ordered(data) if self._order else data

    def _ordered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**{key: data[key] for key in self._order if key in data}, **data} if self._order else data

    def check(self, data: dict[str, Any], text: bytes | None = None, *, strict: bool = True) -> Outcome:
        """Validate JSON as it is; result handles stand for the objects that they name."""
        if self._strip:
            data, text = self._stripped(data), None
        if EXTRAS in self._hints:
            outcome = super().check(self._packed(data), strict=strict)
            problems = [_unpacked(problem) for problem in outcome.problems]
            known = {*self._keys.values(), *self._aliases} - {EXTRAS}
            taken = [key for key in data if key in self._parameters.out_of_reach and key not in known]
            problems += [Problem((key,), "unexpected", data[key]) for key in taken]
            outcome = outcome._replace(problems=problems)
        else:
            outcome = super().check(data, text, strict=strict)
        if get_variable_resolver() is not None and (outcome.problems or self._open):
            wrong = {problem.path[0] for problem in outcome.problems if problem.path}
            handles = {
                name: number
                for name, hint in self._hints.items()
                if (name in wrong or name in self._open) and name not in self._variables
                if (number := as_handle(data.get(self._keys[name]))) is not None
            }
            if handles:
                return self._check_handles(data, handles, outcome)
        return outcome

    def inexact(self, data: dict[str, Any]) -> list[Problem]:
        """What pydantic takes and the schema doesn't."""
        if EXTRAS not in self._hints or self.loose is None:
            return super().inexact(data)
        free = {*self.free, *data[EXTRAS]} if EXTRAS in self.free else self.free
        flat = {**data[EXTRAS], **data}
        del flat[EXTRAS]
        return inexact(self.schema, flat, self.loose, free)

    def _check_handles(self, data: dict[str, Any], handles: dict[str, int], outcome: Outcome) -> Outcome:
        """Check the objects that handles name, and the rest without them."""
        problems = [
            problem for problem in outcome.problems if problem.path[:1] not in {(self._keys[name],) for name in handles}
        ]
        values: dict[str, Any] = {}
        for name, number in handles.items():
            try:
                found = result_handle(number)
                values[name] = build({"value": (self._hints[name], True)}).validator.validate_python({"value": found})[
                    "value"
                ]
                outcome.found.append(values[name])
            except ValueError as error:
                reason = str(error)
                if isinstance(error, ValidationError):
                    reason = f"result {number} doesn't fit: {error.errors(include_url=False)[0]['msg']}"
                problems.append(Problem((self._keys[name],), "wrong", data[self._keys[name]], reason))
        if problems:
            return Outcome(None, problems, outcome.found)
        if self._loose is None:
            self._loose = build({name: (hint, False) for name, hint in self._hints.items()})
        rest = {key: value for key, value in data.items() if key not in {self._keys[name] for name in handles}}
        rest = self._packed(rest) if EXTRAS in self._hints else rest
        value = self._loose.validator.validate_json(to_json(rest), strict=True, context=outcome.found)
        return Outcome({**value, **values}, [], outcome.found)

    def _stripped(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in arguments.items()
            if key not in self._strip or type(value) is not type(self._strip[key]) or value != self._strip[key]
        }

    def _packed(self, data: dict[str, Any]) -> dict[str, Any]:
        names = {*self._keys.values(), *self._aliases} - {EXTRAS}
        known = {key: value for key, value in data.items() if key in names}
        known[EXTRAS] = {key: value for key, value in data.items() if key not in known}
        return known

    def finish(self, data: dict[str, Any], outcome: Outcome, mended: list[str], odd: bool) -> Arguments:
        """Fill defaults in and make the arguments."""
        if self._aliases:
            _rename(data, self._aliases)
        for name in self._changing:
            self._settle_field(data, name)
        arguments = super().finish(data, outcome, mended, odd)
        template = copy.deepcopy(self._template) if self._copies else self._template
        arguments.json = {**template, **arguments.json}
        for key, name in self._factories.items():
            if key not in arguments.json and name in outcome.value:
                made = default_json(outcome.value[name])
                if made is not MISSING:
                    arguments.json[key] = made
        arguments.json = self._ordered(arguments.json)
        return arguments

    def _settle_field(self, data: dict[str, Any], name: str) -> None:
        """Write an argument as the function gets it, in place."""
        key = self._keys[name]
        if key not in data and name != EXTRAS:
            return
        settler = self._settlers.get(name)
        if settler is None:
            settler = self._settlers[name] = Settler(build({name: (self._hints[name], False)}), key)
        if name == EXTRAS:
            data.update(settler.settle(self._packed(data)[EXTRAS]))
        else:
            data[key] = settler.settle(data[key])

    def written(self, value: Any) -> Any:
        """Give the JSON of a validated value, under the names that JSON has; None where there is none."""
        written = super().written(value)
        return {**written.pop(EXTRAS), **written} if isinstance(written, dict) and EXTRAS in written else written

    def by_key(self, values: dict[str, Any]) -> dict[str, Any]:
        """Give the values by the names that JSON has for them."""
        known = {self._keys[name]: value for name, value in values.items() if name != EXTRAS}
        return {**values.get(EXTRAS, {}), **known}

    def binder(self) -> Binder | None:
        """What puts the values in their places."""
        return self._parameters


class ModelValidator(TextValidator):
    """Validates calls by a pydantic model; the function gets its fields, made into the model's types."""

    def __init__(self, parameters: Parameters, model: type[BaseModel]) -> None:
        adapter: TypeAdapter[Any] = TypeAdapter(model)
        schema = freeze(strict_json(adapter.json_schema(schema_generator=NoTitles)))
        if schema.get("type") != "object":
            raise DeveloperOrientedException(
                f"{parameters.name}: input_schema={model.__name__} isn't an object in JSON; give a model with fields."
            )
        # The model is what the function's parameters are elsewhere: one level down.
        raw = {"properties": {"model": schema}, "$defs": schema.get("$defs", {})}
        super().__init__(parameters.name, Built(adapter.validator, raw, adapter), schema)
        self._parameters = parameters
        self._model = model
        built = build({"model": (model, True)})
        own = _with_own_reading(built, {"model": "model"})
        self.free = frozenset(schema.get("properties", ())) if own else own
        self._settler = Settler(Built(adapter.validator, raw, adapter)) if _changing(built, {"model": model}) else None

    def finish(self, data: dict[str, Any], outcome: Outcome, mended: list[str], odd: bool) -> Arguments:
        """Write the model as the function gets it, and make the arguments."""
        if self._settler is not None:
            settled = self._settler.settle(data)
            data.clear()
            data.update(settled)
        return super().finish(data, outcome, mended, odd)

    def values(self, value: Any) -> dict[str, Any]:
        """Give the model's fields by name."""
        values = {name: getattr(value, name) for name in self._model.model_fields}
        return {**(value.model_extra or {}), **values}

    def check(self, data: dict[str, Any], text: bytes | None = None, *, strict: bool = True) -> Outcome:
        """Validate JSON as it is; what the model takes beside its fields reaches nothing but ``**kwargs``."""
        outcome = super().check(data, text, strict=strict)
        extra = getattr(outcome.value, "model_extra", None) or {}
        taken = [key for key in extra if key in self._parameters.out_of_reach or key in self._model.model_fields]
        if not taken:
            return outcome
        return outcome._replace(problems=[Problem((key,), "unexpected", extra[key]) for key in taken])

    def binder(self) -> Binder | None:
        """What puts the values in their places."""
        return self._parameters


# ----------------------------------------------------------------------------------------------------------- helpers

_CONTAINERS = frozenset({list, dict})


def _rename(data: dict[str, Any], aliases: dict[str, str]) -> None:
    for alias in aliases.keys() & data.keys():
        data.setdefault(aliases[alias], data.pop(alias))


def _changing(built: Built, hints: Mapping[str, Any]) -> frozenset[str]:
    """The fields of which the function may get something else than is sent."""
    if built.adapter is None:
        return frozenset()
    found = changing_fields(built.adapter.core_schema)
    return frozenset(hints) if found is None else found


def _with_own_reading(built: Built, keys: Mapping[str, str]) -> frozenset[str]:
    """The arguments that a validator of the person's own reads."""
    if built.adapter is None:
        return frozenset()
    core = built.adapter.core_schema
    fields = core["fields"] if core["type"] == "typed-dict" else dict.fromkeys(keys, core)
    return frozenset(key for name, key in keys.items() if with_own_reading(fields[name]))


def _unpacked(problem: Problem) -> Problem:
    if problem.path[:1] == (EXTRAS,):
        return problem._replace(path=problem.path[1:])
    return problem


def _refused(validator: Any, defaults: dict[str, Any]) -> set[str]:
    """The defaults that their own hints don't admit."""
    if not defaults:
        return set()
    try:
        validator.validate_json(to_json(defaults), strict=True, context=[])
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        # Required parameters are missing here; that is no fault of a default.
        return {str(fault["loc"][0]) for fault in found} & defaults.keys()
    return set()


def _documented(schema: Any, text: str) -> dict[str, Any]:
    node: dict[str, Any] = {} if schema is True else dict(schema)
    said = node.get("description", "")
    if text and (not said or said.startswith(NAME_OF_VARIABLE)):
        node["description"] = f"{text} ({said})" if said else text
    return node


def _or_default(node: dict[str, Any], default: Any) -> dict[str, Any]:
    """Admit a default that the hint doesn't."""
    outer: dict[str, Any] = {key: node.pop(key) for key in ("description", "title") if key in node}
    also: dict[str, Any] = {"type": "null"} if default is None else {"const": default}
    branches = node["anyOf"] if node.keys() == {"anyOf"} else [node]
    return {"anyOf": [*branches, also], **outer}


def _root_schema(raw: dict[str, Any], *, open_ended: bool) -> dict[str, Any]:
    properties = dict(raw["properties"])
    more: Any = False
    if open_ended:
        more = properties.pop(EXTRAS).get("additionalProperties", True) or True
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    for key in ("required", "$defs"):
        if raw.get(key):
            schema[key] = raw[key]
    schema["additionalProperties"] = more
    return strict_json(schema)
