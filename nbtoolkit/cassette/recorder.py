"""Recording: tools and servers are really run, and what they did is kept.

The file is written as calls end and when the recording stops, atomically. Calls that were interrupted are left out.
"""

from __future__ import annotations

import atexit
import time
import warnings
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtoolkit import hooks
from nbtoolkit.cassette.chunks import write_chunks
from nbtoolkit.cassette.file import Cassette, Entry
from nbtoolkit.cassette.servers import described, dumped, failure, question
from nbtoolkit.cassette.tape import Tape, place_of, runs_itself
from nbtoolkit.cassette.values import keep
from nbtoolkit.exception import AgentOrientedException, CassetteError, ToolkitWarning
from nbtoolkit.mcp import taping
from nbtoolkit.permission.approval import ask
from nbtoolkit.redact import Redactor
from nbtoolkit.tool.content import clean, cut
from nbtoolkit.tool.failure import own_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import mcp_types

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver
    from nbtoolkit.permission.engine import PermissionEngine
    from nbtoolkit.permission.remember import Remembered
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.base import ChunkStream, ToolBase
    from nbtoolkit.tool.log import LogEntry
    from nbtoolkit.tool.result import ToolChunk, ToolResponse
    from nbtoolkit.tool.run import ToolCall
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Recording"]

T = TypeVar("T")

# A file up to this size is written after each call; a larger one no more often than this many seconds.
SMALL = 200_000
SECONDS = 2.0
# Snapshots of one call's progress; a bar needs no more.
MAX_PROGRESS = 200


class Recording(Tape):
    """Keeps what the toolkit's calls do in ``path``, in place of what was there.

    With ``update`` only the entries of calls that are made now are replaced, and the rest of the file stays.
    """

    verb = "Recorded"
    doing = "Recording in"

    def __init__(self, toolkit: Toolkit, path: str | Path, *, update: bool = False) -> None:
        cassette = Cassette(path)
        if cassette.path.is_dir():
            raise CassetteError(f"{cassette.name!r} is a folder; a cassette is a file, such as {cassette.name}/x.jsonl")
        self._update = update
        # Now, not at the end of an hour: a broken file is a mistake of the one who names it.
        self._old = self._before(cassette)
        super().__init__(toolkit, cassette)
        self._written = 0.0
        self._warned = False
        self._size = 0

    def start(self) -> Self:
        """Begin."""
        self._start(self)
        hooks.observers.append(self)
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Write the file, and let calls be made without it again."""
        if not self.running:
            return
        super().stop()
        hooks.observers.remove(self)
        atexit.unregister(self.stop)
        self._write()

    # ------------------------------------------------------------------------------------------------------ the file
    def _open(self, kind: str, name: str, on: str, arguments: Any) -> Entry:
        """An entry in the place of its call's beginning, to be completed when that ends."""
        with self.lock:
            return self.cassette.add(Entry(kind, name, on, self.canonical(arguments), complete=False))

    def _complete(self, entry: Entry, fields: dict[str, Any]) -> None:
        with self.lock:
            entry.fields = fields
            entry.complete = True

    def _write(self, *, soon: bool = False) -> None:
        with self.lock:
            now = time.monotonic()
            if soon and self._size > SMALL and now - self._written < SECONDS:
                return
            whole = self._merged()
            try:
                whole.write()
                self._size = whole.path.stat().st_size
            except OSError as fault:
                text = f"the cassette {whole.name!r} can't be written: {fault.strerror or fault}"
                if not soon:
                    raise CassetteError(f"{text}. What it held before is there still.") from None
                if not self._warned:
                    self._warned = True
                    warnings.warn(
                        f"{text}; it is tried again with each call, and at stop", ToolkitWarning, stacklevel=2
                    )
                return
            self._written = now

    def _before(self, cassette: Cassette) -> list[Entry]:
        """What the file holds that stays, in its order."""
        return Cassette.read(cassette.path).entries if self._update and cassette.path.exists() else []

    def _merged(self) -> Cassette:
        """What the file shall hold: old entries in their places, those of calls made now renewed."""
        # Anew each time: another notebook may keep its calls in the same file.
        self._old = self._before(self.cassette)
        done = [entry for entry in self.cassette.entries if entry.complete]
        if not self._old:
            return Cassette(self.cassette.path, done)
        new: dict[Any, list[Entry]] = {}
        for entry in done:
            new.setdefault(entry.key, []).append(entry)
        listed = {entry.on for entry in done if entry.kind == "offers"}
        merged: list[Entry] = []
        for entry in self._old:
            if entry.key in new:
                merged += new.pop(entry.key)
            elif not any(entry.key == each.key for each in merged) and not (
                entry.kind == "offers" and entry.on in listed
            ):
                merged.append(entry)
            elif entry.key not in {each.key for each in done}:
                # One of several alike that nobody called now.
                merged += [] if entry.kind == "offers" else [entry]
        return Cassette(self.cassette.path, merged + [entry for alike in new.values() for entry in alike])

    # ----------------------------------------------------------------------------------------------------- questions
    def approver(self, inner: Approver, request: ApprovalRequest) -> Approver:  # noqa: ARG002 - a replay looks at it
        """Ask as without it, and keep the answer."""

        async def note(request: ApprovalRequest) -> Approval:
            entry = self._open("ask", request.tool.name, "", request.tool_input)
            approval = await ask(inner, request)
            self._complete(entry, self._answer(approval))
            if approval.scope != "call":
                self.asked[request.id] = entry
            return approval

        return note

    def _answer(self, approval: Approval) -> dict[str, Any]:
        fields: dict[str, Any] = {"answer": approval.kind}
        if approval.kind == "edit":
            fields["instead"] = self.canonical(approval.tool_input)
        elif approval.kind == "deny":
            fields |= {"reason": Redactor().text(approval.reason)} if approval.reason else {}
        elif approval.kind == "respond":
            fields["content"] = Redactor().value(keep(approval.content))
        if approval.by == "policy":
            fields["by"] = "policy"
        return fields

    def remember(self, engine: PermissionEngine, approval: Approval, request: ApprovalRequest) -> Remembered:
        """Remember as without it, and keep what came of that."""
        kept = engine.remember(approval, request)
        entry = self.asked.pop(request.id, None)
        if entry is not None:
            rules = [self.places.leave(str(rule)) for rule in kept.rules]
            entry.fields |= {"scope": kept.scope, "rules": rules, **({"note": kept.note} if kept.note else {})}
        return kept

    # ---------------------------------------------------------------------------------------------------------- runs
    def stream(self, tool: ToolBase, arguments: Arguments, run: Callable[[], ChunkStream]) -> ChunkStream:
        """The run's own chunks, kept on their way."""
        return run() if runs_itself(tool) else self._kept(tool, arguments, run)

    async def _kept(self, tool: ToolBase, arguments: Arguments, run: Callable[[], ChunkStream]) -> ChunkStream:
        entry = self._open("call", tool.name, "", arguments.json)
        chunks: list[ToolChunk] = []
        stream = run()
        try:
            async for chunk in stream:
                chunks.append(chunk)
                yield chunk
        except Exception as error:
            self._end(entry, chunks, raised=_told(error))
            raise
        else:
            self._end(entry, chunks)
        finally:
            await stream.aclose()

    def _end(self, entry: Entry, chunks: list[ToolChunk], raised: str | None = None) -> None:
        hide = Redactor()
        written = write_chunks(chunks, hide, self.places)
        fields: dict[str, Any] = {}
        if len(written) == 1 and raised is None:
            fields["result"] = written[0]
        elif written or raised is None:
            fields["stream"] = written
        if raised is not None:
            fields["raised"] = self.places.leave(hide.text(raised))
        self._complete(entry, fields)

    # ------------------------------------------------------------------------------------------------------- observer
    def started(self, call: ToolCall) -> None:
        """Nothing: a run is kept where it runs."""

    def chunk(self, call: ToolCall, chunk: ToolChunk) -> None:
        """Nothing: a run is kept where it runs."""

    def ended(self, call: ToolCall, entry: LogEntry, response: ToolResponse) -> None:  # noqa: ARG002
        """Add what was decided, for whoever reads the file, and write."""
        if call.toolkit is not self.toolkit:
            return
        if call.tool is None:
            return
        name, on = place_of(call.tool)
        key = Entry("call", name, on, self.canonical(entry.tool_input)).key
        with self.lock:
            mine = [each for each in self.cassette.alike(key) if each.complete and "decision" not in each.fields]
            if mine:
                mine[-1].fields = {"decision": Redactor().text(entry.words), **mine[-1].fields}
        self._write(soon=True)

    # -------------------------------------------------------------------------------------------------------- servers
    async def connect(self, client: MCPClient, real: Callable[[], Awaitable[None]]) -> None:
        """Connect, and keep how."""
        await real()
        self._server(client)

    def _server(self, client: MCPClient) -> None:
        with self.lock:
            if not any(entry.name == client.name for entry in self.cassette.of("server")):
                reached = self.places.leave(Redactor().text(described(client)))
                self.cassette.add(Entry("server", client.name, fields={"reached": reached}))

    async def tools(
        self, client: MCPClient, real: Callable[[], Awaitable[list[mcp_types.Tool]]]
    ) -> list[mcp_types.Tool]:
        """List them, and keep the definitions, the newest of each."""
        definitions = await real()
        self._server(client)
        with self.lock:
            for definition in definitions:
                written = {"definition": self.canonical(dumped(definition))}
                held = next(
                    (each for each in self.cassette.of("offers", client.name) if each.name == definition.name), None
                )
                if held is not None:
                    held.fields = written
                else:
                    self.cassette.add(Entry("offers", definition.name, client.name, fields=written))
        return definitions

    async def call(
        self,
        client: MCPClient,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None,
        real: Callable[[Callable[[dict[str, Any]], None] | None], Awaitable[mcp_types.CallToolResult]],
    ) -> mcp_types.CallToolResult:
        """Call, and keep the result, the progress and what the server asked meanwhile."""
        entry = self._open("call", name, client.name, arguments)
        progress: list[dict[str, Any]] = []

        def heard(snapshot: dict[str, Any]) -> None:
            if len(progress) < MAX_PROGRESS:
                progress.append({key: value for key, value in snapshot.items() if value is not None})
            if on_progress is not None:
                on_progress(snapshot)

        asked: list[tuple[Any, Any]] = []
        token = taping.questions.set(asked)
        try:
            result = await real(heard)
        except Exception as error:
            if (told := failure(error)) is not None:
                self._complete(entry, self.canonical({**_more(progress, asked), "failure": told}))
            raise
        finally:
            taping.questions.reset(token)
        self._complete(entry, self.canonical({**_more(progress, asked), "result": dumped(result)}))
        return result

    async def fetch(
        self,
        client: MCPClient,
        ask: Callable[[Any], Awaitable[T]],
        real: Callable[[Callable[[Any], Awaitable[T]]], Awaitable[T]],
    ) -> T:
        """Make the request, and keep its result."""
        return await real(lambda session: ask(_Listener(self, client, session)))

    def log(self, client: MCPClient, lines: list[str]) -> list[str]:
        """Keep what was shown of a server's log."""
        entry = self._open("request", "log", client.name, {})
        self._complete(entry, {"result": self.canonical(lines)})
        self._write(soon=True)
        return lines

    def noted(self, client: MCPClient, method: str, args: tuple[Any, ...], result: Any) -> None:
        """Keep one request's result."""
        entry = self._open("request", method, client.name, {"args": [dumped(each) for each in args]})
        many = isinstance(result, list)
        kind = type(result[0] if many and result else result).__name__
        found = [dumped(each) for each in result] if many else dumped(result)
        self._complete(entry, {"of": kind, "result": self.canonical(found)})
        self._write(soon=True)


class _Listener:
    """A session whose requests are kept."""

    def __init__(self, tape: Recording, client: MCPClient, session: Any) -> None:
        self._tape, self._client, self._session = tape, client, session

    async def offered(self, method: str, field: str) -> list[Any]:
        found: list[Any] = await self._session.offered(method, field)
        self._tape.noted(self._client, method, (), found)
        return found

    async def ask(self, method: str, *args: Any) -> Any:
        found = await self._session.ask(method, *args)
        self._tape.noted(self._client, method, args, found)
        return found


def _more(progress: list[dict[str, Any]], asked: list[tuple[Any, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"progress": progress} if progress else {}
    return {**found, "questions": [question(each, answer) for each, answer in asked]} if asked else found


def _told(error: Exception) -> str:
    """What the pipeline would say of an exception in a tool."""
    return str(error) if isinstance(error, AgentOrientedException) else clean(cut(own_lines(error)))
