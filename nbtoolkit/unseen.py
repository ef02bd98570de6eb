"""Characters that a reader can't see, made visible; whatever shows a text of a model, a server or a file takes them out."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["unseen", "visible_text"]

# Characters that show nothing, move what follows, or end a line without looking like it: controls except tab and
# newline, format characters (zero width, bidi, tags), separators, lone surrogates, fillers, variation selectors. The
# joiners of scripts and emoji stand apart, below.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Joiners mean something between two letters of such scripts and between emoji; beside ASCII they only hide.
_JOINER = "(?<![\u0590-\U0010ffff])[\u200c\u200d]|[\u200c\u200d](?![\u0590-\U0010ffff])"


@cache
def unseen() -> re.Pattern[str]:
    """Finds one such character; compiled when first wanted, since that takes longer than most modules do to load."""
    return re.compile(f"[{_UNSEEN}]|{_JOINER}")


def visible_text(text: str) -> str:
    """The text with each of them as ``⟨U+202E⟩``; for text/plain and for HTML that must stand without styles."""
    return unseen().sub(lambda hit: f"⟨U+{ord(hit[0]):04X}⟩", text)
