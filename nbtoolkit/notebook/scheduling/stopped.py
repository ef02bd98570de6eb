"""A stop's traceback: the lines of the person's own code, and none of what lay between them and the tool.

A person who pressed Stop knows why the cell ended. IPython asks an exception for its traceback; what is raised stays
what it is.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["shorten"]

_PATHS = sysconfig.get_paths()
# This package, IPython and the kernel among the installed ones, and Python's own.
_FOREIGN = (
    str(Path(__file__).parents[2]),
    *(_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
)


def shorten(error: BaseException) -> None:
    """Have IPython show the person's own lines of this stop; anywhere else nothing changes."""
    error._render_traceback_ = lambda: _lines(error)  # type: ignore[attr-defined]


def _lines(error: BaseException) -> list[str]:
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    own = _own(error.__traceback__)
    if shell is None or own is None:
        return [f"{type(error).__name__}: {error}"]
    # What it was raised from is the same stop, on its way through the loop.
    bare = type(error)(*error.args)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(bare), bare, own, tb_offset=0)
    return lines


def _own(traceback: TracebackType | None) -> TracebackType | None:
    """The same chain without the frames of others."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_FOREIGN):
            kept.append(traceback)
        traceback = traceback.tb_next
    chain: TracebackType | None = None
    for each in reversed(kept):
        chain = TracebackType(chain, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return chain
