"""The notebook: magics, approvals under the cell, records, and the kernel's own toolkit.

The only package that imports IPython, ipykernel and ipywidgets. ``%load_ext nbtoolkit`` comes in here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_loaded: Any = None


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give this shell the ``%toolkit`` magic, its toolkit and its approvals; ``%load_ext nbtoolkit`` calls it."""
    from nbtoolkit.notebook.extension import Extension

    global _loaded
    if _loaded is None:
        _loaded = Extension(shell)
        _loaded.load()


def unload_ipython_extension(shell: InteractiveShell) -> None:  # noqa: ARG001 - IPython passes it
    """Take back what loading gave; the toolkit, its log and its rules stay."""
    global _loaded
    if _loaded is not None:
        _loaded.unload()
        _loaded = None
