"""What a person has granted for a while: the rest of a cell, a block, a number of calls, this kernel.

One Grants is shared by all the engines of a toolkit, so what holds for the kernel holds for every agent in it. Rules
that outlive the kernel are read into it by ``nbtoolkit.permission.store`` and keep that file's name as their source.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from nbtoolkit.permission.store import Store

__all__ = ["BLOCK", "CELL", "KERNEL", "Counter", "Grant", "Grants"]

# The sources of rules that end before the kernel does, and of those that end with it.
CELL = "cell"
BLOCK = "grant"
KERNEL = "kernel"

_ATTRIBUTE = {
    PermissionBehavior.ALLOW: "allow_rules",
    PermissionBehavior.DENY: "deny_rules",
    PermissionBehavior.ASK: "ask_rules",
}


class Counter:
    """How many calls are left of a grant; None is no limit."""

    __slots__ = ("_lock", "left")

    def __init__(self, calls: int | None) -> None:
        if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int)):
            raise TypeError(f"A grant is for a whole number of calls, not calls={calls!r}.")
        if calls is not None and calls < 1:
            raise ValueError(f"A grant is for at least one call, not calls={calls!r}.")
        self.left = calls
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Use one call up; False when none was left."""
        with self._lock:
            if self.left is None:
                return True
            if self.left <= 0:
                return False
            self.left -= 1
            return True


class Grants:
    """Rules beside a conversation's own, by behaviour and tool name, as in a PermissionContext."""

    def __init__(self) -> None:
        self.allow_rules: dict[str, list[PermissionRule]] = {}
        self.deny_rules: dict[str, list[PermissionRule]] = {}
        self.ask_rules: dict[str, list[PermissionRule]] = {}
        # The folder that relative patterns are read from; None is the working directory.
        self.base: str | None = None
        # The files behind them, where there are any; a Store puts itself here.
        self.store: Store | None = None
        self._counters: dict[int, tuple[PermissionRule, Counter]] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[PermissionRule]:
        for attribute in _ATTRIBUTE.values():
            for rules in list(getattr(self, attribute).values()):
                yield from list(rules)

    def without(self, rule: PermissionRule | None) -> Grants:
        """A copy without this rule, to try a change on."""
        copy = Grants()
        copy.base = self.base
        with self._lock:
            copy._counters.update(self._counters)
        for each in self:
            if each != rule:
                getattr(copy, _ATTRIBUTE[each.behavior]).setdefault(each.tool_name, []).append(each)
        return copy

    def add(self, rule: PermissionRule, counter: Counter | None = None) -> None:
        """Add a rule; an equal one that is there already, and isn't counted, is enough."""
        with self._lock:
            by_name: dict[str, list[PermissionRule]] = getattr(self, _ATTRIBUTE[rule.behavior])
            present = by_name.get(rule.tool_name, [])
            if counter is not None:
                self._counters[id(rule)] = (rule, counter)
            elif any(each == rule and id(each) not in self._counters for each in present):
                return
            # A new list each time: a judgement in another thread may be walking the old one.
            by_name[rule.tool_name] = [*present, rule]

    def remove(self, rules: Iterable[PermissionRule], *, same: bool = False) -> int:
        """Take rules out (with ``same``, only these very objects) and say how many went."""
        gone = list(rules)
        count = 0
        with self._lock:
            for attribute in _ATTRIBUTE.values():
                by_name: dict[str, list[PermissionRule]] = getattr(self, attribute)
                for name in {rule.tool_name for rule in gone} & by_name.keys():
                    kept = [
                        each
                        for each in by_name[name]
                        if not any(each is one or (not same and each == one) for one in gone)
                    ]
                    count += len(by_name[name]) - len(kept)
                    if kept:
                        by_name[name] = kept
                    else:
                        del by_name[name]
            for rule in gone:
                self._counters.pop(id(rule), None)
        return count

    def remove_source(self, source: str) -> int:
        """Take out all rules of one source."""
        return self.remove([rule for rule in self if rule.source == source], same=True)

    def counter(self, rule: PermissionRule) -> Counter | None:
        """What counts the calls of a rule, where something does."""
        held = self._counters.get(id(rule))
        return None if held is None else held[1]

    def exhausted(self, rule: PermissionRule) -> bool:
        """Whether a counted rule has no calls left."""
        counter = self.counter(rule)
        return counter is not None and counter.left == 0

    def end_cell(self) -> int:
        """End what was granted for the rest of the cell."""
        return self.remove_source(CELL)

    def redefined(self, tool_name: str, definition: str | None) -> list[PermissionRule]:
        """Drop the grants that were given to another definition of this tool, and name them."""
        stale = [
            rule
            for rule in self
            if rule.tool_name == tool_name and rule.definition is not None and rule.definition != definition
        ]
        self.remove(stale, same=True)
        return stale

    def grant(self, rules: Iterable[PermissionRule | str] | PermissionRule | str, calls: int | None = None) -> Grant:
        """A grant for a ``with`` block, of at most so many calls."""
        several = [rules] if isinstance(rules, PermissionRule | str) else list(rules)
        return Grant(self, several, calls)


class Grant:
    """``with toolkit.grant("Write(out/**)", calls=3):``: the rules allow inside the block, error or not, and end with it."""

    def __init__(self, grants: Grants, rules: list[PermissionRule | str], calls: int | None) -> None:
        if not rules:
            raise ValueError("A grant needs at least one rule, as in grant('Write(out/**)').")
        self._grants = grants
        self._counter = Counter(calls)
        self.rules = tuple(_block_rule(rule) for rule in rules)
        self._open = False

    @property
    def left(self) -> int | None:
        """The calls that are left; None is no limit."""
        return self._counter.left

    def __enter__(self) -> Self:
        if self._open:
            raise RuntimeError("This grant's block is open already; make another grant for another block.")
        self._open = True
        for rule in self.rules:
            self._grants.add(rule, self._counter)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        self._grants.remove(self.rules, same=True)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def _block_rule(rule: PermissionRule | str) -> PermissionRule:
    if isinstance(rule, str):
        return PermissionRule.parse(rule, PermissionBehavior.ALLOW, BLOCK)
    if rule.behavior is not PermissionBehavior.ALLOW:
        raise ValueError(f"A grant allows; {str(rule)!r} is a rule to {rule.behavior}.")
    return rule.model_copy(update={"source": BLOCK})
