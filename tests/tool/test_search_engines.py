"""ripgrep and its stand-in give the same answer, or the stand-in says by name what it can't do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from pathlib import Path
from typing import Any

import pytest

from nbtoolkit.message import TextBlock
from nbtoolkit.tool import engine_python, search
from nbtoolkit.tool.engine import Engine
from nbtoolkit.tool.engine_matcher import matches
from nbtoolkit.tool.engine_python import PythonEngine
from nbtoolkit.tool.engine_ripgrep import RipgrepEngine, ripgrep
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.search import Glob, Grep

CASES = 300

FILES: dict[str, str | bytes] = {
    "a.py": "import os\nclass A:\n    x = 'one'\n\n\tdef f(self):\n        return 1\n",
    "b.md": "# Title\n\nclass one two\nCLASS One\n",
    "src/c.py": "class C(A):\n    pass\n\n\n\nclass D: # one\n    y=2\nend",
    "src/d.txt": "one\r\ntwo\r\nclass x\r\n",
    "src/deep/e.JSON": '{"class": "one"}\n',
    "src/deep/f f.txt": "a b  c\none-two_three 12.5\n",
    "src/deep/[x].txt": "bracket one\n",
    "src/deep/{y}.txt": "brace class\n",
    ".hidden/g.py": "class G: one\n",
    ".dot.txt": "one\n",
    "build/out.py": "class Built: one\n",
    "src/skip.log": "one\n",
    "src/keep.log": "one\nclass\n",
    "src/deep/tmp1/h.py": "class H\n",
    "src/deep/cache/i.txt": "one\n",
    "unicode/ä.txt": "größe one\nÄpfel\nclass\n",
    "unicode/日本.txt": "日本 class one\n",
    "latin.txt": b"gr\xf6\xdfe one\nclass\n",
    "utf16.txt": "\ufeffone class\nzwei\n".encode("utf-16-le"),
    "bom.txt": b"\xef\xbb\xbfone class\n",
    "empty.txt": "",
    "nonl.txt": "one",
    "bin.dat": b"one\0class\n",
    "bin2.dat": b"class\n" * 3000 + b"\0",
    "long.txt": "x" * 3000 + " one\n" + "class " * 300 + "\n",
    "crs.txt": "one\rtwo\rclass\n",
    "blank.txt": "\n\n\none\n\n\n",
    "tabs.tsv": "a\tone\tb\n1\t2\t3\n",
    ".gitignore": "/build/\n*.log\n!keep.log\n# comment\ntmp*/\n\\#odd\n",
    "src/deep/.gitignore": "cache\n!skip.log\n/[x].no\n",
    "Makefile": "all: one\n\tclass\n",
    "x.tar.gz.txt": "one\n",
    "sub/.git/config": "one\n",
    "sub2/.gitignore": "*\n!.gitignore\n!*.md\n",
    "sub2/q.md": "one\n",
    "sub2/q.py": "one\n",
    "foo/bar/baz/one.js": "let one = class {}\n",
    "foo/bar/one.ts": "one\n",
}
# fmt: off
ATOMS = [
    "one", "class", "two", "x", "[a-c]", "[^a-z]", r"\w+", r"\d", r"\s", r"\bone\b", ".", "^", "$", "a|b", "(one|two)",
    "(?:class|end)", "o?", "n{1,2}", r"\.", "[[]", r"\t", "=", "é", "ö", "日", r"\S", r"\W+", r"[\w-]+", "e$", "^$", "(?i)one",
    "'", "#", r"\x41", "class.*one", r"\b", "x*", "-", "(?P<n>one)", "[A-Z]", r"one\s+two", r"[^\s]", r"\{", r"\(", "\r",
    "[é-ü]", ".+", ".*?", "(?s)a.b", "(?x) o n e", r"^\s*$", r"\$", r"\d{1,3}\.\d", "(?m)^one$", r"\A", "K", "ſ", r"\Aone",
    r"\/", r"\-", r"\f", "[a-]", "[]a]", "[^]a]", r"[\]a]", "a{2,}", "x{0}", "()", "|", "a||b", "(?:)",
]
ODD = [
    "(?=n)", r"(a)\1", "[a-z&&[^b]]", "[[:alpha:]]", r"\z", r"\pL", r"\B", r"\n", "{", "a{2", "a+*", "**", "(", "[a", "\\",
    "[z-a]", "a{2,1}", r"\h", r"\q", "a(?i)b",
]
GLOBS = [
    "*.py", "*.{py,md}", "src/**", "src/**/*.txt", "**/*.txt", "[a-c]*", "*.[jt]s", "foo/**", "foo/*", "*", "**", "**/one.*",
    "{a,b}*", "{src,foo}/**", "*.tx?", "?.py", "[!a]*.py", "src/", "src", "deep", "*.log", "build/*", ".*", "*.{p{y,z},md}",
    "src/deep/*", r"\[x\].txt", "[[]x].txt", "f f.txt", "f*f.txt", "ä.txt", "*.JSON", "*.json", "a**", "**a.py", "a.py/", "**/",
    "./a.py", "[^a]*.py", "{,x}a.py", "*.tar.*",
]
NOT = ["!*.py", "!src", "!deep/", "!**/deep/**", "!*.{py,md}"]
# fmt: on


def grep_case(dice: random.Random) -> dict[str, Any]:
    atoms = [dice.choice(ODD if dice.random() < 0.05 else ATOMS) for _ in range(dice.choice([1, 1, 1, 2, 2, 3]))]
    case: dict[str, Any] = {
        "pattern": "".join(atoms),
        "output_mode": dice.choice(["files_with_matches", "content", "content", "count"]),
    }
    options: list[tuple[float, str, Any]] = [
        (0.5, "glob", dice.choice(GLOBS + NOT)),
        (0.3, "type", dice.choice(["py", "md", "js", "json", "ts", "zzz"])),
        (0.3, "-i", True),
        (0.2, "-n", False),
        (0.2, "-C", dice.randint(0, 2)),
        (0.1, "-A", 1),
        (0.25, "multiline", True),
        (
            0.2,
            "path",
            dice.choice(["src", "a.py", "src/d.txt", "build", "unicode", "latin.txt", "utf16.txt", "bin.dat"]),
        ),
    ]
    return case | {name: value for share, name, value in options if dice.random() < share}


def glob_case(dice: random.Random) -> dict[str, Any]:
    prefix = dice.choice(["src/", "**/", "*/", "./"]) if dice.random() < 0.3 else ""
    case: dict[str, Any] = {"pattern": prefix + dice.choice(GLOBS)}
    return case | ({"path": dice.choice(["src", "build", "foo"])} if dice.random() < 0.15 else {})


def answer(engine: Engine, tool: Any, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setattr(search, "engine", lambda: engine)
    chunk = asyncio.run(tool(**case))
    assert isinstance(chunk, ToolChunk)
    return chunk.state.value, "".join(block.text for block in chunk.content if isinstance(block, TextBlock))


@pytest.mark.parametrize("seed", [1, 2])
def test_both_answer_alike_or_the_stand_in_refuses_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    program = ripgrep()
    if program is None:
        pytest.skip("ripgrep isn't installed")
    for at, (name, content) in enumerate(FILES.items()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        # Threes share a time: the order by name counts too.
        os.utime(path, (1_000_000 + at // 3,) * 2)
    monkeypatch.chdir(tmp_path)
    # The stand-in's own process is started for every call; what it does is the same here.
    here: Any = lambda wanted, stopper: contextlib.nullcontext(lambda text: matches(wanted, text))  # noqa: E731
    monkeypatch.setattr(engine_python, "_matcher", here)
    dice = random.Random(seed)
    first, second = RipgrepEngine(program), PythonEngine()
    same = refused = 0
    for _ in range(CASES // 2):
        tool: Any = Grep if dice.random() < 0.75 else Glob
        case = grep_case(dice) if tool is Grep else glob_case(dice)
        theirs, ours = answer(first, tool(), case, monkeypatch), answer(second, tool(), case, monkeypatch)
        if ours[0] == "error" and "without ripgrep" in ours[1]:
            refused += 1
            continue
        assert theirs == ours or theirs[0] == ours[0] == "error", (tool.name, case)
        same += 1
    assert same > 4 * refused
