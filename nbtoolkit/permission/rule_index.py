"""The rules of one list by the program that each may name, so that a thousand of them cost a command no more than ten."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.rule import PermissionRule

__all__ = ["Indexes", "RuleIndex"]

# Lists of rules that an engine sees: one for each behaviour, tool and layer. More are other conversations' old ones.
MOST = 64


class RuleIndex:
    """One list's rules by their programs; a rule whose program can't be told counts for every key."""

    __slots__ = ("_always", "_by_key", "rules")

    def __init__(self, rules: Sequence[PermissionRule]) -> None:
        # With it comes all that is known of shells, which most programs never need.
        from nbtoolkit.permission.command_subject import program_of

        self.rules = list(rules)
        self._by_key: dict[str, list[int]] = {}
        self._always: list[int] = []
        for at, rule in enumerate(self.rules):
            key = None if rule.rule_content is None else program_of(rule.rule_content)
            (self._always if key is None else self._by_key.setdefault(key, [])).append(at)

    def select(self, keys: frozenset[str]) -> Sequence[PermissionRule]:
        """The rules that may name a subject with these keys, in their order."""
        by_key = self._by_key
        found = self._always
        for key in keys if len(keys) < len(by_key) else [key for key in by_key if key in keys]:
            if key in by_key:
                found = [*found, *by_key[key]]
        return [self.rules[at] for at in sorted(found)]


class Indexes:
    """The indexes of the lists that an engine judges by, made again when a list has changed."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, RuleIndex] = {}

    def of(self, rules: Sequence[PermissionRule]) -> RuleIndex:
        """The index of this list as it is now; lists are compared by the objects in them, which are never changed."""
        index = self._kept.get(id(rules))
        if index is None or index.rules != rules:
            if len(self._kept) >= MOST:
                self._kept.clear()
            index = self._kept[id(rules)] = RuleIndex(rules)
        return index
