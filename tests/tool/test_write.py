"""Write and Edit: one step or nothing, only what was read, and everything else about the file kept."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.message import TextBlock, ToolCallBlock, ToolResultState
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionContext, PermissionMode
from nbtoolkit.state import AgentState
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.edit import Edit
from nbtoolkit.tool.files import FileChange, FileFault
from nbtoolkit.tool.read import Read
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.texts import check_whole
from nbtoolkit.tool.toolkit import Toolkit
from nbtoolkit.tool.write import Write


def call(tool: Any, path: Path, state: AgentState | None = None, **arguments: Any) -> ToolChunk:
    chunk = asyncio.run(tool(file_path=str(path), **arguments, _agent_state=state))
    assert isinstance(chunk, ToolChunk)
    return chunk


def text(chunk: ToolChunk) -> str:
    return "".join(block.text for block in chunk.content if isinstance(block, TextBlock))


@pytest.fixture
def state() -> AgentState:
    return AgentState()


def test_a_new_file_is_created_with_its_folders(tmp_path: Path, state: AgentState) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    chunk = call(Write(), path, state, content="one\ntwo\n")
    assert chunk.state is ToolResultState.SUCCESS
    assert path.read_text() == "one\ntwo\n"
    assert "+one" in chunk.metadata["diff"]
    assert "Created" in text(chunk)


def test_a_file_must_have_been_read_before_it_is_replaced(tmp_path: Path, state: AgentState) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    assert "has not been read yet" in text(call(Write(), path, state, content="new\n"))
    assert "has not been read yet" in text(call(Edit(), path, state, old_string="old", new_string="new"))
    assert path.read_text() == "old\n"
    call(Read(), path, state)
    assert call(Write(), path, state, content="new\n").state is ToolResultState.SUCCESS
    assert call(Edit(), path, state, old_string="new", new_string="newer").state is ToolResultState.SUCCESS
    assert path.read_text() == "newer\n"


def test_a_file_that_somebody_changed_since_is_not_written(tmp_path: Path, state: AgentState) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    call(Read(), path, state)
    path.write_text("theirs\n")
    assert "has changed since" in text(call(Edit(), path, state, old_string="theirs", new_string="mine"))
    assert path.read_text() == "theirs\n"


def test_a_file_that_was_only_touched_is_still_the_same(tmp_path: Path, state: AgentState) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    call(Read(), path, state)
    os.utime(path, (1, 1))
    assert call(Edit(), path, state, old_string="old", new_string="new").state is ToolResultState.SUCCESS


def test_two_matches_are_an_error_unless_all_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\nx\n")
    assert "2 times" in text(call(Edit(), path, old_string="x", new_string="y"))
    assert call(Edit(), path, old_string="x", new_string="y", replace_all=True).state is ToolResultState.SUCCESS
    assert path.read_text() == "y\ny\n"


def test_no_match_names_the_nearest_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("def load(path):\n    pass\n")
    assert "line is 1" in text(call(Edit(), path, old_string="def laod(path):", new_string="x"))
    assert "blanks" in text(call(Edit(), path, old_string="  def load(path):\n  pass", new_string="x"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"A\r\nb\r\n"),
        (b"a\nb", b"A\nb"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfA\n"),
        (b"a\r\nb\n", b"A\r\nb\n"),
        ("a é ü naïve café\n".encode("cp1252"), "A é ü naïve café\n".encode("cp1252")),
        ("\ufeffa\n".encode("utf-16-le"), "\ufeffA\n".encode("utf-16-le")),
    ],
)
def test_line_ends_marks_encodings_and_the_last_newline_survive(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(before)
    first = "a" if len(before) < 16 else "a é"
    assert call(Edit(), path, old_string=first, new_string=first.replace("a", "A")).state is ToolResultState.SUCCESS
    assert path.read_bytes() == after


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-8", "größe 日本 one"),
        ("utf-16", "größe one"),
        ("utf-16-be", "größe one and two"),
        ("utf-32", "größe one"),
        ("cp1252", "Größe “quoted” – one €5, schöne Straße über Äpfel"),
        ("latin-1", "größe übermäßig one schön und gut, Straße, Äpfel"),
        ("gb18030", "这是一个中文文件，用来测试编码检测。one 第二句话也在这里。"),
        ("shift_jis", "日本語のテキストです。これは長い文章です。one"),
        ("cp1251", "Это русский текст для проверки кодировки one вторая строка здесь"),
    ],
)
def test_text_is_read_and_edited_in_its_own_encoding(
    tmp_path: Path, state: AgentState, encoding: str, words: str, newline: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"{words}{newline}end{newline}".encode(encoding))
    assert words in text(call(Read(), path, state))
    assert call(Edit(), path, state, old_string="one", new_string="two").state is ToolResultState.SUCCESS
    assert path.read_bytes() == f"{words.replace('one', 'two', 1)}{newline}end{newline}".encode(encoding)


@pytest.mark.parametrize(
    "before",
    [
        "gut schön\n".encode() + "schön one\n".encode("latin-1"),
        b"x" * 300_000 + "\né one\n".encode("latin-1"),
        b"a\rone\rb\r",
        b"a\r\none\nb\r\n",
    ],
)
def test_what_is_mixed_stays_as_mixed_as_it_was_beside_the_change(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(before)
    chunk = call(Edit(), path, old_string="one", new_string="two")
    assert chunk.state is ToolResultState.SUCCESS
    assert path.read_bytes() == before.replace(b"one", b"two")
    chunk.metadata["diff"].encode()


def test_a_character_that_the_encoding_hasnt_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    before = "naïve café, déjà vu, crème brûlée\n".encode("cp1252")
    path.write_bytes(before)
    assert "which has no" in text(call(Edit(), path, old_string="vu", new_string="日本"))
    assert path.read_bytes() == before


def test_an_edit_that_would_make_a_file_explode_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n" * 100_000)
    answer = call(Edit(), path, old_string="x", new_string="y" * 10_000, replace_all=True)
    assert "would become larger than 20 MB: 100,000 places get 10,000 characters each" in text(answer)
    assert path.stat().st_size == 200_000
    answer = call(Edit(), path, old_string="x", new_string="y", replace_all=True)
    assert "in 100000 places: more than 19," in text(answer)


NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "ü"}},
    "cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ["x = 1\n", "y = 2"]},
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "# Größe\nx = 1"},
    ],
}


@pytest.mark.parametrize("options", [{"indent": 1, "ensure_ascii": False}, {"indent": 4}, {}])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_cells_text_is_edited_as_it_reads_and_the_rest_of_the_notebook_stays(
    tmp_path: Path, options: dict[str, Any], end: str
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(NOTEBOOK, **options) + end)

    def after(first: list[str], second: str) -> str:
        cells = [{**NOTEBOOK["cells"][0], "source": first}, {**NOTEBOOK["cells"][1], "source": second}]  # type: ignore[index]
        return json.dumps({**NOTEBOOK, "cells": cells}, **options) + end

    assert call(Edit(), path, old_string="x = 1\ny", new_string='x = "q"\n\nz').state is ToolResultState.SUCCESS
    assert path.read_text() == after(['x = "q"\n', "\n", "z = 2"], "# Größe\nx = 1")
    assert call(Edit(), path, old_string="x = 1", new_string="x = ä").state is ToolResultState.SUCCESS
    assert path.read_text() == after(['x = "q"\n', "\n", "z = 2"], "# Größe\nx = ä")
    # What no cell says is the file's own.
    assert call(Edit(), path, old_string='"markdown"', new_string='"raw"').state is ToolResultState.SUCCESS
    assert '"raw"' in path.read_text()


def test_no_edit_leaves_a_notebook_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(before := json.dumps(NOTEBOOK, indent=1))
    for old, new, said in (
        ("x = 1", "x = 2", "2 times"),
        ("x = 1\nz", "", "not in"),
        ('"markdown"', '"mark', "would be no notebook any more"),
        ('"cells"', '"sells"', "would be no notebook any more"),
    ):
        assert said in text(call(Edit(), path, old_string=old, new_string=new))
        assert path.read_text() == before
    path.write_text(json.dumps(NOTEBOOK, indent=1).replace('"metadata": {},', '"metadata":{},'))
    assert "isn't written as Jupyter writes one" in text(call(Edit(), path, old_string="y = 2", new_string="y"))
    path.write_text("broken")
    assert call(Edit(), path, old_string="ken", new_string="ught").state is ToolResultState.SUCCESS


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "new.txt", "content": "a?b"}),
        ("Write", {"file_path": "a.txt", "content": "a?b"}),
        ("Edit", {"file_path": "a.txt", "old_string": "old", "new_string": "?"}),
        ("Bash", {"command": "echo ? > new.txt"}),
    ],
)
def test_half_a_character_of_a_models_text_is_an_error_and_nothing_else_is_written_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, given: dict[str, str], raw: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    toolkit = Toolkit(tools=[Write(), Edit(), Read(), Bash()])
    toolkit.mode = PermissionMode.BYPASS
    (tmp_path / "a.txt").write_text("old\n")

    def send(text: str) -> Any:
        written = json.dumps({name: value.replace("?", text) for name, value in given.items()}, ensure_ascii=not raw)
        return asyncio.run(toolkit.call_tool(ToolCallBlock(name=tool, input=written)).complete())

    asyncio.run(toolkit.call("Read", file_path="a.txt").complete())
    for half in ("\ud83d", "\ude00", "\ude00\ud83d"):
        response = send(half)
        assert response.state is ToolResultState.ERROR
        assert "half of a surrogate pair" in response.text
        assert (tmp_path / "a.txt").read_text() == "old\n"
        assert not (tmp_path / "new.txt").exists()
    # A pair is a character, and the mark itself may be meant.
    for whole in ("\ud83d\ude00", "\ufffd"):
        assert send(whole).state is ToolResultState.SUCCESS
        name = given.get("file_path", "new.txt")
        assert whole.encode("utf-16", "surrogatepass").decode("utf-16") in (tmp_path / name).read_text()
        (tmp_path / "new.txt").unlink(missing_ok=True)
        (tmp_path / "a.txt").write_text("old\n")
        asyncio.run(toolkit.call("Read", file_path="a.txt").complete())


def test_half_a_character_is_seen_also_where_the_models_text_is_no_json() -> None:
    broken = '{"file_path": "a", "content": "\\%s",}'
    for text, whole in (("ud83d", False), ("ude00", False), ("ud83d\\ude00", True), ("uFFFD", True), ("ud83dx", False)):
        if whole:
            check_whole("\ufffd", broken % text)
        else:
            with pytest.raises(FileFault, match="half of a surrogate pair"):
                check_whole("\ufffd", broken % text)


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("a\n")
    path.chmod(0o754)
    call(Edit(), path, old_string="a", new_string="b")
    assert path.stat().st_mode & 0o777 == 0o754


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("a\n")
    (tmp_path / "link.txt").symlink_to("real.txt")
    call(Edit(), tmp_path / "link.txt", old_string="a", new_string="b")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "b\n"


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    chunk = call(Write(), tmp_path / "folder", content="x")
    assert chunk.state is ToolResultState.ERROR
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a.txt/x", "is no folder, so nothing lies below it"),
        ("new/", "names a folder. Give the path of a file"),
        ("folder", "is a folder, so it can't be written as a file"),
        ("pipe", "is no ordinary file (a device, a pipe or a socket), so it isn't replaced"),
        ("n" * 300, "its name is longer"),
    ],
)
def test_what_cant_be_written_is_said_in_one_line_and_nothing_is_lost(tmp_path: Path, path: str, said: str) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    chunk = asyncio.run(Write()(file_path=f"{tmp_path}/{path}", content="y"))
    assert isinstance(chunk, ToolChunk)
    assert chunk.state is ToolResultState.ERROR
    assert said in text(chunk)
    assert "\n" not in text(chunk)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "a.txt").read_text() == "x"


def test_a_disk_that_is_full_takes_nothing_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.tool import disk

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.txt"
    path.write_text("old\n")
    monkeypatch.setattr(disk, "_pour", full)
    said = text(call(Edit(), path, old_string="old", new_string="new"))
    assert (
        said
        == f"{str(path)!r} can't be written: the disk is full. Nothing was changed; ask the person for room, then call again."
    )
    assert "disk is full" in text(call(Write(), tmp_path / "b" / "c" / "d.txt", content="x"))
    assert [each.name for each in tmp_path.rglob("*")] == ["a.txt"]
    assert path.read_text() == "old\n"


def test_undo_takes_back_what_one_call_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.txt"
    made = call(Write(), path, content="one\n").value
    changed = call(Edit(), path, old_string="one", new_string="two").value
    assert isinstance(made, FileChange)
    assert isinstance(changed, FileChange)
    with pytest.raises(FileFault, match="changed since"):
        made.undo()
    assert changed.undo() == "restored a.txt"
    assert path.read_text() == "one\n"
    assert made.undo() == "removed a.txt, which the call had made"
    assert not path.exists()


def test_undo_touches_nothing_but_the_file_that_the_call_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "folder" / "a.txt"

    def written() -> FileChange:
        value = call(Write(), path, content="x").value
        assert isinstance(value, FileChange)
        return value

    change = written()
    assert change.undo() == "removed folder/a.txt, which the call had made"
    with pytest.raises(FileFault, match="nothing to take back"):
        change.undo()
    change = written()
    path.unlink()
    (tmp_path / "other").write_text("x")
    path.symlink_to(tmp_path / "other")
    with pytest.raises(FileFault, match="no longer the file that the call wrote"):
        change.undo()
    assert path.is_symlink()
    path.unlink()
    path.mkdir()
    with pytest.raises(FileFault, match="no longer the file that the call wrote"):
        change.undo()
    path.rmdir()
    change = written()
    (tmp_path / "folder").rename(tmp_path / "moved")
    (tmp_path / "folder").symlink_to("moved")
    with pytest.raises(FileFault, match="became a link"):
        change.undo()
    assert (tmp_path / "moved" / "a.txt").read_text() == "x"


def test_undo_gives_content_mode_and_link_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    before = "naïve\r\none".encode("utf-16")
    path.write_bytes(before)
    path.chmod(0o751)
    (tmp_path / "link").symlink_to("run.sh")
    change = call(Edit(), tmp_path / "link", old_string="one", new_string="two").value
    assert isinstance(change, FileChange)
    assert path.read_bytes() != before
    change.undo()
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o751
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(FileFault, match="as it was before that call"):
        change.undo()


def test_what_a_call_would_do_is_shown_without_doing_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    change = Edit().change({"file_path": str(path), "old_string": "one", "new_string": "two"})
    assert "-one" in change.diff
    assert "+two" in change.diff
    assert path.read_text() == "one\n"


def test_looking_at_what_a_call_would_do_leaves_it_bound_to_the_place_that_was_judged(tmp_path: Path) -> None:
    (tmp_path / "fine.txt").write_text("one\n")
    (tmp_path / "other.txt").write_text("one\n")
    link = tmp_path / "link.txt"
    link.symlink_to("fine.txt")
    given = {"file_path": str(link), "old_string": "one", "new_string": "two"}

    async def run() -> ToolChunk:
        tool = Edit()
        await PermissionEngine(PermissionContext()).check_permission(tool, given)
        for _ in range(2):
            assert tool.change(given).path == str(tmp_path / "fine.txt")
        link.unlink()
        link.symlink_to("other.txt")
        with pytest.raises(FileFault, match="when it was judged"):
            tool.change(given)
        chunk = await tool(**given)
        assert isinstance(chunk, ToolChunk)
        return chunk

    assert "when it was judged" in text(asyncio.run(run()))
    assert (tmp_path / "other.txt").read_text() == "one\n"


def test_another_call_judged_meanwhile_does_not_stand_in_for_the_one_that_was_approved(tmp_path: Path) -> None:
    (tmp_path / "fine.txt").write_text("one\n")
    (tmp_path / "other.txt").write_text("one\n")
    link = tmp_path / "link.txt"
    link.symlink_to("fine.txt")
    given = {"file_path": str(link), "content": "two\n"}
    tool = Write()
    engine = PermissionEngine(PermissionContext())

    async def approved(judged: asyncio.Event, go_on: asyncio.Event) -> ToolChunk:
        await engine.check_permission(tool, given)
        judged.set()
        await go_on.wait()
        chunk = await tool(**given)
        assert isinstance(chunk, ToolChunk)
        return chunk

    async def run() -> ToolChunk:
        judged, go_on = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(approved(judged, go_on))
        await judged.wait()
        link.unlink()
        link.symlink_to("other.txt")
        await engine.explain(tool, given)
        await asyncio.create_task(engine.check_permission(tool, given))
        go_on.set()
        return await task

    assert "when it was judged" in text(asyncio.run(run()))
    assert (tmp_path / "other.txt").read_text() == "one\n"


def test_the_notebook_that_the_kernel_belongs_to_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.ipynb"
    path.write_text("{}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    monkeypatch.chdir(tmp_path)
    decision = asyncio.run(
        PermissionEngine(PermissionContext()).check_permission(Write(), {"file_path": "mine.ipynb", "content": ""})
    )
    assert decision.behavior.value == "deny"
    assert "belongs to" in decision.message
    assert "belongs to" in text(call(Write(), path, content=""))
    assert path.read_text() == "{}"


def test_a_kill_in_the_middle_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    program = (
        "import asyncio, sys; from nbtoolkit.tool.write import Write\n"
        "at = 0\n"
        "while True:\n"
        "    asyncio.run(Write()(file_path=sys.argv[1], content=('ab'[at % 2] * 2_000_000))); at += 1; print(at, flush=True)\n"
    )
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.013)
        process.kill()
        process.wait()
        process.stdout.close()
        content = path.read_text()
        assert content in ("a" * 2_000_000, "b" * 2_000_000)


def test_a_kill_at_any_moment_of_an_edit_leaves_one_of_both_texts_and_its_mode(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "a.txt"
    texts = [f"{word}\n" + "x" * 1_000_000 for word in ("one", "two")]
    path.write_text(texts[0])
    path.chmod(0o640)
    program = (
        "import asyncio, sys; from nbtoolkit.tool.edit import Edit\n"
        "at = open(sys.argv[1]).read(3) == 'two'\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    old, new = ('two', 'one') if at else ('one', 'two')\n"
        "    chunk = asyncio.run(Edit()(file_path=sys.argv[1], old_string=old, new_string=new)); at = not at\n"
        "    assert chunk.state.value == 'success', chunk\n"
    )
    for wait in (0.0, 0.002, 0.005, 0.011, 0.017, 0.029):
        process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        before = path.stat().st_mtime_ns
        end = time.monotonic() + 20
        while path.stat().st_mtime_ns == before and time.monotonic() < end:
            pass
        time.sleep(wait)
        process.kill()
        process.wait()
        process.stdout.close()
        assert path.read_text() in texts
        assert path.stat().st_mode & 0o777 == 0o640
        # One that has its name already but not its place yet is left where a kill falls between two calls of the system.
        assert [each.name for each in folder.iterdir() if not each.name.startswith(".nbtoolkit-")] == ["a.txt"]


@pytest.mark.parametrize("what", ["read", "write", "edit"])
def test_a_link_that_swings_to_and_fro_never_leads_a_call_to_what_was_not_judged(tmp_path: Path, what: str) -> None:
    (tmp_path / "fine.txt").write_text("one\n")
    (tmp_path / "secret.txt").write_text("one secret\n")
    link, spare = tmp_path / "link.txt", tmp_path / "spare"
    link.symlink_to("fine.txt")
    over = threading.Event()

    def swing() -> None:
        at = 0
        while not over.is_set():
            at += 1
            spare.symlink_to(("fine.txt", "secret.txt")[at % 2])
            spare.replace(link)

    tool, arguments = {
        "read": (Read(), {}),
        "write": (Write(), {"content": "one\n"}),
        "edit": (Edit(), {"old_string": "one", "new_string": "one "}),
    }[what]
    given = {"file_path": str(link), **arguments}
    engine = PermissionEngine(PermissionContext(working_directory=str(tmp_path)))
    engine.add_rule("Read(./secret.txt)", "deny")
    engine.add_rule("Write(./secret.txt)", "deny")
    engine.add_rule("Edit(./secret.txt)", "deny")

    async def rounds() -> int:
        run = 0
        for _ in range(150):
            decision = await engine.check_permission(tool, given)
            if decision.behavior.value == "deny":
                continue
            run += 1
            chunk = await tool(**given)
            assert isinstance(chunk, ToolChunk)
            assert "secret\n" not in text(chunk)
            assert not text(chunk).endswith("secret")
        return run

    thread = threading.Thread(target=swing)
    thread.start()
    try:
        assert asyncio.run(rounds()) > 0
    finally:
        over.set()
        thread.join()
    assert (tmp_path / "secret.txt").read_text() == "one secret\n"


def test_writing_where_a_folder_became_a_link_is_refused(tmp_path: Path) -> None:
    from nbtoolkit.tool.disk import replace_file

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder").symlink_to("elsewhere")
    with pytest.raises(FileFault, match="became a link just now"):
        replace_file(str(tmp_path / "folder" / "a.txt"), b"x")


def test_undo_takes_the_folders_back_that_the_call_made_unless_something_else_lies_there(tmp_path: Path) -> None:
    first = call(Write(), tmp_path / "a" / "b" / "c.txt", content="x").value
    second = call(Write(), tmp_path / "a" / "d.txt", content="x").value
    assert isinstance(first, FileChange)
    assert isinstance(second, FileChange)
    assert first.folders == (str(tmp_path / "a"), str(tmp_path / "a" / "b"))
    first.undo()
    assert [each.name for each in tmp_path.rglob("*")] == ["a", "d.txt"]
    second.undo()
    assert list((tmp_path / "a").iterdir()) == []


def test_a_file_that_somebody_else_creates_at_the_last_moment_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit.tool import disk

    path = tmp_path / "new.txt"
    fill = disk._fill

    def filled(*arguments: Any) -> None:
        fill(*arguments)
        path.write_text("theirs\n")

    monkeypatch.setattr(disk, "_fill", filled)
    assert "created by somebody else" in text(call(Write(), path, content="mine\n"))
    assert path.read_text() == "theirs\n"
    assert [each.name for each in tmp_path.iterdir()] == ["new.txt"]


def test_an_edit_made_between_the_look_and_the_write_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.tool import disk

    path = tmp_path / "a.txt"
    path.write_text("old\n")
    fill = disk._fill

    def filled(*arguments: Any) -> None:
        fill(*arguments)
        path.write_text("old and theirs\n")

    monkeypatch.setattr(disk, "_fill", filled)
    assert "changed by somebody else" in text(call(Edit(), path, old_string="old", new_string="new"))
    assert path.read_text() == "old and theirs\n"


def test_a_folder_moved_away_during_the_write_gets_the_file_and_not_what_took_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit.tool import disk

    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere").mkdir()
    fill = disk._fill

    def filled(*arguments: Any) -> None:
        fill(*arguments)
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").symlink_to("elsewhere")

    monkeypatch.setattr(disk, "_fill", filled)
    disk.replace_file(str(tmp_path / "folder" / "a.txt"), b"x")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "moved" / "a.txt").read_bytes() == b"x"


def test_other_names_of_a_file_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    os.link(path, tmp_path / "b.txt")
    assert "hard links" in text(call(Edit(), path, old_string="old", new_string="new"))
    assert (tmp_path / "b.txt").read_text() == "old\n"


def test_a_new_file_is_as_open_as_the_process_says(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        call(Write(), tmp_path / "a.txt", content="x")
    finally:
        os.umask(mask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="elsewhere a file has a name before it is whole")
def test_a_new_file_never_has_another_name_and_what_a_kill_left_goes_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit import atomic

    names: list[str] = []
    link = os.link

    def linked(source: str, name: str, **options: Any) -> None:
        names.append(name)
        link(source, name, **options)

    monkeypatch.setattr(os, "link", linked)
    call(Write(), tmp_path / "new.txt", content="new\n")
    assert names == ["new.txt"]
    # Process 4194304 is one more than there can be.
    machine = atomic.passing_name().split("-")[1]
    left = tmp_path / f".nbtoolkit-{machine}-4194304-1-{'0' * 12}.tmp"
    left.touch()
    monkeypatch.setattr(atomic, "_swept", set())
    call(Edit(), tmp_path / "new.txt", old_string="new", new_string="newer")
    assert [each.name for each in tmp_path.iterdir()] == ["new.txt"]
    assert (tmp_path / "new.txt").read_text() == "newer\n"
