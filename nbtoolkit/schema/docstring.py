"""Docstrings: what the tool does, and what each parameter means.

Reads the Google, NumPy, Sphinx/reST and Epydoc forms, also mixed in one text. The description keeps everything but the
parts about parameters (returns, notes and examples help a model too); types written in a docstring are dropped, because
hints win. It never raises: a line that fits no form stays text.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Docstring", "parse_docstring"]

_TITLES = frozenset(
    {
        "args", "arg", "arguments", "parameters", "params", "keyword args", "keyword arguments", "keyword parameters",
        "kwargs", "other parameters", "other args", "other arguments", "参数",
    }
)  # fmt: skip
_UNDERLINE = re.compile(r"[-=~]{2,}\s*$")
_FIELD = re.compile(
    r"(?::(?P<sphinx>param|parameter|arg|argument|key|keyword|kwarg|type|kwtype)\s+(?P<names>.+?):(?=\s|$)"
    r"|@(?P<epydoc>param|arg|keyword|kwarg|type)\s+(?P<enames>[^:]+):)\s*(?P<text>.*)$"
)
_NAME = r"`{0,2}\\?\*{0,2}(?:\\\*)?[^\W\d]\w*`{0,2}"
# ``a1, a2, ... : array`` is NumPy's way to say "and so on".
_NAMES = re.compile(rf"{_NAME}(?:\s*,\s*(?:{_NAME}|\.\.\.|…))*")
_BULLET = re.compile(r"[-*+•]\s+")
# Lines that begin like this are not run into the line before.
_OWN_LINE = re.compile(r"\s|[-*+•|>]|\d+[.)]\s|$")


class Docstring(NamedTuple):
    """A docstring taken apart."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; parameters without a text are left out."""
    if not text:
        return Docstring("", {})
    lines = inspect.cleandoc(text).split("\n")
    if text[:1].strip() and _begins_a_block(lines):
        # The first line of all has no margin, so that the block below it seems to have none either.
        lines[1:] = [f" {line}" for line in lines[1:]]
    kept: list[str] = []
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if field := _FIELD.match(line):
            end = _block_end(lines, at + 1)
            if "type" not in (field["sphinx"] or field["epydoc"]):
                names = _split(field["names"] or field["enames"])
                _note(found, names, [field["text"], *_dedent(lines[at + 1 : end])])
            at = end
        elif _is_title(line) and at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1]):
            end = _numpy_end(lines, at + 2)
            _read_items(lines[at + 2 : end], found, numpy=True)
            at = end
        elif (
            line.rstrip().endswith((":", "："))
            and _is_title(line)
            and (end := _block_end(lines, at + 1, True)) > at + 1
        ):
            _read_items(lines[at + 1 : end], found, numpy=False)
            at = end
        else:
            kept.append(line.rstrip())
            at += 1
    parameters = {name: text for name, block in found.items() if (text := _flow(block))}
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters)


def _is_title(line: str) -> bool:
    return line.strip().rstrip(":：").strip().lower() in _TITLES and line[:1].strip() != ""


def _begins_a_block(lines: list[str]) -> bool:
    following = lines[1] if len(lines) > 1 else ""
    return lines[0].rstrip().endswith((":", "：")) and _is_title(lines[0]) and following[:1].strip() != ""


def _block_end(lines: list[str], at: int, bullets: bool = False) -> int:
    """Where the indented block that starts at ``at`` ends; trailing blank lines don't belong to it."""
    end = at
    for number in range(at, len(lines)):
        line = lines[number]
        if (line[:1].isspace() and line.strip()) or (bullets and _BULLET.match(line)):
            end = number + 1
        elif line.strip():
            break
    return end


def _numpy_end(lines: list[str], at: int) -> int:
    """Where a NumPy section ends: at the next underlined title."""
    for number in range(at, len(lines) - 1):
        if lines[number][:1].strip() and _UNDERLINE.match(lines[number + 1]):
            return number
    return len(lines)


def _read_items(lines: list[str], found: dict[str, list[str]], *, numpy: bool) -> None:
    block: list[str] | None = None
    lines = _dedent(lines)
    for line in lines:
        names, text = ([], "") if line[:1].isspace() else _item(line, numpy=numpy)
        if names:
            block = [text]
            _note(found, names, block)
        elif block is not None:
            block.append(line)
    for name, text_lines in found.items():
        found[name] = [*text_lines[:1], *_dedent(text_lines[1:])]


def _item(line: str, *, numpy: bool) -> tuple[list[str], str]:
    """The names that an item's first line declares, and the text after them."""
    bullet = None if numpy else _BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    match = _NAMES.match(line)
    if match is None:
        return [], ""
    rest = line[match.end() :].strip()
    if numpy:
        return (_split(match[0]), "") if not rest or rest[0] in ":：(" else ([], "")
    if rest.startswith("("):
        rest = rest[_closing(rest) :].lstrip()
    if rest[:1] in (":", "：") or (rest[:2] in ("- ", "– ", "— ")):
        return _split(match[0]), rest[1:].strip()
    return ([], "") if rest or bullet else (_split(match[0]), "")


def _closing(text: str) -> int:
    """The position after the bracket that closes the one that ``text`` starts with; 0 where none does."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return position + 1
    return 0


def _split(names: str) -> list[str]:
    """``x, *args`` → names; of ``dict[str, int] x`` only the last word is one."""
    if not _NAMES.fullmatch(names.strip()):
        names = names.rsplit(maxsplit=1)[-1]
    return [name.strip(" `").lstrip("\\*") for name in names.split(",") if name.strip() not in ("...", "…")]


def _note(found: dict[str, list[str]], names: Iterable[str], block: list[str]) -> None:
    for name in names:
        if not any(line.strip() for line in found.get(name, ())):
            found[name] = block


def _dedent(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:].rstrip() for line in lines]


def _flow(lines: list[str]) -> str:
    """Run the lines of a paragraph together; lists and examples keep their lines."""
    text = ""
    for line in lines:
        if text and not _OWN_LINE.match(line) and not text.endswith("\n"):
            text += " " + line.strip()
        else:
            text += ("\n" if text else "") + line
    return re.sub(r"\n{3,}", "\n\n", text).strip()
