"""Validation of arguments by nothing but a JSON schema: tools of servers, and classes that bring their own.

The schema may be hostile. References outside it are never fetched; patterns run in pydantic's engine, whose time is
linear, and one that it can't read isn't checked here; circular or exploding references end the check. What can't be
checked here is left to the tool itself, which has the last word anyway.
"""

from __future__ import annotations

import copy
import functools
import re
import reprlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema, from_json, to_json

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema.arguments import Arguments
from nbtoolkit.schema.defaults import MISSING
from nbtoolkit.schema.fault import Path, Problem, faults, nodes_at
from nbtoolkit.schema.mend import mend
from nbtoolkit.schema.quick import quick_validator
from nbtoolkit.schema.validator import name_odd_floats, problem_of, read_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.protocols import Validator

__all__ = ["JSONSchemaValidator", "bounded_check"]

# A call is small; a schema that needs more steps than this multiplies its references.
_MAX_REFERENCES = 2_000
# References within references that Python's stack holds, whatever stands between them.
_MAX_DEPTH = 64
_MAX_ERRORS = 1_000
# The engine's memory grows with the pattern.
_MAX_PATTERN = 2_000


class _TooMuchError(Exception):
    """The schema asks for more work than a call is worth."""


class JSONSchemaValidator:
    """Validates calls by a JSON schema of type object; compiled at the first call.

    `Arguments.bind` gives no positional arguments and the JSON as keyword arguments. ``trusted`` says that the schema is
    the programmer's own: then Python's engine reads the patterns that the linear one can't.
    """

    def __init__(self, tool_name: str, input_schema: dict[str, Any], *, trusted: bool = False) -> None:
        self.tool_name = tool_name
        self.input_schema = input_schema
        self._trusted = trusted
        self._validator: Validator | None = None
        self._quick: SchemaValidator | None = None
        self._compiled = False
        self._budget = [0]
        self._defaults: dict[int, Any] = {}
        self._template: dict[str, Any] = {}
        self._nested = False

    def validate(self, arguments: Mapping[str, Any]) -> Arguments:
        """Validate a call; ToolArgumentsError with all faults at once."""
        if not self._compiled:
            self._compile()
        data, text, problems = read_arguments(arguments)
        mended: list[str] = []
        if not problems:
            problems = self._check(data)
            if problems:
                problems, mended = mend(self.input_schema, data, problems, self._check)
        if problems:
            raise ToolArgumentsError(self.tool_name, faults(self.input_schema, problems))
        if self._nested:
            self._fill(data, ())
        if self._template:
            data = {**{name: data.get(name, default) for name, default in self._template.items()}, **data}
            data = {name: value for name, value in data.items() if value is not MISSING}
        if mended or b"NaN" in text or b"Infinity" in text:
            name_odd_floats(data)
        text = to_json(data)
        return Arguments(from_json(text), from_json(text), None, tuple(mended))

    def _compile(self) -> None:
        self._quick = quick_validator(self.input_schema, self.input_schema)
        properties = self.input_schema.get("properties")
        if isinstance(properties, dict) and any(isinstance(s, dict) and "default" in s for s in properties.values()):
            # The arguments in the schema's order, with what stands for those that are left out.
            self._template = {
                name: self._default(schema) if isinstance(schema, dict) and "default" in schema else MISSING
                for name, schema in properties.items()
            }
        self._nested = _has_nested_default(self.input_schema)
        self._compiled = True

    def _full(self) -> Validator:
        if self._validator is None:
            self._validator = _compile(self.input_schema, self._budget, trusted=self._trusted)
        self._budget[0] = _MAX_REFERENCES
        return self._validator

    def _check(self, data: Any) -> list[Problem]:
        if self._quick is not None:
            try:
                self._quick.validate_python(data, strict=True)
            except ValidationError as error:
                details = error.errors(include_url=False, include_context=False)
                return [problem_of(detail, data) for detail in details]
            return []
        with _Checking():
            return _problems(islice(self._full().iter_errors(data), _MAX_ERRORS))
        return []

    def _fill(self, data: Any, path: Path) -> None:
        """Fill in defaults below the top level where objects were sent, in place."""
        for key, item in list(data.items() if isinstance(data, dict) else enumerate(data)):
            if not isinstance(item, (dict, list)):
                continue
            deeper = (*path, key)
            self._fill(item, deeper)
            nodes = nodes_at(self.input_schema, deeper) if isinstance(item, dict) else []
            properties = nodes[0].get("properties") if len(nodes) == 1 else None
            for name, schema in properties.items() if isinstance(properties, dict) else ():
                if name not in item and isinstance(schema, dict) and "default" in schema:
                    default = self._default(schema)
                    if default is not MISSING:
                        item[name] = copy.deepcopy(default)

    def _default(self, schema: dict[str, Any]) -> Any:
        """Give a default that its own schema admits; MISSING for any other."""
        known = self._defaults.get(id(schema), self)
        if known is self:
            known = schema["default"]
            quick = quick_validator(schema, self.input_schema)
            admitted = False
            with _Checking():
                if quick is not None:
                    admitted = quick.isinstance_python(known, strict=True)
                else:
                    admitted = self._full().evolve(schema=schema).is_valid(known)
            known = known if admitted else MISSING
            self._defaults[id(schema)] = known
        return known


def bounded_check(schema: dict[str, Any]) -> Callable[[Any], Any]:
    """A function that gives the first fault of a value by a schema of others, a jsonschema ValidationError, or None.

    None also where the schema can't be used, or asks for more work than a call is worth.
    """
    budget = [0]
    compiled: list[Validator] = []
    quick = quick_validator(schema, schema)

    def check(value: Any) -> Any:
        with _Checking():
            # The library is needed for its words alone then, and to import it takes seconds where Jupyter is installed.
            if quick is not None and quick.isinstance_python(value, strict=True):
                return None
            if not compiled:
                compiled.append(_compile(schema, budget, trusted=False))
            budget[0] = _MAX_REFERENCES
            return next(iter(compiled[0].iter_errors(value)), None)
        return None

    return check


class _Checking:
    """A check by the library: what a schema raises that can't be checked ends here."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        # Where Python's stack ends within the library's own maps these make of it an error that is no Exception.
        return kind is not None and (issubclass(kind, _uncheckable()) or kind.__name__ == "PanicException")


def _has_nested_default(schema: dict[str, Any]) -> bool:
    """Whether a default stands anywhere but in the properties of the top level."""
    todo: list[Any] = [value for key, value in schema.items() if key != "properties"]
    properties = schema.get("properties")
    for value in properties.values() if isinstance(properties, dict) else ():
        todo.extend(value.values() if isinstance(value, dict) else ())
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            if "default" in node:
                return True
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return False


@functools.cache
def _uncheckable() -> tuple[type[BaseException], ...]:
    """What a schema that can't be checked raises."""
    from jsonschema.exceptions import UndefinedTypeCheck, UnknownType
    from referencing.exceptions import Unresolvable, Unretrievable

    # The last four are what a keyword of the wrong type raises deep inside the library.
    return (
        _TooMuchError, RecursionError, UnknownType, UndefinedTypeCheck, Unresolvable, Unretrievable,
        TypeError, AttributeError, KeyError, ValueError,
    )  # fmt: skip


def _compile(schema: dict[str, Any], budget: list[int], *, trusted: bool) -> Validator:
    import referencing
    import referencing.jsonschema
    from jsonschema import Draft202012Validator, validators

    found = validators.validator_for(schema, default=Draft202012Validator)
    original = found.VALIDATORS
    depth = 0

    def counted(keyword: str) -> Callable[..., Any]:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            nonlocal depth
            budget[0] -= 1
            if budget[0] < 0 or depth >= _MAX_DEPTH:
                raise _TooMuchError
            if isinstance(value, str) and not _is_local(value):
                return
            depth += 1
            try:
                yield from original[keyword](validator, value, instance, schema) or ()
            finally:
                depth -= 1

        return check

    changed: dict[str, Any] = {key: counted(key) for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in original}
    changed |= {
        "pattern": functools.partial(_pattern, trusted=trusted),
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        # These look into patternProperties with an engine whose time isn't bounded.
        "unevaluatedProperties": _ignored,
        "unevaluatedItems": _ignored,
        "uniqueItems": _unique_items,
        "format": _ignored,
    }
    extend: Callable[..., Any] = validators.extend
    # An empty registry fetches nothing.
    made: Validator = extend(found, changed)(schema, registry=referencing.Registry())
    return made


def _is_local(reference: str) -> bool:
    return reference.startswith("#")


@functools.lru_cache(maxsize=1024)
def _matcher(pattern: str, *, trusted: bool = False) -> Callable[[str], bool] | None:
    """A search in linear time; None for a pattern that the engine can't read."""
    if len(pattern) > _MAX_PATTERN:
        return None
    try:
        core = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(core).isinstance_python
    except (SchemaError, ValueError, TypeError):
        pass
    if trusted:
        found = re.compile(pattern)
        return lambda text: found.search(text) is not None
    return None


def _pattern(_validator: Any, pattern: Any, instance: Any, _schema: Any, *, trusted: bool) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError as Refused

    if isinstance(instance, str) and isinstance(pattern, str):
        matches = _matcher(pattern, trusted=trusted)
        if matches is not None and not matches(instance):
            yield Refused(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict) or not isinstance(patterns, dict):
        return
    for pattern, inner in patterns.items():
        matches = _matcher(pattern)
        for name, value in instance.items():
            if matches is not None and matches(name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError as Refused

    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    matchers = [_matcher(pattern) for pattern in schema.get("patternProperties", {})]
    if None in matchers:
        return
    for name, value in instance.items():
        if name in known or any(matches(name) for matches in matchers if matches):
            continue
        if isinstance(allowed, dict):
            yield from validator.descend(value, allowed, path=name)
        elif allowed is False:
            yield Refused(name)


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """The library compares each with each where they aren't all of one kind."""
    from jsonschema.exceptions import ValidationError as Refused

    if wanted is True and isinstance(instance, list):
        seen: set[Any] = set()
        for item in instance:
            known = len(seen)
            seen.add(_hashable(item))
            if len(seen) == known:
                yield Refused(f"{reprlib.repr(item)} is there more than once")
                return


def _hashable(value: Any) -> Any:
    """Equal where JSON Schema calls two values equal: 1 and 1.0 are, 1 and true aren't."""
    if isinstance(value, dict):
        return dict, frozenset((name, _hashable(each)) for name, each in value.items())
    if isinstance(value, list):
        return list, tuple(map(_hashable, value))
    return (bool, value) if isinstance(value, bool) else value


def _ignored(*_: Any) -> Iterator[Any]:
    return iter(())


def _problems(errors: Any) -> list[Problem]:
    problems: list[Problem] = []
    for error in errors:
        path: Path = tuple(error.absolute_path)
        keyword = error.validator
        if keyword == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            problems += [Problem((*path, name), "missing") for name in missing]
        elif keyword == "additionalProperties" and error.validator_value is False:
            problems.append(Problem((*path, error.message), "unexpected"))
        elif keyword in ("anyOf", "oneOf") and error.context:
            deeper = [inner for inner in error.context if len(inner.absolute_path) > len(path)]
            # Of a union of objects the branch's own fault says more than "none fits".
            problems += (
                _problems(deeper) if len(deeper) == len(error.context) else [Problem(path, "wrong", error.instance)]
            )
            if deeper and len(deeper) != len(error.context):
                problems += _problems(deeper)
        else:
            told = keyword in ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                               "minLength", "maxLength", "pattern", "minItems", "maxItems", "multipleOf")  # fmt: skip
            problems.append(Problem(path, "wrong", error.instance, error.message[:200], told))
    return problems
