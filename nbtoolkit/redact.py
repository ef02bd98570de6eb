"""Secrets taken out of what is shown, saved or exported: records, the log, cassettes.

A secret is the value of an environment variable whose name says so, what a person typed into a masked field
(``keep_secret``), or a text of a known shape: a provider's key, a token with three parts, a private key, an
Authorization header, a password in a URL or beside its name. Every hit is replaced whole: hits that overlap or touch
are one, also across the pieces of a stream. Nothing is redacted on the way to a tool or a model. A secret without a
shape, that no variable or form gave, can't be known here.

Texts without a hit cost a look for a few dozen short words; only the shapes whose word is there are tried.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MARK", "Redactor", "keep_secret", "redact", "redacted"]

MARK = "[redacted]"

# More than a person types in a day, and few enough to look for each in every text.
MAX_KEPT = 500
# Texts that are looked through once for each export: characters of one, and how many.
REPEATED, MAX_SEEN = 64, 4_096
# Shorter ones are found inside ordinary words; from here on they are looked for as whole words.
SHORTEST = 5
# From here on a value is looked for anywhere, also inside a longer word.
ANYWHERE = 8

# ------------------------------------------------------------------------------------------------------------ shapes
# The name of a secret, and what stands between it and its value.
_NAMED = (
    r"(?:api[_-]?key|(?:secret|access|private|subscription|account|functions)[_-]?key|client[_-]?secret|secret"
    r"|(?:auth|access|refresh|session|private|bearer|id)[_-]?token|passw(?:or)?d|passphrase)"
    r"[\"'\\]*\s{0,3}[:=]\s{0,3}"
)


def _any(hit: str) -> bool:  # noqa: ARG001 - every test takes the text
    return True


def _mixed(hit: str) -> bool:
    """Whether a text looks made, not written: prose after a prefix has no digit."""
    return any(char.isdigit() for char in hit) or len(hit) >= 32


def _pairs(hit: str) -> bool:
    return "=" in hit


_Test = Callable[[str], bool]
_Shape = tuple[frozenset[str], re.Pattern[str], _Test]


def _shape(words: str, pattern: str, test: _Test = _any) -> _Shape:
    """Words, one of which every hit holds (in lower case), the expression, whose group is what goes, and a last test.

    An expression looks nowhere ahead over an unbounded run: what it took it has taken, so hostile texts cost no more
    than others.
    """
    return frozenset(words.split("|")), re.compile(pattern), test


_START = "(?<![A-Za-z0-9])"
_SHAPES = (
    _shape("sk-", _START + r"sk-[\w-]{20,}", _mixed),
    _shape("k_live_|k_test_|k_prod_", _START + r"[sr]k_(?:live|test|prod)_\w{10,}"),
    _shape("akia|asia|aroa|aida", _START + r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("ghp_|gho_|ghu_|ghs_|ghr_|github_pat_", _START + r"(?:gh[pousr]_\w{30,}|github_pat_\w{22,})"),
    _shape("glpat-|gldt-|glrt-|glcbt-", _START + r"gl(?:pat|dt|rt|cbt)-[\w-]{16,}", _mixed),
    _shape("xox|xapp-", _START + r"(?:xox[a-z]-|xapp-)[\w-]{10,}", _mixed),
    _shape("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,})"),
    _shape("aiza", _START + r"AIza[\w-]{30,}"),
    _shape("ya29.|gocspx-", _START + r"(?:ya29\.|GOCSPX-)[\w-]{20,}"),
    _shape("hf_|gsk_|r8_", _START + r"(?:hf|gsk|r8)_[A-Za-z0-9]{30,}"),
    _shape("xai-|pplx-|nvapi-|tvly-", _START + r"(?:xai|pplx|nvapi|tvly)-[\w-]{20,}", _mixed),
    _shape("npm_|pypi-|dop_v1_", _START + r"(?:npm_\w{30,}|pypi-[\w-]{50,}|dop_v1_\w{60,})"),
    _shape("sg.|hvs.|dapi", _START + r"(?:SG\.[\w-]{16,}\.[\w-]{16,}|hvs\.[\w-]{20,}|dapi[0-9a-f]{32})"),
    _shape("shpat_|lin_api_|ntn_|figd_|pcsk_", _START + r"(?:shpat|lin_api|ntn|figd|pcsk)_[\w-]{20,}"),
    _shape("age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _shape("eyj", _START + r"eyJ[\w-]{6,}(?:\.[\w-]+){1,4}"),
    _shape(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END )[^\"])*(?:-----END [^-]{0,60}-----)?",
    ),
)
# Tried on the text in lower case: a flag for it would cost ten times as much.
_FOLDED = (
    _shape(
        "authorization",
        r"authorization[\"'\\]*\s{0,5}[:=]\s{0,5}[\"'\\]*(?:bearer|basic|token|apikey|bot)\s{1,5}([^\s\"'\\,;]{4,})",
    ),
    _shape(
        "authorization",
        r"authorization[\"'\\]*\s{0,5}[:=]\s{0,5}[\"'\\]*((?:aws4-hmac-\w+|digest)\s[^\r\n'\\]{8,}|[^\s\"'\\,;]{8,})",
        _mixed,
    ),
    _shape("bearer ", r"bearer\s{1,5}([\w.~+/=-]{12,})", _mixed),
    _shape("cookie", r"cookie[\"'\\]*\s{0,5}:\s{0,5}[\"'\\]*([^\r\n\"'\\]{8,})", _pairs),
    _shape("api|key|secret|passw|passphrase|token", _NAMED + r"[\"'\\]+((?![\[$<{*])[^\s\"'\\]{4,})"),
    _shape("api|key|secret|passw|passphrase|token", _NAMED + r"((?![\[$<{*])[^\s\"'&,;<>()\]}\\]{8,})", _mixed),
    _shape(
        "_key=|_token=|_secret=|_password=|_pass=|_pat=",
        r"_(?:key|token|secret|password|pass|pat)=[\"'\\]*((?![\[$<{*])[^\s\"'\\;&|]{8,})",
        _mixed,
    ),
    _shape("sig=|signature=", r"[?&](?:sig|x-amz-signature|x-goog-signature|signature)=((?!\[)[\w%.~+/=-]{16,})"),
    _shape("://", r"://[^\s/@:\"'\\]{0,100}:((?![\[$<{*])[^\s/@\"'\\]{3,200})@"),
)
_WORDS = tuple(dict.fromkeys(word for words, _, _ in (*_SHAPES, *_FOLDED) for word in words))

# ---------------------------------------------------------------------------------------------------- names of secrets
_STRONG = re.compile(
    r"(?i)(?:^|.*[_\-.])(?:api[_-]?key|apikey|secret|(?:secret|access|private|subscription)[_-]?key|client[_-]?secret"
    r"|(?:auth|access|refresh|session|bearer|private|api)[_-]?token|password|passwd|passphrase|pwd|authorization"
    r"|credentials?)"
)
_WEAK = re.compile(r"(?i)(?:^|.*[_\-.])(?:key|token|auth|pass|pat|cookie)")
# Values that stand in every tutorial, or that only switch something.
_NO_SECRETS = frozenset(
    ("admin", "changeme", "default", "disabled", "enabled", "example", "false", "jupyter", "password", "postgres")
) | {"redacted", "secret", "token", MARK}


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is one, by its name; behind a weaker name only what looks like one."""
    if len(value) < SHORTEST or value.casefold() in _NO_SECRETS or (value.isdecimal() and len(value) < ANYWHERE):
        return False
    if _STRONG.fullmatch(name) and name.upper() not in {"PWD", "OLDPWD"}:
        return not _is_path(value)
    if not _WEAK.fullmatch(name) or len(value) < 12 or any(char.isspace() for char in value):
        return False
    looks = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return looks and not _is_path(value)


def _is_path(value: str) -> bool:
    return value[:1] in "/~." and len(value) < 1_000 and os.path.exists(os.path.expanduser(value))  # noqa: PTH110, PTH111


_kept: dict[str, None] = {}


def keep_secret(value: str) -> None:
    """Count this text as a secret from now on, in this process."""
    if len(value) >= SHORTEST and value.casefold() not in _NO_SECRETS:
        _kept.pop(value, None)
        _kept[value] = None
        while len(_kept) > MAX_KEPT:
            del _kept[next(iter(_kept))]


def _forms(value: str) -> set[str]:
    """A secret as it stands in plain text, in JSON, in a Python repr and in a URL."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    return forms | {quote(value, safe=""), quote(value), quote_plus(value)}


class Redactor:
    """The secrets known when it was made: make one for each export, since the environment changes.

    Without ``shapes`` only texts go that are known for secrets of the person's own. That is for what a person is asked
    to allow: behind a mark that anything of a shape gets, a model could hide what it wants done.
    """

    def __init__(self, *, shapes: bool = True) -> None:
        self._shapes = shapes
        # Keys, names of tools and words of decisions stand in each row of a log.
        self._seen: dict[str, str] = {}
        for name, value in os.environ.items():
            # One that was there once may stand in an older result.
            if value not in _kept and _is_secret(name, value):
                keep_secret(value)
        self._anywhere = sorted({form for each in _kept if len(each) >= ANYWHERE for form in _forms(each)})
        short = {form for each in _kept if len(each) < ANYWHERE for form in _forms(each)}
        words = sorted(map(re.escape, short), key=len, reverse=True)
        self._words = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)") if words else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, in order; hits that overlap or touch are one."""
        found: list[tuple[int, int]] = []
        for secret in self._anywhere:
            at = text.find(secret)
            while at >= 0:
                found.append((at, at + len(secret)))
                at = text.find(secret, at + 1)
        if self._words is not None:
            found += [hit.span() for hit in self._words.finditer(text)]
        if not self._shapes:
            return _merged(found)
        found += self._shaped(text)
        if found:
            # A shape begins at a word's beginning, and what went is no word: a key may follow a secret directly.
            found += self._shaped("".join(_cut(text, 0, _merged(found), " ")))
        return _merged(found)

    def _shaped(self, text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        folded = text.lower()
        present = {word for word in _WORDS if word in folded}
        if present:
            found += _hits(_SHAPES, text, present)
            # A few letters are two in lower case, and every place after them would be wrong.
            found += _hits(_FOLDED, folded if len(folded) == len(text) else _lower(text), present)
        return found

    def text(self, text: str) -> str:
        """The text with its secrets replaced."""
        known = self._seen.get(text)
        if known is not None:
            return known
        spans = self.spans(text)
        told = text if not spans else "".join(_cut(text, 0, spans))
        if len(text) <= REPEATED and len(self._seen) < MAX_SEEN:
            self._seen[text] = told
        return told

    def pieces(self, texts: Sequence[str]) -> list[str]:
        """Texts that follow each other, as a stream's; the mark stands where a secret begins."""
        whole = "".join(texts)
        spans = self.spans(whole)
        if not spans:
            return list(texts)
        out, start = [], 0
        for text in texts:
            out.append("".join(_cut(text, start, spans)))
            start += len(text)
        return out

    def value(self, value: Any) -> Any:
        """A JSON value with the secrets in its texts replaced, and those behind the names of such."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self._named(str(key), each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value

    def _named(self, name: str, value: Any) -> Any:
        return MARK if self._shapes and isinstance(value, str) and _is_secret(name, value) else self.value(value)


def _hits(shapes: tuple[_Shape, ...], text: str, present: set[str]) -> Iterable[tuple[int, int]]:
    for words, expression, test in shapes:
        if not present.isdisjoint(words):
            for hit in expression.finditer(text):
                group = hit.lastindex or 0
                if test(hit[group]):
                    yield hit.span(group)


def _lower(text: str) -> str:
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def _cut(text: str, offset: int, spans: list[tuple[int, int]], filler: str = "") -> Iterable[str]:
    """The parts of one piece, which begins at ``offset`` of what the spans count; a ``filler`` keeps the length."""
    at = 0
    for start, end in spans:
        first, last = max(start - offset, 0), min(end - offset, len(text))
        if last <= first:
            continue
        yield text[at:first]
        if filler:
            yield filler * (last - first)
        elif start >= offset:
            yield MARK
        at = last
    yield text[at:]


def redact(text: str) -> str:
    """The text with the secrets in it replaced by ``[redacted]``."""
    return Redactor().text(text)


def redacted(value: Any, *, shapes: bool = True) -> Any:
    """A JSON value with the secrets in it replaced."""
    return Redactor(shapes=shapes).value(value)
