"""A call whose server answers with questions first: they are put to the client's callbacks, as the SDK does it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mcp
    import mcp_types

__all__ = ["answers_of"]

# A server that only wants to be asked again is, after this.
PAUSE_SECONDS = 0.05


async def answers_of(client: mcp.Client, asked: mcp_types.InputRequiredResult) -> dict[str, Any] | None:
    """The answers by the server's own keys, None where it asked nothing; MCPError where a question is refused."""
    if not asked.input_requests:
        await asyncio.sleep(PAUSE_SECONDS)
        return None
    from mcp import MCPError
    from mcp.client.session import ClientRequestContext
    from mcp_types import ErrorData

    session = client.session

    async def answer(key: str, request: Any) -> Any:
        meta = request.params.meta if request.params else None
        said = await session.dispatch_input_request(
            ClientRequestContext(session=session, request_id=key, meta=meta), request
        )
        if isinstance(said, ErrorData):
            raise MCPError.from_error_data(said)
        return said

    asking = {key: asyncio.ensure_future(answer(key, each)) for key, each in asked.input_requests.items()}
    try:
        await asyncio.gather(*asking.values())
    finally:
        for each in asking.values():
            # One refusal ends the call, and with it the other questions.
            each.cancel()
    return {key: each.result() for key, each in asking.items()}
