"""What a tool gives piece by piece → bounded chunks for a model, the same in sum whatever pieces it comes in.

Text goes out as it comes up to two thirds of ``max_chars``. Of what follows the end is held back and given last, below
a count of what is missing; until then chunks without content report progress. Neither response nor memory grows with
the stream. Blocks and chunks that the tool made itself aren't shortened while there is room. A stream that is stopped
gives what was held back too.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import DataBlock, TextBlock, assembled
from nbtoolkit.tool.content import KEPT, MAX_PICTURES, clean, goes_by, to_blocks, to_chunk
from nbtoolkit.tool.result import ToolChunk, ToolResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

__all__ = ["MAX_KEPT", "Gathered", "bounded", "to_the_end"]

# A stream's value is kept whole, for later cells and calls, up to about 20 MB of text, else not at all.
MAX_KEPT = 20_000_000
# What an item costs beside its characters.
ITEM_COST = 50


class Gathered:
    """One stream's items as chunks, and its value: one text where all were text, else a list."""

    def __init__(self, max_chars: int) -> None:
        self._room = max_chars * 2 // 3
        self._tail = max_chars - self._room
        self._items: list[Any] | None = []
        self._cost = 0
        self._all_text = True
        self._own_chunks = False
        # One block for texts that follow each other; another after anything else, so that the order stays.
        self._block: TextBlock | None = None
        # Whether the text so far ends within a line, and in the form of an object.
        self._in_line = self._after_object = False
        self._total = self._sent = self._held_chars = 0
        self._cut = False
        self._held: deque[str | DataBlock] = deque()
        self._passed: list[DataBlock] = []
        self._pictures = 0

    def chunk(self, item: object) -> ToolChunk | None:
        """The chunk for an item; None where there is nothing to tell."""
        if item is None:
            return None
        if isinstance(item, ToolChunk | ToolResponse):
            return self._own(to_chunk(item))
        self._keep(item)
        if type(item) is str and 0 < len(item) <= self._room and not self._after_object and item.isascii():
            # The usual piece, without a look at what else it might be.
            size = len(item)
            self._room -= size
            self._total += size
            self._sent += size
            self._in_line = item[-1] != "\n"
            return ToolChunk.piece(self._text(item))
        content = self._content(item)
        if not self._held:
            return ToolChunk(content=content, is_last=False)
        return ToolChunk(content=content, is_last=False, metadata=self._progress(item))

    def last(self, returned: object) -> ToolChunk:
        """The chunk at the end: what was held back, what the generator returned, and the stream's value."""
        if isinstance(returned, ToolChunk | ToolResponse):
            chunk = to_chunk(returned)
            return chunk.model_copy(update={"content": [*self.rest(), *chunk.content]})
        if returned is not None:
            # The value is the returned object: what was yielded is kept nowhere.
            self._after_object = False
            content = self._content(returned)
            return ToolChunk(content=[*content, *self.rest()]).with_value(returned)
        if self._items == [] and not self._own_chunks:
            return to_chunk(None)
        chunk = ToolChunk(content=self.rest(KEPT if self._items and not self._own_chunks else ""))
        if not self._items:
            return chunk
        return chunk.with_value("".join(self._items) if self._all_text else self._items)

    def rest(self, kept: str = "") -> list[TextBlock | DataBlock]:
        """What was held back, below the count of what is missing."""
        parts: list[str | DataBlock] = [*self._passed, *self._held]
        if self._cut:
            left_out = self._total - self._sent - self._held_chars
            parts.insert(0, f" {left_out:,} of {self._total:,} characters left out{kept} …\n")
        if self._pictures > MAX_PICTURES:
            parts.append(f"\n… {self._pictures - MAX_PICTURES:,} more pictures left out …")
        self._held.clear()
        self._passed.clear()
        return [part if isinstance(part, DataBlock) else TextBlock(text=part) for part in parts]

    def _keep(self, item: object) -> None:
        if self._items is None:
            return
        self._cost += ITEM_COST
        if isinstance(item, str):
            self._cost += len(item)
        else:
            self._all_text = False
        if self._cost > MAX_KEPT:
            self._items = None
        else:
            self._items.append(item)

    def _own(self, chunk: ToolChunk) -> ToolChunk:
        """A chunk that the function made: as it is while there is room, else its blocks in their turn."""
        self._own_chunks = True
        return self.bound(chunk, {"is_last": False} if chunk.is_last else {})

    def bound(self, chunk: ToolChunk, changes: dict[str, Any] | None = None) -> ToolChunk:
        """A chunk as it is while there is room, else with its blocks in their turn; changed as ``changes`` says."""
        changes = {} if changes is None else changes
        size = sum(len(block.text) for block in chunk.content if isinstance(block, TextBlock))
        # The last one needs nothing held back for what follows; if more follows all the same, less of it is shown.
        room = self._room + self._tail if chunk.is_last and not changes else self._room
        if size <= room and not self._held and not self._cut:
            self._tail -= max(0, size - self._room)
            self._room = max(0, self._room - size)
            self._total += size
            self._sent += size
            if chunk.content:
                self._block = None
                self._in_line = False
        else:
            content: list[TextBlock | DataBlock] = []
            for block in chunk.content:
                self._add(block.text if isinstance(block, TextBlock) else block, content)
            changes["content"] = content
            if not content and "mcp_progress" not in chunk.metadata:
                text = next((block.text for block in reversed(chunk.content) if isinstance(block, TextBlock)), "")
                if passing := goes_by(text, self._total):
                    changes["metadata"] = {**chunk.metadata, **passing}
            if chunk.is_last:
                # What was held back follows.
                changes["is_last"] = False
        return chunk.model_copy(update=changes) if changes else chunk

    def _content(self, item: object) -> list[TextBlock | DataBlock]:
        content: list[TextBlock | DataBlock] = []
        if isinstance(item, str):
            # What follows an object's text isn't its continuation.
            self._add(f"\n{item}" if self._after_object and self._in_line else item, content)
            self._after_object = False
            return content
        for block in to_blocks(item, sys.maxsize):
            if isinstance(block, TextBlock):
                self._add(f"\n{block.text}" if self._in_line else block.text, content)
                continue
            if not isinstance(item, DataBlock | list | tuple):
                self._pictures += 1
                if self._pictures > MAX_PICTURES:
                    continue
            self._add(block, content)
        self._after_object = True
        return content

    def _add(self, part: str | DataBlock, content: list[TextBlock | DataBlock]) -> None:
        if isinstance(part, DataBlock):
            self._block, self._in_line = None, False
            if self._held or self._cut:
                self._held.append(part)
            else:
                content.append(part)
            return
        if not part:
            return
        text = part if part.isascii() else clean(part)
        size = len(text)
        self._total += size
        self._in_line = text[-1] != "\n"
        if not self._held and not self._cut:
            if size <= self._room:
                self._room -= size
                self._sent += size
                content.append(self._text(text))
                return
            head, text = text[: self._room], text[self._room :]
            self._sent += len(head)
            self._room = 0
            if head:
                content.append(self._text(head))
        self._hold(text)
        if not self._cut and self._total > self._sent + self._held_chars:
            # Said at once: an interrupted stream shows too that something is missing.
            self._cut = True
            content.append(self._text("\n…"))

    def _text(self, text: str) -> TextBlock:
        if self._block is None:
            self._block = TextBlock(text=text)
            return self._block
        # As model_copy would do it, at a third of its cost.
        return assembled(TextBlock, {**self._block.__dict__, "text": text}, {"text"})

    def _hold(self, text: str) -> None:
        text = text[max(0, len(text) - self._tail) :]
        self._held.append(text)
        self._held_chars += len(text)
        while self._held_chars > self._tail:
            first = self._held.popleft()
            if isinstance(first, DataBlock):
                self._passed.append(first)
                continue
            over = self._held_chars - self._tail
            self._held_chars -= min(over, len(first))
            if over < len(first):
                self._held.appendleft(first[over:])

    def _progress(self, item: object) -> dict[str, Any]:
        passing = goes_by(item, self._total) if isinstance(item, str) else {}
        return passing or {"mcp_progress": {"progress": self._total, "total": None, "message": None}}


async def to_the_end(stream: AsyncGenerator[ToolChunk, None], gathered: Gathered) -> AsyncGenerator[ToolChunk, None]:
    """The chunks of a stream, and what was held back of them where an error or a stop ends it; closes it."""
    try:
        async for chunk in stream:
            yield chunk
    except GeneratorExit:
        raise
    except BaseException:
        if rest := gathered.rest():
            yield ToolChunk(content=rest, is_last=False)
        raise
    finally:
        await stream.aclose()


def bounded(stream: AsyncGenerator[ToolChunk, None], max_chars: int) -> AsyncGenerator[ToolChunk, None]:
    """The chunks of a tool that isn't a function's, by the same rule; one that is short passes as the object that it is."""
    gathered = Gathered(max_chars)
    return to_the_end(_bounded(stream, gathered), gathered)


async def _bounded(stream: AsyncGenerator[ToolChunk, None], gathered: Gathered) -> AsyncGenerator[ToolChunk, None]:
    kept: Any = None
    try:
        async for chunk in stream:
            kept = chunk.value if kept is None else kept
            yield gathered.bound(chunk) if chunk.content else chunk
        if rest := gathered.rest("" if kept is None else KEPT):
            yield ToolChunk(content=rest)
    finally:
        await stream.aclose()
