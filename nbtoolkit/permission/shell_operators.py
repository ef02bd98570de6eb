"""What ``${NAME…}`` with an operator can become, as far as it stands there: defaults, cut ends, replaced texts, letters."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALL_ELEMENTS", "ELEMENT", "Value", "operated", "shown"]

# ``${NAME[…]}``: one element of an array, and all of them.
ELEMENT = "[]"
ALL_ELEMENTS = "[@]"


_DEFAULT = re.compile(r":?([-=+?])(.*)\Z", re.DOTALL)
_CUT = re.compile(r"(%%?|##?)(.+)\Z", re.DOTALL)
_SUBSTRING = re.compile(r":\s*(-?\d{1,6})\s*(?::\s*(-?\d{1,6})\s*)?\Z")
_REPLACE = re.compile(r"(//?)([^/]+)(?:/(.*))?\Z", re.DOTALL)
_CASE = {",": str.lower, ",,": str.lower, "^": str.upper, "^^": str.upper}
# Whatever else stands in it would have to be expanded first.
_LITERAL = re.compile(r"[^$`\\*?\[\]'\"]*\Z")
_STARRED = re.compile(r"[^$`\\\[\]'\"]*\Z")
# Longer texts aren't held against a pattern at each of their ends.
LONGEST = 300


class Value(NamedTuple):
    """One value: its text, and the glob that it is where a sign in it is active."""

    text: str
    pattern: str | None = None


def _plain(text: str) -> str | None:
    """A text without its quotes; None where it isn't only a text."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return text if _LITERAL.match(text) else None


def shown(operator: str) -> list[str]:
    """The texts in an operator that the whole may become."""
    default = _DEFAULT.match(operator)
    replaced = _REPLACE.match(operator)
    text = default.group(2) if default else replaced.group(3) if replaced else None
    plain = None if text is None else _plain(text)
    if plain is None or (default is not None and default.group(1) == "?"):
        return []
    if plain == "~" or plain.startswith("~/"):
        plain = os.path.expanduser(plain)  # noqa: PTH111
    return [plain]


def operated(values: Sequence[Value], operator: str) -> list[Value] | None:
    """Every value that the operator can make of these; None where that isn't known."""
    default = _DEFAULT.match(operator)
    if default is not None:
        texts = shown(operator)
        if default.group(1) == "?":
            return list(values)
        if not texts:
            return None
        # Whether the variable is set by then isn't known.
        kept = [] if default.group(1) == "+" else list(values)
        return [*kept, Value(texts[0]), *([Value("")] if default.group(1) == "+" else [])]
    if operator in _CASE:
        if len(operator) == 1 or any(value.pattern is not None or not value.text.isascii() for value in values):
            return None
        return [Value(_CASE[operator](value.text)) for value in values]
    cut = _CUT.match(operator)
    if cut is not None:
        sign, text = cut.group(1), _plain(cut.group(2))
        if text is None:
            return _cut_by_pattern(values, cut.group(2), at_end=sign[0] == "%", longest=len(sign) > 1)
        return _cut(values, text, at_end=sign[0] == "%")
    substring = _SUBSTRING.match(operator)
    if substring is not None:
        return _substring(values, int(substring.group(1)), substring.group(2))
    replaced = _REPLACE.match(operator)
    if replaced is not None and not any(value.pattern is not None for value in values):
        old, new = _plain(replaced.group(2)), _plain(replaced.group(3) or "")
        if old is None or new is None or old[:1] in "#%" or "&" in new:
            return None
        count = -1 if replaced.group(1) == "//" else 1
        return [Value(value.text.replace(old, new, count)) for value in values]
    return None


def _cut(values: Sequence[Value], text: str, *, at_end: bool) -> list[Value] | None:
    found: list[Value] = []
    escaped = glob.escape(text)
    for value in values:
        fits = value.text.endswith(text) if at_end else value.text.startswith(text)
        rest = value.text.removesuffix(text) if at_end else value.text.removeprefix(text)
        if value.pattern is None:
            found.append(Value(rest))
        elif fits and (value.pattern.endswith(escaped) if at_end else value.pattern.startswith(escaped)):
            pattern = value.pattern.removesuffix(escaped) if at_end else value.pattern.removeprefix(escaped)
            found.append(Value(rest, pattern))
        else:
            # Of what a glob finds some may end so.
            return None
    return found


def _cut_by_pattern(values: Sequence[Value], pattern: str, *, at_end: bool, longest: bool) -> list[Value] | None:
    """``${NAME%.*}`` and its like."""
    if not _STARRED.match(pattern) or any(each.pattern is not None or len(each.text) > LONGEST for each in values):
        return None
    match = re.compile(fnmatch.translate(pattern)).match
    found: list[Value] = []
    for text in (value.text for value in values):
        lengths = range(len(text), -1, -1) if longest else range(len(text) + 1)
        ends = (text[len(text) - length :] if at_end else text[:length] for length in lengths)
        cut = next((end for end in ends if match(end)), "")
        found.append(Value(text[: len(text) - len(cut)] if at_end else text[len(cut) :]))
    return found


def _substring(values: Sequence[Value], offset: int, length: str | None) -> list[Value] | None:
    """``${NAME:offset:length}``."""
    found: list[Value] = []
    for value in values:
        text = value.text
        start = offset if offset >= 0 else len(text) + offset
        count = len(text) if length is None else int(length)
        stop = len(text) + count if count < 0 else start + count
        if value.pattern is not None or start < 0 or stop < start:
            return None
        found.append(Value(text[start:stop]))
    return found
