"""The reader of redirects and here-documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell import MAX_REDIRECTS, Redirect, Unreadable, Word
from nbtoolkit.permission.shell_words import WordReader

if TYPE_CHECKING:
    from nbtoolkit.permission.shell import SimpleCommand

__all__ = ["RedirectReader"]

_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|<&|<>|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())")
_NAMED_FD = re.compile(r"\{[A-Za-z_]\w*\}(?=[<>])")


class RedirectReader(WordReader):
    """Reads what stands behind ``<`` and ``>``; bodies of here-documents wait in ``heredocs`` for their newline."""

    def __init__(self, source: str, start: int, end: int) -> None:
        super().__init__(source, start, end)
        self.redirects_read = 0
        self.heredocs: list[tuple[str, bool, bool]] = []

    def next_words(self) -> list[Word]:
        """The word at the position, as the several that its braces make of it."""
        raise NotImplementedError

    def redirect(self, command: SimpleCommand) -> bool:
        """Take a redirect, if one stands here."""
        start = self.pos
        named = _NAMED_FD.match(self.source, self.pos, self.end)
        if named is not None:
            raise Unreadable("a redirect picks its own descriptor")
        match = _REDIRECT.match(self.source, self.pos, self.end)
        if match is None:
            return False
        self.pos = match.end()
        self.redirects_read += 1
        if self.redirects_read > MAX_REDIRECTS:
            raise Unreadable(f"it has more than {MAX_REDIRECTS} redirects")
        operator = match.group(2)
        self.blanks_only()
        if operator in ("<<", "<<-"):
            begin = self.pos
            delimiter = Word("", begin, self.word())
            static = delimiter.static
            raw = self.source[begin : self.pos]
            if static is None or not raw or "\n" in static:
                raise Unreadable("a here-document has an odd delimiter")
            self.heredocs.append((static, raw == static, operator == "<<-"))
            return True
        words = self.next_words()
        if len(words) != 1:
            raise Unreadable("a redirect has several targets")
        if operator == "<<<":
            self.line.texts.append("".join(part.text for part in words[0].parts if part.kind == "text"))
            return True
        static = words[0].static
        if operator in ("<&", ">&") and static is not None and re.fullmatch(r"\d+-?|-", static):
            return True
        if operator == "<&":
            raise Unreadable("a redirect copies a descriptor that isn't known")
        command.redirects.append(Redirect(operator, words[0], self.source[start : self.pos], start))
        return True

    def blanks_only(self) -> None:
        """Go past blanks and line continuations."""
        match = _BLANK.match(self.source, self.pos, self.end)
        assert match is not None
        self.pos = match.end()

    def heredoc_body(self, delimiter: str, expands: bool, tabs: bool) -> None:
        """Read the lines of a here-document up to its delimiter."""
        begin = self.pos
        while self.pos <= self.end:
            stop = self.source.find("\n", self.pos, self.end)
            stop = self.end if stop < 0 else stop
            text = self.source[self.pos : stop]
            if (text.lstrip("\t") if tabs else text) == delimiter:
                self.line.texts.append(self.source[begin : self.pos])
                # The newline behind it goes on separating commands.
                self.pos = stop
                return
            if stop >= self.end:
                break
            if expands:
                self.heredoc_text(stop)
            self.pos = stop + 1
        raise Unreadable(f"a here-document isn't closed by {delimiter!r}")

    def heredoc_text(self, stop: int) -> None:
        """One line of a body that expands; a substitution over several lines is unreadable."""
        end, self.end = self.end, stop
        while self.pos < self.end:
            char = self.source[self.pos]
            if char == "\\":
                self.pos += 2
            elif char in "$`":
                self.expansion(quoted=True)
            else:
                self.pos += 1
        if self.pos > stop:
            raise Unreadable("a here-document joins lines")
        self.end = end
