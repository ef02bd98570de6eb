"""The README is true: its python blocks run, in order, as the cells of one notebook without a person."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

README = Path(__file__).parent.parent.parent / "README.md"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_every_python_block_of_the_readme_runs(tmp_path: Path) -> None:
    cells = blocks(README.read_text("utf-8"))
    assert cells, "the README shows no code"
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    # A failing cell raises CellExecutionError, which shows the block and its traceback.
    NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in book.cells)
