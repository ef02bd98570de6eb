"""Python values as JSON and back, as far as they come back the same.

JSON's own values stand as they are; tuples, sets, dates, numbers of other kinds, bytes, paths, arrays and tables carry a
tag, ``{"$": "tuple", "of": [...]}``. A table of moderate size comes back as it was, which is proved when it is written.
Anything else comes back as a ReplayedValue that says what it was; a larger one of a table keeps the rows that a record
draws, so that the record is the same.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
import uuid
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from nbtoolkit.schema.variables import describe

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SHAPE", "NotKeptError", "ReplayedValue", "decode", "encode", "keep"]

TAG = "$"
# A line of a few screens; more is a data set, which has a file of its own.
MAX_CELLS = 5_000
# As many rows and columns at each end as a record draws of a larger table, and one for its mark of a gap.
END = 11
MAX_DEPTH = 50
# Where an abridged table says how large it was.
SHAPE = "nbtoolkit_shape"


class NotKeptError(TypeError):
    """A value that can't come back from JSON as it was."""


class ReplayedValue:
    """Stands for a value that a cassette doesn't keep; ``kind`` and ``about`` say what it was.

    ``abridged`` is what a record draws of a table, with its whole ``shape``; it isn't the table.
    """

    def __init__(self, kind: str, about: str, abridged: Any = None, shape: tuple[int, ...] | None = None) -> None:
        self.kind = kind
        self.about = about
        self.abridged = abridged
        self.shape = shape

    def __repr__(self) -> str:
        return f"<{self.about}, replayed: a cassette doesn't keep it>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"this is no {self.kind}, so it has no {name!r}: it was replayed, and a cassette keeps of a {self.kind} "
            "only what a model and a person saw. Return something that JSON can carry, or call the function itself."
        )


# ------------------------------------------------------------------------------------------------------------ to JSON


def keep(value: object) -> Any:
    """The value as JSON, or what stands for it."""
    try:
        return encode(value)
    except NotKeptError:
        return {TAG: "object", "kind": type(value).__name__, "about": describe(value), **_abridged(value)}


def encode(value: Any, depth: int = 0) -> Any:
    """The value as JSON; NotKeptError where it wouldn't come back the same."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if depth > MAX_DEPTH:
        raise NotKeptError("nested too deeply")
    if kind is float:
        return value if math.isfinite(value) else {TAG: "float", "of": repr(value)}
    if kind is list:
        return [encode(each, depth + 1) for each in value]
    if kind is dict and all(type(key) is str for key in value) and TAG not in value:
        return {key: encode(each, depth + 1) for key, each in value.items()}
    if kind is dict:
        return {TAG: "dict", "of": [[encode(key, depth + 1), encode(each, depth + 1)] for key, each in value.items()]}
    if kind is tuple:
        return {TAG: "tuple", "of": [encode(each, depth + 1) for each in value]}
    if kind in (set, frozenset):
        # A set's own order changes with the hash seed.
        return {TAG: kind.__name__, "of": sorted((encode(each, depth + 1) for each in value), key=repr)}
    if kind in _TEXTS:
        return {TAG: kind.__name__, "of": _TEXTS[kind][0](value)}
    if isinstance(value, PurePath):
        return {TAG: "Path", "of": str(value)}
    return _encode_science(value, depth)


_TEXTS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: (lambda value: base64.b64encode(value).decode(), base64.b64decode),
    complex: (str, complex),
    dt.datetime: (dt.datetime.isoformat, dt.datetime.fromisoformat),
    dt.date: (dt.date.isoformat, dt.date.fromisoformat),
    dt.time: (dt.time.isoformat, dt.time.fromisoformat),
    dt.timedelta: (lambda value: repr(value.total_seconds()), lambda text: dt.timedelta(seconds=float(text))),
    decimal.Decimal: (str, decimal.Decimal),
    uuid.UUID: (str, uuid.UUID),
}


def _is(value: object, package: str, name: str) -> bool:
    kind = type(value)
    return kind.__name__ == name and kind.__module__.partition(".")[0] == package


def _encode_science(value: Any, depth: int) -> Any:
    """Arrays and tables; their libraries are looked at only where the value is theirs."""
    if _is(value, "pandas", "DataFrame") or _is(value, "pandas", "Series"):
        if value.size > MAX_CELLS:
            raise NotKeptError("too large")
        written = _encode_table(value)
        if not _same_table(decode(written), value):
            raise NotKeptError("a table that JSON can't carry")
        return written
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "tolist"):
        if value.dtype.kind not in "biuf" or value.size > MAX_CELLS:
            raise NotKeptError("an array that JSON can't carry")
        kind = "array" if value.shape else "numpy"
        return {TAG: kind, "dtype": str(value.dtype), "of": encode(value.tolist(), depth + 1)}
    raise NotKeptError(f"a {type(value).__name__}")


def _encode_table(value: Any) -> dict[str, Any]:
    series = _is(value, "pandas", "Series")
    frame = value.to_frame(name=0) if series else value
    columns = []
    for place, label in enumerate(frame.columns):
        column = frame.iloc[:, place]
        columns.append([encode(label), str(column.dtype), [_encode_cell(cell) for cell in column.tolist()]])
    written: dict[str, Any] = {TAG: "Series" if series else "DataFrame", "columns": columns}
    if series:
        written["name"] = encode(value.name)
    index = frame.index
    if not (_is(index, "pandas", "RangeIndex") and index.start == 0 and index.step == 1 and index.name is None):
        if index.nlevels > 1 or frame.columns.nlevels > 1:
            raise NotKeptError("a table with an index of several levels")
        written["index"] = [encode(index.name), str(index.dtype), [_encode_cell(cell) for cell in index.tolist()]]
    else:
        written["rows"] = len(index)
    return written


def _encode_cell(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if type(cell).__name__ in {"Timestamp", "Timedelta", "Interval", "Period"}:
        return str(cell)
    if type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    return encode(cell)


def _same_table(made: Any, value: Any) -> bool:
    import pandas as pd

    check = pd.testing.assert_series_equal if isinstance(value, pd.Series) else pd.testing.assert_frame_equal
    try:
        check(made, value, check_exact=True, check_index_type="equiv", check_names=True)
    except (AssertionError, TypeError, ValueError):
        return False
    return True


def _abridged(value: Any) -> dict[str, Any]:
    """What a record draws of a table: its first and last rows and columns, and how large it is."""
    if _is(value, "pandas", "Series"):
        value = value.to_frame(value.name if value.name is not None else "")
    if not _is(value, "pandas", "DataFrame"):
        return {}
    rows, columns = (
        list(range(size)) if size <= 2 * END else [*range(END), *range(size - END, size)] for size in value.shape
    )
    try:
        written = _encode_table(value.iloc[rows, columns])
        decode(written)
    except (NotKeptError, TypeError, ValueError):
        return {}
    return {"shape": list(value.shape), "abridged": written}


# ---------------------------------------------------------------------------------------------------------- from JSON


def decode(value: Any) -> Any:
    """The value behind its JSON; a table whose library isn't here is a ReplayedValue, an unknown tag a ValueError."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(TAG)
    if tag is None:
        return {key: decode(each) for key, each in value.items()}
    of = value.get("of")
    for kind, (_, read) in _TEXTS.items():
        if tag == kind.__name__:
            return read(str(of))
    if tag in _READERS:
        return _READERS[tag](value)
    raise ValueError(f"an unknown kind of value, {tag!r}")


def _items(value: dict[str, Any]) -> list[Any]:
    return [decode(each) for each in value["of"]]


def _table(value: dict[str, Any]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return ReplayedValue(value[TAG], f"{value[TAG]} (pandas isn't installed)")
    index: Any = None
    if "index" in value:
        name, dtype, cells = value["index"]
        index = pd.Index([decode(cell) for cell in cells], dtype=dtype, name=decode(name))
    else:
        index = pd.RangeIndex(int(value["rows"]))
    columns = [
        pd.Series([decode(cell) for cell in cells], index=index, dtype=dtype) for _, dtype, cells in value["columns"]
    ]
    if value[TAG] == "Series":
        return columns[0].rename(decode(value["name"]))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)
    frame.columns = pd.Index([decode(label) for label, _, _ in value["columns"]])
    return frame


def _array(value: dict[str, Any]) -> Any:
    try:
        import numpy as np
    except ImportError:
        return ReplayedValue("ndarray", "array (numpy isn't installed)")
    made = np.asarray(decode(value["of"]), dtype=value["dtype"])
    return made[()] if value[TAG] == "numpy" else made


def _object(value: dict[str, Any]) -> ReplayedValue:
    abridged = _table(value["abridged"]) if isinstance(value.get("abridged"), dict) else None
    shape = tuple(value["shape"]) if "shape" in value else None
    if abridged is not None and not isinstance(abridged, ReplayedValue):
        abridged.attrs[SHAPE] = shape
    return ReplayedValue(str(value.get("kind")), str(value.get("about")), abridged, shape)


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "float": lambda value: float(value["of"]),
    "dict": lambda value: {decode(key): decode(each) for key, each in value["of"]},
    "tuple": lambda value: tuple(_items(value)),
    "set": lambda value: set(_items(value)),
    "frozenset": lambda value: frozenset(_items(value)),
    "Path": lambda value: Path(value["of"]),
    "DataFrame": _table,
    "Series": _table,
    "array": _array,
    "numpy": _array,
    "object": _object,
}
