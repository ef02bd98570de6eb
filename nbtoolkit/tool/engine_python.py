"""ripgrep's stand-in, in Python: the same answers for the common syntax, a refusal by name for the rest."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from nbtoolkit.tool import disk
from nbtoolkit.tool.engine import LINE_BREAK, base_glob, no_expression
from nbtoolkit.tool.faults import FileFault
from nbtoolkit.tool.globbing import IgnoreFile, glob_expression, ignored, name_filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.tool.engine import Found, Query, Stopper

__all__ = ["PythonEngine"]

LARGEST_FILE = 64 * 1024 * 1024

_TYPES = {
    "py": "*.{py,pyi}",
    "js": "*.{js,jsx,vue,cjs,mjs}",
    "ts": "*.{ts,tsx,cts,mts}",
    "md": "*.{md,mkd,mdx,mkdn,mdwn,mdown,markdown}",
    "json": "{*.json,composer.lock,*.sarif}",
    "yaml": "*.{yaml,yml}",
    "toml": "{*.toml,Cargo.lock}",
    "html": "*.{html,htm,ejs}",
    "css": "*.{css,scss}",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.{java,jsp,jspx,properties}",
    "csv": "*.csv",
    "sh": None,
}

# What one of the two engines has and the other hasn't, or means differently.
_DIFFERENT = (
    (r"\(\?<?[=!]", "look-around"),
    (r"\(\?\(", "a condition"),
    (r"\(\?>", "an atomic group"),
    (r"[*+?}]\+", "a possessive repetition"),
    (r"\\[1-9]", "a back-reference"),
    (r"\(\?P=", "a back-reference"),
    (r"\(\?<[A-Za-z_]", "a group named by (?<name>…)"),
    (r"\\[pP][{A-Za-z]", "a Unicode class"),
    (r"\[\[:", "a POSIX class"),
    (r"\\[zZAGK]", "an anchor of its own"),
    (r"\\x\{|\\u\{|\\U\{", "a character by its number in braces"),
    (r"\\[uUNhHRXQE<>]", "an escape of its own"),
    (r"\\b\{", "a kind of word boundary"),
    (r"\(\?[a-zA-Z-]*[RUaLu]", "a flag"),
    (r"\[[^\]]*(?:&&|--|~~|\[)", "a class made of classes"),
    (r"\\B", "a place that is no word's border"),
    (r"\{(?!\d{1,6}(?:,\d{0,6})?\})", "a brace that counts nothing"),
    (r"\(\?#", "a comment"),
)


class PythonEngine:
    """Walks and searches with the standard library."""

    def files(self, query: Query, stopper: Stopper) -> Iterator[str]:
        """All files that aren't ignored or sensitive, as they are found."""
        name = base_glob(query.name_glob)
        fits = glob_expression(name, anchored=False) if name and name != "*" else None
        for each in _walk(query, stopper):
            if fits is None or fits.match(each):
                yield each

    def tells(self, query: Query) -> bool:
        """Always, for what lies below a folder: each name is looked at here."""
        return query.only is None

    def grep(self, query: Query, stopper: Stopper) -> Found:
        """Matches by file."""
        expression = _expression(query)
        names = [query.only] if query.only is not None else _walk(query, stopper)
        fits = [name_filter(each) for each in (query.glob, _type_glob(query.type)) if each]
        found: Found = []
        for name in names:
            if stopper.stopped:
                break
            # A file that is named is searched whatever else is asked of names.
            if query.only is None and not all(each(name) for each in fits):
                continue
            text = _text(os.path.join(query.root, name), alone=query.only is not None)  # noqa: PTH118
            if text is None:
                continue
            lines = _matches(expression, text, query)
            if lines:
                found.append((name, lines))
        return found

    def skipped(self, query: Query, stopper: Stopper) -> list[str]:
        """Those that a walk comes upon."""
        stopper.telling = True
        for _ in _walk(query, stopper):
            pass
        return stopper.skipped or []


def _type_glob(kind: str | None) -> str | None:
    if kind is None:
        return None
    glob = _TYPES.get(kind)
    if glob is None:
        known = ", ".join(sorted(each for each, value in _TYPES.items() if value))
        raise FileFault(
            f"without ripgrep the type {kind!r} isn't known; known are {known}. Use glob, or install ripgrep."
        )
    return glob


def _expression(query: Query) -> re.Pattern[str]:
    for different, what in _DIFFERENT:
        if re.search(rf"(?<!\\)(?:\\\\)*{different}", query.pattern):
            raise FileFault(
                f"without ripgrep, {what} in {query.pattern!r:.200} isn't searched for. Install ripgrep (`pip install ripgrep`)."
            )
    flags = re.IGNORECASE if query.ignore_case else 0
    flags |= re.MULTILINE | (re.DOTALL if query.multiline else 0)
    try:
        expression = re.compile(query.pattern, flags)
    except (re.error, RecursionError, OverflowError) as fault:
        raise FileFault(f"without ripgrep, {no_expression(query.pattern, str(fault))}") from None
    if not query.multiline and ("\\n" in query.pattern or "\n" in query.pattern):
        raise FileFault(LINE_BREAK)
    return expression


def _walk(query: Query, stopper: Stopper) -> Iterator[str]:
    root = query.root
    if stopper.telling:
        stopper.skipped = []
    rules: list[IgnoreFile] = []
    above: list[str] = []
    folder = os.path.dirname(root)  # noqa: PTH120
    while True:
        above.append(folder)
        if folder == os.path.dirname(folder):  # noqa: PTH120
            break
        folder = os.path.dirname(folder)  # noqa: PTH120
    for each in reversed(above):
        rules.extend(_ignore_file(each))
    # Looked at once more; from here on it goes by names, as ripgrep's walk below its folder does.
    with disk.held(root):
        yield from _below(root, "", rules, query, stopper, 1)


def _ignore_file(folder: str) -> list[IgnoreFile]:
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            return [IgnoreFile(folder, file.read(1_000_000))]
    except OSError:
        return []


def _below(
    folder: str, prefix: str, rules: list[IgnoreFile], query: Query, stopper: Stopper, depth: int
) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    rules = [*rules, *_ignore_file(folder)]
    for entry in entries:
        if stopper.stopped:
            return
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if not (is_folder or is_file) or entry.name == ".git":
            continue
        if query.places.skips(entry.path):
            # Also one that is ignored, as nearly every .env is: whoever looks for it is told.
            if stopper.skipped is not None:
                stopper.skipped.append(prefix + entry.name)
            continue
        if ignored(rules, entry.path, is_folder=is_folder):
            continue
        if is_folder:
            if query.depth is None or depth < query.depth:
                yield from _below(entry.path, f"{prefix}{entry.name}/", rules, query, stopper, depth + 1)
        else:
            yield prefix + entry.name


def _text(path: str, *, alone: bool) -> str | None:
    """A file's text; None for what is binary, too large or, unless it is looked for ``alone``, gone."""
    try:
        with disk.opened(path, "searched") as file:
            data = b""
            while len(data) <= LARGEST_FILE and (piece := file.read(LARGEST_FILE + 1 - len(data))):
                data += piece
    except (OSError, FileFault):
        if alone:
            raise
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if len(data) > LARGEST_FILE or b"\x00" in data:
        return None
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _matches(expression: re.Pattern[str], text: str, query: Query) -> list[str]:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if query.multiline:
        hits = [each for each in _across(expression, text) if each < len(lines)]
    else:
        hits = [at for at, line in enumerate(lines) if expression.search(line)]
    if not hits:
        return []
    if query.mode == "files_with_matches":
        return [""]
    if query.mode == "count":
        return [str(len(hits))]
    return _context(lines, hits, query)


def _across(expression: re.Pattern[str], text: str) -> list[int]:
    """The lines that matches of the whole text lie on."""
    hits: dict[int, None] = {}
    first = at = 0
    for match in expression.finditer(text):
        first += text.count("\n", at, match.start())
        at = match.start()
        for line in range(first, first + text.count("\n", at, max(at, match.end() - 1)) + 1):
            hits[line] = None
    return list(hits)


def _context(lines: list[str], hits: list[int], query: Query) -> list[str]:
    wanted: dict[int, str] = {}
    for hit in hits:
        for at in range(max(0, hit - query.before), min(len(lines), hit + query.after + 1)):
            wanted.setdefault(at, "-")
        wanted[hit] = ":"
    out: list[str] = []
    last = None
    for at in sorted(wanted):
        if last is not None and at > last + 1 and (query.before or query.after):
            out.append("--")
        last = at
        sign = wanted[at]
        line = lines[at].rstrip("\r")
        out.append(f"{sign}{at + 1}{sign}{line}" if query.numbers else f":{line}")
    return out
