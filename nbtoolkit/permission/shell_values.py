"""What a shell word can turn out to be: variables filled in, tildes and globs expanded.

A value holds ``UNKNOWN`` where only running could tell. Every value that a line can give a variable counts, whatever
the order, so that no path through loops and branches is missed.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell_argument import UNKNOWN, Argument
from nbtoolkit.permission.shell_braces import NUMBER
from nbtoolkit.permission.shell_globs import expand_files
from nbtoolkit.permission.shell_operators import ALL_ELEMENTS, ELEMENT, Value, operated, shown
from nbtoolkit.permission.shell_outputs import DIGITS, NAMED
from nbtoolkit.permission.variable_names import BASH_SETS, FOLDERS_AND_HOSTS, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtoolkit.permission.shell import Part, ShellLine, SimpleCommand, Word

__all__ = ["Variables"]

# More combinations than this make a word unknown.
MOST_VALUES = 24
_SPLITS = re.compile(r"[\s*?\[]|^$")
_SIGNS = (UNKNOWN, DIGITS, NAMED)


class Variables:
    """What a line's variables can hold."""

    def __init__(self, line: ShellLine, cwd: str = "") -> None:
        self._cwd = cwd
        self._words: dict[str, list[Word]] = {}
        self._spoilt = set(line.spoilt)
        self._cache: dict[str, list[Value] | None] = {}
        self._open: set[str] = set()
        self._loops = frozenset(line.loops)
        # A shell that goes nowhere is where it was started.
        self._stays = (
            not any(command.words and command.words[0].static in (None, *_GOES) for command in line.commands)
            and not line.functions
        )
        # Any name, also one that stands nowhere, may be set.
        self._any_set = False
        self._believes_outputs = not line.functions
        elements: dict[str, list[Word]] = {}
        self._appended: dict[str, list[Word]] = {}
        for command in line.commands:
            for assignment in command.assignments:
                if assignment.appended is not None and not command.words and not command.repeats:
                    self._appended.setdefault(assignment.name, []).append(assignment.appended)
                elif assignment.items is not None and not command.words:
                    elements.setdefault(assignment.name, []).extend(assignment.items)
                elif command.words or assignment.value is None:
                    self._spoilt.add(assignment.name)
                else:
                    self._words.setdefault(assignment.name, []).append(assignment.value)
            self._spoil_by(command)
        # Their names hold what the array holds; a name that is set in other ways too holds anything.
        self._elements = {
            name: words for name, words in elements.items() if name not in self._spoilt and name not in self._words
        }
        self._spoilt.update(name for name in elements if name not in self._elements)
        self._words.update(self._elements)
        for name, loops in line.loops.items():
            for words in loops:
                self._words.setdefault(name, []).extend(words)
        self._spans = set_for_sure(line)

    def _spoil_by(self, command: SimpleCommand) -> None:
        """Builtins that set variables by name spoil every name among their words."""
        program = command.words[0].static if command.words else None
        if program in _SETTERS and (program != "printf" or any(word.raw.startswith("-v") for word in command.words)):
            for word in command.words[1:]:
                text = " ".join(part.text for part in word.parts if part.kind == "text")
                self._spoilt.update(re.findall(r"[A-Za-z_]\w*", text))
                self._any_set = self._any_set or (word.parts[:1] != () and word.parts[0].kind not in ("text", "tilde"))
            if program == "read":
                self._spoilt.add("REPLY")

    @property
    def sets(self) -> bool:
        """Whether the line sets any variable."""
        return self._any_set or bool(self._spoilt or self._words or self._appended)

    def assigned(self, name: str) -> bool:
        """Whether the line itself sets a variable."""
        return name in self._spoilt or name in self._words or name in self._appended

    def sources(self, name: str) -> Sequence[Word]:
        """The words that the line gives a variable."""
        return self._words.get(name, ())

    def spoil(self, names: Iterable[str]) -> None:
        """Count these, and every name that stands nowhere, as set to something unknown."""
        self._any_set = True
        self._spoilt.update(names)
        self._cache.clear()

    def values(self, name: str) -> list[Value] | None:
        """Every value that the line gives a variable; None where it can hold others too."""
        if name in self._cache:
            return self._cache[name]
        found: list[Value] | None = None
        if name not in self._spoilt and name not in self._open:
            words = self._words.get(name)
            if words is None and name in self._appended:
                found = None
            elif words is not None:
                self._open.add(name)
                found = []
                for word in words:
                    argument = self.found(name, self.argument(word))
                    # A loop goes through what a word becomes, one by one.
                    several = argument.splits and not (name in self._loops and argument.whole)
                    if several or not argument.whole or len(found) + len(argument.values) > MOST_VALUES:
                        found = None
                        break
                    found.extend(argument.values)
                self._open.discard(name)
                # A loop over nothing gives nothing.
                found = self._longer(name, found) if found else None
            elif name == "HOME":
                found = [Value(_home())]
            elif name == "PWD" and self._stays and self._cwd:
                found = [Value(each) for each in dict.fromkeys((self._cwd, _logical(self._cwd)))]
        self._cache[name] = found
        return found

    def _longer(self, name: str, values: list[Value]) -> list[Value] | None:
        """Values with what the line appends to them, which may not have been done yet."""
        for word in self._appended.get(name, ()):
            more = self.argument(word)
            if not more.known or any(each.pattern is not None for each in (*values, *more.values)):
                return None
            values = list(dict.fromkeys([*values, *(Value(a.text + b.text) for a in values for b in more.values)]))
            if len(values) > MOST_VALUES:
                return None
        return values

    def found(self, name: str, argument: Argument) -> Argument:
        """What a loop over a few files goes through, by their names."""
        if name not in self._loops or not self._stays or all(value.pattern is None for value in argument.values):
            return argument
        values: list[Value] = []
        for value in argument.values:
            files = expand_files(value.pattern, self._cwd) if value.pattern is not None else None
            values += [Value(each) for each in files] if files else [value]
        few = len(values) <= MOST_VALUES and not any(value.text.startswith("-") for value in values)
        return replace(argument, values=tuple(dict.fromkeys(values))) if few else argument

    def only_numbers(self, name: str) -> bool:
        """Whether arithmetic may evaluate a variable: one that the line gives nothing but whole numbers."""
        if name in self._spoilt:
            return False
        words = self._words.get(name)
        if words is None:
            # Set by arithmetic itself, or by whoever started the kernel.
            return not name.isdigit()
        for word in words:
            if _COUNTS.match(word.raw):
                continue
            numbers = all(part is NUMBER or (part.kind == "text" and _WHOLE.match(part.text)) for part in word.parts)
            if not numbers:
                return False
        return True

    def argument(self, word: Word) -> Argument:
        """A word's values."""
        parts = word.parts
        if len(parts) == 1 and parts[0].kind == "text":
            return Argument(word, (Value(parts[0].text),))
        values = [Value("", "")]
        globbed = splits = guessed = False
        guesses = [""]
        for part in parts:
            alternatives, part_splits, part_glob, part_guesses = self._part(part, word.start)
            splits = splits or part_splits
            globbed = globbed or part_glob
            guessed = guessed or bool(part_guesses)
            texts = part_guesses or [each.text for each in alternatives]
            guesses = [a + b for a in guesses for b in texts][:MOST_VALUES]
            if len(values) * len(alternatives) > MOST_VALUES:
                values, splits = [Value(UNKNOWN, UNKNOWN)], True
                break
            values = [Value(a.text + b.text, _join(a.pattern, b)) for a in values for b in alternatives]
        if not globbed:
            values = [Value(value.text) for value in values]
        unique = tuple(dict.fromkeys(values))
        seen = tuple(dict.fromkeys(each for each in guesses if UNKNOWN not in each)) if guessed else ()
        settled = self._texts(word) if any(UNKNOWN in value.text for value in unique) else ()
        if splits and not seen:
            # One that another variable was given whole.
            seen = tuple(each for each in settled if not any(sign in each for sign in _SIGNS))
        return Argument(word, unique, splits, seen, settled)

    def _texts(self, word: Word) -> tuple[str, ...]:
        """What a word can be, as ``Argument.texts`` has it."""
        found = [""]
        for part in word.parts:
            pieces = self._settled(part, word.start)
            if len(found) * len(pieces) > MOST_VALUES:
                return (UNKNOWN,)
            found = [a + b for a in found for b in pieces]
        return tuple(dict.fromkeys(found))

    def _settled(self, part: Part, at: int) -> list[str]:
        """What one part can be, with the environment as it is."""
        if part.kind == "var":
            return [*self._holds(part.text), *self._before(part.text, at), *self._first(part.text)]
        if part is NUMBER:
            return [DIGITS]
        if part.kind != "unknown":
            return [value.text for value in self._part(part, at)[0]]
        if not part.operator:
            if part.text or not self._believes_outputs:
                return [part.text or UNKNOWN]
            return [part.shown or part.output or UNKNOWN]
        before = [*self._holds(part.name), *self._before(part.name, at)]
        if part.operator in (ELEMENT, ALL_ELEMENTS) or any(sign in text for text in before for sign in _SIGNS):
            return [UNKNOWN]
        after = operated([Value(text) for text in before], part.operator)
        return [UNKNOWN] if after is None or len(after) > MOST_VALUES else [value.text for value in after]

    def _holds(self, name: str) -> list[str]:
        """What a variable can hold, with the environment as it is."""
        values = self.values(name)
        if values is not None:
            return [value.text for value in values]
        if NUMBERS.match(name):
            return [DIGITS]
        if name in self._spoilt or name in self._open or name in self._appended:
            return [UNKNOWN]
        words = self._words.get(name)
        if words is not None:
            self._open.add(name)
            found: dict[str, None] = {}
            for word in words:
                argument = self.argument(word)
                found.update(dict.fromkeys(argument.texts or [value.text for value in argument.values]))
            self._open.discard(name)
            return list(found) if len(found) <= MOST_VALUES else [UNKNOWN]
        if self._any_set:
            return [UNKNOWN]
        if BASH_SETS.match(name):
            return [NAMED] if FOLDERS_AND_HOSTS.match(name) else [UNKNOWN]
        return [os.environ.get(name, "")]

    def _before(self, name: str, at: int) -> list[str]:
        """What a variable may still hold at a place, for which the line's own values aren't there yet for sure."""
        if name not in self._words or any(start <= at < stop for start, stop in self._spans.get(name, ())):
            return []
        return [os.environ.get(name, "")]

    def _first(self, name: str) -> list[str]:
        """What an array's own name means: its first element, which may not be set."""
        return [""] if name in self._elements else []

    def _part(self, part: Part, at: int) -> tuple[list[Value], bool, bool, list[str]]:
        """The values of one part; whether it splits, is a glob; and what else it may be, as it seems."""
        if part.kind == "text":
            return [Value(part.text)], False, False, []
        if part.kind == "glob":
            return [Value(part.text, part.text)], False, True, []
        if part.kind == "tilde":
            if (part.text and part.text[0] in "+-") or part.text.isdigit():
                return [Value(UNKNOWN)], False, False, []
            return [Value(os.path.expanduser("~" + part.text))], False, False, []  # noqa: PTH111
        if part is NUMBER:
            return [Value(UNKNOWN)], False, False, []
        if part.kind == "unknown" and part.text == "/dev/fd":
            return [Value("/dev/fd/63")], False, False, []
        if part.kind == "unknown" and part.operator:
            return self._operated(part, at)
        if part.kind == "unknown":
            splits = not part.quoted and not (part.output and self._believes_outputs)
            return [Value(UNKNOWN)], splits, False, [part.shown] if part.shown else []
        return self._variable(part, at)

    def _operated(self, part: Part, at: int) -> tuple[list[Value], bool, bool, list[str]]:
        """``${NAME…}`` with an operator."""
        values = self.values(part.name)
        if part.operator in (ELEMENT, ALL_ELEMENTS):
            if values is None or part.name not in self._elements:
                return [Value(UNKNOWN)], not part.quoted, False, []
            several = part.operator == ALL_ELEMENTS
            # An index may be one that nothing was set at.
            unset = self._before(part.name, at) if several else [""]
            whole, splits, globbed, guesses = self._whole(part, [*values, *map(Value, unset)])
            several = several and len(values) > 1
            return whole, splits or several, globbed, guesses or [value.text for value in values]
        if values is not None:
            values = [*values, *map(Value, (*self._before(part.name, at), *self._first(part.name)))]
        found = None if values is None else operated(values, part.operator)
        if found is None or len(found) > MOST_VALUES:
            before = [os.environ.get(part.name, "")] if values is None and not self.assigned(part.name) else []
            guesses = [*shown(part.operator), *(each.text for each in values or ()), *before]
            return [Value(UNKNOWN)], not part.quoted, False, guesses
        return self._whole(part, found)

    def _variable(self, part: Part, at: int) -> tuple[list[Value], bool, bool, list[str]]:
        name = part.text
        values = self.values(name)
        if values is None:
            guesses = []
            if name == "PWD" and not self.assigned(name):
                guesses = [self._cwd]
            elif not self.assigned(name) and not BASH_SETS.match(name):
                guesses = [os.environ.get(name, "")]
            return [Value(UNKNOWN)], not part.quoted, False, guesses
        return self._whole(part, [*values, *map(Value, (*self._before(name, at), *self._first(name)))])

    def _whole(self, part: Part, values: list[Value]) -> tuple[list[Value], bool, bool, list[str]]:
        """Known values, unless the shell splits one of them."""
        globbed = any(value.pattern is not None for value in values)
        if not part.quoted and any(value.pattern is None and _SPLITS.search(value.text) for value in values):
            return [Value(UNKNOWN)], True, False, [value.text for value in values if value.pattern is None]
        return values, False, globbed, []


def set_for_sure(line: ShellLine) -> dict[str, list[tuple[int, int]]]:
    """From where to where a line's variables are set whatever happens: up to the end of the list, the chain, the loop."""
    found = {name: list(spans) for name, spans in line.bodies.items()}
    if any(command.joined == "&" for command in line.commands) or line.source.rstrip().endswith("&"):
        # What runs in the background sets nothing here.
        return found
    for index, command in enumerate(line.commands):
        if command.words or not command.assignments or command.joined in ("||", "|", "|&"):
            continue
        after = [each for each in line.commands[index + 1 :] if len(each.scope) <= len(command.scope)]
        ends = [each.start for each in after if each.scope[: len(command.scope)] != command.scope]
        if command.joined == "&&":
            ends += [each.start for each in after if each.joined != "&&"]
        stop = min([command.until if command.until >= 0 else len(line.source), *ends])
        for assignment in command.assignments:
            found.setdefault(assignment.name, []).append((command.end, stop))
    return found


def _join(pattern: str | None, value: Value) -> str:
    """A glob with one more piece; a piece that is no glob stands for itself."""
    piece = (
        value.pattern
        if value.pattern is not None
        else value.text
        if value.text in ("", UNKNOWN)
        else glob.escape(value.text)
    )
    return (pattern or "") + piece


def _home() -> str:
    return os.path.expanduser("~")  # noqa: PTH111 - no error without a home


def _logical(folder: str) -> str:
    """The folder as the shell itself calls it, which may be by a link."""
    given = os.environ.get("PWD", "")
    return given if os.path.isabs(given) and os.path.realpath(given) == folder else folder  # noqa: PTH117


_GOES = ("cd", "pushd", "popd", "eval", "source", ".", "trap", "command", "builtin", "exec")
_WHOLE = re.compile(r"-?\d+\Z")
# What prints a number and nothing else, alone or at the end of a pipe.
_COUNTS = re.compile(
    r"\"?\$\((?:[^()`]*\|)?\s*(?:wc\s+-[lwcmL](?:\s*<\s*[\w./\"$*-]+)?|nproc|date\s+[\"']?\+%[sYmdHMSjNu][\"']?)\s*\)\"?\Z"
)
_SETTERS = frozenset(
    {
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
        "let",
        "printf",
    }
)
