"""A model's endpoint on the loopback, which speaks OpenAI's and Anthropic's streaming forms and says what a script says."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

# A reply by script: texts, and calls as (name, arguments); an int is an HTTP status to fail with.
Part = str | tuple[str, Any]
Script = list[Part] | int
NOTHING: Script = ["I have nothing more to say."]


class LoopbackModel:
    """Serves the replies of a script, one for each request, and keeps the requests.

    ``held`` is a reply's number from which on the server waits, after the first text, until ``go`` is set.
    """

    def __init__(self, *replies: Script, held: int | None = None, usage: bool = True) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.held = held
        self.usage = usage
        self.go = threading.Event()
        self.waiting = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                number = len(model.requests)
                model.requests.append({"path": self.path, "headers": dict(self.headers), **body})
                reply = model.replies[number] if number < len(model.replies) else NOTHING
                if isinstance(reply, int):
                    text = json.dumps({"error": {"message": "no such model", "type": "invalid_request_error"}})
                    self._send(reply, text)
                    return
                if not body.get("stream"):
                    whole = _whole([_parsed(each) for each in _openai(reply, usage=True)])
                    self._send(200, json.dumps(whole))
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                events = _anthropic(reply) if "messages" in self.path else _openai(reply, usage=model.usage)
                try:
                    for sent, event in enumerate(events):
                        self.wfile.write(event.encode())
                        self.wfile.flush()
                        if model.held is not None and number >= model.held and sent == HELD_AFTER:
                            model.waiting.set()
                            model.go.wait(30)
                except (BrokenPipeError, ConnectionResetError):
                    return
                self.close_connection = True

            def _send(self, status: int, text: str) -> None:
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


# By then each form has sent the first piece of its text.
HELD_AFTER = 2


def _openai(parts: list[Part], *, usage: bool) -> Iterator[str]:
    def event(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(base)}\n\n"

    yield event({"role": "assistant", "content": ""})
    calls = 0
    for part in parts:
        if isinstance(part, str):
            for piece in _pieces(part):
                yield event({"content": piece})
            continue
        name, arguments = part
        head = {"index": calls, "id": f"call_{calls}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield event({"tool_calls": [head]})
        for piece in _pieces(arguments if isinstance(arguments, str) else json.dumps(arguments)):
            yield event({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
        calls += 1
    yield event({}, "tool_calls" if calls else "stop")
    if usage:
        count = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": count}
        yield f"data: {json.dumps(base)}\n\n"
    yield "data: [DONE]\n\n"


def _parsed(event: str) -> dict[str, Any]:
    text = event.removeprefix("data: ").strip()
    parsed: dict[str, Any] = {} if text == "[DONE]" else json.loads(text)
    return parsed


def _whole(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """What a request without streaming gets: OpenAI's form only."""
    text, reason = "", None
    calls: list[dict[str, Any]] = []
    for piece in pieces:
        for choice in piece.get("choices") or ():
            delta, reason = choice["delta"], choice["finish_reason"] or reason
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                if "id" in call:
                    calls.append({**call, "function": dict(call["function"])})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [{key: each[key] for key in ("id", "type", "function")} for each in calls]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _anthropic(parts: list[Part]) -> Iterator[str]:
    def event(kind: str, **held: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **held})}\n\n"

    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": 7, "output_tokens": 1}
    yield event("message_start", message={**message, "stop_sequence": None, "usage": usage})
    calls = 0
    for index, part in enumerate(parts):
        if isinstance(part, str):
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for piece in _pieces(part):
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        else:
            name, arguments = part
            block = {"type": "tool_use", "id": f"call_{calls}", "name": name, "input": {}}
            yield event("content_block_start", index=index, content_block=block)
            for piece in _pieces(arguments if isinstance(arguments, str) else json.dumps(arguments)):
                yield event(
                    "content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece}
                )
            calls += 1
        yield event("content_block_stop", index=index)
    reason = "tool_use" if calls else "end_turn"
    yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 3})
    yield event("message_stop")


def _pieces(text: str) -> list[str]:
    return [text[start : start + 6] for start in range(0, len(text), 6)]
