"""Records and cassettes are the same, byte for byte, whatever the hash seed, time zone, home and folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SCRIPT = '''
import sys
from datetime import date, datetime, timezone
from pathlib import Path

from nbtoolkit import Toolkit
from nbtoolkit.notebook import render


def look(names: set[str], day: date) -> dict:
    """Look."""
    return {"names": names, "day": day, "at": datetime(2026, 1, 2, tzinfo=timezone.utc), "home": Path.home() / "x"}


def lines() -> object:
    """Lines."""
    yield f"in {Path.cwd()}\\n"
    yield f"for {Path.home()}/file"


def play(toolkit: Toolkit) -> None:
    toolkit.mode = "bypass"
    for name, arguments in [("look", {"names": ["b", "a", "c"], "day": "2026-01-02"}), ("lines", {}), ("look", {})]:
        response = toolkit.call_sync(name, **arguments)
        print(*render.record(list(toolkit.log)[-1], response).values(), sep="\\n")


functions = [look, lines]
with Toolkit(functions).record("x.jsonl") as tape:
    play(tape.toolkit)
print("----")
with Toolkit(functions).replay("x.jsonl") as tape:
    play(tape.toolkit)
print("----")
print(Path("x.jsonl").read_text("utf-8"))
'''


def run(folder: Path, seed: str, zone: str) -> str:
    folder.mkdir()
    env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=50
    )
    return ran.stdout


def test_another_process_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    one = run(tmp_path / "one", "1", "America/New_York")
    assert run(tmp_path / "another", "2", "Asia/Tokyo") == one
    before, after = one.split("----\n")[:2]
    assert before == after
    assert '"names": ["a", "b", "c"]' in before
    assert str(tmp_path) not in one
