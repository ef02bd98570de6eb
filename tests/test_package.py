"""What is handed out: a wheel with the package alone, an sdist that can be tested, and a word where it can't run."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import nbtoolkit

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both distributions, made by the build backend itself: it needs no network."""
    target = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=ROOT, check=True, timeout=50)
    return target


def test_the_wheel_holds_the_package_alone(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        entries = next(file.read(name).decode() for name in names if name.endswith("/entry_points.txt"))
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"nbtoolkit", next(top for top in tops if top.endswith(".dist-info"))}
    assert "nbtoolkit/py.typed" in names
    source = {path.relative_to(ROOT).as_posix() for path in (ROOT / "nbtoolkit").rglob("*.py")}
    assert source <= set(names)
    assert not [name for name in names if name.endswith((".pyc", ".ipynb"))]
    assert "nbtoolkit = nbtoolkit.cli:main" in entries


def test_the_sdist_holds_what_its_tests_and_pages_need(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    wanted = {
        "pyproject.toml",
        "Makefile",
        "LICENSE",
        "docs/conf.py",
        "docs/safety.md",
        "tests/conftest.py",
        "tests/kernels.txt",
    }
    assert wanted <= names
    assert {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")} <= names
    assert not [name for name in names if name.startswith(("docs/_build", ".venv", ".git/"))]


def test_each_library_that_is_needed_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [*project["dependencies"], *(line for each in project["optional-dependencies"].values() for line in each)]
    needed = [Requirement(line) for line in listed]
    # Stubs say nothing at run time, and follow what they describe.
    free = [each.name for each in needed if not each.specifier and not each.extras]
    assert sorted(free) == ["pandas-stubs", "types-PyYAML", "types-Pygments", "types-jsonschema", "types-psutil"]
    assert requires("nbtoolkit")


IN_A_BROWSER = """
import sys
sys.platform = "emscripten"
try:
    import nbtoolkit
except ImportError as error:
    print(error)
"""


def run(source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, cwd=ROOT, check=False, timeout=50
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_in_pyodide_the_import_says_why_it_is_not_supported() -> None:
    said = run(IN_A_BROWSER)
    assert said.startswith("nbtoolkit doesn't run in Pyodide (JupyterLite")
    assert "JupyterLab or Notebook 7 with a kernel on a machine" in said


# Everything is loaded once, so that other libraries have what they need; then ours again, without what Windows lacks.
WITHOUT_POSIX = """
import importlib, os, pkgutil, signal, sys
import nbtoolkit, nbtoolkit.agents
names = [name for _, name, _ in pkgutil.walk_packages(nbtoolkit.__path__, "nbtoolkit.")]
# The adapters load a library each, some for seconds; none of them knows an operating system.
left = ("__main__", "agentscope", "langchain", "pydantic_ai", "openai_agents", "smolagents", "fastmcp")
names = [name for name in names if not name.endswith(left)]
for name in names:
    importlib.import_module(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "nbtoolkit"]:
    del sys.modules[name]
for name in ("fcntl", "pwd", "grp", "termios", "tty", "pty", "resource"):
    sys.modules[name] = None
for owner, missing in {
    os: "fork killpg getpgid setsid getuid geteuid getegid fchown fchmod pread O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK "
        "mkfifo register_at_fork waitid WNOHANG posix_spawn sched_getaffinity sysconf uname",
    signal: "SIGKILL SIGHUP SIGCHLD SIGURG SIGUSR1 SIGUSR2 SIGALRM SIGPIPE pthread_kill pthread_sigmask setitimer",
}.items():
    for name in missing.split():
        if hasattr(owner, name):
            delattr(owner, name)
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_every_module_can_be_imported_where_posix_is_missing() -> None:
    assert int(run(WITHOUT_POSIX)) > 200


def test_the_version_is_the_distributions() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert version.removesuffix(".dev0") == nbtoolkit.__version__.removesuffix(".dev0")
