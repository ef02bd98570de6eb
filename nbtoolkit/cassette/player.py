"""Replay: what was recorded is given again, and nothing runs.

Arguments are validated and calls judged as ever; where one asks, the cassette answers. What a cassette lacks is a
CassetteMissError that names the nearest entry. A cassette is a file from anywhere: what it allows beyond a call holds
for this replay alone, and no rules file is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtoolkit.cassette.chunks import read_chunks
from nbtoolkit.cassette.file import Cassette, Entry
from nbtoolkit.cassette.servers import raised, read
from nbtoolkit.cassette.tape import Tape, place_of, runs_itself
from nbtoolkit.cassette.values import decode
from nbtoolkit.exception import AgentOrientedException, CassetteError
from nbtoolkit.mcp.interaction import Elicitation, pass_over, secret_fields
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.grants import CELL, KERNEL
from nbtoolkit.permission.remember import Remembered
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import mcp_types

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.permission.approval import ApprovalRequest, Approver
    from nbtoolkit.permission.engine import PermissionEngine
    from nbtoolkit.schema.arguments import Arguments
    from nbtoolkit.tool.base import ChunkStream, ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Replay"]

T = TypeVar("T")


class _Raised(AgentOrientedException):
    """What a tool raised when it was recorded; its text is whole."""

    def __str__(self) -> str:
        return self.message


class Replay(Tape):
    """Gives what ``path`` holds in place of running anything.

    CassetteError where the file isn't there or a line of it is broken.
    """

    verb = "Replayed"
    doing = "Replaying"

    def __init__(self, toolkit: Toolkit, path: str | Path) -> None:
        super().__init__(toolkit, Cassette.read(path))
        self._granted: list[PermissionRule] = []
        self._attached: list[MCPClient] = []

    def start(self) -> Self:
        """Begin."""
        self._start(self)
        return self

    @property
    def unused(self) -> list[str]:
        """What was recorded and hasn't been asked for, in words."""
        return [f"line {entry.line}: {entry.kind} {entry.name}" for entry in self.cassette.unused]

    def stop(self) -> None:
        """Let calls run again; what the cassette had allowed for longer ends, and its servers are closed."""
        if self.running:
            super().stop()
            self.toolkit.grants.remove(self._granted, same=True)
            for client in self._attached:
                client.mark_connected(False)

    # ----------------------------------------------------------------------------------------------------- questions
    def approver(self, inner: Approver, request: ApprovalRequest) -> Approver:
        """Whoever answers this question: the cassette, or where it holds the call but no answer, ``inner``."""
        arguments = self.canonical(request.tool_input)
        with self.lock:
            entry = self.cassette.take("ask", request.tool.name, "", arguments)
        if entry is None:
            name, on = place_of(request.tool)
            if self.cassette.find("call", name, on, arguments) is None:
                raise self.cassette.miss("ask" if not on else "call", name, on, arguments)
            return inner
        approval = self._answer(entry)
        if approval.scope != "call":
            self.asked[request.id] = entry

        async def answer(request: ApprovalRequest) -> Approval:
            # What was planned for this question isn't left over.
            passed_over = getattr(inner, "passed_over", None)
            if passed_over is not None:
                await passed_over(request)
            return approval

        return answer

    def _answer(self, entry: Entry) -> Approval:
        fields = self.places.put_all(entry.fields)
        by = "policy" if fields.get("by") == "policy" else "script"
        try:
            match fields["answer"]:
                case "allow":
                    return Approval.allow(fields.get("rules") or None, fields.get("scope", "call"), by=by)  # type: ignore[arg-type]
                case "deny":
                    reason = fields.get("reason")
                    return Approval.deny(None if reason is None else str(reason), by=by)  # type: ignore[arg-type]
                case "edit":
                    return Approval.edit(fields["instead"], by=by)  # type: ignore[arg-type]
                case "respond":
                    return Approval.respond(decode(fields["content"]), by=by)  # type: ignore[arg-type]
                case other:
                    raise ValueError(f"{other!r} is no answer")
        except (KeyError, TypeError, ValueError) as error:
            raise self.cassette.spoilt(entry, error) from None

    def remember(self, engine: PermissionEngine, approval: Approval, request: ApprovalRequest) -> Remembered:
        """Let the cassette's rules hold until the replay ends, whatever scope they were given."""
        if approval.by == "person" or request.decision.bypass_immune:
            return engine.remember(approval, request)
        source = CELL if approval.scope == "cell" else KERNEL
        for rule in approval.rules:
            held = PermissionRule.parse(str(rule), PermissionBehavior.ALLOW, source)
            self._granted.append(held)
            engine.grants.add(held)
        entry = self.asked.pop(request.id, None)
        note = None if entry is None else entry.fields.get("note")
        return Remembered(tuple(approval.rules), approval.scope, note)

    # ---------------------------------------------------------------------------------------------------------- runs
    def stream(self, tool: ToolBase, arguments: Arguments, run: Callable[[], ChunkStream]) -> ChunkStream:
        """The recorded chunks."""
        return run() if runs_itself(tool) else self._played(tool, arguments)

    async def _played(self, tool: ToolBase, arguments: Arguments) -> ChunkStream:
        entry = self._take("call", tool.name, "", arguments.json)
        fields = entry.fields
        try:
            # A run that raised before it gave anything has neither.
            written = fields["stream"] if "stream" in fields else [] if "raised" in fields else [fields["result"]]
            if not isinstance(written, list):
                raise TypeError(f"stream must be a list, got {type(written).__name__}")
            chunks = read_chunks(written, self.places)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self.cassette.spoilt(entry, error) from None
        for chunk in chunks:
            yield chunk
        if "raised" in fields:
            raise _Raised(self.places.put(str(fields["raised"])))

    def _take(self, kind: str, name: str, on: str, arguments: Any) -> Entry:
        arguments = self.canonical(arguments)
        with self.lock:
            entry = self.cassette.take(kind, name, on, arguments)
        if entry is None:
            raise self.cassette.miss(kind, name, on, arguments)
        return entry

    # -------------------------------------------------------------------------------------------------------- servers
    async def connect(self, client: MCPClient, real: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002
        """Say that it is connected; no server is started."""
        self._offers(client)
        client.mark_connected(True)
        self._attached.append(client)

    async def tools(
        self,
        client: MCPClient,
        real: Callable[[], Awaitable[list[mcp_types.Tool]]],  # noqa: ARG002
    ) -> list[mcp_types.Tool]:
        """The recorded definitions."""
        found: list[mcp_types.Tool] = []
        for entry in self._offers(client):
            try:
                found.append(read("Tool", self.places.put_all(entry.fields["definition"])))
            except (KeyError, ValueError, TypeError) as error:
                raise self.cassette.spoilt(entry, error) from None
        return found

    def _offers(self, client: MCPClient) -> list[Entry]:
        servers = [entry.name for entry in self.cassette.of("server")]
        if client.name not in servers:
            raise CassetteError(
                f"the cassette {self.cassette.name!r} has no MCP server {client.name!r}; it has "
                f"{', '.join(servers) or 'none'}. Attach it anew with %toolkit record {self.cassette.name} --update."
            )
        return list(self.cassette.of("offers", client.name))

    async def call(
        self,
        client: MCPClient,
        name: str,
        arguments: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None,
        real: Callable[[Callable[[dict[str, Any]], None] | None], Awaitable[mcp_types.CallToolResult]],  # noqa: ARG002
    ) -> mcp_types.CallToolResult:
        """The recorded result, after the recorded progress; a handler of the user's own is asked again."""
        import asyncio

        entry = self._take("call", name, client.name, arguments)
        fields = self.places.put_all(entry.fields)
        for snapshot in fields.get("progress", ()):
            if on_progress is not None:
                on_progress({"progress": 0.0, "total": None, "message": None, **snapshot})
                # So that whoever shows it gets to see it.
                await asyncio.sleep(0)
        await self._asked_again(client, entry, fields.get("questions", ()))
        if "failure" in fields:
            raise raised(fields["failure"])
        try:
            result: mcp_types.CallToolResult = read("CallToolResult", fields["result"])
        except (KeyError, ValueError, TypeError) as error:
            raise self.cassette.spoilt(entry, error) from None
        return result

    async def _asked_again(self, client: MCPClient, entry: Entry, questions: Any) -> None:
        """Let the user's own handler answer as it did; a result that hangs on another answer isn't the recorded one."""
        handler = client.elicitation_handler
        for asked in questions:
            schema = dict(asked.get("schema") or {"type": "object", "properties": {}})
            if handler is None:
                # What was planned for this question isn't left over.
                await pass_over(Elicitation(client.name, asked.get("message", ""), schema, asked.get("url")))
                continue
            link = {"x-url": asked["url"]} if "url" in asked else {}
            given = await handler(asked.get("message", ""), {**schema, **link})
            masked = secret_fields(schema)
            left = {name: each for name, each in dict(given or {}).items() if name not in masked}
            recorded = {name: each for name, each in asked.get("content", {}).items() if name not in masked}
            if (given is not None) != (asked.get("action") == "accept") or self.canonical(left) != self.canonical(
                recorded
            ):
                raise CassetteError(
                    f"the server {client.name!r} asked {asked.get('message')!r}, and elicitation_handler answers "
                    f"{None if given is None else left!r} now, but {asked.get('action')} {recorded!r} in line {entry.line} of the cassette "
                    f"{self.cassette.name!r}"
                )

    async def fetch(
        self,
        client: MCPClient,
        ask: Callable[[Any], Awaitable[T]],
        real: Callable[[Callable[[Any], Awaitable[T]]], Awaitable[T]],  # noqa: ARG002
    ) -> T:
        """The recorded result of another request."""
        return await ask(_Stand(self, client))

    def log(self, client: MCPClient, lines: list[str]) -> list[str]:  # noqa: ARG002 - of a server that doesn't run
        """The recorded lines; none where nobody looked at them when it was recorded."""
        with self.lock:
            entry = self.cassette.take("request", "log", client.name, {})
        if entry is None:
            return []
        kept = self.places.put_all(entry.fields.get("result"))
        if not isinstance(kept, list):
            raise self.cassette.spoilt(entry, TypeError("its log is no list of lines"))
        return [str(line) for line in kept]

    def recorded(self, client: MCPClient, method: str, args: tuple[Any, ...]) -> Any:
        """One request's result."""
        from nbtoolkit.cassette.servers import dumped

        entry = self._take("request", method, client.name, {"args": [dumped(each) for each in args]})
        fields = self.places.put_all(entry.fields)
        try:
            result = fields["result"]
            if isinstance(result, list):
                return [read(fields["of"], each) for each in result]
            return read(fields["of"], result)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise self.cassette.spoilt(entry, error) from None


class _Stand:
    """Stands for a session."""

    def __init__(self, tape: Replay, client: MCPClient) -> None:
        self._tape, self._client = tape, client

    async def offered(self, method: str, field: str) -> list[Any]:  # noqa: ARG002
        found: list[Any] = self._tape.recorded(self._client, method, ())
        return found

    async def ask(self, method: str, *args: Any) -> Any:
        return self._tape.recorded(self._client, method, args)
