"""The reader of shell grammar: lists, pipes, simple commands and substitutions, after bash's own rules.

It is strict: what it doesn't know it raises as Unreadable. Words and expansions are ``shell_words``'s, loops and
conditions ``shell_compounds``'s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell import (
    MAX_COMMANDS,
    MAX_DEPTH,
    MAX_WORDS,
    Assignment,
    ShellLine,
    SimpleCommand,
    Unreadable,
    Word,
)
from nbtoolkit.permission.shell_braces import expand_braces
from nbtoolkit.permission.shell_compounds import CompoundReader

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Reader"]

_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")
_CONTROL = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()\n]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[\w@*]*\])?(\+?)=")
_ELEMENT = re.compile(r"[A-Za-z_]\w*\[")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_FUNCTION = re.compile(r"([^\s()<>|&;$`'\"\\=]+)[ \t]*\([ \t]*\)")
_PLAIN_END = re.compile(r"(?=[\s;&|()<>]|\Z)")

# Only in front of a compound command is it a name.
_COPROCESS = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[({]|\[\[|(?:if|for|while|until|case|select)\s)")

_CLOSERS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_OPENERS = frozenset({"if", "for", "select", "while", "until", "case", "function", "{", "[[", "coproc"})


class Reader(CompoundReader):
    """Reads one line into a ShellLine; ``end`` bounds it where only a part of the text is meant."""

    def __init__(self, source: str, line: ShellLine, start: int = 0, end: int | None = None) -> None:
        super().__init__(source, start, len(source) if end is None else end)
        self.line = line
        self.scope: tuple[int, ...] = ()
        self.repeats = False
        self.conditional = False
        self.words_read = 0
        self.joined = ""
        self.skip_gate = False

    # ------------------------------------------------------------------------------------------------ the whole
    def read_all(self) -> None:
        """Read to the end; anything left over is unreadable."""
        self.read_list()
        if self.pos < self.end:
            raise Unreadable(f"{self.source[self.pos : self.pos + 12]!r} stands where no command can begin")
        if self.heredocs:
            raise Unreadable("a here-document has no body")

    def substitution(self, closer: str) -> None:
        """Read the commands of a substitution; the position is past its closer afterwards."""
        if self.heredocs and "\n" in self.source[self.pos : self.end]:
            raise Unreadable("a substitution stands before a here-document's body")
        outer = (self.scope, self.joined, self.heredocs, self.skip_gate)
        self.scope = (*self.scope, self.pos)
        self.joined, self.heredocs, self.skip_gate = closer, [], False
        self.deeper(self.read_list)
        if self.heredocs:
            raise Unreadable("a here-document has no body")
        self.scope, self.joined, self.heredocs, self.skip_gate = outer
        if not self.source.startswith(")", self.pos, self.end):
            raise Unreadable("a substitution isn't closed")
        self.pos += 1

    def backticks(self) -> None:
        """Read `` `commands` ``; escapes in them would have to be undone first, so they are unreadable."""
        start = self.pos + 1
        stop = self.source.find("`", start, self.end)
        if stop < 0:
            raise Unreadable("a backtick isn't closed")
        if "\\" in self.source[start:stop]:
            raise Unreadable("backticks hold a backslash")
        outer = (self.end, self.scope, self.joined, self.heredocs, self.skip_gate)
        self.pos, self.end, self.scope, self.joined, self.heredocs = start, stop, (*self.scope, start), "`", []
        self.skip_gate = False
        self.deeper(self.read_list)
        if self.pos != stop or self.heredocs:
            raise Unreadable("backticks hold something that is no command")
        self.end, self.scope, self.joined, self.heredocs, self.skip_gate = outer
        self.pos = stop + 1

    def deeper(self, read: Callable[[], None]) -> None:
        """Go one level down, but not without end."""
        self.depth += 1
        self.down()
        read()
        self.depth -= 1

    def down(self) -> None:
        """Note one level more."""
        if self.depth > MAX_DEPTH:
            raise Unreadable(f"it is nested more than {MAX_DEPTH} deep")

    # ------------------------------------------------------------------------------------------ lists and pipes
    def blanks(self) -> None:
        """Go past blanks, line continuations and a comment."""
        match = _BLANK.match(self.source, self.pos, self.end)
        assert match is not None
        self.pos = match.end()
        if self.pos < self.end and self.source[self.pos] == "#":
            comment = _COMMENT.match(self.source, self.pos, self.end)
            assert comment is not None
            self.pos = comment.end()

    def newlines(self) -> None:
        """Go past newlines, and the here-documents' bodies behind the first."""
        while True:
            self.blanks()
            if self.pos >= self.end or self.source[self.pos] != "\n":
                return
            self.pos += 1
            while self.heredocs:
                self.heredoc_body(*self.heredocs.pop(0))

    def operator(self) -> str:
        """The control operator at the position, unless it is a redirect; "" where there is none."""
        self.blanks()
        if self.source.startswith(("&>", "<(", ">("), self.pos, self.end):
            return ""
        match = _CONTROL.match(self.source, self.pos, self.end)
        return match.group() if match else ""

    def keyword(self) -> str:
        """The bare word at the position, if it is one that the grammar reserves."""
        self.blanks()
        stop = _PLAIN_END.search(self.source, self.pos, self.end)
        word = self.source[self.pos : stop.start() if stop else self.end]
        return word if word in _CLOSERS or word in _OPENERS or word in ("!", "time", "in") else ""

    def read_list(self) -> None:
        """Commands until something that isn't one."""
        first = len(self.line.commands)
        self.commands_of_list()
        for command in self.line.commands[first:]:
            command.until = self.pos if command.until < 0 else command.until

    def commands_of_list(self) -> None:
        """The pipelines of a list with the operators between them."""
        while True:
            self.newlines()
            if self.pos >= self.end or self.keyword() in _CLOSERS or self.operator() in (")", ";;", ";&", ";;&"):
                return
            self.pipeline()
            operator = self.operator()
            if operator in ("&&", "||"):
                self.pos += 2
                self.joined = operator
                self.newlines()
                if self.pos >= self.end:
                    raise Unreadable(f"nothing follows {operator}")
                continue
            if operator in (";", "&"):
                self.pos += 1
                self.joined = operator
            elif operator == "\n":
                self.joined = ";"
            elif operator == "" and self.pos < self.end and self.keyword() not in _CLOSERS:
                raise Unreadable(f"{self.source[self.pos : self.pos + 12]!r} stands where an operator must")
            elif operator not in ("", ")", ";;", ";&", ";;&"):
                raise Unreadable(f"{operator!r} stands where no operator can")

    def pipeline(self) -> None:
        """``[!] [time [-p]] command | command …``; each element of more than one is a subshell."""
        while (word := self.keyword()) in ("!", "time"):
            if word == "time":
                self.line.gate.add(self.pos)
                self.skip_gate = True
            self.pos += len(word)
            self.blanks()
            for option in ("-p", "--") if word == "time" else ():
                if re.compile(rf"{option}(?=[\s;&|])").match(self.source, self.pos, self.end):
                    self.pos += 2
                    self.blanks()
        outer, first = self.scope, len(self.line.commands)
        self.command()
        self.skip_gate = False
        operator = self.operator()
        if operator not in ("|", "|&"):
            return
        # Every element runs in a subshell; of the first that is known only now.
        for command in self.line.commands[first:]:
            command.scope = (*outer, -first - 1, *command.scope[len(outer) :])
        while operator in ("|", "|&"):
            self.pos += len(operator)
            self.joined = operator
            self.newlines()
            self.scope = (*outer, -len(self.line.commands) - 1)
            self.command()
            operator = self.operator()
        self.scope = outer

    # ------------------------------------------------------------------------------------------------ commands
    def command(self) -> None:
        """One command of any kind, with its redirects."""
        word = self.keyword()
        if self.source.startswith("((", self.pos, self.end):
            self.arithmetic_command()
        elif self.operator() == "(":
            self.pos += 1
            self.substitution("(")
        elif word in _CLOSERS or word == "in":
            raise Unreadable(f"{word!r} stands where no command can begin")
        elif word == "coproc":
            self.coprocess()
            return
        elif word in _OPENERS:
            self.compound(word)
        else:
            self.simple()
            return
        self.trailing_redirects()

    def coprocess(self) -> None:
        """``coproc [NAME] COMMAND``: what it runs is read on, so that deny rules see it; it asks all the same."""
        self.line.problems.append("it starts a coprocess")
        self.pos += len("coproc")
        self.blanks()
        name = _COPROCESS.match(self.source, self.pos, self.end)
        if name is not None:
            self.pos = name.end()
        self.command()

    def trailing_redirects(self) -> None:
        """The redirects of a group, a loop or a subshell."""
        command = self.new_command("redirects")
        while True:
            self.blanks()
            if not self.redirect(command):
                break
        command.end = self.pos
        if command.redirects:
            self.line.commands.append(command)

    def new_command(self, kind: str = "command") -> SimpleCommand:
        """A command that begins here."""
        return SimpleCommand(
            self.pos,
            scope=self.scope,
            repeats=self.repeats,
            conditional=self.conditional,
            joined=self.joined,
            kind=kind,  # type: ignore[arg-type]
        )

    def simple(self) -> None:
        """Assignments, words and redirects."""
        function = _FUNCTION.match(self.source, self.pos, self.end)
        if function is not None:
            self.pos = function.end()
            self.function(function.group(1))
            return
        command = self.new_command()
        # It takes its place before its substitutions do: they run within it.
        self.line.commands.append(command)
        if len(self.line.commands) > MAX_COMMANDS:
            raise Unreadable(f"it has more than {MAX_COMMANDS} commands")
        self.skip_gate, skip = False, self.skip_gate
        while True:
            self.blanks()
            if self.redirect(command):
                continue
            if self.pos >= self.end or self.source[self.pos] in ";&|()\n":
                break
            if not command.words and self.assignment(command):
                continue
            start = self.pos
            words = self.next_words()
            if not command.words and words and not skip:
                self.line.gate.add(start)
            command.words.extend(words)
            if self.pos < self.end and self.source[self.pos] == "(":
                raise Unreadable("a parenthesis stands inside a command")
        command.end = self.pos
        if not (command.words or command.assignments or command.redirects):
            raise Unreadable(f"{self.source[self.pos : self.pos + 12]!r} stands where no command can begin")

    def next_words(self) -> list[Word]:
        """The word at the position, as the several that its braces make of it."""
        start = self.pos
        parts = self.word()
        if self.pos == start:
            raise Unreadable(f"{self.source[start : start + 12]!r} stands where a word must")
        words = [Word(self.source[start : self.pos], start, each) for each in expand_braces(parts)]
        self.count_words(len(words))
        return words

    def count_words(self, more: int) -> None:
        """Refuse more than anybody reads."""
        self.words_read += more
        if self.words_read > MAX_WORDS:
            raise Unreadable(f"it has more than {MAX_WORDS:,} words")

    def assignment(self, command: SimpleCommand) -> bool:
        """Take an assignment, if one stands here."""
        match = _ASSIGNMENT.match(self.source, self.pos, self.end)
        if match is None:
            if _ELEMENT.match(self.source, self.pos, self.end):
                raise Unreadable("it sets an element that must be computed")
            return False
        start = self.pos
        self.pos = match.end()
        self.count_words(1)
        name, element, append = match.group(1, 2, 3)
        if element:
            self.arithmetic_names(element[1:-1])
        if self.source.startswith("(", self.pos, self.end):
            items = self.array()
            command.assignments.append(Assignment(name, None, start, items))
            return True
        begin = self.pos
        parts = self.word(assignment=True)
        value = Word(self.source[begin : self.pos], begin, parts)
        assignment = Assignment(
            name,
            None if element or append else value,
            start,
            (value,) if element and not append else None,
            value if append and not element else None,
        )
        command.assignments.append(assignment)
        return True

    def array(self) -> tuple[Word, ...]:
        """``(words)``."""
        self.pos += 1
        items: list[Word] = []
        while True:
            self.newlines()
            if self.source.startswith(")", self.pos, self.end):
                self.pos += 1
                self.line.elements.extend(items)
                return tuple(items)
            if self.pos >= self.end or self.source.startswith("[", self.pos, self.end):
                raise Unreadable("an array isn't closed, or names its elements")
            items.extend(self.next_words())
