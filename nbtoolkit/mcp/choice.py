"""Which of a server's tools are shown: by ``enable_tools`` and ``disable_tools``, the server's names or ours."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["is_shown", "list_faults", "unknown_names"]

# A message names so many of a server's tools where none is like what was asked for.
NAMED = 8
# And tells of so many that are amiss.
SHOWN = 5


def is_shown(name: str, ours: str, enabled: Sequence[str] | None, disabled: Sequence[str] | None) -> bool:
    """Whether a tool is shown that the server calls ``name`` and that is called ``ours`` here."""
    if enabled is not None and name not in enabled and ours not in enabled:
        return False
    return disabled is None or (name not in disabled and ours not in disabled)


def unknown_names(server: str, names: Mapping[str, str], *choices: Iterable[str] | None) -> str:
    """What is wrong with names that no tool of the server has, with the nearest; nothing where each has one.

    ``names`` are ours by the server's own.
    """
    known = {*names, *names.values()}
    unknown = list(dict.fromkeys(name for choice in choices for name in choice or () if name not in known))
    if not unknown:
        return ""
    faults = "; ".join(f"no tool {name!r}{_nearest(name, names)}" for name in unknown)
    return f"The MCP server {server!r} has {faults}."


def _nearest(name: str, names: Mapping[str, str]) -> str:
    folded = {each.casefold(): own for own, ours in names.items() for each in (own, ours)}
    near = difflib.get_close_matches(name.casefold(), folded, n=2, cutoff=0.55)
    if near:
        return f", did you mean {' or '.join(dict.fromkeys(repr(folded[each]) for each in near))}?"
    listed = ", ".join(map(repr, list(names)[:NAMED])) or "none"
    return f", there is {listed}{', …' if len(names) > NAMED else ''}"


def list_faults(server: str, amiss: Sequence[str], unknown: str) -> str:
    """What to warn of where a list of tools is told: what is wrong with it, and with what was chosen of it."""
    parts = []
    if amiss:
        more = f"; and {len(amiss) - SHOWN} more, see its log" if len(amiss) > SHOWN else ""
        parts.append(f"The MCP server {server!r} lists tools amiss: {'; '.join(amiss[:SHOWN])}{more}.")
    if unknown:
        parts.append(f"{unknown} See enable_tools and disable_tools.")
    return " ".join(parts)
