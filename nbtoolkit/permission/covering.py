"""Whether a rule names everything that another one names: of rules about paths and about arguments.

Only what is sure counts: a folder with all below it, endings, names that stand there, ranges of numbers and dates.
"""

from __future__ import annotations

import re

from nbtoolkit.permission import pattern
from nbtoolkit.permission.conditions import Condition, moment, number, parse_content

__all__ = ["conditions_cover", "path_covers"]

_MAGIC = re.compile(r"[*?\[{\\]")
_ENDING = re.compile(r"\*([^*?\[{\\/]+)\Z")
_BEGINNING = re.compile(r"([^*?\[{\\/]+)\*\Z")


def path_covers(general: str, special: str, base: str, *, wide: bool, special_wide: bool) -> bool:
    """Whether a path pattern names all that another one names; each ``wide`` says that it is to deny or ask."""
    first, second = general.strip(), special.strip()
    if any(pattern.path_pattern(each, base, wide=True).fault for each in (first, second)):
        return False
    at_large = special_wide and not pattern.is_anchored(second)
    if not _MAGIC.search(second) and not at_large and (pattern.is_anchored(second) or "/" in second):
        # A special rule to deny means all that lies below as well, and so does a general one.
        found = pattern.resolve(second, base)
        one = pattern.path_pattern(first, base, wide=wide)
        return found is not None and one.matches(found[0]) and (wide or not special_wide)
    if first in ("**", "*") or (wide and first == "/**"):
        return wide or not (special_wide or second.startswith(("/", "~", "..")) or "/.." in second)
    head = first.removesuffix("/**")
    if head != first and not _MAGIC.search(head) and head:
        return _below(head, second, base, wide=wide, at_large=at_large)
    if "/" in first or "{" in second or second.endswith("/"):
        return False
    if not wide and (special_wide or second.startswith(("/", "~", ".."))):
        return False
    return _named(first, second.rpartition("/")[2], wide=wide)


def _below(head: str, second: str, base: str, *, wide: bool, at_large: bool) -> bool:
    """Whether all that a pattern names lies in a folder."""
    fixed = _MAGIC.split(second)[0]
    fixed = second if fixed == second else fixed.rpartition("/")[0]
    if ".." in second[len(fixed) :]:
        return False
    if not pattern.is_anchored(head) and (wide or at_large):
        # A folder of that name, at any depth.
        return wide and f"/{fixed.strip('/')}/".find(f"/{head.strip('/')}/") >= 0 and ".." not in fixed
    if at_large or "/" not in second or not (fixed or pattern.is_anchored(second)):
        return False
    root, place = pattern.absolute(head, base), pattern.absolute(fixed or ".", base)
    return f"{place}/".startswith(f"{root.rstrip('/')}/")


def _named(first: str, last: str, *, wide: bool) -> bool:
    """Whether the last part of every path that a pattern names is one of these names."""
    fold = str.casefold if wide else str
    if not _MAGIC.search(first):
        return fold(first) == fold(last)
    if last.strip("*") == "" or "\\" in last:
        return False
    ending, beginning = _ENDING.match(first), _BEGINNING.match(first)
    if ending is not None:
        return fold(_MAGIC_END.split(last)[-1]).endswith(fold(ending.group(1)))
    if beginning is not None:
        return fold(_MAGIC.split(last)[0]).startswith(fold(beginning.group(1)))
    return False


_MAGIC_END = re.compile(r"[*?\]}]")


def conditions_cover(general: str, special: str, base: str, *, wide: bool, special_wide: bool) -> bool:
    """Whether every call that one content's conditions name is one that another's name."""
    first, second = parse_content(general), parse_content(special)
    if first.fault is not None or second.fault is not None:
        return False
    return all(
        any(_covers(one, other, base, wide=wide, special_wide=special_wide) for other in second.conditions)
        for one in first.conditions
    )


def _covers(one: Condition, other: Condition, base: str, *, wide: bool, special_wide: bool) -> bool:
    if one == other and (wide or not special_wide):
        return True
    if one.path != other.path:
        return False
    if one.op in ("<", "<=", ">", ">="):
        return _within(one, other)
    if one.op != "=" or other.op != "=" or one.kind != "bare" or other.kind == "json":
        return False
    if pattern.is_path_pattern(one.value) and "://" not in one.value:
        if other.kind == "bare" and not pattern.is_path_pattern(other.value):
            return False
        return other.kind == "bare" and path_covers(
            one.value,
            other.value,
            pattern.real_folder(base),
            wide=wide,
            special_wide=special_wide,
        )
    if other.kind == "bare" and (_MAGIC.search(other.value) or pattern.is_path_pattern(other.value)):
        return False
    if "://" in one.value:
        return False
    return pattern.text_pattern(one.value, wide=wide).fullmatch(pattern.normal(other.value)) is not None


def _within(one: Condition, other: Condition) -> bool:
    """Whether a value or a range lies in another range."""
    for read in (number, moment):
        limit, value = read(one.value), read(other.value)
        if limit is None or value is None:
            continue
        try:
            below, same = value < limit, value == limit  # type: ignore[operator]
        except TypeError:
            return False
        if other.op == "=":
            return (
                below or (same and one.op == "<=")
                if one.op[0] == "<"
                else (not below and not same) or (same and one.op == ">=")
            )
        if other.op == "!=" or one.op[0] != other.op[0]:
            return False
        strictly = len(one.op) == 1 and len(other.op) == 2
        return (below if one.op[0] == "<" else not below and not same) or (same and not strictly)
    return False
