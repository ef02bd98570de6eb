"""Globs as expressions: what they fit, and in what time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nbtoolkit.tool.globbing import glob_expression

HOSTILE = """
from nbtoolkit.tool.globbing import IgnoreFile, glob_expression
for glob, path in (
    ("src/" + "*a" * 60 + "*b", "src/" + "a" * 250),
    ("x/" + "**/" * 60 + "*.py", "x/" + "a/" * 100 + "b.txt"),
    ("x/" + "**/a/" * 60 + "*.py", "x/" + "a/" * 100 + "b.txt"),
    ("{a,b}/" + "*[a]*?" * 60 + "c", "a/" + "a" * 200),
):
    assert glob_expression(glob, anchored=True).match(path) is None
    assert IgnoreFile("/", glob).decides("/" + path, is_folder=False) is None
"""


def test_no_glob_takes_for_ever() -> None:
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=120)


@pytest.mark.parametrize(
    ("glob", "fits", "others"),
    [
        ("*a*b", ("ab", "aab", "xaxbxb", "abab"), ("aba", "b", "a/b")),
        ("*ab*ab", ("abab", "xabxabab"), ("aab", "ab")),
        ("a*", ("a", "ab"), ("ba", "a/b")),
        ("**/a/*", ("a/b", "x/a/a/b"), ("a", "a/b/c")),
        ("**/a/**/b", ("a/b", "x/a/y/a/z/b"), ("b", "a/bb")),
        ("**/*.py", ("a.py", "x/y/a.py"), ("a.pyc",)),
        ("a/**", ("a/b", "a/b/c"), ("a", "b/a")),
        ("a/**/**/b", ("a/b", "a/x/b"), ("ab",)),
        ("**/*/b", ("a/b", "x/a/b"), ("b",)),
        ("?[!a]*[]]", ("xb]", "xbyy]"), ("xa]", "xb")),
        (r"\*a", ("*a",), ("ba",)),
    ],
)
def test_a_glob_fits(glob: str, fits: tuple[str, ...], others: tuple[str, ...]) -> None:
    expression = glob_expression(glob, anchored=True)
    assert [path for path in (*fits, *others) if expression.match(path)] == list(fits)
