"""The documentation: pages in Markdown, the notebooks as they were saved, and the docstrings."""

from __future__ import annotations

import shutil
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "nbtoolkit"
author = "The nbtoolkit authors"
project_copyright = author
release = version = installed_version("nbtoolkit")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "nbtoolkit"
html_static_path: list[str] = []

# The notebooks are shown with the outputs that they were saved with: that these are right is the tests' business.
nb_execution_mode = "off"
nb_merge_streams = True
# What a reader without a kernel can use, richest first.
nb_mime_priority_overrides = [
    ("html", "text/html", 0),
    ("html", "image/png", 10),
    ("html", "text/plain", 20),
]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist", "smartquotes"]

autodoc_default_options = {"members": True, "show-inheritance": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# Docstrings are sentences in which single backticks are code, as people write them.
default_role = "code"


def copy_notebooks(app: Sphinx) -> None:
    """Put the notebooks where Sphinx looks for sources; they live where people open them."""
    target = HERE / "notebooks"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, target)


def write_magics(app: Sphinx) -> None:
    """Write the page of subcommands from the table that the magic itself reads."""
    from nbtoolkit.notebook.grammar import SPECS

    lines = [
        "# Magics",
        "",
        "`%toolkit SUBCOMMAND …` on a line, `%%toolkit SUBCOMMAND …` for a cell. Subcommands, tools, arguments and their values",
        "complete with Tab; `%toolkit help SUBCOMMAND` says the same as this page.",
    ]
    for spec in SPECS.values():
        magic = "%%toolkit" if spec.body == "must" else "%toolkit"
        lines += ["", f"## `{' '.join(filter(None, [magic, spec.name]))}`", "", spec.does]
        written = " ".join([*filter(None, [magic, spec.name, spec.words]), *(option.usage for option in spec.options)])
        lines += ["", "```text", written, *([f"{magic} {spec.example}"] if spec.example else []), "```"]
    (HERE / "magics.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def without_pydantic(app: Sphinx, what: str, name: str, item: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what every pydantic model has."""
    return True if name.startswith("model_") and name != "model_dump" else None


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    app.connect("builder-inited", copy_notebooks)
    app.connect("builder-inited", write_magics)
    app.connect("autodoc-skip-member", without_pydantic)
