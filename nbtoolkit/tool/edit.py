"""Edit: one text in a file for another, exactly."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultState
from nbtoolkit.tool import diffs, disk, files
from nbtoolkit.tool.cells import Cells
from nbtoolkit.tool.disk import FileChange, FileFault
from nbtoolkit.tool.files import FileTool
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.texts import as_written, check_whole, decode, visible

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from nbtoolkit.state import AgentState

__all__ = ["Edit"]


_EDIT_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "file_path": {
            "type": "string",
            "minLength": 1,
            "description": "The file, absolute or from the notebook's folder.",
        },
        "old_string": {"type": "string", "minLength": 1, "description": "The text to replace."},
        "new_string": {"type": "string", "description": "What to put in its place."},
        "replace_all": {"type": "boolean", "default": False, "description": "Replace every occurrence."},
    },
    "required": ["file_path", "old_string", "new_string"],
    "additionalProperties": False,
}


class Edit(FileTool):
    """Replaces a text in a file that was read before."""

    name = "Edit"
    description = (
        "Replace old_string by new_string in a file that was read first. old_string must be in the file exactly once, with its "
        "indentation and without line numbers, unless replace_all is true. In a notebook it is a part of a cell's text."
    )
    input_schema = _EDIT_INPUT
    access = "write"
    is_concurrency_safe = False

    def change(self, tool_input: dict[str, Any], state: AgentState | None = None) -> FileChange:
        """What a call would do, without doing it: for an approval card, before the answer and as often as it likes.

        It writes nothing and uses nothing up. ``diff`` of what it gives is bounded text, as ``diff -u`` shows it, from a
        file and a model: to be escaped. Where the call would fail it raises a FileFault, whose text says why. Without a
        ``state`` it isn't asked whether the file was read before.
        """
        return self._change(
            self.located(tool_input["file_path"], look=True),
            tool_input["file_path"],
            tool_input["old_string"],
            tool_input["new_string"],
            state,
            replace_all=tool_input.get("replace_all", False),
        )[0]

    def _change(
        self, path: str, given: str, old: str, new: str, state: AgentState | None, *, replace_all: bool
    ) -> tuple[FileChange, int]:
        if old == new:
            raise FileFault("old_string and new_string are the same, so there is nothing to change.")
        before = disk.read_whole(path, files.LARGEST_EDITABLE, "edited", given)
        disk.check_read(state, path, before)
        try:
            text = decode(before)
        except FileFault as fault:
            raise FileFault(f"{path!r} can't be edited: {fault}") from None
        if text.newline == "\r\n":
            old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        notebook = Cells.of(text.text) if path.endswith(".ipynb") else None
        # What the cells say comes first; what isn't there may be meant as the file has it.
        in_cells = 0 if notebook is None else notebook.count(old)
        count = in_cells or text.text.count(old)
        if not count:
            like = visible(text.text) if notebook is None else notebook.text()
            raise FileFault(f"old_string is not in {path!r}.{_nearest(old, like)}")
        if count > 1 and not replace_all:
            raise FileFault(
                f"old_string is in {path!r} {count} times. Give more of the text around the one that is meant, or set replace_all."
            )
        if len(text.text) + count * (len(new) - len(old)) > files.LARGEST_EDITABLE:
            raise FileFault(
                f"{path!r} would become larger than {files.LARGEST_EDITABLE // 2**20} MB: {count:,} places get "
                f"{len(new):,} characters each. Give a shorter new_string, or use a program."
            )
        after = notebook.replaced(old, new) if notebook and in_cells else text.text.replace(old, new)
        if notebook and Cells.of(after) is None:
            raise FileFault(f"{path!r} would be no notebook any more. Give a cell's text as Read shows it, or JSON.")
        diff = diffs.unified(visible(text.text), visible(after), os.path.basename(path))  # noqa: PTH119
        return FileChange(path, before, text.encoded(after), *diff), count

    def call(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        _agent_state: AgentState | None = None,
    ) -> Coroutine[Any, Any, ToolChunk]:
        """Edit the file."""
        return self._run(file_path, old_string, new_string, _agent_state, as_written(), replace_all=replace_all)

    async def _run(
        self, file_path: str, old: str, new: str, state: AgentState | None, written: str, *, replace_all: bool
    ) -> ToolChunk:
        try:
            path = self.located(file_path)
            own = files.notebook_fault(file_path)
            if own is not None:
                raise FileFault(own)
            check_whole(new, written)
            change, count = self._change(path, file_path, old, new, state, replace_all=replace_all)
            names = disk.other_names(path)
            disk.replace_file(path, change.after, expected=change.before)
            disk.remember(state, path, disk.written(path, change.after))
        except FileFault as fault:
            return files.failed(fault)
        added, removed = diffs.counted(change.diff)
        where = "" if count == 1 else f" in {count} places"
        changes = f"{added} line{'' if added == 1 else 's'} added, {removed} removed"
        if change.left_out:
            changes = f"more than {added + removed:,} lines changed"
        text = f"Edited {file_path}{where}: {changes}.{names}"
        chunk = ToolChunk.of(text, ToolResultState.SUCCESS)
        chunk.metadata["diff"] = change.diff
        return chunk.with_value(change)


def _nearest(old: str, text: str) -> str:
    """A hint at what the model may have meant; looked for by the first line only, so that it stays cheap."""
    first = old.strip().splitlines()[0].strip() if old.strip() else ""
    if not first:
        return " It is nothing but blanks."
    lines = text.splitlines()
    if len(lines) > 5_000:
        return ""
    stripped = [line.strip() for line in lines]
    if first in stripped:
        at = stripped.index(first)
        return f" Line {at + 1} begins like it, but blanks or the lines behind it differ: {lines[at][:200]!r}."
    close = difflib.get_close_matches(first, stripped, n=1, cutoff=0.75)
    return f" The nearest line is {stripped.index(close[0]) + 1}: {close[0][:200]!r}." if close else ""
