"""Edits in the text of a notebook's cells, as Read shows it, where the file has JSON's escapes instead.

What lies around the change stays as it was written, and no edit leaves a file that is no notebook any more.
"""

from __future__ import annotations

import json
import re
from typing import Any

from nbtoolkit.tool.faults import FileFault

__all__ = ["Cells"]

_INDENT = re.compile(r"\A\{\n([ \t]+)\"")


class Cells:
    """A notebook's cells, in its text."""

    def __init__(self, text: str, notebook: dict[str, Any]) -> None:
        self._text = text
        self._notebook = notebook

    @classmethod
    def of(cls, text: str) -> Cells | None:
        """The cells; None for a text that is no notebook's."""
        try:
            notebook = json.loads(text)
        except (ValueError, RecursionError):
            return None
        cells = notebook.get("cells") if isinstance(notebook, dict) else None
        fine = isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)
        return cls(text, notebook) if fine else None

    def text(self) -> str:
        """What all cells say."""
        return "\n".join(map(_source, self._notebook["cells"]))

    def count(self, old: str) -> int:
        """How often a text is in the cells."""
        return sum(_source(cell).count(old) for cell in self._notebook["cells"])

    def replaced(self, old: str, new: str) -> str:
        """The notebook's text with another one in the cells; a FileFault where it is written in a way that this would lose."""
        found = _INDENT.match(self._text)
        indent, whole = found[1] if found else None, self._text.rstrip()
        for ascii_only in (False, True):
            if json.dumps(self._notebook, indent=indent, ensure_ascii=ascii_only) == whole:
                break
        else:
            raise FileFault(
                "the notebook isn't written as Jupyter writes one, so an edit of a cell would change all of it. "
                "Have it saved once with Jupyter, or change it with a program."
            )
        for cell in self._notebook["cells"]:
            source = _source(cell)
            if old in source:
                after = source.replace(old, new)
                cell["source"] = after if isinstance(cell["source"], str) else after.splitlines(keepends=True)
        end = self._text[len(whole) :]
        return json.dumps(self._notebook, indent=indent, ensure_ascii=ascii_only) + end


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""
