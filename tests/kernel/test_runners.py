"""Each way to run a notebook without a person gets its decision at once, and planned answers where there are some."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import absent

# Longer than any wait for a page, and far shorter than a day.
LIMIT = 60
DENIED = "Nobody can answer here: "
CELLS = (
    "%load_ext nbtoolkit",
    "def save(species: str) -> str:\n    'Save.'\n    return f'saved {species}'\n\ntoolkit.register(save)\nNone",
    "%toolkit call save species=Gentoo",
    "print('state', list(toolkit.log)[-1].state)",
    "%toolkit answers save(species=Adelie) -> allow",
    "%toolkit call save species=Adelie",
)
STORY = "\n".join(CELLS)


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "story.ipynb"
    nbformat.write(made, path)
    return path


def run(folder: Path, *command: str, stdin: Any = subprocess.DEVNULL, text: str | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name != "NBTOOLKIT_ASK"}
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={
            **env,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "IPYTHONDIR": str(folder / ".ipython"),
            "PYTHONPATH": str(Path(__file__).parent.parent.parent),
        },
        stdin=None if text is not None else stdin,
        input=text,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def outputs(path: Path) -> str:
    """All plain text that a notebook shows."""
    cells = nbformat.read(path, as_version=4).cells
    all_outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "\n".join(str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in all_outputs)


def told(text: str, why: str) -> None:
    assert DENIED + why in text
    assert "state denied" in text
    assert "saved Adelie" in text


def test_nbclient_and_every_tool_built_on_it_allow_no_interaction(notebook: Path) -> None:
    from nbclient import NotebookClient

    read = nbformat.read(notebook, as_version=4)
    asyncio.run(NotebookClient(read, timeout=LIMIT, kernel_name="python3").async_execute())
    nbformat.write(read, notebook)
    told(outputs(notebook), "the front end allows no interaction")


def test_papermill(notebook: Path) -> None:
    import papermill

    done = notebook.with_name("done.ipynb")
    papermill.execute_notebook(notebook, done, kernel_name="python3", progress_bar=False)
    told(outputs(done), "the front end allows no interaction")


def test_nbconvert(notebook: Path) -> None:
    from nbconvert.preprocessors import ExecutePreprocessor

    read = nbformat.read(notebook, as_version=4)
    ExecutePreprocessor(timeout=LIMIT, kernel_name="python3").preprocess(read)  # type: ignore[no-untyped-call]
    nbformat.write(read, notebook)
    told(outputs(notebook), "the front end allows no interaction")


def test_nbmake(notebook: Path) -> None:
    pytest.importorskip("nbmake")
    plain = ["-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    run(notebook.parent, "-m", "pytest", "-p", "nbmake.pytest_plugin", "--nbmake", "--overwrite", *plain, "story.ipynb")
    told(outputs(notebook), "the front end allows no interaction")


def test_a_myst_build(notebook: Path) -> None:
    pytest.importorskip("myst_nb")
    (notebook.parent / "index.md").write_text("# Docs\n\n```{toctree}\nstory\n```\n", "utf-8")
    (notebook.parent / "conf.py").write_text("extensions = ['myst_nb']\nnb_execution_mode = 'force'\n", "utf-8")
    run(notebook.parent, "-m", "sphinx", "-q", "-b", "text", ".", "out")
    text = " ".join((notebook.parent / "out" / "story.txt").read_text("utf-8").split())
    told(text, "the front end allows no interaction")


def test_jupyter_run_which_passes_no_answer_on(tmp_path: Path) -> None:
    lines = [f"get_ipython().run_cell({cell!r})" for cell in CELLS]
    (tmp_path / "story.py").write_text("\n".join(lines), "utf-8")
    program = Path(sys.executable).with_name("jupyter-run")
    if not program.exists():
        absent("jupyter run isn't installed")
    told(run(tmp_path, str(program), "story.py"), "jupyter run passes no answer on")


def test_ipython_without_a_terminal(tmp_path: Path) -> None:
    told(run(tmp_path, "-m", "IPython", "--simple-prompt", "--colors=NoColor", text=STORY), "no kernel and no terminal")


def test_ipython_in_a_terminal_asks_the_person_there(tmp_path: Path) -> None:
    (tmp_path / "story.ipy").write_text("\n".join(CELLS[:4]), "utf-8")
    controller, terminal = pty.openpty()
    os.write(controller, b"y\n")
    try:
        text = run(tmp_path, "-m", "IPython", "--colors=NoColor", "story.ipy", stdin=terminal)
    finally:
        os.close(controller)
        os.close(terminal)
    assert "Allow once? [y/N" in text
    assert "saved Gentoo" in text


SCRIPT = """
from nbtoolkit import Toolkit

def save(species: str) -> str:
    "Save."
    return f"saved {species}"

def test_it():
    response = Toolkit([save]).call_sync("save", species="Gentoo")
    print("state", response.state, response.text)
"""


def test_a_script_and_pytest_deny_at_once_also_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "test_story.py").write_text(SCRIPT, "utf-8")
    controller, terminal = pty.openpty()
    try:
        script = run(tmp_path, "-c", "import test_story; test_story.test_it()", stdin=terminal)
        plain = ["-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-s", "-q"]
        tested = run(tmp_path, "-m", "pytest", *plain, "test_story.py", stdin=terminal)
    finally:
        os.close(controller)
        os.close(terminal)
    for text in (script, tested):
        assert "state denied This call was denied: Nobody is there to answer. Give the toolkit an approver" in text


def test_the_policy_reaches_a_kernel_and_a_script_alike(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    (notebook.parent / "answers.txt").write_text("save(species=Gentoo) -> deny: by the script\n", "utf-8")
    monkeypatch.setenv("NBTOOLKIT_ASK", f"script:{notebook.parent / 'answers.txt'}")
    read = nbformat.read(notebook, as_version=4)
    read.cells = read.cells[:3]
    asyncio.run(NotebookClient(read, timeout=LIMIT, kernel_name="python3").async_execute())
    assert "by the script" in json.dumps(read)
    from nbtoolkit.tool import Toolkit

    def save(species: str) -> str:
        """Save."""
        return species

    assert Toolkit([save]).call_sync("save", species="Gentoo").text == "The user denied this call: by the script"
