"""Clean-up that a second press of Stop doesn't leave half done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["finish"]

T = TypeVar("T")

# A person presses twice or thrice; something that is stopped each time, as by a held key, must still end.
TRIES = 5


def finish(act: Callable[[], T]) -> T:
    """Do ``act``, and again from its start where a stop strikes it; the stop is raised once it is done.

    ``act`` must bear to be begun again.
    """
    __tracebackhide__ = True
    stop: KeyboardInterrupt | None = None
    for _ in range(TRIES):
        try:
            done = act()
        except KeyboardInterrupt as struck:
            stop = struck
            continue
        if stop is None:
            return done
        break
    raise stop or KeyboardInterrupt
