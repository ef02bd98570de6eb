"""The ``tools/call`` requests of one stdio session, made beside the SDK's dispatcher and over the same two pipes.

A request there costs several times what writing and reading two lines costs, and a call from another thread pays for the
way there and back on top of it. So a call is written here, and its answer and progress are taken out of the stream;
everything else goes to the SDK, as does, in the newer era, a call that is answered by questions. Results are validated by
the SDK's types for the version that was agreed on, errors and endings are its own.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from nbtoolkit.mcp.meaning import Meaning

__all__ = ["Calls", "Heard"]

logger = logging.getLogger("nbtoolkit.mcp")

# Is told of progress, total and message.
Heard: TypeAlias = Callable[[float, float | None, str | None], object]

# The SDK counts its own requests from 1; servers may keep ids in 32 bits.
FIRST_NUMBER = 2**30
# What only later versions say of a result; it means nothing in these.
_LATER = frozenset({"resultType", "inputRequests", "requestState", "ttlMs", "cacheScope"})


@dataclass(eq=False, slots=True)
class _Call:
    answer: asyncio.Future[dict[str, Any]]
    heard: Heard | None


class Calls:
    """The calls under way of one process; ``write`` sends one line."""

    def __init__(
        self, write: Callable[[bytes], Awaitable[None]], write_now: Callable[[bytes], None], meaning: Meaning
    ) -> None:
        from mcp import MCPError
        from mcp_types import ErrorData
        from mcp_types.methods import parse_server_result
        from pydantic_core import from_json, to_json

        self._write = write
        self._write_now = write_now
        self._meaning = meaning
        self._numbers = itertools.count(FIRST_NUMBER)
        self._closed = False
        self._read, self._dump, self._parse = from_json, to_json, parse_server_result
        self._error, self._error_data = MCPError, ErrorData
        self.pending: dict[int, _Call] = {}

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        heard: Heard | None,
        version: str,
        stamp: dict[str, Any],
    ) -> Any:
        """Call a tool; MCPError for a refusal or the server's end, ValidationError for a result that is none.

        ``stamp`` is what each request carries. In the newer era the result may be one that asks for something first.
        """
        if self._closed:
            raise self._ended()
        number = next(self._numbers)
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if stamp or heard is not None:
            params["_meta"] = stamp if heard is None else {**stamp, "progressToken": number}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        line = self._dump(message, inf_nan_mode="null") + b"\n"
        call = _Call(asyncio.get_running_loop().create_future(), heard)
        self.pending[number] = call
        try:
            await self._write(line)
            raw = await call.answer
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        except (ConnectionError, RuntimeError):
            raise self._ended() from None
        finally:
            del self.pending[number]
        if not stamp and not _LATER.isdisjoint(raw):
            raw = {key: value for key, value in raw.items() if key not in _LATER}
        return self._parse("tools/call", version, self._meaning.of(raw))

    def waiting(self) -> set[int]:
        """The ids of the calls that have no answer yet."""
        return {number for number, call in self.pending.items() if not call.answer.done()}

    def _cancel(self, number: int) -> None:
        params = {"requestId": number, "reason": "caller cancelled"}
        try:
            self._write_now(
                self._dump({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}) + b"\n"
            )
        except (ConnectionError, RuntimeError):
            # It has ended, and with it the call.
            return

    def _ended(self) -> Exception:
        # As the SDK has it.
        return self._error(code=-32000, message="Connection closed")

    def take(self, line: bytes | str) -> bool:
        """Whether a line was the answer or the progress of one of these calls."""
        try:
            message = self._read(line)
        except ValueError:
            return False
        return type(message) is dict and self.take_message(message)

    def take_message(self, message: dict[str, Any]) -> bool:
        """Whether a message was; one that is none is left to who reads the rest."""
        if message.get("jsonrpc") != "2.0":
            return False
        if "method" in message:
            return message["method"] == "notifications/progress" and self._progress(message.get("params"))
        call = self._of(message.get("id"))
        if call is None or call.answer.done():
            return False
        result = message.get("result")
        if type(result) is dict:
            call.answer.set_result(result)
            return True
        try:
            error = self._error_data.model_validate(message.get("error"))
        except ValueError:
            return False
        call.answer.set_exception(self._error(code=error.code, message=error.message, data=error.data))
        return True

    def _of(self, number: object) -> _Call | None:
        if type(number) is str and number.isdecimal() and len(number) < 20:
            # Some servers give ids back as texts.
            number = int(number)
        return self.pending.get(number) if type(number) is int else None

    def _progress(self, params: Any) -> bool:
        if type(params) is not dict:
            return False
        call = self._of(params.get("progressToken"))
        value, total, message = params.get("progress"), params.get("total"), params.get("message")
        if call is None or call.heard is None or not isinstance(value, int | float):
            return False
        try:
            whole = float(total) if isinstance(total, int | float) else None
            call.heard(float(value), whole, message if isinstance(message, str) else None)
        except OverflowError:
            logger.debug("a call's progress is told in numbers that are too long", exc_info=True)
        except Exception:
            # The one who reads for all calls must not end with the listener of one.
            logger.warning("a listener to a call's progress failed", exc_info=True)
        return True

    def close(self) -> None:
        """Fail what waits: no more answers come."""
        self._closed = True
        for call in self.pending.values():
            if not call.answer.done():
                call.answer.set_exception(self._ended())
