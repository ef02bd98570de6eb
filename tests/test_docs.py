"""The documentation builds without a warning, and what the notebooks keep reads well in it without a kernel."""

from __future__ import annotations

import html
import importlib
import inspect
import re
import subprocess
import sys
import zlib
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
# Sphinx takes 10 s alone, more beside other tests.
pytestmark = pytest.mark.timeout(240)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "--fail-on-warning",
            "--keep-going",
            "--quiet",
            "-b",
            "html",
            "docs",
            str(target),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_every_page_is_there_and_every_link_inside_leads_somewhere(site: Path) -> None:
    pages = {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}
    assert {
        "index.html",
        "magics.html",
        "permissions.html",
        "headless.html",
        "safety.html",
        "api.html",
        "machines.html",
        "platforms.html",
    } <= set(pages)
    assert {f"notebooks/{notebook.stem}.html" for notebook in NOTEBOOKS} <= set(pages)
    for name, page in pages.items():
        for link in re.findall(r'(?:href|src)="([^"#:?]+)[^":]*"', page):
            assert (site / name).parent.joinpath(link).exists(), f"{name} links to {link}"


FACES = [
    "nbtoolkit",
    *(
        f"nbtoolkit.{name}"
        for name in ["tool", "message", "permission", "mcp", "skill", "state", "agents", "exception"]
    ),
]


def test_the_reference_has_each_public_name_with_its_sentence(site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    documented = {line.split(" ", 1)[0] for line in zlib.decompress(inventory).decode().splitlines()}
    for face in FACES:
        module = importlib.import_module(face)
        for name in module.__all__:
            # What several packages give is described in one of them.
            given = [each for each in FACES if name in importlib.import_module(each).__all__]
            assert any(f"{each}.{name}" in documented for each in given), f"{face}.{name}"
            said = inspect.getdoc(getattr(module, name))
            # An alias of a type has the words beside it, for those who read the code.
            assert said or not inspect.isclass(getattr(module, name)), f"{face}.{name} has no docstring"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_records_of_a_notebook_read_the_same_in_the_documentation(site: Path, notebook: Path) -> None:
    page = words((site / "notebooks" / f"{notebook.stem}.html").read_text())
    outputs = [
        output.data["text/html"]
        for cell in nbformat.read(notebook, as_version=4).cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert outputs
    for output in outputs:
        assert words(output) in page


def test_what_stands_in_the_toml_examples_is_what_may_stand_there(site: Path) -> None:
    from nbtoolkit.permission.rules_file import read_rules

    page = (ROOT / "docs" / "permissions.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    read = read_rules(example.encode(), Path("nbtoolkit.toml"), "user", "user file")
    assert read.problems == []
    assert len(read.rules) == 4
