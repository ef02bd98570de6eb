"""What a terminal would be left with, whatever pieces the bytes come in."""

from __future__ import annotations

import pytest

from nbtoolkit.tool.screen import Screen


def shown(*pieces: bytes) -> str:
    screen = Screen()
    return "".join([*(screen.feed(each) for each in pieces), screen.feed(b"", final=True)])


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        (b"one\ntwo\n", "one\ntwo\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"\r 10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
        (b" 10%\r 50%\r100%\r\ndone", "100%\ndone"),
        (b"5%\r10%\r", "10%"),
        (b"loading\rok     \nnext\n", "ok\nnext\n"),
        (b"abcdef\rXY\n", "XYcdef\n"),
        (b"\rbar\r   \r", ""),
        (b"\x1b[31mred\x1b[0m \x1b[1A\x1b[Kline\x1b]0;title\x07!\n", "red line!\n"),
        (b"a\x00b\x07\x1bx\n", "a\ufffdb\ufffd\ufffdx\n"),
        ("é日\n".encode(), "é日\n"),
        (b"\xff\xfe\n", "\ufffd\ufffd\n"),
        (b"cut \x1b[3", "cut \ufffd[3"),
    ],
)
def test_the_last_that_was_drawn_stays_however_it_comes(raw: bytes, left: str) -> None:
    assert shown(raw) == left
    # Line by line, and cut where a code or a character is cut too.
    assert shown(*(line for line in raw.splitlines(keepends=True) if line)) == left
    if b"\r" not in raw.strip(b"\r\n") or raw.startswith(b"\r"):
        assert shown(*(bytes([each]) for each in raw)) == left


def test_text_that_was_given_out_already_is_followed_on_a_line_below() -> None:
    screen = Screen()
    assert screen.feed(b"Loading ") == "Loading "
    assert screen.feed(b"data\r 50%") == "data"
    assert screen.feed(b"\r100%") == ""
    assert screen.feed(b" ok\nnext\n") == "\n100% ok\nnext\n"


def test_what_comes_is_given_out_at_once_unless_it_is_being_written_over() -> None:
    screen = Screen()
    assert screen.feed(b"name: ") == "name: "
    assert screen.feed(b"x\n\r10%") == "x\n"
    assert screen.feed(b"\r20%") == ""
    assert screen.feed(b"\nend") == "20%\nend"


def test_a_line_that_never_ends_isnt_held_for_ever() -> None:
    screen = Screen()
    out = screen.feed(b"\r" + b"x" * 150_000)
    assert len(out) == 150_000
    assert screen.feed(b"y\n") == "y\n"
