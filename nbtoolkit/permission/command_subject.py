"""A simple command as a subject of judgement: which shell rules name it.

A pattern is words, ``git status``, meaning exactly this command; or words and ``:*``, meaning these and any more. To
deny or ask, every form that the command can take counts: without its wrapper, its program without its folder, its
options left out. To allow, only the form that stands there.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtoolkit.permission.programs import CODE, SUBCOMMANDS, family, program_name
from nbtoolkit.permission.readonly_git import GIT_VALUED
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.subject import Match, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["CommandSubject", "Form", "allows_all", "form", "names_all", "pattern_fault", "program_of", "suggest"]

# A word of a command as a rule sees it: what it can be, None where other things are possible; splits means "or several".
Form = tuple[tuple[tuple[str, ...] | None, bool], ...]

# Nobody reads a longer rule.
LONGEST = 300

_NO, _UNKNOWN, _YES = Match.NO, Match.UNKNOWN, Match.YES

# A rule for any words behind these would allow everything.
_ANYTHING = (CODE - {"make", "gmake", "just", "vi", "vim"}) | frozenset(
    [
        "sudo",
        "doas",
        "env",
        "xargs",
        "eval",
        "exec",
        "source",
        ".",
        "find",
        "ssh",
        "parallel",
        "watch",
        "time",
        "command",
        "timeout",
        "nohup",
        "nice",
        "trap",
        "su",
        "busybox",
        "toybox",
        "dd",
        "rm",
        "curl",
        "wget",
        "tee",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSubject(Subject):
    """``allowed`` is the form for allow rules, None where none may; ``forms`` are those for deny and ask rules."""

    allowed: Form | None = None
    forms: tuple[Form, ...] = ()
    reach: int = 0
    """How many words of ``allowed`` a pattern must name, so that it names what a wrapper runs too."""
    loose: tuple[int, ...] = ()
    """Places of words in ``allowed`` that an allow rule must name itself, as they may mean what its star isn't for."""
    hidden: bool = False
    """Whether it can run what nobody can tell: every deny and ask rule may name it."""
    drivers: frozenset[str] | None = None
    """For git that only reads: the diff programs of its repository's settings, which must be switched off for it."""
    mentions: frozenset[str] = frozenset()
    """Words, casefolded, in code that it is given: a deny or ask rule for such a program may name it."""

    def matches(self, rule: PermissionRule, base: str) -> Match:  # noqa: ARG002 - the engine's form
        """Compare the pattern's words with the command's."""
        words, open_end = _pattern(rule.rule_content or "")
        if rule.behavior is PermissionBehavior.ALLOW:
            return _YES if self.covered_by(rule) else _NO
        best = _UNKNOWN if self.hidden else _NO
        if not words:
            return _YES
        for each in self.forms:
            match = _compare_widely(words, each, open_end=open_end)
            if match is _YES:
                return _YES
            if match is _UNKNOWN:
                best = _UNKNOWN
        if best is _NO and program_name(words[0]).casefold() in self.mentions:
            return _UNKNOWN
        return best

    def keys(self, *, wide: bool) -> frozenset[str] | None:
        """The names of the programs, one of which every pattern that names the command begins with."""
        if not wide:
            return _programs(() if self.allowed is None else (self.allowed,))
        found = None if self.hidden else _programs(self.forms)
        return found if found is None else found | self.mentions

    def covered_by(self, rule: PermissionRule) -> bool:
        """Whether an allow rule names this command, and what it runs."""
        words, open_end = _pattern(rule.rule_content or "")
        if self.allowed is None or not words or (open_end and len(words) < self.reach):
            return False
        if open_end and any(at >= len(words) for at in self.loose):
            return False
        return _compare(words, self.allowed, open_end=open_end) is _YES


def program_of(content: str) -> str | None:
    """The program that a rule's content begins with, as ``keys`` has it; None where it names any."""
    words, _ = _pattern(content)
    return program_name(words[0]).casefold() if words else None


_OPERATOR = re.compile(r"(?:&&|\|\|?|\|&|&|\d?(?:>>?|<|>&\d?)|&>>?)\Z|[^\\'\"]+;\Z")


def pattern_fault(content: str) -> str | None:
    """Why a pattern, whatever it is to do, names no command that anybody would run."""
    words, _ = _pattern(content)
    if not words:
        return None
    inner = content.strip()
    inner = inner[:-2].rstrip() if inner.endswith((":*", " *")) else inner
    if any(_OPERATOR.match(word) for word in inner.split()):
        return "commands and redirects are judged one by one, so a rule names one simple command"
    if re.match(r"[A-Za-z_]\w*=", words[0]):
        return "what is set in front of a command is no part of it, so a rule begins with the program"
    plain = words[0].partition("*")[0].rstrip(":")
    if "*" in words[0] or inner.endswith(":*"):
        return f"a star stands for itself there; {plain or 'git'}:* is {plain or 'git'} with any words behind it"
    return None


def names_all(general: str, special: str) -> bool:
    """Whether a pattern to deny or ask names every command that the other one names."""
    first, open_end = _pattern(general)
    second, _ = _pattern(special)
    if not first or not open_end or len(second) < len(first):
        return False
    return program_name(first[0]) == program_name(second[0]) and first[1:] == second[1 : len(first)]


def allows_all(general: PermissionRule, special: PermissionRule, judge: Callable[[str], Sequence[Subject]]) -> bool:
    """Whether an allow rule names every command that another one names; ``judge`` gives a line's subjects.

    What words behind both run, both must name; so the longer one adds only what its own words run.
    """
    first, open_end = _pattern(general.rule_content or "")
    second, more = _pattern(special.rule_content or "")
    if not first or not open_end or second[: len(first)] != first:
        return False
    for words in (second, (*second, "x")) if more else (second,):
        commands = [each for each in judge(shlex.join(words)) if isinstance(each, CommandSubject)]
        if len(commands) != 1 or not commands[0].covered_by(general):
            return False
    return True


def _programs(forms: Sequence[Form]) -> frozenset[str] | None:
    found: set[str] = set()
    for each in forms:
        if not each or each[0][0] is None or each[0][1]:
            return None
        found.update(program_name(text).casefold() for text in each[0][0])
    return frozenset(found)


@lru_cache(maxsize=8192)
def _pattern(content: str) -> tuple[tuple[str, ...], bool]:
    text = content.strip()
    open_end = text in ("*", ":*") or text.endswith((":*", " *"))
    if open_end:
        text = text[:-2].rstrip() if len(text) > 1 else ""
    try:
        words = tuple(shlex.split(text, posix=True))
    except ValueError:
        words = tuple(text.split())
    return words, open_end


def form(args: Sequence[Argument]) -> Form:
    """A command's words as rules see them."""
    return tuple(
        (
            tuple(value.text for value in each.values)
            if each.known and all(v.pattern is None for v in each.values)
            else None,
            each.splits,
        )
        for each in args
    )


def _compare(words: Sequence[str], command: Form, *, open_end: bool) -> Match:
    """Word by word; what isn't known is unknown."""
    result = _YES
    for at, word in enumerate(words):
        if at >= len(command):
            return _NO
        values, splits = command[at]
        if splits:
            return _UNKNOWN
        if values is None:
            result = _UNKNOWN
        elif word not in values:
            return _NO
        elif len(values) > 1:
            result = _UNKNOWN
    if not open_end and len(command) != len(words):
        return _NO
    if not open_end and any(splits for _, splits in command):
        return _UNKNOWN
    return result


def _compare_widely(words: Sequence[str], command: Form, *, open_end: bool) -> Match:
    if not command:
        return _NO
    programs, splits = command[0]
    if programs is None or splits:
        return _UNKNOWN
    wanted = program_name(words[0])
    if "/" in words[0] and words[0] not in programs and program_name(words[0]) == words[0]:
        return _NO
    if not any(wanted.casefold() == program_name(each).casefold() for each in programs):
        return _NO
    if len(words) == 1:
        return _YES if open_end or len(command) == 1 else _NO
    exact = _compare(words[1:], command[1:], open_end=open_end)
    if exact is _YES or not open_end:
        return exact
    return (
        _YES
        if exact is _NO and _skipping(words, command) is _YES
        else max((exact, _skipping(words, command)), key=lambda match: match.value)
    )


def _skipping(words: Sequence[str], command: Form) -> Match:
    """The pattern's words in order, with options between them left out, and its letters of options anywhere."""
    plain = [word for word in words[1:] if not word.startswith("-")]
    letters = {letter for word in words[1:] if re.fullmatch(r"-[A-Za-z]+", word) for letter in word[1:]}
    long = [word for word in words[1:] if word.startswith("--")]
    given: set[str] = set()
    given_long: set[str] = set()
    doubtful = False
    at, after_option, wanted = 1, False, 0
    git = command[0][0] is not None and any(program_name(each) == "git" for each in command[0][0])
    options_end = False
    while at < len(command):
        values, splits = command[at]
        at += 1
        if values is None or splits:
            doubtful = True
            after_option = False
            continue
        text = values[0]
        if not options_end and text == "--":
            options_end = True
        elif not options_end and text.startswith("-") and len(text) > 1:
            if text.startswith("--"):
                given_long.add(text.partition("=")[0])
            else:
                given.update(text[1:])
            after_option = "=" not in text
            if git and text in GIT_VALUED:
                at += 1
                after_option = False
        elif wanted < len(plain):
            if plain[wanted] in values:
                wanted += 1
                after_option = False
            elif after_option:
                # It may be the option's value.
                after_option = False
            elif not doubtful:
                return _NO
    complete = wanted == len(plain) and letters <= given and all(word.partition("=")[0] in given_long for word in long)
    if complete:
        return _YES
    return _UNKNOWN if doubtful else _NO


def suggest(args: Sequence[Argument], allowed: Form | None, reach: int = 0) -> PermissionRule | None:
    """A rule that would allow this command, and others like it where that isn't everything.

    ``reach``: how many words it must name at least, as CommandSubject says.
    """
    if allowed is None or not args:
        return None
    words: list[str] = []
    for values, splits in allowed:
        if values is None or splits or len(values) != 1:
            break
        words.append(values[0])
    if not words:
        return None
    chosen, open_end = _chosen(words, reach, known=len(words) == len(allowed))
    if not chosen or sum(map(len, chosen)) > LONGEST or _tells(chosen):
        return None
    text = " ".join(shlex.quote(word) if re.search(r"[\s'\"\\$`()*]|^$|:$", word) else word for word in chosen)
    if "\n" in text or len(text) > LONGEST:
        return None
    return PermissionRule(
        tool_name="Bash", rule_content=f"{text}:*" if open_end else text, behavior=PermissionBehavior.ALLOW
    )


_SECRET_OPTION = re.compile(
    r"(?i)--?[\w-]*(?:password|passwd|passphrase|token|secret|api-?key|credential|\buser\b|\bauth|access-key)[\w-]*(=.|\Z)"
)
_SECRET_WORD = re.compile(
    r"(?i)(?:authorization|cookie|[\w-]*(?:token|api-?key|secret|auth|passw)[\w-]*)\s*[:=]\s*\S|://[^/\s@]+:[^/\s@]+@"
)


def _tells(words: list[str]) -> bool:
    """Whether a word seems to be a secret, or to come with one: what nobody wants in a rule."""
    for at, word in enumerate(words):
        option = _SECRET_OPTION.match(word)
        if (option is not None and (option.group(1) or at + 1 < len(words))) or _SECRET_WORD.search(word):
            return True
        if word in ("-u", "-U") and ":" in "".join(words[at + 1 : at + 2]):
            return True
    return False


def _chosen(words: list[str], reach: int, *, known: bool) -> tuple[list[str], bool]:
    """The words that a suggested rule names, and whether any may follow; none where only all of them would do."""
    name = family(words[0])
    count = 1
    if name in SUBCOMMANDS and len(words) > 1 and not words[1].startswith("-"):
        count = 2
    elif name in SUBCOMMANDS:
        count = 0
    elif name == "python" and len(words) > 2 and words[1] == "-m":
        count = 3
    elif name in _ANYTHING:
        count = 0
    if reach > count:
        # A wrapper: the rule names what it runs, and that must not be one that runs anything.
        count = reach if len(words) >= reach and family(words[reach - 1]) not in _ANYTHING else 0
    if count:
        return words[:count], True
    return (words, False) if known else ([], False)
