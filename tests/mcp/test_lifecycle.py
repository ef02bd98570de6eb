"""A server is attached once, usable from anywhere, and gone when it should be."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.exception import MCPConnectionError
from nbtoolkit.mcp import MCPClient, StdioMCPConfig, pipes, process
from nbtoolkit.message import ToolResultState
from tests.mcp.support import PLAIN, alive, attached, open_files, pids, plain, said, until, use

ROOT = Path(__file__).parents[2]


def test_a_server_is_opened_used_and_closed_from_three_loops() -> None:
    client = plain()
    asyncio.run(client.connect())
    assert said(asyncio.run(use(client, "echo", text="hello"))) == "hello"
    assert client.is_connected
    asyncio.run(client.close())
    assert not client.is_connected


def test_a_server_is_usable_from_several_threads_at_once() -> None:
    client = plain()
    asyncio.run(client.connect())
    heard: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: heard.append(said(asyncio.run(use(client, "echo", text=str(n))))))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(client.close())
    assert sorted(heard) == [str(n) for n in range(8)]


def test_connecting_at_the_same_time_starts_one_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        client = plain("--pids", str(tmp_path / "pids"))
        await asyncio.gather(*(client.connect() for _ in range(5)))
        await client.close()

    asyncio.run(scenario())
    assert len(pids(tmp_path / "pids")) == 1


def test_a_server_that_dies_fails_all_its_calls_at_once_and_says_why() -> None:
    async def scenario() -> None:
        async with attached() as client:
            waiting = asyncio.ensure_future(use(client, "sleep", seconds=600))
            died = await use(client, "die", code=7, words="out of cheese")
            slept = await asyncio.wait_for(waiting, 10)
            for chunk in (died, slept):
                assert chunk.state is ToolResultState.ERROR
                assert "exit code 7" in said(chunk)
                assert "out of cheese" in said(chunk)

    asyncio.run(scenario())


def test_a_server_that_took_no_message_before_it_ended_is_said_to_have_ended(tmp_path: Path) -> None:
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    from nbtoolkit.mcp.logs import ServerLog

    async def scenario() -> process.ServerProcess:
        config = StdioMCPConfig(command="sh", args=["-c", "exec <&-; echo deaf >&2; sleep 0.3; exit 4"])
        server = process.ServerProcess(config, ServerLog("deaf", tmp_path))
        hello = SessionMessage(mcp_types.JSONRPCNotification(jsonrpc="2.0", method="hello"))

        async def talk(outgoing: Any) -> None:
            while True:
                await outgoing.send(hello)

        async with server.streams() as (_, outgoing):
            with pytest.raises(anyio.BrokenResourceError):
                await asyncio.wait_for(talk(outgoing), 20)
        return server

    server = asyncio.run(scenario())
    assert server.died
    assert server.exit_code == 4


@pytest.mark.parametrize(("descriptor", "name"), [(0, "stdin"), (1, "stdout")])
def test_a_server_that_goes_on_without_its_stdin_or_stdout_is_over_and_the_error_says_which(
    descriptor: int, name: str
) -> None:
    async def scenario() -> None:
        config = StdioMCPConfig(command=sys.executable, args=["-S", str(PLAIN.with_name("deaf.py")), str(descriptor)])
        async with MCPClient(name="deaf", is_stateful=True, mcp_config=config) as client:
            answers = [await use(client, "close") for _ in range(1 if descriptor else 2)]
            assert f"'deaf' has ended: it closed its {name}, though its process goes on" in said(answers[-1])

    asyncio.run(scenario())


def test_a_signal_that_ended_a_server_is_named() -> None:
    async def scenario() -> None:
        async with attached() as client:
            waiting = asyncio.ensure_future(use(client, "sleep", seconds=600))
            await until(lambda: client.status().calls, "the call")
            pid = client.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            assert "SIGKILL" in said(await waiting)

    asyncio.run(scenario())


def test_the_call_after_a_death_starts_the_server_again_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with attached("--pids", str(tmp_path / "pids")) as client:
            await use(client, "die")
            again = await asyncio.gather(*(use(client, "echo", text="back") for _ in range(4)))
            assert [said(chunk) for chunk in again] == ["back"] * 4

    asyncio.run(scenario())
    assert len(pids(tmp_path / "pids")) == 2


def test_words_of_an_earlier_run_are_not_given_as_the_last() -> None:
    async def scenario() -> None:
        async with attached() as client:
            await use(client, "die", words="first")
            second = said(await use(client, "die", words="second"))
            assert "second" in second
            assert "first" not in second

    asyncio.run(scenario())


def test_a_cancelled_call_is_cancelled_in_the_server() -> None:
    async def scenario() -> None:
        async with attached() as client:
            call = asyncio.ensure_future(use(client, "sleep", seconds=600))
            await until(lambda: client.status().calls, "the call")
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until(lambda: "the sleep was cancelled" in client.log_tail, "the server's cancellation")
            assert not client.status().calls

    asyncio.run(scenario())


def test_a_call_past_its_limit_is_an_error_and_cancelled_in_the_server() -> None:
    async def scenario() -> None:
        async with attached(execution_timeout=0.2) as client:
            chunk = await use(client, "sleep", seconds=600)
            assert chunk.state is ToolResultState.ERROR
            assert "within 0.2 s" in said(chunk)
            await until(lambda: "the sleep was cancelled" in client.log_tail, "the server's cancellation")

    asyncio.run(scenario())


def test_an_interrupted_connect_leaves_no_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        client = plain("--silent", "--pids", str(tmp_path / "pids"))
        connecting = asyncio.ensure_future(client.connect())
        await until(lambda: pids(tmp_path / "pids"), "the start")
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        await until(lambda: not alive(pids(tmp_path / "pids")[0]), "the server's end")
        assert not client.is_connected

    asyncio.run(scenario())


def test_closing_ends_a_server_that_ignores_everything_and_all_that_it_started(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with attached("--ignore-eof", "--ignore-term", "--fork", "--pids", str(tmp_path / "pids")):
            assert len(pids(tmp_path / "pids")) == 3

    asyncio.run(scenario())
    asyncio.run(until(lambda: not any(map(alive, pids(tmp_path / "pids"))), "their end"))


def test_a_client_that_nobody_holds_any_longer_takes_its_server_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        client = plain("--pids", str(tmp_path / "pids"))
        await client.connect()
        await client.list_tools()
        del client
        import gc

        gc.collect()
        await until(lambda: not alive(pids(tmp_path / "pids")[0]), "the server's end")

    asyncio.run(scenario())


KERNEL = """
    import asyncio, sys, time
    from nbtoolkit.mcp import MCPClient, StdioMCPConfig
    config = StdioMCPConfig(command=sys.executable, args=["-S", {plain!r}, *{args!r}])
    client = MCPClient(name="plain", is_stateful=True, mcp_config=config)
    asyncio.run(client.connect())
    print("ready", flush=True)
    {then}
"""


def kernel(then: str, *args: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(KERNEL).format(plain=str(PLAIN), args=args, then=then)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_no_server_nor_what_it_forked(tmp_path: Path, number: int) -> None:
    file = tmp_path / "pids"
    process = kernel("time.sleep(600)", "--ignore-eof", "--ignore-term", "--fork", "--pids", str(file))
    assert len(pids(file)) == 3
    process.send_signal(number)
    process.communicate()
    asyncio.run(until(lambda: not any(map(alive, pids(file))), "the servers' end"))


def test_a_process_that_ends_by_itself_leaves_no_server_and_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = textwrap.dedent(KERNEL).format(
        plain=str(PLAIN), args=("--ignore-eof", "--ignore-term", "--pids", str(file)), then=""
    )
    done = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=50,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ready\n", "", 0)
    asyncio.run(until(lambda: not any(map(alive, pids(file))), "the server's end"))


LOADING = """
import threading
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "nbtoolkit")
for thread in threading.enumerate():
    if thread.name == "nbtoolkit-sweep":
        thread.join(20)
"""


@pytest.mark.parametrize("at", ["the next start", "the next load"])
def test_servers_of_a_dead_kernel_without_a_guardian_are_swept_up(tmp_path: Path, at: str) -> None:
    file = tmp_path / "pids"
    process = kernel(
        "from nbtoolkit.mcp import guarding; print(guarding._guard.pid, flush=True); time.sleep(600)",
        "--ignore-eof",
        "--ignore-term",
        "--fork",
        "--pids",
        str(file),
    )
    assert process.stdout is not None
    os.kill(int(process.stdout.readline()), signal.SIGKILL)
    process.kill()
    process.communicate()
    assert all(map(alive, pids(file)))
    if at == "the next start":
        kernel("pass").communicate()
    else:
        subprocess.run([sys.executable, "-c", LOADING], cwd=ROOT, check=True, timeout=60)
    asyncio.run(until(lambda: not any(map(alive, pids(file))), "the sweep"))


def test_an_interrupt_of_the_process_group_does_not_reach_the_server() -> None:
    async def scenario() -> None:
        async with attached() as client:
            pid = client.status().pid
            assert pid is not None
            assert os.getpgid(pid) == pid != os.getpgid(0)

    asyncio.run(scenario())


async def killed(client: MCPClient) -> None:
    while (pid := client.status().pid) is None:
        # It died just now, or is on its way.
        await use(client, "echo", text="x")
    os.kill(pid, signal.SIGKILL)


def test_calls_from_everywhere_and_a_server_that_is_killed_leave_no_descriptor_task_or_process(tmp_path: Path) -> None:
    """A slice of a long run: 2,000 calls, with the server killed 20 times."""
    file = tmp_path / "pids"

    async def scenario() -> int:
        async with attached("--fork", "--pids", str(file)) as client:
            for number in range(2):
                calls = asyncio.gather(*(use(client, "echo", text="x" * 999) for _ in range(20)))
                if number % 2:
                    await killed(client)
                    # Each has its answer or the reason; the next call starts the server again.
                    assert {said(chunk) == "x" * 999 or "SIGKILL" in said(chunk) for chunk in await calls} == {True}
                else:
                    await calls
                threads = [
                    threading.Thread(target=asyncio.run, args=(use(client, "echo", text="t"),)) for _ in range(4)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    await asyncio.to_thread(thread.join)
        from nbtoolkit.mcp.portal import portal

        tasks = await portal().run(count())
        assert tasks == 1
        # The signal was sent; a process needs a moment to be gone.
        await until(lambda: not any(map(alive, pids(file))), "the end of all that was started")
        return open_files()

    async def count() -> int:
        return len(asyncio.all_tasks())

    before = asyncio.run(scenario())
    assert asyncio.run(scenario()) <= before


def test_a_forked_child_starts_with_a_portal_of_its_own() -> None:
    code = """
    import asyncio, os, sys
    from tests.mcp.support import plain, use, said
    client = plain()
    asyncio.run(client.connect())
    child = os.fork()
    if child == 0:
        own = plain()
        asyncio.run(own.connect())
        good = said(asyncio.run(use(own, "echo", text="child"))) == "child"
        asyncio.run(own.close())
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), said(asyncio.run(use(client, "echo", text="parent"))))
    asyncio.run(client.close())
    """
    done = subprocess.run(
        # Python 3.12 and later warn of any fork beside a thread.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=50,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0 parent\n", "")


# ------------------------------------------------------------------------------------------------ why it can't start
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--die-at-start", "4"], ["exit code 4", "I can't start: no configuration"]),
        (["--only-garbage"], ["prints what isn't MCP", "this is a log line, not MCP"]),
        (["--silent"], ["no answer within 1 s"]),
    ],
)
def test_a_failed_start_says_what_went_wrong(args: list[str], words: list[str]) -> None:
    client = plain(*args)
    with pytest.raises(MCPConnectionError) as caught:
        asyncio.run(client.connect(timeout=1 if "--silent" in args else 30))
    assert isinstance(caught.value, ConnectionError)
    for word in words:
        assert word in str(caught.value)
    assert not client.is_connected


ANSWERING = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        old = message["method"] != "initialize" and {{"error": {{"code": -32601, "message": "no"}}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], **(old or {answer})}}), flush=True)
"""
OLD = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"result": OLD}, "it speaks a version of the protocol that isn't known here, '1999-01-01'"),
        ({"result": {"hello": 1}}, "what it answered isn't MCP (InitializeResult: capabilities: Field required;"),
        ({"error": {"code": -32000, "message": "license expired"}}, ": it refused: license expired."),
    ],
)
def test_another_protocol_or_a_refusal_is_said_in_words(answer: dict[str, object], words: str) -> None:
    config = StdioMCPConfig(command=sys.executable, args=["-S", "-c", ANSWERING.format(answer=answer)])
    with pytest.raises(MCPConnectionError) as caught:
        asyncio.run(MCPClient(name="x", is_stateful=True, mcp_config=config).connect())
    assert words in str(caught.value)
    assert "pydantic.dev" not in str(caught.value)


def test_a_command_that_does_not_exist_names_its_neighbours() -> None:
    config = StdioMCPConfig(command="mcp-server-tim")
    client = MCPClient(name="time", is_stateful=True, mcp_config=config)
    with pytest.raises(MCPConnectionError, match=r"no program 'mcp-server-tim'.*Did you mean .*'mcp-server-time'"):
        asyncio.run(client.connect())


def test_a_folder_or_a_program_that_is_none_is_named(tmp_path: Path) -> None:
    plainly = tmp_path / "notes.txt"
    plainly.write_text("no program")
    for config, words in (
        (StdioMCPConfig(command=sys.executable, cwd=tmp_path / "gone"), "gone' to start it in"),
        (StdioMCPConfig(command=str(plainly)), "notes.txt' is a file, but no program that may be run"),
    ):
        client = MCPClient(name="x", is_stateful=True, mcp_config=config)
        with pytest.raises(MCPConnectionError, match=words):
            asyncio.run(client.connect())


def test_results_are_as_long_as_a_message_may_be_and_a_longer_one_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LINE_LIMIT", 12 * 1024**2)

    async def scenario() -> None:
        async with attached() as client:
            assert len(said(await use(client, "big", bytes=10_000_000))) == 10_000_000
            long = await use(client, "big", bytes=13_000_000)
            assert "has ended: a message was longer than 12 MiB" in said(long)
            assert said(await use(client, "echo", text="again")) == "again"

    asyncio.run(scenario())


def test_a_banner_on_stdout_costs_nothing_and_stands_in_the_log() -> None:
    async def scenario() -> None:
        async with attached("--banner", "Welcome!") as client:
            assert said(await use(client, "echo", text="hi")) == "hi"
            assert "[stdout] Welcome!" in client.log_tail

    asyncio.run(scenario())


def environ_of(pid: int | None) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def test_the_environment_of_the_kernel_stays_with_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")

    async def scenario() -> None:
        async with attached(env={"GIVEN": "yes"}) as client:
            pid = client.status().pid
            environment = environ_of(pid)
            assert b"hush" not in environment
            assert b"GIVEN=yes" in environment

    asyncio.run(scenario())


def test_a_flood_on_stderr_neither_blocks_the_server_nor_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def scenario() -> None:
        async with attached() as client:
            assert said(await use(client, "flood", bytes=5_000_000)) == "flooded"
            assert len(client.log_tail) <= 200

    asyncio.run(scenario())
    files = list(tmp_path.rglob("plain-*"))
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert 0 < sum(file.stat().st_size for file in files) <= 2_200_000


def test_the_sdks_own_transport_serves_where_processes_can_not_be_grouped(tmp_path: Path) -> None:
    import mcp

    from nbtoolkit.mcp.logs import ServerLog
    from nbtoolkit.mcp.process import sdk_streams

    async def scenario() -> None:
        config = plain().mcp_config
        assert isinstance(config, StdioMCPConfig)
        async with mcp.Client(sdk_streams(config, ServerLog("plain", tmp_path))) as client:
            result = await client.call_tool("echo", {"text": "hi"})
            assert result.content[0].type == "text"
            assert result.content[0].text == "hi"

    asyncio.run(scenario())


def test_logs_of_a_week_ago_are_removed_and_later_ones_kept(tmp_path: Path) -> None:
    from nbtoolkit.mcp.logs import KEEP_SECONDS, ServerLog

    old, late, other = (tmp_path / name for name in ("s-1.log", "s-2.log", "notes.txt"))
    for file, age in ((old, KEEP_SECONDS + 60), (late, 60), (other, KEEP_SECONDS + 60)):
        file.write_text("words")
        os.utime(file, (time.time() - age,) * 2)
    ServerLog("s", tmp_path).note("started")
    for thread in threading.enumerate():
        if thread.name == "nbtoolkit-logs":
            thread.join(20)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["notes.txt", f"s-{os.getpid()}.log", "s-2.log"])
