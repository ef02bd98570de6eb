"""What ``${NAME…}`` with an operator can become, as far as it stands there: defaults, cut ends, replaced texts, letters."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Value", "operated", "shown"]

_DEFAULT = re.compile(r":?([-=+?])(.*)\Z", re.DOTALL)
_CUT = re.compile(r"(%%?|##?)(.+)\Z", re.DOTALL)
_REPLACE = re.compile(r"(//?)([^/]+)(?:/(.*))?\Z", re.DOTALL)
_CASE = {",": str.lower, ",,": str.lower, "^": str.upper, "^^": str.upper}
# Whatever else stands in it would have to be expanded first.
_LITERAL = re.compile(r"[^$`\\*?\[\]'\"]*\Z")


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
        text = _plain(cut.group(2))
        return None if text is None else _cut(values, text, at_end=cut.group(1)[0] == "%")
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
