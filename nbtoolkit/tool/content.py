"""Any Python object → blocks for a model: bounded, deterministic, never a memory address.

The person sees the object itself; what stands here is what the model reads. Libraries are recognised by the names of
their classes, so that none is imported for a result that isn't theirs.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import io
import json
import math
import re
import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from nbtoolkit.tool.result import ToolChunk, ToolResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["KEPT", "MAX_PICTURES", "MAX_RESULT_CHARS", "clean", "cut", "goes_by", "plain_text", "to_blocks", "to_chunk"]

# About 5,000 tokens: what a model reads with care.
MAX_RESULT_CHARS = 20_000
# A head that shows the columns' kinds without filling the window.
TABLE_ROWS = 10
TABLE_COLUMNS = 20
# Enough of an array to see what it holds.
ARRAY_ITEMS = 60
# A picture past this says more by its size than by its pixels.
MAX_IMAGE_BYTES = 8_000_000
# What a progress report says of the text that goes by.
MESSAGE_CHARS = 200
# More pictures of one result than these cost a model more than they tell.
MAX_PICTURES = 20
# A list of texts and pictures up to this long is given item by item.
MAX_IN_TURN = 50
# An array past this would be cut as JSON; its corners tell more.
MAX_JSON_ITEMS = 10_000
# What a cut text adds where the object that it tells of is held for a later cell or call.
KEPT = "; the whole is kept in toolkit.results"

_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{6,}")
# A table shortens its cells, addresses too, and "0x…" alone may be somebody's data there.
_TABLE_ADDRESS = re.compile(r" at 0x(?:[0-9a-fA-F]{6,}|[0-9a-fA-F]*(?:\.\.\.|…))")


def to_chunk(value: object, max_chars: int = MAX_RESULT_CHARS) -> ToolChunk:
    """The chunk for what a function returned; one that it made itself is taken as it is."""
    text = plain_text(value, max_chars)
    if text is not None:
        if type(text) is str:
            return ToolChunk.plain(text, value)
        return ToolChunk(content=[TextBlock(text=text)]).with_value(value)
    if isinstance(value, ToolChunk):
        return value
    if isinstance(value, ToolResponse):
        return ToolChunk(content=value.content, state=value.state, metadata=value.metadata).with_value(value.value)
    return ToolChunk(content=to_blocks(value, max_chars)).with_value(value)


def plain_text(value: object, max_chars: int = MAX_RESULT_CHARS) -> str | None:
    """The text of the usual result, a text or JSON; None for one that wants a closer look."""
    text = value if isinstance(value, str) else _quick_json(value) if type(value) in _JSON_KINDS else None
    if text is not None and (len(text) > max_chars or not text.isascii()):
        return clean(cut(text, max_chars, KEPT))
    return text


def to_blocks(value: object, max_chars: int = MAX_RESULT_CHARS) -> list[TextBlock | DataBlock]:
    """The blocks for any object; text past ``max_chars`` is cut in the middle with a count.

    A short list of texts, pictures and blocks gives its items in turn; pictures anywhere else inside a value follow its
    text, which says where they belong.
    """
    if isinstance(value, TextBlock | DataBlock):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, TextBlock | DataBlock) for item in value):
        return list(value)
    if isinstance(value, list | tuple) and _is_sequel(value):
        return _in_turn(value, max_chars)
    image = _image(value)
    if image is not None:
        return [image]
    text, pictures = _read(value)
    return [TextBlock(text=clean(cut(text, max_chars, KEPT))), *pictures]


def _is_sequel(items: list[Any] | tuple[Any, ...]) -> bool:
    """Whether these are texts, pictures and blocks, and not texts alone."""
    if len(items) > MAX_IN_TURN or all(isinstance(item, str) for item in items):
        return False
    return all(isinstance(item, str | TextBlock | DataBlock) or _is_picture(item) for item in items)


def _in_turn(items: list[Any] | tuple[Any, ...], max_chars: int) -> list[TextBlock | DataBlock]:
    blocks: list[TextBlock | DataBlock] = []
    room, pictures, before = max_chars, 0, None
    for item in items:
        block = item if isinstance(item, TextBlock | DataBlock) else None
        if block is None and not isinstance(item, str):
            pictures += 1
            block = _image(item) if pictures <= MAX_PICTURES else None
        if block is None:
            text = item if isinstance(item, str) else plain_repr(item)
            # Neighbouring texts become one, and two items were two lines.
            start = "\n" if isinstance(before, TextBlock) else ""
            block = TextBlock(text=start + clean(cut(text, room, KEPT)))
            room = max(0, room - len(text))
        blocks.append(block)
        before = block
    return blocks


def cut(text: str, max_chars: int = MAX_RESULT_CHARS, more: str = "") -> str:
    """The text, or its two ends and the count of what is missing between, with ``more`` said after it."""
    if len(text) <= max_chars:
        return text
    head = max_chars * 2 // 3
    tail = max_chars - head
    left_out = len(text) - head - tail
    end = text[len(text) - tail :]
    return f"{text[:head]}\n… {left_out:,} of {len(text):,} characters left out{more} …\n{end}"


def clean(text: str) -> str:
    """The text with half characters, which no JSON can be written with, as their escapes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def goes_by(text: str, total: int) -> dict[str, Any]:
    """The metadata of a chunk whose text is held back: its last line, for whoever looks on; empty where it has none.

    ``total`` counts the stream's characters so far.
    """
    line = clean(text.strip().rpartition("\n")[2][:MESSAGE_CHARS])
    return {"mcp_progress": {"progress": total, "total": None, "message": line}} if line else {}


def _read(value: object) -> tuple[str, list[DataBlock]]:
    """The text of an object, and the pictures inside it."""
    plain = _Plain()
    try:
        return _text(value, plain), plain.pictures
    except Exception:  # noqa: BLE001 - any object may come here; the function that gave it has run
        return plain_repr(value), []


def _text(value: Any, plain: _Plain) -> str:
    if value is None:
        return "done, nothing returned"
    if isinstance(value, str):
        return value
    table = _table(value)
    if table is not None:
        return _TABLE_ADDRESS.sub("", table)
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes, beginning with {bytes(value[:64])!r}"
    if _is_data(value):
        keyed = _keyed(value)
        return (
            keyed if isinstance(keyed, str) else json.dumps(keyed, ensure_ascii=False, allow_nan=False, default=plain)
        )
    if isinstance(value, float | dt.date | dt.time | enum.Enum | uuid.UUID | decimal.Decimal | PurePath) or (
        _is_numpy_scalar(value)
    ):
        simple = _keyed(value if isinstance(value, float) else _plain(value))
        return simple if isinstance(simple, str) else json.dumps(simple, ensure_ascii=False, default=plain)
    return plain_repr(value)


def plain_repr(value: object) -> str:
    """The object's text form without addresses; a broken ``__repr__`` is said, not raised."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - any object may come here, and its repr may do anything
        return f"<{type(value).__qualname__}, whose repr failed with {type(error).__name__}>"
    return _ADDRESS.sub("", text)


def _is_data(value: object) -> bool:
    if isinstance(value, bool | int | list | tuple | Mapping | AbstractSet | BaseModel):
        return not isinstance(value, enum.Enum)
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _keyed(value: object) -> object:
    """JSON wants text for keys, and has no number for NaN; the usual mapping passes untouched."""
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_FINITE[repr(float(value))]
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(_plain_key(k)): _keyed(v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _keyed(value._asdict())
    if isinstance(value, list | tuple):
        return [_keyed(item) for item in value]
    if isinstance(value, int) and value.bit_length() > LONG_NUMBER:
        return _digits(value)
    return value


def _digits(number: int) -> str:
    """A whole number that is too long for Python to write."""
    if number.bit_length() > LONGEST_NUMBER:
        return f"a whole number of about {int(number.bit_length() * math.log10(2)):,} digits"
    left, parts = abs(number), []
    while left:
        left, part = divmod(left, 10**4_000)
        parts.append(f"{part:04000d}")
    return ("-" if number < 0 else "") + "".join(reversed(parts)).lstrip("0")


# Bits: Python writes 4,300 digits at most, and so does JSON; more than the second are no number to read.
LONG_NUMBER = 14_000
LONGEST_NUMBER = 400_000

# The words that arguments have for them too.
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _plain_key(key: object) -> object:
    return plain_repr(key) if isinstance(key, tuple) else _keyed(key) if isinstance(key, float) else _plain(key)


def _plain(value: Any) -> Any:
    """What JSON can't carry, as what it can."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _keyed(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return _keyed(dict(value))
    if isinstance(value, AbstractSet):
        # Sorted by their text: a set's own order changes with the hash seed.
        return sorted((_keyed(item) for item in value), key=lambda item: json.dumps(item, default=_plain))
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if _is_numpy_scalar(value):
        # As a number a time would lose what it is; item() of a long double is a long double again.
        item = str(value) if _is(value, "numpy", "datetime64", "timedelta64") else value.item()
        return str(item) if _is_numpy_scalar(item) and not isinstance(item, float) else item
    if _is(value, "numpy", "ndarray"):
        if value.size > MAX_JSON_ITEMS:
            return _TABLE_ADDRESS.sub("", _table(value) or "")
        return list(value) if value.dtype.kind in "mM" and value.ndim else value.tolist()
    return plain_repr(value)


class _Plain:
    """``_plain``, and the pictures that stand inside a value, whose places it names."""

    def __init__(self) -> None:
        self.pictures: list[DataBlock] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, TextBlock):
            return value.text
        if isinstance(value, ToolChunk | ToolResponse):
            return value.content
        image = value if isinstance(value, DataBlock) else None
        if image is None and _is_picture(value) and len(self.pictures) < MAX_PICTURES:
            image = _image(value)
        if image is None:
            return _keyed(_plain(value))
        self.pictures.append(image)
        return f"(picture {len(self.pictures)}, below)"


def _quick(value: Any) -> Any:
    if isinstance(value, TextBlock | DataBlock | ToolChunk | ToolResponse) or _is_picture(value):
        raise TypeError("this wants more than a text")
    return _plain(value)


def _one_encoder() -> Callable[[object, int], Iterable[str]]:
    """``JSONEncoder.encode`` in its pieces, without the encoder that it makes anew for each value."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_quick)
        return lambda value, _indent: (encoder.encode(value),)
    # A value that holds itself ends in a RecursionError instead of a ValueError.
    made: Callable[[object, int], Iterable[str]] = make(
        None, _quick, json.encoder.encode_basestring, None, ": ", ", ", False, False, False
    )
    return made


_encode = _one_encoder()


def _quick_json(value: object) -> str | None:
    """The JSON of the usual result; None for one with a picture, NaN, odd keys or itself inside."""
    try:
        return "".join(_encode(value, 0))
    except Exception:  # noqa: BLE001 - a second and closer look says what it is
        return None


# The usual results: no look at what else they might be.
_JSON_KINDS = frozenset({dict, bool, int, float})


def _is(value: object, package: str, *names: str) -> bool:
    return any(
        cls.__name__ in names and (cls.__module__ == package or cls.__module__.startswith(package + "."))
        for cls in type(value).__mro__
    )


def _is_numpy_scalar(value: object) -> bool:
    return _is(value, "numpy", "generic")


def _table(value: Any) -> str | None:
    if _is(value, "pandas", "DataFrame"):
        rows, columns = value.shape
        kinds = ", ".join(f"{name}: {kind}" for name, kind in list(value.dtypes.items())[:TABLE_COLUMNS])
        more = f", … {columns - TABLE_COLUMNS} more" if columns > TABLE_COLUMNS else ""
        head = value.head(TABLE_ROWS).to_string(max_cols=TABLE_COLUMNS, max_colwidth=60)
        rest = f"\n… {rows - TABLE_ROWS:,} more rows" if rows > TABLE_ROWS else ""
        return f"DataFrame, {rows:,} rows × {columns:,} columns\n{kinds}{more}\n{head}{rest}"
    if _is(value, "pandas", "Series"):
        head = value.head(TABLE_ROWS).to_string()
        rest = f"\n… {len(value) - TABLE_ROWS:,} more rows" if len(value) > TABLE_ROWS else ""
        return f"Series {value.name!r}, {len(value):,} rows, {value.dtype}\n{head}{rest}"
    if _is(value, "polars", "DataFrame"):
        kinds = ", ".join(f"{name}: {kind}" for name, kind in list(value.schema.items())[:TABLE_COLUMNS])
        return f"DataFrame, {value.height:,} rows × {value.width:,} columns\n{kinds}\n{value.head(TABLE_ROWS)}"
    if _is(value, "polars", "Series"):
        return f"Series {value.name!r}, {len(value):,} rows, {value.dtype}\n{value.head(TABLE_ROWS)}"
    if _is(value, "numpy", "ndarray"):
        import numpy as np

        corner = np.array2string(value, threshold=ARRAY_ITEMS, edgeitems=3)
        return f"array, shape {value.shape}, {value.dtype}\n{corner}"
    return None


def _is_picture(value: object) -> bool:
    if _is(value, "matplotlib.figure", "Figure") or _is(value, "PIL.Image", "Image"):
        return True
    return not isinstance(value, type) and callable(getattr(type(value), "_repr_png_", None))


def _image(value: Any) -> DataBlock | None:
    if not _is_picture(value):
        return None
    try:
        png = _png(value)
    except Exception:  # noqa: BLE001 - a picture that can't be drawn leaves the text
        return None
    if not png or len(png) > MAX_IMAGE_BYTES:
        return None
    return DataBlock(source=Base64Source(data=base64.b64encode(png).decode(), media_type="image/png"))


def _png(value: Any) -> bytes | None:
    buffer = io.BytesIO()
    if _is(value, "matplotlib.figure", "Figure"):
        value.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    elif _is(value, "PIL.Image", "Image"):
        # The modes that PNG knows; the others, CMYK for one, as what they look like.
        known = value.mode in {"1", "L", "LA", "I;16", "P", "RGB", "RGBA"}
        drawn = value if known else value.convert("I;16" if value.mode == "I" else "RGB")
        drawn.save(buffer, format="PNG")
    else:
        got = value._repr_png_()
        got = got[0] if isinstance(got, tuple) else got
        return base64.b64decode(got) if isinstance(got, str) else got
    return buffer.getvalue()
