"""What a model and a person are told of an exception in a tool: its type, its message and the user's own lines."""

from __future__ import annotations

import functools
import os
import re
import sysconfig
import traceback
from pathlib import Path

__all__ = ["own_lines"]

_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n    (.+)$', re.MULTILINE)
_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def own_lines(error: BaseException) -> str:
    """Type, message and the lines of the traceback that lie in the user's own code."""
    if type(error) is RuntimeError and isinstance(error.__cause__, StopIteration | StopAsyncIteration):
        # Python puts another in the place of one that leaves a coroutine: what happened is that ``next`` found nothing.
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_foreign(frame.filename)]
    lines = [f"  line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames if frame.line]
    lines += _elsewhere(error)
    if isinstance(error, BaseExceptionGroup):
        # A group says how many there are, and what they are is what counts.
        for each in error.exceptions:
            lines += [f"  {line}" for line in own_lines(each).split("\n")]
    head = "".join(traceback.format_exception_only(error)).strip()
    return "\n".join([head, *lines])


def _elsewhere(error: BaseException) -> list[str]:
    """The same lines of another process, whose traceback comes as the text of the error's cause."""
    if not isinstance(told := getattr(error.__cause__, "tb", None), str):
        return []
    return [
        f"  line {number}, in {name}: {line}"
        for file, number, name, line in _FRAME.findall(told)
        if not _is_foreign(file)
    ]


def _is_foreign(filename: str) -> bool:
    return filename.startswith((_PACKAGE, *_libraries(), "<frozen"))


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return paths["stdlib"], paths["purelib"], paths["platlib"]
