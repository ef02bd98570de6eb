"""Patterns in rules: globs over paths, URLs and plain text, read narrowly to allow and widely to deny or ask.

Narrow: ``*`` stays within one part of a path, and a relative pattern means the folder that it is read from. Wide: a
relative pattern without a leading ``./`` matches at any depth, anywhere; a pattern that names a folder names all in
it; letter case doesn't matter. Wide is never less than narrow.

Every pattern becomes a regular expression that runs in linear time per star and value: patterns can come from a file
that nobody has accepted.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from stat import S_ISLNK
from urllib.parse import unquote, urlsplit

__all__ = [
    "PathPattern",
    "absolute",
    "is_anchored",
    "is_path_pattern",
    "literal",
    "path_pattern",
    "real",
    "resolve",
    "text_pattern",
    "url_pattern",
]

# Longer values are no paths or names that a person would write a pattern for; they are left undecided.
LONGEST = 8192
# {a,b}{c,d}… multiplies; past this the braces are read as they stand.
MOST_ALTERNATIVES = 64

_MAGIC = re.compile(r"[*?\[{\\]")
_ANCHORED = re.compile(r"^(?:/|\.{1,2}(?:/|$)|~|[A-Za-z]:/)")
_STAR, _GLOBSTAR = object(), object()


def literal(text: str) -> str:
    """The text with every sign that a pattern would read escaped."""
    return re.sub(r"([*?\[\]{}\\,])", r"\\\1", text)


def is_path_pattern(text: str) -> bool:
    """An argument's pattern means a path when it holds ``/`` (and is no URL) or starts with ``.`` or ``~``."""
    return "://" not in text and ("/" in text or text.startswith((".", "~")))


def is_anchored(text: str) -> bool:
    """A path pattern means one place when it begins with ``/``, ``./``, ``../`` or ``~``."""
    return _ANCHORED.match(text) is not None


def normal(text: str) -> str:
    """One form for letters that Unicode writes in two ways."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


# ------------------------------------------------------------------------------------------- globs to expressions
def _bracket(text: str, start: int) -> tuple[str, int] | None:
    """The character class that opens at ``start``, as an expression, and where it ends; None where none closes."""
    first = start + 1
    negated = text[first : first + 1] in {"!", "^"}
    first += negated
    end = text.find("]", first + 1)
    if end < 0 or "/" in text[first:end]:
        return None
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", text[first:end])
    expression = f"(?!/)[{'^' if negated else ''}{inner}]"
    try:
        re.compile(expression)
    except re.error:
        return None
    return expression, end + 1


def _tokens(text: str, single: str) -> list[str | object]:
    """A glob's parts: expressions for one character each, and stars."""
    found: list[str | object] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "*":
            stars = len(text) - at - len(text[at:].lstrip("*"))
            found.append(_STAR if stars == 1 else _GLOBSTAR)
            at += stars
            continue
        if sign == "\\" and at + 1 < len(text):
            at += 1
            found.append(re.escape(text[at]))
        elif sign == "?":
            found.append(single)
        elif sign == "[" and (bracket := _bracket(text, at)):
            found.append(bracket[0])
            at = bracket[1]
            continue
        else:
            found.append(re.escape(sign))
        at += 1
    return found


def _expression(tokens: list[str | object], star: str, globstar: str) -> str:
    """Tokens as an expression in which no star is tried again once what follows it has matched.

    The first place where the text after a star fits leaves the most for the stars behind it, so trying others is
    needless; the last star has only the end to reach.
    """
    pieces: list[str] = [""]
    stars: list[str] = []
    for token in tokens:
        if isinstance(token, str):
            pieces[-1] += token
        else:
            stars.append(star if token is _STAR else globstar)
            pieces.append("")
    head = pieces[0]
    for index, each in enumerate(stars):
        last = index == len(stars) - 1
        head += f"{each}{pieces[index + 1]}" if last else f"(?>{each}?{pieces[index + 1]})"
    return head


def _alternatives(text: str) -> list[str]:
    """``a{b,c}d`` as ``abd`` and ``acd``; braces that don't close, or too many, stay as they are."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        current = waiting.pop(0)
        parts = _first_braces(current)
        if parts is None:
            done.append(current)
        else:
            before, options, after = parts
            waiting.extend(before + option + after for option in options)
        if len(done) + len(waiting) > MOST_ALTERNATIVES:
            return [text.replace("{", r"\{").replace("}", r"\}")]
    return done


def _first_braces(text: str) -> tuple[str, list[str], str] | None:
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "{":
            found = _braces_at(text, at)
            if found:
                return found
        at += 1
    return None


def _braces_at(text: str, start: int) -> tuple[str, list[str], str] | None:
    depth, options, begun = 0, [], start + 1
    at = start
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 2
            continue
        if sign == "{":
            depth += 1
        elif sign == "," and depth == 1:
            options.append(text[begun:at])
            begun = at + 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return (text[:start], [*options, text[begun:at]], text[at + 1 :]) if options else None
        at += 1
    return None


def _segment(text: str) -> str:
    return _expression(_tokens(text, "[^/]"), "[^/]*", "[^/]*")


def _segments(parts: list[str]) -> str:
    """Path segments, ``**`` among them, each with a leading slash; ``/a/**`` matches ``/a`` too."""
    blocks: list[list[str]] = [[]]
    for part in parts:
        if part and not part.strip("*") and len(part) > 1:
            blocks.append([])
        else:
            blocks[-1].append(f"/{_segment(part)}")
    expression = "".join(blocks[0])
    for index, block in enumerate(blocks[1:], 1):
        last = index == len(blocks) - 1
        if not block:
            # "**" at the end takes all below; two in a row are one.
            expression += "(?:/.*)?" if last else ""
        elif last:
            expression += "(?:/[^/]*)*" + "".join(block)
        else:
            # A whole segment must end where the block does, hence the look at what follows.
            expression += f"(?>(?:/[^/]*)*?{''.join(block)}(?=/|$))"
    return expression


# ------------------------------------------------------------------------------------------------------- paths
def absolute(text: str, folder: str) -> str:
    """A path from ``folder``, with ``~`` expanded and dots taken out, symlinks left alone."""
    expanded = os.path.expanduser(text)  # noqa: PTH111 - pathlib would raise for an unknown user
    return slashes(os.path.normpath(os.path.join(folder, expanded)))  # noqa: PTH118 - twenty times pathlib's speed


def slashes(path: str) -> str:
    """A path with one kind of separator, and one at its root."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    # POSIX leaves exactly two leading slashes alone; they mean the root here.
    return path[1:] if path.startswith("//") else path


@lru_cache(maxsize=512)
def real_folder(folder: str) -> str:
    """A folder with its symlinks resolved, as it was when first asked for."""
    return real(folder)


def real(path: str) -> str:
    """A path with its symlinks resolved as far as it exists."""
    return slashes(os.path.realpath(path))


def resolve(value: str, folder: str) -> tuple[str, str] | None:
    """A path from ``folder`` with symlinks followed, and the one without; None for what is no path."""
    if not value or len(value) > LONGEST or "\x00" in value or "\x00" in folder:
        return None
    text = normal(value)
    if text[:5].lower() == "file:":
        text = unquote(urlsplit(text).path)
    # The dots are the file system's to follow: behind a symlink ".." isn't where the text says.
    try:
        if (plain := _without_links(text, folder)) is not None:
            return plain, plain
        followed = os.path.join(folder, os.path.expanduser(text))  # noqa: PTH111, PTH118 - as in absolute()
        return real(followed), absolute(text, folder)
    except (OSError, ValueError):
        return None


def _without_links(text: str, folder: str) -> str | None:
    """A plain relative path below a folder that is resolved itself, where no link lies on it; a fifth of realpath."""
    if os.sep != "/" or text[0] in "/~." or "/." in text or "//" in text:
        return None
    path = folder = folder.rstrip("/")
    for part in text.rstrip("/").split("/"):
        path = f"{path}/{part}"
        try:
            if S_ISLNK(os.lstat(path).st_mode):
                return None
        except FileNotFoundError:
            # Nothing below it exists either.
            return f"{folder}/{text.rstrip('/')}"
        except OSError:
            return None
    return path


class PathPattern:
    """One path pattern, ready to be held against resolved absolute paths."""

    __slots__ = ("_expression", "fault", "needle")

    def __init__(self, text: str, base: str, *, wide: bool) -> None:
        self.fault: str | None = None
        self.needle = ""
        root = real_folder(base)
        flags = re.DOTALL | (re.IGNORECASE if wide else 0)
        expressions: list[str] = []
        for each in _alternatives(normal(text.strip())):
            expressions.extend(self._alternative(each, root, wide=wide))
        tail = "(?:/.*)?" if wide else ""
        # What every path that matches holds, in lower case: a sieve before the expression.
        self.needle = "" if len(expressions) != 1 else self.needle
        self._expression = re.compile("|".join(f"(?:{each}){tail}" for each in expressions) or r"(?!)", flags)

    def _alternative(self, text: str, root: str, *, wide: bool) -> list[str]:
        if text.endswith("/"):
            text += "**"
        anchored = is_anchored(text)
        parts = text.split("/")
        if not anchored:
            parts = [part for part in parts if part not in {"", "."}]
            if ".." in parts or not parts:
                self.fault = f"'..' behind a name never matches a resolved path: {text!r}"
                return []
            self.needle = _needle(parts)
            if wide or len(parts) == 1:
                parts = ["**", *parts]
            return [_segments(parts) if wide else _literal_path(root) + _segments(parts)]
        fixed = 0
        while fixed < len(parts) and not _MAGIC.search(parts[fixed]):
            fixed += 1
        rest = parts[fixed:]
        if ".." in rest:
            self.fault = f"'..' behind a star never matches a resolved path: {text!r}"
            return []
        prefix = absolute("/".join(parts[:fixed]) or ("/" if parts[0] == "" else "."), root)
        tail = _segments([part for part in rest if part not in {"", "."}])
        # A symlink inside the project could have been put there by whoever the rule is to hold back: to allow, the
        # pattern means the place that its text names, and only a place outside is followed.
        inside = prefix == root or prefix.startswith(root.rstrip("/") + "/")
        prefixes = {prefix, real(prefix)} if wide else {prefix if inside else real(prefix)}
        self.needle = _needle([*min(prefixes).split("/"), *rest])
        return [_literal_path(each) + tail for each in sorted(prefixes)]

    def matches(self, *paths: str) -> bool:
        """Whether any of these absolute paths is one that the pattern names."""
        fullmatch = self._expression.fullmatch
        return any(fullmatch(path) for path in paths)


def _needle(parts: list[str]) -> str:
    """The longest part of a pattern that means only itself."""
    plain = [each.lower() for each in parts if each.isascii() and not _MAGIC.search(each)]
    return max(plain, key=len, default="")


def _literal_path(path: str) -> str:
    return "" if path == "/" else re.escape(path)


@lru_cache(maxsize=8192)
def path_pattern(text: str, base: str, *, wide: bool) -> PathPattern:
    """The pattern, made once; ``base`` is the folder that a relative one is read from."""
    return PathPattern(text, base, wide=wide)


# ---------------------------------------------------------------------------------------------- text and URLs
@lru_cache(maxsize=8192)
def text_pattern(text: str, *, wide: bool) -> re.Pattern[str]:
    """A glob over plain text: to allow, ``*`` stops at ``/`` and only ``**`` goes on."""
    return _compile_text(normal(text), "." if wide else "[^/]", "[^/]*", wide=wide)


@lru_cache(maxsize=8192)
def url_pattern(text: str, *, wide: bool) -> re.Pattern[str]:
    """A glob over URLs: to allow, no star in the host reaches over the host's end."""
    if wide:
        return _compile_text(normal(text), ".", ".*", wide=True)
    scheme, _, rest = normal(text).partition("://")
    host, slash, path = rest.partition("/")
    inside = r"[^/?#@\\:\s]"
    expression = _expression(_tokens(scheme, inside), f"{inside}*", f"{inside}*") + "://"
    expression += _expression(_tokens(host, inside), f"{inside}*", f"{inside}*")
    if slash:
        expression += "/" + _expression(_tokens(path, "[^/]"), "[^/]*", ".*")
    # Dots in a path are followed by whoever opens the URL, so they may lead out of what the pattern names.
    return re.compile(rf"(?!.*[/\\](?:\.|%2[eE]){{1,2}}(?:[/\\?#]|$)){expression}", re.DOTALL)


def _compile_text(text: str, single: str, star: str, *, wide: bool) -> re.Pattern[str]:
    star = ".*" if wide else star
    alternatives = (_expression(_tokens(each, single), star, ".*") for each in _alternatives(text))
    return re.compile("|".join(f"(?:{each})" for each in alternatives), re.DOTALL)
