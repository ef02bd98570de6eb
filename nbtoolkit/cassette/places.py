"""This machine's folders in texts: left as marks in a cassette, put in again where it is played.

So a cassette says nothing of whose it is, and what was recorded in one folder is found again in another.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["HERE", "HOME", "Places"]

HERE = "⟨here⟩"
HOME = "⟨home⟩"


class Places:
    """The working directory and the home folder, as they were when this was made."""

    def __init__(self) -> None:
        self._put: list[tuple[str, str]] = []
        self._leave: list[tuple[re.Pattern[str], str]] = []
        here = str(Path.cwd())
        try:
            home = str(Path.home())
        except RuntimeError:
            home = ""
        # The longer one first: a working directory mostly lies below the home folder.
        for folder, mark in sorted(((here, HERE), (home, HOME)), key=lambda pair: len(pair[0]), reverse=True):
            if len(Path(folder).parts) > 1:
                found = rf"(?:(?<![\w.~/\\-])|(?<=file://)){re.escape(folder)}(?![\w.-])"
                self._leave.append((re.compile(found), mark))
            if folder:
                self._put.append((mark, folder))

    def leave(self, text: str) -> str:
        """The text with marks for the folders."""
        for found, mark in self._leave:
            text = found.sub(mark, text)
        return text

    def put(self, text: str) -> str:
        """The text with the folders for the marks."""
        if "⟨" in text:
            for mark, folder in self._put:
                text = text.replace(mark, folder)
        return text

    def leave_all(self, value: Any) -> Any:
        """``leave`` for all texts of a JSON value."""
        return _each(value, self.leave)

    def put_all(self, value: Any) -> Any:
        """``put`` for all texts of a JSON value."""
        return _each(value, self.put)


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _each(each, change) for key, each in value.items()}
    return value
