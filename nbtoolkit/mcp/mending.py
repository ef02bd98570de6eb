"""Lines that are JSON-RPC and yet no message that the SDK reads: mended where that loses nothing, else answered for.

A request whose answer can't be read would wait for ever. So half a surrogate pair, which JavaScript writes where it cuts a
text, becomes U+FFFD; and for an answer that is beyond that (nested too deeply, no object, no UTF-8) the request gets an
error that says so.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["mended"]

# JSON-RPC's parse error.
UNREADABLE = -32700
FAULT_CHARS = 300
_SURROGATE = re.compile("[\ud800-\udfff]")
# The id of an answer that no parser reads, where such ids stand: first or last.
_FIRST = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"')
_LAST = re.compile(r'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_END = 100


def mended(line: bytes | str, fault: ValueError) -> dict[str, Any] | None:
    """What to take instead of a line that couldn't be read because of ``fault``; None for what is no message at all."""
    text = line if isinstance(line, str) else line.decode("utf-8", "replace")
    utf8 = isinstance(line, str) or text.encode() == line
    try:
        # Its half pairs are still halves after a round trip by Python, so they can be found as characters.
        message = json.loads(text)
        if utf8 and type(message) is dict and _SURROGATE.search(dumped := json.dumps(message, ensure_ascii=False)):
            message = json.loads(_SURROGATE.sub("\ufffd", dumped))
            if "method" in message or type(message.get("result")) is dict:
                return dict(message)
        if type(message) is dict and type(number := message.get("id")) is float and number.is_integer():
            # 1 and 1.0 are one number in JSON, and in some languages.
            return {**message, "id": int(number)}
        number = message.get("id") if type(message) is dict and "method" not in message else None
    except (ValueError, RecursionError):
        found = _FIRST.match(text) or _LAST.search(text[-_END:])
        number = None if found is None else int(found[1])
    if type(number) not in {int, str}:
        return None
    said = f"its answer can't be read: {_words(fault)}"
    if not utf8:
        said = "its answer isn't UTF-8; with encoding_error_handler='replace' it is read all the same"
    return {"jsonrpc": "2.0", "id": number, "error": {"code": UNREADABLE, "message": said}}


def _words(fault: ValueError) -> str:
    errors = getattr(fault, "errors", None)
    if errors is None:
        return str(fault)[:FAULT_CHARS]
    # pydantic would repeat the input.
    return "; ".join(dict.fromkeys(str(each["msg"]) for each in errors(include_input=False)))[:FAULT_CHARS]
