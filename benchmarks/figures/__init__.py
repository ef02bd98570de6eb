"""The figures, one module each.

A figure has ``CASES`` (case → what it measures), ``TARGETS``, ``UNIT`` and ``prepare(subject, case, run)``, which checks
that the subject does it right and gives a function: the seconds of one unit, measured over one round.
"""

from __future__ import annotations

FIGURES = (
    "making",
    "listing",
    "calling",
    "together",
    "streaming",
    "servers",
    "searching",
    "commanding",
    "judging",
    "reading",
    "importing",
    "growing",
)


class CantError(Exception):
    """The subject has no way to do this."""
