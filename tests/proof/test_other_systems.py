"""What other systems lack is taken away, and then the product is used: files, rules, the log, cassettes, searches, servers.

Python's own modules keep what they have of this system, so it shows what we call ourselves, and no more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.plan import LIMIT

pytestmark = pytest.mark.timeout(LIMIT)

ROOT = Path(__file__).parents[2]

# Servers, and what the standard library starts, are of this system: it looks for SIGKILL when it ends them.
WITHOUT_POSIX = """
import asyncio, json, os, signal, sys, threading
from pathlib import Path
import nbtoolkit.agents, tests.mcp.support, concurrent.futures.process, mcp.client.stdio, multiprocessing.connection
for name in [name for name in sys.modules if name.partition(".")[0] in ("nbtoolkit", "tests")]:
    del sys.modules[name]
for name in ("fcntl", "pwd", "grp", "termios", "tty", "pty", "resource"):
    sys.modules[name] = None
for owner, missing in {
    os: "fork killpg getpgid setsid getuid geteuid getegid fchown fchmod pread pwrite O_NOFOLLOW O_DIRECTORY O_CLOEXEC "
        "O_NONBLOCK O_TMPFILE mkfifo register_at_fork waitid sysconf uname pidfd_open",
    signal: "SIGHUP SIGCHLD SIGURG SIGUSR1 SIGUSR2 SIGALRM SIGPIPE pthread_kill pthread_sigmask setitimer",
}.items():
    for name in missing.split():
        if hasattr(owner, name):
            delattr(owner, name)
from nbtoolkit.mcp.logs import ServerLog
from nbtoolkit.mcp.tokens import Tokens
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.store import Store
from nbtoolkit.tool import Edit, FunctionTool, Glob, Grep, Read, Toolkit, Write
from nbtoolkit.tool.journal import read
from tests.mcp.support import plain

def work(a: int) -> int:
    "Work."
    return a + 1

def aside(a: int) -> int:
    "Work in a thread."
    return a + 1

folder = Path(sys.argv[1])
said = {}
kit = Toolkit(tools=[FunctionTool(work), FunctionTool(aside, thread=True), Read(), Write(), Edit(), Glob(), Grep()])

async def approver(request):
    return Approval.allow(rule="work", scope="project") if request.tool.name == "work" else Approval.allow()

kit.approver = approver
store = Store(kit.grants, folder, user=folder / "own" / "nbtoolkit.toml")
store.load()
# A line that a kill cut short stands there.
(folder / "calls.jsonl").write_bytes(b'{"event": "al')
kit.log.keep(folder / "calls.jsonl", durable=True)
with kit.record(folder / "cassette.jsonl"):
    said["recorded"] = kit.call_sync("work", a=1).text
with kit.replay(folder / "cassette.jsonl"):
    said["replayed"] = kit.call_sync("work", a=1).text
said["aside"] = kit.call_sync("aside", a=1).text
file = str(folder / "x.txt")
for name, arguments in {
    "Write": {"file_path": file, "content": "old\\n"},
    "Read": {"file_path": file},
    "Edit": {"file_path": file, "old_string": "old", "new_string": "new"},
    "Glob": {"pattern": "*.txt", "path": str(folder)},
    "Grep": {"pattern": "new", "path": str(folder), "glob": "*.txt"},
}.items():
    said[name] = kit.call_sync(name, **arguments).state.value
said["file"] = Path(file).read_bytes().decode()
said["rule"] = 'rule = "work"' in (folder / "nbtoolkit.toml").read_text()
kit.log.journal.ended(list(kit.log)[-1], again=True)
rows, cut = read(folder / "calls.jsonl")
said["journal"] = [len(rows), cut, b"\\r" in (folder / "calls.jsonl").read_bytes()]
tokens = Tokens("https://example.org", folder / "tokens")
tokens._store({"tokens": {"access_token": "abc"}})
said["token"] = tokens._load()["tokens"]["access_token"]
log = ServerLog("one", folder / "logs")
log.feed(b"line\\n")
said["server log"] = log.tail(1)
kit.log.to_jsonl(folder / "out.jsonl")
said["export"] = len((folder / "out.jsonl").read_text().splitlines())

async def server():
    client = plain("--ignore-eof", "--ignore-term")
    await client.connect()
    kit.mode = "bypass"
    await kit.add_tool(client)
    said["server"] = (await kit.call("mcp__plain__echo", text="hello")).text
    await client.close()

asyncio.run(server())
print(json.dumps(said))
"""


def test_what_needs_no_posix_works_where_there_is_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT - 20,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "recorded": "2",
        "replayed": "2",
        "aside": "2",
        **dict.fromkeys(("Write", "Read", "Edit", "Glob", "Grep"), "success"),
        "file": "new\n",
        "rule": True,
        # Eight calls, each with its decision and its end, and the line that was cut before them.
        "journal": [16, 1, False],
        "token": "abc",
        "server log": ["line"],
        "export": 8,
        "server": "hello",
    }
    assert "Traceback" not in done.stderr
