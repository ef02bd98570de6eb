"""Read: a window of any file, at the cost of the window."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionContext
from nbtoolkit.state import AgentState
from nbtoolkit.tool import disk, documents
from nbtoolkit.tool.read import Read
from nbtoolkit.tool.result import ToolChunk

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def read(path: Path | str, **options: Any) -> ToolChunk:
    chunk = asyncio.run(Read()(file_path=str(path), **options))
    assert isinstance(chunk, ToolChunk)
    return chunk


def text(chunk: ToolChunk) -> str:
    return "".join(block.text for block in chunk.content if isinstance(block, TextBlock))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_lines_come_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert text(read(tmp_path / "a.txt")) == "     1\tone\n     2\ttwo"


def test_a_window_says_that_more_follows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    shown = text(read(tmp_path / "a.txt", offset=40, limit=2))
    assert shown == "    40\tline 40\n    41\tline 41\n[more lines follow: offset=42]"
    assert "more lines" not in text(read(tmp_path / "a.txt", offset=99, limit=2))


@pytest.mark.parametrize("content", ["a\nb\n", "a\nb", "a\r\nb\r\n"])
def test_a_line_behind_the_end_is_an_error_that_says_how_many_there_are(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_bytes(content.encode())
    chunk = read(tmp_path / "a.txt", offset=3)
    assert chunk.state is ToolResultState.ERROR
    assert "has 2 lines" in text(chunk)


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert text(read(tmp_path / "a.txt")) == "[the file is empty]"


def test_a_missing_file_names_what_looks_like_it(tmp_path: Path) -> None:
    (tmp_path / "data.csv").touch()
    assert "'data.csv'" in text(read(tmp_path / "dta.csv"))


def test_a_long_line_is_cut_with_a_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 5_000 + "\nnext\n")
    shown = text(read(tmp_path / "a.txt"))
    assert "[… 3,000 more characters]" in shown
    assert shown.endswith("     2\tnext")


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-8-sig", "hé"),
        ("utf-16", "hé"),
        ("utf-16-be", "hé"),
        ("cp1252", "naïve café, déjà vu"),
        ("shift_jis", "日本語のテキストです。これは長い文章です。"),
    ],
)
def test_an_encoding_is_found_out(tmp_path: Path, encoding: str, words: str) -> None:
    data = (words + "\n").encode(encoding)
    (tmp_path / "a.txt").write_bytes(b"\xfe\xff" + data if encoding == "utf-16-be" else data)
    assert words in text(read(tmp_path / "a.txt"))


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x02", b"PK\x03\x04abc", b"PAR1abc", b"ab\x00\x01\x02" * 100, b"\x1f\x8babc"]
)
def test_binary_data_is_refused_with_what_it_is(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    chunk = read(tmp_path / "a.bin")
    assert chunk.state is ToolResultState.ERROR
    assert "isn't read" in text(chunk)


def test_a_window_of_a_ten_gigabyte_file_costs_the_window(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.write(b"a line\n" * 100)
        file.truncate(10 * 2**30)
    tracemalloc.start()
    try:
        assert text(read(tmp_path / "big.txt", offset=5, limit=2)).startswith("     5\ta line\n     6\ta line\n")
        assert "[more lines follow: offset=101]" in text(read(tmp_path / "big.txt"))
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/self/mem"])
def test_a_device_is_not_read(path: str) -> None:
    assert read(path).state is ToolResultState.ERROR


def test_a_pipe_doesnt_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no ordinary file" in text(read(tmp_path / "pipe"))


def test_a_file_that_has_nothing_to_give_now_is_not_waited_for() -> None:
    # As the system's own logs are, which look like ordinary files.
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with disk._File(reading, "rb") as file:
        assert file.read(10) == b""
    os.close(writing)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("folder", "is a folder, not a file. Use Glob"),
        ("link", "is a link to"),
        ("loop", "its links lead in a circle"),
        ("a.txt/x", "is no folder, so nothing lies below it"),
        ("n" * 300, "its name is longer"),
        ("a\0b", "is no path"),
        ("broken.png", "can't be shown: nothing in it can be decoded"),
        ("cut.png", "can't be shown: "),
    ],
)
def test_what_cant_be_read_is_said_in_one_line(tmp_path: Path, path: str, said: str) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("gone")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    image.effect_noise((100, 100), 50).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:3_000])
    chunk = read(f"{tmp_path}/{path}")
    assert chunk.state is ToolResultState.ERROR
    assert said in text(chunk)
    assert "\n" not in text(chunk)
    assert len(text(chunk)) < 700


def test_what_this_user_may_not_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any, **options: Any) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr(os, "open", refused)
    assert "can't be opened: this user may not. Ask the person" in text(read(tmp_path / "a.txt"))


def test_an_image_comes_as_an_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (block,) = read(tmp_path / "a.png").content
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, Base64Source)
    assert block.source.media_type == "image/png"
    assert base64.b64decode(block.source.data) == PNG


def test_an_image_that_is_too_large_is_made_smaller(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.frombytes("RGB", (1600, 1200), os.urandom(1600 * 1200 * 3)).save(tmp_path / "a.png")
    said, block = read(tmp_path / "a.png").content
    assert isinstance(said, TextBlock)
    assert "made smaller" in said.text
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, Base64Source)
    assert len(block.source.data) < 5_000_000


NEVER_ENDING = """import os, sys, time
open("{}", "w").write(f"{{os.getpid()}}\\n")
if sys.argv[1] == "pdf":
    print('{{"count": 9, "wanted": [1, 2, 3]}}', flush=True)
    print('{{"page": 1, "text": "the first", "length": 9}}', flush=True)
while True:
    time.sleep(100)
"""


@pytest.fixture
def never_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker that never ends, and where it writes its number."""
    pytest.importorskip("PIL")
    pid = tmp_path / "pid"
    (tmp_path / "worker.py").write_text(NEVER_ENDING.format(pid))
    monkeypatch.setattr(documents, "_WORKER", str(tmp_path / "worker.py"))
    return pid


@pytest.mark.parametrize("name", ["a.png", "a.pdf"])
def test_a_document_that_takes_for_ever_ends_in_time(
    tmp_path: Path, never_ending: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(documents, "LONGEST_DOCUMENT", 2.0)
    (tmp_path / name).write_bytes(PNG if name == "a.png" else b"%PDF-1.7")
    shown = text(read(tmp_path / name))
    assert "takes more than 2 s" in shown
    # On a machine that is slow enough it ends before it says anything.
    assert name == "a.png" or "the first" in shown or not never_ending.exists() or "can't be read" in shown
    if never_ending.exists():
        assert not Path(f"/proc/{never_ending.read_text().strip() or 'none'}").exists()


def test_a_document_is_let_go_when_its_call_is(tmp_path: Path, never_ending: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")

    async def scenario() -> None:
        task = asyncio.create_task(Read()(file_path=str(tmp_path / "a.pdf")))
        await asyncio.to_thread(until, lambda: never_ending.exists() and never_ending.read_text().endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(until, lambda: not Path(f"/proc/{never_ending.read_text().strip()}").exists())

    asyncio.run(scenario())


def test_a_small_file_that_is_a_huge_picture_is_refused(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("1", (12_000, 12_000)).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size < 100_000
    assert "can't be shown: DecompressionBombWarning" in text(read(tmp_path / "a.png"))


def test_a_page_of_endless_text_is_cut(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    (tmp_path / "a.pdf").write_bytes(pdf_of(b"BT /F1 12 Tf " + b"(" + b"x" * 30_000 + b") Tj " * 1 + b"ET", 5))
    shown = text(read(tmp_path / "a.pdf"))
    assert len(shown) < 130_000
    assert shown.startswith("--- page 1 of 5\nxxx")
    assert shown.endswith("[cut: pages 5 and on would be too much at once]")
    (tmp_path / "a.pdf").write_bytes(pdf_of(b"BT /F1 12 Tf " + b"(" + b"x" * 300_000 + b") Tj ET", 1))
    assert text(read(tmp_path / "a.pdf")).endswith("[200,000 more characters on this page]")


def pdf_of(content: bytes, pages: int) -> bytes:
    """A PDF whose pages all show the same."""
    kids = b" ".join(b"5 0 R" for _ in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, pages),
        b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R/Resources<</Font<</F1 4 0 R>>>>>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(places)
    return out + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(out)


def test_a_notebook_is_read_cell_by_cell(tmp_path: Path) -> None:
    v4: Any = nbformat.v4
    notebook = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# Title"),
            v4.new_code_cell(
                "1 + 1",
                outputs=[
                    v4.new_output("stream", text="x" * 10_000),
                    v4.new_output("execute_result", data={"text/plain": "2", "image/png": "A" * 100}),
                    v4.new_output("error", ename="ValueError", evalue="bad"),
                ],
            ),
        ]
    )
    nbformat.write(notebook, tmp_path / "a.ipynb")
    shown = text(read(tmp_path / "a.ipynb"))
    for piece in (
        "cell 1, markdown",
        "# Title",
        "cell 2, code",
        "1 + 1",
        "ValueError: bad",
        "image/png (100 characters)",
        "9,500 more",
    ):
        assert piece in shown
    assert "[more cells follow: offset=2]" in text(read(tmp_path / "a.ipynb", limit=1))


@pytest.mark.parametrize(
    "content",
    [
        '{"cells": 3}',
        '{"nbformat": 4, "cells": 3}',
        '{"nbformat": 4, "cells": ["x"]}',
        '{"nbformat": 4, "cells": [{"outputs": {"a": 1}}]}',
        '{"nbformat": 9, "cells": []}',
        '{"nbformat": 4, "cells": ' + "[" * 100_000,
        "{",
    ],
)
def test_a_broken_notebook_is_an_error_in_words(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    assert "no notebook that can be read" in text(read(tmp_path / "a.ipynb"))


def test_a_cell_of_endless_outputs_is_shown_within_bounds(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code" * 100_000,
        "source": ["x\n"] * 100_000,
        "outputs": [{"output_type": "stream", "text": "y" * 600}] * 10_000,
    }
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [cell, cell]}))
    shown = text(read(tmp_path / "a.ipynb"))
    assert len(shown) < 101_000
    assert shown.endswith("[more cells follow: offset=2]")
    cell["cell_type"] = "code"
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    assert "--- 9,960 more outputs" in text(read(tmp_path / "a.ipynb"))


def test_todays_notebooks_are_read_without_the_library_that_takes_seconds_to_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {"cell_type": "code", "input": "an old cell", "language": "python", "outputs": [], "collapsed": False}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell], "metadata": {}}]}
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    (tmp_path / "new.ipynb").write_text('{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a\\n", "b"]}]}')
    assert "cell 1, code\nan old cell" in text(read(tmp_path / "old.ipynb"))
    monkeypatch.setitem(sys.modules, "nbformat", None)
    assert text(read(tmp_path / "new.ipynb")) == "--- cell 1, code\na\nb"


def test_a_pdf_is_read_by_pages(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    for _ in range(30):
        writer.add_blank_page(200, 200)
    writer.write(tmp_path / "a.pdf")
    assert "10 more pages" in text(read(tmp_path / "a.pdf"))
    assert "page 29 of 30" in text(read(tmp_path / "a.pdf", pages="2, 29-30"))
    assert "the PDF has 30" in text(read(tmp_path / "a.pdf", pages="31"))
    assert "can't be read" in text(read(tmp_path / "a.pdf", pages="x"))


def test_a_broken_pdf_is_an_error_in_words(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 nothing else")
    assert "can't be read" in text(read(tmp_path / "a.pdf"))


def test_what_was_read_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    state = AgentState()
    read(tmp_path / "a.txt", _agent_state=state)
    assert list(state.tool_context.read_files) == [str((tmp_path / "a.txt").resolve())]


def test_a_path_that_leads_elsewhere_since_it_was_judged_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("harmless\n")
    (tmp_path / "secret").write_text("secret\n")
    tool = Read()
    engine = PermissionEngine(PermissionContext())

    async def run() -> Any:
        assert (await engine.check_permission(tool, {"file_path": "a.txt"})).behavior.value == "allow"
        (tmp_path / "a.txt").unlink()
        (tmp_path / "a.txt").symlink_to("secret")
        return await tool(file_path="a.txt")

    chunk = asyncio.run(run())
    assert isinstance(chunk, ToolChunk)
    assert chunk.state is ToolResultState.ERROR
    assert "leads to" in text(chunk)


def test_a_window_in_ten_gigabytes_costs_the_window(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    with path.open("wb") as file:
        file.write(b"".join(b"line %d\n" % at for at in range(1, 1_001)))
        file.truncate(10 * 2**30)
    program = (
        "import asyncio, resource, sys; from nbtoolkit.tool.read import Read\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "chunk = asyncio.run(Read()(file_path=sys.argv[1], offset=990, limit=50))\n"
        "print(chunk.content[0].text)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    said = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True, timeout=60)
    lines = said.stdout.splitlines()
    assert lines[0].split() == ["990", "line", "990"]
    assert lines[10].split() == ["1000", "line", "1000"]
    assert int(lines[-1]) < 100


def test_a_line_that_lies_too_far_is_given_up_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.tool import read as reading

    path = tmp_path / "long.txt"
    path.write_bytes(b"x\n" * 3_000_000)
    monkeypatch.setattr(reading, "LONGEST_SKIP", -1.0)
    assert "lies too far" in text(read(path, offset=2_900_000))
    assert "     1\tx" in text(read(path, limit=1))


def test_a_file_that_changes_while_it_is_read_is_not_held_for_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit.tool import read as reading
    from nbtoolkit.tool.write import Write

    path = tmp_path / "a.txt"
    path.write_text("old\n")
    state = AgentState()
    shown = reading._by_kind

    def changed(*arguments: Any) -> Any:
        chunk = shown(*arguments)
        path.write_text("theirs, and longer\n")
        return chunk

    monkeypatch.setattr(reading, "_by_kind", changed)
    asyncio.run(Read()(file_path=str(path), _agent_state=state))
    chunk = asyncio.run(Write()(file_path=str(path), content="mine\n", _agent_state=state))
    assert isinstance(chunk, ToolChunk)
    assert path.read_text() == "theirs, and longer\n"


def test_an_image_of_too_many_pixels_is_made_smaller_however_few_bytes_it_has(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "wide.png"
    image.new("1", (9_000, 20)).save(path)
    chunk = read(path)
    assert "made smaller" in text(chunk)
