"""One line says what a call will do."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.notebook.title import title
from tests.notebook.asking import HOSTILE, Markup

BUILT_IN = "Built-in tool"


def line(name: str, tool_input: dict[str, Any], origin: str = "Your function", **variables: str) -> str:
    return title(name, tool_input, variables, origin=origin).plain


@pytest.mark.parametrize(
    ("name", "tool_input", "said"),
    [
        ("Bash", {"command": "git push origin main"}, "Bash runs git push origin main"),
        ("Bash", {"command": "a\nb"}, "Bash runs a ⏎ b"),
        (
            "Bash",
            {"command": "cd churn && uv run pytest -q tests/test_churn.py && git commit -am 'x && y' | cat"},
            "Bash runs 3 commands in churn",
        ),
        ("Bash", {"command": f"echo {'x' * 60} && ls"}, "Bash runs 2 commands"),
        ("Bash", {"command": f"echo {'x' * 60}"}, f"Bash runs echo {'x' * 60}"),
        ("Read", {"file_path": "a.py", "offset": None, "limit": None}, "Read reads a.py"),
        ("Read", {"file_path": "a.py", "offset": 10, "limit": 20}, "Read reads a.py, from line 10, up to 20 lines"),
        ("Write", {"file_path": "a.py", "content": "x\ny\n"}, "Write writes a.py, 2 lines"),
        (
            "Edit",
            {"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc\nd"},
            "Edit changes a.py, 2 lines added and 1 removed",
        ),
        ("Edit", {"file_path": "a.py", "old_string": "a\nb", "new_string": "a"}, "Edit changes a.py, 1 line removed"),
        ("Glob", {"pattern": "**/*.py", "path": None}, "Glob finds **/*.py"),
        ("Grep", {"pattern": "def", "path": "src"}, "Grep searches for def in src"),
    ],
)
def test_a_built_in_tool_is_told_by_its_verb(name: str, tool_input: dict[str, Any], said: str) -> None:
    assert line(name, tool_input, BUILT_IN) == said


def test_a_function_that_is_called_like_a_built_in_tool_is_none() -> None:
    assert line("Bash", {"command": "ls"}) == "Bash with command ls"


def test_a_function_is_told_by_its_variables_and_first_short_arguments() -> None:
    tool_input = {"text": "x" * 200, "as_of": "2026-06-30", "tags": ["a"], "sales": "sales", "limit": 3}
    said = line("score", tool_input, sales="DataFrame 10,000 × 12")
    assert said == "score with sales (DataFrame 10,000 × 12), as_of 2026-06-30 and 3 more"


@pytest.mark.parametrize(
    ("tool_input", "said"),
    [
        ({}, "f without arguments"),
        ({"a": 1}, "f with a 1"),
        ({"a": 1, "b": True}, "f with a 1 and b true"),
        ({"a": 1, "b": "two words", "c": 3}, "f with a 1, b “two words” and 1 more"),
        ({"a": [1, 2], "b": None}, "f with 2 arguments"),
    ],
)
def test_two_arguments_at_most_are_told_and_the_rest_is_counted(tool_input: dict[str, Any], said: str) -> None:
    assert line("f", tool_input) == said


def test_a_title_is_complete_only_when_it_says_every_argument_whole() -> None:
    assert title("f", {"a": 1, "b": "x"}).complete
    assert not title("f", {"a": 1, "b": 2, "c": 3}).complete
    assert not title("f", {"a": "x" * 100}).complete
    assert not title("Write", {"file_path": "a", "content": "x"}, origin=BUILT_IN).complete
    assert title("Read", {"file_path": "a", "pages": None}, origin=BUILT_IN).complete
    assert not title("Read", {"file_path": "a", "pages": "1-3"}, origin=BUILT_IN).complete


def test_a_servers_tool_is_told_with_its_server() -> None:
    said = line("mcp__my_hub__create_issue", {"repo": "acme/churn"}, "MCP server my_hub")
    assert said == "create_issue on my_hub with repo acme/churn"


def test_a_name_that_the_server_part_does_not_fit_is_shown_whole() -> None:
    assert line("mcp__other__x", {}, "MCP server hub") == "mcp__other__x on hub without arguments"


def test_foreign_words_are_inert_and_short() -> None:
    made = title(HOSTILE, {HOSTILE: HOSTILE, "b": "y" * 1_000_000}, origin=HOSTILE)
    page = Markup(made.html(lambda text: f"<code>{text.replace('<', '&lt;')}</code>"))
    assert page.tags <= {"code"}
    assert len(made.plain) < 600
    assert "\u202e" not in made.plain
    assert "\x1b" not in made.plain


def test_an_edit_of_many_lines_is_told_without_comparing_them() -> None:
    edit = {"file_path": "a", "old_string": "x\n" * 5_000, "new_string": "y\n" * 4_000}
    assert line("Edit", edit, BUILT_IN) == "Edit changes a, 5,000 lines become 4,000"
