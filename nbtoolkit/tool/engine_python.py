"""ripgrep's stand-in, in Python: the same answers for the common syntax, a refusal by name for the rest."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbtoolkit.tool import disk
from nbtoolkit.tool.engine import BINARY, LINE_BREAK, base_glob, no_expression
from nbtoolkit.tool.engine_matcher import Wanted, matches, pack, unpack
from nbtoolkit.tool.faults import FileFault, shown
from nbtoolkit.tool.globbing import IgnoreFile, glob_expression, ignored, name_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtoolkit.tool.engine import Found, Query, Stopper

__all__ = ["PythonEngine"]

LARGEST_FILE = 64 * 1024 * 1024

_SCRIPT = str(Path(__file__).with_name("engine_matcher.py"))

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
        wanted = Wanted(
            query.pattern, _flags(query), query.mode, query.numbers, query.before, query.after, query.multiline
        )
        names = [query.only] if query.only is not None else _walk(query, stopper)
        fits = [name_filter(each) for each in (query.glob, _type_glob(query.type)) if each]
        found: Found = []
        with _matcher(wanted, stopper) as matched:
            for name in names:
                # A file that is named is searched whatever else is asked of names.
                if query.only is None and not all(each(name) for each in fits):
                    continue
                text = self._text(query, name, stopper)
                lines = [] if text is None else matched(text.replace("\0", "\n"))
                if lines is None or stopper.over():
                    break
                if lines and query.mode == "content" and text is not None and "\0" in text:
                    stopper.remarks.append(BINARY.format(shown(os.path.join(query.root, name))))  # noqa: PTH118
                    lines = []
                if lines:
                    found.append((name, lines))
        return found

    def _text(self, query: Query, name: str, stopper: Stopper) -> str | None:
        """A file's text; None for one that isn't searched, which is said where anybody may think otherwise."""
        path = os.path.join(query.root, name)  # noqa: PTH118
        data = _data(path, alone=query.only is not None)
        if data is None:
            return None
        if len(data) > LARGEST_FILE:
            stopper.remarks.append(
                f"not searched, as larger than {LARGEST_FILE // 2**20} MB: {shown(path)}. Install ripgrep, or use Bash"
            )
            return None
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16", "replace")
        if b"\x00" in data and query.only is None:
            return None
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")

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


def _flags(query: Query) -> int:
    """The expression's flags; a FileFault where the two engines would not find the same."""
    for different, what in _DIFFERENT:
        if re.search(rf"(?<!\\)(?:\\\\)*{different}", query.pattern):
            raise FileFault(
                f"without ripgrep, {what} in {query.pattern!r:.200} isn't searched for. Install ripgrep (`pip install ripgrep`)."
            )
    flags = re.IGNORECASE if query.ignore_case else 0
    flags |= re.MULTILINE | (re.DOTALL if query.multiline else 0)
    try:
        re.compile(query.pattern, flags)
    except (re.error, RecursionError, OverflowError) as fault:
        raise FileFault(f"without ripgrep, {no_expression(query.pattern, str(fault))}") from None
    if not query.multiline and ("\\n" in query.pattern or "\n" in query.pattern):
        raise FileFault(LINE_BREAK)
    return int(flags)


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
        if stopper.over():
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


def _data(path: str, *, alone: bool) -> bytes | None:
    """A file's content up to a byte more than is searched; None for one that is gone, unless it is looked for ``alone``."""
    try:
        with disk.opened(path, "searched") as file:
            pieces, room = [], LARGEST_FILE + 1
            while room > 0 and (piece := file.read(room)):
                pieces.append(piece)
                room -= len(piece)
            return b"".join(pieces)
    except (OSError, FileFault):
        if alone:
            raise
        return None


@contextlib.contextmanager
def _matcher(wanted: Wanted, stopper: Stopper) -> Iterator[Callable[[str], list[str] | None]]:
    """What finds the lines of one text after another, until it is stopped or has run for too long: then it gives None."""
    if sys.platform == "emscripten":
        yield lambda text: matches(wanted, text)
        return
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", _SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    timer = stopper.watch(process)
    assert process.stdin is not None
    assert process.stdout is not None
    sent, answers = process.stdin, process.stdout

    def ask(text: str) -> list[str] | None:
        try:
            sent.write(pack(text))
            sent.flush()
            found: list[str] | None = unpack(answers)
        except OSError:
            return None
        return found

    try:
        with contextlib.suppress(OSError):
            sent.write(pack(list(wanted)))
        yield ask
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        for pipe in (sent, answers):
            with contextlib.suppress(OSError):
                pipe.close()
