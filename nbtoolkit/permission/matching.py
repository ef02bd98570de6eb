"""Holding a rule's conditions against a call's arguments, each rule made ready once.

To allow, what can't be decided doesn't match. To deny or ask it is Match.UNKNOWN: an argument that the tool has but the
call leaves out (a server may have any default), a value that doesn't compare, a content that isn't in the grammar.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission import pattern
from nbtoolkit.permission.conditions import Condition, canonical, moment, number, parse_content
from nbtoolkit.permission.subject import Match

if TYPE_CHECKING:
    import re

__all__ = ["Reading", "Ready", "match_arguments", "working_directory"]

Test = Callable[[Any], Match]
Known = Callable[[], Mapping[str, Any] | None]

# Rules are few; what grows this far is a program that makes rules, and starting over is cheap.
MOST_READY = 20_000

_MISSING = object()
_UNSEEN: Any = object()

YES, NO, UNKNOWN = Match.YES, Match.NO, Match.UNKNOWN


def working_directory() -> str:
    """The folder that the process is in, symlinks resolved; one that holds nothing where it was deleted."""
    try:
        return pattern.slashes(os.getcwd())  # noqa: PTH109 - twenty times pathlib's speed, on every judgement
    except OSError:
        return "/\x00"


class Reading:
    """How rules are read: widely or not, relative patterns from ``base``, relative values from the process's folder.

    It keeps the rules that it has made ready; where the process is and what paths resolve to is forgotten by
    ``refresh``, since both change.
    """

    __slots__ = ("_cwd", "base", "kept", "paths", "wide")

    def __init__(self, *, wide: bool, base: str, cwd: str | None = None) -> None:
        self.wide = wide
        self.base = pattern.real_folder(base)
        self.kept: dict[str, Ready] = {}
        self.paths: dict[str, Paths | None] = {}
        self._cwd = cwd

    def refresh(self) -> None:
        """Forget where the process is and what paths resolved to."""
        self._cwd = None
        if self.paths:
            self.paths.clear()

    @property
    def cwd(self) -> str:
        """The folder that the process is in; asked for only where a path is judged, as asking costs."""
        if self._cwd is None:
            self._cwd = working_directory()
        return self._cwd

    def ready(self, content: str) -> Ready:
        """A rule's content, ready to be held against calls."""
        found = self.kept.get(content)
        if found is None:
            if len(self.kept) > MOST_READY:
                self.kept.clear()
            found = self.kept[content] = Ready(content, self)
        return found

    def resolve(self, value: str) -> Paths | None:
        """What a value resolves to; None where it is no path."""
        found = self.paths[value] = Paths.of(value, self.cwd, self.base)
        return found


class Paths:
    """One value as paths: from the process's folder and from the rule's, each with and without symlinks followed."""

    __slots__ = ("all", "here", "one_folder", "sieve", "there")

    def __init__(self, here: tuple[str, str], there: tuple[str, str], *, one_folder: bool) -> None:
        self.here = here[0]
        self.there = there[0]
        self.one_folder = one_folder
        self.all = tuple(dict.fromkeys((*here, *there)))
        joined = "\n".join(self.all)
        # Only among ASCII letters are "same but for case" and "same in lower case" one thing; and a pattern that is
        # read from two folders has no text that every match must hold.
        self.sieve = joined.lower() if one_folder and joined.isascii() else None

    @classmethod
    def of(cls, value: str, cwd: str, base: str) -> Paths | None:
        """The value's paths; None where it is no path."""
        here = pattern.resolve(value, cwd)
        if here is None:
            return None
        if base == cwd:
            return cls(here, here, one_folder=True)
        return cls(here, pattern.resolve(value, base) or here, one_folder=False)


class Ready:
    """A rule's content as tests on arguments."""

    __slots__ = ("_steps", "_wide", "fault")

    def __init__(self, content: str, reading: Reading) -> None:
        parsed = parse_content(content)
        self.fault = parsed.fault
        self._wide = reading.wide
        self._steps = [
            (each.path[0], each.path, each.kind == "json", _test(each, reading)) for each in parsed.conditions
        ]

    def match(self, tool_input: Mapping[str, Any], known: Known | None = None) -> Match:
        """Whether all conditions hold; ``known`` gives the tool's arguments: another's absence is no reason to ask."""
        if self.fault is not None:
            return UNKNOWN if self._wide else NO
        verdict = YES
        for name, path, whole, test in self._steps:
            value = tool_input.get(name, _MISSING)
            if len(path) == 1 and value is not _MISSING and type(value) is not list:
                got = test(value)
            else:
                got = self._look(path, whole, test, tool_input, known)
            if got is NO:
                return NO
            if got is UNKNOWN:
                if not self._wide:
                    return NO
                verdict = UNKNOWN
        return verdict

    def _look(
        self,
        path: tuple[str, ...],
        whole: bool,
        test: Test,
        tool_input: Mapping[str, Any],
        known: Known | None,
    ) -> Match:
        if path[0] not in tool_input:
            dotted = ".".join(path)
            if dotted not in tool_input:
                has = known() if self._wide and known is not None else None
                return UNKNOWN if self._wide and (has is None or path[0] in has) else NO
            path = (dotted,)
        leaves = _leaves(tool_input[path[0]], path[1:], whole)
        found = (UNKNOWN if leaf is _MISSING else test(leaf) for leaf in leaves)
        if self._wide:
            return max(found, key=_strength, default=NO)
        # An empty list often means "all of them", so it is never covered by a rule about its elements.
        return min(found, key=_strength, default=NO)


def _strength(match: Match) -> int:
    return match.value


def _leaves(value: Any, path: tuple[str, ...], whole: bool) -> Iterator[Any]:
    if not path and (whole or not isinstance(value, list)):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, path, whole)
    elif isinstance(value, Mapping):
        yield from _leaves(value[path[0]], path[1:], whole) if path[0] in value else (_MISSING,)
    else:
        yield _MISSING


# ------------------------------------------------------------------------------------------------------------ tests
def _test(condition: Condition, reading: Reading) -> Test:
    if condition.op == "=":
        return _equal(condition, reading, wide=reading.wide)
    if condition.op != "!=":
        return _ordered(condition)
    # Not to match narrowly is to match widely, and the other way round.
    equal = _equal(condition, reading, wide=not reading.wide)
    opposite = {YES: NO, NO: YES, UNKNOWN: UNKNOWN}
    return lambda value: opposite[equal(value)]


def _ordered(condition: Condition) -> Test:
    op, wanted = condition.op, condition.value

    def test(value: Any) -> Match:
        order = _order(value, wanted)
        if order is None:
            return UNKNOWN
        below, same = order
        holds = below if op == "<" else below or same if op == "<=" else not below and (op == ">=" or not same)
        return YES if holds else NO

    return test


def _equal(condition: Condition, reading: Reading, *, wide: bool) -> Test:
    wanted = condition.value
    if condition.kind == "json":
        return lambda value: YES if canonical(value) == wanted else NO
    if condition.kind == "text":
        exact = pattern.normal(wanted)
        return lambda value: YES if isinstance(value, str) and pattern.normal(value) == exact else NO
    if "://" in wanted:
        in_text = _in_text(pattern.url_pattern(wanted, wide=wide), wanted, wide=wide)
    elif pattern.is_path_pattern(wanted):
        in_text = _in_place(wanted, reading, wide=wide)
    else:
        in_text = _in_text(pattern.text_pattern(wanted, wide=wide), wanted, wide=wide)
    wanted_number = number(wanted)

    def test(value: Any) -> Match:
        if isinstance(value, str):
            return in_text(value)
        if isinstance(value, Mapping):
            return UNKNOWN
        if wanted_number is not None and (mine := number(value)) is not None:
            return YES if mine == wanted_number else NO
        spelled = json.dumps(value, default=str)
        return YES if spelled == wanted else in_text(spelled)

    return test


def _in_text(expression: re.Pattern[str], wanted: str, *, wide: bool) -> Callable[[str], Match]:
    starred = pattern.literal(wanted) != wanted

    def test(value: str) -> Match:
        if not starred:
            return YES if pattern.normal(value) == wanted else NO
        if len(value) > pattern.LONGEST and not wide:
            return NO
        return YES if expression.fullmatch(pattern.normal(value)) else NO

    wanted = pattern.normal(wanted)
    return test


def _in_place(wanted: str, reading: Reading, *, wide: bool) -> Callable[[str], Match]:
    """Where a relative value leads depends on who opens it: the process's folder, or the rule's own.

    To allow, it must lead from the process's folder to what the rule names; where the rule's path begins with no dot,
    reading the same from both folders will do. To deny it is enough that one of the readings is named.
    """
    either = not pattern.is_anchored(wanted)
    from_base = pattern.path_pattern(wanted, reading.base, wide=wide)
    needle = from_base.needle
    no_path = UNKNOWN if wide else NO
    known = reading.paths

    def test(value: str) -> Match:
        paths = known.get(value, _UNSEEN)
        if paths is _UNSEEN:
            paths = reading.resolve(value)
        if paths is None:
            return no_path
        sieve = paths.sieve
        if sieve is not None and needle not in sieve:
            return NO
        if from_base.matches(*paths.all) if wide else from_base.matches(paths.here):
            return YES
        if paths.one_folder:
            return NO
        elsewhere = pattern.path_pattern(wanted, reading.cwd, wide=wide)
        if wide:
            return YES if elsewhere.matches(*paths.all) else NO
        return YES if either and from_base.matches(paths.there) and elsewhere.matches(paths.here) else NO

    return test


def _order(value: Any, wanted: str) -> tuple[bool, bool] | None:
    """Whether the value is below what is wanted, and whether they are the same; None where they don't compare."""
    left, right = number(value), number(wanted)
    if left is not None and right is not None:
        if left != left:  # noqa: PLR0124 - NaN is in no order
            return None
        return left < right, left == right
    if isinstance(value, str):
        first, second = moment(value), moment(wanted)
        if first is not None and second is not None and (first.tzinfo is None) == (second.tzinfo is None):
            return first < second, first == second
    return None


def match_arguments(rule_content: str | None, tool_input: Mapping[str, Any]) -> bool:
    """Whether an allow rule with this content covers a call with these arguments, read from the process's folder."""
    if rule_content is None:
        return True
    reading = Reading(wide=False, base=working_directory())
    return reading.ready(rule_content).match(tool_input) is YES
