"""A full disk, a home that can't be written or isn't there, clocks that jump, no network, a token that was revoked.

Each is an error that says so, or nothing at all where nothing is lost; what was there before is there still.
"""

from __future__ import annotations

import asyncio
import contextlib
import pwd
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from nbtoolkit import hooks, message
from nbtoolkit.exception import CassetteError, ToolkitWarning
from nbtoolkit.mcp import HttpMCPConfig, MCPClient
from nbtoolkit.mcp.logs import ServerLog
from nbtoolkit.mcp.tokens import Tokens
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.extension import Extension
from nbtoolkit.notebook.widgets.panel_pages import ago
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.store import Store
from nbtoolkit.tool import Bash, Edit, Read, Write
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.journal import read
from nbtoolkit.tool.toolkit import Toolkit
from tests.mcp.support import plain, said, use
from tests.mcp.web import serving
from tests.proof.plan import LIMIT, Plan

pytestmark = pytest.mark.timeout(LIMIT)

BIG = "x" * 400_000
Fill = Callable[[], AbstractContextManager[None]]


# -------------------------------------------------------------------------------------------------------- a full disk
@pytest.fixture(params=["no room", "a limit on files"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Fill]]:
    """A folder, and a way to let it have no room for more than a little."""
    if request.param == "a limit on files":

        @contextlib.contextmanager
        def limited() -> Iterator[None]:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        yield tmp_path, limited
        return
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can't be mounted here")

    @contextlib.contextmanager
    def full() -> Iterator[None]:
        filler = folder / ".filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        try:
            yield
        finally:
            filler.unlink()

    try:
        yield folder, full
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def kit(*tools: Any, answer: Approval | None = None) -> Toolkit:
    async def approver(_: ApprovalRequest) -> Approval:
        return answer or Approval.allow()

    toolkit = Toolkit(tools=list(tools))
    toolkit.approver = approver
    return toolkit


def work(text: str = "") -> str:
    """Work."""
    return "y" * 30_000


def test_a_full_disk_is_a_result_and_leaves_the_old_file(disk: tuple[Path, Fill], plan: Plan) -> None:
    folder, full = disk
    old = "old\n"
    for name in ("replaced", "edited"):
        (folder / name).write_text(old)
    toolkit = kit(Write(), Read(), Edit())
    toolkit.mode = "bypass"
    for name in ("replaced", "edited"):
        toolkit.call_sync("Read", file_path=str(folder / name))
    with full():
        before = {each.name for each in folder.iterdir()}
        tries = [
            toolkit.call_sync("Write", file_path=str(folder / "new"), content=BIG),
            toolkit.call_sync("Write", file_path=str(folder / "replaced"), content=BIG),
            toolkit.call_sync("Edit", file_path=str(folder / "edited"), old_string="old", new_string=BIG),
        ]
        assert {each.name for each in folder.iterdir()} == before, "nothing is left beside the files"
    for response in tries:
        assert response.state is ToolResultState.ERROR
        assert "can't be written: " in response.text
        assert "Nothing was changed" in response.text
    assert (folder / "replaced").read_text() == (folder / "edited").read_text() == old
    plan.count("faults of the machine: a full disk", len(tries))


def test_a_full_disk_costs_what_is_kept_and_not_the_call(disk: tuple[Path, Fill], plan: Plan) -> None:
    folder, full = disk
    (folder / "project").mkdir()
    toolkit = kit(FunctionTool(work), answer=Approval.allow(rule="work", scope="project"))
    store = Store(toolkit.grants, folder / "project", user=folder / "own" / "nbtoolkit.toml")
    store.load()
    recording = toolkit.record(folder / "calls.jsonl")
    toolkit.call_sync("work")
    assert "allow = [" in (folder / "project" / "nbtoolkit.toml").read_text()
    kept = (folder / "calls.jsonl").read_bytes()
    with full():
        with pytest.warns(ToolkitWarning, match=r"calls.jsonl' can't be written: .*tried again"):
            response = toolkit.call_sync("work", text=BIG)
        assert response.state is ToolResultState.SUCCESS
        assert toolkit.call_sync("work").state is ToolResultState.SUCCESS, "it is said once"
        assert (folder / "calls.jsonl").read_bytes() == kept
        with pytest.raises(OSError, match=r"No space left|too large"):
            toolkit.log.to_jsonl(folder / "log.jsonl")
        # The token that was just given is used on; the next kernel asks again.
        tokens = Tokens("https://example.org", folder / "tokens")
        tokens._store({"tokens": {"access_token": "t" * 30_000}})
        assert tokens._load()["tokens"]["access_token"] == "t" * 30_000
        log = ServerLog("one", folder / "logs")
        for number in range(500):
            log.feed(f"line {number} {'x' * 200}\n".encode())
        assert log.tail(1)[0].startswith("line 499")
        with pytest.raises(CassetteError, match="is there still"):
            recording.stop()
    assert (folder / "calls.jsonl").read_bytes() == kept
    assert not (folder / "log.jsonl").exists()
    plan.count("faults of the machine: a full disk", 5)


def test_with_a_full_disk_nothing_runs_that_the_journal_must_hold_first(disk: tuple[Path, Fill], plan: Plan) -> None:
    folder, full = disk
    ran: list[int] = []

    def count(text: str) -> int:
        """Count."""
        ran.append(1)
        return len(text)

    toolkit = kit(FunctionTool(count))
    toolkit.log.keep(folder / "calls.jsonl", durable=True)
    toolkit.call_sync("count", text="x")
    with full():
        states = [toolkit.call_sync("count", text=BIG).state for _ in range(3)]
    assert states == [ToolResultState.ERROR] * 3
    assert len(ran) == 1
    toolkit.call_sync("count", text="x")
    rows, cut = read(folder / "calls.jsonl")
    assert cut == 0
    assert [row["event"] for row in rows if row["number"] in (1, 5)] == ["allowed", "ended", "allowed", "ended"]
    plan.count("faults of the machine: a full disk", 3)


# -------------------------------------------------------------------------------------------------------------- homes
@pytest.fixture(params=["not there", "not to be written", "nobody's"])
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A home as some containers have it."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    if request.param == "nobody's":
        monkeypatch.delenv("HOME", raising=False)

        def unknown(uid: int) -> Any:
            raise KeyError(f"getpwuid(): uid not found: {uid}")

        monkeypatch.setattr(pwd, "getpwuid", unknown)
    else:
        # Nothing can be made below either, not even by root.
        monkeypatch.setenv("HOME", "/nonexistent/home" if request.param == "not there" else "/proc/self/fdinfo")
        if request.param == "not there":
            monkeypatch.setattr(Path, "mkdir", _refusing(Path.mkdir))
    return str(request.param)


def _refusing(make: Any) -> Any:
    def mkdir(self: Path, *args: Any, **kwargs: Any) -> Any:
        if str(self).startswith("/nonexistent"):
            raise PermissionError(13, "Permission denied", str(self))
        return make(self, *args, **kwargs)

    return mkdir


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setattr(hooks, "_toolkit", None)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def test_without_a_home_of_ones_own_everything_works_that_needs_none(
    shell: InteractiveShell, home: str, plan: Plan, tmp_path: Path
) -> None:
    extension = Extension(shell)
    with capture_output() as captured:
        extension.load()
    try:
        toolkit = hooks.get_toolkit()
        for tool in (Bash(), Read(), Write(), FunctionTool(work)):
            toolkit.register(tool, "basic")

        async def approver(request: ApprovalRequest) -> Approval:
            if request.tool.name == "work":
                return Approval.allow(rule="work", scope="user")
            return Approval.allow()

        toolkit.approver = approver
        with capture_output() as captured:
            assert toolkit.call_sync("Bash", command="echo ~").state is ToolResultState.SUCCESS
            assert toolkit.call_sync("Write", file_path="out.txt", content="x").state is ToolResultState.SUCCESS
            assert toolkit.call_sync("Read", file_path="~/.ssh/id_rsa").state is ToolResultState.ERROR
            worked = toolkit.call_sync("work")
        assert worked.state is ToolResultState.SUCCESS
        note = list(toolkit.log)[-1].note or ""
        assert "can't be" in note or "no home" in note.lower() or "There is no home folder" in note, note
        assert "work" in [str(rule) for rule in toolkit.grants], "what can't be kept holds for this kernel"
        with toolkit.record(tmp_path / "calls.jsonl"), capture_output():
            toolkit.call_sync("work")

        async def server() -> str:
            client = plain()
            await client.connect()
            try:
                return said(await use(client, "echo", text="hello"))
            finally:
                await client.close()

        assert asyncio.run(server()) == "hello"
        tokens = Tokens("https://example.org")
        tokens._store({"tokens": {"access_token": "abc"}})
        assert tokens._load()["tokens"]["access_token"] == "abc"
        with capture_output() as captured:
            for line in ("", "rules", "log", "mcp import", "why Bash command='ls ~'"):
                shell.run_line_magic("toolkit", line)
    finally:
        extension.unload()
    plan.count(f"faults of the machine: a home that is {home}")
    assert "Traceback" not in str(captured.stderr)


# ------------------------------------------------------------------------------------------------------------- clocks
def test_clocks_that_jump_make_no_time_negative_and_no_order_wrong(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
    chance = plan.chance("clock")
    jumps = iter([chance.uniform(-4e8, 4e8) for _ in range(10_000)])
    monkeypatch.setattr(time, "time", lambda: 1.9e9 + next(jumps))
    real = message.now

    def now() -> str:
        text = real()
        year = 1990 + int(next(jumps)) % 80
        return f"{year}{text[4:]}".replace("-02-29", "-02-28")

    for module in (message, __import__("nbtoolkit.tool.run", fromlist=["now"])):
        monkeypatch.setattr(module, "now", now)
    toolkit = kit(FunctionTool(work), Bash())
    for _ in range(20):
        toolkit.call_sync("work")
    assert toolkit.call_sync("Bash", command="echo a; sleep 0.05", timeout=60_000).state is ToolResultState.SUCCESS
    assert toolkit.call_sync("Bash", command="sleep 5", timeout=100).state is ToolResultState.ERROR
    log = list(toolkit.log)
    assert [entry.number for entry in log] == list(range(1, 23))
    # The clock's jumps are years.
    assert all(0 <= entry.waited <= entry.seconds < LIMIT for entry in log)
    assert len({entry.started_at[:4] for entry in log}) > 5, "the clock did jump"
    for entry in log:
        assert not ago(entry.started_at).startswith("-")

    async def uptime() -> float | None:
        client = plain()
        await client.connect()
        try:
            return client.status().uptime
        finally:
            await client.close()

    up = asyncio.run(uptime())
    assert up is not None
    assert 0 <= up < LIMIT
    plan.count("faults of the machine: jumps of the clock", 22)


# ------------------------------------------------------------------------------------------------------------ network
def test_without_a_network_a_server_costs_its_own_tools_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, plan: Plan
) -> None:
    def unknown(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    client = MCPClient("far", is_stateful=False, mcp_config=HttpMCPConfig(url="https://mcp.example.org/mcp", timeout=5))
    asked = Toolkit(tools=[FunctionTool(work)], mcps=[client])
    asked.mode = "bypass"

    async def both() -> tuple[list[str], ToolResultState, str]:
        with pytest.warns(ToolkitWarning, match="far"):
            names = [schema["function"]["name"] for schema in await asked.get_tool_schemas()]
        response = await asked.call("work")
        with pytest.warns(ToolkitWarning, match="far"):
            missing = await asked.call("mcp__far__anything")
        return names, response.state, missing.text

    names, state, missing = asyncio.run(both())
    assert (names, state) == (["work"], ToolResultState.SUCCESS)
    assert "mcp__far__anything" in missing
    plan.count("faults of the machine: no network")


def test_a_token_that_is_revoked_fails_its_calls_in_words_and_a_new_one_goes_on(plan: Plan) -> None:
    from mcp.server import MCPServer

    far = MCPServer("far")

    @far.tool()
    def echo(text: str) -> str:
        return text

    inner = far.streamable_http_app()
    good = {"Bearer first"}

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and sent not in good:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"the token was revoked"})
            return
        await inner(scope, receive, send)

    with serving(guarded) as web:
        config = HttpMCPConfig(url=f"{web.url}/mcp", headers={"Authorization": "Bearer first"})
        client = MCPClient("far", is_stateful=True, mcp_config=config)

        async def all_of_it() -> tuple[list[ToolResultState], str]:
            await client.connect()
            toolkit = Toolkit(tools=[FunctionTool(work)], mcps=[client])
            toolkit.mode = "bypass"
            await toolkit.call("mcp__far__echo", text="a")
            good.clear()
            refused = await asyncio.wait_for(toolkit.call("mcp__far__echo", text="b"), 30)
            await toolkit.call("work")
            good.add("Bearer second")
            await client.set_runtime_headers({"Authorization": "Bearer second"})
            await asyncio.wait_for(toolkit.call("mcp__far__echo", text="c"), 30)
            await client.close()
            return [entry.state for entry in toolkit.log], refused.text

        states, text = asyncio.run(all_of_it())
    success, error = ToolResultState.SUCCESS, ToolResultState.ERROR
    assert states == [success, error, success, success]
    assert "401" in text
    assert "Bearer" not in text
    plan.count("faults of the machine: a token that was revoked")
