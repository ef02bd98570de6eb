"""A JSON Schema in a person's words: one field a row, with its type, its limits and what it is for.

A server wrote the schema, so any shape must give rows: references that go in circles end, odd values are skipped, and
the number of rows is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import bounded, one_line, to_json
from nbtoolkit.redact import Redactor
from nbtoolkit.schema.variables import NAME_OF_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Field", "called", "fields", "others", "resolve", "type_words", "variable_class"]

# A schema of more rows isn't read but searched, as JSON.
MAX_ROWS = 200
# Deeper fields keep their parent's row, whose type names them.
MAX_DEPTH = 5
# A type of types of types is no longer read; unions that branch at each step would never end.
MAX_TYPE_DEPTH = 3
# An enumeration past this many values is said by its first ones and a count.
MAX_CHOICES = 8
DESCRIPTION_LIMIT = 400

# What nbtoolkit.schema says of a parameter that takes a variable.
_VARIABLE = re.compile(rf"\(?{NAME_OF_VARIABLE} holding an? ([\w.]+)\)?")
_PLURAL = {"string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans", "object": "objects"}


@dataclass(frozen=True, slots=True)
class Field:
    """One argument, or a field inside one. ``path`` is dotted; ``value`` is ``required``, ``default …`` or ``optional``."""

    path: str
    depth: int
    type: str
    value: str
    description: str
    schema: Mapping[str, Any]

    @property
    def required(self) -> bool:
        """Whether a call without it is refused."""
        return self.value == "required"


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """The rows of an object's schema, nested fields under their parent."""
    out: list[Field] = []
    hide = Redactor()
    for row in _walk(schema, schema, "", 0, (), hide):
        out.append(row)
        if len(out) >= MAX_ROWS:
            break
    return out


def others(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of arguments under names that aren't listed; None where the schema doesn't offer that in so many words."""
    free = schema.get("additionalProperties")
    return free if isinstance(free, dict) else {} if free is True else None


def resolve(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local ``$ref`` leads to, with the words that stand beside the reference."""
    seen: set[str] = set()
    about: dict[str, Any] = schema if isinstance(schema, dict) else {}
    while isinstance(ref := about.get("$ref"), str) and ref.startswith("#/") and ref not in seen:
        seen.add(ref)
        target: Any = root
        for step in ref[2:].split("/"):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            break
        about = {**target, **{key: value for key, value in about.items() if key != "$ref"}}
    return about


def variable_class(about: Mapping[str, Any]) -> str | None:
    """The class of the variable whose name an argument takes, as the schema says it; None where it takes a value."""
    text = about.get("description")
    found = _VARIABLE.search(text) if about.get("type") == "string" and isinstance(text, str) else None
    return None if found is None else found[1]


def _walk(
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    prefix: str,
    depth: int,
    above: tuple[str, ...],
    hide: Redactor,
) -> Iterator[Field]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    for key, raw in properties.items():
        about = resolve(raw, root)
        path = f"{prefix}{key}"
        value = "required" if key in required else "optional"
        if "default" in about and key not in required:
            # What is cut afterwards is no secret's end.
            value = "default " + bounded(to_json(hide.value(about["default"])), 60)
        described = about.get("description")
        text = one_line(hide.text(described), DESCRIPTION_LIMIT) if isinstance(described, str) else ""
        kind = hide.text(type_words(about, root))
        if about.get("type") == "string" and (hint := _VARIABLE.search(text)):
            # What the schema can only call a string: the person names a variable.
            kind, text = f"{hint[1]}, by its name", text.replace(hint[0], "").strip()
        yield Field(path, depth, kind, value, text, about)
        # A model that holds itself is drawn once; its second coming is only its type.
        for inner, step, mark in _inner(about, raw, root) if depth < MAX_DEPTH else ():
            if mark is None or mark not in above:
                deeper = above if mark is None else (*above, mark)
                yield from _walk(inner, root, f"{path}{step}.", depth + 1, deeper, hide)


def _inner(
    about: Mapping[str, Any], raw: Any, root: Mapping[str, Any], step: str = "", depth: int = 0
) -> Iterator[tuple[Mapping[str, Any], str, str | None]]:
    """The objects inside a field: itself, an item, or each choice; with how a path through it looks, and its reference.

    By the reference a schema is recognised when it comes again.
    """
    mark = raw.get("$ref") if isinstance(raw, dict) and isinstance(raw.get("$ref"), str) else None
    if isinstance(about.get("properties"), dict):
        yield about, step, mark
        return
    if depth >= MAX_TYPE_DEPTH:
        return
    items = about.get("items")
    if isinstance(items, dict):
        yield from _inner(resolve(items, root), items, root, f"{step}[]", depth + 1)
    choices = [each for key in ("anyOf", "oneOf") if isinstance(about.get(key), list) for each in about[key]]
    real = [(each, resolve(each, root)) for each in choices[: MAX_CHOICES + 1]]
    real = [(each, inner) for each, inner in real if inner.get("type") != "null"]
    for number, (each, inner) in enumerate(real[:MAX_CHOICES], 1):
        named = called(each, inner) or str(number)
        # The one that isn't null needs no name.
        yield from _inner(inner, each, root, step if len(real) == 1 else f"{step}({named})", depth + 1)


def called(raw: Any, about: Mapping[str, Any]) -> str:
    """What an object among several is called: its title, or the last word of its reference."""
    title, reference = about.get("title"), raw.get("$ref") if isinstance(raw, dict) else None
    if isinstance(title, str) and title.strip():
        return one_line(title, 40)
    return one_line(reference.rpartition("/")[2], 40) if isinstance(reference, str) else ""


def _choices(about: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for key in ("anyOf", "oneOf"):
        if isinstance(about.get(key), list):
            return [resolve(choice, root) for choice in about[key]]
    return []


def type_words(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> str:
    """A schema's type and limits: ``integer, 1 to 32``, ``list of smb | mid``, ``date or null``."""
    root = schema if root is None else root
    about = resolve(schema, root)
    if depth > MAX_TYPE_DEPTH or not about:
        return "anything"
    if isinstance(about.get("enum"), list):
        return _enumerated(about["enum"])
    if "const" in about:
        return _literal(about["const"])
    choices = _choices(about, root)
    if choices:
        several = sum(isinstance(choice.get("properties"), dict) for choice in choices) > 1
        raw = next(about[key] for key in ("anyOf", "oneOf") if isinstance(about.get(key), list))
        words = dict.fromkeys(
            (several and isinstance(choice.get("properties"), dict) and called(each, choice))
            or type_words(choice, root, depth + 1)
            for each, choice in zip(raw[:MAX_CHOICES], choices, strict=False)
        )
        more = len(choices) - MAX_CHOICES
        return " or ".join(words) + (f" or {more} more" if more > 0 else "")
    kind = about.get("type")
    if isinstance(kind, list):
        words = dict.fromkeys(type_words({**about, "type": one}, root, depth + 1) for one in kind)
        return " or ".join(words)
    if kind == "array":
        return _array(about, root, depth)
    if kind == "object":
        return _object(about, root, depth)
    name = about.get("format") if isinstance(about.get("format"), str) else kind
    return ", ".join([str(name) if name else "anything", *_limits(about)])


def _literal(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else to_json(value)


def _enumerated(values: list[Any]) -> str:
    shown = [one_line(_literal(value), 40) for value in values[:MAX_CHOICES]]
    more = len(values) - len(shown)
    return " | ".join(shown) + (f" | {more} more" if more else "")


def _array(about: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    prefix = about.get("prefixItems")
    if isinstance(prefix, list):
        return "list of " + ", ".join(type_words(item, root, depth + 1) for item in prefix[:MAX_CHOICES])
    items = resolve(about.get("items"), root)
    inner = type_words(items, root, depth + 1) if items else "anything"
    words = f"list of {_PLURAL.get(inner, inner)}"
    low, high = about.get("minItems"), about.get("maxItems")
    limits = [_between(low, high, "items")] if low is not None or high is not None else []
    if about.get("uniqueItems") is True:
        limits.append("none twice")
    return ", ".join([words, *limits])


def _object(about: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if isinstance(about.get("properties"), dict):
        name = about.get("title")
        return name if isinstance(name, str) and name else "object"
    values = about.get("additionalProperties")
    if isinstance(values, dict) and values:
        inner = type_words(values, root, depth + 1)
        return f"object of {_PLURAL.get(inner, inner)}"
    return "object"


def _limits(about: Mapping[str, Any]) -> list[str]:
    out = []
    low, high = about.get("minimum"), about.get("maximum")
    if low is not None or high is not None:
        out.append(_between(low, high))
    for key, words in (("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than")):
        if isinstance(about.get(key), int | float) and not isinstance(about.get(key), bool):
            # A whole number may be longer than any that Python's formats take.
            out.append(f"{words} {about[key]:g}" if isinstance(about[key], float) else f"{words} {to_json(about[key])}")
    low, high = about.get("minLength"), about.get("maxLength")
    if low is not None or high is not None:
        out.append(_between(low, high, "characters"))
    if isinstance(about.get("pattern"), str):
        out.append(f"like {one_line(about['pattern'], 60)}")
    if about.get("multipleOf") is not None:
        out.append(f"a multiple of {to_json(about['multipleOf'])}")
    return out


def _between(low: Any, high: Any, unit: str = "") -> str:
    # A range is named after its end: "0 to 1 character".
    unit = f" {unit.removesuffix('s') if (low if high is None else high) == 1 else unit}" if unit else ""
    low_text, high_text = to_json(low), to_json(high)
    if low is not None and high is not None:
        return f"{low_text}{unit}" if low == high else f"{low_text} to {high_text}{unit}"
    return f"at least {low_text}{unit}" if low is not None else f"at most {high_text}{unit}"
