"""What a class of tools does its own way, looked up once for each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtoolkit.permission.subject import Subject

__all__ = ["Traits", "traits_of"]


@dataclass(frozen=True, slots=True)
class Traits:
    """``subjects`` is the class's own way to take a call apart; the flags tell of methods that it overrides.

    ``rule_fault(tool, rule) -> str | None``, where a class with subjects has it, says why a rule's content can never
    match.
    """

    subjects: Callable[..., Sequence[Subject]] | None
    own_read_only: bool
    own_match: bool
    own_suggestions: bool
    rule_fault: Callable[..., str | None] | None = None
    # A call is one subject, and whether it reads is what the tool says of all its calls.
    plain: bool = False


# Classes made anew by every run of a cell must not pile up.
@lru_cache(maxsize=512)
def traits_of(kind: type[Any]) -> Traits:
    """The traits of a class of tools."""
    from nbtoolkit.tool.base import ToolBase

    def own(name: str) -> bool:
        return getattr(kind, name) is not getattr(ToolBase, name)

    subjects, own_read_only = getattr(kind, "subjects", None), own("check_read_only")
    return Traits(
        subjects,
        own_read_only,
        own("match_rule"),
        own("generate_suggestions"),
        getattr(kind, "rule_fault", None),
        plain=subjects is None and not own_read_only,
    )
