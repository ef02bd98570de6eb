"""A process that has loaded all and forks writers to be killed: ``KIND FOLDER`` on stdin starts one, its pid comes back.

Each writer does one kind of writing over and over, as the product does it, until somebody kills it.
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import multiprocessing
import os
import signal
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit import atomic  # noqa: F401 - loaded before the fork, as all below
from nbtoolkit.mcp.logs import ServerLog
from nbtoolkit.mcp.tokens import Tokens
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.rule import PermissionRule
from nbtoolkit.permission.store import Store
from nbtoolkit.tool import Bash, Edit, Read, Write
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Large enough that a write isn't over at once.
BODY = "0123456789abcdef" * 40_000


def whole(number: int) -> str:
    """A text that shows whether it is all there."""
    return f"version {number}\n{BODY}\nversion {number}\n"


def is_whole(text: str) -> bool:
    """Whether a text is one of those, to its last character."""
    first, _, rest = text.partition("\n")
    return first.startswith("version ") and rest == f"{BODY}\n{first}\n"


def toolkit(*tools: Any) -> Toolkit:
    made = Toolkit(tools=list(tools))
    made.mode = "bypass"
    return made


def write(folder: Path) -> Iterator[None]:
    """Write replaces a file that it has just read."""
    kit = toolkit(Write(), Read())
    for number in itertools.count():
        kit.call_sync("Read", file_path=str(folder / "file.txt"))
        done = kit.call_sync("Write", file_path=str(folder / "file.txt"), content=whole(number))
        assert done.state == "success", done.text
        yield


def create(folder: Path) -> Iterator[None]:
    """Write makes new files, in new folders."""
    kit = toolkit(Write())
    for number in itertools.count():
        done = kit.call_sync("Write", file_path=str(folder / f"new-{number}" / "file.txt"), content=whole(number))
        assert done.state == "success", done.text
        yield


def edit(folder: Path) -> Iterator[None]:
    """Edit counts in a file's first and last line."""
    kit = toolkit(Edit(), Read(), Write())
    (folder / "file.txt").write_text(whole(0))
    for number in itertools.count():
        kit.call_sync("Read", file_path=str(folder / "file.txt"), limit=1)
        path, old, new = str(folder / "file.txt"), f"version {number}\n", f"version {number + 1}\n"
        done = kit.call_sync("Edit", file_path=path, old_string=old, new_string=new, replace_all=True)
        assert done.state == "success", done.text
        yield


def undo(folder: Path) -> Iterator[None]:
    """A change is made and taken back, over and over."""
    kit = toolkit(Write(), Read())
    (folder / "file.txt").write_text(whole(0))
    for number in itertools.count(1):
        kit.call_sync("Read", file_path=str(folder / "file.txt"), limit=1)
        done = kit.call_sync("Write", file_path=str(folder / "file.txt"), content=whole(number))
        assert done.state == "success", done.text
        done.value.undo()
        yield


def rules(folder: Path) -> Iterator[None]:
    """Grants are remembered in the project's file, which is accepted in the person's own each time."""
    (folder / "project").mkdir()
    store = Store(Grants(), folder / "project", user=folder / "own" / "nbtoolkit.toml")
    store.load()
    for number in itertools.count():
        store.remember([PermissionRule.parse(f"load_table(path=data/{number}/**)", "allow")], "project")
        store.remember([PermissionRule.parse(f"Bash(make {number}:*)", "allow")], "user")
        yield


def cassette(folder: Path) -> Iterator[None]:
    """Calls are recorded."""

    def table(number: int) -> dict[str, int]:
        """Make a table."""
        return {str(each): number for each in range(200)}

    kit = toolkit(FunctionTool(table))
    kit.record(folder / "calls.cassette.jsonl")
    for number in itertools.count():
        kit.call_sync("table", number=number)
        yield


def tokens(folder: Path) -> Iterator[None]:
    """A server's tokens are renewed."""
    store = Tokens("https://example.org/mcp", folder)
    for number in itertools.count():
        store._store({"tokens": {"access_token": f"{number} " + "t" * 20_000 + f" {number}"}})
        yield


def server_log(folder: Path) -> Iterator[None]:
    """A server writes on stderr; its file is turned over now and then."""
    log = ServerLog("one", folder)
    for number in itertools.count():
        log.feed(f"line {number} {'x' * 300} line {number}\n".encode())
        yield


def export(folder: Path) -> Iterator[None]:
    """The log is written as JSON lines, again and again."""

    def work(number: int) -> str:
        """Work."""
        return str(number)

    kit = toolkit(FunctionTool(work))
    for number in itertools.count():
        kit.call_sync("work", number=number)
        kit.log.to_jsonl(folder / "log.jsonl")
        yield


def journal(folder: Path) -> Iterator[None]:
    """Calls do something that can be seen, and are written to the journal."""
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def work(number: int) -> str:
        """Work."""
        os.write(effects, f"{number}\n".encode())
        return "x" * 10_000

    kit = toolkit(FunctionTool(work))
    kit.log.keep(folder / "journal.jsonl")
    start = int((folder / "start").read_text()) if (folder / "start").exists() else 0
    for number in itertools.count(start):
        kit.call_sync("work", number=number)
        yield


def stay(file: str) -> None:
    """Stay in a worker."""
    with Path(file).open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    time.sleep(300)


def host(folder: Path) -> Iterator[None]:
    """A process with a server, a command and a pool's workers, all of them in the midst of a call."""
    pids = folder / "pids"
    client = plain("--fork", "--ignore-eof", "--ignore-term", "--pids", str(pids))
    pool = ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
    command = f"echo $$ >> {pids}; sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids}; wait"

    async def begin() -> None:
        await client.connect()
        kit = Toolkit(tools=[Bash(), FunctionTool(stay, executor=pool)], mcps=[client])
        kit.mode = "bypass"
        calls = [
            kit.call("Bash", command=command),
            kit.call("stay", file=str(pids)),
            kit.call("mcp__plain__sleep", seconds=300),
        ]
        begun.extend(asyncio.ensure_future(call.complete()) for call in calls)
        # The server and its two children, the command and its two, and a worker.
        while len(pids.read_text().split()) < 7:  # noqa: ASYNC110 - other processes write it
            await asyncio.sleep(0.01)
        more = [each.pid for each in multiprocessing.active_children()]
        with pids.open("a") as file:
            file.write("".join(f"{pid}\n" for pid in more))

    begun: list[asyncio.Future[Any]] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    yield
    loop.run_forever()


KINDS: dict[str, Callable[[Path], Iterator[None]]] = {
    each.__name__: each
    for each in (write, create, edit, undo, rules, cassette, tokens, server_log, export, journal, host)
}


def work(kind: str, folder: Path, ready: int) -> None:
    """Write until killed; a byte says that the first round is over."""
    for number, _ in enumerate(KINDS[kind](folder)):
        if number == 0:
            os.write(ready, b".")


def main() -> None:
    """Fork a writer for each line."""
    warnings.simplefilter("error")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for line in sys.stdin:
        kind, _, folder = line.strip().partition(" ")
        begun, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(begun)
            # Whatever becomes of this process, no writer goes on behind it.
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            try:
                work(kind, Path(folder), ready)
            finally:
                os._exit(1)
        os.close(ready)
        said = os.read(begun, 1)
        os.close(begun)
        print(pid if said else -pid, flush=True)
        os.waitpid(pid, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
