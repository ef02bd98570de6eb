"""What a card shows of a call: a command as a ledger, a change as a difference, and never another text than will run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.notebook.widgets.bodies import Body, body
from nbtoolkit.notebook.widgets.diff import diff_markup
from nbtoolkit.notebook.widgets.highlight import coloured, lexer_for, lines_of, shell
from nbtoolkit.permission.approval import ApprovalRequest
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionRule
from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.diffs import unified
from nbtoolkit.tool.edit import Edit
from nbtoolkit.tool.write import Write
from tests.notebook.asking import HOSTILE, Markup


def shown(tool: ToolBase, tool_input: dict[str, Any], *allowed: str, state: AgentState | None = None) -> Body:
    engine = PermissionEngine(PermissionContext())
    for text in allowed:
        engine.add_rule(PermissionRule.parse(text, PermissionBehavior.ALLOW))
    judged = asyncio.run(engine.judge(tool, dict(tool_input)))
    asked = ApprovalRequest("c", tool, tool_input, judged.decision, judged.subjects, judgement=judged, state=state)
    return body(asked)


def ledger(command: str, *allowed: str) -> list[tuple[str, str, str]]:
    """The rows: operator, part, verdict."""
    cells = Cells(shown(Bash(), {"command": command}, *allowed).markup).cells
    return [(cells[i], cells[i + 1], cells[i + 2]) for i in range(0, len(cells), 3)]


class Cells(Markup):
    """The texts of a grid's cells, and of the block above it."""

    def __init__(self, markup: str) -> None:
        self.cells: list[str] = []
        self.above = ""
        self._grid = 0
        super().__init__(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        classes = dict(attrs).get("class") or ""
        if "nbtk-parts" in classes:
            self._grid = len(self._open)
        elif self._grid and len(self._open) == self._grid + 1:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if len(self._open) < self._grid:
            self._grid = 0

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if self._grid and self.cells:
            self.cells[-1] += data
        elif not self._grid and not self.cells:
            self.above += data


# ------------------------------------------------------------------------------------------------------- a command
def test_a_command_is_shown_once_broken_at_its_operators() -> None:
    command = 'uv run pytest -q && git commit -am "x && y"; git status | tail -n 5'
    rows = ledger(command, "Bash(uv run pytest:*)")
    assert rows == [
        ("", "uv run pytest -q", "✓ allowed · rule Bash(uv run pytest:*)"),
        ("&&", 'git commit -am "x && y"', "? asks · no rule allows it"),
        (";", "git status", "✓ allowed · read-only"),
        ("|", "tail -n 5", "✓ allowed · read-only"),
    ]
    made = Cells(shown(Bash(), {"command": command}).markup)
    assert made.above == ""
    assert "".join(f"{operator}{part}" for operator, part, _ in rows).replace(" ", "") == command.replace(" ", "")


def test_a_lines_end_between_commands_is_a_sign_of_its_own() -> None:
    assert [(operator, part) for operator, part, _ in ledger("make\nmake install &")] == [
        ("", "make"),
        ("⏎", "make install"),
        ("&", ""),
    ]


@pytest.mark.parametrize(
    "command",
    ["for f in *.py; do wc -l $f; done", "cat <<E\nhi\nE", "echo $(curl x) && ls", "(cd a && ls)", "ls # && rm x",
     "if true; then make; fi", "a() { make; }; a", "! make", "x=1; make"],
)  # fmt: skip
def test_what_the_parts_would_not_say_whole_is_shown_as_it_is_above_them(command: str) -> None:
    made = Cells(shown(Bash(), {"command": command}).markup)
    joined = "".join(f"{operator}{part}" for operator, part in zip(made.cells[0::3], made.cells[1::3], strict=True))
    assert made.above == command or joined.replace(" ", "") == command.replace(" ", "")


def test_what_a_command_reads_and_writes_is_judged_in_its_row() -> None:
    rows = ledger("cat ~/.aws/credentials && echo hi > out.txt")
    assert [part for _, part, _ in rows] == ["cat ~/.aws/credentials", "echo hi > out.txt"]
    assert rows[0][2].startswith("! asks · it reads cloud credentials")
    assert rows[1][2] == "? asks · no rule allows > out.txt"


def test_arguments_beside_the_command_are_one_click_away() -> None:
    made = shown(Bash(), {"command": "make", "timeout": 5000, "description": HOSTILE})
    assert "Arguments as sent" in Markup(made.markup).text
    assert '"timeout": 5000' in Markup(made.markup).text
    assert "Arguments as sent" not in Markup(shown(Bash(), {"command": "make", "description": None}).markup).text


@pytest.mark.parametrize("text", ["a\rb", "\ufeffls", "ls\r\nrm -rf x", "x" * 50_000, "  ls  ", "\nls\n", HOSTILE])
def test_colours_never_change_a_character(text: str) -> None:
    plain = Markup(shell(text)).text
    for char in "\r\ufeff\u202e\x1b\x00":
        text = text.replace(char, f"U+{ord(char):04X}")
    assert plain == text
    assert not {"script", "img"} & Markup(shell(text)).tags


def test_lines_keep_their_number_whatever_the_lexer_makes_of_them() -> None:
    text = '"""one\ntwo\n"""\nx = 1\n\n'
    made = lines_of(text, lexer_for("a.py"))
    assert [Markup(line).text for line in made] == text.split("\n")
    assert "span" in made[1]
    assert lines_of("<b>\n", None) == ["&lt;b&gt;", ""]
    assert lexer_for("a.unknown-kind") is None
    assert Markup(coloured('{"a": 1}', "json")).text == '{"a": 1}'


# -------------------------------------------------------------------------------------------------------- a change
def test_an_edit_is_shown_as_its_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("\n".join(f"x{i} = {i}" for i in range(1, 20)) + "\n")
    made = shown(Edit(), {"file_path": str(path), "old_string": "x10 = 10", "new_string": "y = 1\nz = 2"})
    rows = ["77 x7", "88 x8", "99 x9", "10−x10", "10+y", "11+z", "1112 x11", "1213 x12", "1314 x13"]
    found = Markup(made.markup.replace('<div class="nbtk-', '\n<div class="nbtk-')).text.split("\n")
    assert [row.split(" =")[0] for row in found if "=" in row] == rows
    assert not made.cut
    assert "Argument" not in Markup(made.markup).text


def test_a_new_file_is_said_to_be_one_and_a_long_one_folds(tmp_path: Path) -> None:
    made = shown(Write(), {"file_path": str(tmp_path / "a.txt"), "content": "".join(f"{i}\n" for i in range(100))})
    text = Markup(made.markup).text
    assert text.startswith("A new file.")
    assert "60 more lines" in text
    assert "100+99" in text
    assert not made.cut


def test_an_edit_that_would_fail_says_so_beside_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hello\n")
    made = shown(Edit(), {"file_path": str(path), "old_string": "goodbye", "new_string": "x"})
    text = Markup(made.markup).text
    assert "It would fail: old_string is not in" in text
    assert "old_stringgoodbye" in text


def test_a_file_that_was_never_read_is_said_to_stop_the_call_above_its_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hello\n")
    tool_input = {"file_path": str(path), "content": "goodbye\n"}
    assert "It would fail" not in shown(Write(), tool_input).markup
    text = Markup(shown(Write(), tool_input, state=AgentState()).markup).text
    assert "It would fail" in text
    assert "has not been read yet" in text
    assert "1−hello" in text


def test_what_is_left_out_of_a_difference_is_counted_and_counts_as_not_shown() -> None:
    diff = unified("", "x\n" * 6_000, "a.txt")
    markup, whole, rows = diff_markup(diff.text, "a.txt", 7)
    assert "1,007 lines not shown" in Markup(markup).text
    assert not whole
    assert rows == 6_000


def test_two_places_are_two_hunks_and_the_second_folds_where_the_first_filled_the_screen() -> None:
    old = [f"{i}" for i in range(200)]
    new = [*old[:10], *(f"new {i}" for i in range(50)), *old[10:150], "late", *old[151:]]
    markup, whole, _ = diff_markup(unified("\n".join(old), "\n".join(new), "a").text, "a")
    text = Markup(markup).text
    assert "16 more lines" in text
    assert "8 lines, from line 198" in text
    assert whole


def test_a_file_with_hostile_lines_is_inert(tmp_path: Path) -> None:
    path = tmp_path / f"a{HOSTILE[:9].replace('/', '')}.html"
    made = shown(Write(), {"file_path": str(path), "content": f"{HOSTILE}\r\n\x0cx\u2028y"})
    assert not {"script", "img"} & Markup(made.markup).tags
    assert not {"\u202e", "\x1b", "\x00", "\u2028"} & set(made.markup)
