"""The file of a cassette: JSON lines that read well in a diff, written atomically, matched by what was asked for.

The first line says what the file is. Each other line is one entry: a question with its answer (``ask``), a run with its
result (``call``), a server (``server``) and what it offers (``offers``), another request to one (``request``). An entry
is found by its kind, its name and its arguments, wherever it stands; of several alike each is given in turn, the last
one again and again. Nothing in it changes from one recording to the next that the tools don't change themselves.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit import atomic
from nbtoolkit.exception import CassetteError, CassetteMissError
from nbtoolkit.redact import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Cassette", "Entry", "Key"]

VERSION = 1
KINDS = ("ask", "call", "server", "offers", "request")
# As much of a value as a message about it repeats.
SHOWN = 80
# Would turn a diff's text about, break its lines or not be seen at all; servers' texts may have them.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

Key = tuple[str, str, str, str]


@dataclass(eq=False)
class Entry:
    """One line: ``kind`` and ``name`` of what was asked for, ``on`` which server, and what came of it in ``fields``."""

    kind: str
    name: str
    on: str = ""
    arguments: Any = None
    fields: dict[str, Any] = field(default_factory=dict)
    line: int = 0
    used: int = 0
    #: False while its run is under way.
    complete: bool = True

    @property
    def key(self) -> Key:
        """What it is found by."""
        return key_of(self.kind, self.name, self.on, self.arguments)

    def to_json(self) -> dict[str, Any]:
        """The line, its keys in a fixed order."""
        on = {"on": self.on} if self.on else {}
        arguments = {} if self.arguments is None else {"arguments": self.arguments}
        return {self.kind: self.name, **on, **arguments, **self.fields}


def key_of(kind: str, name: str, on: str, arguments: Any) -> Key:
    """An entry's key: the order of the arguments' names is left out of it."""
    return kind, name, on, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


class Cassette:
    """The entries of one file; they need not have come from it."""

    def __init__(self, path: str | Path, entries: Iterable[Entry] = ()) -> None:
        #: As the user wrote it, for messages.
        self.name = str(path)
        # Later cells may move to another folder.
        self.path = Path(path).expanduser().absolute()
        self.entries: list[Entry] = []
        self._by_key: dict[Key, list[Entry]] = {}
        for entry in entries:
            self.add(entry)

    # ------------------------------------------------------------------------------------------------------- reading
    @classmethod
    def read(cls, path: str | Path) -> Cassette:
        """The cassette in a file; CassetteError says in which line it is none."""
        cassette = cls(path)
        try:
            lines = cassette.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            raise CassetteError(
                f"there is no cassette {cassette.name!r}; make it with %toolkit record {cassette.name}, in Python with "
                f"toolkit.record({cassette.name!r})"
            ) from None
        except OSError as error:
            raise CassetteError(f"the cassette {cassette.name!r} can't be read: {error}") from None
        for number, line in enumerate(lines, 1):
            if number == 1:
                cassette._check_head(line)
            elif line.strip():
                cassette.add(cassette._entry(number, line))
        return cassette

    def _check_head(self, line: bytes) -> None:
        head = self._object(1, line)
        if head.get("nbtoolkit") != "cassette":
            raise self._broken(1, f'expected {{"nbtoolkit": "cassette", "version": {VERSION}}}')
        if head.get("version") != VERSION:
            raise self._broken(1, f"it is of version {head.get('version')!r}, and this nbtoolkit reads {VERSION}")

    def _entry(self, number: int, line: bytes) -> Entry:
        found = self._object(number, line)
        kind = next((each for each in KINDS if each in found), None)
        if kind is None:
            raise self._broken(number, f"expected an object with one of {', '.join(KINDS)}")
        name, on = found.pop(kind), found.pop("on", "")
        arguments = found.pop("arguments", None)
        if not isinstance(name, str) or not isinstance(on, str):
            raise self._broken(number, f"{kind} and on must be texts")
        if kind in {"ask", "call"} and not isinstance(arguments, dict):
            raise self._broken(number, "arguments must be an object")
        return Entry(kind, name, on, arguments, found, number)

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise self._broken(number, "it is no UTF-8") from None
        except json.JSONDecodeError as error:
            raise self._broken(number, f"it is no JSON from column {error.colno} on: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise self._broken(number, f"it can't be read: {error}") from None
        if not isinstance(found, dict):
            raise self._broken(number, "expected an object")
        return found

    def _broken(self, number: int, what: str) -> CassetteError:
        return CassetteError(f"line {number} of the cassette {self.name!r} is wrong: {what}")

    def spoilt(self, entry: Entry, error: Exception) -> CassetteError:
        """An entry whose contents can't be used."""
        return self._broken(entry.line, f"its contents can't be used: {type(error).__name__}: {error}")

    # ------------------------------------------------------------------------------------------------------ entries
    def add(self, entry: Entry) -> Entry:
        """Put an entry at the end."""
        self.entries.append(entry)
        self._by_key.setdefault(entry.key, []).append(entry)
        return entry

    def alike(self, key: Key) -> list[Entry]:
        """All entries of one key, in their order."""
        return self._by_key.get(key, [])

    def of(self, kind: str, on: str = "") -> Iterator[Entry]:
        """The entries of a kind on a server."""
        return (entry for entry in self.entries if entry.kind == kind and entry.on == on)

    def find(self, kind: str, name: str, on: str, arguments: Any) -> Entry | None:
        """The entry whose turn it is; None where there is none. It isn't used up by that."""
        alike = self.alike(key_of(kind, name, on, arguments)) or [
            entry
            for entry in self.of(kind, on)
            if entry.name == name and MARK in entry.key[3] and _fits(entry.arguments, arguments)
        ]
        return next((entry for entry in alike if not entry.used), alike[-1] if alike else None)

    def take(self, kind: str, name: str, on: str, arguments: Any) -> Entry | None:
        """``find``, and the next one's turn comes."""
        entry = self.find(kind, name, on, arguments)
        if entry is not None:
            entry.used += 1
        return entry

    @property
    def unused(self) -> list[Entry]:
        """The entries that nothing has asked for; what servers offer isn't counted."""
        return [entry for entry in self.entries if entry.kind not in {"server", "offers"} and not entry.used]

    def miss(self, kind: str, name: str, on: str, arguments: Any) -> CassetteMissError:
        """The error that says what is missing, and how the nearest entry differs from it."""
        what = f"{name} on {on}" if on else name
        shown = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items()) if arguments else ""
        text = f"the cassette {self.name!r} has no {'request' if kind == 'request' else 'call'} {what}({shown})."
        same = [
            entry for entry in self.entries if entry.kind in {kind, "call"} and (entry.name, entry.on) == (name, on)
        ]
        if same:
            near = min(same, key=lambda entry: len(_differences(entry.arguments, arguments)))
            text += f" The nearest, in line {near.line}, differs:"
            text += "".join(f"\n- {each}" for each in _differences(near.arguments, arguments)) + "\n"
        else:
            names = sorted({f"{entry.name} on {entry.on}" if entry.on else entry.name for entry in self.of_calls()})
            close = difflib.get_close_matches(what, names, n=1)
            held = f"the nearest is {close[0]}" if close else f"it has {', '.join(names[:8]) or 'none'}"
            text += f" There is none of that name: {held}. "
        text += (
            f"Make the calls anew with %toolkit record {self.name} --update, in Python with "
            f"toolkit.record({self.name!r}, update=True)."
        )
        return CassetteMissError(text)

    def of_calls(self) -> Iterator[Entry]:
        """The entries of runs and requests."""
        return (entry for entry in self.entries if entry.kind in {"call", "request"})

    # ------------------------------------------------------------------------------------------------------- writing
    def text(self) -> str:
        """The file."""
        lines = [{"nbtoolkit": "cassette", "version": VERSION}, *(e.to_json() for e in self.entries if e.complete)]
        return "".join(f"{_line(line)}\n" for line in lines)

    def write(self) -> None:
        """Put the file in the old one's place at once; a reader never sees half of it."""
        data = self.text().encode("utf-8")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        atomic.replace(self.path, data)


def _line(line: dict[str, Any]) -> str:
    text = json.dumps(line, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half characters
        return json.dumps(line)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _fits(recorded: Any, given: Any) -> bool:
    """Whether arguments are those that were recorded; what was redacted stands for any text."""
    if isinstance(recorded, str) and MARK in recorded and isinstance(given, str):
        return re.fullmatch(".*".join(map(re.escape, recorded.split(MARK))), given, re.DOTALL) is not None
    if isinstance(recorded, dict) and isinstance(given, dict):
        return recorded.keys() == given.keys() and all(_fits(recorded[key], given[key]) for key in recorded)
    if isinstance(recorded, list) and isinstance(given, list):
        return len(recorded) == len(given) and all(map(_fits, recorded, given))
    return bool(recorded == given) and type(recorded) is type(given)


def _differences(recorded: Any, given: Any) -> list[str]:
    if not isinstance(recorded, dict) or not isinstance(given, dict):
        return [] if recorded == given else [f"the call has {_short(given)}, the cassette {_short(recorded)}"]
    out = []
    for key in dict.fromkeys([*given, *recorded]):
        if key not in recorded:
            out.append(f"{key}: the call has {_short(given[key])}, the cassette nothing")
        elif key not in given:
            out.append(f"{key}: the call has nothing, the cassette {_short(recorded[key])}")
        elif not _fits(recorded[key], given[key]):
            out.append(f"{key}: the call has {_apart(given[key], recorded[key])}")
    return out


def _apart(given: Any, recorded: Any) -> str:
    """Two values side by side; of long texts the place where they part."""
    one, two = _short(given, 10_000), _short(recorded, 10_000)
    start = 0
    if max(len(one), len(two)) > SHOWN:
        same = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        start = max(0, same - SHOWN // 4)
    lead = "…" if start else ""
    return f"{lead}{_cut(one[start:])}, the cassette {lead}{_cut(two[start:])}"


def _short(value: Any, limit: int = SHOWN) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str), limit)


def _cut(text: str, limit: int = SHOWN) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
