"""Records in the renderers of saved notebooks: nbconvert, its basic template with all styles stripped, MyST on Sphinx."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState
from nbtoolkit.notebook import render
from nbtoolkit.notebook.schemas import sent
from nbtoolkit.notebook.tables import message, schema_view
from nbtoolkit.notebook.views import still
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.tool.result import ToolResponse
from tests.notebook.asking import HOSTILE, SCHEMA, Sample, entry
from tests.notebook.test_live import PIXEL

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pd.DataFrame({"segment": ["mid", "smb"], "customers": [412, 2_871]})


def response(*parts: str | DataBlock, value: object = None) -> ToolResponse:
    blocks: list[Any] = [TextBlock(text=part) if isinstance(part, str) else part for part in parts]
    made = ToolResponse(content=blocks)
    if value is not None:
        made.__dict__["_value"] = value
    return made


IMAGE = DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"), name="loss")
ALLOWED: dict[str, Any] = {"behavior": PermissionBehavior.ALLOW, "reason": "read-only"}
DISPLAYS = {
    "frame": render.record(
        entry(tool_input={"species": "Gentoo", "rows": 5}, **ALLOWED), response("as text", value=FRAME)
    ),
    "long": render.record(entry(**ALLOWED), response("\n".join(f"line {n}" for n in range(60)))),
    "error": render.record(entry(state=ToolResultState.ERROR, **ALLOWED), response("ValueError: no such species")),
    "picture": render.record(entry(**ALLOWED), response("a picture:", IMAGE)),
    "hostile": render.record(entry(tool_input={"text": HOSTILE}, **ALLOWED), response(HOSTILE)),
    "panel": still(message("the table that a panel leaves")),
    "schema": schema_view(Sample(schema=SCHEMA), sent=sent(Sample(schema=SCHEMA), "openai"), form="OpenAI"),
}
# What a reader must find of each, in this order.
FOUND = {
    "frame": ["summarise", "species", "Gentoo", "allowed", "segment", "customers", "mid", "412", "smb", "2871"],
    "long": ["summarise", "Result, 60 lines", "line 0", "line 59"],
    "error": ["summarise", "error", "ValueError: no such species"],
    "picture": ["a picture:"],
    "hostile": ["<script>alert(1)</script>", "U+202E"],
    # Its rule for pages without a kernel is no text.
    "panel": ["the table that a panel leaves"],
    "schema": ["summarise", "OpenAI", "Strict mode", '"species"'],
}


def notebook() -> Any:
    cells = [nbformat.v4.new_markdown_cell("# Records")]
    for name, bundle in DISPLAYS.items():
        output = nbformat.v4.new_output("display_data", data=bundle)
        cells.append(nbformat.v4.new_code_cell(f"# {name}", outputs=[output], execution_count=1))
    language = {"name": "python", "pygments_lexer": "ipython3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": language})


def check(page: BeautifulSoup) -> None:
    """Each display is there, whole and inert."""
    text = re.sub(r"\s+", " ", page.get_text(" "))
    for name, parts in FOUND.items():
        at = text.index(f"# {name}")
        for part in parts:
            found = text.find(part, at)
            assert found >= 0, f"{name}: {part!r} is not in the page"
    assert page.find("script", string=re.compile("alert")) is None
    assert "nbtk-still" not in text
    assert not [image for image in page.find_all("img") if image.get("onerror")]
    assert any(str(image.get("src", "")).startswith("data:image/png;base64,") for image in page.find_all("img"))


@pytest.mark.parametrize("template", ["lab", "basic"])
def test_records_read_well_in_nbconvert(template: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body, _ = HTMLExporter(template_name=template).from_notebook_node(notebook())  # type: ignore[no-untyped-call]
    check(BeautifulSoup(body, "html.parser"))


def test_records_read_well_where_scripts_and_styles_are_stripped() -> None:
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook())  # type: ignore[no-untyped-call]
    page = BeautifulSoup(body, "html.parser")
    for tag in page.find_all(["script", "style", "link"]):
        tag.decompose()
    for tag in page.find_all(True):
        for name in ("style", "class", "id"):
            tag.attrs.pop(name, None)
    check(page)
    # What carries the meaning is elements, not styles.
    assert {tag.get_text() for tag in page.find_all("b")} >= {"summarise"}
    assert page.find("table") is not None
    assert page.find("details") is not None


def test_records_read_well_in_myst(tmp_path: Path) -> None:
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    nbformat.write(notebook(), source / "index.ipynb")
    (source / "conf.py").write_text("extensions = ['myst_nb']\nnb_execution_mode = 'off'\nhtml_theme = 'basic'\n")
    told = (tmp_path / "told.txt").open("w+")
    with told, patch_docutils(), docutils_namespace():
        app = Sphinx(source, source, out, tmp_path / "trees", "html", status=None, warning=told)
        app.build()
        told.seek(0)
        said = told.read()
    assert "WARNING" not in said, said
    check(BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser"))
