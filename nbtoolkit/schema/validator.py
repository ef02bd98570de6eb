"""From a call's JSON to Python values, by one pydantic validator.

Validation is strict, by JSON's own meaning (``true`` is no integer), on the JSON text. What fails is mended where its
meaning is plain, and only then tried with pydantic's leniency.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, from_json, to_json

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.schema.arguments import Arguments, Binder
from nbtoolkit.schema.defaults import has_nested_defaults, overlay, property_names
from nbtoolkit.schema.exact import inexact, is_loose, loose_nodes
from nbtoolkit.schema.fault import Path, Problem, faults, path_text
from nbtoolkit.schema.mend import mend, replace
from nbtoolkit.schema.variables import find_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtoolkit.schema.build import Built

__all__ = ["Outcome", "TextValidator", "name_odd_floats", "problem_of", "read_arguments"]

_MISSING = frozenset(
    {"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"}
)
_UNEXPECTED = frozenset({"extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument"})
# Errors whose message says no more than the schema does.
_TOLD_BY_SCHEMA = frozenset(
    {
        "greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of", "string_too_short",
        "string_too_long", "string_pattern_mismatch", "too_short", "too_long", "literal_error", "enum", "int_from_float",
        "none_required",
    }
)  # fmt: skip


class Outcome(NamedTuple):
    """What a check gave: the value where there are no problems, and the notebook's objects found on the way."""

    value: Any
    problems: list[Problem]
    found: list[Any]


class TextValidator:
    """Validates calls with a pydantic validator; ``schema`` is what a model sees of it."""

    def __init__(self, tool_name: str, built: Built, schema: dict[str, Any]) -> None:
        self.tool_name = tool_name
        self.schema = schema
        self._adapter = built.adapter
        self._validate_json = built.validator.validate_json
        self._fills = built.adapter is not None and has_nested_defaults(built.raw)
        self.loose = loose_nodes(schema) if is_loose(schema) else None
        self.free: frozenset[str] = frozenset()
        self._known = property_names(built.raw) if self._fills else frozenset()

    def validate(self, arguments: Mapping[str, Any]) -> Arguments:
        """Validate a call; ToolArgumentsError with all faults."""
        data, text, problems = read_arguments(arguments)
        if problems:
            raise self.refusal(problems)
        outcome = self.check(data, text)
        mended: list[str] = []
        if outcome.problems:
            outcome, mended = self._mend(data, outcome)
        return self.finish(data, outcome, mended, b"NaN" in text or b"Infinity" in text)

    def check(self, data: dict[str, Any], text: bytes | None = None, *, strict: bool = True) -> Outcome:
        """Validate JSON as it is."""
        found: list[Any] = []
        try:
            value = self._validate_json(to_json(data) if text is None else text, strict=strict, context=found)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            return Outcome(None, [problem_of(detail, data) for detail in details] + self.inexact(data), found)
        return Outcome(value, self.inexact(data), found)

    def inexact(self, data: dict[str, Any]) -> list[Problem]:
        """What pydantic takes and the schema doesn't."""
        return [] if self.loose is None else inexact(self.schema, data, self.loose, self.free)

    def _mend(self, data: dict[str, Any], outcome: Outcome) -> tuple[Outcome, list[str]]:
        last = [outcome]

        def check(mended: dict[str, Any]) -> list[Problem]:
            last[0] = self.check(mended)
            return last[0].problems

        sent = copy.deepcopy(data)
        problems, notes = mend(self.schema, data, outcome.problems, check)
        if not problems:
            return last[0], notes
        refused: list[Problem] = []
        if not any(_truth_for_number(problem) for problem in problems):
            # A validator of the person's own may have meant just what was sent.
            for attempt, found, said in ((data, problems, notes), (sent, outcome.problems, [])):
                lenient = self.check(attempt, strict=False)
                if not lenient.problems:
                    return self._settle(data, attempt, lenient, found, said)
                refused = refused or lenient.problems
        else:
            refused = self.check(data, strict=False).problems
        # What leniency would take is no fault of the call.
        paths = {problem.path for problem in refused}
        at_fault = [problem for problem in problems if problem.path in paths or _truth_for_number(problem)]
        raise self.refusal(at_fault or problems)

    def _settle(
        self,
        data: dict[str, Any],
        attempt: dict[str, Any],
        lenient: Outcome,
        problems: list[Problem],
        notes: list[str],
    ) -> tuple[Outcome, list[str]]:
        """Leave in ``data`` what leniency took, as it was read where a strict check takes that too."""
        written = self.written(lenient.value)
        settled = copy.deepcopy(attempt)
        changes = [replace(settled, path, written) for path in dict.fromkeys(problem.path for problem in problems)]
        again = self.check(settled)
        if again.problems:
            # A validator of the person's own makes something that only it can read back.
            _become(data, attempt)
            return lenient, notes
        _become(data, settled)
        return again, [*notes, *(change for change in changes if change)]

    def written(self, value: Any) -> Any:
        """Give the JSON of a validated value, under the names that JSON has; None where there is none."""
        if self._adapter is None:
            return value
        try:
            return self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)
        except (PydanticSerializationError, ValueError):
            return None

    def refusal(self, problems: list[Problem]) -> ToolArgumentsError:
        """The error for these problems."""
        return ToolArgumentsError(self.tool_name, faults(self.schema, problems))

    def finish(self, data: dict[str, Any], outcome: Outcome, mended: list[str], odd: bool) -> Arguments:
        """Fill defaults in and make the arguments."""
        values = self.values(outcome.value)
        self.fill(data, outcome.value)
        if odd or mended:
            name_odd_floats(data)
        variables = {}
        if outcome.found:
            found = {id(item) for item in outcome.found}
            variables = dict(_locate(self.by_key(values), found, ()))
        return Arguments(data, values, self.binder(), tuple(mended), variables)

    def values(self, value: Any) -> dict[str, Any]:
        """Give the values by the names under which the function takes them."""
        given: dict[str, Any] = value
        return given

    def by_key(self, values: dict[str, Any]) -> dict[str, Any]:
        """Give the values by the names that JSON has for them."""
        return values

    def binder(self) -> Binder | None:
        """What puts the values in their places."""
        return None

    def fill(self, data: dict[str, Any], value: Any) -> None:
        """Fill in, in place, the defaults that validation added below the top level."""
        if not self._fills or self._adapter is None:
            return
        try:
            full = self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)
            given = self._adapter.dump_python(
                value, mode="json", by_alias=True, round_trip=True, warnings=False, exclude_unset=True
            )
        except (PydanticSerializationError, ValueError):
            # A model's own serializer failed; its defaults stay unwritten.
            return
        overlay(data, full, given, self._known)


def read_arguments(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], bytes, list[Problem]]:
    """Turn a call's arguments into JSON: fresh objects, their text, and a problem for each that has no JSON form.

    Python objects that a programmer passes (a date, a path, a model, a numpy number) become their JSON; an object that a
    public notebook variable holds becomes its name.
    """
    try:
        text = to_json(dict(arguments), bytes_mode="base64", fallback=_as_json)
        data: dict[str, Any] = from_json(text)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        problems = []
        for name, value in arguments.items():
            try:
                from_json(to_json(value, bytes_mode="base64", fallback=_as_json))
            except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
                reason = str(error).partition("\n")[0]
                problems.append(Problem((str(name),), "wrong", value, f"JSON can't carry it: {reason}"))
        return {}, b"{}", problems or [Problem((), "wrong", None, "JSON can't carry these arguments")]
    return data, text, []


def _as_json(value: Any) -> Any:
    if (name := find_name(value)) is not None:
        return name
    if callable(to_list := getattr(value, "tolist", None)):  # numpy's numbers and arrays
        return to_list()
    raise TypeError(
        f"an object of type {type(value).__name__} has no JSON form; give the name of a notebook variable that holds it"
    )


def name_odd_floats(data: Any) -> Any:
    """Write NaN and the infinities as strings, in place: JSON has no numbers for them."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if isinstance(value, float):
            if not math.isfinite(value):
                data[key] = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        elif isinstance(value, (dict, list)):
            name_odd_floats(value)
    return data


def _locate(value: Any, found: set[int], path: Path) -> list[tuple[str, Any]]:
    """Where in the values the notebook's objects ended up."""
    if id(value) in found:
        return [(path_text(path), value)]
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return []
    return [place for key, item in items for place in _locate(item, found, (*path, key))]


def _become(data: dict[str, Any], other: dict[str, Any]) -> None:
    if data is not other:
        data.clear()
        data.update(other)


def _truth_for_number(problem: Problem) -> bool:
    return isinstance(problem.value, bool)


def problem_of(detail: ErrorDetails, data: Any) -> Problem:
    """A pydantic error as a problem; the location's parts that name a union's member or a tag are no part of the path."""
    kind = detail["type"]
    location = detail["loc"]
    key = location[-1:] == ("[key]",)
    if key:
        location = location[:-1]
    path: Path = ()
    node = data
    for number, part in enumerate(location):
        if isinstance(node, dict) and str(part) in node:
            path = (*path, str(part))
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            path = (*path, part)
        elif number == len(location) - 1 and kind in _MISSING:
            return Problem((*path, part), "missing")
        else:
            continue
        node = node[path[-1]]
    if kind in _UNEXPECTED:
        return Problem(path, "unexpected", node)
    message = detail["msg"]
    for prefix in ("Value error, ", "Assertion failed, "):
        message = message.removeprefix(prefix)
    if key:
        return Problem(path[:-1], "key", path[-1], message)
    told = kind in _TOLD_BY_SCHEMA or kind.endswith("_type")
    return Problem(path, "wrong", node, message, told)
