"""What passes between a client and a server as JSON, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import MCPConnectionError, MCPDefinitionError
from nbtoolkit.mcp.interaction import secret_fields
from nbtoolkit.redact import MARK

if TYPE_CHECKING:
    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.mcp.interaction import Elicitation, ElicitationAnswer

__all__ = ["described", "dumped", "failure", "question", "raised", "read"]


def described(client: MCPClient) -> str:
    """How a server is reached: its program's name and arguments, or its address, without secrets."""
    from pathlib import PurePath

    config = client.mcp_config
    if config.type == "http_mcp":
        return config.describe()
    bare = config.model_copy(update={"command": PurePath(config.command).name, "env": None})
    return bare.describe()


def dumped(value: Any) -> Any:
    """A model of the SDK as JSON with the protocol's own names; anything else as it is.

    Without what says nothing of the result: notes between client and server, which change with their versions, and the
    usual outcome.
    """
    if not hasattr(value, "model_dump"):
        return value
    fields: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: each for key, each in fields.items() if key != "_meta" and (key, each) not in _USUAL}


_USUAL = (("isError", False), ("resultType", "complete"))


def read(kind: str, value: Any) -> Any:
    """A model of the SDK again."""
    import mcp_types

    return getattr(mcp_types, kind).model_validate(value)


def question(asked: Elicitation, answer: ElicitationAnswer) -> dict[str, Any]:
    """A server's question with its answer; what goes into a masked field is left out."""
    masked = secret_fields(asked.schema)
    content = {name: MARK if name in masked else value for name, value in answer.content.items()}
    fields: dict[str, Any] = {"message": asked.message}
    if asked.url is not None:
        fields["url"] = asked.url
    if asked.schema.get("properties"):
        fields["schema"] = asked.schema
    return {**fields, "action": answer.action, **({"content": content} if content else {})}


# --------------------------------------------------------------------------------------------------- failed calls


def failure(error: Exception) -> dict[str, Any] | None:
    """A failure that a server or the way to it caused, as JSON; None for one that isn't theirs."""
    if isinstance(error, MCPConnectionError | MCPDefinitionError | TimeoutError | RuntimeError | ValueError):
        return {"kind": type(error).__name__, "message": str(error)}
    from mcp import MCPError

    if isinstance(error, MCPError):
        return {"kind": "MCPError", "code": error.error.code, "message": error.message}
    return None


def raised(written: dict[str, Any]) -> Exception:
    """The exception again."""
    message = str(written.get("message", ""))
    kinds: dict[str, type[Exception]] = {
        "MCPConnectionError": MCPConnectionError,
        "MCPDefinitionError": MCPDefinitionError,
        "TimeoutError": TimeoutError,
    }
    if written.get("kind") == "MCPError":
        from mcp import MCPError

        return MCPError(int(written.get("code", 0)), message)
    return kinds.get(str(written.get("kind")), RuntimeError)(message)
