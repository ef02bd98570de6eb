"""Bash: output as it comes, exit codes, and nothing left alive."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.bash import HEAD, TAIL, Bash
from nbtoolkit.tool.children import can_be_kept
from nbtoolkit.tool.result import ToolChunk, ToolResponse


async def run(command: str, cwd: Path | None = None, **options: Any) -> ToolResponse:
    response = ToolResponse()
    async for chunk in await stream(command, cwd, **options):
        response.append_chunk(chunk)
    return response


async def stream(command: str, cwd: Path | None = None, **options: Any) -> Any:
    return await Bash(cwd=cwd)(command=command, **options)


def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds, or is a zombie of another parent."""
    return eventually(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def written(path: Path) -> int:
    """The number that a command writes into a file, once it is there."""
    assert eventually(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_output_and_exit_code_are_said() -> None:
    response = asyncio.run(run("echo out; echo err >&2; exit 3"))
    assert response.text.splitlines() == ["out", "err", "[exit code 3]"]
    assert response.state is ToolResultState.ERROR
    assert response.metadata["exit_code"] == 3


def test_a_command_that_says_nothing_is_not_an_empty_result() -> None:
    assert asyncio.run(run("true")).text == "[no output, exit code 0]"


def test_output_comes_while_the_command_still_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        go = tmp_path / "go"
        first: list[str] = []
        async for chunk in await stream(f"echo first; until [ -e {go} ]; do sleep 0.02; done; echo second"):
            assert isinstance(chunk, ToolChunk)
            first.append("".join(getattr(block, "text", "") for block in chunk.content))
            go.touch()
        assert first[0] == "first\n"
        assert "".join(first) == "first\nsecond\n"

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_there_is_no_input_and_no_terminal() -> None:
    assert "not a tty" in asyncio.run(run("cat; tty")).text


def test_the_folder_follows_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(run("pwd -P")).text.strip() == str(tmp_path.resolve())


@pytest.mark.parametrize("how", ["the process moves", "a link moves"])
def test_a_command_is_not_run_in_another_folder_than_it_was_judged_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    from nbtoolkit.permission.engine import PermissionEngine
    from nbtoolkit.permission.rule import PermissionContext

    for name in ("fine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"{name}\n")
    link = tmp_path / "link"
    link.symlink_to("fine")
    monkeypatch.chdir(tmp_path / "fine")
    tool = Bash() if how == "the process moves" else Bash(cwd=link)

    async def scenario() -> list[str]:
        given = {"command": "cat a.txt"}
        texts = []
        for move in (False, True):
            await PermissionEngine(PermissionContext()).check_permission(tool, given)
            if move:
                os.chdir(tmp_path / "other")
                link.unlink()
                link.symlink_to("other")
            response = ToolResponse()
            chunks: Any = await tool(**given)
            async for chunk in chunks:
                response.append_chunk(chunk)
            texts.append(response.text)
        return texts

    before, after = asyncio.run(scenario())
    assert before == "fine\n"
    assert after.startswith("The command was not run: it was judged in the folder")


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    response = asyncio.run(run("pwd", tmp_path / "gone"))
    assert response.state is ToolResultState.ERROR
    assert "doesn't exist" in response.text


def test_a_command_that_begins_with_a_dash_is_a_command() -> None:
    assert "command not found" in asyncio.run(run("-x ls")).text


def test_binary_output_survives_as_text() -> None:
    response = asyncio.run(run(r"printf 'a\x00b\xff\x01c'"))
    assert response.text == "a\ufffdb\ufffd\ufffdc"


def test_a_long_output_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    response = asyncio.run(run("echo begin; yes | head -c 3000000; echo end"))
    assert response.text.startswith("begin\n")
    assert response.text.endswith("end\n")
    assert "characters left out" in response.text
    assert len(response.text) < HEAD + TAIL + 200


def test_what_goes_by_behind_the_head_is_reported_while_the_command_runs() -> None:
    async def said() -> list[str]:
        chunks = await stream("yes | head -c 30000; sleep 0.3; echo one; sleep 0.3; echo two")
        return [chunk.metadata["mcp_progress"]["message"] async for chunk in chunks if "mcp_progress" in chunk.metadata]

    assert asyncio.run(said())[-2:] == ["one", "two"]


@pytest.mark.parametrize("trap", ["", "trap '' TERM INT HUP; "])
def test_a_timeout_ends_the_whole_group_also_one_that_ignores_sigterm(tmp_path: Path, trap: str) -> None:
    pid = tmp_path / "pid"
    response = asyncio.run(run(f"{trap}(echo $BASHPID > {pid}; exec sleep 100) & sleep 100", timeout=400))
    assert "timed out after 0.4 s" in response.text
    assert response.state is ToolResultState.ERROR
    assert gone(written(pid))


@pytest.mark.skipif(not can_be_kept(), reason="a process group is signalled in one go")
def test_what_a_timeout_ends_does_not_answer_the_end_of_what_it_reads_from() -> None:
    async def several() -> list[ToolResponse]:
        # Each could be lucky.
        return await asyncio.gather(*(run("sleep 100 | wc -l", timeout=500) for _ in range(16)))

    texts = {response.text for response in asyncio.run(several())}
    assert texts == {"[timed out after 0.5 s; the command and all it started were ended]"}


@pytest.mark.parametrize(
    "start", ["sleep 100 &", "setsid sleep 100 &", "(sleep 100 &)", "nohup setsid sleep 100 >/dev/null 2>&1 &"]
)
def test_nothing_that_a_command_started_outlives_it(tmp_path: Path, start: str) -> None:
    marker = f"{100}.{os.getpid()}{abs(hash(start)) % 10_000}"
    asyncio.run(run(start.replace("100", marker), tmp_path))
    assert eventually(lambda: not any(marker in line for line in command_lines()))


ORPHAN = """import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 200)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere who leaves the group is out of reach, as the module says"
)
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("setsid env -i sleep 100 &", "by itself"),
        ("setsid env -i sleep 100 &", "by its time"),
        ("setsid env -i sleep 100 &", "with the process that watches over it"),
        ("(setsid env -i bash -c 'env -i sleep 100 & setsid sleep 100 & wait' &) ; true", "by itself"),
        ("python3 orphan.py 100", "by itself"),
        ("python3 orphan.py 100", "with the process that watches over it"),
        (
            "for n in 1 2 3 4 5 6 7 8; do setsid env -i bash -c 'trap \"\" TERM; while :; do sleep 100; done' & done",
            "by its time",
        ),
    ],
)
def test_not_even_who_leaves_group_session_and_environment_outlives_a_command(
    tmp_path: Path, start: str, end: str
) -> None:
    (tmp_path / "orphan.py").write_text(ORPHAN)
    marker = f"{100}.{os.getpid()}{abs(hash((start, end))) % 10_000}"
    start = start.replace("100", marker).replace("python3", sys.executable)
    command = {"by itself": start, "by its time": f"{start}\nsleep {marker}"}.get(end, f"{start}\nexec sleep {marker}")
    if end.startswith("with"):
        program = (
            "import asyncio, sys; from nbtoolkit.tool.bash import Bash\n"
            "async def go():\n"
            "    async for _ in Bash(cwd=sys.argv[2]).call(command=sys.argv[1]): pass\n"
            "asyncio.run(go())\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program, command, tmp_path])
        assert eventually(lambda: any(f"sleep\0{marker}" in line for line in command_lines()))
        process.kill()
        process.wait()
    else:
        response = asyncio.run(run(command, tmp_path, timeout=1_000 if end == "by its time" else 60_000))
        assert ("timed out" in response.text) == (end == "by its time")
    assert eventually(lambda: not any(marker in line for line in command_lines()))


@pytest.mark.skipif(sys.platform != "linux", reason="nothing stands between elsewhere")
def test_a_command_that_ends_the_process_above_it_is_ended_too_and_was_run_once(tmp_path: Path) -> None:
    response = asyncio.run(run("echo one >> ran; kill -9 $PPID; sleep 100", tmp_path))
    assert "exit code isn't known" in response.text
    assert response.state is ToolResultState.ERROR
    assert (tmp_path / "ran").read_text() == "one\n"


def test_where_nothing_can_stand_between_a_command_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit.tool import children, nursery, process

    monkeypatch.setattr(process, "_unkept", False)
    monkeypatch.setattr(nursery, "SCRIPT", str(tmp_path / "gone.py"))
    barren = nursery.Nursery()
    monkeypatch.setattr(children, "nursery", barren)
    response = asyncio.run(run("echo out; exit 3", tmp_path))
    assert response.text == "out\n[exit code 3]"
    assert process._unkept is True
    barren.end()
    pid = tmp_path / "pid"
    response = asyncio.run(run(f"(echo $BASHPID > {pid}; exec setsid sleep 100) & sleep 100", timeout=400))
    assert "timed out" in response.text
    assert gone(written(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="nothing stands between elsewhere")
@pytest.mark.parametrize("number", ["KILL", "STOP"])
def test_a_command_that_ends_or_stops_what_makes_the_processes_above_commands_harms_no_other(
    tmp_path: Path, number: str
) -> None:
    above = "$(cut -d' ' -f4 /proc/$PPID/stat)"
    response = asyncio.run(run(f"kill -{number} {above}; kill -{number} {above}; echo mine", tmp_path))
    assert response.text == "mine\n"
    # One that was stopped isn't seen to be: what waits for it ends in time, and the next begins anew.
    response = asyncio.run(run("echo next", tmp_path, timeout=500))
    assert response.text == "next\n" or (number == "STOP" and "timed out" in response.text)
    assert asyncio.run(run("echo another", tmp_path)).text == "another\n"


@pytest.mark.skipif(sys.platform != "linux", reason="nothing stands between elsewhere")
def test_a_command_has_the_limits_and_the_mask_that_its_process_has_by_now(tmp_path: Path) -> None:
    import resource

    command = "ulimit -Sc; umask; nice"
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    before = os.umask(0o027)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        assert asyncio.run(run(command, tmp_path)).text.splitlines()[:2] == ["0", "0027"]
        resource.setrlimit(resource.RLIMIT_CORE, (min(hard, 4096) if hard >= 0 else 4096, hard))
        os.umask(0o022)
        core, mask, _ = asyncio.run(run(command, tmp_path)).text.splitlines()
        assert (core, mask) == (str((min(hard, 4096) if hard >= 0 else 4096) // 1024), "0022")
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        os.umask(before)


def test_commands_at_once_have_their_own_output_and_end(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        return [each.text for each in await asyncio.gather(*(run(f"echo {n}; exit {n}", tmp_path) for n in range(8)))]

    assert asyncio.run(scenario()) == ["0\n", *(f"{n}\n[exit code {n}]" for n in range(1, 8))]


def test_stdout_and_stderr_come_in_the_order_in_which_they_were_written() -> None:
    response = asyncio.run(run("for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo err $n >&2; done"))
    assert response.text == "".join(f"out {n}\nerr {n}\n" for n in range(1, 10))


def test_a_bar_that_draws_itself_over_and_over_is_one_line() -> None:
    response = asyncio.run(run(r"for n in 10 20 30; do printf '\r%d%%' $n >&2; done; echo >&2; echo done"))
    assert response.text == "30%\ndone\n"


def test_how_far_a_bar_is_is_reported_while_it_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.tool import progress

    told: list[progress.Progress] = []

    def heard(each: progress.Progress) -> None:
        told.append(each)
        (tmp_path / f"heard {each.progress:g}").touch()

    monkeypatch.setattr(progress, "observers", [heard])
    command = """for n in 1 2; do printf "\\r %d0%%|## | $n/10" $n >&2; until [ -e "heard ${n}0" ]; do sleep 0.02; done; done
        printf "\\n\\r3/5"; until [ -e "heard 3" ]; do sleep 0.02; done; echo"""
    response = asyncio.run(run(command, tmp_path))
    assert [(each.progress, each.total, each.ended) for each in told] == [
        (10, 100, False),
        (20, 100, False),
        (3, 5, False),
        (3, 5, True),
    ]
    assert told[0].message == "10%|## | 1/10"
    assert response.text.endswith("\n")


def test_what_python_prints_comes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)

    async def scenario() -> None:
        python = f"import time; print('first'); time.sleep({100 + os.getpid() / 1e6})"
        async for chunk in await stream(f'{sys.executable} -c "{python}"'):
            assert "first" in "".join(getattr(block, "text", "") for block in chunk.content)
            break

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_command_that_closes_its_output_is_waited_for() -> None:
    assert asyncio.run(run("exec >&- 2>&-; sleep 0.3; exit 3")).text == "[exit code 3]"


@pytest.mark.parametrize(
    "command", ["cat /dev/tty", "read -r x < /dev/tty || exit 1", "sudo -k -S true </dev/tty", "cat"]
)
def test_nobody_is_asked_for_a_password_on_a_terminal(command: str) -> None:
    response = asyncio.run(run(command, timeout=20_000))
    assert response.metadata["timed_out"] is False


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo a\0b", "holds a NUL character"),
        ("echo \ud800", "half of a surrogate pair"),
        ("echo " + "x" * 131_072, "Write it to a file"),
    ],
)
def test_a_command_that_cant_be_given_to_a_program_is_said(command: str, said: str) -> None:
    response = asyncio.run(run(command))
    assert response.state is ToolResultState.ERROR
    assert said in response.text
    assert "\n" not in response.text


def command_lines() -> list[str]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found.append(Path(entry.path, "cmdline").read_text(errors="replace"))
            except OSError:
                continue
    return found


def test_a_cancelled_call_kills_its_group_and_the_cancellation_goes_on(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    async def scenario() -> None:
        task = asyncio.create_task(run(f"echo $$ > {pid}; sleep 100"))
        await asyncio.to_thread(written, pid)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert gone(written(pid))


def test_a_stream_that_is_closed_early_kills_its_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    async def scenario() -> None:
        chunks = await stream(f"echo $$ > {pid}; echo x; sleep 100")
        async for _ in chunks:
            break
        await chunks.aclose()

    asyncio.run(scenario())
    assert gone(written(pid))


def test_a_hundred_thousand_lines_a_second_dont_fill_the_memory() -> None:
    response = asyncio.run(run("timeout 0.5 yes; true"))
    assert response.metadata["characters"] > 0


def test_bashs_own_start_up_files_and_exported_functions_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start.sh"
    start.write_text("echo from the start-up file\n")
    monkeypatch.setenv("BASH_ENV", str(start))
    monkeypatch.setenv("BASH_FUNC_ls%%", "() {  echo from the function; }")
    assert "from the" not in asyncio.run(run("ls; echo done", tmp_path)).text


def test_git_runs_nothing_of_its_repositorys_for_a_command_that_only_reads(tmp_path: Path) -> None:
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    repository = tmp_path / "repository"
    setup = f"""git init -q {repository} && cd {repository} && echo a > a && git add a &&
        git -c user.name=x -c user.email=x@y commit -qm x && echo b > a &&
        git config core.fsmonitor {evil} && git config diff.external {evil} && git config core.pager {evil} &&
        git config core.hooksPath {tmp_path} && cp {evil} {tmp_path}/post-index-change"""
    assert asyncio.run(run(setup, tmp_path)).metadata["exit_code"] == 0
    (tmp_path / "ran").unlink(missing_ok=True)
    for command in ("git status", "git diff", "git log -p", "git show"):
        response = asyncio.run(run(command, repository))
        assert response.metadata["exit_code"] == 0, response.text
        assert not (tmp_path / "ran").exists(), command
    assert "+b" in asyncio.run(run("git diff", repository)).text


def test_a_folder_that_only_looks_like_a_repository_has_no_say(tmp_path: Path) -> None:
    fake = tmp_path / "work" / "fake"
    setup = f"""git init -q --bare {fake} && cd {tmp_path}/work && echo '* diff=x' > .gitattributes && echo a > a &&
        git --git-dir={fake} config core.bare false && git --git-dir={fake} config core.worktree .. &&
        git --git-dir={fake} config diff.x.command 'touch {tmp_path}/ran; :' &&
        git --git-dir={fake} --work-tree=. add a && echo b > a"""
    assert asyncio.run(run(setup, tmp_path)).metadata["exit_code"] == 0
    response = asyncio.run(run("git diff", fake))
    assert response.metadata["exit_code"] != 0
    assert not (tmp_path / "ran").exists()


def test_a_command_ends_with_the_process_that_runs_it_even_one_that_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = (
        "import asyncio, sys; from nbtoolkit.tool.bash import Bash\n"
        "async def go():\n"
        "    async for _ in Bash().call(command=sys.argv[1]): pass\n"
        "asyncio.run(go())\n"
    )
    command = f"setsid sleep 100 & echo $! > {pid}; sleep 100"
    process = subprocess.Popen([sys.executable, "-c", program, command])
    number = written(pid)
    process.kill()
    process.wait()
    assert gone(number)
