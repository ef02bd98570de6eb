"""Where a bracket in a line of text is closed, its quotes and inner brackets left out of the count."""

from __future__ import annotations

__all__ = ["matching"]

_CLOSING = {"{": "}", "[": "]", "(": ")"}


def matching(line: str, start: int) -> int | None:
    """Where the bracket that opens at ``start`` is closed, one past it; None where it never is."""
    waiting: list[str] = []
    quote = ""
    i = start
    while i < len(line):
        char = line[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in _CLOSING:
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                return i + 1
        elif char in _CLOSING.values():
            return None
        i += 1
    return None
