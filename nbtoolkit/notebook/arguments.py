"""A tool's arguments out of the words of a line: ``key=value …``, or one JSON object.

A value is JSON where it parses as JSON, else a text; where the tool's schema wants a text and no number, ``zip=12345``
stays a text. A whole unquoted value ``$name`` or ``{expression}`` is that Python value. Inside longer text ``$`` and
braces mean nothing, so globs, shell commands and regular expressions survive; where a name in braces is a variable's, as
other magics would take it, the line is refused and says what to write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from nbtoolkit.notebook.command import CommandError, Evaluate, Word, nearest, stray
from nbtoolkit.notebook.fields import others, resolve, variable_class
from nbtoolkit.notebook.names import is_of
from nbtoolkit.permission.json_object import json_object, no_constant

__all__ = ["may_stand", "parse_arguments", "parse_json_object", "value_of"]

_TYPES: dict[type, str] = {
    bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"
}  # fmt: skip
_MISSING = object()
# A $name in these is the shell's own.
_SHELL = frozenset({"command", "cmd", "script", "code"})
# A schema that refers to itself through anyOf must come to an end.
_MAX_DEPTH = 8


def parse_arguments(
    tool: str, words: tuple[Word, ...], body: str | None, schema: Mapping[str, Any], evaluate: Evaluate
) -> dict[str, Any]:
    """The arguments that the words of a ``call`` and the JSON below it give, not yet validated."""
    arguments: dict[str, Any] = {}
    if words and (words[0].text.startswith("{") or (len(words) == 1 and words[0].key_and_value() is None)):
        arguments = _object_word(tool, words, schema, evaluate)
    else:
        for word in words:
            pair = word.key_and_value()
            if pair is None:
                blanks = " (no blanks around the =)" if any(each.raw[:1] == "=" for each in words) else ""
                raise CommandError(
                    f"expected key=value, but got {word.text!r}{blanks or stray(word)}{_takes(tool, schema)}"
                )
            key, value = pair
            if key in arguments:
                raise CommandError(f"the argument {key!r} is given twice")
            arguments[key] = value_of(key, value, _property(schema, key), schema, evaluate)
    if body is not None and body.strip():
        for key, value in parse_json_object(body, f"below %%toolkit call {tool}").items():
            if key in arguments:
                raise CommandError(f"the argument {key!r} is given on the line and in the JSON below it")
            arguments[key] = value
    _check_names(tool, arguments, schema)
    return arguments


def parse_json_object(text: str, where: str) -> dict[str, Any]:
    """A JSON object, or an error with the place where it stops being one."""
    try:
        return json_object(text, where)
    except ValueError as error:
        raise CommandError(str(error)) from None


def value_of(key: str, word: Word, about: Mapping[str, Any], root: Mapping[str, Any], evaluate: Evaluate) -> Any:
    """The value of one ``key=value`` word; ``about`` is the schema of that argument, ``root`` of the whole tool."""
    parsed = _json(word.text)
    if parsed is _MISSING:
        expression = word.expression()
        if not expression:
            word.check_braces(evaluate, key, dollar=key not in _SHELL)
            return word.text
        try:
            found = evaluate(expression)
        except CommandError as error:
            if error.fitting is None:
                raise
            raise error.fitting(key, partial(may_stand, about=about, root=root)) from None
        return _carried(key, word.text, found, about)
    if isinstance(parsed, str):
        word.check_braces(evaluate, key)
        return parsed
    if _admits(parsed, about, root):
        return parsed
    return word.text


def _object_word(tool: str, words: tuple[Word, ...], schema: Mapping[str, Any], evaluate: Evaluate) -> dict[str, Any]:
    word = words[0]
    if word.raw.startswith("{") and len(words) > 1 and not word.raw.endswith("}"):
        raise CommandError(f"the {{ before {word.raw[1:21]!r} is never closed; expected one JSON object")
    expression = word.expression() if _json(word.text) is _MISSING else None
    if len(words) > 1:
        raise CommandError(f"{words[1].text!r} is too much: expected one JSON object, or key=value words")
    if expression:
        value = evaluate(expression)
        if not isinstance(value, Mapping):
            raise CommandError(f"{word.text} is {_kind(value)}; expected a dict of arguments{_takes(tool, schema)}")
        return {str(name): _carried(str(name), word.text, item, _property(schema, str(name)))
                for name, item in value.items()}  # fmt: skip
    if not word.text.startswith("{"):
        raise CommandError(f"expected key=value, but got {word.text!r}{_takes(tool, schema)}")
    return parse_json_object(word.text, f"for {tool}")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=no_constant)
    except ValueError:
        return _MISSING


def _carried(key: str, text: str, value: Any, about: Mapping[str, Any]) -> Any:
    """A notebook value as JSON can carry it; one that it can't is passed by its name, where the schema wants a name."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    kind = type(value)
    if not (kind.__module__ == "builtins" or kind.__module__ in _PLAIN_MODULES or _is_scalar(value)):
        name = text.lstrip("${ ").rstrip("} ")
        if name.isidentifier() and "string" in _types(about, about):
            return name
    try:
        return to_jsonable_python(value.item() if _is_scalar(value) else value)
    except (PydanticSerializationError, ValueError):
        raise CommandError(
            f"{key}={text} is {_kind(value)}, which JSON can't carry; pass what the tool takes, "
            "or the variable's name where it takes a variable"
        ) from None


_PLAIN_MODULES = frozenset({"datetime", "decimal", "pathlib", "uuid", "fractions"})


def may_stand(value: Any, about: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether a variable's value could be this argument: the class that it names, or JSON of its type."""
    wanted = variable_class(about)
    if wanted is not None:
        return is_of(value, wanted)
    value = value.item() if _is_scalar(value) else value
    kind = _TYPES.get(list if isinstance(value, tuple) else type(value))
    if type(value).__module__ in _PLAIN_MODULES:
        kind = "string"
    return ("string" if isinstance(value, str) else kind) in _types(about, root) or (
        kind == "integer" and "number" in _types(about, root)
    )


def _is_scalar(value: Any) -> bool:
    return getattr(value, "shape", None) == () and hasattr(value, "item")


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _property(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    return resolve(properties[key] if key in properties else others(schema), schema)


def _admits(value: Any, about: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether the value's JSON type has a place in the schema; a schema that only takes texts has none for 5."""
    types = _types(about, root)
    if "string" not in types:
        return True
    kind = _TYPES[type(value)]
    return kind in types or (kind == "integer" and "number" in types)


def _types(about: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types that a schema names anywhere in its choices; all of them where it names none."""
    about = resolve(about, root)
    named = about.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return {each for each in named if isinstance(each, str)}
    values = about.get("enum", [about["const"]] if "const" in about else None)
    if isinstance(values, list):
        return {"string" if isinstance(value, str) else _TYPES.get(type(value), "string") for value in values}
    found: set[str] = set()
    for key in ("anyOf", "oneOf"):
        choices = about.get(key)
        for choice in choices if isinstance(choices, list) and depth < _MAX_DEPTH else ():
            found |= _types(choice, root, depth + 1)
    return found or {*_TYPES.values(), "string"}


def _check_names(tool: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Catch a slip of the finger here; a name like none of the tool's is the tool's own business to refuse."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or others(schema) is not None:
        return
    for key in arguments:
        if key not in properties and (hint := nearest(key, [name for name in properties if name not in arguments])):
            raise CommandError(f"{tool} has no argument {key!r}{hint}")


def _takes(tool: str, schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    if others(schema) is not None:
        names.append("any other name" if names else "any name")
    return f"; {tool} takes {', '.join(names)}" if names else f"; {tool} takes no arguments"
