"""Where pydantic takes more than the schema says, even when strict: ``true`` for 1, and numbers for points in time.

A model that sends 5 for a date means no second of 1970, and a rule on ``level=1`` must not be passed by ``true``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbtoolkit.schema.fault import Path, Problem, choices_of, nodes_at, nodes_below, types_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["inexact", "is_loose", "loose_nodes", "with_own_reading"]

_TIMES = frozenset({"date-time", "date", "time"})
_DIGITS = re.compile(r"\s*[+-]?\d[\d_]*\.?\d*\s*\Z")
_OWN = frozenset({"function-before", "function-wrap", "function-plain"})
_ASIDE = frozenset({"serialization", "metadata"})
_NAMED = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})


def is_loose(schema: Any) -> bool:
    """Whether pydantic may take more than this schema says."""
    if isinstance(schema, dict):
        if schema.get("format") in _TIMES or any(not isinstance(choice, str) for choice in choices_of([schema])):
            return True
        # Below these words stand names that people chose, such as format and type.
        named = (
            value.values() if word in _NAMED and isinstance(value, dict) else (value,) for word, value in schema.items()
        )
        return any(is_loose(value) for values in named for value in values)
    return isinstance(schema, list) and any(is_loose(item) for item in schema)


def with_own_reading(core: Any) -> bool:
    """Whether a validator that the person wrote reads what was sent: it may take numbers for points in time."""
    if isinstance(core, dict):
        # A field may be called type, too.
        own = isinstance(kind := core.get("type"), str) and kind in _OWN
        return own or any(with_own_reading(v) for k, v in core.items() if k not in _ASIDE)
    return isinstance(core, (list, tuple)) and any(with_own_reading(item) for item in core)


def loose_nodes(root: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The schemas that rule each argument which is declared; none for one that pydantic takes by its schema alone."""
    shared = is_loose(root.get("$defs"))
    declared = root.get("properties", {})
    return {
        key: nodes_at(root, (key,)) if is_loose(node) or (shared and "$ref" in str(node)) else []
        for key, node in declared.items()
    }


def inexact(
    root: dict[str, Any],
    data: dict[str, Any],
    known: Mapping[str, list[dict[str, Any]]],
    free: Collection[str],
) -> list[Problem]:
    """What in ``data`` isn't what the schema says; numbers for points in time are fine in the arguments ``free``.

    ``known`` is what `loose_nodes` gives for the schema.
    """
    problems: list[Problem] = []
    for key, item in data.items():
        above = known.get(key)
        above = nodes_at(root, (key,)) if above is None else above
        if not above or (isinstance(item, str) and not _DIGITS.match(item)):
            continue
        for path, value, nodes in _leaves(root, item, above, (key,)):
            timely = key not in free and (not isinstance(value, str) or _DIGITS.match(value) is not None)
            if isinstance(value, str) and not timely:
                continue
            if any(not isinstance(choice, str) for choice in choices_of(nodes)) and _only_equals(value, nodes):
                problems.append(Problem(path, "wrong", value))
            elif timely and not isinstance(value, bool) and _is_no_time(value, nodes):
                reason = "a number isn't read as a point in time; write it as ISO 8601"
                problems.append(Problem(path, "wrong", value, reason))
    return problems


def _only_equals(value: Any, nodes: list[dict[str, Any]]) -> bool:
    """Whether a value is none of the choices but equals one, as True equals 1."""
    choices = choices_of(nodes)
    free = types_of([node for node in nodes if "enum" not in node and "const" not in node])
    wanted = {"boolean"} if isinstance(value, bool) else {"integer", "number"} if not isinstance(value, str) else set()
    return (
        not free & wanted
        and any(choice == value for choice in choices)
        and not any(choice == value and isinstance(choice, bool) == isinstance(value, bool) for choice in choices)
    )


def _is_no_time(value: Any, nodes: list[dict[str, Any]]) -> bool:
    if not any(node.get("format") in _TIMES for node in nodes):
        return False
    others = [node for node in nodes if node.get("format") not in _TIMES]
    fitting = {"string"} if isinstance(value, str) else {"integer", "number"}
    return not types_of(others) & fitting


def _leaves(
    root: dict[str, Any], data: Any, nodes: list[dict[str, Any]], path: Path
) -> Iterator[tuple[Path, Any, list[dict[str, Any]]]]:
    """Every value that holds no other, with its path and the schemas that rule it."""
    if not nodes:
        return
    if isinstance(data, dict):
        for key, item in data.items():
            yield from _leaves(root, item, nodes_below(root, nodes, key), (*path, key))
    elif isinstance(data, list):
        # Long lists are of one kind.
        same = None if any("prefixItems" in node for node in nodes) else nodes_below(root, nodes, 0)
        for number, item in enumerate(data):
            below = nodes_below(root, nodes, number) if same is None else same
            yield from _leaves(root, item, below, (*path, number))
    elif isinstance(data, (bool, int, float, str)):
        yield path, data, nodes
