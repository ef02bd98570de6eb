"""Glob and Grep: ripgrep and its stand-in give the same answers, within bounds and without secrets."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.message import TextBlock, ToolResultState
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionContext
from nbtoolkit.tool import search
from nbtoolkit.tool.engine_python import PythonEngine
from nbtoolkit.tool.engine_ripgrep import RipgrepEngine, ripgrep
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.search import Glob, Grep


@pytest.fixture(params=["ripgrep", "python"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test holds for both engines."""
    name: str = request.param
    program = ripgrep()
    if name == "ripgrep" and program is None:
        pytest.skip("ripgrep isn't installed")
    chosen = RipgrepEngine(program) if name == "ripgrep" and program else PythonEngine()
    monkeypatch.setattr(search, "engine", lambda: chosen)
    return name


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    contents = {
        "a.py": "import os\nclass A:\n    pass\n",
        "b.md": "# Class\nclass in words\n",
        "src/c.py": "class C:\n    x = 1\n    y = 2\n\n\nclass D:\n    pass\n",
        "src/deep/d1.txt": "nothing\n",
        "src/deep/d2.txt": "class\r\nof windows\r\n",
        ".hidden/e.py": "class E: pass\n",
        ".env": "class=secret\n",
        ".env.local": "class=secret\n",
        "keys/id_rsa": "class secret\n",
        "nbtoolkit.toml": "class = 1\n",
        "build/out.py": "class Built: pass\n",
        "src/skip.log": "class in a log\n",
        "src/keep.log": "class kept\n",
        ".gitignore": "/build/\n*.log\n!keep.log\n",
    }
    for at, (name, content) in enumerate(contents.items()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        os.utime(path, (1_000_000 + at, 1_000_000 + at))
    (tmp_path / "binary").write_bytes(b"class\x00\x01")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(tool: Any, **arguments: Any) -> ToolChunk:
    chunk = asyncio.run(tool(**arguments))
    assert isinstance(chunk, ToolChunk)
    return chunk


def lines(tool: Any, **arguments: Any) -> list[str]:
    chunk = run(tool, **arguments)
    shown = "".join(block.text for block in chunk.content if isinstance(block, TextBlock))
    return [line for line in shown.split("\n") if not line.startswith("[not searched")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.py", [".hidden/e.py", "src/c.py", "a.py"]),
        ("*.py", ["a.py"]),
        ("*.{py,md}", ["b.md", "a.py"]),
        ("src/**/d[12].txt", ["src/deep/d2.txt", "src/deep/d1.txt"]),
        ("src/deep/d[!1].txt", ["src/deep/d2.txt"]),
        ("src/deep/d?.txt", ["src/deep/d2.txt", "src/deep/d1.txt"]),
        ("**/*.log", ["src/keep.log"]),
        ("{a,src/c}.py", ["src/c.py", "a.py"]),
        ("src/*", ["src/keep.log", "src/c.py"]),
        ("./src/*.py", ["src/c.py"]),
        ("build/*.py", ["build/out.py"]),
        ("**/out.py", ["No files match."]),
        ("keys/*", ["No files match."]),
        (".git*/*", ["No files match."]),
        ("**/id_rsa", ["No files match."]),
        ("**/.env*", ["No files match."]),
        ("nothing", ["No files match."]),
    ],
)
def test_glob_finds_files_newest_first(tree: Path, pattern: str, expected: list[str]) -> None:
    assert lines(Glob(), pattern=pattern) == expected


def test_sensitive_files_are_left_out_and_said(tree: Path) -> None:
    chunk = run(Grep(), pattern="class")
    (block,) = chunk.content
    assert isinstance(block, TextBlock)
    assert "[not searched, as sensitive: .env, .env.local, keys/id_rsa, nbtoolkit.toml]" in block.text
    assert "secret" not in "".join(lines(Grep(), pattern="class", output_mode="content"))


def test_grep_names_files_newest_first(tree: Path) -> None:
    assert lines(Grep(), pattern="class") == [
        "src/keep.log",
        ".hidden/e.py",
        "src/deep/d2.txt",
        "src/c.py",
        "b.md",
        "a.py",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"glob": "*.py"},
            ["src/c.py:1:class C:", "src/c.py:6:class D:", "a.py:2:class A:", ".hidden/e.py:1:class E: pass"],
        ),
        ({"glob": "src/**/*.py"}, ["src/c.py:1:class C:", "src/c.py:6:class D:"]),
        ({"type": "md"}, ["b.md:2:class in words"]),
        ({"type": "md", "-i": True}, ["b.md:1:# Class", "b.md:2:class in words"]),
        ({"path": "a.py"}, ["a.py:2:class A:"]),
        ({"path": "a.py", "-n": False}, ["a.py:class A:"]),
        ({"path": "a.py", "-B": 1}, ["a.py-1-import os", "a.py:2:class A:"]),
        (
            {"path": "src", "glob": "*.py", "-A": 1},
            ["src/c.py:1:class C:", "src/c.py-2-    x = 1", "--", "src/c.py:6:class D:", "src/c.py-7-    pass"],
        ),
        ({"path": "src/deep"}, ["src/deep/d2.txt:1:class"]),
        ({"glob": "*.py", "head_limit": 1}, [".hidden/e.py:1:class E: pass", "[3 more lines]"]),
    ],
)
def test_grep_shows_lines(tree: Path, arguments: dict[str, Any], expected: list[str]) -> None:
    found = lines(Grep(), pattern="class", output_mode="content", **arguments)
    assert found == (
        expected if "--" in expected or "head_limit" in arguments or "-B" in arguments else sorted(expected)
    )


@pytest.mark.parametrize(
    ("glob", "left"),
    [
        ("!*.py", {"src/keep.log", "src/deep/d2.txt", "b.md"}),
        ("!src", {".hidden/e.py", "b.md", "a.py"}),
        ("!src/deep", {"src/keep.log", ".hidden/e.py", "src/c.py", "b.md", "a.py"}),
        ("!src/**/*.py", {"src/keep.log", ".hidden/e.py", "src/deep/d2.txt", "b.md", "a.py"}),
        ("!*.{py,md}", {"src/keep.log", "src/deep/d2.txt"}),
    ],
)
def test_a_glob_that_begins_with_an_exclamation_mark_leaves_files_out(tree: Path, glob: str, left: set[str]) -> None:
    assert set(lines(Grep(), pattern="class", glob=glob)) == left


def test_grep_counts(tree: Path) -> None:
    assert lines(Grep(), pattern="class", output_mode="count", glob="*.py") == [
        ".hidden/e.py:1",
        "a.py:1",
        "src/c.py:2",
    ]


def test_a_match_may_span_lines_where_that_is_wanted(tree: Path) -> None:
    assert lines(Grep(), pattern="C:.*y = 2", output_mode="content", multiline=True, path="src/c.py") == [
        "src/c.py:1:class C:",
        "src/c.py:2:    x = 1",
        "src/c.py:3:    y = 2",
    ]
    assert lines(Grep(), pattern="C:.*y = 2") == ["No matches."]


def test_a_broken_expression_is_an_error_in_words(tree: Path) -> None:
    chunk = run(Grep(), pattern="(")
    assert chunk.state is ToolResultState.ERROR
    assert "is no regular expression: " in "".join(lines(Grep(), pattern="("))


def test_words_that_look_like_options_are_words(tree: Path) -> None:
    (tree / "-e").write_text("--pre=sh\n")
    assert lines(Grep(), pattern="--pre=sh") == ["-e"]


@pytest.mark.parametrize(
    "pattern", [r"(?=x)", r"(?<!x)y", r"(a)\1", r"[[:alpha:]]", r"\p{L}", r"\bx\b{start}", "a++", "(?>a)", r"[a&&b]"]
)
def test_the_stand_in_refuses_by_name_what_it_cant_do_the_same(tree: Path, engine: str, pattern: str) -> None:
    if engine == "ripgrep":
        pytest.skip("ripgrep speaks for itself")
    chunk = run(Grep(), pattern=pattern)
    assert chunk.state is ToolResultState.ERROR
    assert "without ripgrep" in "".join(lines(Grep(), pattern=pattern))


def test_a_users_settings_for_ripgrep_run_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tree / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tree}/ran\n")
    evil.chmod(0o755)
    (tree / "rc").write_text(f"--pre={evil}\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tree / "rc"))
    lines(Grep(), pattern="class")
    assert not (tree / "ran").exists()


def test_many_hits_are_cut_with_a_count(tree: Path) -> None:
    for at in range(150):
        (tree / f"f{at:03}.txt").write_text("needle\n")
    assert lines(Grep(), pattern="needle")[-1] == "[50 more files]"
    assert "50 more files" in lines(Glob(), pattern="f*.txt")[-1]


def test_a_pattern_that_climbs_is_judged_by_where_it_leads(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    engine = PermissionEngine(PermissionContext(working_directory=str(tree)))

    def verdict(tool: Any, **arguments: Any) -> str:
        return asyncio.run(engine.check_permission(tool, arguments)).behavior.value

    assert verdict(Glob(), pattern="**/*.py") == "allow"
    assert verdict(Glob(), pattern=f"{outside}/*") == "ask"
    assert verdict(Glob(), pattern="../*") == "ask"
    assert verdict(Grep(), pattern="x", path=str(outside)) == "ask"
    engine.add_rule("Read(./src/**)", "deny")
    assert verdict(Grep(), pattern="x", path="src") == "deny"
    assert verdict(Grep(), pattern="x") == "ask"


@pytest.mark.parametrize(
    "pattern", ["link/*", "./link/*", "link/*/..", "x/../../outside/*", "link/../outside/*", "~/outside/*"]
)
def test_a_pattern_that_leads_out_by_a_link_by_dots_or_to_a_home_is_asked_about(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work, outside):
        folder.mkdir()
        (folder / "a.txt").touch()
    (work / "link").symlink_to(outside)
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    engine = PermissionEngine(PermissionContext(working_directory=str(work)))
    assert asyncio.run(engine.check_permission(Glob(), {"pattern": pattern})).behavior.value == "ask"


@pytest.mark.parametrize("arguments", [{"pattern": "folder/*"}, {"pattern": "*", "path": "folder"}])
def test_a_folder_that_became_a_link_since_it_was_judged_is_not_searched(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, str]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("class\n")
    (tree / "folder").mkdir()
    engine = PermissionEngine(PermissionContext(working_directory=str(tree)))

    async def judged_then_swapped(tool: Any, **given: str) -> Any:
        assert (await engine.check_permission(tool, given)).behavior.value == "allow"
        (tree / "folder").rmdir()
        (tree / "folder").symlink_to(outside)
        return await tool(**given)

    chunk = asyncio.run(judged_then_swapped(Glob(), **arguments))
    assert chunk.state is ToolResultState.ERROR
    assert "when it was judged" in chunk.content[0].text
    assert "secret" not in chunk.content[0].text


def test_a_folder_that_becomes_a_link_at_the_last_moment_is_not_searched(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = search._SearchTool._root

    def swapped(tool: Any, given: str | None) -> str:
        root = look(tool, given)
        (tree / "keys").rename(tree / "moved")
        (tree / "keys").symlink_to(tree / "src")
        return root

    monkeypatch.setattr(search._SearchTool, "_root", swapped)
    (tree / "keys" / "public").write_text("class\n")
    chunk = run(Grep(), pattern="class", path="keys")
    assert chunk.state is ToolResultState.ERROR
    assert "c.py" not in str(chunk.content)


def test_a_file_that_is_named_is_searched_only_where_it_is_one(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    for path in ("pipe", "/dev/zero"):
        chunk = run(Grep(), pattern="x", path=path)
        assert chunk.state is ToolResultState.ERROR
        assert "no ordinary file" in "".join(lines(Grep(), pattern="x", path=path))
    assert lines(Grep(), pattern="class", path="a.py", glob="*.md", output_mode="content") == ["a.py:2:class A:"]
    assert lines(Grep(), pattern="class", path="a.py") == ["a.py"]
    assert lines(Grep(), pattern="class", path="a.py", output_mode="count") == ["a.py:1"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (Grep, {"pattern": "a\0b"}, "NUL"),
        (Grep, {"pattern": "a", "glob": "a\0b"}, "NUL"),
        (Glob, {"pattern": "**/a\0b"}, "NUL"),
        (Grep, {"pattern": "one\ntwo"}, "Set multiline to true"),
        (Grep, {"pattern": "a", "glob": "{a"}, "'{' isn't closed"),
        (Grep, {"pattern": "a", "glob": "a/[b"}, "'[' isn't closed"),
        (Glob, {"pattern": "[a"}, "'[' isn't closed"),
        (Glob, {"pattern": "**/{a,b"}, "'{' isn't closed"),
        (Glob, {"pattern": "*", "path": "a.py"}, "use Read"),
        (Glob, {"pattern": "*", "path": "gone"}, "doesn't exist"),
    ],
)
def test_what_cant_be_searched_is_said_in_one_line(tree: Path, tool: Any, arguments: dict[str, str], said: str) -> None:
    for _ in range(2):
        chunk = run(tool(), **arguments)
        assert chunk.state is ToolResultState.ERROR
        (block,) = chunk.content
        assert isinstance(block, TextBlock)
        assert said in block.text
        assert "\n" not in block.text


@pytest.mark.parametrize(("tool", "arguments"), [(Grep, {"pattern": "x"}), (Glob, {"pattern": "*"})])
def test_a_folder_that_this_user_may_not_open_is_said(
    tree: Path, tool: Any, arguments: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refused(path: Any, *given: Any, **named: Any) -> int:
        if str(path).endswith("/keys"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *given, **named)

    monkeypatch.setattr(os, "open", refused)
    chunk = run(tool(), path="keys", **arguments)
    assert chunk.state is ToolResultState.ERROR
    assert "keys' can't be searched: this user may not. Ask the person" in str(chunk.content)


def test_a_folder_that_isnt_there_is_an_error(tree: Path) -> None:
    assert "doesn't exist" in "".join(lines(Grep(), pattern="x", path="gone"))


def test_names_that_are_no_text_are_found_too(tree: Path) -> None:
    name = os.fsdecode(b"odd\xff.py")
    (tree / name).write_text("x")
    assert len(lines(Glob(), pattern="odd*.py")) == 1


def test_sensitive_files_are_named_however_deep_they_lie(tree: Path) -> None:
    for name in ("src/deep/er/.env", "src/deep/.ssh/config", "src/deep/.ssh/known", "a/b/c/d/e/kaggle.json"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("class secret\n")
    chunk = run(Glob(), pattern="**/*.py")
    (block,) = chunk.content
    assert isinstance(block, TextBlock)
    assert (
        block.text.splitlines()[-1]
        == "[not searched, as sensitive: .env, .env.local, a/b/c/d/e/kaggle.json, keys/id_rsa, nbtoolkit.toml and 2 more]"
    )
    chunk = run(Glob(), pattern="src/**/*.py")
    (block,) = chunk.content
    assert isinstance(block, TextBlock)
    assert block.text.splitlines()[-1] == "[not searched, as sensitive: src/deep/.ssh, src/deep/er/.env]"
    chunk = run(Grep(), pattern="class", path="src")
    (block,) = chunk.content
    assert isinstance(block, TextBlock)
    assert block.text.splitlines()[-1] == "[not searched, as sensitive: src/deep/.ssh, src/deep/er/.env]"


@pytest.mark.parametrize("glob", ["*", ".*", "**/*", ".env*", "{.env,*.py}", "?env"])
def test_no_glob_brings_sensitive_files_back(tree: Path, glob: str) -> None:
    assert "secret" not in "".join(lines(Grep(), pattern="class", output_mode="content", glob=glob))
    assert not [each for each in lines(Glob(), pattern=glob) if ".env" in each]


def test_a_file_that_was_declared_this_products_own_is_left_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.permission import own_files

    monkeypatch.setattr(own_files, "_protected", type(own_files._protected)())
    monkeypatch.setattr(own_files, "_protected_names", set())
    tape = tree / "Src [1]" / "tape{}.jsonl"
    tape.parent.mkdir()
    tape.write_text("class\n")
    assert "Src [1]/tape{}.jsonl" in lines(Glob(), pattern="**/*.jsonl")
    own_files.protect(str(tape))
    assert lines(Glob(), pattern="**/*.jsonl") == ["No files match."]
    assert "Src [1]/tape{}.jsonl" not in lines(Grep(), pattern="class")


def test_lists_of_ones_own_count_for_searches_too(tree: Path) -> None:
    (tree / "vault").mkdir()
    (tree / "vault" / "v.py").write_text("class V\n")
    assert "vault/v.py" not in lines(Grep(dangerous_directories=["vault"]), pattern="class")
    assert ".env" in lines(Glob(dangerous_files=["v.py"]), pattern=".env")


def test_a_name_of_several_lines_stays_on_one(tree: Path) -> None:
    (tree / "a\n[0 more files].py").write_text("class\n")
    assert "a\\n[0 more files].py" in lines(Glob(), pattern="*.py")
    assert "a\\n[0 more files].py" in lines(Grep(), pattern="class")


def test_a_search_that_finds_too_much_says_that_it_ended(
    tree: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        pytest.skip("the stand-in holds no output of another program")
    from nbtoolkit.tool import engine_ripgrep

    monkeypatch.setattr(engine_ripgrep, "LARGEST_CONTENT", 10)
    (block,) = run(Grep(), pattern="class", output_mode="content").content
    assert isinstance(block, TextBlock)
    assert "[the search ended early" in block.text


@pytest.mark.parametrize("traced", [True, False])
def test_a_sensitive_file_is_named_also_where_it_is_ignored_and_not_below_an_ignored_folder(
    tree: Path, traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtoolkit.tool import engine_ripgrep

    monkeypatch.setattr(engine_ripgrep, "_traces", lambda program: traced)
    (tree / ".gitignore").write_text("/build/\n*.log\n.env\n")
    odd = "odd: Ignore(IgnoreMatch(Override(\nrg: DEBUG|ignore::walk|x: ignoring .ssh"
    for name in ("build/.env", "src/.env", f"{odd}/.env"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("class secret\n")
    for tool, arguments in ((Grep(), {"pattern": "class"}), (Glob(), {"pattern": "**/*.py"})):
        (block,) = run(tool, **arguments).content
        assert isinstance(block, TextBlock)
        note = block.text.splitlines()[-1]
        assert note.startswith("[not searched, as sensitive: .env, .env.local, keys/id_rsa, nbtoolkit.toml, ")
        assert note.endswith(
            "odd: Ignore(IgnoreMatch(Override(\\nrg: DEBUG|ignore::walk|x: ignoring .ssh/.env and 1 more]"
        )
        assert "build" not in note


def test_a_search_that_has_much_to_complain_of_comes_to_its_end(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        pytest.skip("the stand-in complains of nothing")
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\nprintf 'a.py\\0'\nexit 2\n")
    program.chmod(0o755)
    chosen = RipgrepEngine(str(program))
    monkeypatch.setattr(search, "engine", lambda: chosen)
    assert lines(Glob(), pattern="**/*.py", path=str(tmp_path)) == [f"{tmp_path}/a.py"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of more than a thousand bytes is a large one."""
    from nbtoolkit.tool import engine_python, engine_ripgrep

    monkeypatch.setattr(engine_ripgrep, "LARGEST_WHOLE", 1000)
    monkeypatch.setattr(engine_ripgrep, "_SMALLER", ["--max-filesize=1000"])
    monkeypatch.setattr(engine_python, "LARGEST_FILE", 1000)


@pytest.mark.usefixtures("small")
def test_a_large_file_isnt_searched_over_several_lines_and_is_named(tree: Path, engine: str) -> None:
    (tree / "src/large\nname").write_text("class\n" * 1000)
    for root, name in ((None, "src/large\\nname"), ("src", "large\\nname")):
        found = lines(Grep(), pattern="class C:\n    x|class\nclass", multiline=True, path=root)
        assert found == ["src/c.py"], found
        note = run(Grep(), pattern="class\nclass", multiline=True, path=root).content[0]
        assert isinstance(note, TextBlock)
        assert "[not searched, as " in note.text
        assert name in note.text
    alone = run(Grep(), pattern="class\nclass", multiline=True, path="src/large\nname")
    assert isinstance(alone.content[0], TextBlock)
    assert (alone.state is ToolResultState.ERROR) == (engine == "ripgrep")
    assert "larger than" in alone.content[0].text


@pytest.mark.usefixtures("small")
def test_where_a_line_takes_more_memory_than_a_search_may_the_rest_is_searched(
    tree: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        pytest.skip("the stand-in searches no large files")
    # Dies as ripgrep does when it is given no more memory.
    program = tree / "rg"
    program.write_text(
        "#!/bin/bash\nif [[ $* == *--max-filesize* || $* == --version ]]; then exec " + str(ripgrep()) + ' "$@"; fi\n'
        "echo 'memory allocation of 1289945088 bytes failed' >&2\nkill -ABRT $$\n"
    )
    program.chmod(0o755)
    chosen = RipgrepEngine(str(program))
    monkeypatch.setattr(search, "engine", lambda: chosen)
    (tree / "src/long").write_text("class " * 1000)
    found = run(Grep(), pattern="^class [A-D]", path="src", output_mode="count").content[0]
    assert isinstance(found, TextBlock)
    assert found.text == "src/c.py:2\n[not searched, as too large to be held in memory: long]"
    alone = run(Grep(), pattern="^nothing", path="src/long")
    assert alone.state is ToolResultState.ERROR
    assert isinstance(alone.content[0], TextBlock)
    assert "lines that are too long to be held in memory" in alone.content[0].text


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="memory can't be bounded from outside here")
def test_a_search_may_take_so_much_memory_and_leaves_nothing_where_it_dies_of_that() -> None:
    import subprocess

    from nbtoolkit.tool import engine_ripgrep

    with subprocess.Popen(["sleep", "100"]) as process:
        engine_ripgrep._restrain(process.pid)
        limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
        process.kill()
    found = {line[:26].strip(): line[26:].split()[0] for line in limits}
    assert found["Max core file size"] == "0"
    assert found["Max data size"] == str(engine_ripgrep.MOST_MEMORY)


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
def test_a_binary_file_that_is_named_is_said_to_be_one(tree: Path, mode: str) -> None:
    block = run(Grep(), pattern="class", path="binary", output_mode=mode).content[0]
    assert isinstance(block, TextBlock)
    first = {"content": "No matches.", "files_with_matches": "binary", "count": "binary:1"}[mode]
    assert block.text.splitlines()[0] == first
    assert ("holds binary data" in block.text) == (mode == "content")


def test_a_walk_that_takes_too_long_ends_and_says_so(tree: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "ripgrep":
        pytest.skip("its process is ended")
    monkeypatch.setattr("nbtoolkit.tool.engine.LONGEST", -1.0)
    assert lines(Glob(), pattern="**/*.py")[-1].startswith("[the search ended early, when it had run for")


def test_an_expression_that_runs_away_is_ended_and_the_rest_goes_on(
    tree: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ripgrep":
        pytest.skip("its expressions take time in proportion to the text")

    (tree / "long").write_text("a" * 60 + "!\n")
    monkeypatch.setattr("nbtoolkit.tool.engine.LONGEST", 0.5)
    assert lines(Grep(), pattern="(a|a)+$", path="long")[-1].startswith("[the search ended early")
    monkeypatch.setattr("nbtoolkit.tool.engine.LONGEST", 100.0)

    async def given_up() -> None:
        task = asyncio.ensure_future(Grep()(pattern="(a|a)+$", path="long"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    # Its thread ends with it: this waits for that.
    asyncio.run(given_up())
