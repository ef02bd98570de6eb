"""The subcommands that record, replay, stop and export, as a cell shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nbtoolkit.mcp import taping
from nbtoolkit.notebook.completion import Known, complete
from nbtoolkit.notebook.exports import FORMATS
from tests.notebook.test_magics import desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.notebook.test_magics import Desk

__all__ = ["desk"]

SECRET = "ghp_" + "a1B2c3D4" * 5


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    if taping.tape is not None:  # of a test that failed
        taping.tape.stop()  # type: ignore[attr-defined]


def test_a_recording_is_replayed_with_the_same_records(desk: Desk) -> None:
    assert desk.ok("%toolkit record x.jsonl").text == "Recording in x.jsonl."
    before = desk.ok("%toolkit call echo text=hi").text
    assert desk.ok("%toolkit stop").text == "Recorded x.jsonl, 2 entries."
    assert "Replaying" not in desk.ok("%toolkit").text
    desk.asked.clear()
    assert desk.ok("%toolkit replay x.jsonl").text == "Replaying x.jsonl, 2 entries: nothing really runs."
    assert desk.ok("%toolkit call echo text=hi").text == before
    assert desk.asked == []
    assert desk.ok("%toolkit").text.endswith("Replaying x.jsonl")
    assert desk.shell.user_ns["_"] == ["hi", None, None]
    assert desk.ok("%toolkit stop").text == "Replayed x.jsonl, 2 entries."


def test_stopping_says_what_was_never_asked_for(desk: Desk) -> None:
    desk.ok("%toolkit record x.jsonl\n%toolkit call echo text=hi\n%toolkit stop")
    desk.ok("%toolkit replay x.jsonl")
    said = desk.ok("%toolkit stop").text
    assert said == "Replayed x.jsonl, 2 entries. Never asked for: ask echo (line 2), call echo (line 3)."


def test_update_keeps_the_rest(desk: Desk) -> None:
    desk.ok("%toolkit record x.jsonl\n%toolkit call echo text=hi\n%toolkit stop")
    said = desk.ok("%toolkit record x.jsonl --update").text
    assert said == "Recording in x.jsonl, in place of the same calls there."
    desk.ok("%toolkit call echo text=ho\n%toolkit stop")
    assert len(Path("x.jsonl").read_text("utf-8").splitlines()) == 5


def test_a_miss_fails_the_cell_with_what_to_do_and_no_traceback(desk: Desk) -> None:
    desk.ok("%toolkit record x.jsonl\n%toolkit call echo text=hi\n%toolkit stop\n%toolkit replay x.jsonl")
    ran = desk.run("%toolkit call echo text=ho")
    assert type(ran.error).__name__ == "CassetteMissError"
    lines = ran.stdout.strip().splitlines()
    assert lines[0] == (
        "CassetteMissError: the cassette 'x.jsonl' has no call echo(text=\"ho\", note=null, where=null). "
        "The nearest, in line 2, differs:"
    )
    assert lines[1:] == [
        '- text: the call has "ho", the cassette "hi"',
        "Make the calls anew with %toolkit record x.jsonl --update, in Python with toolkit.record('x.jsonl', update=True).",
    ]
    desk.ok("%toolkit stop")


def test_mistakes_are_one_line(desk: Desk) -> None:
    assert desk.fault("%toolkit stop").startswith("nothing is recorded, replayed")
    assert desk.fault("%toolkit replay none.jsonl").startswith(
        "there is no cassette 'none.jsonl'; make it with %toolkit"
    )
    assert desk.fault("%toolkit record").startswith("expected %toolkit record PATH [--update]")
    Path("broken.jsonl").write_text("{", "utf-8")
    assert desk.fault("%toolkit replay broken.jsonl").startswith("line 1 of the cassette 'broken.jsonl' is wrong")
    assert "no format of the log is called 'xls'" in desk.fault("%toolkit export xls")


def test_the_log_is_exported_in_each_format_without_secrets(desk: Desk) -> None:
    desk.ok(f"%toolkit call echo text='=1+1 | {SECRET}'")
    texts = {}
    for form in FORMATS:
        assert desk.ok(f"%toolkit export {form} log.{form}").text == f"Wrote 1 call to log.{form}."
        texts[form] = Path(f"log.{form}").read_text("utf-8")
        assert SECRET not in texts[form]
        assert "[redacted]" in texts[form]
    assert json.loads(texts["json"])[0]["tool"] == json.loads(texts["jsonl"])["tool"] == "echo"
    assert texts["markdown"].splitlines()[0] == "| # | Tool | Arguments | Decided | State |"
    assert "=1+1 \\| [redacted]" in texts["markdown"]
    assert texts["csv"].splitlines()[0].startswith("number,id,tool,")
    assert "allowed once" in desk.ok("%toolkit export markdown").text


def test_cassettes_and_formats_complete(desk: Desk) -> None:
    Path("penguins.cassette.jsonl").touch()
    known = Known(desk.toolkit, {})

    def found(line: str) -> list[str]:
        return [each.text for each in complete(line, known)[1]]

    assert found("replay p") == ["penguins.cassette.jsonl"]
    assert found("record x.jsonl --") == ["--update"]
    assert found("export m") == ["markdown"]
    assert "answers" in found("answ")
