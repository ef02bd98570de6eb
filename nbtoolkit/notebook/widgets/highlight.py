"""Code with the editor's colours: Pygments' short classes, and never another character than the text has.

A lexer may only add markup. Where it changes, drops or adds anything, or the text is longer than a glance takes in, the
text is shown plain.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from nbtoolkit.notebook.text import boxed, visible

__all__ = ["coloured", "highlighted", "lexer_for", "lines_of", "shell"]

# Lexers are regular expressions over foreign text; past this the colours cost more than they give.
LIMIT = 20_000
_TAG = re.compile(r"<[^>]*>")
_PLAIN: dict[str, Any] = {"stripnl": False, "ensurenl": False}


def shell(text: str) -> str:
    """A shell command."""
    from pygments.lexers.shell import BashLexer

    return highlighted(text, BashLexer(**_PLAIN))


def coloured(text: str, language: str) -> str:
    """Code in a language that Pygments knows by this name."""
    from pygments.lexers import get_lexer_by_name

    return highlighted(text, get_lexer_by_name(language, **_PLAIN))


def lexer_for(path: str) -> Any:
    """The lexer for a file of this name; None where there is none."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path, **_PLAIN)
    except ClassNotFound:
        return None


def highlighted(text: str, lexer: Any) -> str:
    """The text as markup, coloured where that leaves it as it is."""
    made = _colour(text, lexer)
    return visible(text) if made is None else boxed(made)


def lines_of(text: str, lexer: Any) -> list[str]:
    """The same, a piece of markup for each line."""
    made = _colour(text, lexer) if lexer is not None else None
    if made is not None and made.count("\n") == text.count("\n"):
        # The formatter closes its spans at each line's end.
        return [boxed(line) for line in made.split("\n")]
    return [visible(line) for line in text.split("\n")]


def _colour(text: str, lexer: Any) -> str | None:
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter

    if len(text) > LIMIT or not text.strip():
        return None
    made: str = highlight(text, lexer, HtmlFormatter(nowrap=True))
    made = made if text.endswith("\n") else made.removesuffix("\n")
    return made if unescape(_TAG.sub("", made)) == text else None
