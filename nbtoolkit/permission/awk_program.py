"""An awk program, read far enough to see whether it runs programs or reaches files by itself.

Texts, expressions between slashes and comments are told from code, so that a bar or a greater-than sign in them means
nothing. Where awks read a program differently, or it isn't clear, the program counts as one that may do anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["AwkProgram", "read_awk"]

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\n)+)|(?P<comment>\#[^\n]*)|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d[\w.]*)|(?P<sign>\|\||&&|>>|\*\*=?|[-+]{2}|[-+*%^!=<>]=|!~|[-+*%^<>=~!?:,;(){}\[\]$\n])""",
    re.DOTALL,
)
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)+)/")
_RUNS = frozenset({"system", "getline", "load", "include", "extension", "SYMTAB", "FUNCTAB"})
_SHOWS = frozenset({"ENVIRON"})
# What is opened is decided by them.
_FILES = frozenset({"ARGV", "ARGC"})
_BEFORE_REGEX = frozenset({"print", "printf", "return", "else", "do", "in", "case", "exit", "delete", "BEGIN", "END"})
_HEADS = frozenset({"if", "while", "for"})
_STANDARD = frozenset({"/dev/stdout", "/dev/stderr", "-"})


@dataclass(frozen=True, slots=True)
class AwkProgram:
    """``fault``: why it may do more than print; ``written``: the files that it prints to."""

    fault: str | None = None
    serious: bool = True
    """Whether the fault is a reason to ask whatever the rules say."""
    written: tuple[str, ...] = ()


@dataclass(slots=True)
class _Place:
    """Where the reader stands."""

    previous: str = ""
    heads: list[bool] = field(default_factory=list)
    printing: int | None = None
    """How deep in parentheses the print statement stands that it is in."""


@lru_cache(maxsize=256)
def read_awk(text: str) -> AwkProgram:
    """Read a program."""
    place = _Place()
    written: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "/":
            used = _slash(text, at, place)
            if used is None:
                return AwkProgram("it isn't clear what the awk program does")
            at += used
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            # A bar, an at sign, an odd character.
            return AwkProgram("the awk program can run a program or reach another file")
        at = match.end()
        kind, piece = match.lastgroup, match.group()
        if kind in ("blank", "comment"):
            continue
        if kind == "name" and (fault := _fault(piece)) is not None:
            return AwkProgram(fault, serious=piece not in _FILES)
        if piece in (">", ">>") and place.printing is not None and len(place.heads) == place.printing:
            target = re.compile(r'\s*"([^"\\\n]*)"[ \t]*(?=[;}\n]|\Z)').match(text, at)
            if target is None:
                return AwkProgram("the awk program can reach another file")
            if target.group(1) not in _STANDARD:
                written.append(target.group(1))
            at = target.end()
            piece = '"'
        _move(place, kind or "", piece)
    return AwkProgram(written=tuple(dict.fromkeys(written)))


def _fault(name: str) -> str | None:
    if name in _RUNS:
        return "the awk program can run a program or reach another file"
    if name in _SHOWS:
        return "the awk program reads the environment"
    return "the awk program decides what files it reads" if name in _FILES else None


def _move(place: _Place, kind: str, piece: str) -> None:
    if piece in ("print", "printf"):
        place.printing = len(place.heads)
    ends = piece in (";", "}") or (piece == "\n" and place.previous not in (",", "&&", "||", "?", ":"))
    if ends and place.printing is not None and len(place.heads) <= place.printing:
        place.printing = None
    if piece == "(":
        place.heads.append(place.previous in _HEADS)
    elif piece == ")":
        # Behind the head of a loop or a condition a new statement begins.
        head = place.heads.pop() if place.heads else False
        place.previous = "head" if head else ")"
        return
    place.previous = "text" if kind == "text" else "number" if kind == "number" else piece


def _slash(text: str, at: int, place: _Place) -> int | None:
    """How far a slash reaches: an expression, or just itself; None where that can't be told."""
    previous = place.previous
    operand = previous in ("text", "number", ")", "]", '"') or (
        re.match(r"[A-Za-z_]", previous) is not None and previous not in _BEFORE_REGEX and previous != "head"
    )
    if previous in ("++", "--", "$"):
        return None
    if operand:
        place.previous = "/"
        return 2 if text.startswith("/=", at) else 1
    match = _REGEX.match(text, at)
    if match is None:
        return None
    inner = re.sub(r"\\.", "", match.group(1))
    if re.sub(r"\[\^?\]?[^\]]*\]", "", inner).find("[") >= 0:
        # Some awks let a slash stand in brackets.
        return None
    place.previous = "text"
    return match.end() - at
