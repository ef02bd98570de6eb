r"""Rules by argument: ``load_table(path=data/**, limit<=1000)``.

    content    = "*"                        every call
               | condition { "," condition }
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
import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

__all__ = ["Condition", "Content", "canonical", "condition_fault", "moment", "number", "parse_content"]

Op = Literal["=", "!=", "<=", ">=", "<", ">"]
Kind = Literal["text", "json", "bare"]

_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s.=!<>,"]+')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ORDERED = frozenset({"<=", ">=", "<", ">"})
_WHOLE = re.compile(r"[+-]?\d+")
_OP = re.compile(r"\s*(<=|>=|!=|==|=|<|>)\s*")
# Whoever writes this means a condition, whatever the tool: no shell line and no path that somebody types begins so.
_MEANT = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[A-Za-z_][\w.-]*)\s*[=<>!]')


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
    if text.strip() == "*":
        return Content(())
    try:
        while True:
            condition, at = _condition(text, at)
            found.append(condition)
            if at >= len(text):
                return Content(tuple(found))
            at += 1  # the comma
    except ValueError as fault:
        return Content((), str(fault))


def condition_fault(text: str) -> str | None:
    """Why a content that plainly means conditions on arguments is none; None for any other content."""
    return parse_content(text).fault if _MEANT.match(text) else None


def _condition(text: str, at: int) -> tuple[Condition, int]:
    path, after = _path(text, at)
    op = _OP.match(text, after)
    if not op:
        raise ValueError(f"Expected NAME=VALUE at {text[at:].strip()!r}, with one of = != <= >= < >.")
    at = op.end()
    rest = text[at:]
    if rest[:1] in {"<", ">", "=", "!"}:
        signs = text[after : at + len(rest) - len(rest.lstrip("<>=!"))].strip()
        raise ValueError(
            f"{signs!r} is no comparison. Expected NAME=VALUE with one of = != <= >= < >; "
            "a value that begins with such a sign goes in double quotes."
        )
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
