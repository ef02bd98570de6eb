r"""Rules by argument: ``load_table(path=data/**, limit<=1000)``.

    content    = condition { "," condition }
    condition  = argument OP value          OP: = != <= >= < >   (== is =)
    argument   = name { "." name }          filter.species; a name of other signs in double quotes
    value      = "text"                     exactly this text, escapes as in JSON
               | [..] | {..}                exactly this JSON
               | bare                       up to the next comma outside braces; \ takes a sign's meaning away

A bare value is a glob: over paths when it holds ``/`` or starts with ``.`` or ``~``, over URLs when it holds ``://``,
over the value's text otherwise. Numbers compare as numbers, dates as dates. All conditions must hold; arguments that
aren't named are free. In a list every element must match to allow, any one to deny or ask.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nbtoolkit.permission import pattern
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Condition",
    "Content",
    "canonical",
    "moment",
    "move_content",
    "moved",
    "number",
    "parse_content",
    "suggest_rules",
]

Op = Literal["=", "!=", "<=", ">=", "<", ">"]
Kind = Literal["text", "json", "bare"]

# What a person can read and mean; a longer suggestion would allow what nobody has looked at.
LONGEST_SUGGESTION = 2000

_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s.=!<>,"]+')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ORDERED = frozenset({"<=", ">=", "<", ">"})
_WHOLE = re.compile(r"[+-]?\d+")
_OP = re.compile(r"\s*(<=|>=|!=|==|=|<|>)\s*")
_PLAIN = re.compile(r"[A-Za-z0-9_/:+@%-][A-Za-z0-9_./:+@% -]*(?<! )|\.{1,2}/[A-Za-z0-9_./:+@% -]*(?<! )")


class Condition(NamedTuple):
    """One condition: the way to an argument, a comparison, a value as the rule writes it."""

    path: tuple[str, ...]
    op: Op
    kind: Kind
    value: str

    def __str__(self) -> str:
        name = ".".join(each if _NAME.fullmatch(each) and each[0] != '"' else _quoted(each) for each in self.path)
        value = _quoted(self.value) if self.kind == "text" else self.value
        return f"{name}{self.op}{value}"


@dataclass(frozen=True, slots=True)
class Content:
    """A rule's content taken apart; ``fault`` says why it is none."""

    conditions: tuple[Condition, ...]
    fault: str | None = None


# --------------------------------------------------------------------------------------------------- the grammar
@lru_cache(maxsize=16384)
def parse_content(text: str) -> Content:
    """Take a rule's content apart; one that isn't in the grammar has no conditions and a fault."""
    found: list[Condition] = []
    at = 0
    try:
        while True:
            condition, at = _condition(text, at)
            found.append(condition)
            if at >= len(text):
                return Content(tuple(found))
            at += 1  # the comma
    except ValueError as fault:
        return Content((), str(fault))


def _condition(text: str, at: int) -> tuple[Condition, int]:
    path, after = _path(text, at)
    op = _OP.match(text, after)
    if not op:
        raise ValueError(f"Expected NAME=VALUE at {text[at:].strip()!r}, with one of = != <= >= < >.")
    at = op.end()
    rest = text[at:]
    if rest.startswith('"'):
        value, used = _json_at(rest, "a text in double quotes")
        kind: Kind = "text"
    elif rest[:1] in {"[", "{"} and (whole := _json_value(rest)):
        value, used = whole
        kind = "json"
    else:
        used = _bare_end(rest)
        value, kind = rest[:used].strip(), "bare"
        if not value:
            raise ValueError(f'Expected a value after {text[:at].strip()!r}; an empty text is "".')
    end = at + used
    end += len(text[end:]) - len(text[end:].lstrip())
    if end < len(text) and text[end] != ",":
        raise ValueError(f"Expected a comma at {text[end:]!r}.")
    if op[1] in _ORDERED and number(value) is None and moment(value) is None:
        raise ValueError(f"{op[1]} compares numbers and dates, not {value!r}.")
    return Condition(path, _op(op[1]), kind, value), end


def _op(sign: str) -> Op:
    return "=" if sign == "==" else sign  # type: ignore[return-value]


def _path(text: str, at: int) -> tuple[tuple[str, ...], int]:
    names: list[str] = []
    at += len(text[at:]) - len(text[at:].lstrip())
    while name := _NAME.match(text, at):
        names.append(json.loads(name[0]) if name[0].startswith('"') else name[0])
        at = name.end()
        if text[at : at + 1] != ".":
            return tuple(names), at
        at += 1
    raise ValueError(f"Expected an argument's name at {text[at:]!r}.")


def _json_at(text: str, expected: str) -> tuple[str, int]:
    try:
        value, used = json.JSONDecoder().raw_decode(text)
    except ValueError:
        raise ValueError(f"Expected {expected} at {text!r}.") from None
    return (value if isinstance(value, str) else canonical(value)), used


def _json_value(text: str) -> tuple[str, int] | None:
    try:
        value, used = _json_at(text, "JSON")
    except (ValueError, RecursionError):
        return None
    rest = text[used:].lstrip()
    return (value, used) if not rest or rest.startswith(",") else None


def _bare_end(text: str) -> int:
    depth = at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 2
            continue
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif sign == "," and depth <= 0:
            return at
        at += 1
    return len(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def number(value: Any) -> int | float | None:
    """A JSON number, or a text that reads as one; None for anything else, true and false too."""
    if isinstance(value, str):
        if len(value) > 400 or not _NUMBER.fullmatch(value):
            return None
        return int(value) if _WHOLE.fullmatch(value) else float(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def moment(text: str) -> datetime | None:
    """A text as a date or a date with a time; None where it is neither."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), datetime.min.time())
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def canonical(value: Any) -> str:
    """A value's JSON in the one form that rules and suggestions compare."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


# ------------------------------------------------------------------------------------------------------- suggesting
def suggest_rules(tool_name: str, tool_input: Mapping[str, Any], base: str | None = None) -> list[PermissionRule]:
    """The rule that allows calls with exactly these arguments; none where it would be too long to be read.

    ``base`` is the folder that its relative paths will be read from, by default the process's own.
    """
    conditions = [_exactly(name, value, base) for name, value in tool_input.items()]
    content = ", ".join(map(str, conditions)) if conditions else None
    if content is not None and len(content) > LONGEST_SUGGESTION:
        return []
    return [PermissionRule(tool_name=tool_name, rule_content=content, behavior=PermissionBehavior.ALLOW)]


def _exactly(name: str, value: Any, base: str | None) -> Condition:
    path = (name,)
    if isinstance(value, str):
        bare = _PLAIN.fullmatch(value) and pattern.literal(value) == value
        if bare and pattern.is_path_pattern(value) and value[0] not in "/~":
            here = os.getcwd()  # noqa: PTH109 - a text is all that is needed
            elsewhere = base is not None and pattern.slashes(here) != base
            # From another folder than the rule's a relative path is written as the place that it leads to; a text with
            # a slash that leads nowhere, the name of a repository say, stays what it is.
            if _turns(value) or (elsewhere and os.path.lexists(posixpath.dirname(value))):
                value = moved(value, here, base or here)
        return Condition(path, "=", "bare" if bare else "text", value)
    if isinstance(value, list | dict):
        return Condition(path, "=", "json", canonical(value))
    return Condition(path, "=", "bare", json.dumps(value, default=str))


def _turns(value: str) -> bool:
    return value[0] == "." or ".." in value.split("/")


def moved(value: str, old: str, new: str) -> str:
    """A relative path as it reads from another folder."""
    way = posixpath.normpath(posixpath.join(posixpath.relpath(pattern.slashes(old), pattern.slashes(new)), value))
    return way if way.startswith("../") or way in {".", ".."} else f"./{way}"


def move_content(content: str, old: str, new: str) -> str:
    """A rule's content, the paths that mean a place rewritten to be read from another folder."""
    parsed = parse_content(content)
    if not any(_place(each, old) for each in parsed.conditions):
        return content
    return ", ".join(
        str(each._replace(value=moved(each.value, old, new)) if _place(each, old) else each)
        for each in parsed.conditions
    )


def _place(condition: Condition, folder: str) -> bool:
    value = condition.value
    if condition.kind != "bare" or not pattern.is_path_pattern(value) or value[0] in "/~":
        return False
    return value[0] == "." or os.path.lexists(posixpath.join(folder, posixpath.dirname(value)))
