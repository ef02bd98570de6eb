"""What `import nbtoolkit` costs: it stays out of the notebook world until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
{statement}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def modules_after(statement: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("heavy", ["IPython", "ipykernel", "ipywidgets", "mcp", "mcp_types", "pandas", "matplotlib"])
def test_importing_the_package_leaves_the_heavy_libraries_alone(heavy: str) -> None:
    assert heavy not in modules_after("import nbtoolkit")


@pytest.mark.parametrize("module", ["message", "permission", "tool", "state", "skill", "exception", "schema"])
def test_the_layers_below_the_notebook_work_without_it(module: str) -> None:
    assert not modules_after(f"import nbtoolkit.{module}") & {"IPython", "ipykernel", "ipywidgets", "mcp"}


def test_a_toolkit_of_functions_knows_nothing_of_shells_and_servers() -> None:
    names = "import sys; from nbtoolkit.tool import FunctionTool, Toolkit; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True, timeout=30)
    loaded = set(run.stdout.split())
    assert "nbtoolkit.tool.toolkit" in loaded
    assert not {name for name in loaded if name.startswith(("nbtoolkit.permission.shell", "nbtoolkit.mcp."))}
