"""Why a server can't be reached or has gone, in words that say what to do next."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from nbtoolkit.exception import MCPConnectionError
from nbtoolkit.mcp.process import describe_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtoolkit.mcp.session import Session

__all__ = ["explain", "in_words", "is_closed", "is_lost_session", "no_hint", "refusal", "restart_hint"]

# How much of a server's last words goes into an error.
TAIL_LINES = 8
TAIL_CHARS = 1500

_GIVE = "give headers={'Authorization': 'Bearer …'}, or --header \"Authorization=Bearer $token\" on a %toolkit line"
_STATUS = {
    401: f"it wants to know who asks: {_GIVE}",
    403: "the credentials given aren't allowed to use it",
    404: "there is no MCP server at that path; many serve /mcp or /sse",
    405: "that path doesn't take MCP messages; many servers serve /mcp, older ones /sse",
    429: "it is asked too often; wait before the next try",
}


def no_hint(name: str) -> str:  # noqa: ARG001 - a host's looks at it
    """Nothing beside Python."""
    return ""


# How a server is to be had again beside Python, to be put after "… first"; a host that has a way puts itself here.
restart_hint: Callable[[str], str] = no_hint


def leaves(error: BaseException | None) -> Iterator[BaseException]:
    """The single errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    elif error is not None:
        yield error


def is_closed(error: BaseException) -> bool:
    """Whether the SDK says that the connection is no more."""
    from mcp import MCPError

    # Servers use the same code for errors of their own, so the SDK's own words count too.
    return isinstance(error, MCPError) and error.code == -32000 and error.message == "Connection closed"


def is_lost_session(error: BaseException) -> bool:
    """Whether an HTTP server has forgotten the session: the request was not carried out."""
    from mcp import MCPError

    return isinstance(error, MCPError) and error.message == "Session terminated"


def explain(session: Session, error: BaseException | None, *, connecting: bool = False) -> MCPConnectionError:
    """The error to raise for a session that can't be opened or has ended."""
    head = f"The MCP server {session.name!r} "
    head += f"can't be reached ({session.config.describe()})" if connecting else "has ended"
    reasons = [text for text in (_reason(session, error), _process(session)) if text]
    text = head + (": " + "; ".join(reasons) if reasons else "")
    text += "" if text.endswith("?") else "."
    if not connecting:
        text += (
            " The next call starts it again."
            if session.config.type == "stdio_mcp"
            else " The next call connects again."
        )
    words = session.log.last_words(TAIL_LINES) if session.process is not None else []
    tail = "\n".join(line for line in words if not line.startswith("[stdout]"))[-TAIL_CHARS:]
    if tail:
        text += f"\nThe last lines it wrote:\n{tail}"
    failure = MCPConnectionError(text)
    failure.__cause__ = next(leaves(error), None)
    return failure


def _process(session: Session) -> str:
    process = session.process
    if process is None or process.pid is None:
        return ""
    parts = [process.fault] if process.fault else []
    if process.died:
        parts.append(describe_exit(process.exit_code))
    if process.garbled and not process.spoke:
        shown = ", ".join(map(repr, process.garbage[:2]))
        parts.append(f"on stdout it prints what isn't MCP, {shown}, so it may be no MCP server")
    return "; ".join(parts)


def _reason(session: Session, error: BaseException | None) -> str:
    import httpx2

    singles = list(leaves(error))
    for single in singles:
        if isinstance(single, ConnectionRefusedError):
            return str(single)
        if isinstance(single, FileNotFoundError | PermissionError | NotADirectoryError):
            return str(single).rstrip(".")
        if isinstance(single, httpx2.HTTPStatusError):
            return _status(single.response.status_code, single.response.reason_phrase)
        if isinstance(single, httpx2.ConnectTimeout):
            return "no connection within the timeout"
        if isinstance(single, httpx2.TransportError):
            return _transport(single) + _scheme(session, single)
        if type(single).__module__.startswith("mcp.client.auth"):
            return _sign_in(single)
    if told := refusal(session):
        return told
    for single in singles:
        if isinstance(single, TimeoutError):
            return str(single) or "no answer in time"
        if not is_closed(single):
            return in_words(single)[:500]
    return ""


def refusal(session: Session) -> str:
    """What an HTTP server answered instead of a message; empty where it didn't."""
    status, reason = session.answers.status, session.answers.reason
    if status == 401 and "authorization" in map(str.lower, session.headers.current()):
        return f"the server answered 401 {reason}: it doesn't take the Authorization header that it is given"
    return "" if session.process is not None or status is None else _status(status, reason)


def _sign_in(error: BaseException) -> str:
    from mcp.client.auth import OAuthRegistrationError

    if isinstance(error, OAuthRegistrationError):
        # Most servers that want a token and know no sign-in end here.
        return (
            f"it wants to know who asks, and registers nobody who asks to sign in ({str(error).strip(': ')}). If you have "
            f"a token, {_GIVE}; if it knows you as a client, auth=OAuthClient(client_id=…)"
        )
    return f"signing in failed: {error}"


def in_words(error: BaseException) -> str:
    """What the SDK says of an answer, without what only its programmers read."""
    from mcp import MCPError
    from pydantic import ValidationError

    if isinstance(error, MCPError):
        return f"it refused: {error.message}"
    if isinstance(error, ValidationError):
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}" for fault in error.errors()[:3]]
        return f"what it answered isn't MCP ({error.title}: {'; '.join(faults)})"
    if "Unsupported protocol version" in str(error):
        version = str(error).rpartition(": ")[2]
        return (
            f"it speaks a version of the protocol that isn't known here, {version!r}; it or the package mcp is too old"
        )
    return f"{type(error).__name__}: {error}"


def _status(status: int, reason: str) -> str:
    hint = _STATUS.get(status)
    if hint is None and 300 <= status < 400:
        hint = "it redirects elsewhere; give the URL that it redirects to"
    return f"the server answered {status} {reason}".rstrip() + (f": {hint}" if hint else "")


def _scheme(session: Session, error: BaseException) -> str:
    """What http:// may have to do with an end without an answer."""
    ended = not str(error) and getattr(session.config, "url", "").casefold().startswith("http://")
    return "; does it want https?" if ended else ""


def _transport(error: BaseException) -> str:
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, ssl.SSLCertVerificationError):
            return f"TLS: the certificate isn't trusted ({chain.verify_message})"
        if isinstance(chain, ssl.SSLError):
            return f"TLS: {chain.reason or chain}; is it https at all?"
        chain = chain.__cause__ or chain.__context__
    text = str(error).rstrip(".")
    if not text or text.startswith("Server disconnected"):
        return "the connection ended without an answer"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return f"TLS: the certificate isn't trusted ({text})"
    if "SSL" in text:
        return f"TLS: {text}; is it https at all?"
    if "Name or service" in text or "nodename" in text or "getaddrinfo" in text:
        return f"the host isn't known ({text})"
    if "refused" in text or "All connection attempts failed" in text:
        return "nothing listens there"
    return f"{type(error).__name__}: {text}"
