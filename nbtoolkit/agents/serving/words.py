"""What the server says of itself to clients, wherever it stands."""

from __future__ import annotations

__all__ = ["INSTRUCTIONS", "NAME", "TITLE"]

NAME = "notebook"
TITLE = "Notebook tools"
INSTRUCTIONS = (
    "The tools of a person's running notebook. A call runs in its kernel, one after another, and may wait until the "
    "kernel is free. Some calls ask the person first; a denial is that person's word, and its reason is in the result."
)
