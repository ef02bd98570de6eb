"""What is asked of the options that a tool is made with: a wrong one is said when it is given, not when it is needed."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.exception import DeveloperOrientedException

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_count", "check_flags", "check_text", "listed"]

T = TypeVar("T")


def check_count(what: str, value: Any, least: int = 1) -> None:
    """A whole number of at least so many, or DeveloperOrientedException."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise DeveloperOrientedException(
            f"{what} must be a whole number, {least} or more, but is {reprlib.repr(value)}."
        )


def check_flags(whose: str, **flags: Any) -> None:
    """True or False each, or DeveloperOrientedException: a text such as "no" would count as yes."""
    for name, value in flags.items():
        if value is not True and value is not False:
            raise DeveloperOrientedException(f"{name} of {whose} must be True or False, but is {reprlib.repr(value)}.")


def check_text(what: str, value: Any) -> None:
    """A text, or TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text, but is {reprlib.repr(value)}")


def listed(what: str, given: Iterable[T] | None) -> list[T]:
    """What was given, as a list; TypeError for one thing that isn't in a list."""
    if isinstance(given, str | bytes | dict) or not (given is None or hasattr(given, "__iter__")):
        raise TypeError(f"{what} must be a list, but is {reprlib.repr(given)}; put it into one")
    return list(given or ())
