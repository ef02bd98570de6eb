"""Files replaced in one step: what stands there is the old or the new, with the mode it had, and nothing beside it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nbtoolkit import atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=["without a name", "under a passing name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways: systems and file systems differ in whether a file may be without a name."""
    if request.param == "under a passing name":
        monkeypatch.setattr(atomic, "nameless", lambda folder, mode: None)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")


@pytest.mark.usefixtures("way")
def test_a_file_is_made_or_replaced_with_nothing_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "é.txt"
    atomic.replace(file, b"one")
    assert mode(file) == 0o666 & ~_mask()
    file.chmod(0o640)
    atomic.replace(file, b"two")
    assert (file.read_bytes(), mode(file)) == (b"two", 0o640)
    atomic.replace(file, b"three", mode=0o600)
    assert (file.read_bytes(), mode(file)) == (b"three", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["é.txt"]


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.usefixtures("way")
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    atomic.replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept"
    atomic.replace(file, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        atomic.replace(file, b"new")
    assert file.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_device_is_written_to_as_it_is() -> None:
    atomic.replace("/dev/null", b"anything")
    assert not Path("/dev/null").is_file()
    with pytest.raises(OSError, match="No space left"):
        atomic.replace("/dev/full", b"anything")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process was started")
def test_what_a_killed_process_left_under_a_passing_name_goes_with_the_next_file_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import os, sys
from nbtoolkit import atomic
os.replace = lambda *a, **k: os.kill(os.getpid(), 9)
atomic.replace(sys.argv[1], b"new")
"""
    file = tmp_path / "kept"
    file.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", program, file], check=False, timeout=60)
    assert killed.returncode == -9
    assert file.read_bytes() == b"old"
    (left,) = (each.name for each in tmp_path.iterdir() if each != file)
    # Of one that is at work still, of another machine, and what only looks like one.
    mine = atomic.passing_name()
    machine = left.split("-")[1]
    other = "0" * 8 if machine != "0" * 8 else "1" * 8
    foreign, old = (f".nbtoolkit-{other}-1-1-{digit * 12}.tmp" for digit in "01")
    for name in (mine, foreign, old, ".nbtoolkit-notes.tmp"):
        (tmp_path / name).touch()
    os.utime(tmp_path / old, (1_000_000, 1_000_000))
    monkeypatch.setattr(atomic, "_swept", set())
    atomic.replace(file, b"new")
    assert {each.name for each in tmp_path.iterdir()} == {"kept", mine, foreign, ".nbtoolkit-notes.tmp"}
    assert file.read_bytes() == b"new"
