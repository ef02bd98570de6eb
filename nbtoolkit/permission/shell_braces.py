"""Braces in words: ``a{b,c}d`` and ``{1..9}`` as the words that bash makes of them, before anything else expands."""

from __future__ import annotations

import re

from nbtoolkit.permission.shell import Part, Unreadable

__all__ = ["NUMBER", "expand_braces", "merged"]

# More words than this from one pair of braces count as one unknown word.
MAX_BRACES = 64
MAX_OPEN_BRACES = 24

NUMBER = Part("unknown", "0")

_SEQUENCE = re.compile(r"(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,9}))?\Z")


def merged(parts: list[Part]) -> tuple[Part, ...]:
    """Neighbouring plain texts as one, so that most words are a single part; braces stay apart."""
    if len(parts) < 2:
        return tuple(parts)
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        alike = last is not None and part.kind == last.kind == "text" and part.quoted == last.quoted
        if last is not None and part.kind == last.kind == "glob" and "[" not in part.text + last.text:
            merged[-1] = Part("glob", last.text + part.text)
        elif last is not None and alike and (part.quoted or (part.text not in "{}" and last.text not in "{}")):
            merged[-1] = Part("text", last.text + part.text, part.quoted)
        else:
            merged.append(part)
    return tuple(merged)


# ---------------------------------------------------------------------------------------------------------- braces
def expand_braces(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """The words that a word's braces make; more than ``MAX_BRACES`` are one unknown word."""
    if not any(part.kind == "text" and not part.quoted and part.text == "{" for part in parts):
        return [parts]
    if sum(part.text == "{" for part in parts) > MAX_OPEN_BRACES:
        raise Unreadable(f"a word has more than {MAX_OPEN_BRACES} braces")
    units: list[Part] = []
    for part in parts:
        if part.kind == "text" and not part.quoted and part.text not in ("{", "}") and "," in part.text:
            units.extend(Part("text", piece) for piece in re.split("(,)", part.text) if piece)
        else:
            units.append(part)
    expanded = _braces(units, 0)
    if expanded is None:
        return [(Part("unknown", ""),)]
    return [tuple(merged(_tildes(word))) for word in expanded]


def _tildes(word: list[Part]) -> list[Part]:
    """A tilde that braces moved away from the front is itself."""
    front = [part for part in word if part.text or part.kind != "text"]
    return [
        Part("text", "~" + part.text, quoted=True)
        if part.kind == "tilde" and at and not front[at - 1].text.endswith(("=", ":"))
        else part
        for at, part in enumerate(front)
    ]


def _is(part: Part, sign: str) -> bool:
    return part.kind == "text" and not part.quoted and part.text == sign


def _braces(units: list[Part], depth: int) -> list[list[Part]] | None:
    if depth > 16:
        return None
    for at, unit in enumerate(units):
        if not _is(unit, "{"):
            continue
        found = _alternatives(units, at)
        if found is None:
            continue
        alternatives, after = found
        tails = _braces(units[after:], depth + 1)
        if tails is None:
            return None
        middles: list[list[Part]] = []
        for alternative in alternatives:
            inner = _braces(alternative, depth + 1)
            if inner is None:
                return None
            middles.extend(inner)
        if len(middles) * len(tails) > MAX_BRACES:
            return None
        return [units[:at] + middle + tail for middle in middles for tail in tails]
    return [units]


def _alternatives(units: list[Part], at: int) -> tuple[list[list[Part]], int] | None:
    """What stands between the brace at ``at`` and its partner, and where it goes on; None for a brace that is text."""
    nested = 0
    current: list[Part] = []
    alternatives: list[list[Part]] = []
    for index in range(at + 1, len(units)):
        unit = units[index]
        if _is(unit, "{"):
            nested += 1
        elif _is(unit, "}"):
            if not nested:
                alternatives.append(current)
                if len(alternatives) > 1:
                    return alternatives, index + 1
                sequence = _sequence(current)
                return None if sequence is None else (sequence, index + 1)
            nested -= 1
        elif _is(unit, ",") and not nested:
            alternatives.append(current)
            current = []
            continue
        current.append(unit)
    return None


def _sequence(units: list[Part]) -> list[list[Part]] | None:
    if any(unit.kind != "text" or unit.quoted for unit in units):
        return None
    match = _SEQUENCE.match("".join(unit.text for unit in units))
    if match is None:
        return None
    low, high, first, last, by = match.groups()
    step = abs(int(by)) if by else 1
    if first is not None:
        # Between capitals and small letters lie signs; bash makes words of them too.
        if first.isupper() != last.isupper():
            return [[Part("unknown", "")]]
        codes = _steps(ord(first), ord(last), step or 1)
        return [[Part("text", chr(code))] for code in codes]
    width = max(len(low), len(high)) if re.match(r"-?0\d", low) or re.match(r"-?0\d", high) else 0
    numbers = _steps(int(low), int(high), step or 1)
    if len(numbers) > MAX_BRACES:
        return [[NUMBER]]
    return [[Part("text", f"{number:0{width}d}" if width else str(number))] for number in numbers]


def _steps(low: int, high: int, step: int) -> range:
    return range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
