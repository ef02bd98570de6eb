"""A reading of broken JSON that leaves nothing out: whether it is one whole value, and which texts it holds.

The repair library makes something of any text. Its answer counts only where this reading finds the same texts in the same
order, so that half a command, or two commands in one, never run as if one had been sent.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["BrokenError", "holds", "pieces"]

_PAIRS = {"}": "{", "]": "["}
_SPACE = " \t\r\n"
_WORD = re.compile(r"[^\[\]{},:\"'\n]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_UNICODE = re.compile(r"u([0-9a-fA-F]{4})")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}


class BrokenError(ValueError):
    """The text is no one whole value; the message says why."""


def pieces(text: str) -> list[tuple[bool, str]]:
    """The keys and values of the one object or list in a text, in order: whether each stood in quotes, and what it says.

    BrokenError for a text that ends inside a string or bracket, holds more than one value, or has brackets that don't fit.
    """
    found: list[tuple[bool, str]] = []
    stack: list[str] = []
    at = min((place for mark in "{[" if (place := text.find(mark)) >= 0), default=len(text))
    if at == len(text):
        raise BrokenError("there is no object in it")
    while at < len(text):
        mark = text[at]
        if mark in "{[":
            stack.append(mark)
        elif mark in "}]":
            if stack.pop() != _PAIRS[mark]:
                raise BrokenError("its brackets don't fit each other")
            if not stack:
                _check_rest(text[at + 1 :])
                return found
        elif mark in "\"'":
            said, at = _string(text, at)
            found.append((True, said))
            continue
        elif mark not in ",:" and mark not in _SPACE and (word := _WORD.match(text, at)):
            found.append((False, word[0].rstrip()))
            at = word.end()
            continue
        at += 1
    raise BrokenError("it ends in the middle")


def _string(text: str, start: int) -> tuple[str, int]:
    """A string and where it ends: at a quote of its kind before a comma, a colon or a closing bracket."""
    quote = text[start]
    inner = 0
    said: list[str] = []
    at = start + 1
    while at < len(text):
        mark = text[at]
        if mark == "\\" and at + 1 < len(text):
            following = text[at + 1]
            if coded := _UNICODE.match(text, at + 1):
                said.append(chr(int(coded[1], 16)))
                at += 6
                continue
            # A backslash that escapes nothing, as in a pattern, is meant.
            said.append(_ESCAPES.get(following, following if following in "\"'\\/" else mark + following))
            at += 2
            continue
        if mark == quote:
            if _ends_string(text, at + 1):
                if inner % 2:
                    # One of a pair: the other may be the one that was taken for the end.
                    raise BrokenError("a string in it holds quotes that aren't escaped")
                return "".join(said), at + 1
            inner += 1
        said.append(mark)
        at += 1
    raise BrokenError("it ends in the middle")


def _ends_string(text: str, at: int) -> bool:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at < len(text) and text[at] in ",:}]"


def _check_rest(rest: str) -> None:
    if "{" in rest or "[" in rest:
        raise BrokenError("it holds more than one value; send one call for each")
    if '"' in rest or "'" in rest or (rest.strip(_SPACE + "}]`") and ("}" in rest or "]" in rest)):
        raise BrokenError("something follows its end")


def holds(value: Any, found: list[tuple[bool, str]]) -> bool:
    """Whether a value that was read holds just these texts, in this order."""
    told = iter(found)
    return _holds(value, told) and next(told, None) is None


def _holds(value: Any, told: Any) -> bool:
    if isinstance(value, dict):
        return all(_same(key, next(told, None)) and _holds(item, told) for key, item in value.items())
    if isinstance(value, list):
        return all(_holds(item, told) for item in value)
    return _same(value, next(told, None))


def _same(value: Any, piece: tuple[bool, str] | None) -> bool:
    if piece is None:
        return False
    quoted, said = piece
    if isinstance(value, str):
        # Half a surrogate pair is replaced in both.
        return value == said or value == said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if quoted:
        return False
    if said.lower() in _CONSTANTS:
        return value is _CONSTANTS[said.lower()]
    try:
        return not isinstance(value, bool) and value == (int(said) if isinstance(value, int) else float(said))
    except (ValueError, TypeError):
        return False
