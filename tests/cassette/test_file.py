"""The file of a cassette: plain lines, clear faults, written at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.cassette.file import Cassette, Entry
from nbtoolkit.exception import CassetteError, CassetteMissError
from nbtoolkit.redact import MARK

HEAD = '{"nbtoolkit": "cassette", "version": 1}'


def call(name: str, result: Any = "ok", **arguments: Any) -> Entry:
    return Entry("call", name, "", arguments, {"result": result})


def write(folder: Path, *lines: str) -> Path:
    path = folder / "x.cassette.jsonl"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_it_is_one_line_for_each_entry_in_a_fixed_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.jsonl"
    Cassette(
        path, [Entry("call", "git_add", "git", {"b": 1, "a": "ü"}, {"decision": "allowed once", "result": None})]
    ).write()
    assert path.read_text("utf-8").splitlines() == [
        HEAD,
        '{"call": "git_add", "on": "git", "arguments": {"b": 1, "a": "ü"}, "decision": "allowed once", "result": null}',
    ]
    assert [each.name for each in path.parent.iterdir()] == ["x.jsonl"]


def test_a_file_that_was_read_is_written_the_same(tmp_path: Path) -> None:
    cassette = Cassette(tmp_path / "x.jsonl", [call("f", "half \ud800", x=1.0), call("g", "line\u2028end")])
    cassette.write()
    before = cassette.path.read_bytes()
    Cassette.read(cassette.path).write()
    assert cassette.path.read_bytes() == before


def test_what_would_turn_or_hide_a_diffs_text_is_written_as_its_number(tmp_path: Path) -> None:
    hidden = "a\u202eb\u2028c\u2066d\ufeffe\x9bf"
    cassette = Cassette(tmp_path / "x.jsonl", [call("f", hidden)])
    cassette.write()
    text = cassette.path.read_text("utf-8")
    assert "a\\u202eb\\u2028c\\u2066d\\ufeffe\\u009bf" in text
    assert Cassette.read(cassette.path).entries[0].fields["result"] == hidden


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([""], "line 1 of the cassette .* is wrong: it is no JSON from column 1 on"),
        (['{"a": 1}'], r'line 1 .* expected \{"nbtoolkit": "cassette", "version": 1\}'),
        (['{"nbtoolkit": "cassette", "version": 2}'], "line 1 .* is of version 2, and this nbtoolkit reads 1"),
        ([HEAD, '{"call": "f", "arguments": {}}', '{"call": '], "line 3 .* is no JSON from column 10 on"),
        ([HEAD, "[1]"], "line 2 .* expected an object"),
        ([HEAD, '{"play": "f"}'], "line 2 .* expected an object with one of ask, call"),
        ([HEAD, '{"call": 5, "arguments": {}}'], "line 2 .* call and on must be texts"),
        ([HEAD, '{"call": "f", "arguments": [1]}'], "line 2 .* arguments must be an object"),
    ],
)
def test_a_broken_file_is_an_error_that_names_the_line(lines: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=said):
        Cassette.read(write(tmp_path, *lines))


def test_a_missing_file_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r"there is no cassette .*; make it with %toolkit record"):
        Cassette.read(tmp_path / "none.jsonl")


def test_entries_are_found_wherever_they_stand_and_whatever_the_order_of_names(tmp_path: Path) -> None:
    cassette = Cassette(tmp_path / "x", [call("f", 1, a=1, b=2), call("g", 2), call("f", 3, b=2, a=1)])
    assert [cassette.take("call", "f", "", {"b": 2, "a": 1}).fields["result"] for _ in range(4)] == [1, 3, 3, 3]  # type: ignore[union-attr]
    assert cassette.take("call", "f", "", {"a": 1}) is None
    assert cassette.take("call", "f", "other", {"a": 1, "b": 2}) is None
    assert [entry.name for entry in cassette.unused] == ["g"]


def test_what_was_redacted_stands_for_any_text(tmp_path: Path) -> None:
    cassette = Cassette(tmp_path / "x", [call("f", key=f"Bearer {MARK}", n=1)])
    assert cassette.find("call", "f", "", {"key": "Bearer placeholder", "n": 1}) is not None
    assert cassette.find("call", "f", "", {"key": "placeholder", "n": 1}) is None
    assert cassette.find("call", "f", "", {"key": "Bearer placeholder", "n": True}) is None


def test_a_miss_names_the_nearest_entry_and_the_difference(tmp_path: Path) -> None:
    path = write(
        tmp_path, HEAD, json.dumps(call("f", a="Gentoo", b=1).to_json()), json.dumps(call("f", a="x", c=2).to_json())
    )
    cassette = Cassette.read(path)
    error = cassette.miss("call", "f", "", {"a": "Adelie", "b": 1})
    assert isinstance(error, CassetteMissError)
    assert str(error).splitlines() == [
        f"the cassette '{path}' has no call f(a=\"Adelie\", b=1). The nearest, in line 2, differs:",
        '- a: the call has "Adelie", the cassette "Gentoo"',
        f"Make the calls anew with %toolkit record {path} --update, in Python with toolkit.record('{path}', update=True).",
    ]
    assert "- b: the call has nothing, the cassette 1" in str(cassette.miss("call", "f", "", {"a": "Gentoo"}))
    assert "There is none of that name: the nearest is f." in str(cassette.miss("call", "ff", "", {}))


def test_long_values_are_shown_where_they_part(tmp_path: Path) -> None:
    cassette = Cassette(tmp_path / "x", [call("f", text="a" * 5_000 + "old")])
    said = str(cassette.miss("call", "f", "", {"text": "a" * 5_000 + "new"}))
    assert 'aaanew", the cassette …' in said
    assert len(said) < 600
