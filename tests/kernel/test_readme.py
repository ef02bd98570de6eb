"""The README is true: its python blocks run, in order, as the cells of one notebook without a person."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.agents.endpoint import LoopbackModel

README = Path(__file__).parent.parent.parent / "README.md"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_every_python_block_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = blocks(README.read_text("utf-8"))
    assert cells, "the README shows no code"
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    # The model of the loop, and then of the chat.
    calls = [("body_mass", {"species": "Gentoo"}), ("body_mass", {"species": "Adelie"})]
    with LoopbackModel([*calls], ["Gentoo."], ["By 1.4 kg."]) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        client = NotebookClient(
            book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        )
        # A failing cell raises CellExecutionError, which shows the block and its traceback.
        client.execute()
    assert all(cell.execution_count for cell in book.cells)
    loop, chat = model.requests[1], model.requests[2]
    assert [message["role"] for message in loop["messages"]] == ["user", "assistant", "tool", "tool"]
    assert "5484.8" in loop["messages"][2]["content"]
    assert chat["messages"][-1]["role"] == "user"
    [asked] = [cell for cell in book.cells if cell.source.startswith("%%toolkit chat")]
    assert "By 1.4 kg." in str(asked.outputs)
    # The client of what the notebook serves.
    assert "is_error=False" in str(book.cells[-1].outputs)
