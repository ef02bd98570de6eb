"""Lines of a text that an expression matches, found in a process of its own: Python's can't be stopped where it runs away.

``(a+)+$`` takes longer than a life over some forty letters, and holds the whole interpreter while it does. So this file
is a script too, with nothing but the standard library: what to look for comes first, then texts; each is answered.
"""

from __future__ import annotations

import json
import re
import sys
from typing import IO, Any, NamedTuple

__all__ = ["Wanted", "matches", "pack", "unpack"]


class Wanted(NamedTuple):
    """What to look for, and what to give of it."""

    pattern: str
    flags: int
    mode: str
    numbers: bool
    before: int
    after: int
    multiline: bool


def matches(wanted: Wanted, text: str) -> list[str]:
    """The lines as they are shown; one text alone for a count, an empty one for a name."""
    # Kept by `re` itself from one text to the next.
    expression = re.compile(wanted.pattern, wanted.flags)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if wanted.multiline:
        hits = [each for each in _across(expression, text) if each < len(lines)]
    elif wanted.mode == "files_with_matches":
        hits = [0] if any(map(expression.search, lines)) else []
    else:
        hits = [at for at, line in enumerate(lines) if expression.search(line)]
    if not hits:
        return []
    if wanted.mode == "files_with_matches":
        return [""]
    if wanted.mode == "count":
        return [str(len(hits))]
    return _context(lines, hits, wanted)


def _across(expression: re.Pattern[str], text: str) -> list[int]:
    """The lines that matches of the whole text lie on."""
    hits: dict[int, None] = {}
    first = at = 0
    for match in expression.finditer(text):
        first += text.count("\n", at, match.start())
        at = match.start()
        for line in range(first, first + text.count("\n", at, max(at, match.end() - 1)) + 1):
            hits[line] = None
    return list(hits)


def _context(lines: list[str], hits: list[int], wanted: Wanted) -> list[str]:
    signs: dict[int, str] = {}
    for hit in hits:
        for at in range(max(0, hit - wanted.before), min(len(lines), hit + wanted.after + 1)):
            signs.setdefault(at, "-")
        signs[hit] = ":"
    out: list[str] = []
    last = None
    for at in sorted(signs):
        if last is not None and at > last + 1 and (wanted.before or wanted.after):
            out.append("--")
        last = at
        line = lines[at].rstrip("\r")
        out.append(f"{signs[at]}{at + 1}{signs[at]}{line}" if wanted.numbers else f":{line}")
    return out


def pack(value: Any) -> bytes:
    """A value with its length before it."""
    data = json.dumps(value).encode()
    return len(data).to_bytes(8, "big") + data


def unpack(pipe: IO[bytes]) -> Any:
    """The next value; None at the pipe's end."""
    size = pipe.read(8)
    data = pipe.read(int.from_bytes(size, "big")) if len(size) == 8 else b""
    return json.loads(data) if data else None


def main() -> None:
    """Answer until the input ends."""
    wanted = Wanted(*unpack(sys.stdin.buffer))
    while (text := unpack(sys.stdin.buffer)) is not None:
        sys.stdout.buffer.write(pack(matches(wanted, text)))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
