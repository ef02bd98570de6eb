"""Where a served notebook is looked for, and what is said where there is none."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from jupyter_client.connect import write_connection_file

from nbtoolkit.agents.serving import attach
from nbtoolkit.cli import main


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder with a file that is none, and the file of a kernel that has ended."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "kernel-broken.json").write_text("{", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write_connection_file(str(tmp_path / "kernel-ended.json"), shell_port=port, key=b"key")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, r"none of 2 kernels that were asked serves its notebook; write %toolkit serve in one"),
        ("kernel-ended.json", r"the kernel of .*kernel-ended\.json has ended; start it, and write %toolkit serve"),
        ("ended", r"the kernel of .*kernel-ended\.json has ended"),
        ("kernel-broken.json", r".*kernel-broken\.json can't be read as a connection file"),
        ("nothing", r"there is no connection file 'nothing'; expected the path that %connect_info prints"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_on_stderr(
    runtime: Path, given: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(attach.NotServing, match=f"^{said}"):
        attach.find(given)
    assert main(["serve", "--stdio", *([] if given is None else ["--kernel", given])]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.match(f"nbtoolkit: {said}", err)


def test_the_command_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        ([], "the following arguments are required"),
        (["serve"], "the following arguments are required: --stdio"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert words in capsys.readouterr().err
