"""Foreign text is visible, bounded, and the same on every machine."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from nbtoolkit.notebook.text import bounded, columns, one_line, settled, tidy, to_json, visible, visible_text
from tests.notebook.asking import HOSTILE, Markup


def test_every_control_format_and_separator_character_is_shown_by_its_number() -> None:
    unseen = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    hidden = [
        f"U+{point:04X}"
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) in unseen
        and chr(point) not in "\n\t"
        and visible_text(f"a{chr(point)}b") == f"a{chr(point)}b"
    ]
    assert hidden == []


def test_newlines_tabs_and_what_people_write_are_left_alone() -> None:
    text = "a\tb\nÄ é 漢字 עברית العربية 👩‍💻 ✓ ✈️ می‌خواهم"
    assert visible_text(text) == text


def test_a_joiner_beside_ascii_only_hides_and_is_shown() -> None:
    assert visible_text("pass\u200dword") == "pass⟨U+200D⟩word"


def test_foreign_markup_is_text() -> None:
    page = Markup(visible(HOSTILE))
    assert page.tags == {"span"}
    assert "<script>alert(1)</script>" in page.text
    assert "U+202E" in page.text


def test_a_cut_keeps_both_ends_and_counts_what_it_left_out() -> None:
    cut = bounded("a" * 600 + "b" * 900_000 + "c" * 400, 1_000)
    assert cut.startswith("a" * 600)
    assert cut.endswith("c" * 400)
    assert " … 900,000 characters left out … " in cut
    assert bounded("short", 10) == "short"


def test_one_line_says_where_it_goes_on() -> None:
    assert one_line("a\n  b", 20) == "a ⏎ b"
    assert one_line("abcdef", 3) == "abc …"
    assert one_line("a" * 1_000_000, 3) == "aaa …"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at {home}/data/a.csv", "at ~/data/a.csv"),
        ("{home}", "~"),
        ("file://{home}/a", "file://~/a"),
        ("/mnt{home}/a", "/mnt{home}/a"),
        ("{home}stead/a", "{home}stead/a"),
        ("<x.Y object at 0x7f3a5c0d1e20>", "<x.Y object at 0x…>"),
        ("mask 0xff", "mask 0xff"),
    ],
)
def test_home_and_addresses_are_masked(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    assert settled(text.format(home="/home/ada")) == shown.format(home="/home/ada")


def test_a_home_that_is_the_root_masks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert settled("/etc/hosts") == "/etc/hosts"


def test_output_that_draws_over_itself_becomes_lines() -> None:
    assert tidy("10%\r100%\r\n\x1b[32mgreen\x1b[0m") == "10%\n100%\ngreen"


def test_what_json_cannot_carry_is_said_by_its_type() -> None:
    assert to_json({"a": object(), "ü": 1}) == '{"a": "<object>", "ü": 1}'


def test_a_table_as_text_is_aligned_without_trailing_blanks() -> None:
    assert columns(["A", "B"], [["1", ""], ["22", "x\ny"]], "  ") == "  A   B\n  1\n  22  x y"
