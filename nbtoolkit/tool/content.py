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
    from collections.abc import Callable

__all__ = ["MAX_RESULT_CHARS", "cut", "to_blocks", "to_chunk"]

# About 5,000 tokens: what a model reads with care.
MAX_RESULT_CHARS = 20_000
# A head that shows the columns' kinds without filling the window.
TABLE_ROWS = 10
TABLE_COLUMNS = 20
# Enough of an array to see what it holds.
ARRAY_ITEMS = 60
# A picture past this says more by its size than by its pixels.
MAX_IMAGE_BYTES = 8_000_000

_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{6,}")


def to_chunk(value: object, max_chars: int = MAX_RESULT_CHARS) -> ToolChunk:
    """The chunk for what a function returned; one that it made itself is taken as it is."""
    text = value if isinstance(value, str) else _text(value) if type(value) in _JSON_KINDS else None
    if text is not None:
        block = TextBlock(text=text if len(text) <= max_chars else cut(text, max_chars))
        return ToolChunk(content=[block]).with_value(value)
    if isinstance(value, ToolChunk):
        return value
    if isinstance(value, ToolResponse):
        return ToolChunk(content=value.content, state=value.state, metadata=value.metadata).with_value(value.value)
    return ToolChunk(content=to_blocks(value, max_chars)).with_value(value)


def to_blocks(value: object, max_chars: int = MAX_RESULT_CHARS) -> list[TextBlock | DataBlock]:
    """The blocks for any object; text past ``max_chars`` is cut in the middle with a count."""
    if isinstance(value, TextBlock | DataBlock):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, TextBlock | DataBlock) for item in value):
        return list(value)
    image = _image(value)
    if image is not None:
        return [image]
    return [TextBlock(text=cut(_text(value), max_chars))]


def cut(text: str, max_chars: int = MAX_RESULT_CHARS) -> str:
    """The text, or its two ends and the count of what is missing between."""
    if len(text) <= max_chars:
        return text
    head = max_chars * 2 // 3
    tail = max_chars - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n… {left_out:,} of {len(text):,} characters left out …\n{text[-tail:]}"


def _text(value: object) -> str:
    if value is None:
        return "done, nothing returned"
    if isinstance(value, str):
        return value
    if type(value) in _JSON_KINDS:
        try:
            return _encode(value)
        except (TypeError, ValueError, RecursionError):
            pass  # keys that JSON doesn't know, or a reference to itself
    table = _table(value)
    if table is not None:
        return table
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes, beginning with {bytes(value[:64])!r}"
    if _is_data(value):
        try:
            return _ENCODER.encode(_keyed(value))
        except (TypeError, ValueError, RecursionError):
            pass
    if isinstance(value, dt.date | dt.time | enum.Enum | uuid.UUID | decimal.Decimal | PurePath):
        return str(_plain(value))
    return plain_repr(value)


def plain_repr(value: object) -> str:
    """The object's text form without addresses; a broken ``__repr__`` is said, not raised."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - any object may come here, and its repr may do anything
        return f"<{type(value).__qualname__}, whose repr failed with {type(error).__name__}>"
    return _ADDRESS.sub("", text)


def _is_data(value: object) -> bool:
    if isinstance(value, bool | int | float | list | tuple | Mapping | AbstractSet | BaseModel):
        return True
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return True
    return _is_numpy_scalar(value)


def _keyed(value: object) -> object:
    """JSON wants text for keys; the usual mapping passes untouched."""
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(_plain_key(k)): _keyed(v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _keyed(value._asdict())
    if isinstance(value, list | tuple):
        return [_keyed(item) for item in value]
    return value


def _plain_key(key: object) -> object:
    return plain_repr(key) if isinstance(key, tuple) else _plain(key)


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
        return value.item()
    if hasattr(value, "tolist") and _is(value, "numpy", "ndarray"):
        return value.tolist()
    return plain_repr(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_plain)


def _one_encoder() -> Callable[[object], str]:
    """``_ENCODER.encode`` without the encoder that it makes anew for each value."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _ENCODER.encode
    # A value that holds itself ends in a RecursionError instead of a ValueError.
    encode = make(None, _plain, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
    return lambda value: "".join(encode(value, 0))


_encode = _one_encoder()
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


def _image(value: Any) -> DataBlock | None:
    png: bytes | None = None
    if _is(value, "matplotlib.figure", "Figure"):
        buffer = io.BytesIO()
        value.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
        png = buffer.getvalue()
    elif _is(value, "PIL.Image", "Image"):
        buffer = io.BytesIO()
        value.save(buffer, format="PNG")
        png = buffer.getvalue()
    elif not isinstance(value, type) and callable(getattr(type(value), "_repr_png_", None)):
        try:
            got = value._repr_png_()
        except Exception:  # noqa: BLE001 - a picture that can't be drawn leaves the text
            return None
        png = got[0] if isinstance(got, tuple) else got
        if isinstance(png, str):
            png = base64.b64decode(png)
    if not png or len(png) > MAX_IMAGE_BYTES:
        return None
    return DataBlock(source=Base64Source(data=base64.b64encode(png).decode(), media_type="image/png"))
