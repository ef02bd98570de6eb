"""The reader of shell grammar: lists, pipes, groups, loops, functions and here-documents, after bash's own rules.

It is strict: what it doesn't know it raises as Unreadable. Words and expansions are ``shell_words``'s.
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
from nbtoolkit.permission.shell_redirects import RedirectReader

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

_CLOSERS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_OPENERS = frozenset({"if", "for", "select", "while", "until", "case", "function", "{", "[[", "coproc"})


class Reader(RedirectReader):
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
            if word == "time" and re.compile(r"-p(?=[\s;&|])").match(self.source, self.pos, self.end):
                self.pos += 2
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
            raise Unreadable("it starts a coprocess")
        elif word in _OPENERS:
            self.compound(word)
        else:
            self.simple()
            return
        self.trailing_redirects()

    def compound(self, word: str) -> None:
        """A command that holds others, by the word that opens it."""
        self.joined, joined = word, self.joined
        outer, self.conditional = self.conditional, self.conditional or word != "{" or joined in ("&&", "||")
        self.compound_kind(word, joined)
        self.conditional = outer

    def compound_kind(self, word: str, joined: str) -> None:
        """Each kind after its own grammar."""
        if word == "{":
            self.pos += 1
            if not self.source[self.pos : self.pos + 1].isspace():
                raise Unreadable("a brace must stand alone")
            self.block("}")
        elif word == "[[":
            self.joined = joined
            self.test()
        elif word == "if":
            self.pos += 2
            self.block("then")
            while (closer := self.keyword_after_list()) == "elif":
                self.block("then")
            if closer == "else":
                self.block("fi")
            elif closer != "fi":
                raise Unreadable("an if isn't closed")
        elif word in ("while", "until"):
            self.pos += 5
            self.looped(self.condition_and_body)
        elif word in ("for", "select"):
            self.for_loop(word)
        elif word == "case":
            self.case()
        else:
            self.pos += len("function")
            self.blanks()
            match = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*(\([ \t]*\))?").match(self.source, self.pos, self.end)
            if match is None:
                raise Unreadable("a function has an odd name")
            self.pos = match.end()
            self.function(match.group(1))

    def keyword_after_list(self) -> str:
        """Read a list and take the keyword that ends it."""
        self.deeper(self.read_list)
        word = self.keyword()
        self.pos += len(word)
        return word

    def block(self, closer: str) -> None:
        """A list and the one keyword that must end it."""
        found = self.keyword_after_list()
        if found != closer:
            raise Unreadable(f"{closer!r} is missing")

    def looped(self, read: Callable[[], None]) -> None:
        """Read what may run more than once."""
        outer, self.repeats = self.repeats, True
        read()
        self.repeats = outer

    def condition_and_body(self) -> None:
        """What while and until repeat."""
        self.block("do")
        self.block("done")

    def for_loop(self, word: str) -> None:
        """``for`` and ``select``: over words, or counting."""
        self.pos += len(word)
        self.blanks()
        if self.source.startswith("((", self.pos, self.end):
            self.pos += 2
            self.arithmetic_until("))", ";")
            self.after_for_words()
            return
        name = re.compile(r"[A-Za-z_]\w*(?=[\s;])").match(self.source, self.pos, self.end)
        if name is None:
            raise Unreadable("a loop has an odd variable")
        self.pos = name.end()
        self.newlines()
        words: list[Word] = []
        if self.keyword() == "in":
            self.pos += 2
            while True:
                self.blanks()
                if self.pos >= self.end or self.source[self.pos] in ";&|()\n":
                    break
                words.extend(self.next_words())
            self.line.loops.setdefault(name.group(), []).append(words)
        else:
            self.line.spoilt.add(name.group())
        if word == "select":
            self.line.spoilt.add(name.group())
        self.after_for_words()

    def after_for_words(self) -> None:
        """The body of a ``for``."""
        if self.operator() == ";":
            self.pos += 1
        self.newlines()
        if self.keyword() != "do":
            raise Unreadable("'do' is missing")
        self.pos += 2
        self.looped(lambda: self.block("done"))

    def case(self) -> None:
        """``case WORD in PATTERN) commands;; … esac``."""
        self.pos += 4
        self.blanks()
        self.next_words()
        self.newlines()
        if self.keyword() != "in":
            raise Unreadable("'in' is missing")
        self.pos += 2
        while True:
            self.newlines()
            if self.keyword() == "esac":
                self.pos += 4
                return
            if self.operator() == "(":
                self.pos += 1
            while True:
                self.blanks()
                self.next_words()
                operator = self.operator()
                self.pos += 1
                if operator == ")":
                    break
                if operator != "|":
                    raise Unreadable("a case has an odd pattern")
            self.joined = ";"
            self.deeper(self.read_list)
            operator = self.operator()
            if operator in (";;", ";&", ";;&"):
                self.pos += len(operator)
            elif self.keyword() != "esac":
                raise Unreadable("a case isn't closed")

    def function(self, name: str) -> None:
        """A function's body; it is judged where it stands."""
        self.line.functions[name] = self.pos
        self.newlines()
        if self.operator() != "(" and self.keyword() not in ("{", "if", "for", "while", "until", "case", "[["):
            raise Unreadable("a function has an odd body")
        outer, self.conditional = self.conditional, True
        self.looped(self.command)
        self.conditional = outer

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
        self.words_read += len(words)
        if self.words_read > MAX_WORDS:
            raise Unreadable(f"it has more than {MAX_WORDS:,} words")
        return words

    def assignment(self, command: SimpleCommand) -> bool:
        """Take an assignment, if one stands here."""
        match = _ASSIGNMENT.match(self.source, self.pos, self.end)
        if match is None:
            if _ELEMENT.match(self.source, self.pos, self.end):
                raise Unreadable("it sets an element that must be computed")
            return False
        start = self.pos
        self.pos = match.end()
        name, element, append = match.group(1, 2, 3)
        if element:
            self.arithmetic_names(element[1:-1])
        if self.source.startswith("(", self.pos, self.end):
            self.array()
            command.assignments.append(Assignment(name, None, start))
            return True
        begin = self.pos
        parts = self.word(assignment=True)
        value = Word(self.source[begin : self.pos], begin, parts)
        command.assignments.append(Assignment(name, None if element or append else value, start))
        return True

    def array(self) -> None:
        """``(words)``: looked at for what they run, the values aren't kept."""
        self.pos += 1
        while True:
            self.newlines()
            if self.source.startswith(")", self.pos, self.end):
                self.pos += 1
                return
            if self.pos >= self.end or self.source.startswith("[", self.pos, self.end):
                raise Unreadable("an array isn't closed, or names its elements")
            self.line.elements.extend(self.next_words())

    # --------------------------------------------------------------------------------------- tests, arithmetic
    def test(self) -> None:
        """``[[ … ]]``: its words are looked at for what they run."""
        command = self.new_command("test")
        self.line.gate.add(self.pos)
        self.line.commands.append(command)
        self.pos += 2
        arithmetic = False
        while True:
            self.newlines()
            if self.source.startswith("]]", self.pos, self.end):
                self.pos += 2
                break
            if self.pos >= self.end:
                raise Unreadable("a [[ isn't closed")
            if self.source.startswith(("&&", "||"), self.pos, self.end):
                self.pos += 2
            elif self.source[self.pos] in "()<>" and not self.source.startswith(("<(", ">("), self.pos, self.end):
                self.pos += 1
            elif self.source[self.pos] in ";&|":
                raise Unreadable("a [[ holds an odd operator")
            else:
                before = len(command.words)
                command.words.extend(self.next_words())
                raw = command.words[before].raw
                arithmetic = arithmetic or raw in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R")
                if raw == "=~":
                    raise Unreadable("a [[ holds a regular expression")
        command.end = self.pos
        if arithmetic:
            for word in command.words:
                self.arithmetic_word(word)

    def arithmetic_word(self, word: Word) -> None:
        """Note what a word of an arithmetic comparison evaluates."""
        for part in word.parts:
            if part.kind in ("text", "glob"):
                # An index is evaluated in its turn, substitutions in it are run, whatever quotes it wore.
                self.line.arithmetic.extend([""] if re.search(r"[$`\[]", part.text) else [])
                self.arithmetic_names(part.text)
            else:
                self.line.arithmetic.append(part.text if part.kind == "var" else "")

    def arithmetic_command(self) -> None:
        """``(( … ))``."""
        command = self.new_command("arithmetic")
        self.line.commands.append(command)
        self.pos += 2
        self.arithmetic_until("))")
        command.end = self.pos
