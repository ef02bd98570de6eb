"""A ``%toolkit`` line as an object: read here without a shell, run elsewhere.

A line is split like a shell's, with two kindnesses that keep people's text whole: a value that starts with ``{`` or
``[`` runs to the matching bracket, its quotes kept, so JSON needs no quoting; and ``NAME(...)`` runs to the matching
parenthesis, so a rule needs none either. Whatever is wrong is one CommandError that says what was expected.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.notebook.names import left_alone
from nbtoolkit.notebook.text import visible_text
from nbtoolkit.permission.brackets import matching

__all__ = ["Command", "CommandError", "Evaluate", "Option", "Spec", "Word", "nearest", "parse", "split", "stray"]

Evaluate = Callable[[str], Any]
"""Give the value of a Python expression in the notebook, or raise CommandError."""

_RULE_NAME = re.compile(r"[\w*-]+")
_VALUE_STARTS = re.compile(r"[^\s=]*=")
_VARIABLE = re.compile(r"\$([^\W\d]\w*)")


class CommandError(DeveloperOrientedException):
    """A line that can't be done; its one line of text is all that a notebook shows of it.

    ``more`` are words of others that belong to it, such as a server's last lines; they are shown below.
    """

    def __init__(self, message: str, more: str = "") -> None:
        # Loaded when first used. What is wrong is quoted, and may be a variable's value.
        from nbtoolkit.redact import redact

        # It may repeat words of a model or a server, and front ends print it as it is.
        super().__init__(visible_text(redact(" ".join(message.split()))))
        self.more = redact(more) if more else more
        #: For a variable that isn't there: says it anew of an argument, with near names that fit what it takes.
        self.fitting: Callable[[str, Callable[[Any], bool]], CommandError] | None = None

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this in place of a traceback. An `error` output, unlike IPython's own UsageError, also
        # fails the cell for tools that read outputs only.
        return [f"{type(self).__name__}: {self}", *visible_text(self.more).splitlines()]


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the most similar known word, or nothing: to be put at the end of a sentence."""
    by_folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.55)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its text without quotes, and what was typed (``raw``) from ``start`` to ``end`` of the line."""

    text: str
    raw: str
    start: int = 0
    end: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it was quoted or escaped."""
        return self.text == self.raw

    def key_and_value(self) -> tuple[str, Word] | None:
        """The word taken apart at its first ``=``; None where it has none."""
        key, found, text = self.text.partition("=")
        _, _, raw = self.raw.partition("=")
        return (key, Word(text, raw, self.start, self.end)) if found and key else None

    def expression(self) -> str | None:
        """The Python that stands for the whole word, as ``$name`` or ``{expression}``; None where it is a text."""
        if not self.is_plain:
            return None
        if match := _VARIABLE.fullmatch(self.text):
            return match[1]
        return self.text[1:-1].strip() if self.text.startswith("{") and self.text.endswith("}") else None

    def expand(self, evaluate: Evaluate) -> str:
        """The word's text, with a ``$name`` or ``{expression}`` that is all of it replaced by its value."""
        expression = self.expression()
        if not expression:
            self.check_braces(evaluate)
            return self.text
        return str(evaluate(expression))

    def check_braces(self, evaluate: Evaluate, key: str = "", *, dollar: bool = False) -> None:
        """Refuse a variable in braces inside longer text, which would stay as it is, and say what to write."""
        found = left_alone(self.text, evaluate, dollar=dollar and self.is_plain)
        if found is not None:
            written, meant = found
            start = f"{key}=" if key else ""
            raise CommandError(
                f"{written} inside longer text is no variable here; write {start}{{{meant}}} for its value, "
                f"or {start}{{{meant[1:]}}} to have it as it stands"
            )


def split(line: str, *, unfinished: bool = False) -> list[Word]:
    """The words of a line; ``unfinished`` forgives a quote that isn't closed yet."""
    words: list[Word] = []
    i = 0
    while i < len(line):
        if line[i].isspace():
            i += 1
            continue
        start, parts = i, ""
        while i < len(line) and not line[i].isspace():
            taken, i = _piece(line, start, i, parts, unfinished)
            parts += taken
        words.append(Word(parts, line[start:i], start, i))
    return words


def _piece(line: str, start: int, i: int, before: str, unfinished: bool) -> tuple[str, int]:
    """The next piece of the word that began at ``start``, and where the one after it begins."""
    char = line[i]
    whole = line[start:i] == before
    if whole and char in "{[" and (not before or _VALUE_STARTS.fullmatch(before)):
        end = matching(line, i)
        if end is not None and (end == len(line) or line[end].isspace()):
            return line[i:end], end
    if whole and char == "(" and _RULE_NAME.fullmatch(before):
        end = matching(line, i)
        if end is not None:
            return line[i:end], end
    if char == "\\":
        return line[i + 1 : i + 2], min(i + 2, len(line))
    if char in "\"'":
        return _quoted(line, i, unfinished)
    return char, i + 1


def _quoted(line: str, start: int, unfinished: bool) -> tuple[str, int]:
    quote, text = line[start], ""
    i = start + 1
    while i < len(line):
        char = line[i]
        if char == quote:
            return text, i + 1
        if char == "\\" and quote == '"' and line[i + 1 : i + 2] in {'"', "\\"}:
            i += 1
            char = line[i]
        text += char
        i += 1
    if unfinished:
        return text, i
    behind = line[start + 1 : start + 21]
    raise CommandError(f"the quote {quote} {f'before {behind!r}' if behind.strip() else 'at the end'} is never closed")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a subcommand. ``value`` names what it takes ("" for a flag), ``kind`` what completes that."""

    name: str
    value: str = ""
    kind: str = ""
    many: bool = False

    @property
    def usage(self) -> str:
        """How it is written."""
        value = f" {self.value}" if self.value else ""
        return f"[{self.name}{value}{' …' if self.many else ''}]"


@dataclass(frozen=True, slots=True)
class Spec:
    """A subcommand: how it is written, what it does, what it takes.

    ``kinds`` says what completes its words, the last one for all that follow. With ``foreign``, options that it
    doesn't know are words (they belong to the command that is started, or are arguments of a tool).
    """

    name: str
    words: str
    does: str
    options: tuple[Option, ...] = ()
    least: int = 0
    most: int | None = 0
    kinds: tuple[str, ...] = ()
    body: Literal["none", "may", "must"] = "none"
    foreign: bool = False
    example: str = ""
    also: tuple[str, ...] = ()
    """What people type for it who know other tools; they are told its name."""
    below: str = "the code"

    @property
    def usage(self) -> str:
        """The line that a person writes."""
        percent = "%%" if self.body == "must" else "%"
        parts = [f"{percent}toolkit", self.name, self.words, *(option.usage for option in self.options)]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Command:
    """A line that was understood: its subcommand, words, options, and the cell's ``body`` below ``%%toolkit``."""

    spec: Spec
    words: tuple[Word, ...] = ()
    options: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)
    body: str | None = None
    rest: str = ""

    @property
    def name(self) -> str:
        """The subcommand, "" for the bare ``%toolkit``."""
        return self.spec.name

    def has(self, option: str) -> bool:
        """Whether the option was given."""
        return option in self.options

    def option(self, option: str, evaluate: Evaluate | None = None) -> str | None:
        """The option's last value, its ``$name`` or ``{expression}`` expanded where ``evaluate`` is given."""
        values = self.options.get(option)
        if not values:
            return None
        return values[-1].text if evaluate is None else values[-1].expand(evaluate)


def parse(line: str, body: str | None, specs: Mapping[str, Spec]) -> Command:
    """Read what stands behind ``%toolkit``, or behind ``%%toolkit`` with the cell's ``body`` below."""
    words = split(line)
    if words and words[0].raw in _HELP:
        return Command(specs["help"], tuple(words[1:]))
    spec, used = find(words, specs)
    if any(word.raw in _HELP for word in words[used:]) and len(words) == used + 1:
        return Command(specs["help"], tuple(words[:used]))
    if body is not None and spec.body == "none":
        named = f"%%toolkit {spec.name}".rstrip()
        raise CommandError(f"{named} takes no cell below it; write {spec.usage}")
    if body is None and spec.body == "must":
        begin = " ".join(part for part in ("%%toolkit", spec.name, spec.words) if part)
        raise CommandError(f"%toolkit {spec.name} works on a cell: write {begin} with two %, and {spec.below} below it")
    if not spec.foreign and any(word.raw == "#" for word in words[used:]):
        raise CommandError(f"'#' is too much ({_STRAY['#']}); expected {spec.usage}")
    positional, options = _options(spec, words[used:])
    if len(positional) < spec.least:
        raise CommandError(f"expected {spec.usage}")
    if spec.most is not None and len(positional) > spec.most:
        extra = positional[spec.most]
        raise CommandError(f"{extra.text!r} is too much{stray(extra)}; expected {spec.usage}")
    return Command(spec, tuple(positional), options, body, _rest(line, words[used:], positional))


_HELP = frozenset({"--help", "-h", "-help", "?"})
_STRAY = {
    "#": "a magic's line takes no comment",
    "|": "a magic's line is no shell's",
    ">": "a magic's line is no shell's",
}


def stray(word: Word) -> str:
    """What to know of a word that means something elsewhere, in brackets; else nothing."""
    said = _STRAY.get(word.raw[:1]) or ("what follows ; goes on the next line" if word.raw.endswith(";") else None)
    return f" ({said})" if said else ""


def find(words: list[Word], specs: Mapping[str, Spec]) -> tuple[Spec, int]:
    """The subcommand that a line begins with, and how many words name it."""
    if not words:
        return specs[""], 0
    for count in (2, 1):
        name = " ".join(word.text for word in words[:count])
        if len(words) >= count and name in specs:
            return specs[name], count
    first = words[0].text
    if first.endswith(";") and first[:-1] in {name.partition(" ")[0] for name in specs}:
        raise CommandError(f"{first!r} is no subcommand: a magic's line takes no ; and what follows it goes below")
    under = [name.partition(" ")[2] for name in specs if name.startswith(f"{first} ")]
    if under:
        raise CommandError(_under(first, words[1].text if len(words) > 1 else None, under))
    tops = dict.fromkeys(name.partition(" ")[0] for name in specs if name)
    same = next((spec for spec in specs.values() if first.casefold() in spec.also), None)
    hint = f"; did you mean {same.name!r}?" if same is not None else nearest(first, tops) or ";"
    raise CommandError(f"%toolkit has no subcommand {first!r}{hint} %toolkit help lists them all")


def _under(first: str, second: str | None, under: list[str]) -> str:
    expected = f"expected %toolkit {first} {' | '.join(under)}"
    if second is None:
        return expected
    return f"%toolkit {first} has no {second!r}{nearest(second, under) or ';'} {expected}"


def _options(spec: Spec, words: list[Word]) -> tuple[list[Word], dict[str, tuple[Word, ...]]]:
    known = {option.name: option for option in spec.options}
    positional: list[Word] = []
    options: dict[str, tuple[Word, ...]] = {}
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word.raw == "--":
            # What follows is the started command's own, whatever it looks like.
            return positional + words[i:], options
        name, equals, text = word.text.partition("=")
        option = known.get(name) if word.raw.startswith("--") else None
        if option is None:
            if word.raw.startswith("--") and not spec.foreign:
                hint = nearest(name, known) or (f"; it takes {', '.join(known)}" if known else "; it takes no options")
                raise CommandError(f"%toolkit {spec.name} has no option {name!r}{hint}")
            positional.append(word)
            continue
        given: list[Word] = []
        if not option.value:
            if equals:
                raise CommandError(f"{name} takes no value, but got {text!r}")
        elif equals:
            given = [Word(text, word.raw.partition("=")[2], word.start, word.end)]
        else:
            while i < len(words) and not words[i].raw.startswith("--") and (option.many or not given):
                given.append(words[i])
                i += 1
            if not given:
                raise CommandError(f"{name} expects {option.value} after it, as in {spec.usage}")
        options[name] = options.get(name, ()) + tuple(given)
    return positional, options


def _rest(line: str, words: list[Word], positional: list[Word]) -> str:
    """The positional part of the line as it was typed, for subcommands that read it themselves."""
    kept = {word.start for word in positional}
    runs: list[tuple[int, int]] = []
    adjacent = False
    for word in words:
        if word.start not in kept:
            adjacent = False
            continue
        start = runs.pop()[0] if adjacent else word.start
        runs.append((start, word.end))
        adjacent = True
    return " ".join(line[start:end] for start, end in runs)
