"""Why a call was not simply allowed, in one sentence for the person and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode
from nbtoolkit.permission.subject import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtoolkit.permission.subject import SubjectVerdict

__all__ = ["listed", "message", "short"]

# How much of a subject's text, and how many of them, a sentence repeats; the card shows all.
SHORT = 120
FEW = 4


def short(text: str) -> str:
    """As much of a text as a message repeats."""
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def listed(texts: Iterable[str]) -> str:
    """``a, b and c``; past a few, how many more there are."""
    all_texts = list(dict.fromkeys(texts))
    shown = [short(text) for text in all_texts[:FEW]]
    if len(all_texts) > FEW:
        return f"{', '.join(shown)} and {len(all_texts) - FEW} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def message(
    tool_name: str, mode: PermissionMode, worst: SubjectVerdict, verdicts: Sequence[SubjectVerdict], *, plain: bool
) -> str:
    """What decided, and about which parts of the call."""
    alike = [each for each in verdicts if each.behavior is worst.behavior and each.step is worst.step]
    parts = tool_name if plain else listed(each.subject.text for each in alike)
    denies = worst.behavior is PermissionBehavior.DENY
    if worst.step is Step.SAFETY:
        reasons = listed(each.reason for each in alike)
        asks = f"mode {mode} denies it" if denies else "no rule can silence this"
        return f"{parts}: {reasons}; {asks}."
    if worst.step is Step.ASK_RULES:
        reasons = listed(each.reason for each in alike)
        return f"{parts} {f'is denied in mode {mode}' if denies else 'asks'}: {reasons}."
    whys = listed(each.subject.why for each in alike if each.subject.why)
    because = f" ({whys})" if whys else ""
    if mode is PermissionMode.EXPLORE:
        return f"Mode explore only reads, and {parts} is not provably read-only{because}."
    return f"No rule allows {parts}{because}, and mode {mode} {'denies' if denies else 'asks'}."
