"""Serving and processes, on the newest kernel: a client that starts its server, and the end of a kernel that serves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.foreign import PATIENCE, ForeignClient, text
from tests.kernel.frontend import FrontEnd, KernelProcess
from tests.kernel.test_serve import TOOLS, buttons, listens, press, result, soon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.environments import KernelEnvironment


@pytest.fixture
def kernel(newest_kernel_env: KernelEnvironment, tmp_path: Path) -> Iterator[KernelProcess]:
    kernel = KernelProcess(newest_kernel_env, tmp_path)
    yield kernel
    kernel.stop()


@pytest.fixture
def page(kernel: KernelProcess) -> Iterator[FrontEnd]:
    page = FrontEnd(kernel).connect()
    page.run("%load_ext nbtoolkit").ok()
    page.run(TOOLS).ok()
    yield page
    page.close()


def test_a_client_that_starts_its_server_reaches_the_kernel_by_its_connection_file_until_its_end(
    page: FrontEnd, kernel: KernelProcess
) -> None:
    file = page.run("from ipykernel.connect import get_connection_file\nprint(get_connection_file())").ok().text.strip()
    command = [sys.executable, "-m", "nbtoolkit", "serve", "--stdio", "--kernel", file]
    refused = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    soon(page, lambda: refused.poll() is not None)
    assert refused.stderr is not None
    with refused.stderr as errors:
        assert errors.read() == (
            f"nbtoolkit: the kernel of {file} serves no tools; write %toolkit serve in its notebook, "
            "then start this again\n"
        )
    assert refused.returncode == 1

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = page.run(f"%toolkit serve --port {port}").wait()
        assert f"CommandError: can't listen at 127.0.0.1:{port}: Address already in use" in failed.error
    assert "--port expects a number from 1 to 65535, but got 'x'" in page.run("%toolkit serve --port x").wait().error
    assert "nothing is recorded, replayed or served" in page.run("%toolkit stop").wait().error
    serving = page.run(f"%toolkit serve --port {port}").ok()
    assert str(port) not in serving.text
    moved = page.run("%toolkit serve --port 1").wait()
    assert "the notebook is served already, at another address; %toolkit stop comes first" in moved.error
    client = ForeignClient(command, "legacy")
    try:
        assert client.tools() == ["add", "where"]
        call = client.call("add", a=1)
        press(page, "Allow once", serving)
        assert text(result(page, call)) == "2"
        page.run("from nbtoolkit.notebook import serving").ok()
        listens(page)
        page.run(TOOLS.replace("def where", "def here")).ok()
        soon(page, lambda: client.heard == ["notifications/tools/list_changed"])
        assert client.tools() == ["add", "where", "here"]
        call = client.call("add", a=1)
        page.until(lambda: buttons(page, "Allow once", serving), "the card")
        call.cancel()
        page.until(lambda: not buttons(page, "Allow once", serving), "the card to go")
        page.run("%toolkit serve stop").ok()
        page.run("%toolkit serve").ok()
        assert text(result(page, client.call("where"))) == "true", "it finds the server again"
        page.run("%toolkit serve stop").ok()
        lost = result(page, client.call("where"))
        assert lost.is_error
        assert "write %toolkit serve in its notebook" in text(lost)

        # Nothing is left when the kernel is killed, also where a child that it forked lives on.
        page.run("%toolkit serve").ok()
        port = int(page.run("print(serving.current().port)").ok().text)
        fork = "multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,), daemon=True)"
        page.run(f"import multiprocessing, time, warnings\nwarnings.simplefilter('ignore')\nchild = {fork}").ok()
        child = int(page.run("child.start()\nprint(child.pid)").ok().text)
        call = client.call("add", a=1)
        page.until(lambda: buttons(page, "Allow once"), "the card")
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.process.wait(PATIENCE)
        try:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), PATIENCE)
        finally:
            os.kill(child, signal.SIGKILL)
        assert "gave no result: " in text(result(page, call))
    finally:
        client.close()
