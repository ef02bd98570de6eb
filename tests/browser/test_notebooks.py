"""Each tutorial, run from top to bottom in JupyterLab by somebody who allows whatever it asks."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
# The quickstart has a test of its own, which clicks every kind of button.
NOTEBOOKS = [path for path in sorted(FOLDER.glob("*.ipynb")) if not path.stem.startswith("01")]
# Seconds for a whole notebook on a busy machine.
PATIENCE = 150.0
YES = re.compile(r"^(Allow once|Send)\b")
# What is typed into a server's form, by the field's name.
FIELDS = {"name": "Pip", "weight": "310"}


def answer(page: NotebookPage, cell: int) -> bool:
    """Press the first button that says yes under a cell, if there is one that can be seen."""
    yes = page.output(cell).get_by_role("button", name=YES).locator("visible=true")
    if not yes.count():
        return False
    for name, value in FIELDS.items():
        field = page.output(cell).get_by_label(re.compile(rf"^{name}\b", re.IGNORECASE)).locator("visible=true")
        if field.count():
            field.first.fill(value)
            field.first.blur()
    pressed = yes.first.element_handle()
    yes.first.click()
    pressed.wait_for_element_state("hidden")
    return True


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end_with_clicks_in_the_place_of_planned_answers(
    open_notebook: OpenNotebook, notebook: Path
) -> None:
    source = nbformat.read(notebook, as_version=4)
    page = open_notebook(notebook)
    page.run_all()
    deadline = time.monotonic() + PATIENCE
    clicks = 0
    while waiting := page.waiting():
        assert time.monotonic() < deadline, f"cell {waiting[0]} of {notebook.name} goes on no further"
        if answer(page, waiting[0]):
            clicks += 1
        else:
            page.page.evaluate("new Promise(requestAnimationFrame)")
    cells = [index for index, cell in enumerate(source.cells) if cell.cell_type == "code"]
    errors = [output for index in cells for output in page.outputs(index) if output["output_type"] == "error"]
    assert errors == []
    assert [page.prompt(index) for index in cells] == [f"[{n}]:" for n, _ in enumerate(cells, 1)]
    assert bool(clicks) == any("%toolkit answers" in source.cells[i].source for i in cells)
    assert page.errors == []
