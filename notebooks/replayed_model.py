"""A stand-in for a provider, so that a tutorial runs without a key and says the same each time.

It serves replies that were written down, one for each request, in the form of OpenAI's chat completions, on this machine
only. The requests that it got are in ``requests``.
"""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

requests: list[dict[str, Any]] = []
_replies: list[list[Any]] = []
_server: ThreadingHTTPServer | None = None


def start(*replies: list[Any]) -> None:
    """Begin with these replies: each a list of texts and of calls, ``(tool, arguments)``.

    OpenAI's SDK finds the server by the environment variable that it reads for that.
    """
    global _server
    _replies[:], requests[:] = replies, []
    if _server is None:
        _server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        _server.daemon_threads = True
        threading.Thread(target=_server.serve_forever, daemon=True).start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{_server.server_address[1]}/v1"
    os.environ["OPENAI_API_KEY"] = "not needed here"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests.append(body)
        reply = _replies.pop(0) if _replies else ["(That is all that was written down for this model.)"]
        text = "".join(part for part in reply if isinstance(part, str))
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(part for part in reply if not isinstance(part, str))
        ]
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        reason = "tool_calls" if calls else "stop"
        if body.get("stream"):
            self._stream(message, reason)
        else:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._send("application/json", json.dumps({**_HEAD, "object": "chat.completion", "choices": [choice]}))

    def _stream(self, message: dict[str, Any], reason: str) -> None:
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        deltas += [{"content": f"{word} "} for word in (message["content"] or "").split(" ") if word]
        if len(deltas) > 1:
            deltas[-1]["content"] = deltas[-1]["content"].rstrip()
        deltas += [{"tool_calls": [{"index": n, **call}]} for n, call in enumerate(message.get("tool_calls", []))]
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": reason})
        base = {**_HEAD, "object": "chat.completion.chunk"}
        lines = [json.dumps({**base, "choices": [chunk]}) for chunk in chunks]
        self._send("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing in the notebook."""


_HEAD = {"id": "replayed", "created": 0, "model": "replayed"}
