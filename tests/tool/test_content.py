"""What a model reads of a Python object."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import os
import subprocess
import sys
import uuid
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState
from nbtoolkit.tool.content import MAX_PICTURES, MAX_RESULT_CHARS, cut, to_blocks, to_chunk
from nbtoolkit.tool.result import ToolChunk, ToolResponse


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    day: dt.date
    sizes: set[int]


@dataclasses.dataclass
class Record:
    name: str
    price: decimal.Decimal


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the kind that people still write


def read(value: object) -> str:
    (block,) = to_blocks(value)
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("as it is {", "as it is {"),
        (None, "done, nothing returned"),
        (True, "true"),
        (3.5, "3.5"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ({1: "x", (2, 3): "y"}, '{"1": "x", "(2, 3)": "y"}'),
        ({"ü": "日"}, '{"ü": "日"}'),
        ({"b", "a", "c"}, '["a", "b", "c"]'),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        (Record("a", decimal.Decimal("1.10")), '{"name": "a", "price": "1.10"}'),
        (Model(day=dt.date(2026, 1, 2), sizes={2, 1}), '{"day": "2026-01-02", "sizes": [1, 2]}'),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
        (decimal.Decimal("0.10"), "0.10"),
        (Colour.RED, "red"),
        (Path("a/b"), "a/b"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (np.float64(0.5), "0.5"),
        (np.int64(7), "7"),
        ([np.int64(7), np.array([1, 2])], "[7, [1, 2]]"),
        ({"when": dt.date(2026, 1, 2), "what": Colour.RED}, '{"when": "2026-01-02", "what": "red"}'),
    ],
)
def test_python_objects_read_as_json_or_plain_text(value: object, expected: str) -> None:
    assert read(value) == expected


def test_a_dataframe_reads_as_its_shape_its_columns_and_a_head() -> None:
    text = read(pd.DataFrame({"n": range(1000), "name": ["x"] * 1000}))
    assert text.startswith("DataFrame, 1,000 rows × 2 columns\nn: int64, name: ")
    assert "… 990 more rows" in text
    assert len(text) < 600


def test_an_array_reads_as_its_shape_and_its_corners() -> None:
    text = read(np.zeros((500, 500)))
    assert text.startswith("array, shape (500, 500), float64\n")
    assert len(text) < 600


def test_a_series_reads_as_its_name_and_a_head() -> None:
    assert read(pd.Series([1, 2], name="mass")).startswith("Series 'mass', 2 rows, int64\n")


def test_no_memory_address_reaches_the_model() -> None:
    class Plain:
        pass

    assert "0x" not in read(Plain())
    assert "0x" not in read([Plain()])
    assert "0x" not in read(print)


def test_a_broken_repr_is_said_and_not_raised() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    assert "repr failed with ZeroDivisionError" in read(Broken())


def test_a_reference_to_itself_is_read_without_end() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert read(loop) == "[1, [...]]"


def test_a_long_text_is_cut_in_the_middle_with_a_count() -> None:
    text = cut("a" * 30_000 + "b" * 30_000)
    assert text.startswith("a" * 1000)
    assert text.endswith("b" * 1000)
    assert "40,000 of 60,000 characters left out" in text
    assert len(text) < MAX_RESULT_CHARS + 100
    assert cut("short") == "short"


def test_a_figure_is_a_picture() -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([1, 2])
    (block,) = to_blocks(figure)
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, Base64Source)
    assert block.source.media_type == "image/png"


def test_anything_with_a_png_form_is_a_picture() -> None:
    from PIL import Image

    class Drawn:
        def _repr_png_(self) -> bytes:
            return b"\x89PNG"

    assert isinstance(to_blocks(Image.new("RGB", (2, 2)))[0], DataBlock)
    assert isinstance(to_blocks(Drawn())[0], DataBlock)


def test_blocks_chunks_and_responses_pass_as_they_are() -> None:
    block = TextBlock(text="x")
    assert to_blocks(block) == [block]
    assert to_blocks([block, block]) == [block, block]
    chunk = ToolChunk(content=[block], state=ToolResultState.ERROR)
    assert to_chunk(chunk) is chunk
    response = ToolResponse().append_chunk(chunk).finish()
    assert to_chunk(response).state is ToolResultState.ERROR


def test_a_set_reads_the_same_under_every_hash_seed() -> None:
    code = (
        "from nbtoolkit.tool.content import to_blocks\n"
        "print(to_blocks({'s': {'b', 'a', 'c', 'd'}, 't': frozenset('xyz')})[0].text)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert [json.loads(line) for line in seen] == [{"s": ["a", "b", "c", "d"], "t": ["x", "y", "z"]}]


class Plain:
    pass


def test_no_memory_address_stands_in_a_table_or_an_array() -> None:
    wide = type("Wide" * 12, (), {})
    for value in (
        pd.DataFrame({"o": [Plain(), wide()]}),
        pd.Series([Plain()]),
        np.array([Plain()], dtype=object),
        {"a": np.array([Plain()], dtype=object)},
        [Plain(), {"k": (Plain(),)}],
    ):
        assert "0x" not in read(value)
    assert "at 0xdead" in read(pd.Series(["at 0xdead"]))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA", "CMYK", "F", "YCbCr", "HSV", "LAB"])
def test_a_picture_of_any_mode_is_a_picture(mode: str) -> None:
    import base64
    import io

    from PIL import Image

    (block,) = to_blocks(Image.new(mode, (3, 2)))
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, Base64Source)
    assert Image.open(io.BytesIO(base64.b64decode(block.source.data))).size == (3, 2)


def test_a_picture_that_can_not_be_drawn_is_a_text() -> None:
    class Undrawable:
        def _repr_png_(self) -> bytes:
            raise OSError

        def __repr__(self) -> str:
            return "the picture"

    assert read(Undrawable()) == "the picture"
    assert read({"p": Undrawable()}) == '{"p": "the picture"}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.datetime64("2026-01-02T03:04:05.123456789"), "2026-01-02T03:04:05.123456789"),
        ({"t": np.datetime64("2026-01-02", "ns")}, '{"t": "2026-01-02T00:00:00.000000000"}'),
        ({"t": np.array(["2026-01-02"], "M8[ns]")}, '{"t": ["2026-01-02T00:00:00.000000000"]}'),
        ({"t": np.array([["2026-01-02"]], "M8[D]")}, '{"t": [["2026-01-02"]]}'),
        ([np.timedelta64(5, "s")], '["5 seconds"]'),
        ({"a": np.longdouble(1)}, '{"a": "1.0"}'),
        (float("nan"), "NaN"),
        (np.float32("inf"), "Infinity"),
        ({"a": float("nan"), "b": [float("-inf"), 1.5]}, '{"a": "NaN", "b": ["-Infinity", 1.5]}'),
        ([np.float64("nan"), np.array([1.0, np.nan])], '["NaN", [1.0, "NaN"]]'),
        ({float("nan"): 1}, '{"NaN": 1}'),
    ],
)
def test_times_and_numbers_out_of_range_read_as_what_they_are(value: object, expected: str) -> None:
    assert read(value) == expected


def shapes(value: object) -> list[str]:
    return [block.text if isinstance(block, TextBlock) else "picture" for block in to_chunk(value).content]


class Drawn:
    def _repr_png_(self) -> bytes:
        return b"\x89PNG"


@pytest.mark.parametrize("negative", [True, False])
def test_a_number_that_python_does_not_write_is_read_all_the_same(negative: bool) -> None:
    number = -(10**5_000) - 7 if negative else 10**5_000 + 7
    digits = f"{'-' if negative else ''}1{'0' * 4_999}7"
    assert read(number) == digits
    assert read({"n": [number, 1]}) == json.dumps({"n": [digits, 1]})
    assert read(10**200_000) == "a whole number of about 200,000 digits"


def test_pictures_inside_a_value_are_shown_and_their_places_named() -> None:
    block = TextBlock(text="a")
    assert shapes([Drawn()]) == ["picture"]
    assert shapes(("before", Drawn(), "after")) == ["before", "picture", "after"]
    assert shapes([block, "b", "c"]) == ["a", "\nb", "\nc"]
    assert shapes({"fig": Drawn(), "n": 1}) == ['{"fig": "(picture 1, below)", "n": 1}', "picture"]
    assert shapes([1, {"deep": [Drawn()]}, Drawn()]) == [
        '[1, {"deep": ["(picture 1, below)"]}, "(picture 2, below)"]',
        "picture",
        "picture",
    ]
    assert shapes({"block": block, "chunk": ToolChunk(content=[block])}) == ['{"block": "a", "chunk": ["a"]}']
    assert len(to_chunk({str(i): Drawn() for i in range(100)}).content) == 1 + MAX_PICTURES
    assert len(to_chunk([Drawn() for _ in range(100)]).content) == 1 + MAX_PICTURES


@pytest.mark.parametrize("value", ["a\udcff", {"name": "a\udcff"}, ["a\udcff"], pd.Series(["a\udcff"], dtype=object)])
def test_half_a_character_reads_as_its_escape_and_the_response_can_be_written(value: object) -> None:
    response = ToolResponse().append_chunk(to_chunk(value))
    assert "a\\udcff" in response.text
    assert ToolResponse.model_validate_json(response.model_dump_json()).text == response.text


def test_a_cut_result_says_where_the_whole_is_held() -> None:
    for value in ("x" * 100, {"x": "x" * 100}, ["x" * 100], ["x" * 100, Drawn()]):
        (first, *_) = to_chunk(value, 30).content
        assert isinstance(first, TextBlock)
        assert "the whole is kept in toolkit.results …" in first.text
    assert "kept" not in cut("x" * 100, 30)


def test_a_text_without_any_room_is_only_counted() -> None:
    assert cut("abc", 0) == "\n… 3 of 3 characters left out …\n"


def test_an_object_whose_parts_fail_does_not_make_an_error_of_the_call() -> None:
    class Hostile(dict[str, int]):
        def items(self) -> Any:
            raise ZeroDivisionError

    assert read(Hostile(a=1)) == "{'a': 1}"
