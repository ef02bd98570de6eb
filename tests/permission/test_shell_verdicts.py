"""The verdict table, row by row and mode by mode: see verdicts.txt."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode
from nbtoolkit.tool.bash import Bash

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = Path(__file__).with_name("verdicts.txt")
MODES = ("default", "accept_edits", "explore", "bypass", "dont_ask")
CODES = {
    "R": "allow allow allow allow allow",
    "O": "ask ask allow allow deny",
    "E": "ask allow deny allow allow",
    "X": "ask ask deny allow deny",
    "S": "safety safety deny allow deny",
    "P": "safety safety deny safety deny",
    "A": "allow allow deny allow allow",
    "D": "deny deny deny deny deny",
    "K": "ask ask deny ask deny",
    "H": "safety safety deny ask deny",
    "Q": "ask ask ask ask deny",
}


SIGNS = str.maketrans({"␤": "\n", "␉": "\t", "␍": "\r", "␋": "\x0b"})


def _rows() -> Iterator[tuple[str, str, str, str, str]]:
    rules = "-"
    section = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("rules "):
            rules = line.removeprefix("rules ").strip()
            section = f"what {rules} means"
        elif line.startswith("# --- "):
            section = line.removeprefix("# --- ")
        elif line[:1] in CODES and line[1:4] == " | ":
            # The reason stands far to the right; a comment of the command itself doesn't.
            command, _, reason = line[4:].partition("   # ")
            yield rules, line[0], command.rstrip().translate(SIGNS), reason.strip() or section, section


TABLE_ROWS = list(_rows())
ROWS = [row[:3] for row in TABLE_ROWS]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a project in it, as the table's rows expect them; nothing here runs a command."""
    tmp_path = tmp_path_factory.mktemp("verdicts")
    home = tmp_path / "people" / "me"
    work = home / "work"
    outside = tmp_path / "srv"
    for folder in (
        work / "src",
        work / ".git" / "hooks",
        work / ".github",
        work / "secret",
        work / "out",
        outside,
        home / ".ssh",
    ):
        folder.mkdir(parents=True)
    for name in (
        "README.md",
        "data.csv",
        "package.json",
        ".gitignore",
        ".env",
        ".env.example",
        "data.tar",
        "nbtoolkit.toml",
    ):
        (work / name).write_text("a,b\n")
    (work / "secret" / "a.txt").write_text("s\n")
    (home / "outside.txt").write_text("o\n")
    (home / "notes.txt").write_text("n\n")
    (outside / "outside.txt").write_text("o\n")
    (home / ".ssh" / "id_rsa").write_text("k\n")
    (work / "link.txt").symlink_to(outside / "outside.txt")
    (work / "linked").symlink_to(outside)
    (work / "other" / "deep").mkdir(parents=True)
    (work / "other" / "deep" / "nbtoolkit.toml").touch()
    (work / "holder").mkdir()
    (work / "holder" / "link").symlink_to(outside)
    (work / "secretlink").symlink_to(work / ".env")
    (work / "landing").mkdir()
    (work / "landing" / "README.md").symlink_to(outside / "outside.txt")
    return work


@pytest.fixture
def place(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project as the working directory, and its home as the home."""
    monkeypatch.setenv("HOME", str(tree.parent))
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    for name in ("x", "f", "cmd", "where", "FOO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tree)
    return tree


@lru_cache(maxsize=200)
def _kept_engine(work: Path, rules: str, mode: str) -> PermissionEngine:
    return _engine(work, rules, mode)


def _engine(work: Path, rules: str, mode: str) -> PermissionEngine:
    engine = PermissionEngine(PermissionContext(mode=PermissionMode(mode), working_directory=str(work)))
    for rule in rules.split(" | ") if rules != "-" else ():
        behavior, _, text = rule.partition(" ")
        engine.add_rule(text, behavior)
    return engine


def _verdict(work: Path, rules: str, mode: str, command: str) -> str:
    # Nothing in a judgement waits, so it needs no loop.
    judging = _kept_engine(work, rules, mode).check_permission(BASH, {"command": command})
    with pytest.raises(StopIteration) as ended:
        judging.send(None)
    decision: PermissionDecision = ended.value.value
    assert decision.decision_reason != "the tool's own check", decision.message
    return "safety" if decision.bypass_immune else decision.behavior.value


def test_the_table_is_as_large_as_its_promise_and_each_row_has_its_reason_once() -> None:
    assert len(ROWS) * len(MODES) >= 5_000
    assert all(reason for *_, reason, _ in TABLE_ROWS)
    twice = [row for row, count in Counter((rules, command) for rules, _, command in ROWS).items() if count > 1]
    assert not twice


SECTIONS = list(dict.fromkeys(section for *_, section in TABLE_ROWS))


@pytest.mark.parametrize("section", SECTIONS)
def test_every_row_holds_in_every_mode(place: Path, section: str) -> None:
    wrong = []
    for rules, code, command, reason, where in TABLE_ROWS:
        if where == section:
            found = " ".join(_verdict(place, rules, mode, command) for mode in MODES)
            if found != CODES[code]:
                wrong.append((command, found, CODES[code], reason))
    assert not wrong


BASH = Bash()
ORDER = {"allow": 0, "ask": 1, "safety": 1, "deny": 2}
# Ways to write the same thing, or more: none may turn a question or a refusal into a permission.
DISGUISES = {
    "spaces": "  {}  ",
    "a newline before": "\n{}",
    "a newline behind": "{}\n",
    "a semicolon": "{};",
    "a subshell": "({}\n)",
    "a group": "{{ {}\n}}",
    "behind true": "true && {}",
    "behind a harmless command": "ls; {}",
    "before a harmless command": "{}\nls",
    "in an if": "if true; then {}\nfi",
    "in a loop": "for i in 1; do {}\ndone",
    "in a substitution": "echo $({}\n)",
    "in a quoted substitution": 'echo "$({}\n)"',
    "in a function": "frob() {{ {}\n}}\nfrob",
    "negated": "! {{ {}\n}}",
    "timed": "time {{ {}\n}}",
    "in a process substitution": "cat <({}\n)",
    "in a case": "case a in a) {}\n;; esac",
}
SERIOUS = [row for row in ROWS if row[1] in "XSPDKHQ"]


@lru_cache(maxsize=5_000)
def _plain(work: Path, rules: str, command: str) -> str:
    return _verdict(work, rules, "default", command)


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_no_disguise_turns_a_question_or_a_refusal_into_a_permission(place: Path, disguise: str) -> None:
    softer = []
    # A third of the rows in each disguise, each row in a third of the disguises.
    turn = list(DISGUISES.values()).index(disguise)
    for rules, _, command in SERIOUS[turn % 3 :: 3]:
        plain = _plain(place, rules, command)
        hidden = _verdict(place, rules, "default", disguise.format(command))
        if ORDER[hidden] == 0 or (ORDER[plain] == 2 and ORDER[hidden] < 1):
            softer.append((plain, hidden, command))
    assert not softer


@pytest.mark.parametrize("quote", ["'{}'", '"{}"', "\\{}", "$'{}'", "''{}", '""{}'])
def test_quoting_the_first_word_hides_nothing_from_deny_rules(place: Path, quote: str) -> None:
    for rules, code, command in ROWS:
        first, _, rest = command.partition(" ")
        if code == "D" and first.isalpha() and first not in {"if", "for", "time"}:
            assert _verdict(place, rules, "default", f"{quote.format(first)} {rest}") != "allow", command


def test_each_suggestion_allows_the_same_call_the_next_time(place: Path) -> None:
    checked = 0
    for _, code, command in ROWS:
        if code not in "XEO":
            continue
        engine = _engine(place, "-", "default")
        decision = asyncio.run(engine.check_permission(Bash(), {"command": command}))
        if decision.behavior is not PermissionBehavior.ASK or not decision.suggested_rules:
            continue
        for rule in decision.suggested_rules:
            engine.add_rule(rule)
        assert (
            asyncio.run(engine.check_permission(Bash(), {"command": command})).behavior is PermissionBehavior.ALLOW
        ), command
        checked += 1
    assert checked > 200
