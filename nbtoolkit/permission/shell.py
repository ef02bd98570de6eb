"""A shell line, read: its simple commands in order, their words, redirects and assignments, and what can't be read.

Two readers must agree. ``shell_reader`` follows bash's own rules and gives up at the first thing that it isn't sure
of; then tree-sitter's bash grammar must see the same commands at the same places. What only one of them understands
is a problem, and a problem is a question to the person, never an allowed command.

Nothing here knows what a program does, where a path leads or what is permitted.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Assignment", "Part", "Redirect", "ShellLine", "SimpleCommand", "Unreadable", "Word", "read_line"]

# Longer lines aren't judged: a person can't read them either, and judging must stay within a fifth of a second.
MAX_LENGTH = 200_000
MAX_WORDS = 2_000
MAX_COMMANDS = 300
MAX_REDIRECTS = 100
MAX_DEPTH = 40

PartKind = Literal["text", "glob", "var", "tilde", "unknown"]


class Unreadable(Exception):  # noqa: N818 - a verdict of the reader, not a fault
    """The reader isn't sure of the rest of the line."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word: literal text, an active glob sign, a variable's name, a tilde's user, or something unknown."""

    kind: PartKind
    text: str
    quoted: bool = False
    name: str = ""
    """Of something unknown: the variable that it comes from, and what is done with that."""
    operator: str = ""
    shown: str = ""
    """A text that it becomes, as it seems."""
    output: str = ""
    """What kind of text a substitution gives, as ``shell_outputs`` says."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes are taken off and braces expanded; ``raw`` is how it was written."""

    raw: str
    start: int
    parts: tuple[Part, ...]

    @property
    def static(self) -> str | None:
        """The word's text where nothing in it depends on anything, else None."""
        parts = self.parts
        if len(parts) == 1:
            return parts[0].text if parts[0].kind == "text" else None
        if all(part.kind == "text" for part in parts):
            return "".join(part.text for part in parts)
        return None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``NAME=value``; no value is one that can't be known (an array, an appended text, an element)."""

    name: str
    value: Word | None
    start: int
    items: tuple[Word, ...] | None = None
    """Of an array or an element of one, its words."""
    appended: Word | None = None
    """What is put behind the value that is there."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to or from a file; here-documents and here-strings read no file and aren't among them."""

    operator: str
    target: Word | None
    raw: str
    start: int

    @property
    def writes(self) -> bool:
        """Whether it can change the file."""
        return self.operator not in ("<", "<&")


@dataclass(slots=True)
class SimpleCommand:
    """One program with its words; ``redirects`` of a loop or group have a command of their own without words."""

    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    scope: tuple[int, ...] = ()
    """The subshells around it, outermost first: what it does to the working folder ends with the innermost."""
    repeats: bool = False
    """Whether it stands in a loop or a function, and so can run again after what follows it."""
    conditional: bool = False
    """Whether what follows can run without it having run: it stands in an if, a loop, a case or a function."""
    joined: str = ""
    """The operator before it."""
    until: int = -1
    """Where the list ends that it stands in."""
    kind: Literal["command", "test", "arithmetic", "redirects"] = "command"


@dataclass(slots=True)
class ShellLine:
    """What was read."""

    source: str
    commands: list[SimpleCommand] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    loops: dict[str, list[list[Word]]] = field(default_factory=dict)
    """What ``for NAME in words`` gives its variable."""
    bodies: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """From where to where such a loop goes."""
    spoilt: set[str] = field(default_factory=set)
    """Variables whose value can't be known: set by ``read``, ``${x:=y}``, arithmetic and the like."""
    arithmetic: list[str] = field(default_factory=list)
    """Names that arithmetic evaluates: a value like ``a[$(cmd)]`` would run a command there."""
    expanded: list[tuple[int, str]] = field(default_factory=list)
    """Every variable that is expanded, with its place."""
    elements: list[Word] = field(default_factory=list)
    """The words of arrays."""
    texts: list[str] = field(default_factory=list)
    """What is sent to commands by here-documents and here-strings."""
    gate: set[int] = field(default_factory=set)

    def assignments(self) -> Iterator[Assignment]:
        """Every assignment that stands alone, in order."""
        for command in self.commands:
            if not command.words:
                yield from command.assignments


def read_line(source: str) -> ShellLine:
    """Read a whole command; what couldn't be read is named in ``problems``, what was read before it is there."""
    return _read(source)


@lru_cache(maxsize=256)
def _read(source: str) -> ShellLine:
    from nbtoolkit.permission.shell_reader import Reader

    line = ShellLine(source)
    if len(source) > MAX_LENGTH:
        line.problems.append(f"it is longer than {MAX_LENGTH:,} characters")
        return line
    odd = _odd_character(source)
    if odd is not None:
        line.problems.append(f"it holds {odd}")
    try:
        Reader(source, line).read_all()
    except Unreadable as fault:
        line.problems.append(str(fault))
    if not line.problems and not _grammar_agrees(source, line):
        line.problems.append("two readings of its grammar differ")
    return line


def _odd_character(source: str) -> str | None:
    """A character that a person doesn't see as what it is, by its name."""
    if source.isascii() and source.isprintable():
        return None
    for char in source:
        if char in "\n\t" or " " <= char <= "~":
            continue
        category = unicodedata.category(char)
        if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
            return f"the character U+{ord(char):04X} ({unicodedata.name(char, 'control')})"
    return None


@lru_cache(maxsize=1)
def _grammar() -> tuple[Any, Any]:
    import tree_sitter
    import tree_sitter_bash

    language = tree_sitter.Language(tree_sitter_bash.language())
    query = tree_sitter.Query(
        language, "[(command_name) (declaration_command) (unset_command) (test_command)] @command"
    )
    return tree_sitter.Parser(language), query


def _grammar_agrees(source: str, line: ShellLine) -> bool:
    """Whether tree-sitter sees a command exactly where the reader saw one."""
    import tree_sitter

    parser, query = _grammar()
    encoded = source.encode()
    root = parser.parse(encoded).root_node
    if root.has_error:
        return False
    nodes = tree_sitter.QueryCursor(query).captures(root).get("command", [])
    seen = {node.start_byte for node in nodes}
    expected = line.gate
    if len(encoded) != len(source):
        expected = {len(source[:start].encode()) for start in line.gate}
    return seen == expected
