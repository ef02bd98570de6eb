"""The fixtures in a test run of somebody else's, and what they cost where nobody uses them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

PLUGIN = "nbtoolkit.pytest_plugin"

PLAIN = """
import sys

def test_nothing_of_it_is_loaded():
    loaded = {name for name in sys.modules if name.startswith("nbtoolkit")}
    assert loaded == {"nbtoolkit", "nbtoolkit.faces", "nbtoolkit.pytest_plugin"}
"""

USING = """
import pytest

RAN = []

def save(species: str) -> str:
    "Save."
    RAN.append(species)
    return f"saved {species}"

@pytest.mark.toolkit_answers("save(species=Gentoo) -> allow", "deny: not yet")
def test_answers(toolkit, toolkit_answers):
    toolkit.register(save)
    assert toolkit.call_sync("save", species="Gentoo").text == "saved Gentoo"
    assert toolkit.call_sync("save", species="Adelie").text == "The user denied this call: not yet"
    assert [each.tool_input["species"] for each in toolkit_answers.asked] == ["Gentoo", "Adelie"]

def test_unused(toolkit, toolkit_answers):
    toolkit_answers.plan("other -> allow")

def test_missing(toolkit):
    toolkit.register(save)
    assert toolkit.call_sync("save", species="Gentoo").state == "denied"

def test_fails_for_itself(toolkit, toolkit_answers):
    toolkit_answers.plan("other -> allow")
    assert False

@pytest.mark.toolkit_answers("save -> allow")
def test_cassette(toolkit, cassette, request):
    RAN.clear()
    toolkit.register(save)
    assert toolkit.call_sync("save", species="Gentoo").text == "saved Gentoo"
    assert RAN == ([] if request.config.getoption("--toolkit-cassettes") == "replay" else ["Gentoo"])

@pytest.mark.toolkit_cassette("shared.jsonl")
def test_no_cassette(cassette):
    pass
"""


def run(folder: Path, *options: str) -> str:
    """What another pytest prints that has no plugin but ours."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=line", "--strict-markers", "-p", PLUGIN]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), *options],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return ran.stdout


def test_pytest_finds_the_plugin_where_nbtoolkit_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"nbtoolkit": PLUGIN}


def test_a_run_that_uses_no_fixture_loads_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(PLAIN, "utf-8")
    assert "1 passed" in run(tmp_path)


def test_fixtures_answer_fail_for_what_does_not_fit_and_record_and_replay(tmp_path: Path) -> None:
    (tmp_path / "test_using.py").write_text(USING, "utf-8")
    assert "1 passed" in run(tmp_path, "--toolkit-cassettes=record", "-k", "test_cassette")
    [path] = (tmp_path / "cassettes" / "test_using").iterdir()
    assert path.name == "test_cassette.cassette.jsonl"
    out = run(tmp_path)
    for line in (
        "PASSED test_using.py::test_answers",
        "PASSED test_using.py::test_cassette",
        "FAILED test_using.py::test_unused - Failed: the planned answers don't fit the calls: nothing asked for 'other ->",
        "FAILED test_using.py::test_missing - Failed: the planned answers don't fit the calls: there was no answer such as",
        "FAILED test_using.py::test_fails_for_itself",
        "ERROR test_using.py::test_no_cassette",
    ):
        assert line in out, out
    assert "3 failed, 2 passed, 1 error" in out


ALIKE = """
import pytest

def say(word: str) -> str:
    "Say."
    return word

class TestOne:
    @pytest.mark.toolkit_answers("allow")
    def test_it(self, toolkit, cassette):
        toolkit.register(say)
        assert toolkit.call_sync("say", word="one").text == "one"

class TestTwo:
    @pytest.mark.toolkit_answers("allow")
    def test_it(self, toolkit, cassette):
        toolkit.register(say)
        assert toolkit.call_sync("say", word="two").text == "two"

@pytest.mark.parametrize("word", ["a/b", "a b"])
@pytest.mark.toolkit_answers("allow")
def test_word(toolkit, cassette, word):
    toolkit.register(say)
    assert toolkit.call_sync("say", word=word).text == word
"""


def test_tests_whose_names_are_alike_have_a_cassette_each(tmp_path: Path) -> None:
    (tmp_path / "test_alike.py").write_text(ALIKE)
    assert "4 passed" in run(tmp_path, "--toolkit-cassettes=record", "-k", "alike")
    names = sorted(each.name for each in (tmp_path / "cassettes" / "test_alike").iterdir())
    assert names[:2] == ["TestOne.test_it.cassette.jsonl", "TestTwo.test_it.cassette.jsonl"]
    assert len(names) == 4
    assert "4 passed" in run(tmp_path, "-k", "alike")
