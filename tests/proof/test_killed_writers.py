"""Writers killed with SIGKILL at random moments: what they wrote is the old or the new, never half, and nothing is lost."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nbtoolkit.cassette.file import Cassette
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.store import Store
from nbtoolkit.tool.journal import read
from tests.proof import writer
from tests.proof.plan import LIMIT, Plan
from tests.proof.writers import Writers

pytestmark = pytest.mark.timeout(LIMIT)


def only(folder: Path, *names: str) -> int:
    """How many files stand beside those that should be there; each was whole before it had that name."""
    left = [each for each in folder.iterdir() if each.name not in names]
    for each in left:
        assert each.name.startswith("."), f"{each.name} is left, and isn't even hidden"
        assert each.stat().st_size > 0, f"{each.name} is empty"
        each.unlink()
    return len(left)


def check_file(folder: Path) -> int:
    assert writer.is_whole((folder / "file.txt").read_text())
    return only(folder, "file.txt")


def check_created(folder: Path) -> int:
    found = sorted(folder.iterdir(), key=lambda each: int(each.name.rpartition("-")[2]))
    left = 0
    for number, each in enumerate(found):
        files = [file.name for file in each.iterdir()]
        # The last folder may have been made, and not yet what belongs in it.
        assert "file.txt" in files or number == len(found) - 1
        if "file.txt" in files:
            assert writer.is_whole((each / "file.txt").read_text())
        left += only(each, "file.txt")
    return left


def check_rules(folder: Path) -> int:
    project, own = folder / "project", folder / "own"
    rules = tomllib.loads((project / "nbtoolkit.toml").read_text())["allow"]
    assert rules == [f"load_table(path=data/{number}/**)" for number in range(len(rules))], "none lost, none twice"
    mine = tomllib.loads((own / "nbtoolkit.toml").read_text())
    assert mine["allow"] == [f"Bash(make {number}:*)" for number in range(len(mine["allow"]))]
    assert 0 <= len(rules) - len(mine["allow"]) <= 1
    store = Store(Grants(), project, user=own / "nbtoolkit.toml")
    assert store.load() == []
    # Between the two files a kill leaves the project's unaccepted, which is the safe half.
    assert store.accepted or store.withheld
    return only(project, "nbtoolkit.toml") + only(own, "nbtoolkit.toml")


def check_cassette(folder: Path) -> int:
    entries = Cassette.read(folder / "calls.cassette.jsonl").entries
    assert [entry.arguments for entry in entries] == [{"number": number} for number in range(len(entries))]
    assert all("result" in entry.fields for entry in entries)
    return only(folder, "calls.cassette.jsonl")


def check_tokens(folder: Path) -> int:
    (file,) = [each for each in folder.iterdir() if each.suffix == ".json"]
    first, text, last = json.loads(file.read_text())["tokens"]["access_token"].split()
    assert (first, text) == (last, "t" * 20_000)
    assert file.stat().st_mode & 0o777 == 0o600
    return only(folder, file.name)


def check_server_log(folder: Path) -> int:
    for file in folder.iterdir():
        *lines, last = file.read_text().split("\n")
        for line in lines:
            words = line.split()
            assert words[:2] == words[-2:]
        # What is appended over a page's end may be cut there: the last line, and nothing before it.
        assert last == "" or (last.startswith("line ") and file.suffix == ".log")
        file.unlink()
    return 0


def check_export(folder: Path) -> int:
    numbers = [json.loads(line)["number"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))
    return only(folder, "log.jsonl")


def check_journal(folder: Path) -> int:
    rows, cut = read(folder / "journal.jsonl")
    done = [int(line) for line in (folder / "effects").read_text().split("\n")[:-1]]
    allowed = Counter(row["tool_input"]["number"] for row in rows if row["event"] == "allowed")
    ended = Counter(row["tool_input"]["number"] for row in rows if row["event"] == "ended")
    kills = int((folder / "kills").read_text()) if (folder / "kills").exists() else 1
    assert max(allowed.values(), default=0) <= 1, "no call stands there twice"
    assert max(ended.values(), default=0) <= 1
    assert set(done) <= set(allowed), "nothing ran whose decision isn't written"
    assert set(ended) <= set(done), "nothing ended that didn't run"
    assert len(done) == len(set(done))
    # A kill cuts off what is under way, one call each time.
    assert 0 <= len(allowed) - len(ended) <= kills
    assert cut <= kills
    assert all(row["decision"] == "allowed by mode bypass" for row in rows)
    return 0


CHECKS: dict[str, Callable[[Path], int]] = {
    "write": check_file,
    "create": check_created,
    "edit": check_file,
    "undo": check_file,
    "rules": check_rules,
    "cassette": check_cassette,
    "tokens": check_tokens,
    "server_log": check_server_log,
    "export": check_export,
    "journal": check_journal,
}


@pytest.mark.parametrize("kind", CHECKS)
def test_a_writer_that_is_killed_leaves_the_old_or_the_new(
    kind: str, plan: Plan, writers: Writers, tmp_path: Path
) -> None:
    chance, left, kills = plan.chance(f"writer {kind}"), 0, plan.pick(2, 40)
    for number in range(kills):
        folder = tmp_path / str(number)
        folder.mkdir()
        writers.killed(kind, folder, chance.uniform(0, 0.06))
        more = CHECKS[kind](folder)
        assert more <= 1, "a kill ends one write"
        left += more
    plan.count("kill -9 of a process that writes files", kills)
    plan.count("whole files left under a passing name by a kill", left)
    # A moment between two calls of the system; more of them would be another way of writing. Of two kills both may hit it.
    assert left <= max(2, kills // 4)


def test_a_journal_goes_on_over_many_kills(plan: Plan, writers: Writers, tmp_path: Path) -> None:
    chance, kills = plan.chance("journal"), plan.pick(4, 40)
    for number in range(1, kills + 1):
        (tmp_path / "start").write_text(str(number * 1_000_000))
        writers.killed("journal", tmp_path, chance.uniform(0, 0.03))
        (tmp_path / "kills").write_text(str(number))
        check_journal(tmp_path)
    plan.count("kill -9 of a process that writes one journal on and on", kills)
    plan.count("calls in the journals of killed processes", len(read(tmp_path / "journal.jsonl")[0]) // 2)
