"""Patterns over paths: held against a plain reference, never slow, and wide never less than narrow."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtoolkit.permission.pattern import PathPattern, literal, normal, path_pattern, resolve, text_pattern

NAMES = st.sampled_from(["a", "b", "ab", "ba", ".a", "a.b"])
PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "*a*", "?", "**"])


def reference(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """What a pattern's segments mean, in the plainest words."""

    @cache
    def match(i: int, j: int) -> bool:
        if i == len(pattern):
            return j == len(path)
        if pattern[i] == "**":
            return match(i + 1, j) or (j < len(path) and match(i, j + 1))
        return j < len(path) and segment(pattern[i], path[j]) and match(i + 1, j + 1)

    def segment(glob: str, name: str) -> bool:
        expression = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in glob)
        return re.fullmatch(expression, name) is not None

    return match(0, 0)


@given(st.lists(PARTS, min_size=1, max_size=6), st.lists(NAMES, min_size=1, max_size=6))
def test_a_pattern_below_a_folder_means_what_the_reference_says(parts: list[str], names: list[str]) -> None:
    pattern = PathPattern("./" + "/".join(parts), "/base", wide=False)
    assert pattern.matches("/base/" + "/".join(names)) == reference(tuple(parts), tuple(names))


@given(st.lists(PARTS, min_size=1, max_size=6), st.lists(NAMES, min_size=1, max_size=6))
def test_to_deny_it_matches_at_any_depth_and_all_below(parts: list[str], names: list[str]) -> None:
    pattern = PathPattern("/".join(parts), "/base", wide=True)
    assert pattern.matches("/" + "/".join(names)) == reference(("**", *parts, "**"), tuple(names))


@given(st.text("ab/.*?[]{},\\~", max_size=12), st.lists(NAMES, min_size=1, max_size=4))
def test_wide_is_never_less_than_narrow_and_no_pattern_raises(text: str, names: list[str]) -> None:
    path = "/base/" + "/".join(names)
    if PathPattern(text, "/base", wide=False).matches(path):
        assert PathPattern(text, "/base", wide=True).matches(path)


@given(st.text("ab/*.", min_size=1, max_size=10), st.lists(NAMES, min_size=1, max_size=4))
def test_the_sieve_never_holds_back_a_match(text: str, names: list[str]) -> None:
    path = "/base/" + "/".join(names)
    for wide in (False, True):
        pattern = PathPattern(text, "/base", wide=wide)
        if pattern.matches(path):
            assert pattern.needle in path.lower()


@given(st.text(max_size=20))
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    # Patterns and what they are held against are both brought into one form of Unicode first.
    text = normal(text)
    expression = text_pattern(literal(text), wide=True)
    assert expression.fullmatch(text)
    assert not expression.fullmatch(text + "x")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "pattern",
    [
        "./" + "**/a*/" * 40 + "b",
        "**/" * 200 + "b",
        "./" + "*a" * 60 + "b",
        "{a,b}" * 30,
        "./" + "?*" * 60 + "b",
        "[a" * 500,
    ],
)
def test_no_pattern_is_slow(pattern: str, wide: bool) -> None:
    path = "/base" + "/a" * 2000 + "c"
    assert not PathPattern(pattern, "/base", wide=wide).matches(path, "/base/" + "a" * 4000 + "c")
    text_pattern(pattern, wide=wide).fullmatch("a" * 4000 + "c")


def test_letters_that_unicode_writes_in_two_ways_are_one(project: Path) -> None:
    found = resolve("cafe\u0301/x", str(project))
    assert found is not None
    assert path_pattern("./caf\u00e9/**", str(project), wide=False).matches(found[0])


def test_a_long_s_is_no_way_around_a_deny_rule() -> None:
    assert PathPattern("./secrets/**", "/base", wide=True).matches("/base/\u017fecrets/x")


@pytest.mark.parametrize(
    ("value", "lands"),
    [
        ("a/b", "{project}/a/b"),
        ("a//b/", "{project}/a/b"),
        ("inner/a", "{project}/real/a"),
        ("inner/../a", "{project}/a"),
        ("up/a", "{outside}/a"),
        ("up/../a", "{parent}/a"),
        ("real/loop/a", "{project}/real/loop/a"),
        ("~/a", "{home}/a"),
        ("file://{project}/a%20b", "{project}/a b"),
    ],
)
def test_links_and_dots_are_followed_as_the_system_does(project: Path, value: str, lands: str) -> None:
    places = {
        "project": project,
        "parent": project.parent,
        "outside": project.parent / "o",
        "home": project.parent / "home",
    }
    (project / "real").mkdir()
    (project.parent / "o").mkdir()
    (project / "inner").symlink_to("real")
    (project / "up").symlink_to(project.parent / "o")
    (project / "real" / "loop").symlink_to("loop")
    found = resolve(value.format_map(places), str(project))
    assert found is not None
    assert found[0] == lands.format_map(places)
    assert os.path.realpath(found[0]) == found[0] or "loop" in value
