"""What a substitution's text can't be, as far as its command tells: a date, a count or a hash is no option and no path.

Whoever makes one of these names mean something else in the line, as a function say, isn't believed.
"""

from __future__ import annotations

import re

__all__ = ["DIGITS", "NAMED", "kind_of_output"]

# Stands for a text that neither begins like an option nor names a file: a number, a date, a hash, a fresh file.
DIGITS = "\x01"
# Stands for a text that doesn't begin like an option and has no blanks, but may be any name.
NAMED = "\x02"

_FORMAT = r"[\"']?\+%[YmdHMSjsFTVyuGbB][-_:.%YmdHMSjsFTVyuGbBT]*[\"']?"
_DIGITS = re.compile(
    rf"""\s*(?:date(?:\s+-u)?\s+{_FORMAT}|nproc|id\s+-[ugG]|mktemp(?:\s+-d)?|uname\s+-[smr]
    |wc\s+-[lwcmL]\s*<\s*[\w./"$*-]+|(?:[^()`;&|<>]*\|)+\s*wc\s+-[lwcmL]
    |seq\s+\d+(?:\s+\d+){{0,2}}|git\s+rev-parse\s+(?:(?:--short|--verify)\s+)?(?:HEAD|@)[~^0-9]*
    |git\s+merge-base\s+[\w./]+\s+[\w./]+|git\s+rev-list\s+--count\s+[\w./]+|git\s+log\s+-1\s+--format=%[hHt])\s*\Z""",
    re.VERBOSE,
)
_NAMED = re.compile(
    r"\s*(?:whoami|hostname|id\s+-[ug]n|git\s+branch\s+--show-current|git\s+rev-parse\s+--abbrev-ref\s+HEAD"
    r"|git\s+describe(?:\s+--(?:tags|always|abbrev=\d+))*)\s*\Z"
)


def kind_of_output(command: str) -> str:
    """``DIGITS`` or ``NAMED`` for what a substitution's command prints; "" where it may be anything."""
    if len(command) > 200:
        return ""
    return DIGITS if _DIGITS.match(command) else NAMED if _NAMED.match(command) else ""
