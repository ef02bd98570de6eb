"""A stdio MCP server in nothing but the standard library, which starts at once and misbehaves on request."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("--ignore-eof", action="store_true")
parser.add_argument("--ignore-term", action="store_true")
parser.add_argument("--fork", action="store_true", help="leave a child in the group and one in a session of its own")
parser.add_argument("--banner", default="", help="print this on stdout before the first message")
parser.add_argument("--only-garbage", action="store_true", help="write lines on stdout and never answer")
parser.add_argument("--silent", action="store_true", help="never answer")
parser.add_argument("--start-seconds", type=float, default=0.0)
parser.add_argument("--die-at-start", type=int, default=None)
parser.add_argument("--tools", type=int, default=0, help="so many tools more")
parser.add_argument("--changing", action="store_true", help="tell of a change whenever the tools are asked for")
parser.add_argument("--change-soon", action="store_true", help="change a tool shortly after the tools were first given")
parser.add_argument("--page", type=int, default=1000)
parser.add_argument("--circle", action="store_true", help="the last page leads to the second")
parser.add_argument("--pids", default="", help="append the pids of all that is started to this file")
parser.add_argument("--effects", default="", help="append what a call has as its key to this file, as its effect")
options = parser.parse_args()

SCHEMA = {"type": "object", "properties": {}}
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
tools: list[dict[str, Any]] = [
    {"name": "echo", "description": "Say it again", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "sleep", "description": "Wait, with progress", "inputSchema": SCHEMA},
    {"name": "die", "description": "Die at once", "inputSchema": SCHEMA},
    {"name": "flood", "description": "Write on stderr", "inputSchema": SCHEMA},
    {"name": "big", "description": "A long result", "inputSchema": SCHEMA},
    {"name": "change", "description": "Change the tools, or a resource", "inputSchema": SCHEMA},
    {"name": "ask", "description": "Ask the person", "inputSchema": SCHEMA},
    {"name": "counts", "description": "What was asked for so far", "inputSchema": SCHEMA},
]
tools += [{"name": f"tool{n:03}", "description": f"Number {n}", "inputSchema": SCHEMA} for n in range(options.tools)]
counts: dict[str, int] = {}
cancelled: set[Any] = set()
subscribed: set[str] = set()
answers: dict[Any, Any] = {}
answered = threading.Condition()
writing = threading.Lock()


def note(pid: int) -> None:
    if options.pids:
        with Path(options.pids).open("a") as file:
            file.write(f"{pid}\n")


def send(**message: Any) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def sleep(arguments: dict[str, Any], request: Any, token: Any) -> dict[str, Any] | None:
    steps = int(arguments.get("steps", 1))
    for step in range(steps):
        until = time.monotonic() + arguments.get("seconds", 0) / steps
        while time.monotonic() < until:
            if request in cancelled:
                sys.stderr.write("the sleep was cancelled\n")
                sys.stderr.flush()
                return None
            time.sleep(0.005)
        if token is not None:
            params = {"progressToken": token, "progress": step + 1, "total": steps, "message": f"step {step + 1}"}
            send(method="notifications/progress", params=params)
    return text("slept")


def ask(arguments: dict[str, Any]) -> dict[str, Any]:
    schema = arguments.get("schema") or {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"message": arguments.get("message", "Who are you?"), "requestedSchema": schema}
    send(id="q1", method=arguments.get("method", "elicitation/create"), params=arguments.get("params", params))
    with answered:
        answered.wait_for(lambda: "q1" in answers, 20)
        return text(json.dumps(answers.pop("q1", "no answer")))


def call(name: str, arguments: dict[str, Any], request: Any, token: Any) -> dict[str, Any] | None:
    if name == "echo":
        return text(arguments["text"])
    if name == "sleep":
        return sleep(arguments, request, token)
    if name == "die":
        sys.stderr.write(arguments.get("words", "these are my last words") + "\n")
        sys.stderr.flush()
        os._exit(arguments.get("code", 3))
    if name == "flood":
        sys.stderr.write(("x" * 99 + "\n") * (arguments["bytes"] // 100))
        sys.stderr.flush()
        return text("flooded")
    if name == "big":
        return text("y" * arguments["bytes"])
    if name == "change" and "uri" in arguments:
        if subscribed:
            send(method="notifications/resources/updated", params={"uri": arguments["uri"]})
        return text(", ".join(sorted(subscribed)))
    if name == "change":
        tools[0]["description"] = arguments.get("description", "Say it differently")
        tools.append({"name": "added", "description": "New", "inputSchema": SCHEMA})
        send(method="notifications/tools/list_changed")
        return text("changed")
    if name == "ask":
        return ask(arguments)
    return text(json.dumps(counts))


def serve_call(message: dict[str, Any]) -> None:
    params = message["params"]
    token = (params.get("_meta") or {}).get("progressToken")
    if options.effects:
        with Path(options.effects).open("a") as file:
            file.write(f"{params['arguments'].get('key')}\n")
    result = call(params["name"], params.get("arguments") or {}, message["id"], token)
    if result is not None:
        send(id=message["id"], result=result)


def serve(message: dict[str, Any]) -> None:
    method, request = message.get("method"), message.get("id")
    counts[str(method)] = counts.get(str(method), 0) + 1
    if method is None:
        with answered:
            answers[request] = message.get("result", message.get("error"))
            answered.notify_all()
    elif method == "initialize":
        send(
            id=request,
            result={
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            },
        )
    elif method == "tools/list":
        start = int((message.get("params") or {}).get("cursor") or 0)
        end = start + options.page
        page: dict[str, Any] = {"tools": tools[start:end]}
        if end < len(tools):
            page["nextCursor"] = str(end)
        elif options.circle:
            page["nextCursor"] = str(options.page)
        if options.changing:
            send(method="notifications/tools/list_changed")
        send(id=request, result=page)
        if options.change_soon and counts[method] == 1:
            threading.Timer(0.05, call, ("change", {}, request, None)).start()
    elif method == "tools/call":
        threading.Thread(target=serve_call, args=(message,), daemon=True).start()
    elif method in {"resources/subscribe", "resources/unsubscribe"}:
        (subscribed.add if method == "resources/subscribe" else subscribed.discard)(message["params"]["uri"])
        send(id=request, result={})
    elif method == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    elif request is not None:
        send(id=request, error={"code": -32601, "message": f"no such method: {method}"})


def main() -> None:
    note(os.getpid())
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.fork:
        sleeper = [
            sys.executable,
            "-S",
            "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)",
        ]
        for own_session in (False, True):
            note(subprocess.Popen(sleeper, start_new_session=own_session).pid)
    if options.die_at_start is not None:
        sys.stderr.write("I can't start: no configuration\n")
        sys.exit(options.die_at_start)
    time.sleep(options.start_seconds)
    if options.banner:
        print(options.banner, flush=True)
    while options.only_garbage:
        print("this is a log line, not MCP", flush=True)
    for line in sys.stdin:
        if not options.silent:
            serve(json.loads(line))
    while options.ignore_eof:
        time.sleep(1)


if __name__ == "__main__":
    main()
