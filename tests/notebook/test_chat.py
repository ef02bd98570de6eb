"""What a model says, as it stands in a notebook: readable, and nothing of it is markup."""

from __future__ import annotations

import pytest

from nbtoolkit.notebook.chat import markup, said
from tests.notebook.asking import HOSTILE, Markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\n\ntwo", ["<p", "one</p>", "two</p>"]),
        ("## Head\n\nrest", ["<b>Head</b>", "rest"]),
        ("**bold** and `code`", ["<b>bold</b> and <code", ">code</code>"]),
        ("see:\n- a\n- b\n  more", ["see:</p>", "<ul", "<li>a</li>", "<li>b\n  more</li>"]),
        ("1. a\n2. b", ["<ol", "<li>a</li><li>b</li>"]),
        ("```python\nx = '**no**'\n```\nafter", ["<pre", "x = &#x27;**no**&#x27;", "</pre>", "after"]),
        ("```\nnot closed yet", ["<pre", "not closed yet"]),
        ("| a | b |\n|---|:-:|\n| 1 | **2** |", ["<table", "a</th>", "1</th>", "<b>2</b></td>"]),
        ("| a | b |\n|---|", ["<pre", "| a | b |"]),
        ("2 * 3 * 4 and **", ["2 * 3 * 4 and **"]),
        ("`a **b** c`", [">a **b** c</code>"]),
    ],
)
def test_the_markdown_that_models_write_is_drawn(text: str, shown: list[str]) -> None:
    at, drawn = 0, markup(text)
    for each in shown:
        assert each in drawn[at:], drawn
        at = drawn.index(each, at) + len(each)


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        f"**{HOSTILE}**",
        f"`{HOSTILE}`",
        f"```\n{HOSTILE}\n```",
        f"- {HOSTILE}",
        f"| {HOSTILE} | b |\n|---|---|\n| {HOSTILE} | 1 |",
        "![x](https://example.org/x.png?secret) [x](javascript:alert(1)) <https://example.org>",
        "**<img src=x onerror=alert(1)>**",
    ],
)
def test_nothing_that_a_model_says_is_markup(text: str) -> None:
    page = Markup(said(text)["text/html"])
    assert page.tags <= {"div", "p", "b", "code", "pre", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert {name for _, attributes in page.elements for name in attributes} <= {"style", "scope"}


def test_what_cannot_be_seen_is_named() -> None:
    bundle = said("pay\u202eyap")
    assert "⟨U+202E⟩" in bundle["text/plain"]
    assert "U+202E" in bundle["text/html"]
    assert "\u202e" not in bundle["text/html"]
