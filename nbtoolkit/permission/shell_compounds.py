"""The reader of commands that hold others: groups, conditions, loops, cases, functions, tests and arithmetic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell import ShellLine, SimpleCommand, Unreadable, Word
from nbtoolkit.permission.shell_redirects import RedirectReader

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CompoundReader"]


class CompoundReader(RedirectReader):
    """Reads what begins with a reserved word; lists and simple commands are its subclass's."""

    line: ShellLine
    joined: str
    repeats: bool
    conditional: bool

    def read_list(self) -> None:
        """Commands until something that isn't one."""
        raise NotImplementedError

    def command(self) -> None:
        """One command of any kind, with its redirects."""
        raise NotImplementedError

    def new_command(self, kind: str = "command") -> SimpleCommand:
        """A command that begins here."""
        raise NotImplementedError

    def deeper(self, read: Callable[[], None]) -> None:
        """Go one level down, but not without end."""
        raise NotImplementedError

    def blanks(self) -> None:
        """Go past blanks, line continuations and a comment."""
        raise NotImplementedError

    def newlines(self) -> None:
        """Go past newlines, and the here-documents' bodies behind the first."""
        raise NotImplementedError

    def operator(self) -> str:
        """The control operator at the position; "" where there is none."""
        raise NotImplementedError

    def keyword(self) -> str:
        """The bare word at the position, if it is one that the grammar reserves."""
        raise NotImplementedError

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
        self.after_for_words(name.group())

    def after_for_words(self, name: str = "") -> None:
        """The body of a ``for``, which gives a variable of that name its words."""
        if self.operator() == ";":
            self.pos += 1
        self.newlines()
        if self.keyword() != "do":
            raise Unreadable("'do' is missing")
        self.pos += 2
        start = self.pos
        self.looped(lambda: self.block("done"))
        if name:
            self.line.bodies.setdefault(name, []).append((start, self.pos))

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
