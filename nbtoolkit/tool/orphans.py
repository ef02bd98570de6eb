"""A pool's workers end with the process that made them, also where that is killed.

They hold each other's pipes open, so none of them would ever see that whoever made them is gone.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["guarded"]


@contextlib.contextmanager
def guarded(pool: bool) -> Iterator[None]:
    """Have the processes that multiprocessing starts meanwhile ended with this one, where it is for a pool of them."""
    if not pool:
        yield
        return
    import multiprocessing

    before = {each.pid for each in multiprocessing.active_children()}
    try:
        yield
    finally:
        made = {each.pid for each in multiprocessing.active_children()} - before
        if made:
            from nbtoolkit.mcp import guardian
            from nbtoolkit.mcp.process import ensure_guardian, tell_guardian

            ensure_guardian()
            for pid in made:
                since = None if pid is None else guardian.started(pid)
                if since is not None:
                    tell_guardian(f"={pid} {since}")
