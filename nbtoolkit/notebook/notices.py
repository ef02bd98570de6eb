"""nbtoolkit's own warnings as lines of the notebook: their text alone.

Python prints a warning with the path of the cell's file, which holds the process's number, so that a saved notebook would
differ from its next run.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TextIO

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.notebook import tables

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["show_warnings_as_lines"]


def show_warnings_as_lines() -> Callable[[], None]:
    """From now on; gives the function that takes it back. Other warnings are shown as before."""
    before = warnings.showwarning

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is None and issubclass(category, ToolkitWarning):
            show_line(str(message))
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = showwarning

    def undo() -> None:
        if warnings.showwarning is showwarning:
            warnings.showwarning = before

    return undo


def show_line(text: str) -> None:
    """Show one line under the running cell."""
    from IPython.display import display

    bundle: dict[str, Any] = tables.message(text)
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
