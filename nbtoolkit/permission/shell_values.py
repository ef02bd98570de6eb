"""What a shell word can turn out to be: variables filled in, tildes and globs expanded.

A value holds ``UNKNOWN`` where only running could tell. Every value that a line can give a variable counts, whatever
the order, so that no path through loops and branches is missed.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell_braces import NUMBER
from nbtoolkit.permission.shell_operators import Value, operated, shown
from nbtoolkit.permission.trees import folder as listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtoolkit.permission.shell import Part, ShellLine, SimpleCommand, Word

__all__ = ["UNKNOWN", "Argument", "Value", "Variables", "changes_what_runs", "expand_files"]

UNKNOWN = "\x00"
# More combinations than this make a word unknown.
MOST_VALUES = 24
# A glob with more hits is judged as unknown.
MOST_FILES = 2_000

# Each multiplies the folders to look into.
MOST_GLOB_PARTS = 2

_SPLITS = re.compile(r"[\s*?\[]|^$")
_MAGIC = re.compile(r"[*?\[]")
_BASH_SETS = re.compile(
    r"(?:BASH.*|RANDOM|SRANDOM|SECONDS|LINENO|UID|EUID|PPID|PWD|OLDPWD|IFS|OPT.*|HOST.*|OSTYPE|MACHTYPE|SHLVL|_|REPLY"
    r"|DIRSTACK|PIPESTATUS|FUNCNAME|GROUPS|EPOCH.*|COLUMNS|LINES|MAPFILE|READLINE.*|COMP.*|\d|[@*-])\Z"
)
# What a program loads, calls or trusts because of a variable.
_CHANGES = re.compile(
    r"(?:LD_\w+|DYLD_\w+|PATH|PYTHON\w*|BASH\w*|ENV|GIT_\w+|\w*PAGER|EDITOR|VISUAL|BROWSER|IFS|PS[0-4]|PROMPT_COMMAND|SHELL"
    r"|SHELLOPTS|CDPATH|GLOBIGNORE|HOME|HISTFILE|PERL5\w*|PERLLIB|RUBY\w+|NODE_\w+|GEM_\w+|LESS\w*|MAN\w*|JAVA_TOOL_OPTIONS"
    r"|_JAVA_OPTIONS|CLASSPATH|LUA_\w+|R_\w+|RIPGREP_CONFIG_PATH|TAR_OPTIONS|GCONV_PATH|LOCPATH|HGRCPATH|SSH_\w+|SUDO_\w+"
    r"|TMPDIR|XDG_\w+|PIP_\w+|UV_\w+|CONDA_\w+|JUPYTER\w*|IPYTHON\w*|NBTOOLKIT\w*|CC|CXX|LD|MAKEFLAGS|CARGO_\w+|RUSTC\w*"
    r"|npm_config_\w+|NPM_CONFIG_\w+|https?_proxy|all_proxy|HTTPS?_PROXY|ALL_PROXY|SSL_\w+|CURL_\w+|REQUESTS_CA_BUNDLE"
    r"|OPENSSL_\w+|DOCKER_\w+|KUBECONFIG|AWS_\w+|FPATH|ZDOTDIR|INPUTRC|TERMINFO\w*|POSIXLY_CORRECT)\Z"
)


def changes_what_runs(name: str) -> bool:
    """Whether a variable of this name decides what other commands run or trust."""
    return _CHANGES.match(name) is not None


@dataclass(frozen=True, slots=True)
class Argument:
    """A word with its values; ``splits`` is one that may become several words, or none."""

    word: Word
    values: tuple[Value, ...]
    splits: bool = False
    guesses: tuple[str, ...] = ()
    """What it is if the variables that nothing in the line sets are as they are now, or by the texts that stand there."""

    @property
    def static(self) -> str | None:
        """The text, where there is exactly one."""
        if len(self.values) == 1 and not self.splits:
            value = self.values[0]
            if value.pattern is None and UNKNOWN not in value.text:
                return value.text
        return None

    @property
    def written(self) -> bool:
        """Whether the text stands there, and doesn't come out of a variable."""
        return self.static is not None and all(part.kind in ("text", "tilde") for part in self.word.parts)

    @property
    def known(self) -> bool:
        """Whether every value is known, globs aside."""
        return not self.splits and not any(UNKNOWN in value.text for value in self.values)


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
        for command in line.commands:
            for assignment in command.assignments:
                if command.words or assignment.value is None:
                    self._spoilt.add(assignment.name)
                else:
                    self._words.setdefault(assignment.name, []).append(assignment.value)
            self._spoil_by(command)
        for name, loops in line.loops.items():
            for words in loops:
                self._words.setdefault(name, []).extend(words)

    def _spoil_by(self, command: SimpleCommand) -> None:
        """Builtins that set variables by name spoil every name among their words."""
        program = command.words[0].static if command.words else None
        if program in _SETTERS and (program != "printf" or any(word.raw.startswith("-v") for word in command.words)):
            for word in command.words[1:]:
                text = " ".join(part.text for part in word.parts if part.kind == "text")
                self._spoilt.update(re.findall(r"[A-Za-z_]\w*", text))
            if program == "read":
                self._spoilt.add("REPLY")

    def assigned(self, name: str) -> bool:
        """Whether the line itself sets a variable."""
        return name in self._spoilt or name in self._words

    def sources(self, name: str) -> Sequence[Word]:
        """The words that the line gives a variable."""
        return self._words.get(name, ())

    def spoil(self, names: Iterable[str]) -> None:
        """Count these as set to something unknown."""
        self._spoilt.update(names)
        self._cache.clear()

    def values(self, name: str) -> list[Value] | None:
        """Every value that the line gives a variable; None where it can hold others too."""
        if name in self._cache:
            return self._cache[name]
        found: list[Value] | None = None
        if name not in self._spoilt and name not in self._open:
            words = self._words.get(name)
            if words is not None:
                self._open.add(name)
                found = []
                for word in words:
                    argument = self.found(name, self.argument(word))
                    if argument.splits or not argument.known or len(found) + len(argument.values) > MOST_VALUES:
                        found = None
                        break
                    found.extend(argument.values)
                self._open.discard(name)
                # A loop over nothing gives nothing.
                found = found or None
            elif name == "HOME":
                found = [Value(_home())]
            elif name == "PWD" and self._stays and self._cwd:
                found = [Value(each) for each in dict.fromkeys((self._cwd, _logical(self._cwd)))]
        self._cache[name] = found
        return found

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
            alternatives, part_splits, part_glob, part_guesses = self._part(part)
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
        return Argument(word, unique, splits, seen)

    def _part(self, part: Part) -> tuple[list[Value], bool, bool, list[str]]:
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
            return self._operated(part)
        if part.kind == "unknown":
            return [Value(UNKNOWN)], not part.quoted, False, [part.shown] if part.shown else []
        return self._variable(part)

    def _operated(self, part: Part) -> tuple[list[Value], bool, bool, list[str]]:
        """``${NAME…}`` with an operator."""
        values = self.values(part.name)
        found = None if values is None else operated(values, part.operator)
        if found is None or len(found) > MOST_VALUES:
            before = [os.environ.get(part.name, "")] if values is None and not self.assigned(part.name) else []
            guesses = [*shown(part.operator), *(each.text for each in values or ()), *before]
            return [Value(UNKNOWN)], not part.quoted, False, guesses
        return self._whole(part, found)

    def _variable(self, part: Part) -> tuple[list[Value], bool, bool, list[str]]:
        name = part.text
        values = self.values(name)
        if values is None:
            guesses = []
            if name == "PWD" and not self.assigned(name):
                guesses = [self._cwd]
            elif not self.assigned(name) and not _BASH_SETS.match(name):
                guesses = [os.environ.get(name, "")]
            return [Value(UNKNOWN)], not part.quoted, False, guesses
        return self._whole(part, values)

    def _whole(self, part: Part, values: list[Value]) -> tuple[list[Value], bool, bool, list[str]]:
        """Known values, unless the shell splits one of them."""
        globbed = any(value.pattern is not None for value in values)
        if not part.quoted and any(value.pattern is None and _SPLITS.search(value.text) for value in values):
            return [Value(UNKNOWN)], True, False, [value.text for value in values if value.pattern is None]
        return values, False, globbed, []


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


def expand_files(pattern: str, folder: str) -> list[str] | None:
    """The files that a glob names, from ``folder``, hidden ones where the pattern says so; None for too many."""
    parts = pattern.replace("[^", "[!").split("/")
    if sum(map(has_magic, parts)) > MOST_GLOB_PARTS:
        return None
    found = [("/" if pattern.startswith("/") else "")]
    for at, part in enumerate(parts):
        if not part:
            if at == len(parts) - 1:
                # Behind a slash at the end only folders count.
                found = [each for each in found if os.path.isdir(os.path.join(folder, each))]  # noqa: PTH112, PTH118
            continue
        if not has_magic(part):
            ahead = [f"{each}{part}" for each in found]
            if at:
                ahead = [each for each in ahead if os.path.lexists(os.path.join(folder, each))]  # noqa: PTH118
        else:
            matches = _matcher(part)
            ahead = []
            for each in found:
                listing = listed(os.path.join(folder, each or "."))  # noqa: PTH118
                if listing is None:
                    continue
                ahead += [each + name for names in (listing.files, listing.folders) for name in names if matches(name)]
                if len(ahead) > MOST_FILES:
                    return None
        found = ahead if at == len(parts) - 1 else [f"{each}/" for each in ahead]
    return [each for each in found if each and os.path.lexists(os.path.join(folder, each))]  # noqa: PTH118


@lru_cache(maxsize=256)
def _matcher(part: str) -> Callable[[str], bool]:
    """Whether a name is one that a part of a glob names; hidden ones only where it begins so."""
    match = re.compile(fnmatch.translate(part)).match
    hidden = part.startswith(".")
    return lambda name: (hidden or name[0] != ".") and match(name) is not None


def has_magic(text: str) -> bool:
    """Whether a text holds a glob's signs."""
    return _MAGIC.search(text) is not None
