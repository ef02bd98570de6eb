"""The reader of shell words: quotes of every kind, escapes, expansions, braces.

A word comes out as parts. Text is text whatever quotes it wore; a variable keeps its name; what only running could
tell is "unknown", and "unknown" with the text "0" is a number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtoolkit.permission.shell import Part, Unreadable
from nbtoolkit.permission.shell_braces import NUMBER, merged
from nbtoolkit.permission.shell_operators import ALL_ELEMENTS, ELEMENT
from nbtoolkit.permission.shell_outputs import kind_of_output

if TYPE_CHECKING:
    from nbtoolkit.permission.shell import ShellLine

__all__ = ["NUMBER", "WordReader"]

# No person writes a word of more pieces, or with more braces.
MAX_PARTS = 1_000
MAX_EXPANSIONS = 2_000

_PLAIN = re.compile(r"[\w./:+,%@=^#-]+", re.ASCII)
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_QUOTED_PLAIN = re.compile(r'[^"\\$`]+')
_VARIABLE = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!-]")
_TILDE = re.compile(r"~([\w.-]*|[+-]\d*)(?=[/\s;&|()<>:]|\Z)")
# A default or an alternative that is plain text.
_INSTEAD = re.compile(r""":?[-=+]["']?([^\s"'$`\\]+)["']?\Z""")
# A substitution that only says a text.
_SAID = re.compile(r"\s*(?:echo|printf)\s+(?:-n\s+)?[\"']?([\w./~-]+)[\"']?\s*\Z")
_BRACED = re.compile(r"(#?)([A-Za-z_]\w*|\d+|[@*#?$!-])")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(.))", re.DOTALL)


class WordReader:
    """Reads the word at a position; the commands in its substitutions are read by ``substitution``."""

    line: ShellLine

    def __init__(self, source: str, start: int, end: int) -> None:
        self.source = source
        self.pos = start
        self.end = end
        self.depth = 0
        self.expansions = 0

    def down(self) -> None:
        """Refuse to go deeper than a person can follow."""
        raise NotImplementedError

    def substitution(self, closer: str) -> None:
        """Read commands up to a parenthesis and go past it."""
        raise NotImplementedError

    def backticks(self) -> None:
        """Read commands between backticks and go past them."""
        raise NotImplementedError

    def word(self, *, assignment: bool = False) -> tuple[Part, ...]:
        """The parts of the word at the position; in an assignment's value braces and globs are text."""
        source = self.source
        parts: list[Part] = []
        start = self.pos
        while self.pos < self.end:
            plain = _PLAIN.match(source, self.pos, self.end) or _FOREIGN.match(source, self.pos, self.end)
            if plain is not None:
                parts.append(Part("text", plain.group()))
                self.pos = plain.end()
                continue
            if len(parts) > MAX_PARTS:
                raise Unreadable(f"a word has more than {MAX_PARTS:,} pieces")
            char = source[self.pos]
            if char in " \t\n;&|()":
                break
            if char in "<>" and not source.startswith("(", self.pos + 1, self.end):
                break
            self.piece(char, parts, at_start=self.pos == start, assignment=assignment)
        if not any(part.kind == "text" and not part.quoted and "]" in part.text for part in parts):
            # Without its partner a bracket is itself, and the name of a program.
            parts = [Part("text", "[") if part.kind == "glob" and part.text == "[" else part for part in parts]
        return merged(parts)

    def piece(self, char: str, parts: list[Part], *, at_start: bool, assignment: bool) -> None:
        """What begins with a character that isn't just itself."""
        if char in "<>":
            self.pos += 2
            self.substitution("<(")
            parts.append(Part("unknown", "/dev/fd", quoted=True))
        elif char == "\\":
            self.escape(parts)
        elif char == "'":
            parts.append(self.single_quoted())
        elif char == '"':
            parts.extend(self.double_quoted())
        elif char in "$`":
            parts.extend(self.expansion(quoted=False))
        elif char == "~" and (at_start or self.source[self.pos - 1] in "=:,{"):
            parts.append(self.tilde())
        else:
            self.sign(char, parts, assignment)

    def sign(self, char: str, parts: list[Part], assignment: bool) -> None:
        """A character that may stand for several: a glob's, a brace, else itself."""
        self.pos += 1
        if char in "*?[":
            if self.source.startswith("(", self.pos, self.end) and char != "[":
                raise Unreadable("it holds an extended pattern")
            parts.append(Part("text" if assignment else "glob", char))
            while char == "*" and not assignment and self.source.startswith("*", self.pos, self.end):
                # Several mean what one means.
                self.pos += 1
                if self.source.startswith("(", self.pos, self.end):
                    raise Unreadable("it holds an extended pattern")
        elif char == "]":
            parts.append(Part("text", char))
        elif char in "{}":
            parts.append(Part("text", char, quoted=assignment))
        elif char == "!" and self.source.startswith("(", self.pos, self.end):
            raise Unreadable("it holds an extended pattern")
        else:
            parts.append(Part("text", char))

    def tilde(self) -> Part:
        """``~`` or ``~user``, or a plain sign."""
        match = _TILDE.match(self.source, self.pos, self.end)
        if match is None:
            # Followed by something odd, a quote or an expansion, it stays itself; an unknown user is no harm either.
            self.pos += 1
            return Part("text", "~", quoted=True)
        self.pos = match.end()
        return Part("tilde", match.group(1))

    def escape(self, parts: list[Part]) -> None:
        """A backslash and what it quotes."""
        if self.pos + 1 >= self.end:
            raise Unreadable("it ends with a backslash")
        char = self.source[self.pos + 1]
        self.pos += 2
        if char != "\n":
            parts.append(Part("text", char, quoted=True))

    def single_quoted(self) -> Part:
        """``'…'``."""
        stop = self.source.find("'", self.pos + 1, self.end)
        if stop < 0:
            raise Unreadable("a quote isn't closed")
        text = self.source[self.pos + 1 : stop]
        self.pos = stop + 1
        return Part("text", text, quoted=True)

    def double_quoted(self) -> list[Part]:
        """``"…"``: text, and what expands in it."""
        source = self.source
        parts = [Part("text", "", quoted=True)]
        self.pos += 1
        while True:
            if len(parts) > MAX_PARTS:
                raise Unreadable(f"a word has more than {MAX_PARTS:,} pieces")
            plain = _QUOTED_PLAIN.match(source, self.pos, self.end)
            if plain is not None:
                parts.append(Part("text", plain.group(), quoted=True))
                self.pos = plain.end()
            if self.pos >= self.end:
                raise Unreadable("a quote isn't closed")
            char = source[self.pos]
            if char == '"':
                self.pos += 1
                return parts
            if char == "\\":
                escaped = source[self.pos + 1 : self.pos + 2]
                self.pos += 2
                if escaped != "\n":
                    parts.append(Part("text", escaped if escaped in '$`"\\' else "\\" + escaped, quoted=True))
            else:
                parts.extend(self.expansion(quoted=True))

    # ---------------------------------------------------------------------------------------------- expansions
    def expansion(self, *, quoted: bool) -> list[Part]:
        """What ``$`` or a backtick begins."""
        self.depth += 1
        self.expansions += 1
        if self.expansions > MAX_EXPANSIONS:
            raise Unreadable(f"it has more than {MAX_EXPANSIONS:,} expansions")
        self.down()
        parts = self._expansion(quoted=quoted)
        self.depth -= 1
        return parts

    def _expansion(self, *, quoted: bool) -> list[Part]:
        source = self.source
        if source[self.pos] == "`":
            start = self.pos
            self.backticks()
            return [_substituted(source[start + 1 : self.pos - 1], quoted=quoted)]
        rest = source[self.pos + 1 : min(self.pos + 3, self.end)]
        if rest.startswith("(("):
            self.pos += 3
            self.arithmetic_until("))")
            return [NUMBER]
        if rest.startswith("("):
            start = self.pos
            self.pos += 2
            self.substitution("$(")
            return [_substituted(source[start + 2 : self.pos - 1], quoted=quoted)]
        if rest.startswith("{"):
            self.pos += 2
            return [self.braced(quoted)]
        if rest.startswith("["):
            self.pos += 2
            self.arithmetic_until("]")
            return [NUMBER]
        if not quoted and rest.startswith("'"):
            self.pos += 1
            return [self.ansi_quoted()]
        if not quoted and rest.startswith('"'):
            raise Unreadable("it holds a translated text")
        variable = _VARIABLE.match(source, self.pos + 1, self.end)
        self.pos += 1
        if variable is None:
            return [Part("text", "$", quoted=True)]
        self.pos = variable.end()
        return [self.variable(variable.group(), quoted)]

    def variable(self, name: str, quoted: bool) -> Part:
        """A plain variable."""
        if name in "#?$!":
            return NUMBER
        self.line.expanded.append((self.pos, name))
        # Only "$@" among quoted words can be several or none; it is as unquoted.
        return Part("var", name, quoted and name != "@")

    def ansi_quoted(self) -> Part:
        """``$'…'``."""
        pos = self.pos + 1
        while True:
            if pos >= self.end:
                raise Unreadable("a quote isn't closed")
            if self.source[pos] == "'":
                break
            pos += 2 if self.source[pos] == "\\" else 1
        text = self.source[self.pos + 1 : pos]
        self.pos = pos + 1
        return Part("text", _ANSI.sub(_ansi, text), quoted=True)

    def braced(self, quoted: bool) -> Part:
        """``${…}``: a plain name stays known, whatever has an operator doesn't."""
        source = self.source
        if source.startswith("!", self.pos, self.end):
            raise Unreadable("it expands a variable that another one names")
        name = _BRACED.match(source, self.pos, self.end)
        if name is None:
            raise Unreadable("it holds an odd expansion")
        self.pos = name.end()
        self.line.expanded.append((self.pos, name.group(2)))
        if source.startswith("}", self.pos, self.end):
            self.pos += 1
            return NUMBER if name.group(1) else self.variable(name.group(2), quoted)
        element, several = source.startswith("[", self.pos, self.end) or bool(name.group(1)), False
        if source.startswith("[", self.pos, self.end):
            self.pos += 1
            if source.startswith(("@]", "*]"), self.pos, self.end):
                self.pos += 2
                quoted, several = False, True
            else:
                self.arithmetic_until("]")
            if source.startswith("}", self.pos, self.end):
                self.pos += 1
                operator = ALL_ELEMENTS if several else ELEMENT
                return NUMBER if name.group(1) else Part("unknown", "", quoted, name.group(2), operator)
        rest = source[self.pos : min(self.pos + 2, self.end)]
        if rest.startswith("@"):
            raise Unreadable("it expands a variable as a prompt or a declaration")
        if rest.startswith("=") or rest == ":=":
            self.line.spoilt.add(name.group(2))
            self.assigned_by_default(name.group(2))
        if rest.startswith(":") and rest[1:] not in ("-", "=", "?", "+"):
            start = self.pos
            self.pos += 1
            self.arithmetic_until("}", ":")
            operator = "" if element else source[start : self.pos - 1]
            return Part("unknown", "", quoted, name.group(2) if operator else "", operator)
        start = self.pos
        self.until_brace(quoted)
        if (instead := _INSTEAD.match(source, start, self.pos - 1)) is not None:
            self.named_instead(instead.group(1))
        operator = "" if element else source[start : self.pos - 1]
        return Part("unknown", "", quoted, name.group(2) if operator else "", operator)

    def named_instead(self, text: str) -> None:
        """The text that ``${NAME:-text}`` may become: a place in it is named to the command."""
        from nbtoolkit.permission.shell import Word

        parts = [Part("text", text)]
        if text == "~" or text.startswith("~/"):
            parts = [Part("tilde", ""), Part("text", text[1:])]
        self.line.elements.append(Word(text, self.pos, tuple(parts)))

    def assigned_by_default(self, name: str) -> None:
        """``${NAME:=value}`` sets NAME; the judge is told by an assignment without value."""
        from nbtoolkit.permission.shell import Assignment, SimpleCommand

        self.line.commands.append(
            SimpleCommand(self.pos, self.pos, assignments=[Assignment(name, None, self.pos)], repeats=True)
        )

    def until_brace(self, quoted: bool) -> None:
        """The rest of ``${name…}``, looked at for what it runs."""
        source = self.source
        while self.pos < self.end:
            char = source[self.pos]
            if char == "}":
                self.pos += 1
                return
            if char in "$`":
                self.expansion(quoted=quoted)
            elif char == "\\":
                self.pos += 2
            elif char == "'" and quoted:
                raise Unreadable("an expansion in quotes holds a quote")
            elif char == "'":
                self.single_quoted()
            elif char == '"':
                self.double_quoted()
            elif char in "<>" and source.startswith("(", self.pos + 1, self.end):
                raise Unreadable("an expansion holds a process substitution")
            else:
                self.pos += 1
        raise Unreadable("an expansion isn't closed")

    # ---------------------------------------------------------------------------------------------- arithmetic
    def arithmetic_until(self, closer: str, also: str = "") -> None:
        """Go past an arithmetic expression and its closer, noting what it evaluates."""
        source, nested = self.source, 0
        while self.pos < self.end:
            if not nested and source.startswith(closer, self.pos, self.end):
                self.pos += len(closer)
                return
            char = source[self.pos]
            identifier = _IDENTIFIER.match(source, self.pos, self.end)
            if identifier is not None:
                self.line.arithmetic.append(identifier.group())
                self.pos = identifier.end()
            elif char in "$`":
                for part in self.expansion(quoted=True):
                    if part is not NUMBER:
                        self.line.arithmetic.append(part.text if part.kind == "var" else "")
            elif char in "([":
                nested += 1
                self.pos += 1
            elif char in ")]":
                nested -= 1
                if nested < 0:
                    break
                self.pos += 1
            elif char in "'\"\\{}" or (char in ";:" and char not in also and char != ":"):
                break
            else:
                self.pos += 1
        raise Unreadable("it holds odd arithmetic")

    def arithmetic_names(self, text: str) -> None:
        """Note the names that an expression in already unquoted text evaluates."""
        self.line.arithmetic.extend(_IDENTIFIER.findall(text))


def _substituted(command: str, *, quoted: bool) -> Part:
    """A substitution, with what is known of its text."""
    said = _SAID.match(command)
    return Part("unknown", "", quoted, shown=said.group(1) if said else "", output=kind_of_output(command))


def _ansi(match: re.Match[str]) -> str:
    octal, hexa, short, long, char = match.groups()
    if octal is not None:
        code = int(octal, 8) & 0xFF
    elif hexa is not None:
        code = int(hexa, 16)
    elif short is not None or long is not None:
        code = int(short or long, 16)
    else:
        if char == "c":
            raise Unreadable("a quote holds a control character")
        return _ESCAPES.get(char, char if char in "\\'\"?" else "\\" + char)
    if not 0 < code < 0x80:
        # Zero ends bash's text early; a byte above is a part of some encoding's character.
        raise Unreadable("a quote holds a character by its number")
    return chr(code)
