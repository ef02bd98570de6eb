"""A notebook used as people use them: no restarts, cells run twice, out of order, and the extension loaded anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent.parent / "notebooks" / "03_permissions.ipynb"
CELLS = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"}
CELLS["reload"] = "%reload_ext nbtoolkit"
# By the cells' names in the notebook.
HABITS = """
    load tools answers load asks tools asks allow allow allowed tools allowed deny askrule answers askrule deny rules
    explore dontask default grant tools grantcell grant reload answers load denied default why
"""


def test_a_notebook_survives_the_habits_of_people(tmp_path: Path) -> None:
    ends = ["%toolkit list", "%toolkit rules", "%toolkit log"]
    sources = [*(CELLS[name] for name in HABITS.split()), *ends]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    # A cell that fails raises here.
    NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [_plain(cell) for cell in notebook.cells]
    calls = sum(text.startswith("[") for texts in shown for text in texts)
    assert calls >= 15
    (tools,), (rules,), (log,) = shown[-3:]
    assert tools.startswith("3 tools\n")
    assert rules.startswith("3 rules\n")
    assert log.startswith(f"{calls} calls\n")


def _plain(cell: Any) -> list[str]:
    return [output.data.get("text/plain", "") for output in cell.outputs if output.output_type == "display_data"]
