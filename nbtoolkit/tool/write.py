"""Write: a whole file in one step."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import ToolResultState
from nbtoolkit.tool import diffs, disk, files
from nbtoolkit.tool.disk import FileChange
from nbtoolkit.tool.faults import FileFault, shown
from nbtoolkit.tool.files import FileTool
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.texts import HALF, Text, as_written, check_whole, decode, visible

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from nbtoolkit.state import AgentState

__all__ = ["Write"]


_WRITE_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "file_path": {
            "type": "string",
            "minLength": 1,
            "description": "The file, absolute or from the notebook's folder.",
        },
        "content": {"type": "string", "description": "The whole new content."},
    },
    "required": ["file_path", "content"],
    "additionalProperties": False,
}


class Write(FileTool):
    """Creates a file, or replaces one that was read before."""

    name = "Write"
    description = (
        "Write a file, creating its folders. An existing file must have been read first, and is replaced as a whole; "
        "use Edit to change a part of one."
    )
    input_schema = _WRITE_INPUT
    access = "write"
    is_concurrency_safe = False

    def change(self, tool_input: dict[str, Any], state: AgentState | None = None) -> FileChange:
        """What a call would do, without doing it: for an approval card, before the answer and as often as it likes.

        It writes nothing and uses nothing up. ``diff`` of what it gives is bounded text, as ``diff -u`` shows it, from a
        file and a model: to be escaped. Where the call would fail it raises a FileFault, whose text says why. Without a
        ``state`` it isn't asked whether the file was read before.
        """
        path = self.located(tool_input["file_path"], look=True)
        return self._change(path, tool_input["file_path"], tool_input["content"], state)

    def _change(self, path: str, given: str, content: str, state: AgentState | None) -> FileChange:
        name = os.path.basename(path)  # noqa: PTH119
        if os.path.isdir(path):  # noqa: PTH112
            raise FileFault(f"{shown(path)} is a folder, so it can't be written as a file. Give the path of a file.")
        if given.endswith(("/", os.sep)):
            raise FileFault(f"{shown(given)} names a folder. Give the path of a file; its folders are made with it.")
        if not os.path.lexists(path):
            return FileChange(path, None, _encode(content), *diffs.unified("", content, name))
        before = disk.read_whole(path, files.LARGEST_EDITABLE, "replaced")
        disk.check_read(state, path, before)
        try:
            old = decode(before)
        except FileFault:
            old = Text("", "utf-8", b"", "\n")
        after = old.encoded(content) if old.text else _encode(content)
        return FileChange(path, before, after, *diffs.unified(visible(old.text), content, name))

    def call(
        self, file_path: str, content: str, _agent_state: AgentState | None = None
    ) -> Coroutine[Any, Any, ToolChunk]:
        """Write the file."""
        return self._run(file_path, content, _agent_state, as_written())

    async def _run(self, file_path: str, content: str, state: AgentState | None, written: str) -> ToolChunk:
        try:
            path = self.located(file_path)
            fault = files.notebook_fault(file_path)
            if fault is not None:
                raise FileFault(fault)
            check_whole(content, written)
            change = self._change(path, file_path, content, state)
            names = disk.other_names(path)
            folders = disk.replace_file(path, change.after, expected=change.before, new=change.before is None)
            change = replace(change, folders=folders)
            disk.remember(state, path, disk.written(path, change.after))
        except FileFault as fault:
            return files.failed(fault)
        lines = content.count("\n") + (not content.endswith("\n") and bool(content))
        verb = "Created" if change.before is None else "Replaced"
        text = f"{verb} {file_path}, {lines} line{'' if lines == 1 else 's'}.{names}"
        chunk = ToolChunk.of(text, ToolResultState.SUCCESS)
        chunk.metadata["diff"] = change.diff
        return chunk.with_value(change)


def _encode(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise FileFault(HALF) from None
