"""Loads what the first card needs while nobody waits for it.

Importing the widgets takes half a second, which a person would spend looking at an empty cell. It happens in the
background once the extension is loaded, and only where a front end may show widgets: a job that runs notebooks, a terminal
and a plain import load none of it.
"""

from __future__ import annotations

import importlib
import logging
import threading

from nbtoolkit.notebook import scheduling

__all__ = ["warm"]

logger = logging.getLogger("nbtoolkit")

MODULES = (
    "nbtoolkit.notebook.widgets.card",
    "nbtoolkit.notebook.widgets.tray",
    "pygments.lexers.shell",
    "pygments.formatters.html",
    "nbtoolkit.permission.explain",
    "nbtoolkit.schema.validator",
    "nbtoolkit.schema.build",
)


def warm() -> threading.Thread | None:
    """Begin to load; gives the thread that does it, None where there is nothing to load for."""
    if scheduling.presence().means is not scheduling.Means.WIDGETS:
        return None
    # A daemon: a kernel that is shut down meanwhile waits for nobody.
    thread = threading.Thread(target=_warm, name="nbtoolkit-warm", daemon=True)
    thread.start()
    return thread


def _warm() -> None:
    _load()
    try:
        import ipywidgets

        # The page loads its half of the widgets at the first model that it hears of.
        probe = ipywidgets.HTML()
        for model in (probe, probe.layout, probe.style):
            model.close()
    except Exception:
        logger.debug("could not have the page load its widgets in advance", exc_info=True)


def _load() -> None:
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception:
            logger.debug("could not load %s in advance", name, exc_info=True)
